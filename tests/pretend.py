"""Models for tests whose predictions depend on the whole canvas, as those of `Scripted` do not; and decoders alone."""

import math
import random
from collections.abc import Callable, Iterable, Iterator, Sequence

import torch
from torch import Tensor

from calipers.canvas import Canvas
from calipers.decode import Decoder
from calipers.models.base import MaskModel, Query
from calipers.models.card import Card
from calipers.models.scripted import peaked


class Chaotic:
    """Predictions drawn by lot, from flat to certain, and the same whenever the same is asked."""

    card = Card("chaotic", "chaotic", "scripted", "1")
    context = 4096
    device = "cpu/float32"

    def __init__(self, seed: int = 0, size: int = 17) -> None:
        self.seed = seed
        self.size = size
        self.asked: list[list[Query]] = []

    def encode(self, text: str) -> list[int]:
        return [byte % self.size for byte in text.encode()]

    def decode(self, ids: Iterable[int]) -> str:
        return "".join(chr(ord("a") + i) for i in ids)

    def predict(self, queries: Sequence[Query]) -> Iterator[Tensor]:
        self.asked.append(list(queries))
        for query in queries:
            yield torch.stack([self.row(query.canvas, position) for position in query.positions])

    def row(self, canvas: Canvas, position: int) -> Tensor:
        lot = random.Random(hash((self.seed, canvas.ids, position)))
        scale = lot.uniform(0, 8)
        return torch.tensor([scale * lot.gauss(0, 1) for _ in range(self.size)])


class Coupled(Chaotic):
    """The best length of a hole depends on the lengths of all: `best(hole, lengths)`."""

    def __init__(self, best: Callable[[int, tuple[int, ...]], int]) -> None:
        super().__init__()
        self.best = best

    def row(self, canvas: Canvas, position: int) -> Tensor:
        hole = next(i for i, span in enumerate(canvas.spans) if position in span)
        probability = peaked(self.best(hole, canvas.lengths))(canvas.lengths[hole])
        row = torch.full((self.size,), math.log((1 - probability) / (self.size - 1)))
        row[hole + 1] = math.log(probability)
        return row


def history(decoder: Decoder, model: MaskModel, canvas: Canvas, seed: int = 0) -> list[Canvas]:
    """Every canvas the decoder asks about, and the one it ends with."""
    steps, seen = decoder.canvases(canvas, seed), []
    try:
        query = next(steps)
        while True:
            seen.append(query.canvas)
            (logits,) = model.predict([query])
            query = steps.send(decoder.look(logits) if decoder.look else logits)
    except StopIteration as end:
        return [*seen, end.value]
