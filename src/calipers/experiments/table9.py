"""Table 9 (appendix): the search on the case study's task from 4 and from 16, probe by probe."""

from __future__ import annotations

from calipers.bench.table import Cell, Table
from calipers.bias import PAPER
from calipers.experiments import case, paper
from calipers.experiments.lab import Lab

TITLE = "Table 9: the search on the case study's task"


def tables(lab: Lab) -> list[Table]:
    """A table a start: what was visited, in order, and what the first step alone predicts there."""
    _, known, facts = case.seen(lab)
    found = {start: case.search(known, start) for start in case.STARTS}
    visited = sorted({n for one in found.values() for n, _ in one.visited})
    # All tokens in one step: the prediction of the first step.
    predicted = case.fills(lab, visited, ",steps=1")
    made = []
    for start, one in found.items():
        theirs = {probe.length: probe for probe in paper.CASE_STUDY[start]}
        rows = []
        for n, calibrated in one.visited:
            beside = theirs.get(n)
            rows.append(
                (
                    f"{'→ ' if n == one.length else ''}L = {n}{' (oracle)' if n == facts.oracle_length else ''}",
                    Cell(known.probes[(n,)].confidence, 3, beside=beside.confidence if beside else None),
                    Cell(PAPER(n), 3),
                    Cell(calibrated, 3, beside=beside.calibrated if beside else None, best=n == one.length),
                    repr(predicted[n].text.lstrip(" "))[1:-1],
                )
            )
        columns = ("probe", "Φ", "B", "Φ/B", "first step's prediction")
        notes = (f"Found L = {one.length} ({one.stop}); the paper found {paper.CASE_LENGTH}. B is the paper's.",)
        title = f"{TITLE} from {start}, {lab.label}"
        made.append(Table(title, columns, tuple(rows), notes, beside="the paper's, LLaDA-8B-Instruct"))
    return made
