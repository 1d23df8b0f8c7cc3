"""Confidence of many lengths of one hole.

    Φ(L) = 1/L · Σ_{j in hole} max_v p_j(v),      p = softmax of the first step's logits, in float32

The probes of a round go to the model together. What the decoder needs of each is kept, for the
last probe is the first denoising step.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from calipers.bias import Bias
from calipers.canvas import MASK, Canvas, beside
from calipers.drive import Ask
from calipers.errors import ModelError
from calipers.landscape import Landscape, Probe
from calipers.look import ENTROPY, PROBABILITY, Look
from calipers.models.base import Query
from calipers.search import Found, Search

if TYPE_CHECKING:
    from torch import Tensor


def confidence(logits: Tensor) -> float:
    """Φ of a hole from the logits of its positions [L, vocabulary]: the mean top-1 probability."""
    # The top probability is 1 / Σ exp(x - max x); exp(max x - logsumexp x) would lose digits to large logits.
    return mean((logits - logits.amax(-1, keepdim=True)).exp_().sum(-1).reciprocal())


def mean(values: Tensor) -> float:
    """The mean over a hole's positions."""
    value = float(values.contiguous().mean())
    if not math.isfinite(value):
        raise ModelError(
            "The model's logits for a masked hole are not finite; the checkpoint is broken, "
            "or overflows in this dtype (try float32)."
        )
    return value


@dataclass(frozen=True, slots=True)
class Seen:
    """What the first step said of one length: Φ, the mean of Σ p log p if it was looked for, and the rows kept."""

    confidence: float
    entropy: float | None = None
    rows: Tensor | None = None


Signal: TypeAlias = Literal["confidence", "entropy"]


class Prober:
    """Scores lengths of one hole, and remembers.

    What was probed once, with the other holes as they were then, is not probed again in a
    later pass. `winner` is the best canvas of the last search and what was kept of its hole.

    look     what the decoder needs of each position, kept of every length; None: the winner's logits are
    signal   what is scored: Φ, or mean negative entropy (which needs a look at it)
    known    lengths of all holes -> what was seen of this one; one memory may serve several probers
    """

    def __init__(
        self,
        hole: int,
        bias: Bias,
        look: Look | None = None,
        signal: Signal = "confidence",
        known: dict[tuple[int, ...], Seen] | None = None,
    ) -> None:
        self.hole = hole
        self.bias = bias
        self.look = look
        self.signal: Signal = signal
        self.known = {} if known is None else known
        self.winner: tuple[Canvas, Tensor] | None = None
        self._beside: tuple[int, ...] = ()  # the other holes' lengths in the search at hand
        self._best = -math.inf
        self._leaders: dict[int, Tensor] = {}  # logits of all that are as good as the best, by length

    @property
    def probes(self) -> tuple[Probe, ...]:
        """What was probed beside the other holes as they are now, in the order it was answered."""
        known = (key for key in self.known if beside(key, self.hole) == self._beside)
        return tuple(self._probe(key[self.hole], self._score(key)) for key in known)

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
                answers = {n: self._score(self._at(canvas, n).lengths) for n in wanted}
                seen |= answers
                wanted = asking.send({n: phi / self.bias(n) for n, phi in answers.items()})
        except StopIteration as end:
            found: Found = end.value
            self.winner = self._won(self._at(canvas, found.length))
            return self._landscape(found, seen)

    def measure(self, canvas: Canvas, lengths: Sequence[int]) -> Generator[Ask, None, None]:
        """Make sure Φ of these lengths is known."""
        canvases = [self._at(canvas, n) for n in lengths]
        new = [canvas for canvas in canvases if canvas.lengths not in self.known]
        if not new:
            return

        def take(index: int, rows: Tensor) -> None:
            self.known[new[index].lengths] = self._see(rows)

        queries = tuple(Query(canvas, tuple(canvas.spans[self.hole])) for canvas in new)
        yield Ask(queries, take, "search", self.look)

    def _see(self, rows: Tensor) -> Seen:
        if self.look is not None:
            entropy = mean(rows[:, ENTROPY]) if self.look.entropy else None
            return Seen(mean(rows[:, PROBABILITY]), entropy, rows)
        phi = confidence(rows)
        calibrated = phi / self.bias(len(rows))
        if calibrated > self._best:
            self._leaders, self._best = {}, calibrated
        if calibrated == self._best:
            # A copy: the logits are a part of all logits of their forward, which it would keep alive.
            self._leaders[len(rows)] = rows.clone()
        return Seen(phi)

    def _score(self, lengths: tuple[int, ...]) -> float:
        seen = self.known[lengths]
        score: float | None = getattr(seen, self.signal)
        if score is None:
            raise AssertionError(f"signal {self.signal} of lengths {lengths} was not looked for")
        return score

    def _won(self, canvas: Canvas) -> tuple[Canvas, Tensor] | None:
        seen = self.known.get(canvas.lengths)
        rows = seen.rows if seen and seen.rows is not None else self._leaders.get(canvas.lengths[self.hole])
        return None if rows is None else (canvas, rows)

    def _at(self, canvas: Canvas, length: int) -> Canvas:
        return canvas.with_hole(self.hole, (MASK,) * length)

    def _probe(self, length: int, phi: float) -> Probe:
        return Probe(length, phi, self.bias(length), phi / self.bias(length))

    def _landscape(self, found: Found, seen: Mapping[int, float]) -> Landscape:
        return Landscape(tuple(self._probe(n, seen[n]) for n, _ in found.visited), found.length, found.stop)
