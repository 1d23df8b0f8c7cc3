"""Table 4: what dividing by B is worth: on code by start, on code for this model, on stories by start."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from calipers.bench.answer import Record
from calipers.bench.report import difference, share
from calipers.bench.table import Cell, Table, Value
from calipers.experiments import paper
from calipers.experiments.lab import Absent, Lab, figures_of

TITLE = "Table 4: CAL with and without its bias"
CODE_STARTS = (4, 8, 16)
ROWS = {"fixed length": "fixed:{}", "CAL without B": "cal:{},bias=none", "CAL with B": "cal:{}"}


def tables(lab: Lab) -> list[Table]:
    """(a) with (b) its column L = 8, and (c)."""
    code = lab.answers("humaneval-single-line", [form.format(n) for form in ROWS.values() for n in CODE_STARTS])
    made = [_code(lab, code)]
    try:
        text = lab.answers("stories", [form.format(n) for form in ROWS.values() for n in paper.TEXT_STARTS])
    except Absent as missing:
        lab.notes.append(f"(c) is left out. {missing}")
    else:
        made.append(_text(lab, text))
    return made


def _code(lab: Lab, found: Mapping[str, Sequence[Record]]) -> Table:
    columns = ("method", *(f"L = {n}" for n in CODE_STARTS))
    kinds = dict(zip(ROWS, (paper.FIXED, paper.UNCALIBRATED, paper.CAL), strict=True))
    rows: list[tuple[Value, ...] | str] = [
        (
            label,
            *(
                share(found[form.format(n)], "pass", paper.passed(lab.beside, paper.SINGLE, kinds[label], n))
                for n in CODE_STARTS
            ),
        )
        for label, form in ROWS.items()
    ]
    gain = [_gain(found, "pass", n, _improved(lab.beside, n)) for n in CODE_STARTS]
    rows.append(("B improves", *gain))
    notes = (f"{lab.counted(found['cal:8'])}. (b) of the paper is the column L = 8, a model at a time.",)
    title = f"{TITLE}: (a, b) Pass@1 on single-line code, {lab.label}"
    return Table(title, columns, tuple(rows), (*notes, paper.NOTES["instruct"]), beside=lab.compared)


def _text(lab: Lab, found: Mapping[str, Sequence[Record]]) -> Table:
    columns = ("method", *("BLEU-2", "ROUGE-L") * 3)
    kinds = dict(zip(ROWS, (paper.FIXED, paper.UNCALIBRATED, paper.CAL), strict=True))
    rows: list[tuple[Value, ...] | str] = []
    for label, form in ROWS.items():
        row: list[Value] = [label]
        for n in paper.TEXT_STARTS:
            bleu, rouge = paper.text(paper.STORIES, kinds[label], n) or (None, None)
            row += [share(found[form.format(n)], "bleu2", bleu), share(found[form.format(n)], "rouge_l", rouge)]
        rows.append(tuple(row))
    printed = {"bleu2": paper.ABLATION_BLEU, "rouge_l": paper.ABLATION_ROUGE}
    gains = [_gain(found, score, n, by[n].improvement) for n in paper.TEXT_STARTS for score, by in printed.items()]
    rows.append(("B improves", *gains))
    groups = (("", 1), *((f"L = {n}", 2) for n in paper.TEXT_STARTS))
    title = f"{TITLE}: (c) stories, {lab.label}"
    notes = (f"{lab.counted(found['cal:8'])}.", paper.NOTES["ablation"])
    return Table(title, columns, tuple(rows), notes, groups, figures_of(paper.LLADA))


def _improved(model: str, start: int) -> float | None:
    """What B improves on code, as printed in (a) or (b)."""
    by_start = paper.ABLATION_BY_START.get(start) if model == paper.LLADA else None
    printed = by_start or (paper.ABLATION_BY_MODEL.get(model) if start == 8 else None)
    return printed.improvement if printed else None


def _gain(found: Mapping[str, Sequence[Record]], score: str, n: int, beside: float | None) -> Cell:
    """The difference of the two, with the interval of the paired difference."""
    gain = difference(found[f"cal:{n}"], found[f"cal:{n},bias=none"], score)
    return Cell(100 * gain.mean, low=100 * gain.low, high=100 * gain.high, beside=beside)
