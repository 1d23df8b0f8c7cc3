"""Table 2: fixed lengths, DAEDAL and CAL from four starts, single-line and multi-line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from calipers.bench.answer import Record
from calipers.bench.report import estimate, mean, share
from calipers.bench.table import Cell, Table, Value
from calipers.experiments import paper
from calipers.experiments.lab import Lab

TITLE = "Table 2: code infilling, Pass@1 and search steps from four starts"
METHODS = {paper.FIXED: "{label}", paper.DAEDAL: "  + daedal", paper.CAL: "  + cal"}
LONGEST = "Here both search to 64 tokens on single-line and to 128 on multi-line."
HEADINGS = {paper.SINGLE: "Single-line infilling", paper.MULTI: "Multi-line infilling"}


def answers(lab: Lab, task_set: str) -> dict[str, list[Record]]:
    """The records of the three methods from all starts, and of CAL with the model's own bias if it has one."""
    own = [f"cal:{n},bias={lab.own_name}" for n in paper.CODE_STARTS] if lab.own_name else []
    names = [f"{method}:{n}" for method in METHODS for n in paper.CODE_STARTS]
    return lab.answers(f"humaneval-{task_set}", [*names, *own])


def tables(lab: Lab) -> list[Table]:
    """A row a method, a pair of columns a start."""
    rows: list[tuple[Value, ...] | str] = []
    notes = []
    for task_set, heading in HEADINGS.items():
        found = answers(lab, task_set)
        rows.append(heading)
        for method, label in METHODS.items():
            rows.append((label.format(label=lab.label), *_cells(lab, found, task_set, method)))
        if lab.own_name:
            rows.append(("  + cal, own B", *_cells(lab, found, task_set, paper.CAL, f",bias={lab.own_name}")))
        notes.append(f"{heading}: {lab.counted(found['fixed:8'])}.")
    columns = ("model", *("Pass@1", "Stps.") * 5)
    groups = (("", 1), *((f"L = {n}", 2) for n in paper.CODE_STARTS), ("Avg.", 2))
    notes += [paper.NOTES["daedal"], paper.NOTES["longest"], LONGEST, paper.NOTES["not of 933"]]
    return [Table(TITLE, columns, tuple(rows), tuple(notes), groups, lab.compared)]


def figure(lab: Lab, path: Path) -> Path:
    """Pass@1 over the start, a line a method, with the oracle's level: single-line."""
    from calipers.experiments.draw import lines_by_start

    found = answers(lab, paper.SINGLE)
    best = lab.answers("humaneval-single-line", ["oracle"])["oracle"]
    lines = {
        method: [estimate(found[f"{method}:{n}"], "pass").times(100) for n in paper.CODE_STARTS] for method in METHODS
    }
    if lab.own_name:
        named = [found[f"cal:{n},bias={lab.own_name}"] for n in paper.CODE_STARTS]
        lines["cal, own B"] = [estimate(records, "pass").times(100) for records in named]
    bounds = {"oracle": estimate(best, "pass").times(100)}
    return lines_by_start(path, paper.CODE_STARTS, lines, bounds=bounds, title=lab.label)


def _cells(lab: Lab, found: Mapping[str, Sequence[Record]], task_set: str, method: str, more: str = "") -> list[Value]:
    cells: list[Value] = []
    for n in (*paper.CODE_STARTS, None):
        if n is None:
            records = [record for start in paper.CODE_STARTS for record in found[f"{method}:{start}{more}"]]
        else:
            records = list(found[f"{method}:{n}{more}"])
        beside = None if more else paper.passed(lab.beside, task_set, method, n)
        cells.append(share(records, "pass", beside))
        searched = mean(records, lambda r: r.probes) if method == paper.CAL else None
        cells.append(Cell(searched, beside=None if more else paper.steps(lab.beside, task_set, method, n)))
    return cells
