"""DAEDAL's second stage as the paper adapts it to infilling (App. B): a hole grows while it is denoised.

A step, in the left-most block that still has masks:
    commit every position more confident than `high`; if there is none, the most confident one;
    replace the least confident of the others by `factor` masks, if it is below `low`.

The first stage is left out, as in the paper. So is the gate of the published code that stops
growing once end-of-text is likely: here end-of-text cannot stand in a hole, so it would never
close. Confidence is the probability of the most probable token.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from calipers.canvas import MASK, Canvas
from calipers.check import at_least_one, fraction
from calipers.decode.base import Denoising
from calipers.errors import ArgumentError
from calipers.look import PROBABILITY, TOKEN, Look
from calipers.models.base import Query


@dataclass(frozen=True, slots=True)
class Daedal:
    """The paper's settings; `max_length` was 64 for single-line and 128 for multi-line tasks.

    The paper's text names low = 0.3, its main table is the 0.4 row of its own ablation, which
    the ablation also selects; so 0.4 stands here (docs/decisions.md).
    """

    low: float = 0.4
    high: float = 0.9
    factor: int = 2
    max_length: int = 64
    block: int = 32

    def __post_init__(self) -> None:
        fraction(low=self.low, high=self.high)
        at_least_one(max_length=self.max_length, block=self.block)
        if self.factor < 2:
            raise ArgumentError(f"factor={self.factor} would not grow a hole; give 2 or more.")
        if self.low >= self.high:
            raise ArgumentError(f"low={self.low} must be below high={self.high}.")

    @property
    def look(self) -> Look:
        """The most probable token and its probability."""
        return Look()

    def canvases(self, canvas: Canvas, seed: int = 0) -> Denoising:
        """The loop; greedy, so the seed changes nothing."""
        while window := self._window(canvas):
            rows = (yield Query(canvas, window)).tolist()
            confidence, tokens = [row[PROBABILITY] for row in rows], [int(row[TOKEN]) for row in rows]
            canvas = canvas.edit(self._changes(canvas, window, confidence, tokens))
        return canvas

    def _window(self, canvas: Canvas) -> tuple[int, ...]:
        """The masked positions of the left-most block that has any, block by block from its hole's start."""
        for span, hole in zip(canvas.spans, canvas.holes, strict=True):
            for start in range(0, len(hole), self.block):
                inside = range(start, min(start + self.block, len(hole)))
                if masked := tuple(span[i] for i in inside if hole[i] == MASK):
                    return masked
        return ()

    def _changes(
        self, canvas: Canvas, window: Sequence[int], confidence: Sequence[float], tokens: Sequence[int]
    ) -> dict[int, tuple[int, ...]]:
        rows = range(len(window))
        sure = [r for r in rows if confidence[r] > self.high] or [max(rows, key=confidence.__getitem__)]
        changes: dict[int, tuple[int, ...]] = {window[r]: (tokens[r],) for r in sure}
        unsure = [r for r in rows if confidence[r] < self.low and window[r] not in changes]
        if unsure:
            where = window[min(unsure, key=confidence.__getitem__)]
            room = max(0, self.max_length - canvas.lengths[canvas.hole_at(where)])
            changes[where] = (MASK,) * (1 + min(self.factor - 1, room))
        return changes
