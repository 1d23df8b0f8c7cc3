"""One fill under way: measured, then denoised; and, if time is up, made of what is known.

A search that has scored one length already holds a token for every position of the hole: the
rows of its best probe. So there is a fill to give from the first answer of the model on, and
every later one betters it. With a deadline, the search ends when its share of the time is
spent, the decoder is given as many steps as the rest allows, and should even that be too many,
the remaining masks are committed together, each to the token last seen there.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, TypeAlias, TypeVar

from calipers.canvas import Canvas
from calipers.deadline import Deadline
from calipers.decode import Decoder, Denoise
from calipers.denoising import Denoising
from calipers.drive import Ask, together
from calipers.fill import Fill
from calipers.measure import Measured, Measuring
from calipers.seam import echo
from calipers.template import Template

if TYPE_CHECKING:
    from torch import Tensor

    from calipers.infiller import Infiller

T = TypeVar("T")
Start: TypeAlias = tuple[Canvas, int, Mapping[int, "Tensor"]]
# Of the time there is, a search may take this share; what it is worth is lost without steps to denoise.
_SEARCHING = 0.6


class Filling:
    """One fill under way.

    stage       what is being done
    measuring   the search, and what it has seen
    denoisings  the canvases being denoised, one a choice; none while the search lasts
    late        whether something was left out for want of time
    """

    def __init__(
        self,
        infiller: Infiller,
        template: Template,
        measuring: Measuring,
        encoding: float,
        deadline: Deadline | None = None,
        watched: bool = False,
    ) -> None:
        self.infiller = infiller
        self.template = template
        self.measuring = measuring
        self.deadline = deadline
        self.stage: Literal["search", "decode"] = "search"
        self.denoisings: list[Denoising] = []
        self.late = False
        self.forwards = 0
        self.timings = {"encode": encoding}
        self._watched = watched

    @property
    def canvas(self) -> Canvas:
        """The first choice's canvas as it stands."""
        return self.denoisings[0].canvas if self.denoisings else self.measuring.canvas

    def run(self) -> Generator[Ask, None, Fill]:
        """Measure, then denoise once, all holes jointly."""
        (fill,) = yield from self.several(1)
        return fill

    def several(self, count: int) -> Generator[Ask, None, tuple[Fill, ...]]:
        """As many fills, the best first, after one measurement.

        Where tokens are drawn, each is drawn anew at the length found (seed, seed + 1 …). A greedy
        decoder would draw the same again, so the others have the next best lengths of the one hole.
        """
        measured = yield from self._timed("search", self._measure())
        self.stage = "decode"
        decoder = self._paced(self.infiller.decoder, measured)
        keep = self._watched or self.deadline is not None
        self.denoisings = [Denoising(decoder, *start, self.deadline, keep) for start in self._starts(measured, count)]
        yield from self._timed("decode", together([one.run() for one in self.denoisings]))
        self.late |= any(one.late for one in self.denoisings)
        self.timings["total"] = sum(self.timings.values())
        return tuple(self._fill(measured, one) for one in self.denoisings)

    def _measure(self) -> Generator[Ask, None, Measured]:
        work = self.measuring.run()
        try:
            while True:
                ask = next(work)
                yield ask if self.deadline is None else _spread(ask)
                if self.deadline is not None and self.deadline.passed(_SEARCHING):
                    self.late = True
                    return self.measuring.so_far()
        except StopIteration as end:
            measured: Measured = end.value
            return measured
        finally:
            work.close()

    def _paced(self, decoder: Decoder, measured: Measured) -> Decoder:
        """A decoder that takes no more steps than there is time for, judged by what a probe took."""
        probes = self.measuring.probes
        if self.deadline is None or not probes or not isinstance(decoder, Denoise):
            return decoder
        affordable = max(1, int(self.deadline.left * probes / max(self.timings["search"], 1e-9)))
        if sum(len(counts) for _, counts in decoder.plan(measured.canvas.masked)) <= affordable:
            return decoder
        self.late = True
        return replace(decoder, steps=affordable, tokens_per_step=None)

    def _starts(self, measured: Measured, count: int) -> list[Start]:
        """What each choice begins from: a canvas of masks, a seed, and what is known of its first step."""
        seed, canvas = self.infiller.seed, measured.canvas
        drawn = self.infiller.decoder.look is None
        if count == 1 or drawn:
            return [(canvas, seed + number, measured.first) for number in range(count)]
        lengths = self.measuring.next_best(measured.canvas.lengths[0], count)
        canvases = [canvas.with_masks((length,)) for length in lengths]
        return [(one, seed, self.measuring.first(one)) for one in canvases]

    def _timed(self, stage: str, work: Generator[Ask, None, T]) -> Generator[Ask, None, T]:
        """Pass a stage's asks on, counting them and its wall time."""
        started = time.perf_counter()
        try:
            while True:
                ask = next(work)
                self.forwards += 1
                yield ask
        except StopIteration as end:
            self.timings[stage] = time.perf_counter() - started
            result: T = end.value
            return result
        finally:
            work.close()

    def _fill(self, measured: Measured, denoising: Denoising) -> Fill:
        us, notes, canvas = self.infiller, [], denoising.canvas
        if us.foreign:
            notes.append(us.foreign)
        if self.late:
            notes.append("Time was up: this is the best known by then; more time may find a better length or text.")
        left, right = canvas.cropped
        if left or right:
            notes.append(
                f"The text is longer than the context: {left} token(s) at its far left and {right} at its "
                "far right were not read."
            )
        texts = [us.model.decode(ids) for ids in canvas.holes]
        if us.trim_echo:
            for hole, (text, after) in enumerate(zip(texts, self.template.texts[1:], strict=True)):
                if size := echo(text, after):
                    texts[hole] = text[: len(text) - size]
                    notes.append(f"Trimmed {text[-size:]!r}, which the text after hole {hole + 1} begins with.")
        return Fill(
            template=self.template,
            texts=tuple(texts),
            ids=canvas.holes,
            lengths=canvas.lengths,
            landscapes=measured.landscapes,
            probes=self.measuring.probes,
            forwards=self.forwards,
            passes=measured.passes,
            timings=dict(self.timings),
            made_with=us.made_with(self.measuring.searches) | {"seed": denoising.seed},
            notes=tuple(notes),
        )


def _spread(ask: Ask) -> Ask:
    """The same queries, the first first, then the shortest and longest, then halves between those asked already.

    Who answers some of them before time is up has then seen a little of all lengths, not all of a few.
    """
    order = sorted(range(len(ask.queries)), key=lambda index: len(ask.queries[index].canvas))
    chosen = {order.index(0): None, len(order) - 1: None, 0: None} if order else {}
    while len(chosen) < len(order):
        marks = sorted(chosen)
        wide, since = max(((b - a, a) for a, b in pairwise(marks)), key=lambda gap: gap[0])
        chosen[since + wide // 2] = None
    places = [order[at] for at in chosen]

    def take(index: int, rows: Tensor) -> None:
        ask.take(places[index], rows)

    return replace(ask, queries=tuple(ask.queries[place] for place in places), take=take)
