"""Tables of records: what every method scored, with intervals, and how two of them compare task by task.

A task counts once, with the mean over its samples. Intervals are bootstrapped over the texts that the
tasks were cut from (all lines of a program are one text), for their tasks are not independent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias

from calipers.bench.answer import Record
from calipers.bench.statistics import Difference, Interval, interval, paired, pass_at_k
from calipers.bench.table import Cell, Table, Value
from calipers.errors import ArgumentError
from calipers.tasks import group_of

# Score → its heading; all are shown in per cent.
SCORES = {"pass": "Pass@1", "bleu2": "BLEU-2", "rouge_l": "ROUGE-L", "exact": "exact"}
# What the columns of every table of methods are.
LEGEND = (
    "Scores and length right in per cent. exact: the true answer, blanks at its ends aside; length right: as many "
    "tokens as the true answer; off by: mean distance from its length in tokens.",
    "probes: lengths scored; forwards: model calls a task would take alone.",
)
_KS = (5, 10, 100)
# A task's id, and the digest of what it asks.
Asked: TypeAlias = tuple[str, str]


def report(answers: Mapping[str, Sequence[Record]], title: str) -> Table:
    """A row a method: its scores, how near its lengths came, and what they cost."""
    filled = {name: records for name, records in answers.items() if records}
    if not filled:
        raise ArgumentError(f"{title}: there are no records; evaluate first, or name other folders.")
    scores = [name for name in SCORES if any(name in records[0].scores for records in filled.values())]
    ks = sorted({k for records in filled.values() for k in _KS if k <= _samples(records)})
    columns = (
        "method",
        "tasks",
        *(SCORES[name] for name in scores),
        *(f"pass@{k}" for k in ks),
        "length right",
        "off by",
        "probes",
        "forwards",
    )
    rows = []
    for name, records in filled.items():
        tasks = by_task(records)
        row: list[Value] = [name, len(tasks)]
        row += [share(records, score) if score in records[0].scores else None for score in scores]
        row += [_pass_at(tasks, k) if k <= _samples(records) else None for k in ks]
        row += [
            Cell(100 * mean(records, lambda r: float(r.final_length == r.oracle_length))),
            Cell(mean(records, lambda r: abs(r.final_length - r.oracle_length))),
            Cell(mean(records, lambda r: r.probes)),
            Cell(mean(records, lambda r: r.forwards)),
        ]
        rows.append(tuple(row))
    notes = list(LEGEND)
    if cropped := len({(r.id, r.task) for records in filled.values() for r in records if r.cropped}):
        notes.append(f"{cropped} tasks did not fit the context and were cropped at their far ends.")
    return Table(title, columns, tuple(rows), tuple(notes))


def compare(first: tuple[str, Sequence[Record]], second: tuple[str, Sequence[Record]], title: str = "") -> Table:
    """Two runs on the tasks that both have: the difference of every score, with its interval and p."""
    (one, ours), (other, theirs) = first, second
    both = common(ours, theirs)
    if not both:
        raise ArgumentError(f"{one} and {other} have no task in common; compare runs on the same set.")
    rows: list[tuple[Value, ...]] = []
    for score in _shared(ours, theirs):
        found = difference(ours, theirs, score)
        means = [sum(_mean(pair[side], score) for pair in both.values()) / len(both) for side in (0, 1)]
        rows.append(
            (
                SCORES[score],
                *(Cell(100 * value) for value in means),
                Cell(100 * found.mean, low=100 * found.low, high=100 * found.high),
                Cell(found.p, digits=4),
                found.wins,
                found.losses,
                found.ties,
            )
        )
    columns = ("score", one, other, "difference", "p", "wins", "losses", "ties")
    notes = (f"{len(both)} tasks that both have; difference is {one} less {other}; p of no difference.",)
    return Table(title or f"{one} against {other}", columns, tuple(rows), notes)


def difference(first: Sequence[Record], second: Sequence[Record], score: str) -> Difference:
    """How much better the first is than the second, on the tasks both have."""
    both = common(first, second)
    values = [[_mean(pair[side], score) for pair in both.values()] for side in (0, 1)]
    return paired(values[0], values[1], groups=_groups(pair[0] for pair in both.values()))


def common(first: Sequence[Record], second: Sequence[Record]) -> dict[Asked, tuple[list[Record], list[Record]]]:
    """The samples of both, of every task that both have; a task is what it asks, not its name."""
    left, right = by_task(first), by_task(second)
    return {name: (samples, right[name]) for name, samples in left.items() if name in right}


def share(records: Sequence[Record], score: str, beside: float | None = None) -> Cell:
    """A score in per cent with its interval, beside the paper's figure if there is one."""
    found = estimate(records, score)
    return Cell(100 * found.mean, low=100 * found.low, high=100 * found.high, beside=beside)


def estimate(records: Sequence[Record], score: str) -> Interval:
    """The mean of a score over tasks, with its interval."""
    tasks = by_task(records)
    return interval([_mean(samples, score) for samples in tasks.values()], groups=_groups(tasks.values()))


def mean(records: Sequence[Record], of: Callable[[Record], float]) -> float:
    """A mean over tasks of what is so of their samples."""
    tasks = by_task(records).values()
    if not tasks:
        raise ArgumentError("There are no records to take a mean of; evaluate first.")
    return sum(sum(map(of, samples)) / len(samples) for samples in tasks) / len(tasks)


def by_task(records: Sequence[Record]) -> dict[Asked, list[Record]]:
    """A task's samples together."""
    tasks: dict[Asked, list[Record]] = {}
    for record in records:
        tasks.setdefault((record.id, record.task), []).append(record)
    return tasks


def _groups(tasks: Iterable[Sequence[Record]]) -> list[str] | None:
    """The text every task was cut from; None if each stands alone."""
    groups = [samples[0].group or group_of(samples[0].id) or f"{samples[0].id}/{samples[0].task}" for samples in tasks]
    return groups if len(set(groups)) < len(groups) else None


def _shared(first: Sequence[Record], second: Sequence[Record]) -> list[str]:
    return [score for score in SCORES if score in first[0].scores and score in second[0].scores]


def _mean(samples: Sequence[Record], score: str) -> float:
    return sum(record.scores[score] for record in samples) / len(samples)


def _samples(records: Sequence[Record]) -> int:
    """How many samples of every task were run as programs."""
    return min(len(samples) if "pass" in samples[0].scores else 0 for samples in by_task(records).values())


def _pass_at(tasks: Mapping[Asked, Sequence[Record]], k: int) -> Cell:
    values = [pass_at_k(len(samples), sum(r.scores["pass"] > 0 for r in samples), k) for samples in tasks.values()]
    found = interval(values, groups=_groups(tasks.values()))
    return Cell(100 * found.mean, low=100 * found.low, high=100 * found.high)
