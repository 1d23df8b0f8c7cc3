"""Table 5 (appendix): DAEDAL by its low-confidence threshold, single-line."""

from __future__ import annotations

from calipers.bench.report import share
from calipers.bench.table import Table, Value
from calipers.experiments import paper
from calipers.experiments.lab import Lab

TITLE = "Table 5: DAEDAL's low-confidence threshold, Pass@1 on single-line code"


def tables(lab: Lab) -> list[Table]:
    """The fixed lengths, then a row a threshold."""
    forms = {low: "fixed:{}" if low is None else f"daedal:{{}},low={low}" for low in paper.THRESHOLDS}
    found = lab.answers("humaneval-single-line", [form.format(n) for form in forms.values() for n in paper.CODE_STARTS])
    theirs = paper.THRESHOLDS if lab.beside == paper.LLADA else {}
    rows: list[tuple[Value, ...]] = []
    for low, form in forms.items():
        printed = theirs.get(low)
        beside = (*printed.passed, printed.average) if printed else (None,) * 5
        each = [found[form.format(n)] for n in paper.CODE_STARTS]
        columns = [*each, [record for records in each for record in records]]
        label = "fixed length" if low is None else f"{low}"
        rows.append((label, *(share(r, "pass", b) for r, b in zip(columns, beside, strict=True))))
    names = ("threshold", *(f"L = {n}" for n in paper.CODE_STARTS), "Avg.")
    notes = (f"{lab.counted(found['fixed:8'])}.", paper.NOTES["daedal"])
    return [Table(f"{TITLE}, {lab.label}", names, tuple(rows), notes, beside=lab.compared)]
