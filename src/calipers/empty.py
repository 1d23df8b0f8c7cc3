"""Whether nothing belongs in a hole at all (length 0).

Φ(0) is a mean of nothing, so the landscape cannot say. Asked instead: do the first tokens after
the hole, masked, become more probable when nothing stands before them, or when the hole of the
length that was found does?

    e = 1/w · Σ log p(token | no hole)  -  1/w · Σ log p(token | hole of L̂ masks),     w tokens after it

Nothing belongs there if e > margin. Where nothing is missing, a hole pushes the text apart and
the model loses track of what comes next; where something is, it finds its way back only with
the hole there. A hole at the very end of a text has nothing after it and is never judged empty.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from calipers.canvas import MASK, Canvas
from calipers.drive import Ask
from calipers.errors import ArgumentError
from calipers.models.base import Query

if TYPE_CHECKING:
    from torch import Tensor

# A forbidden or hopeless token counts this much at most, so that one alone decides nothing.
_FLOOR = -20.0


@dataclass(frozen=True, slots=True)
class Emptiness:
    """`window` tokens after the hole are looked at; more than `margin` nats a token speak for empty.

    The defaults are the best of those measured with the bundled model (docs/results/empty.md): 11
    of 14 empty answers and 23 of 40 untouched texts are seen to be so, and 1 of 40 real holes is
    taken for empty. A lower margin says "empty" more often, rightly and wrongly.
    """

    window: int = 1
    margin: float = 1.0

    def __post_init__(self) -> None:
        if self.window < 1:
            raise ArgumentError(f"window={self.window} must be at least 1 token.")

    def judge(self, canvas: Canvas, hole: int) -> Generator[Ask, None, bool]:
        """Whether this hole, at the length it has now, should rather have none."""
        after = canvas.texts[hole + 1][: self.window]
        if not after:
            return False
        evidence: dict[int, float] = {}

        def take(index: int, logits: Tensor) -> None:
            rows = logits.log_softmax(-1)
            true = [max(_FLOOR, float(row[token])) for row, token in zip(rows, after, strict=True)]
            evidence[index] = sum(true) / len(true)

        lengths = (0, canvas.lengths[hole])
        yield Ask(tuple(_masked_seam(canvas, hole, n, len(after)) for n in lengths), take, "search")
        return evidence[0] - evidence[1] > self.margin


def _masked_seam(canvas: Canvas, hole: int, length: int, window: int) -> Query:
    """The hole at this length, and as many tokens after it masked and asked for."""
    texts = list(canvas.texts)
    texts[hole + 1] = texts[hole + 1][window:]
    masked = replace(canvas, texts=tuple(texts)).with_hole(hole, (MASK,) * (length + window))
    return Query(masked, tuple(masked.spans[hole][length:]))
