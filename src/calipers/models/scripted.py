"""A model with known answers, for tests, documentation and users' own tests.

    model = Scripted(["world"])
    calipers.infill("hello ", "!", model=model).text == "world"

It reads and writes UTF-8 bytes, one token a byte. Each hole has its answer; at any length the
hole is predicted to hold the answer, cut or repeated to fit, with a confidence that is a
function of the length alone, which peaks at the answer's own length unless told otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from calipers.bias import PAPER, Bias
from calipers.errors import ArgumentError
from calipers.models.base import Query
from calipers.models.card import Card

if TYPE_CHECKING:
    from torch import Tensor

# After the 256 bytes: the length-changing tokens, so that DreamOn's rule can be tested.
EXPAND, DELETE, SIZE = 256, 257, 258


def peaked(oracle_length: int, bias: Bias = PAPER) -> Callable[[int], float]:
    """Confidences whose calibrated landscape has its one peak at the oracle length."""
    return lambda length: bias(length) / (1 + abs(length - oracle_length) / 10) * 0.9


class Scripted:
    """A `MaskModel` that says what it was told to say.

    answers      the text of each hole
    landscape    Φ of a hole's length, for all holes; None: `peaked` at each answer's byte length
    tokens       overrides what is predicted: (hole, index in hole, length of hole) -> (id, probability)
    asked        every query it was given, one list a call
    """

    def __init__(
        self,
        answers: Sequence[str],
        landscape: Callable[[int], float] | None = None,
        *,
        tokens: Callable[[int, int, int], tuple[int, float]] | None = None,
        context: int = 4096,
        name: str = "scripted",
    ) -> None:
        self.card = Card(name, name, "scripted", "1", licence="Apache-2.0", expand_id=EXPAND, delete_id=DELETE)
        self.answers = [answer.encode() for answer in answers]
        self.landscapes = [landscape or peaked(len(answer)) for answer in self.answers]
        self.context = context
        self.asked: list[list[Query]] = []
        self._tokens = tokens

    @property
    def device(self) -> str:
        """Nowhere in particular."""
        return "cpu/float32"

    def encode(self, text: str) -> list[int]:
        """UTF-8 bytes."""
        return list(text.encode())

    def decode(self, ids: Iterable[int]) -> str:
        """UTF-8 bytes; what is no character becomes U+FFFD."""
        return bytes(i for i in ids if i < 256).decode(errors="replace")

    def predict(self, queries: Sequence[Query]) -> Iterator[Tensor]:
        """One probable token a position, all others equally improbable."""
        import torch

        self.asked.append(list(queries))
        for query in queries:
            rows = []
            for position in query.positions:
                token, probability = self._predict_one(query, position)
                size = SIZE if query.controls else SIZE - 2
                row = torch.full((SIZE,), math.log((1 - probability) / (size - 1)), dtype=torch.float32)
                row[token] = math.log(probability)
                if not query.controls:
                    row[[EXPAND, DELETE]] = -torch.inf
                rows.append(row)
            yield torch.stack(rows) if rows else torch.empty(0, SIZE)

    def _predict_one(self, query: Query, position: int) -> tuple[int, float]:
        hole = query.canvas.hole_at(position)
        if hole >= len(self.answers):
            raise ArgumentError(f"Scripted has {len(self.answers)} answer(s), and was asked of hole {hole + 1}.")
        span = query.canvas.spans[hole]
        index, length = position - span.start, len(span)
        if self._tokens is not None:
            return self._tokens(hole, index, length)
        answer = self.answers[hole] or b" "
        return answer[index % len(answer)], min(0.999, self.landscapes[hole](length))
