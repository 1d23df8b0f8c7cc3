"""One hole of a program filled at several lengths, as listings one below the other (the paper's Fig. 1).

Code is set in columns of one width, as wide as its longest line and no wider than a page; what is
longer goes on in the next line.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from calipers.errors import ArgumentError
from calipers.plot import GREEN, GREY, RED, check, write

# Code is set in this size, and in no more and no fewer columns than these.
_POINTS, _COLUMNS, _NARROWEST = 8, 96, 48


@dataclass(frozen=True, slots=True)
class Attempt:
    """A hole filled at one length, and whether the program then passed."""

    length: int
    fill: str
    passed: bool


def sensitivity(
    path: Path, rows: Sequence[Attempt], prefix: str = "", suffix: str = "", context: int = 2, title: str = ""
) -> Path:
    """One panel an attempt: the fill in its colour between `context` lines of the program on either side."""
    check(path, "bench")
    if not rows:
        raise ArgumentError("rows has no attempt; give one a length.")
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle

    panels = _dedented([_shown(prefix, row.fill, suffix, context) for row in rows])
    width = min(_COLUMNS, max(_NARROWEST, *(len(line.text) for panel in panels for line in panel)))
    panels = [[piece for line in panel for piece in line.wrapped(width)] for panel in panels]
    # In lines of text: a head and a gap for each panel.
    height = sum(len(panel) + 2.3 for panel in panels) + (1.4 if title else 0)
    em, leading = 0.602 * _POINTS / 72, 1.45 * _POINTS / 72
    figure = Figure(figsize=((width + 4) * em, height * leading + 0.1))
    axes = figure.add_axes((0, 0, 1, 1), xlim=(-2, width + 2), ylim=(height + 0.2, 0))
    axes.set_axis_off()
    style: dict[str, Any] = {"fontsize": _POINTS, "va": "center", "parse_math": False}
    top = 0.4
    if title:
        axes.text(0, top + 0.5, title, fontweight="bold", **style)
        top += 1.4
    for row, panel in zip(rows, panels, strict=True):
        color, verdict = (GREEN, "✓ passes") if row.passed else (RED, "✗ fails")
        axes.text(0, top + 0.5, f"L = {row.length}", fontweight="bold", **style)
        axes.text(width, top + 0.5, verdict, ha="right", fontweight="bold", color=color, **style)
        top += 1.1
        axes.add_patch(Rectangle((-1, top), width + 2, len(panel), fc="#f4f6f7", ec="none"))
        for line in panel:
            if line.filled:
                axes.add_patch(Rectangle((-1, top), width + 2, 1, fc=color, alpha=0.13, ec="none"))
                axes.add_patch(Rectangle((-1, top), 0.4, 1, fc=color, ec="none"))
            for start, text, ink in line.inks(color):
                axes.text(start, top + 0.52, text, family="monospace", color=ink, **style)
            top += 1
        top += 1.2
    return write(figure, path)


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of a program and the columns [start, stop) of it that were filled; `filled`: touched at all."""

    text: str
    start: int
    stop: int
    filled: bool
    more: bool = False

    def wrapped(self, width: int) -> Iterator[_Line]:
        """In pieces no wider than that, those after the first one two columns in."""
        yield replace(self, text=self.text[:width])
        at = width
        while at < len(self.text):
            cut, to = self.text[at : at + width - 2], 2 - at
            yield _Line("  " + cut, max(self.start + to, 2), max(self.stop + to, 2), self.filled, more=True)
            at += width - 2

    def inks(self, color: str) -> Iterator[tuple[int, str, str]]:
        """The runs of one colour: where, what, which."""
        if self.more:
            yield 0, "↪", GREY
        for start, stop, ink in ((0, self.start, GREY), (self.start, self.stop, color), (self.stop, None, GREY)):
            run = self.text[start:stop]
            if run.strip():
                indent = len(run) - len(run.lstrip())
                yield start + indent, run.strip(), ink


def _shown(prefix: str, fill: str, suffix: str, context: int) -> list[_Line]:
    """The lines the fill is on and those next to them."""
    first, last = len(prefix), len(prefix) + len(fill)
    lines, at = [], 0
    for text in (prefix + fill + suffix).split("\n"):
        end = at + len(text)
        # A line is touched by what is filled in it, its own newline included.
        touched = at < last and end >= first and bool(fill)
        lines.append(_Line(_visible(text), max(first - at, 0), max(min(last, end) - at, 0), touched))
        at = end + 1
    here = [n for n, line in enumerate(lines) if line.filled] or [prefix.count("\n")]
    shown = lines[max(0, here[0] - context) : here[-1] + 1 + context]
    shown = [line if line.filled else replace(line, start=0, stop=0) for line in shown]
    while len(shown) > 1 and not shown[-1].filled and not shown[-1].text.strip():
        shown.pop()
    return shown


def _visible(text: str) -> str:
    """With a column for every character: no font has a shape for the others, which only a poor model writes."""
    return "".join(c if c.isprintable() else " " if c == "\t" else "�" for c in text)


def _dedented(panels: list[list[_Line]]) -> list[list[_Line]]:
    """Without the indent that all lines of all panels share."""
    indents = [len(x.text) - len(x.text.lstrip()) for panel in panels for x in panel if x.text.strip()]
    cut = min(indents, default=0)
    return [
        [replace(x, text=x.text[cut:], start=max(0, x.start - cut), stop=max(0, x.stop - cut)) for x in panel]
        for panel in panels
    ]
