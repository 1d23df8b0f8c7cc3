"""Choosing a length from scores that are asked for: Algorithm 1 of the paper and its siblings.

    score(L) = Φ(L) / B(L),      L̂ = argmax over the lengths visited.

(`Regression` is of another paper: its score is an entropy, its bias is fitted to each text.)

A search is a frozen object holding hyperparameters. `search.lengths()` is a generator: it
yields the lengths it must know next, is sent their scores, and returns what it `Found`. It
never sees a model, so any function of a length can be searched with `find`, and many
searches can share one forward.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, Protocol, TypeAlias

from calipers.check import at_least_one
from calipers.errors import ArgumentError

Signal: TypeAlias = Literal["confidence", "entropy"]
Asking: TypeAlias = Generator[tuple[int, ...], Mapping[int, float], "Found"]


@dataclass(frozen=True, slots=True)
class Found:
    """The length chosen, and how: every length visited, in Algorithm 1's order, and why it stopped."""

    length: int
    visited: tuple[tuple[int, float], ...]
    stop: str


class Search(Protocol):
    """What a search must offer."""

    @property
    def signal(self) -> Signal:
        """What it is sent of a length: Φ/B ("confidence") or mean negative entropy, by no bias ("entropy")."""
        ...

    @property
    def max_length(self) -> int:
        """No length above this is ever asked for."""
        ...

    @property
    def init(self) -> int:
        """The length a hole is held at until it is its turn to be measured."""
        ...

    def lengths(self) -> Asking:
        """Yield lengths to score, receive `{length: score}`, return what was `Found`."""
        ...

    def starting_at(self, length: int) -> Search:
        """The same search begun elsewhere (a later pass over several holes)."""
        ...


def find(search: Search, score: Callable[[Sequence[int]], Sequence[float]]) -> Found:
    """Run a search on any scoring function of several lengths at once."""
    asking = search.lengths()
    try:
        wanted = next(asking)
        while True:
            wanted = asking.send(dict(zip(wanted, score(wanted), strict=True)))
    except StopIteration as end:
        found: Found = end.value
        return found


@dataclass(frozen=True, slots=True)
class HillClimb:
    """Algorithm 1: climb from `init` upwards, then downwards, with one best shared by both.

    Each direction gives up after `patience` lengths in a row that do not beat the best. The
    lengths scored are exactly those of the sequential algorithm, but they are asked for
    together whenever Algorithm 1 is certain to visit them: with a fail counter at c it must
    score the next `patience - c` lengths of its direction, and at the start that holds for
    both directions at once.
    """

    signal: ClassVar[Signal] = "confidence"
    init: int = 8
    patience: int = 4
    step: int = 1
    max_length: int = 64

    def __post_init__(self) -> None:
        at_least_one(init=self.init, patience=self.patience, step=self.step, max_length=self.max_length)
        if self.init > self.max_length:
            raise ArgumentError(
                f"init={self.init} is above max_length={self.max_length}; lower init or raise max_length."
            )

    def lengths(self) -> Asking:
        """Algorithm 1 of the paper, asking in batches."""
        init, patience = self.init, self.patience
        up = range(init + self.step, self.max_length + 1, self.step)
        down = range(init - self.step, 0, -self.step)

        scores = dict((yield (init, *up[:patience], *down[:patience])))
        best, visited, stops = init, [init], []
        for name, ladder in (("up", up), ("down", down)):
            count = at = 0
            while at < len(ladder) and count < patience:
                if ladder[at] not in scores:
                    scores.update((yield tuple(ladder[at : at + patience - count])))
                length = ladder[at]
                visited.append(length)
                if scores[length] > scores[best]:
                    best, count = length, 0
                else:
                    count += 1
                at += 1
            stops.append(f"{name}: {'patience' if count == patience else 'bound'}")
        return Found(best, tuple((n, scores[n]) for n in visited), ", ".join(stops))

    def starting_at(self, length: int) -> HillClimb:
        """The same climb from another start, kept inside its bounds."""
        return replace(self, init=min(max(length, 1), self.max_length))


@dataclass(frozen=True, slots=True)
class Exhaustive:
    """Score every length from 1 to `max_length`; the shortest of equal maxima wins."""

    signal: ClassVar[Signal] = "confidence"
    max_length: int = 64
    step: int = 1

    def __post_init__(self) -> None:
        at_least_one(max_length=self.max_length, step=self.step)

    @property
    def init(self) -> int:
        """Where a hill climb would start."""
        return min(8, self.max_length)

    def lengths(self) -> Asking:
        """All of them, at once."""
        ladder = tuple(range(1, self.max_length + 1, self.step))
        scores = yield ladder
        return Found(max(ladder, key=scores.__getitem__), tuple((n, scores[n]) for n in ladder), "all")

    def starting_at(self, length: int) -> Exhaustive:
        """No start to change."""
        return self


@dataclass(frozen=True, slots=True)
class Regression:
    """Stage I of LR-DLLM (arXiv 2602.07546, Algorithm 1): the bias is a line, fitted to each text anew.

        E(L) = mean over the hole of Σ_v p log p,      L̂ = argmax E(L) - (w0 + w1 · log L)

    with w0, w1 by least squares through the powers of two up to `max_length`; the shortest of
    equals wins. The paper takes L̂ from those powers only (`among="powers"`), for its second stage
    then corrects the length while it decodes. Standing alone, with `among="all"`, the same line
    is held against every length; these are known to be needed, so all are asked for at once.
    """

    signal: ClassVar[Signal] = "entropy"
    max_length: int = 64
    among: Literal["all", "powers"] = "all"

    def __post_init__(self) -> None:
        enough_for_a_line(self.max_length)
        if self.among not in ("all", "powers"):
            raise ArgumentError(f"among={self.among!r} is not known; give 'all' or 'powers'.")

    @property
    def init(self) -> int:
        """Where a hill climb would start."""
        return min(8, self.max_length)

    def lengths(self) -> Asking:
        """The powers of two, and after them all others if they may be chosen."""
        fitted = powers(self.max_length)
        others = range(1, self.max_length + 1) if self.among == "all" else ()
        asked = (*fitted, *(n for n in others if n not in fitted))
        scores = yield asked
        intercept, slope = line({n: scores[n] for n in fitted})
        best = max(sorted(asked), key=lambda n: scores[n] - slope * math.log(n))
        return Found(best, tuple((n, scores[n]) for n in asked), f"furthest above {intercept:.3f} {slope:+.3f} log L")

    def starting_at(self, length: int) -> Regression:
        """No start to change."""
        return self


def powers(max_length: int) -> tuple[int, ...]:
    """1, 2, 4 … up to the longest: where a line is fitted."""
    return tuple(1 << n for n in range(max_length.bit_length()))


def enough_for_a_line(max_length: int) -> None:
    """Refuse a longest length with less than three powers of two: no score is off a line through two."""
    if max_length < 4:
        raise ArgumentError(f"max_length={max_length} leaves too few lengths to fit a line to; give 4 or more.")


def line(scores: Mapping[int, float]) -> tuple[float, float]:
    """Intercept and slope of the least-squares line through the scores over log L; two lengths at least."""
    middle = sum(map(math.log, scores)) / len(scores)
    apart = {n: math.log(n) - middle for n in scores}
    # What is apart sums to 0, so any constant may be taken off; this one makes a flat line's slope exactly 0.
    first = next(iter(scores.values()))
    slope = sum(apart[n] * (score - first) for n, score in scores.items()) / sum(x * x for x in apart.values())
    return sum(scores.values()) / len(scores) - slope * middle, slope


@dataclass(frozen=True, slots=True)
class Fixed:
    """No search: the length is given. `oracle` builds one from a known answer."""

    signal: ClassVar[Signal] = "confidence"
    length: int
    reason: str = "fixed"

    def __post_init__(self) -> None:
        if self.length < 0:
            raise ArgumentError(f"length={self.length} is negative; give 0 or more tokens.")

    @property
    def max_length(self) -> int:
        """The one length there is."""
        return self.length

    @property
    def init(self) -> int:
        """The one length there is."""
        return self.length

    def lengths(self) -> Asking:
        """Nothing to ask."""
        yield from ()
        return Found(self.length, (), self.reason)

    def starting_at(self, length: int) -> Fixed:
        """No start to change."""
        return self


def oracle(answer_ids: Sequence[int]) -> Fixed:
    """The upper bound of every search: the length of the true answer, in the model's own tokens."""
    return Fixed(len(answer_ids), "oracle")
