"""A table that renders itself: for a terminal, Markdown, LaTeX (booktabs) and CSV.

A row is a tuple of cells, or one text: a heading over the rows below it. A cell is a text, a
number, None (printed –) or a `Cell`, which can carry an interval and the figure it is to stand
beside (the paper's): `33.4 [30.4, 36.5] (70.4)`. Headings may be grouped, `groups=(("", 1),
("L = 4", 2))`: spans from left to right that make up all columns; where a format has no spans
the group goes in front of the column's name. The printed forms round, CSV holds the numbers as
they are, one to a column.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from calipers.errors import ArgumentError

if TYPE_CHECKING:
    from rich.text import Text

MISSING = "–"
_MARKDOWN = {**{c: "\\" + c for c in "\\`*_|~$[]"}, "<": "&lt;", "&": "&amp;", "\n": " "}
_LATEX = (
    {c: "\\" + c for c in "&%$#_{}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    # At the start of a row the first two would be read as arguments of the line break before it.
    | {"[": "{[}", "*": "{*}", "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", "\n": " "}
    | {"–": "--", "—": "---", "…": r"\ldots{}", "±": r"$\pm$", "×": r"$\times$", "·": r"$\cdot$", "→": r"$\to$"}
    | {"Φ": r"$\Phi$", "Δ": r"$\Delta$", "≤": r"$\leq$", "≥": r"$\geq$", "−": "$-$", "L̂": r"$\hat{L}$"}
)


@dataclass(frozen=True, slots=True)
class Cell:
    """One figure.

    digits      after the point
    low, high   the interval around it
    beside      the figure it is compared with
    best        set in bold
    """

    value: str | int | float | None
    digits: int = 1
    low: float | None = None
    high: float | None = None
    beside: float | None = None
    best: bool = False

    def __post_init__(self) -> None:
        for name in ("value", "low", "high", "beside"):
            number = getattr(self, name)
            if isinstance(number, float) and not math.isfinite(number):
                raise ArgumentError(f"{name}={number} is no figure; give None where there is none.")
        if (self.low is None) != (self.high is None):
            raise ArgumentError(f"low={self.low}, high={self.high} is half an interval; give both ends or neither.")

    def parts(self, short: bool = False) -> tuple[str, str, str]:
        """The figure, its interval (`short`: ± half its width) and the figure beside it; "" where there is none."""
        within = ""
        if self.low is not None and self.high is not None:
            half = f"±{self._text((self.high - self.low) / 2)}"
            within = half if short else f"[{self._text(self.low)}, {self._text(self.high)}]"
        return self._text(self.value), within, "" if self.beside is None else f"({self._text(self.beside)})"

    def _text(self, value: str | float | None) -> str:
        if value is None:
            return MISSING
        return f"{value:.{self.digits}f}" if isinstance(value, float) else str(value)


Value: TypeAlias = str | int | float | Cell | None


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under columns; `beside` and `interval` say in a note what stands in brackets, if anything does."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Value, ...] | str, ...]
    notes: tuple[str, ...] = ()
    groups: tuple[tuple[str, int], ...] = ()
    beside: str = "the paper's figure"
    interval: str = "95 % bootstrap interval"

    def __post_init__(self) -> None:
        for number, row in enumerate(self.rows, 1):
            if not isinstance(row, str) and len(row) != len(self.columns):
                raise ArgumentError(
                    f"Row {number} of table {self.title!r} has {len(row)} cells for {len(self.columns)} columns; "
                    "give one a column (None where there is none)."
                )
        spanned = sum(span for _, span in self.groups)
        if self.groups and spanned != len(self.columns):
            raise ArgumentError(
                f"groups of table {self.title!r} span {spanned} of {len(self.columns)} columns; make up all of them."
            )
        self.cells()  # what is no figure is refused here, not when it is printed

    @property
    def names(self) -> tuple[str, ...]:
        """The columns' names with their groups in front."""
        spans = [group for group, span in self.groups for _ in range(span)] or [""] * len(self.columns)
        return tuple(f"{group} {column}".strip() for group, column in zip(spans, self.columns, strict=True))

    def cells(self) -> list[tuple[Cell, ...] | str]:
        """The rows with every value as a cell."""
        return [
            row if isinstance(row, str) else tuple(v if isinstance(v, Cell) else Cell(v) for v in row)
            for row in self.rows
        ]

    def right(self) -> list[bool]:
        """Which columns are of numbers, set to the right; the others are of words."""
        rows = [row for row in self.cells() if not isinstance(row, str)]
        return [any(isinstance(row[at].value, int | float) for row in rows) for at in range(len(self.columns))]

    def legend(self, short: bool = False) -> tuple[str, ...]:
        """The notes, after what the brackets mean."""
        cells = [cell for row in self.cells() if not isinstance(row, str) for cell in row]
        marks = []
        if any(cell.low is not None for cell in cells):
            marks.append(f"±: half the width of the {self.interval}." if short else f"[low, high]: {self.interval}.")
        if any(cell.beside is not None for cell in cells):
            marks.append(f"In parentheses: {self.beside}.")
        return (*marks, *self.notes)

    def csv(self) -> str:
        """Every number as it is; intervals, figures beside and headings have columns of their own."""
        rows = [row for row in self.cells() if not isinstance(row, str)]
        fields = []
        for at, name in enumerate(self.names):
            there = [f for f in ("low", "high", "beside") if any(getattr(row[at], f) is not None for row in rows)]
            fields += [(at, name, "value"), *((at, f"{name} {field}", field) for field in there)]
        headed = len(rows) < len(self.rows)
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(["section"] * headed + [name for _, name, _ in fields])
        section = ""
        for row in self.cells():
            if isinstance(row, str):
                section = row
            else:
                writer.writerow([section] * headed + [getattr(row[at], field) for at, _, field in fields])
        return out.getvalue()

    def markdown(self) -> str:
        """A pipe table under its title in bold, notes below."""
        marks = ["---:" if right else "---" for right in self.right()]
        lines = [f"**{_markdown(self.title)}**", "", _pipes(map(_markdown, self.names)), _pipes(marks)]
        for row in self.cells():
            if isinstance(row, str):
                lines.append(_pipes([f"**{_markdown(row)}**", *[""] * (len(self.columns) - 1)]))
            else:
                lines.append(_pipes(map(_markdown_cell, row)))
        return "\n".join([*lines, *(f"\n{_markdown(note)}" for note in self.legend())]) + "\n"

    def latex(self) -> str:
        """A `table*` in the package booktabs, to be read with \\input."""
        kinds = "".join("r" if right else "l" for right in self.right())
        lines = [r"\begin{table*}[t]", rf"\caption{{{_latex(self.title)}}}", r"\centering\small"]
        lines += [r"\setlength{\tabcolsep}{4pt}", rf"\begin{{tabular}}{{{kinds}}}", r"\toprule"]
        if self.groups:
            lines += _latex_groups(self.groups)
        lines += [" & ".join(map(_latex, self.columns)) + r" \\", r"\midrule"]
        for row in self.cells():
            if isinstance(row, str):
                lines += [r"\midrule"] * (lines[-1] != r"\midrule")
                lines += [rf"\multicolumn{{{len(kinds)}}}{{c}}{{{_latex(row)}}} \\", r"\midrule"]
            else:
                lines.append(" & ".join(map(_latex_cell, row)) + r" \\")
        lines += [r"\bottomrule", r"\end{tabular}"]
        lines += [rf"\par\smallskip{{\footnotesize {_latex(note)}}}" for note in self.legend()]
        return "\n".join([*lines, r"\end{table*}"]) + "\n"

    def terminal(self, width: int = 100) -> Text:
        """For rich's console, and `str` of it is plain text; see `calipers.bench.layout`."""
        from calipers.bench.layout import lay_out

        return lay_out(self, width)


def _escaped(text: str, special: Mapping[str, str]) -> str:
    pattern = "|".join(map(re.escape, sorted(special, key=len, reverse=True)))
    return re.sub(pattern, lambda found: special[found[0]], text)


def _indented(text: str, special: Mapping[str, str], indent: str) -> str:
    """Escaped; blanks in front, which Markdown and LaTeX drop, as an indent."""
    words = text.lstrip(" ")
    return indent * (len(words) < len(text)) + _escaped(words, special)


def _markdown(text: str) -> str:
    return _indented(text, _MARKDOWN, "&emsp;")


def _markdown_cell(cell: Cell) -> str:
    figure, *rest = cell.parts()
    figure = _markdown(figure)
    return " ".join(filter(None, [f"**{figure}**" if cell.best else figure, *rest]))


def _pipes(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _latex(text: str) -> str:
    return _indented(text, _LATEX, r"\quad ")


def _latex_cell(cell: Cell) -> str:
    # A hyphen is no minus in text.
    figure, *rest = cell.parts() if isinstance(cell.value, str) else (p.replace("-", "−") for p in cell.parts())
    figure = rf"\textbf{{{_latex(figure)}}}" if cell.best else _latex(figure)
    return " ".join([figure, *(rf"{{\scriptsize {_latex(part)}}}" for part in rest if part)])


def _latex_groups(groups: Iterable[tuple[str, int]]) -> list[str]:
    heads, rules, first = [], [], 1
    for name, span in groups:
        heads.append(rf"\multicolumn{{{span}}}{{c}}{{{_latex(name)}}}")
        if name:
            rules.append(rf"\cmidrule(lr){{{first}-{first + span - 1}}}")
        first += span
    return [" & ".join(heads) + r" \\", " ".join(rules)]
