"""Table 8 (appendix): the task of the case study, as it is asked."""

from __future__ import annotations

from calipers.bench.table import Table
from calipers.experiments import case, paper
from calipers.experiments.lab import Lab

TITLE = "Table 8: the task of the case study"


def tables(lab: Lab) -> list[Table]:
    """Its prefix, its answer and its suffix, and how long the answer is for this model."""
    task, _, facts = case.seen(lab)
    rows = [(part, line) for part, text in _parts(task.prefix, task.answer, task.suffix) for line in text.split("\n")]
    notes = (
        f"The answer has {facts.oracle_length} tokens for {lab.label}; for the paper's model {paper.CASE_LENGTH}.",
        "The paper prints an indented excerpt; this is the whole task, as it stands in the benchmark.",
    )
    return [Table(f"{TITLE}, {paper.CASE_TASK}", ("part", "text"), tuple(rows), notes)]


def _parts(prefix: str, answer: str, suffix: str) -> list[tuple[str, str]]:
    return [("prefix", prefix.rstrip("\n")), ("answer", answer.rstrip("\n")), ("suffix", suffix.rstrip("\n"))]
