"""Classifier-free guidance as LLaDA defines it, as a model around a model.

    guided = u + (scale + 1)·(c - u)

c are the logits of the canvas, u those of the same canvas with every token of the context
masked; what was generated since stays visible in both.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from calipers.canvas import MASK, Canvas
from calipers.errors import ArgumentError
from calipers.models.base import MaskModel, Query

if TYPE_CHECKING:
    from torch import Tensor


class Guided:
    """A model whose every prediction, probes included, is guided; each costs two rows."""

    def __init__(self, model: MaskModel, scale: float) -> None:
        if not 0 < scale < float("inf"):
            raise ArgumentError(f"guidance={scale} must be a finite number above 0; leave it out for none.")
        self.model = model
        self.scale = scale
        self.card = replace(
            model.card, name=f"{model.card.name} guided {scale:g}", id=f"{model.card.id} guided {scale:g}"
        )

    @property
    def context(self) -> int:
        """The model's."""
        return self.model.context

    @property
    def device(self) -> str:
        """The model's."""
        return self.model.device

    def encode(self, text: str) -> list[int]:
        """The model's."""
        return self.model.encode(text)

    def decode(self, ids: Iterable[int]) -> str:
        """The model's."""
        return self.model.decode(ids)

    def predict(self, queries: Sequence[Query]) -> Iterator[Tensor]:
        """Each query with its context and without go side by side."""
        pairs = [q for query in queries for q in (query, replace(query, canvas=blind(query.canvas)))]
        answers = iter(self.model.predict(pairs))
        for with_context, without in zip(answers, answers, strict=True):
            guided = without + (self.scale + 1) * (with_context - without)
            # Forbidden ids are at minus infinity in both, and the difference of infinities is no number.
            yield guided.masked_fill(with_context.isneginf(), float("-inf"))


def blind(canvas: Canvas) -> Canvas:
    """The same canvas with every token of its context masked."""
    return replace(canvas, texts=tuple((MASK,) * len(text) for text in canvas.texts))
