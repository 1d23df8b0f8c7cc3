"""Figure 4: the confidence landscape of the case study's task during the search."""

from __future__ import annotations

from pathlib import Path

from calipers.bench.table import Cell, Table
from calipers.experiments import case
from calipers.experiments.lab import Lab

TITLE = "Figure 4: the landscape of the case study"
START = 4


def tables(lab: Lab) -> list[Table]:
    """The landscape in numbers."""
    _, known, facts = case.seen(lab)
    shown = case.landscape(known, case.search(known, START))
    rows = tuple(
        (p.length, Cell(p.confidence, 3), Cell(p.bias, 3), Cell(p.calibrated, 3, best=p.length == shown.length))
        for p in shown.by_length
    )
    notes = (f"From {START}; found {shown.length}, the oracle length is {facts.oracle_length}.",)
    return [Table(f"{TITLE}, {lab.label}", ("L", "Φ", "B", "Φ/B"), rows, notes)]


def figure(lab: Lab, path: Path) -> Path:
    """The picture."""
    from calipers.experiments.draw import landscape

    _, known, facts = case.seen(lab)
    return landscape(path, case.landscape(known, case.search(known, START)), facts.oracle_length, lab.label)
