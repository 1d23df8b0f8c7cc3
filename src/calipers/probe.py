"""Confidence of many lengths of one hole.

    Φ(L) = 1/L · Σ_{j in hole} max_v p_j(v),      p = softmax of the first step's logits, in float32
    E(L) = 1/L · Σ_{j in hole} Σ_v p_j(v) log p_j(v),      mean negative entropy

A search says by its `signal` what it is sent: Φ(L)/B(L), or E(L) as it is. The probes of a round
go to the model together. What the decoder needs of each is kept, for the last probe is the first
denoising step.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from calipers.bias import Bias
from calipers.canvas import MASK, Canvas, beside
from calipers.drive import Ask
from calipers.errors import ModelError
from calipers.landscape import Landscape, Probe
from calipers.look import ENTROPY, PROBABILITY, Look
from calipers.models.base import Query
from calipers.search import Found, Search, Signal

if TYPE_CHECKING:
    from torch import Tensor


def confidence(logits: Tensor) -> float:
    """Φ of a hole from the logits of its positions [L, vocabulary]: the mean top-1 probability."""
    # The top probability is 1 / Σ exp(x - max x); exp(max x - logsumexp x) would lose digits to large logits.
    return mean((logits - logits.amax(-1, keepdim=True)).exp_().sum(-1).reciprocal())


def entropy(logits: Tensor) -> float:
    """E of a hole from the logits of its positions [L, vocabulary]: the mean of Σ p log p."""
    return mean(Look(entropy=True)(logits)[:, ENTROPY])


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
    """What the first step said of one length: Φ, E if it was looked for, and the rows kept for the decoder."""

    confidence: float
    entropy: float | None = None
    rows: Tensor | None = None


class Prober:
    """Scores lengths of one hole, and remembers.

    What was probed once, with the other holes as they were then, is not probed again in a
    later pass. `winner` is the best canvas of the last search and what was kept of its hole.

    look     what the decoder needs of each position, kept of every length; None: the winner's logits are,
             if its Φ/B is the best seen
    known    lengths of all holes -> what was seen of this one; one memory may serve several probers
    """

    def __init__(
        self,
        hole: int,
        bias: Bias,
        look: Look | None = None,
        known: dict[tuple[int, ...], Seen] | None = None,
    ) -> None:
        self.hole = hole
        self.bias = bias
        self.look = look
        self.known = {} if known is None else known
        self.winner: tuple[Canvas, Tensor] | None = None
        self._beside: tuple[int, ...] = ()  # the other holes' lengths in the search at hand
        self._best = -math.inf
        self._leaders: dict[int, Tensor] = {}  # logits of all that are as good as the best, by length

    @property
    def probes(self) -> tuple[Probe, ...]:
        """What was probed beside the other holes as they are now, in the order it was answered."""
        known = (key for key in self.known if beside(key, self.hole) == self._beside)
        return tuple(self._probe(key) for key in known)

    def search(self, canvas: Canvas, search: Search) -> Generator[Ask, None, Landscape]:
        """Let a search ask, answer it from the model, return the landscape."""
        if self._beside != (others := beside(canvas.lengths, self.hole)):
            self._beside, self._leaders, self._best = others, {}, -math.inf
        asking = search.lengths()
        try:
            wanted = next(asking)
            while True:
                yield from self.measure(canvas, wanted, search.signal)
                wanted = asking.send({n: self._score(self._at(canvas, n).lengths, search.signal) for n in wanted})
        except StopIteration as end:
            found: Found = end.value
            chosen = self._at(canvas, found.length)
            self.winner = None if (rows := self.kept(chosen)) is None else (chosen, rows)
            probes = tuple(self._probe(self._at(canvas, n).lengths) for n, _ in found.visited)
            return Landscape(probes, found.length, found.stop, search.signal)

    def measure(
        self, canvas: Canvas, lengths: Sequence[int], signal: Signal = "confidence"
    ) -> Generator[Ask, None, None]:
        """Make sure Φ of these lengths is known, and E if that is the signal."""
        canvases = [self._at(canvas, n) for n in lengths]
        # Φ is always seen; what was seen without E is asked again where E is wanted.
        new = [one for one in canvases if getattr(self.known.get(one.lengths), signal, None) is None]
        if not new:
            return
        wide = signal == "entropy"

        def take(index: int, rows: Tensor) -> None:
            self.known[new[index].lengths] = self._see(rows, wide)

        queries = tuple(Query(canvas, tuple(canvas.spans[self.hole])) for canvas in new)
        yield Ask(queries, take, "search", replace(self.look, entropy=True) if self.look and wide else self.look)

    def _see(self, rows: Tensor, wide: bool) -> Seen:
        if self.look is not None:
            seen = mean(rows[:, ENTROPY]) if wide or self.look.entropy else None
            # The decoder is kept what its own look has, that all holes' rows may be stacked.
            kept = rows if self.look.entropy else rows[:, :ENTROPY]
            return Seen(mean(rows[:, PROBABILITY]), seen, kept)
        phi = confidence(rows)
        calibrated = phi / self.bias(len(rows))
        if calibrated > self._best:
            self._leaders, self._best = {}, calibrated
        if calibrated == self._best:
            # A copy: the logits are a part of all logits of their forward, which it would keep alive.
            self._leaders[len(rows)] = rows.clone()
        return Seen(phi, entropy(rows) if wide else None)

    def _score(self, lengths: tuple[int, ...], signal: Signal) -> float:
        seen = self.known[lengths]
        if signal == "confidence":
            return seen.confidence / self.bias(lengths[self.hole])
        if seen.entropy is None:
            raise AssertionError(f"the entropy of lengths {lengths} was not looked for")
        return seen.entropy

    def kept(self, canvas: Canvas) -> Tensor | None:
        """What was kept of this hole when it was measured in this canvas of masks, if it was."""
        seen = self.known.get(canvas.lengths)
        if seen is None:
            return None
        if seen.rows is not None:
            return seen.rows
        here = beside(canvas.lengths, self.hole) == self._beside
        return self._leaders.get(canvas.lengths[self.hole]) if here else None

    def _at(self, canvas: Canvas, length: int) -> Canvas:
        return canvas.with_hole(self.hole, (MASK,) * length)

    def _probe(self, lengths: tuple[int, ...]) -> Probe:
        length, seen = lengths[self.hole], self.known[lengths]
        bias = self.bias(length)
        return Probe(length, seen.confidence, bias, seen.confidence / bias, seen.entropy)
