"""The lengths of all holes of a canvas.

One hole: one search. Several: each is measured in turn, the others held as masks at their
current lengths, in passes until a pass changes nothing or `passes` are done.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from calipers.bias import Bias
from calipers.canvas import Canvas, beside
from calipers.drive import Ask
from calipers.empty import Emptiness
from calipers.landscape import Landscape
from calipers.look import Look
from calipers.probe import Prober
from calipers.search import Search

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True, slots=True)
class Measured:
    """Every hole at its length, all masks; the landscapes; and what is already known of the first step.

    `first` maps hole positions to what the decoder needs of them: each winner's, where the other holes were
    then as they are now.
    """

    canvas: Canvas
    landscapes: tuple[Landscape, ...]
    passes: int
    first: dict[int, Tensor]


class Measuring:
    """A measurement under way; `probers[turn]` is at work."""

    def __init__(
        self,
        canvas: Canvas,
        searches: Sequence[Search],
        bias: Bias,
        passes: int = 3,
        empty: Emptiness | None = None,
        look: Look | None = None,
    ) -> None:
        self.canvas = canvas.with_masks([search.init for search in searches])
        self.searches = list(searches)
        self.probers = [Prober(hole, bias, look) for hole in range(len(searches))]
        self.turn = 0
        self._limit = passes
        self._empty = empty
        self._landscapes: list[Landscape | None] = [None] * len(searches)
        self._seen: list[tuple[int, ...] | None] = [None] * len(searches)

    @property
    def probes(self) -> int:
        """Lengths scored, in all passes."""
        return sum(len(prober.known) for prober in self.probers)

    def run(self) -> Generator[Ask, None, Measured]:
        """Measure until nothing changes."""
        passes = 0
        while passes < self._limit:
            measured = False
            for hole in range(len(self.searches)):
                measured |= yield from self._measure(hole)
            if not measured:
                break
            passes += 1
        if self._empty is not None:
            yield from self._empties(self._empty)
        landscapes = tuple(landscape for landscape in self._landscapes if landscape is not None)
        return Measured(self.canvas, landscapes, passes, self.first(self.canvas))

    def _measure(self, hole: int) -> Generator[Ask, None, bool]:
        """Measure a hole, unless the others are as they were when it was last measured."""
        others = beside(self.canvas.lengths, hole)
        if self._seen[hole] == others:
            return False
        again = self._seen[hole] is not None
        self._seen[hole] = others
        self.turn = hole
        search = self.searches[hole].starting_at(self.canvas.lengths[hole]) if again else self.searches[hole]
        landscape = yield from self.probers[hole].search(self.canvas, search)
        self._landscapes[hole] = landscape
        self._set(hole, landscape.length)
        return True

    def _empties(self, empty: Emptiness) -> Generator[Ask, None, None]:
        for hole, landscape in enumerate(self._landscapes):
            if landscape is None or not landscape.probes:
                continue  # a fixed length is an order
            self.turn = hole
            if (yield from empty.judge(self.canvas, hole)):
                self._landscapes[hole] = replace(landscape, length=0, stop=f"{landscape.stop}; judged empty")
                self._set(hole, 0)

    def _set(self, hole: int, length: int) -> None:
        lengths = list(self.canvas.lengths)
        lengths[hole] = length
        self.canvas = self.canvas.with_masks(lengths)

    def so_far(self) -> Measured:
        """What is known now, as if the measurement had ended: of the hole at work, the best length scored."""
        prober = self.probers[self.turn]
        if best := max(prober.probes, key=lambda probe: probe.calibrated, default=None):
            self._set(self.turn, best.length)
        lengths = self.canvas.lengths
        self._landscapes[self.turn] = Landscape(prober.probes, lengths[self.turn], "out of time")
        known = zip(self._landscapes, lengths, strict=True)
        landscapes = tuple(landscape or Landscape((), length, "out of time") for landscape, length in known)
        return Measured(self.canvas, landscapes, 1, self.first(self.canvas))

    def next_best(self, length: int, count: int) -> list[int]:
        """That many lengths of the one hole, `length` first: other peaks of what was scored, then the next best of it.

        What was scored may be less than that; then lengths beside it follow, the nearest first.
        """
        probes = sorted(self.probers[0].probes, key=lambda probe: probe.length)
        score = {probe.length: probe.calibrated for probe in probes}
        beneath = {n: max(score.get(n - 1, 0.0), score.get(n + 1, 0.0)) for n in score}
        ranked = sorted(score, key=lambda n: (score[n] > beneath[n], score[n]), reverse=True)
        limit = max(self.searches[0].max_length, length)
        nearby = sorted(range(1, limit + 1), key=lambda n: (abs(n - length), n))
        return list(dict.fromkeys((length, *ranked, *nearby)))[:count]

    def first(self, canvas: Canvas) -> dict[int, Tensor]:
        """What is known of the first step on this canvas of masks, by position."""
        first: dict[int, Tensor] = {}
        for prober in self.probers:
            if (rows := prober.kept(canvas)) is not None:
                first.update(zip(canvas.spans[prober.hole], rows, strict=True))
        return first
