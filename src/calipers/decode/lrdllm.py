"""LR-DLLM's second stage (arXiv 2602.07546): a hole is written from the left, its rest measured anew before each token.

With n masks left after what is written, E(n) the mean of Σ p log p over them:

    k = slope of E over log n, by least squares through the powers of two, once a hole, before it is written;
    move to whichever of n - 1, n, n + 1 has the highest E - k · log n, until none is higher than the present;
    write the left-most mask; n is one less; end when none is left.

There is no published code. What is here is what two public readings of the paper agree on: the score,
the three candidates, the left-most token, the slope of the first stage. That a tie does not move, and
that the token is of the forward that was measured last, is ours. The paper samples at temperature 0.2
and top-p 0.9 and goes up to 128; here greedy is the default, as everywhere.
"""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from calipers.canvas import MASK, Canvas
from calipers.check import fraction
from calipers.decode.base import Denoising
from calipers.errors import ArgumentError
from calipers.look import ENTROPY, TOKEN, Look
from calipers.models.base import Query
from calipers.search import enough_for_a_line, line, powers

if TYPE_CHECKING:
    import torch
    from torch import Tensor

# Of so many masks: their entropy, and what was seen of the left-most.
Rest: TypeAlias = tuple[float, "Tensor"]


@dataclass(frozen=True, slots=True)
class LrDllm:
    """The paper's whole method with `Regression(n, among="powers")`; any search may choose the first length."""

    max_length: int = 64
    temperature: float = 0.0
    top_p: float = 1.0

    def __post_init__(self) -> None:
        enough_for_a_line(self.max_length)
        if not 0 <= self.temperature < math.inf:
            raise ArgumentError(f"temperature={self.temperature} must be 0 or a finite number above.")
        fraction(top_p=self.top_p)

    @property
    def look(self) -> Look | None:
        """Token and entropy; what is drawn needs the logits."""
        return None if self.temperature else Look(entropy=True)

    def canvases(self, canvas: Canvas, seed: int = 0) -> Denoising:
        """Hole after hole, from the left."""
        import torch

        generator = torch.Generator().manual_seed(seed)
        for hole, masks in enumerate(canvas.lengths):
            if masks:
                canvas = yield from self._write(canvas, hole, generator)
        return canvas

    def _write(self, canvas: Canvas, hole: int, generator: torch.Generator) -> Denoising:
        left = canvas.lengths[hole]
        written: tuple[int, ...] = ()
        # The length at hand first: it was the search's, and need not be asked.
        seen = {left: (yield from self._measure(canvas, hole))}
        for n in powers(self.max_length):
            if n not in seen:
                seen[n] = yield from self._measure(canvas.with_hole(hole, (MASK,) * n), hole)
        _, slope = line({n: seen[n][0] for n in powers(self.max_length)})
        while left:
            while (better := (yield from self._better(canvas, hole, written, left, seen, slope))) != left:
                left = better
            written = (*written, self._token(seen[left][1], generator))
            left, seen = left - 1, {}
        return canvas.with_hole(hole, written)

    def _better(
        self, canvas: Canvas, hole: int, written: tuple[int, ...], left: int, seen: dict[int, Rest], slope: float
    ) -> Generator[Query, Tensor, int]:
        """The best of the lengths next to this one, which it is itself if none is better."""
        longest = max(left, self.max_length - len(written))
        # The present length first: of equals, `max` takes the first.
        candidates = [n for n in (left, left - 1, left + 1) if 1 <= n <= longest]
        for n in candidates:
            if n not in seen:
                seen[n] = yield from self._measure(canvas.with_hole(hole, (*written, *(MASK,) * n)), hole)
        return max(candidates, key=lambda n: seen[n][0] - slope * math.log(n))

    def _measure(self, canvas: Canvas, hole: int) -> Generator[Query, Tensor, Rest]:
        masked = tuple(p for p, token in zip(canvas.spans[hole], canvas.holes[hole], strict=True) if token == MASK)
        rows = yield Query(canvas, masked)
        seen = rows if self.look else Look(entropy=True)(rows)
        # A copy: of logits, the whole forward would be kept alive.
        return float(seen[:, ENTROPY].mean()), rows[0].clone()

    def _token(self, row: Tensor, generator: torch.Generator) -> int:
        if self.look:
            return int(row[TOKEN])
        from calipers.decode.sampling import draw

        tokens, _ = draw(row[None], self.temperature, self.top_p, 0, generator)
        return int(tokens[0])
