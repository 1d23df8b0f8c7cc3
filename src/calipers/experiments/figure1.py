"""Figure 1: one hole filled too short, at the oracle's length, and too long."""

from __future__ import annotations

from pathlib import Path

from calipers.bench.table import Table
from calipers.experiments import case, paper
from calipers.experiments.lab import Lab

TITLE = "Figure 1: a hole filled at three lengths"
NOTES = (
    f"{paper.CASE_TASK}. In the paper {paper.LABELS[paper.INSTRUCT]} fails at 4 and 16 and passes at "
    f"{paper.CASE_LENGTH}, its oracle length.",
)


def lengths(lab: Lab) -> list[int]:
    """The paper's two wrong lengths and this model's right one between them."""
    _, _, facts = case.seen(lab)
    return sorted({4, facts.oracle_length, 16})


def tables(lab: Lab) -> list[Table]:
    """The fills and whether they pass."""
    records = case.fills(lab, lengths(lab))
    rows = tuple((n, "passes" if r.scores["pass"] else "fails", repr(r.text)[1:-1]) for n, r in records.items())
    return [Table(f"{TITLE}, {lab.label}", ("L", "tests", "fill"), rows, NOTES)]


def figure(lab: Lab, path: Path) -> Path:
    """The listings."""
    from calipers.experiments.draw import Attempt, sensitivity

    task, _, _ = case.seen(lab)
    records = case.fills(lab, lengths(lab))
    attempts = [Attempt(n, record.text, record.scores["pass"] > 0) for n, record in records.items()]
    return sensitivity(path, attempts, task.prefix, task.suffix, title=lab.label)
