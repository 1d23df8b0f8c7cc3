"""Confidence of many lengths of one hole.

    Φ(L) = 1/L · Σ_{j in hole} max_v p_j(v),      p = softmax of the first step's logits, in float32

The probes of a round go to the model together. The winner's logits are kept, for the last
probe is the first denoising step.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Mapping, Sequence
from typing import TYPE_CHECKING

from calipers.bias import Bias
from calipers.canvas import MASK, Canvas, beside
from calipers.drive import Ask
from calipers.errors import ModelError
from calipers.landscape import Landscape, Probe
from calipers.models.base import Query
from calipers.search import Found, Search

if TYPE_CHECKING:
    from torch import Tensor


def confidence(logits: Tensor) -> float:
    """Φ of a hole from the logits of its positions [L, vocabulary]: the mean top-1 probability."""
    # The top probability is 1 / Σ exp(x - max x); exp(max x - logsumexp x) would lose digits to large logits.
    value = float((logits - logits.amax(-1, keepdim=True)).exp_().sum(-1).reciprocal().mean())
    if not math.isfinite(value):
        raise ModelError(
            "The model's logits for a masked hole are not finite; the checkpoint is broken, "
            "or overflows in this dtype (try float32)."
        )
    return value


class Prober:
    """Scores lengths of one hole, and remembers.

    What was probed once, with the other holes as they were then, is not probed again in a
    later pass. `winner` is the best canvas of the last search and its hole's logits.
    """

    def __init__(self, hole: int, bias: Bias) -> None:
        self.hole = hole
        self.bias = bias
        self.known: dict[tuple[int, ...], float] = {}  # lengths of all holes -> Φ of this one
        self.winner: tuple[Canvas, Tensor] | None = None
        self._beside: tuple[int, ...] = ()  # the other holes' lengths in the search at hand
        self._best = -math.inf
        self._leaders: dict[int, tuple[Canvas, Tensor]] = {}  # all that are as good as the best, by length

    @property
    def probes(self) -> tuple[Probe, ...]:
        """What was probed beside the other holes as they are now, in the order it was answered."""
        known = ((key, phi) for key, phi in self.known.items() if beside(key, self.hole) == self._beside)
        return tuple(self._probe(key[self.hole], phi) for key, phi in known)

    def search(self, canvas: Canvas, search: Search) -> Generator[Ask, None, Landscape]:
        """Let a search ask, answer it from the model, return the landscape."""
        if self._beside != (others := beside(canvas.lengths, self.hole)):
            self._beside, self._leaders, self._best = others, {}, -math.inf
        seen: dict[int, float] = {}
        asking = search.lengths()
        try:
            wanted = next(asking)
            while True:
                yield from self.measure(canvas, wanted)
                answers = {n: self.known[self._at(canvas, n).lengths] for n in wanted}
                seen |= answers
                wanted = asking.send({n: phi / self.bias(n) for n, phi in answers.items()})
        except StopIteration as end:
            found: Found = end.value
            self.winner = self._leaders.get(found.length)
            return self._landscape(found, seen)

    def measure(self, canvas: Canvas, lengths: Sequence[int]) -> Generator[Ask, None, None]:
        """Make sure Φ of these lengths is known."""
        canvases = [self._at(canvas, n) for n in lengths]
        new = [canvas for canvas in canvases if canvas.lengths not in self.known]
        if not new:
            return

        def take(index: int, logits: Tensor) -> None:
            phi = confidence(logits)
            self.known[new[index].lengths] = phi
            calibrated = phi / self.bias(logits.shape[0])
            if calibrated > self._best:
                self._leaders, self._best = {}, calibrated
            if calibrated == self._best:
                self._leaders[logits.shape[0]] = (new[index], logits)

        queries = tuple(Query(canvas, tuple(canvas.spans[self.hole])) for canvas in new)
        yield Ask(queries, take, "search")

    def _at(self, canvas: Canvas, length: int) -> Canvas:
        return canvas.with_hole(self.hole, (MASK,) * length)

    def _probe(self, length: int, phi: float) -> Probe:
        return Probe(length, phi, self.bias(length), phi / self.bias(length))

    def _landscape(self, found: Found, seen: Mapping[int, float]) -> Landscape:
        return Landscape(tuple(self._probe(n, seen[n]) for n, _ in found.visited), found.length, found.stop)
