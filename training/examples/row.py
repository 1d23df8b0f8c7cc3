"""A row of training: a document's window with its holes, in tokens, and which of them are masked.

    [begin] prefix · hole · text · hole · … · suffix [end, where the document ends] padding

The window is cut and its holes are chosen in characters, and every piece is tokenised by itself, just as
`calipers` does with a user's prefix and suffix; so the model meets the seams it will see.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from training.examples.spans import KINDS, Mix, Span, draw

Encode = Callable[[str], list[int]]
KIND = {name: number for number, name in enumerate(KINDS, 1)}  # 0 is no target
_SHORTEST = 60  # characters
# A row of fewer tokens keeps its size: such rows are few tokens of a batch, and a short text must stay as it is.
SHORT = 128
_TRIES = 100


@dataclass(frozen=True, slots=True)
class Cut:
    """How windows are cut and how much of a hole is masked.

    narrow, wide   characters of a window for every token of a row
    top            share of windows that begin where their document does
    lines          of the others, the share that begins at a line
    join           share of short texts of prose that others are put behind
    full           share of rows whose holes are masked whole; of the others, a random part of every hole
    least          the smallest share of tokens masked at random
    """

    narrow: float = 2.2
    wide: float = 4.4
    top: float = 0.25
    lines: float = 0.8
    join: float = 0.8
    full: float = 0.65
    least: float = 0.03


@dataclass(frozen=True, slots=True)
class Row:
    """Token ids, and of every token the kind of hole it is a target of (0: it is none)."""

    ids: NDArray[np.uint16]
    kinds: NDArray[np.uint8]


def make_row(
    documents: Sequence[str],
    prose: bool,
    length: int,
    mix: Mix,
    cut: Cut,
    encode: Encode,
    rng: random.Random,
    begin: int,
    step: int = 1,
) -> Row:
    """A row of at most `length` tokens from some document; `begin` is the id that begins and ends texts.

    One of SHORT tokens or more has a multiple of `step`, so that rows fill a batch with no padding.
    """
    for _ in range(_TRIES):
        document = documents[rng.randrange(len(documents))]
        while prose and len(document) < length * 4 and rng.random() < cut.join:
            document += "\n\n" + documents[rng.randrange(len(documents))]
        text, at_end = window(document, length, cut, rng)
        if len(text) < _SHORTEST:
            continue
        ids, kinds = tokens(*draw(text, mix, rng), encode)
        kept = fit(kinds, length, step, at_end, rng)
        if kept is None:
            continue
        closed = at_end and kept.stop == len(ids)
        return close(ids[kept], choose(kinds[kept], cut, rng), begin, closed)
    raise ValueError(f"{_TRIES} documents gave no row of {length} tokens; are they all short?")


def window(document: str, length: int, cut: Cut, rng: random.Random) -> tuple[str, bool]:
    """Part of a document for a row of `length` tokens, and whether it reaches the document's end."""
    width = int(length * rng.uniform(cut.narrow, cut.wide))
    start = 0 if rng.random() < cut.top else rng.randrange(max(1, len(document) - width // 2))
    if start and rng.random() < cut.lines:
        start = document.find("\n", start) + 1  # no newline after it: the document's top
    return document[start : start + width], start + width >= len(document)


def tokens(text: str, spans: Sequence[Span], encode: Encode) -> tuple[NDArray[np.uint16], NDArray[np.uint8]]:
    """Ids of the pieces a text falls into, one after the other, and the kind of the hole each is in."""
    ids, kinds, last = list[int](), list[int](), 0
    for span in spans:
        for piece, kind in ((text[last : span.start], 0), (text[span.start : span.end], KIND[span.kind])):
            new = encode(piece)
            ids += new
            kinds += [kind] * len(new)
        last = span.end
    rest = encode(text[last:])
    return np.array(ids + rest, np.uint16), np.array(kinds + [0] * len(rest), np.uint8)


def crop(kinds: NDArray[np.uint8], room: int, rng: random.Random) -> slice | None:
    """Which `room` tokens to keep: all holes, the far ends cut off; None if the holes alone are too long."""
    total, extra = len(kinds), max(0, len(kinds) - room)
    holes = np.flatnonzero(kinds)
    left, right = (int(holes[0]), total - 1 - int(holes[-1])) if len(holes) else (total, total)
    if extra > left + right:
        return None
    first = min(left, max(extra - right, rng.randrange(extra + 1)))
    return slice(first, first + total - extra)


def fit(kinds: NDArray[np.uint8], length: int, step: int, at_end: bool, rng: random.Random) -> slice | None:
    """Which tokens to keep, so that the row, with the tokens that begin and end it, has the right size."""
    size = min(1 + len(kinds) + at_end, length)
    size = size if size < SHORT else size // step * step
    kept = crop(kinds, size - 1 - at_end, rng)
    if kept is None or not at_end or kept.stop == len(kinds):
        return kept
    # The end was cut off, and the place of the token for it is free.
    start, stop = (kept.start - 1, kept.stop) if kept.start else (0, kept.stop + 1)
    return None if stop == len(kinds) else slice(start, stop)


def choose(kinds: NDArray[np.uint8], cut: Cut, rng: random.Random) -> NDArray[np.uint8]:
    """The targets: holes whole or a part of their tokens; without holes, tokens anywhere; never none."""
    holes = kinds > 0
    if not holes.any():
        kinds, holes = np.full_like(kinds, KIND["random"]), ~holes
        share = rng.uniform(cut.least, 1)
    elif rng.random() < cut.full:
        return kinds
    else:
        share = rng.uniform(cut.least, 1)
    drawn = holes & (np.random.default_rng(rng.getrandbits(64)).random(len(kinds)) < share)
    if not drawn.any():
        drawn[rng.choice(np.flatnonzero(holes).tolist())] = True
    return np.where(drawn, kinds, 0).astype(np.uint8)


def close(ids: NDArray[np.uint16], kinds: NDArray[np.uint8], begin: int, closed: bool) -> Row:
    """A row with the token that begins every text, and the same one where the text ends."""
    ends = np.array([begin] * closed, np.uint16)
    ids = np.concatenate((np.array([begin], np.uint16), ids, ends))
    return Row(ids, np.pad(kinds, (1, int(closed))))
