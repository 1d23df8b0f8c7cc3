"""Table 1: with the true length the model is far better than with any fixed one (single-line, all tasks)."""

from __future__ import annotations

from calipers.bench.report import mean, share
from calipers.bench.table import Cell, Table, Value
from calipers.experiments import paper
from calipers.experiments.lab import Lab, figures_of

TITLE = "Table 1: Pass@1 at fixed lengths and at the oracle's, HumanEval-Infilling single-line"


def tables(lab: Lab) -> list[Table]:
    """One row. The paper's counts differ by a little from its Table 2's: here all 1,033 tasks are asked."""
    fixed = {n: f"fixed:{n}" for n in paper.CODE_STARTS}
    answers = lab.answers("humaneval-single-line", [*fixed.values(), "oracle"], split="all")
    model = lab.beside if lab.beside in paper.FIXED_LENGTHS else paper.LLADA  # LLaDA-Instruct is not in Table 1
    theirs, best = paper.FIXED_LENGTHS[model], paper.ORACLES[model]
    every = [record for name in fixed.values() for record in answers[name]]
    row: tuple[Value, ...] = (
        lab.label,
        *(share(answers[name], "pass", beside) for name, beside in zip(fixed.values(), theirs.passed, strict=True)),
        share(every, "pass", theirs.average),
        share(answers["oracle"], "pass", best.passed),
        Cell(mean(answers["oracle"], lambda r: r.oracle_length), beside=best.mean_length),
    )
    columns = ("model", *map(str, fixed), "Avg.", "Pass@1", "Avg. Len")
    groups = (("", 1), ("Fixed length", 4), ("", 1), ("Oracle", 2))
    notes = (f"{lab.counted(answers['oracle'])}.", paper.NOTES["two sets"], paper.NOTES["dream-coder"])
    return [Table(TITLE, columns, (row,), notes, groups, figures_of(model))]
