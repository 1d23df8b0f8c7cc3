"""Where the holes of an example are, in characters: named kinds, drawn by their weights.

line    a whole line, with its newline or without
block   lines i to j
tail    from somewhere in a line, where the cursor is, to the line's end
cut     from inside one word to inside the same or another one of the line: sub-word seams
words   words of prose, with a blank at one seam, both or none
gap     words of prose whose blanks at both seams are gone, as the paper masks its texts
chars   any span, its length log-uniform
random  no holes: single tokens are masked at random (drawn here, done by `row`)
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

KINDS = ("line", "block", "tail", "cut", "words", "gap", "chars", "random")
_WORD = re.compile(r"\S+")
_LONGEST = 400  # characters of a `chars` span
_TRIES = 8


class Span(NamedTuple):
    """Characters start to end are a hole of this kind."""

    start: int
    end: int
    kind: str


@dataclass(frozen=True, slots=True)
class Mix:
    """How often each kind is drawn, and how many holes a text gets.

    weights   kind → weight, a kind that is left out is never drawn
    several   share of texts with more holes than one; they try for `fewest` to `most`
    cover     no holes beyond this share of a text
    lines, words   mean of the lines of a block beyond two, of the words of a span beyond one
    """

    weights: dict[str, float] = field(default_factory=lambda: {"line": 1.0})
    several: float = 0.75
    fewest: int = 3
    most: int = 15
    cover: float = 0.6
    lines: float = 3.0
    words: float = 5.0

    def __post_init__(self) -> None:
        if unknown := set(self.weights) - set(KINDS):
            raise ValueError(f"span kinds {sorted(unknown)} are not known; known: {', '.join(KINDS)}.")
        if not self.weights or min(self.weights.values()) < 0 or sum(self.weights.values()) <= 0:
            raise ValueError(f"weights {self.weights} give no kind a chance; give at least one a weight above 0.")
        if not 1 <= self.fewest <= self.most:
            raise ValueError(f"fewest={self.fewest}, most={self.most}: give 1 <= fewest <= most.")


@dataclass(frozen=True, slots=True)
class Page:
    """A text with what every kind asks of it: where lines and words begin and end."""

    text: str
    lines: tuple[int, ...]
    words: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, text: str) -> Page:
        """Find the lines' starts (and the text's end) and the words."""
        starts = [0, *(m.end() for m in re.finditer("\n", text))]
        lines = (*starts, len(text)) if starts[-1] < len(text) else tuple(starts)
        return cls(text, lines, tuple(m.span() for m in _WORD.finditer(text)))


def draw(text: str, mix: Mix, rng: random.Random) -> tuple[str, list[Span]]:
    """The text to use and its holes, in order and never touching; no holes means `random` masking.

    The text comes back changed only where a `gap` took the blanks at its seams away.
    """
    kinds, weights = list(mix.weights), list(mix.weights.values())
    wanted = rng.choices(kinds, weights, k=1)
    if wanted[0] == "random":
        return text, []
    if rng.random() < mix.several:
        wanted += rng.choices(kinds, weights, k=rng.randint(mix.fewest, mix.most) - 1)
    page, found = Page.of(text), list[Span]()
    for kind in wanted:
        if kind != "random" and (span := _place(page, kind, found, mix, rng)) is not None:
            found.append(span)
    return _without_blanks(text, sorted(found))


def _place(page: Page, kind: str, found: Sequence[Span], mix: Mix, rng: random.Random) -> Span | None:
    """A span of this kind with room around it, if a few tries find one."""
    room = mix.cover * len(page.text) - sum(span.end - span.start for span in found)
    for _ in range(_TRIES):
        ends = _PICK[kind](page, mix, rng)
        if ends is None:
            return None
        start, end = ends
        # A gap takes the blank before and after it away, so its neighbours keep clear of those too.
        wide = [(s.start - (s.kind == "gap"), s.end + (s.kind == "gap")) for s in found]
        before, after = (start - 1, end + 1) if kind == "gap" else (start, end)
        if 0 < end - start <= room and all(after < a or before > b for a, b in wide):
            return Span(start, end, kind)
    return None


def _without_blanks(text: str, spans: list[Span]) -> tuple[str, list[Span]]:
    parts, moved, last, taken = list[str](), list[Span](), 0, 0
    for span in spans:
        if span.kind == "gap":
            parts += [text[last : span.start - 1], text[span.start : span.end]]
            last, taken = span.end + 1, taken + 1
            moved.append(Span(span.start - taken, span.end - taken, span.kind))
            taken += 1
        else:
            moved.append(Span(span.start - taken, span.end - taken, span.kind))
    return "".join([*parts, text[last:]]), moved


def _line(page: Page, mix: Mix, rng: random.Random) -> tuple[int, int] | None:
    return _rows(page, 1, rng)


def _block(page: Page, mix: Mix, rng: random.Random) -> tuple[int, int] | None:
    return _rows(page, 2 + int(rng.expovariate(1 / mix.lines)), rng)


def _rows(page: Page, count: int, rng: random.Random) -> tuple[int, int] | None:
    """So many lines, the first and the last not blank, for nobody asks for a blank line."""
    lines = page.lines
    count = min(count, len(lines) - 2)
    if count < 1:
        return None
    for _ in range(_TRIES):
        first = rng.randrange(len(lines) - count)
        start, end = lines[first], lines[first + count]
        own = page.text[start : lines[first + 1]], page.text[lines[first + count - 1] : end]
        if all(line.strip() for line in own):
            # The published tasks take the newline along; a cursor on an empty line leaves it.
            return start, end - (own[1].endswith("\n") and rng.random() < 0.2)
    return None


def _tail(page: Page, mix: Mix, rng: random.Random) -> tuple[int, int] | None:
    lines = page.lines
    first = rng.randrange(max(1, len(lines) - 1))
    start, end = lines[first], lines[min(first + 1, len(lines) - 1)]
    line = page.text[start:end].rstrip("\n")
    begin = len(line) - len(line.lstrip())
    if len(line) - begin < 3:
        return start, start  # too short: another try
    return start + rng.randrange(begin, len(line) - 1), start + len(line)


def _cut(page: Page, mix: Mix, rng: random.Random) -> tuple[int, int] | None:
    if not page.words:
        return None
    first = rng.randrange(len(page.words))
    a, b = page.words[first]
    if b - a < 3:
        return a, a
    last = min(first + (0 if rng.random() < 0.5 else int(rng.expovariate(0.5))), len(page.words) - 1)
    c, d = page.words[last]
    if d - c < 2 or "\n" in page.text[a:d]:
        c, d = a, b
    start = rng.randrange(a + 1, b - 1)
    low = max(start + 1, c + 1)
    return start, rng.randrange(low, max(low + 1, d))


def _words(page: Page, mix: Mix, rng: random.Random) -> tuple[int, int] | None:
    ends = _some_words(page, mix, rng)
    if ends is None:
        return None
    start, end = ends
    return start - (start > 0 and rng.random() < 0.5), end + (end < len(page.text) and rng.random() < 0.15)


def _gap(page: Page, mix: Mix, rng: random.Random) -> tuple[int, int] | None:
    ends = _some_words(page, mix, rng)
    if ends is None:
        return None
    start, end = ends
    text = page.text
    inside = start > 0 and end < len(text) and text[start - 1] == text[end] == " "
    return (start, end) if inside else (start, start)


def _some_words(page: Page, mix: Mix, rng: random.Random) -> tuple[int, int] | None:
    words = page.words
    if len(words) < 5:
        return None
    count = min(len(words) - 2, 1 + int(rng.expovariate(1 / mix.words)))
    first = rng.randrange(len(words) - count + 1)
    return words[first][0], words[first + count - 1][1]


def _chars(page: Page, mix: Mix, rng: random.Random) -> tuple[int, int] | None:
    most = min(_LONGEST, len(page.text) // 2)
    if most < 3:
        return None
    length = int(math.exp(rng.uniform(math.log(3), math.log(most))))
    start = rng.randrange(len(page.text) - length + 1)
    return start, start + length


_PICK: dict[str, Callable[[Page, Mix, random.Random], tuple[int, int] | None]] = {
    "line": _line,
    "block": _block,
    "tail": _tail,
    "cut": _cut,
    "words": _words,
    "gap": _gap,
    "chars": _chars,
}
