"""A landscape is all that was probed of one hole: length → confidence Φ, bias B, calibrated Φ/B."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from calipers.search import Signal


@dataclass(frozen=True, slots=True)
class Probe:
    """One scored length; `entropy` is its mean negative entropy, where that was looked for."""

    length: int
    confidence: float
    bias: float
    calibrated: float
    entropy: float | None = None


@dataclass(frozen=True, slots=True)
class Landscape:
    """The probes of one hole in the order a sequential search visits them, the choice, and why it stopped.

    `signal` is what the search was sent: the calibrated confidence, or the entropy, where bias had no say.
    """

    probes: tuple[Probe, ...]
    length: int
    stop: str
    signal: Signal = "confidence"

    @property
    def by_length(self) -> tuple[Probe, ...]:
        """The probes from short to long, each length once."""
        return tuple(sorted({p.length: p for p in self.probes}.values(), key=lambda p: p.length))

    @property
    def peak(self) -> Probe | None:
        """The probe at the chosen length, if it was probed (a fixed length is not)."""
        return next((p for p in self.probes if p.length == self.length), None)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Landscape:
        """What `to_dict` gave."""
        return cls(**{**values, "probes": tuple(Probe(**p) for p in values["probes"])})

    def plot(self, path: str | Path, title: str = "") -> Path:
        """Draw Φ, B and Φ/B over L into a PNG, SVG or PDF file (needs the `plot` extra)."""
        from calipers.plot import draw

        return draw(self, Path(path), title)

    def __str__(self) -> str:
        wide = self.signal == "entropy"
        rows = ["  length  confidence   bias  calibrated" + "  entropy" * wide]
        for p in self.by_length:
            mark = "→" if p.length == self.length else " "
            row = f"{mark} {p.length:6d}  {p.confidence:10.3f}  {p.bias:5.3f}  {p.calibrated:10.3f}"
            rows.append(row if not wide or p.entropy is None else f"{row}  {p.entropy:7.3f}")
        return "\n".join([*rows, f"stopped: {self.stop}"])
