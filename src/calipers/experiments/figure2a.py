"""Figure 2a: the oracle peak, confidence by the distance from the oracle length, on the 100 fitting tasks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from calipers.bench.memory import Facts
from calipers.bench.run import ROOM
from calipers.bench.statistics import Interval, interval
from calipers.bench.table import Cell, Table
from calipers.bias import PAPER
from calipers.experiments.lab import Lab
from calipers.tasks import Task

TITLE = "Figure 2a: the oracle peak"
OFFSETS = range(-8, 21)


def wanted(facts: Facts) -> list[int]:
    """The lengths at these distances from the oracle's."""
    return [n for n in (facts.oracle_length + k for k in OFFSETS) if 1 <= n <= ROOM]


def curves(lab: Lab) -> tuple[list[int], list[Interval], list[Interval]]:
    """At each distance that ten tasks have, the means of Φ and of Φ/B (the paper's B)."""
    at: dict[int, list[tuple[Task, float, float]]] = {k: [] for k in OFFSETS}
    for task, known in lab.known("humaneval-single-line", "fit", wanted):
        if known.facts is None:
            continue
        for n in wanted(known.facts):
            phi = known.probes[(n,)].confidence
            at[n - known.facts.oracle_length].append((task, phi, phi / PAPER(n)))
    least = min(10, max(map(len, at.values())))
    offsets = [k for k in OFFSETS if len(at[k]) >= least]
    return offsets, [_mean(at[k], 1) for k in offsets], [_mean(at[k], 2) for k in offsets]


def tables(lab: Lab) -> list[Table]:
    """The two curves."""
    offsets, raw, calibrated = curves(lab)
    rows = tuple(
        (f"{k:+d}", one.n, _cell(one), _cell(two)) for k, one, two in zip(offsets, raw, calibrated, strict=True)
    )
    peak = max(zip(calibrated, offsets, strict=True), key=lambda pair: pair[0].mean)[1]
    notes = (
        f"Φ/B is highest at L - L* = {peak:+d}; in the paper at 0. B is the paper's.",
        "A distance is a mean over the tasks that have such a length: answers shorter than it lack it at the left.",
    )
    return [Table(f"{TITLE}, {lab.label}", ("L - L*", "tasks", "Φ", "Φ/B"), rows, notes)]


def figure(lab: Lab, path: Path) -> Path:
    """The picture."""
    from calipers.experiments.draw import oracle_peak

    return oracle_peak(path, *curves(lab), title=lab.label)


def _mean(values: Sequence[tuple[Task, float, float]], column: int) -> Interval:
    groups = [task.group for task, *_ in values]
    return interval([float(row[column]) for row in values], groups=groups)  # type: ignore[arg-type]


def _cell(one: Interval) -> Cell:
    return Cell(one.mean, 3, one.low, one.high)
