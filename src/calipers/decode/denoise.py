"""The denoising loop: predict the masked positions, commit the best-ranked, until no mask is left.

Greedy, one token a step is the paper's setting and the default: a hole of L masks takes L
steps, the first of which is the search's last probe.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from calipers.canvas import Canvas
from calipers.check import at_least_one, fraction
from calipers.decode.base import Denoising
from calipers.errors import ArgumentError
from calipers.look import PROBABILITY, RANK, TOKEN, Look
from calipers.models.base import Query

if TYPE_CHECKING:
    import torch
    from torch import Tensor

RANKS = ("low_confidence", "entropy", "margin", "random")


@dataclass(frozen=True, slots=True)
class Denoise:
    """How to denoise; everything that depends on a length is resolved from the canvas at hand.

    rank             which positions go first: low_confidence, entropy, margin, random
    temperature      0 takes the most probable token, above 0 draws
    top_p, top_k     what is drawn from: the nucleus of this mass, the k best (0: all)
    steps            steps in all (at most one a mask, at least one a block)
    tokens_per_step  tokens committed a step; give this or steps, neither means one
    block            masks are committed left to right in blocks of so many, all holes' in one row (None: one block)
    threshold        a step also commits every token at least this probable
    """

    rank: str = "low_confidence"
    temperature: float = 0.0
    top_p: float = 1.0
    top_k: int = 0
    steps: int | None = None
    tokens_per_step: int | None = None
    block: int | None = None
    threshold: float | None = None

    def __post_init__(self) -> None:
        if self.rank not in RANKS:
            raise ArgumentError(f"rank={self.rank!r} is not known; give one of {', '.join(RANKS)}.")
        if not 0 <= self.temperature < float("inf"):
            raise ArgumentError(f"temperature={self.temperature} must be 0 or a finite number above.")
        if self.top_k < 0:
            raise ArgumentError(f"top_k={self.top_k} must be 0 (all) or more.")
        fraction(top_p=self.top_p, threshold=self.threshold)
        at_least_one(steps=self.steps, tokens_per_step=self.tokens_per_step, block=self.block)
        if self.steps is not None and self.tokens_per_step is not None:
            raise ArgumentError(
                f"steps={self.steps} and tokens_per_step={self.tokens_per_step} both say how fast; give one."
            )

    @property
    def max_length(self) -> int:
        """A plain denoiser never grows a hole."""
        return 0

    @property
    def look(self) -> Look | None:
        """Greedy needs three numbers a position; what is drawn needs the logits."""
        drawn = self.temperature > 0 or self.rank == "random"
        return None if drawn else Look(self.rank, self.top_p, self.top_k)

    def canvases(self, canvas: Canvas, seed: int = 0) -> Denoising:
        """The loop."""
        import torch

        generator = torch.Generator().manual_seed(seed)
        for places, counts in self.plan(canvas.masked):
            left = list(places)
            for count in counts:
                if not left:  # the threshold was generous
                    break
                rows = yield Query(canvas, tuple(left))
                committed = self.take(rows, count) if self.look else self.commit(rows, count, generator)
                canvas = canvas.edit({left[row]: (token,) for row, token in committed.items()})
                left = [p for row, p in enumerate(left) if row not in committed]
        return canvas

    def plan(self, masked: tuple[int, ...]) -> list[tuple[tuple[int, ...], list[int]]]:
        """Blocks of positions from left to right, each with the tokens to commit at each of its steps."""
        size = self.block or max(1, len(masked))
        blocks = [masked[at : at + size] for at in range(0, len(masked), size)]
        if self.steps is None:
            per = self.tokens_per_step or 1
            return [(b, [min(per, len(b) - done) for done in range(0, len(b), per)]) for b in blocks]
        # Every block gets its share of the steps, and takes one at the least.
        steps = max(len(blocks), min(self.steps, len(masked)))
        ends = [steps * min(size * done, len(masked)) // max(1, len(masked)) for done in range(len(blocks) + 1)]
        return [(b, spread(len(b), until - since)) for b, (since, until) in zip(blocks, pairwise(ends), strict=True)]

    def commit(self, logits: Tensor, count: int, generator: torch.Generator | None) -> dict[int, int]:
        """The rows of logits to commit and their tokens."""
        if self.look:
            return self.take(self.look(logits), count)
        import torch

        from calipers.decode.rank import chosen, rank
        from calipers.decode.sampling import draw

        tokens, logs = draw(logits, self.temperature, self.top_p, self.top_k, generator)
        scores = rank(self.rank, logits, tokens, logs, generator)
        return self.take(torch.stack((tokens.float(), chosen(logits, tokens), scores), 1).cpu(), count)

    def take(self, rows: Tensor, count: int) -> dict[int, int]:
        """The rows to commit and their tokens: the best-ranked, and all that are sure enough."""
        seen = rows.tolist()
        order = sorted(range(len(seen)), key=lambda row: seen[row][RANK], reverse=True)
        committed = set(order[:count])
        if self.threshold is not None:
            committed |= set((rows[:, PROBABILITY] >= self.threshold).nonzero()[:, 0].tolist())
        return {row: int(seen[row][TOKEN]) for row in sorted(committed)}


def spread(tokens: int, steps: int) -> list[int]:
    """Tokens over steps as LLaDA does: evenly, the first steps taking what remains."""
    steps = min(steps, tokens)
    each, more = divmod(tokens, steps) if steps else (0, 0)
    return [each + (step < more) for step in range(steps)]
