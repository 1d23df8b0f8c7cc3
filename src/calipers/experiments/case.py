"""The paper's case study, HumanEval/0/L3, as the experiments on it share it."""

from __future__ import annotations

from calipers.bench.answer import Record
from calipers.bench.memory import Facts, Known
from calipers.bias import PAPER
from calipers.errors import ModelError
from calipers.experiments import paper
from calipers.experiments.lab import Lab
from calipers.landscape import Landscape, Probe
from calipers.search import Found, HillClimb, find
from calipers.tasks import Task

SET, TASK = "humaneval-single-line", f"SingleLineInfilling/{paper.CASE_TASK}"
STARTS = tuple(paper.CASE_STUDY)
LONGEST = 64


def seen(lab: Lab) -> tuple[Task, Known, Facts]:
    """The task, and what the first step says of every length that a search of it can visit."""
    ((task, known),) = lab.known(SET, "all", lambda facts: range(1, LONGEST + 1), only=TASK)
    if known.facts is None:
        raise ModelError(f"{TASK} was not measured; run the experiment again.")
    return task, known, known.facts


def search(known: Known, start: int) -> Found:
    """Algorithm 1 with the paper's settings from a start, replayed."""
    climb = HillClimb(start, patience=4, max_length=LONGEST)
    return find(climb, lambda lengths: [known.probes[(n,)].confidence / PAPER(n) for n in lengths])


def landscape(known: Known, found: Found) -> Landscape:
    """What a search has visited, as it is drawn."""
    probes = []
    for n, calibrated in found.visited:
        one = known.probes[(n,)]
        probes.append(Probe(n, one.confidence, PAPER(n), calibrated, one.entropy))
    return Landscape(tuple(probes), found.length, found.stop)


def fills(lab: Lab, lengths: list[int], options: str = "") -> dict[int, Record]:
    """The task filled at these lengths."""
    names = {n: f"fixed:{n}{options}" for n in lengths}
    answers = lab.answers(SET, list(names.values()), split="all", only=TASK)
    return {n: answers[name][0] for n, name in names.items()}
