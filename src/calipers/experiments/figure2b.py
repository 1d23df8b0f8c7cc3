"""Figure 2b: the bias fitted on this model's own confidences, on the 100 fitting tasks, beside the paper's."""

from __future__ import annotations

from pathlib import Path

from calipers.bench.statistics import interval
from calipers.bench.table import Cell, Table
from calipers.bias import PAPER, Bias
from calipers.experiments import paper
from calipers.experiments.lab import Lab
from calipers.fit import LENGTHS, WINDOW, Sample, fit_bias

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


def tables(lab: Lab) -> list[Table]:
    """The means, the two curves, and the coefficients."""
    found = samples(lab)
    own = fitted(lab, found)
    rows = []
    for n in LENGTHS:
        values = [phi for length, phi in points(found) if length == n]
        mean = interval(values) if values else None
        cell = Cell(mean.mean, 3, mean.low, mean.high) if mean else None
        rows.append((n, len(values), cell, Cell(own(n), 3), Cell(PAPER(n), 3)))
    means = Table(
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
    return [means, coefficients]


def figure(lab: Lab, path: Path) -> Path:
    """The picture."""
    from calipers.experiments.draw import bias_fit

    found = samples(lab)
    scattered = points(found)
    means = {n: interval([phi for length, phi in scattered if length == n]) for n in sorted({n for n, _ in scattered})}
    return bias_fit(path, scattered, means, {"own B": fitted(lab, found), "the paper's B": PAPER}, title=lab.label)
