"""The length bias B(L) = a·exp(-bL) + c·exp(-dL) + e, that first-step confidence is divided by.

A fitted bias is an artefact: its coefficients travel with the model, revision, data and
window they were fitted with, so that a run can refuse to evaluate on what its bias has seen.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from calipers.errors import BiasError

SCHEMA = "calipers-bias-1"


@dataclass(frozen=True, slots=True)
class Bias:
    """Five coefficients and where they come from.

    name        how it is called in results
    model, revision   what it was fitted on; `portable` says it is meant for other models too
    data, samples     the task set and the ids of the samples it has seen
    digests     the contents of those samples, as `tasks.content_digest` has them (older artefacts: none)
    lengths, window   the probe lengths, and how near the oracle length was excluded
    weighting   how the means of each length were weighted
    counts, means, residual   what was fitted: points a length, their means, root mean square error
    made_with   versions, command and time
    """

    a: float
    b: float
    c: float
    d: float
    e: float
    name: str = "unnamed"
    model: str = ""
    revision: str = ""
    portable: bool = False
    data: str = ""
    samples: tuple[str, ...] = ()
    digests: tuple[str, ...] = ()
    lengths: tuple[int, ...] = ()
    window: int = 0
    weighting: str = ""
    counts: tuple[int, ...] = ()
    means: tuple[float, ...] = ()
    residual: float | None = None
    made_with: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not all(isinstance(x, int | float) and 0 <= x < math.inf for x in self.coefficients):
            raise BiasError(
                f"Bias {self.name!r} has coefficients {self.coefficients}; they must be finite and not negative."
            )
        # B never rises, so what is above 0 at a length beyond any context is above 0 at all.
        if self(1 << 20) <= 0:
            raise BiasError(f"Bias {self.name!r} vanishes for long holes (e = {self.e}); e must be above 0.")

    @property
    def coefficients(self) -> tuple[float, float, float, float, float]:
        """(a, b, c, d, e)."""
        return self.a, self.b, self.c, self.d, self.e

    def __call__(self, length: int) -> float:
        """B(length)."""
        return self.a * math.exp(-self.b * length) + self.c * math.exp(-self.d * length) + self.e

    def foreign(self, model: str, revision: str) -> str | None:
        """A warning if this was fitted on another model, or None."""
        if self.portable or not self.model:
            return None
        if (self.model, self.revision) == (model, revision):
            return None
        return (
            f"Bias {self.name!r} was fitted on {self.model} ({self.revision}) and is used with "
            f"{model} ({revision}); fit one with `calipers fit`, or use bias 'paper'."
        )

    def save(self, path: str | Path) -> None:
        """Write as JSON."""
        from calipers.target import write_atomically

        text = json.dumps({"schema": SCHEMA, **asdict(self)}, indent=1, ensure_ascii=False) + "\n"
        write_atomically(Path(path), text)

    @classmethod
    def read(cls, path: str | Path) -> Bias:
        """Read what `save` wrote; anything else is an error that says what is wrong."""
        path = Path(path)
        try:
            values: dict[str, Any] = json.loads(path.read_text("utf-8"))
        except FileNotFoundError:
            raise BiasError(
                f"bias {str(path)!r} is neither a known name ({', '.join(names())}) nor a file that is there; "
                "`calipers fit` makes one."
            ) from None
        except (json.JSONDecodeError, UnicodeDecodeError, OSError) as broken:
            raise BiasError(f"{path} cannot be read as a bias ({broken}); fit it again.") from None
        if not isinstance(values, dict) or values.pop("schema", None) != SCHEMA:
            raise BiasError(f"{path} is no {SCHEMA} artefact; `calipers fit` makes one.")
        known = {f.name for f in fields(cls)}
        if set(values) - known or not {"a", "b", "c", "d", "e"} <= set(values):
            raise BiasError(f"{path} has not the keys of a {SCHEMA} artefact; fit it again.")
        fixed: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in values.items()}
        return cls(**fixed)


PAPER = Bias(
    a=1.00,
    b=1.77,
    c=0.56,
    d=0.06,
    e=0.24,
    name="paper",
    model="GSAI-ML/LLaDA-8B-Base",
    portable=True,
    data="100 HumanEval-Infilling single-line tasks (paper, App. A)",
    lengths=(1, 2, 4, 6, 12, 16, 24, 32, 48, 64, 96, 128),
    window=4,
)
# Dividing by one: the search "without LB" of the paper's ablation.
NONE = Bias(a=0.0, b=0.0, c=0.0, d=0.0, e=1.0, name="none", portable=True)
NAMED = {"paper": PAPER, "none": NONE}
# Fitted artefacts that ship with calipers, by file name.
SHIPPED = Path(__file__).parent / "biases"


def names() -> list[str]:
    """The biases that have a name."""
    return [*NAMED, *sorted(path.stem for path in SHIPPED.glob("*.json"))]


def find_bias(bias: str | Path | Bias) -> Bias:
    """A bias by its name, by the path of its file, or as it is."""
    if isinstance(bias, Bias):
        return bias
    if str(bias) in NAMED:
        return NAMED[str(bias)]
    shipped = SHIPPED / f"{bias}.json"
    return Bias.read(shipped if Path(bias).name == str(bias) and shipped.is_file() else bias)
