"""A table set for a terminal: as wide as it needs, as narrow as it must.

On one line a row while that fits; else what stands beside a figure is stacked under it and an
interval becomes ± half its width, which is how a table of ten columns of figures, each with the
paper's below, keeps to 100 columns.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import zip_longest
from textwrap import wrap
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from rich.text import Text

    from calipers.bench.table import Cell, Table

# The lines of each cell of each row; a text is a heading.
Grid: TypeAlias = "list[list[list[Text]] | str]"
_GAP, _READABLE = 2, 80


def lay_out(table: Table, width: int) -> Text:
    """The table as one text with styles, in the first form that fits the width, or the last."""
    for stacked in (False, True):
        grid = _grid(table, stacked)
        widths = _widths(table, grid)
        if sum(widths) + _GAP * (len(widths) - 1) <= width:
            break
    return _drawn(table, grid, widths, stacked, width)


def _grid(table: Table, stacked: bool) -> Grid:
    rows = table.cells()
    # Over a figure in parentheses a number keeps a blank at its right, so that the points are aligned.
    over = [stacked and any(not isinstance(r, str) and r[at].beside is not None for r in rows) for at in _at(table)]
    return [
        row if isinstance(row, str) else [_lines(row[at], stacked, " " * over[at]) for at in _at(table)] for row in rows
    ]


def _at(table: Table) -> range:
    return range(len(table.columns))


def _lines(cell: Cell, stacked: bool, after: str) -> list[Text]:
    from rich.text import Text

    figure, within, beside = cell.parts(short=stacked)
    first = Text(figure + after, style="bold" if cell.best else "")
    others = [Text(part, style="dim") for part in (within and within + after, beside) if part]
    return [first, *others] if stacked else [Text(" ").join([first, *others])]


def _widths(table: Table, grid: Grid) -> list[int]:
    """Of each column: its widest cell or name, and room for the name of its group."""
    from rich.cells import cell_len

    rows = [row for row in grid if not isinstance(row, str)]
    widths = [
        max([cell_len(name), *(line.cell_len for row in rows for line in row[at])])
        for at, name in enumerate(table.columns)
    ]
    first = 0
    for name, span in table.groups:
        widths[first + span - 1] += max(0, cell_len(name) - _span(widths, first, span))
        first += span
    return widths


def _span(widths: list[int], first: int, span: int) -> int:
    return sum(widths[first : first + span]) + _GAP * (span - 1)


def _drawn(table: Table, grid: Grid, widths: list[int], stacked: bool, width: int) -> Text:
    from rich.text import Text

    right = table.right()
    rule = Text("─" * _span(widths, 0, len(widths)), style="dim")

    def line(cells: list[Text]) -> Text:
        for cell, to_right, wide in zip(cells, right, widths, strict=True):
            (cell.pad_left if to_right else cell.pad_right)(wide - cell.cell_len)
        return Text(" " * _GAP).join(cells)

    lines = [Text(table.title, style="bold"), *_group_lines(table, widths)]
    lines += [line([Text(name, style="dim") for name in table.columns]), rule]
    for row in grid:
        if isinstance(row, str):
            lines += [rule] * (lines[-1] is not rule) + [Text(row, style="italic"), rule]
        else:
            blocks = zip_longest(*row)
            lines += [line([cell if cell is not None else Text() for cell in block]) for block in blocks]
    lines.append(rule)
    lines += [Text(line, style="dim") for line in _notes(table.legend(short=stacked), rule.cell_len, width)]
    for each in lines:
        each.rstrip()
    text = Text("\n").join(lines)
    text.no_wrap = True
    return text


def _notes(notes: Iterable[str], table: int, width: int) -> list[str]:
    """Broken at words: as wide as the table, and where that is narrow, as a line that is read with ease."""
    wide = table if table > width else min(width, max(table, _READABLE))
    return [line for note in notes for line in wrap(note, wide, subsequent_indent="  ", break_on_hyphens=False)]


def _group_lines(table: Table, widths: list[int]) -> list[Text]:
    """The groups' names, each over a rule as wide as its columns."""
    from rich.cells import cell_len
    from rich.text import Text

    names, rules, first = [], [], 0
    for name, span in table.groups:
        wide = _span(widths, first, span)
        left = (wide - cell_len(name)) // 2
        names.append(" " * left + name + " " * (wide - left - cell_len(name)))
        rules.append(("─" if name else " ") * wide)
        first += span
    gap = " " * _GAP
    return [Text(gap.join(names), style="dim"), Text(gap.join(rules), style="dim")] if table.groups else []
