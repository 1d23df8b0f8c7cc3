"""What calipers asks of a model: text to ids and back, and predictions at hole positions.

    predict(queries)[k][i] = logits over the vocabulary for positions[i] of query k

Whatever a checkpoint does inside (shifted rows, begin-of-text tokens, its own mask id),
row i always speaks of the i-th position that was asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from calipers.canvas import Canvas
from calipers.look import Look
from calipers.models.card import Card

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True, slots=True)
class Query:
    """Ask for predictions at some positions of a canvas.

    `controls` lets a checkpoint's length-changing tokens (DreamOn's expand and delete)
    through, which are forbidden otherwise.
    """

    canvas: Canvas
    positions: tuple[int, ...]
    controls: bool = False

    @classmethod
    def whole(cls, canvas: Canvas) -> Query:
        """All hole positions of a canvas."""
        return cls(canvas, canvas.positions)


@runtime_checkable
class MaskModel(Protocol):
    """A masked diffusion language model, seen from outside."""

    card: Card

    @property
    def context(self) -> int:
        """The most tokens a canvas may have (what the model adds itself already taken off)."""
        ...

    @property
    def device(self) -> str:
        """Where it computes, and in what: `cpu/float32`."""
        ...

    def encode(self, text: str) -> list[int]:
        """Token ids of a text or a piece of one; nothing is added."""
        ...

    def decode(self, ids: Iterable[int]) -> str:
        """The text of ids; the pieces of one character decode together."""
        ...

    def predict(self, queries: Sequence[Query]) -> Iterator[Tensor]:
        """For each query, in order, float32 logits of shape [positions, vocabulary].

        They come one by one, so that a caller who reduces each at once holds few of them.
        Forbidden ids are at minus infinity.
        """
        ...


@runtime_checkable
class Looking(Protocol):
    """A model that can also take looks at all rows of a forward together; one that cannot is asked for logits."""

    def look(self, queries: Sequence[Query], looks: Sequence[Look | None]) -> Iterator[Tensor]:
        """For each query, in order, what its look keeps of its positions, or their logits if it has none."""
        ...
