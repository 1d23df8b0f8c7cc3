"""What a decoder is, and the one place where it meets the model."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import TYPE_CHECKING, Protocol, TypeAlias

from calipers.canvas import Canvas
from calipers.drive import Ask
from calipers.look import Look
from calipers.models.base import Query

if TYPE_CHECKING:
    from torch import Tensor

Denoising: TypeAlias = Generator[Query, "Tensor", Canvas]


class Decoder(Protocol):
    """Turns a canvas with masks into one without."""

    @property
    def max_length(self) -> int:
        """The longest a hole may become by this decoder's own doing; 0 if it never grows one."""
        ...

    @property
    def look(self) -> Look | None:
        """What it needs of a position's logits; None: all of them."""
        ...

    def canvases(self, canvas: Canvas, seed: int) -> Denoising:
        """Yield the canvas so far, with the positions to predict; receive what `look` keeps; return the last."""
        ...


def decode(
    decoder: Decoder, canvas: Canvas, seed: int = 0, first: Mapping[int, Tensor] | None = None
) -> Generator[Ask, None, Canvas]:
    """Run a decoder; `first` holds what its look keeps, by position, where that is known of the first canvas."""
    import torch

    steps = decoder.canvases(canvas, seed)
    answers: list[Tensor] = []

    def take(_: int, rows: Tensor) -> None:
        answers.append(rows)

    try:
        query = next(steps)
        while True:
            known = first is not None and query.canvas == canvas and not query.controls
            if known and first is not None and all(p in first for p in query.positions):
                answers.append(torch.stack([first[p] for p in query.positions]))
            else:
                yield Ask((query,), take, "decode", decoder.look)
            first = None
            query = steps.send(answers.pop())
    except StopIteration as end:
        final: Canvas = end.value
        return final
