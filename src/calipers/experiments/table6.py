"""Table 6 (appendix): CAL's patience D and step ΔL on single-line code, from L = 8."""

from __future__ import annotations

from calipers.bench.report import mean, share
from calipers.bench.table import Cell, Table, Value
from calipers.experiments import paper
from calipers.experiments.lab import Lab

TITLE = "Table 6: CAL's patience and step on single-line code, from L = 8"


def tables(lab: Lab) -> list[Table]:
    """The fixed length, then a row a setting."""
    forms = {key: f"cal:8,patience={key[0]},step={key[1]}" for key in paper.CODE_PARAMETERS}
    found = lab.answers("humaneval-single-line", ["fixed:8", *forms.values()])
    same = lab.beside == paper.LLADA
    beside = paper.CODE_PARAMETERS_FIXED if same else None
    rows: list[tuple[Value, ...]] = [("fixed length", None, share(found["fixed:8"], "pass", beside), None)]
    for (patience, step), form in forms.items():
        theirs = paper.CODE_PARAMETERS[patience, step] if same else None
        probes = Cell(mean(found[form], lambda r: r.probes), beside=theirs.steps if theirs else None)
        rows.append((f"D = {patience}", step, share(found[form], "pass", theirs.passed if theirs else None), probes))
    notes = (f"{lab.counted(found['fixed:8'])}.", paper.NOTES["two sets"])
    title = f"{TITLE}, {lab.label}"
    return [Table(title, ("patience D", "step ΔL", "Pass@1", "Stps."), tuple(rows), notes, beside=lab.compared)]
