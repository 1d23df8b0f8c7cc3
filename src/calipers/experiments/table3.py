"""Table 3: text infilling, BLEU-2 and ROUGE-L from three starts on three kinds of prose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from calipers.bench.answer import Record
from calipers.bench.report import share
from calipers.bench.table import Table, Value
from calipers.experiments import paper
from calipers.experiments.lab import Absent, Lab, figures_of

TITLE = "Table 3: text infilling, BLEU-2 and ROUGE-L from three starts"
METHODS = {paper.FIXED: "fixed", paper.CAL: "cal"}
SETS = (paper.STORIES, paper.ABSTRACTS, paper.REVIEWS)


def tables(lab: Lab) -> list[Table]:
    """Two rows a set, and the oracle's, which the paper does not give; sets without a file are left out and named."""
    rows: list[tuple[Value, ...] | str] = []
    notes, absent = [], []
    for name in SETS:
        try:
            found = lab.answers(name, [*(f"{m}:{n}" for m in METHODS for n in paper.TEXT_STARTS), "oracle"])
        except Absent as missing:
            absent.append(missing)
            notes.append(f"{name} is left out, for its texts are not at hand: --data {name}=FILE.")
            continue
        rows.append(f"{name} ({lab.counted(found['oracle'])})")
        rows += [(label, *cells(found, name, method)) for method, label in METHODS.items()]
        rows.append(("oracle length", *[None] * 6, *_both(found["oracle"], None)))
    if len(absent) == len(SETS):
        raise absent[0]
    columns = ("method", *("BLEU-2", "ROUGE-L") * 4)
    groups = (("", 1), *((f"L = {n}", 2) for n in paper.TEXT_STARTS), ("Avg.", 2))
    slips, beside = (paper.NOTES["words"], paper.NOTES["reviews"]), figures_of(paper.LLADA)
    return [Table(f"{TITLE}, {lab.label}", columns, tuple(rows), (*notes, *slips), groups, beside)]


def cells(found: Mapping[str, Sequence[Record]], name: str, method: str, more: str = "") -> list[Value]:
    """BLEU-2 and ROUGE-L at each start and on average; the paper's beside where it has them and nothing is changed."""
    out: list[Value] = []
    for n in (*paper.TEXT_STARTS, None):
        starts = paper.TEXT_STARTS if n is None else (n,)
        records = [record for start in starts for record in found[f"{method}:{start}{more}"]]
        out += _both(records, None if more else paper.text(name, method, n))
    return out


def _both(records: Sequence[Record], beside: tuple[float, float] | None) -> list[Value]:
    bleu, rouge = beside or (None, None)
    return [share(records, "bleu2", bleu), share(records, "rouge_l", rouge)]
