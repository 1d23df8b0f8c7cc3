"""How sure a mean is, and whether two runs differ: pure functions of scores.

Scores of tasks made from one problem are not independent, so every resampling here can draw
whole groups (`groups`, one label a score): with group g of sum s_g and size m_g,

    interval   mean* = Σ s_g / Σ m_g over as many groups as there are, drawn with replacement;
               low and high are the (1 ∓ level)/2 quantiles of mean* (the percentile bootstrap)
    paired     the same of the differences d_i = a_i − b_i; and under H0 "a and b are exchangeable",
               p = P(|Σ ±d_g| ≥ |Σ d_g|) over the signs of whole groups

without groups each score is its own. p is exact when the signs can be counted: for d_i in
{−1, 0, 1}, that is two runs of passes and failures, it is McNemar's exact test,
p = min(1, 2 Σ_{i ≤ min(w, l)} C(w + l, i) / 2^(w + l)), w wins and l losses; else all 2^k signs
of the k groups that differ are tried while 2^k ≤ resamples, and above that `resamples` random
ones, p = (1 + hits) / (1 + resamples).

A bootstrap cannot see what a sample does not show: scores that are all equal have an interval
without width (3/n is then a fair upper bound of the share not seen).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import comb
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from calipers.check import at_least_one
from calipers.errors import ArgumentError

Floats: TypeAlias = NDArray[np.float64]
# Draws held at once: 8 MB of scores, whatever the number of resamples.
_AT_ONCE = 1 << 20


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean of n scores and the interval around it."""

    mean: float
    low: float
    high: float
    n: int

    def times(self, factor: float) -> Interval:
        """The same in another unit: `times(100)` for percent."""
        return Interval(self.mean * factor, self.low * factor, self.high * factor, self.n)


@dataclass(frozen=True, slots=True)
class Difference:
    """The mean of a − b over n pairs, its interval, p against no difference, and where each was better."""

    mean: float
    low: float
    high: float
    p: float
    wins: int
    losses: int
    ties: int
    n: int


def interval(
    values: Sequence[float],
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
    groups: Sequence[str] | None = None,
) -> Interval:
    """The mean with its percentile bootstrap interval; with `groups`, whole groups are drawn."""
    scores = _scores("values", values)
    _check(len(scores), level, resamples, groups)
    low, high = _bootstrap(*_by_group(scores, groups), level, resamples, seed)
    return Interval(float(scores.mean()), low, high, len(scores))


def paired(
    a: Sequence[float],
    b: Sequence[float],
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
    groups: Sequence[str] | None = None,
) -> Difference:
    """How much better a is than b on the same tasks, in the same order."""
    left, right = _scores("a", a), _scores("b", b)
    if len(left) != len(right):
        raise ArgumentError(f"a has {len(left)} scores and b {len(right)}; give both runs' scores of the same tasks.")
    _check(len(left), level, resamples, groups)
    difference = left - right
    sums, sizes = _by_group(difference, groups)
    low, high = _bootstrap(sums, sizes, level, resamples, seed)
    wins, losses = int((difference > 0).sum()), int((difference < 0).sum())
    if groups is None and bool(np.isin(difference, (-1, 0, 1)).all()):
        p = _mcnemar(wins, losses)
    else:
        p = _sign_flip(sums[sums != 0], resamples, seed)
    ties = len(left) - wins - losses
    return Difference(float(difference.mean()), low, high, p, wins, losses, ties, len(left))


def pass_at_k(n: int, c: int, k: int) -> float:
    """The chance that k of n samples, c of them right, hold a right one: 1 − C(n−c, k) / C(n, k).

    Whole numbers throughout, so no product of many small factors loses digits.
    """
    at_least_one(n=n, k=k)
    if not 0 <= c <= n:
        raise ArgumentError(f"c={c} is not between 0 and n={n}; count the right samples of those drawn.")
    if k > n:
        raise ArgumentError(f"k={k} is above n={n}; draw at least k samples a task.")
    return (comb(n, k) - comb(n - c, k)) / comb(n, k)


def _scores(name: str, values: Sequence[float]) -> Floats:
    scores = np.asarray(values, dtype=np.float64)
    if scores.ndim != 1 or not len(scores):
        raise ArgumentError(f"{name} has shape {scores.shape}; give one score a task, and at least one.")
    if not np.isfinite(scores).all():
        at = int(np.flatnonzero(~np.isfinite(scores))[0])
        raise ArgumentError(f"{name}[{at}]={scores[at]} is no score; leave the task out or score it.")
    return scores


def _check(n: int, level: float, resamples: int, groups: Sequence[str] | None) -> None:
    at_least_one(resamples=resamples)
    if not 0 < level < 1:
        raise ArgumentError(f"level={level} must be between 0 and 1, for example 0.95.")
    if groups is not None and len(groups) != n:
        raise ArgumentError(f"groups has {len(groups)} labels for {n} scores; give one a score.")


def _by_group(scores: Floats, groups: Sequence[str] | None) -> tuple[Floats, Floats]:
    """The sum and the size of each group."""
    if groups is None:
        return scores, np.ones_like(scores)
    _, member = np.unique(np.asarray(groups), return_inverse=True)
    return np.bincount(member, scores).astype(np.float64), np.bincount(member).astype(np.float64)


def _chunks(units: int, resamples: int) -> Iterator[slice]:
    """Resamples in pieces that keep the draws in memory bounded."""
    rows = max(1, _AT_ONCE // max(1, units))
    for start in range(0, resamples, rows):
        yield slice(start, min(start + rows, resamples))


def _bootstrap(sums: Floats, sizes: Floats, level: float, resamples: int, seed: int) -> tuple[float, float]:
    units, alike = len(sums), bool((sizes == sizes[0]).all())
    random = np.random.default_rng(seed)
    # Small integers are drawn several times faster than large ones, and drawing is most of the work.
    kind = np.uint16 if units <= 1 << 16 else np.int64
    means = np.empty(resamples)
    for part in _chunks(units, resamples):
        drawn = random.integers(0, units, (part.stop - part.start, units), dtype=kind)
        count = units * sizes[0] if alike else sizes[drawn].sum(axis=1)
        means[part] = sums[drawn].sum(axis=1) / count
    low, high = np.quantile(means, ((1 - level) / 2, (1 + level) / 2))
    return float(low), float(high)


def _mcnemar(wins: int, losses: int) -> float:
    """The exact two-sided sign test, in whole numbers."""
    n, few = wins + losses, min(wins, losses)
    term = total = 1
    for i in range(few):
        term = term * (n - i) // (i + 1)
        total += term
    return min(1.0, 2 * total / (1 << n))


def _sign_flip(sums: Floats, resamples: int, seed: int) -> float:
    """P(|Σ ±d| ≥ |Σ d|): over all signs where they can be tried, else over random ones."""
    units, whole = len(sums), sums.sum()
    # Sums of the same numbers in another order differ in the last bits; that is no difference.
    reached = abs(whole) - 1e-9 * np.abs(sums).sum()
    every = units < 63 and 1 << units <= resamples
    count = 1 << units if every else resamples
    random = np.random.default_rng(seed)
    hits = 0
    for part in _chunks(units, count):
        if every:
            bits = np.arange(part.start, part.stop)[:, None] >> np.arange(units) & 1
            plus = bits.astype(np.float64)
        else:
            width = -(-units // 8)
            drawn = random.integers(0, 256, (part.stop - part.start, width), dtype=np.uint8)
            plus = np.unpackbits(drawn, axis=1, count=units).astype(np.float64)
        hits += int((np.abs(2 * (plus @ sums) - whole) >= reached).sum())
    return hits / count if every else (1 + hits) / (1 + count)
