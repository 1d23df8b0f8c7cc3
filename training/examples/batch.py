"""Batches of rows: a pure function of the seed and the batch's number, whoever makes it.

So training goes on after a kill with the batches it would have had, however many workers there are.
Rows are as long as they are: sorted by size into buckets, they need next to no padding.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from calipers.models.tokenizer import Tokenizer
from training.examples.row import SHORT, Cut, Encode, Row, make_row
from training.examples.shelf import Shelf
from training.examples.spans import Mix


@dataclass(frozen=True, slots=True)
class Source:
    """Shelves that are drawn from together.

    name     in the log
    shelves  folders with `train` and `held` (see `shelf`)
    weight   share of rows, with the other sources' weights
    prose    whether spans of prose are cut, and short texts joined
    """

    name: str
    shelves: tuple[str, ...]
    weight: float
    prose: bool = False


@dataclass(frozen=True, slots=True)
class Recipe:
    """All that the examples depend on, beside the texts.

    lengths   the most tokens of a row; `shares` says how often each is drawn
    tokens    of a batch: rows are drawn until they have so many
    step      rows have a multiple of so many tokens, short ones aside
    """

    sources: tuple[Source, ...]
    tokenizer: str
    code: Mix
    prose: Mix
    cut: Cut
    lengths: tuple[int, ...] = (256, 512)
    shares: tuple[float, ...] = (0.5, 0.5)
    tokens: int = 131_072
    step: int = 1
    begin: int = 0
    seed: int = 0

    def __post_init__(self) -> None:
        if len(self.lengths) != len(self.shares):
            raise ValueError(f"lengths={self.lengths} and shares={self.shares} are not one to one.")
        if not self.sources:
            raise ValueError("there is no source to draw from; name one.")


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows one after the other: ids, the kind of each target (0: none), and tokens of each row."""

    number: int
    ids: NDArray[np.uint16]
    kinds: NDArray[np.uint8]
    sizes: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Bucket:
    """Rows of like size side by side, padded behind."""

    ids: NDArray[np.uint16]
    kinds: NDArray[np.uint8]
    sizes: NDArray[np.int64]


def buckets(batch: Batch, tokens: int, padding: int, step: int = 1, multiple: int = 32) -> Iterator[Bucket]:
    """The rows of a batch by size, each bucket of at most `tokens` (but one row at least), padding included.

    Where rows have multiples of `step` tokens, those of one size are a bucket without padding, the short ones aside.
    """
    order = np.argsort(batch.sizes, kind="stable")[::-1]
    starts = np.cumsum(batch.sizes) - batch.sizes
    at = 0
    while at < len(order):
        longest = int(batch.sizes[order[at]])
        even = step > 1 and longest >= SHORT
        width = longest if even else -(-longest // multiple) * multiple
        rows = order[at : at + max(1, tokens // width)]
        if even:
            rows = rows[batch.sizes[rows] == width]
        ids = np.full((len(rows), width), padding, np.uint16)
        kinds = np.zeros((len(rows), width), np.uint8)
        for place, row in enumerate(rows):
            size, start = int(batch.sizes[row]), int(starts[row])
            ids[place, :size] = batch.ids[start : start + size]
            kinds[place, :size] = batch.kinds[start : start + size]
        yield Bucket(ids, kinds, batch.sizes[rows])
        at += len(rows)


class Maker:
    """Makes any batch of a recipe; `part` is train or held."""

    def __init__(self, recipe: Recipe, part: str = "train") -> None:
        self._recipe, self._part = recipe, part
        encode = Tokenizer.from_json(Path(recipe.tokenizer).read_text("utf-8")).encode
        self._encode: Encode = encode
        self._documents = [_Documents([Shelf(Path(s) / part) for s in source.shelves]) for source in recipe.sources]
        for source, documents in zip(recipe.sources, self._documents, strict=True):
            if not len(documents):
                raise ValueError(f"source {source.name} has no {part} text below {', '.join(source.shelves)}.")

    def sizes(self) -> dict[str, int]:
        """Bytes of text of every source."""
        return {s.name: d.size for s, d in zip(self._recipe.sources, self._documents, strict=True)}

    def batch(self, number: int) -> Batch:
        """The batch of this number."""
        r = self._recipe
        rng = random.Random(f"{r.seed}/{self._part}/{number}")
        weights = [source.weight for source in r.sources]
        rows, total = list[Row](), 0
        while total < r.tokens:
            which = rng.choices(range(len(weights)), weights)[0]
            length = rng.choices(r.lengths, r.shares)[0]
            prose = r.sources[which].prose
            mix = r.prose if prose else r.code
            documents = self._documents[which]
            rows.append(make_row(documents, prose, length, mix, r.cut, self._encode, rng, r.begin, r.step))
            total += len(rows[-1].ids)
        ids, kinds = (np.concatenate([getattr(row, part) for row in rows]) for part in ("ids", "kinds"))
        return Batch(number, ids, kinds, np.array([len(row.ids) for row in rows], np.int64))


class _Documents(Sequence[str]):
    """Several shelves as one."""

    def __init__(self, shelves: list[Shelf]) -> None:
        self._shelves = shelves
        self._starts = np.cumsum([0, *(len(shelf) for shelf in shelves)]).tolist()

    def __len__(self) -> int:
        return int(self._starts[-1])

    def __getitem__(self, at: int) -> str:  # type: ignore[override]  # documents are drawn one by one
        which = int(np.searchsorted(self._starts, at, side="right")) - 1
        return self._shelves[which][at - self._starts[which]]

    @property
    def size(self) -> int:
        return sum(shelf.size for shelf in self._shelves)
