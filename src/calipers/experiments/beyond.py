"""Beyond the paper: every way of finding the length, on the same tasks and the same memory.

The oracle bounds them all. LR-DLLM (arXiv 2602.07546) is judged by entropy against a line in log L that is
fitted to each text; `powers` is its first stage, `lr-dllm` both. All lengths for `regression` is our own.
"""

from __future__ import annotations

from calipers.bench.report import LEGEND, mean, share
from calipers.bench.table import Cell, Table, Value
from calipers.experiments import paper
from calipers.experiments.lab import Lab

TITLE = "Beyond: all searches side by side, single-line"


def methods(lab: Lab) -> dict[str, str]:
    """Their labels and names."""
    named = {
        "oracle length": "oracle",
        "fixed, 8": "fixed:8",
        "daedal from 8": "daedal:8",
        "cal from 8, no B": "cal:8,bias=none",
        "cal from 8": "cal:8",
        "all lengths, Φ/B": "exhaustive",
        "all lengths, entropy": "regression",
        "lr-dllm, first stage": "powers",
        "lr-dllm": "lr-dllm",
    }
    if lab.own_name:
        own = {"cal from 8, own B": f"cal:8,bias={lab.own_name}", "all, own B": f"exhaustive,bias={lab.own_name}"}
        named |= own
    return named


def tables(lab: Lab) -> list[Table]:
    """A row a method: how often it passes, how near its length is, what it costs."""
    named = methods(lab)
    found = lab.answers("humaneval-single-line", list(named.values()))
    rows: list[tuple[Value, ...]] = []
    for label, name in named.items():
        records = found[name]
        rows.append(
            (
                label,
                share(records, "pass"),
                Cell(100 * mean(records, lambda r: float(r.final_length == r.oracle_length))),
                Cell(mean(records, lambda r: abs(r.final_length - r.oracle_length))),
                Cell(mean(records, lambda r: r.probes)),
                Cell(mean(records, lambda r: r.forwards)),
            )
        )
    notes = (
        f"{lab.counted(found['oracle'])}. LR-DLLM searches to 64 here as the others do; its paper's bound is 128.",
        *LEGEND,
        paper.NOTES["longest"],
    )
    columns = ("method", "Pass@1", "length right", "off by", "probes", "forwards")
    return [Table(f"{TITLE}, {lab.label}", columns, tuple(rows), notes)]
