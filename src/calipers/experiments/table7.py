"""Table 7 (appendix): CAL's patience D and step ΔL on stories."""

from __future__ import annotations

from itertools import chain

from calipers.bench.report import share
from calipers.bench.table import Table, Value
from calipers.experiments import paper
from calipers.experiments.lab import Lab, figures_of

TITLE = "Table 7: CAL's patience and step on stories"


def tables(lab: Lab) -> list[Table]:
    """The fixed lengths, then a row a setting."""
    forms = {
        key: "fixed:{}" if key is None else f"cal:{{}},patience={key[0]},step={key[1]}" for key in paper.TEXT_PARAMETERS
    }
    found = lab.answers("stories", [form.format(n) for form in forms.values() for n in paper.TEXT_STARTS])
    rows: list[tuple[Value, ...]] = []
    for key, form in forms.items():
        theirs = paper.TEXT_PARAMETERS[key]
        row: list[Value] = ["fixed length" if key is None else f"D = {key[0]}", None if key is None else key[1]]
        each = [found[form.format(n)] for n in paper.TEXT_STARTS]
        printed = [*zip(theirs.bleu, theirs.rouge, strict=True), (theirs.average_bleu, theirs.average_rouge)]
        for records, (bleu, rouge) in zip([*each, list(chain(*each))], printed, strict=True):
            row += [share(records, "bleu2", bleu), share(records, "rouge_l", rouge)]
        rows.append(tuple(row))
    columns = ("patience D", "step ΔL", *("BLEU-2", "ROUGE-L") * 4)
    groups = (("", 2), *((f"L = {n}", 2) for n in paper.TEXT_STARTS), ("Avg.", 2))
    notes = (f"{lab.counted(found['fixed:8'])}.",)
    return [Table(f"{TITLE}, {lab.label}", columns, tuple(rows), notes, groups, figures_of(paper.LLADA))]
