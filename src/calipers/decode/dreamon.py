"""DreamOn's own rule: a mask predicted as `expand` becomes two masks, one predicted as `delete` goes.

The checkpoint was trained to say so; other checkpoints have no such tokens. A step takes the
best-ranked position only, so what it predicts is done to it and to nothing else. Expanding is
forbidden when the hole is as long as it may get or the budget of expansions is spent, which is
what ends a quarrel of expand and delete.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from calipers.canvas import MASK, Canvas
from calipers.check import at_least_one
from calipers.decode.base import Denoising
from calipers.decode.denoise import Denoise
from calipers.errors import ArgumentError
from calipers.models.base import Query
from calipers.models.card import Card


@dataclass(frozen=True, slots=True)
class DreamOn:
    """`DreamOn.of(model.card)` reads the two ids; `budget` counts expansions (None: max_length).

    `sweep`: a delete also takes every mask right of it in its hole, as DreamOn's evaluation
    script does and its published sampler does not. `drawing` says how a token is drawn.
    """

    expand_id: int
    delete_id: int
    max_length: int = 64
    budget: int | None = None
    sweep: bool = False
    drawing: Denoise = field(default_factory=lambda: Denoise(rank="entropy"))

    def __post_init__(self) -> None:
        at_least_one(max_length=self.max_length)
        if self.budget is not None and self.budget < 0:
            raise ArgumentError(f"budget={self.budget} must be 0 or more expansions.")
        for name in ("steps", "tokens_per_step", "block", "threshold"):
            if (value := getattr(self.drawing, name)) is not None:
                raise ArgumentError(f"{name}={value}: DreamOn takes one token a step, anywhere; leave it out.")

    @classmethod
    def of(cls, card: Card, **options: object) -> DreamOn:
        """With the ids of a card that has them."""
        if card.expand_id is None or card.delete_id is None:
            raise ArgumentError(
                f"decoder 'dreamon' needs a checkpoint with expand and delete tokens, and {card.name} has none; "
                "use model dreamon-7b or another decoder."
            )
        return cls(card.expand_id, card.delete_id, **options)  # type: ignore[arg-type]

    @property
    def look(self) -> None:
        """All logits: which tokens may come depends on the position."""

    def canvases(self, canvas: Canvas, seed: int = 0) -> Denoising:
        """The loop."""
        import torch

        generator = torch.Generator().manual_seed(seed)
        budget = self.max_length if self.budget is None else self.budget
        while masked := canvas.masked:
            logits = yield Query(canvas, masked, controls=True)
            full = [row for row, p in enumerate(masked) if self._full(canvas, p) or not budget]
            if full:
                logits = logits.clone()
                logits[full, self.expand_id] = -torch.inf
            ((row, token),) = self.drawing.commit(logits, 1, generator).items()
            where = masked[row]
            if token == self.expand_id:
                budget -= 1
                canvas = canvas.edit({where: (MASK, MASK)})
            elif token == self.delete_id:
                canvas = canvas.edit(dict.fromkeys(self._deleted(canvas, where), ()))
            else:
                canvas = canvas.edit({where: (token,)})
        return canvas

    def _full(self, canvas: Canvas, where: int) -> bool:
        return canvas.lengths[canvas.hole_at(where)] >= self.max_length

    def _deleted(self, canvas: Canvas, where: int) -> list[int]:
        if not self.sweep:
            return [where]
        span = canvas.spans[canvas.hole_at(where)]
        return [p for p in canvas.masked if p in span and p >= where]
