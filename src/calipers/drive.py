"""One driver for everything that wants a model.

Searches, decoders and whole fills are generators: they yield an `Ask` and go on when its
answers have been taken. `drive` runs any number of them side by side and sends what they ask
for to the model together, so a probe of one text and a denoising step of another share a
forward.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, Literal, TypeAlias, TypeVar

from calipers.check import at_least_one
from calipers.look import Look
from calipers.models.base import Looking, MaskModel, Query

if TYPE_CHECKING:
    from torch import Tensor

T = TypeVar("T")
Stage: TypeAlias = Literal["search", "decode"]


@dataclass(frozen=True, slots=True)
class Ask:
    """Queries for the model, and `take(index, rows)`, called once for each as it is answered.

    With a `look`, rows are what it keeps of each position; without, they are the logits. Those
    are large: a taker reduces them at once and keeps only what it needs.

    A driver may answer some of the queries at a time. Who has a deadline may be resumed before all
    are answered once it has passed, unless the ask is vital: without it there is nothing to give.
    """

    queries: tuple[Query, ...]
    take: Callable[[int, Tensor], None]
    stage: Stage
    look: Look | None = None
    vital: bool = False


@dataclass(frozen=True, slots=True)
class Done(Generic[T]):
    """What a job returned."""

    result: T


def drive(
    model: MaskModel, jobs: Iterable[Generator[Ask, None, T]], at_once: int = 16
) -> Iterator[tuple[int, Ask | Done[T]]]:
    """Run jobs, `at_once` side by side, each ended one making room for the next.

    Yields (job's number, ask) before the ask is sent, and (job's number, done) at each end.
    """
    at_least_one(at_once=at_once)
    coming = enumerate(jobs)
    running: dict[int, Generator[Ask, None, T]] = {}
    try:
        while True:
            while len(running) < at_once and (entry := next(coming, None)) is not None:
                running[entry[0]] = entry[1]
            if not running:
                return
            asks: list[Ask] = []
            for number, job in list(running.items()):
                try:
                    ask = next(job)
                except StopIteration as end:
                    del running[number]
                    yield number, Done(end.value)
                else:
                    asks.append(ask)
                    yield number, ask
            answer(model, asks)
    finally:
        for job in running.values():
            job.close()


def together(jobs: Sequence[Generator[Ask, None, T]]) -> Generator[Ask, None, list[T]]:
    """Several jobs as one: what they ask at a time is one ask. They must look alike."""
    running, results = dict(enumerate(jobs)), dict[int, T]()
    try:
        while True:
            asks: list[Ask] = []
            for number, job in list(running.items()):
                try:
                    asks.append(next(job))
                except StopIteration as end:
                    del running[number]
                    results[number] = end.value
            if not asks:
                return [results[number] for number in sorted(results)]
            yield asks[0] if len(asks) == 1 else _joined(asks)
    finally:
        for job in running.values():
            job.close()


def _joined(asks: Sequence[Ask]) -> Ask:
    parts = [(ask, index) for ask in asks for index in range(len(ask.queries))]
    if len({ask.look for ask in asks}) > 1:
        raise AssertionError("jobs that go together look alike")

    def take(place: int, rows: Tensor) -> None:
        ask, index = parts[place]
        ask.take(index, rows)

    queries = tuple(ask.queries[index] for ask, index in parts)
    return Ask(queries, take, asks[0].stage, asks[0].look, any(ask.vital for ask in asks))


def answer(model: MaskModel, asks: Sequence[Ask]) -> None:
    """Send all queries at once, like lengths side by side so that little is padded."""
    flat = [(ask, index) for ask in asks for index in range(len(ask.queries))]
    if not flat:
        return
    flat.sort(key=lambda one: len(one[0].queries[one[1]].canvas))
    queries, looks = [ask.queries[index] for ask, index in flat], [ask.look for ask, _ in flat]
    for (ask, index), rows in zip(flat, _look(model, queries, looks), strict=True):
        ask.take(index, rows)


def _look(model: MaskModel, queries: Sequence[Query], looks: Sequence[Look | None]) -> Iterator[Tensor]:
    """What the looks keep; a model that can look at all rows of a forward at once does so itself."""
    if isinstance(model, Looking):
        yield from model.look(queries, looks)
        return
    for logits, look in zip(model.predict(queries), looks, strict=True):
        yield logits if look is None else look(logits).cpu()
