"""Figure 2b: the bias fitted on this model's own confidences, on the 100 fitting tasks, beside the paper's."""

from __future__ import annotations

from pathlib import Path

from calipers.bench.statistics import Interval, interval
from calipers.bench.table import Cell, Table
from calipers.bias import PAPER, Bias
from calipers.experiments import paper
from calipers.experiments.lab import Lab
from calipers.fit import LENGTHS, WINDOW, Sample, fit_bias
from calipers.tasks import group_of

TITLE = "Figure 2b: the length bias"


def samples(lab: Lab) -> list[Sample]:
    """Φ of every fitting task at the paper's probe lengths."""
    made = []
    for task, known in lab.known("humaneval-single-line", "fit", lambda facts: LENGTHS):
        if known.facts is not None:
            phi = {n: known.probes[(n,)].confidence for n in LENGTHS}
            made.append(Sample(task.id, known.facts.oracle_length, phi, known.facts.cropped))
    return made


def fitted(lab: Lab, found: list[Sample]) -> Bias:
    """B of this model."""
    return fit_bias(found, name=lab.label, model=lab.label, revision="")


def points(found: list[Sample]) -> list[tuple[int, float]]:
    """Every Φ(L) that is far enough from its oracle length."""
    return [(n, phi) for one in found for n, phi in one.confidence.items() if abs(n - one.oracle_length) > WINDOW]


def means(found: list[Sample]) -> dict[int, Interval]:
    """The mean of those of each length, with an interval over the programs the tasks are from."""
    kept: dict[int, list[tuple[float, str]]] = {}
    for one in found:
        for n, phi in points([one]):
            kept.setdefault(n, []).append((phi, group_of(one.id)))
    return {n: interval([phi for phi, _ in some], groups=[group for _, group in some]) for n, some in kept.items()}


def tables(lab: Lab) -> list[Table]:
    """The means, the two curves, and the coefficients."""
    found = samples(lab)
    own, averages = fitted(lab, found), means(found)
    rows = []
    for n in LENGTHS:
        one = averages.get(n)
        cell = Cell(one.mean, 3, one.low, one.high) if one else None
        rows.append((n, one.n if one else 0, cell, Cell(own(n), 3), Cell(PAPER(n), 3)))
    shown = Table(
        f"{TITLE}: means of {len(found)} tasks, {lab.label}", ("L", "N", "mean Φ", "own B", "paper's B"), tuple(rows)
    )
    theirs = paper.BIAS
    coefficients = Table(
        "B(L) = a·exp(-bL) + c·exp(-dL) + e",
        ("a", "b", "c", "d", "e", "rms error"),
        (
            (
                *(Cell(ours, 4, beside=printed) for ours, printed in zip(own.coefficients, theirs, strict=True)),
                Cell(own.residual, 4),
            ),
        ),
        beside="the paper's for LLaDA-8B-Base",
    )
    return [shown, coefficients]


def figure(lab: Lab, path: Path) -> Path:
    """The picture."""
    from calipers.experiments.draw import bias_fit

    found = samples(lab)
    curves = {"own B": fitted(lab, found), "the paper's B": PAPER}
    return bias_fit(path, points(found), means(found), curves, title=lab.label)
