"""Fitting B(L) on a model's own first-step confidences (paper, §3 and App. A).

For every sample and probe length L outside |L - L*| <= window, Φ(L) is measured; the means a
length are fitted by weighted non-linear least squares.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calipers.bias import Bias
from calipers.errors import ArgumentError, BiasError

LENGTHS = (1, 2, 4, 6, 12, 16, 24, 32, 48, 64, 96, 128)
WINDOW = 4
START = (1.0, 1.8, 0.6, 0.05, 0.3)
UPPER = (1.0, 10.0, 1.0, 0.5, 1.0)
WEIGHTINGS = ("standard_error", "as_printed")


@dataclass(frozen=True, slots=True)
class Sample:
    """One fitting sample: its id, the oracle length L*, Φ at each probe length, and how many tokens were not read."""

    id: str
    oracle_length: int
    confidence: Mapping[int, float]
    cropped: int = 0


def means(samples: Iterable[Sample], window: int = WINDOW) -> dict[int, tuple[int, float]]:
    """For each probe length, how many samples count and the mean of their confidence."""
    if window < 0:
        raise ArgumentError(f"window={window} must be 0 or more tokens.")
    kept: dict[int, list[float]] = {}
    for sample in samples:
        for length, value in sample.confidence.items():
            if abs(length - sample.oracle_length) > window:
                kept.setdefault(length, []).append(value)
    return {n: (len(v), float(np.mean(v))) for n, v in sorted(kept.items())}


def fit(
    points: Mapping[int, tuple[int, float]], weighting: str = "standard_error"
) -> tuple[tuple[float, float, float, float, float], float]:
    """Coefficients (a, b, c, d, e) and the root mean square error over `{L: (N, mean)}`.

    standard_error   a mean of N values is known to 1/√N, which is its sigma: squared residuals
                     weigh N. This is what the paper's published script does.
    as_printed       the paper's sentence read literally: squared residuals weigh w = 1/√N.
    """
    if weighting not in WEIGHTINGS:
        raise ArgumentError(f"weighting={weighting!r} is not known; give {' or '.join(WEIGHTINGS)}.")
    if len(points) < 6:
        raise BiasError(
            f"Only {len(points)} probe length(s) have samples outside the excluded window, and five coefficients "
            "need at least 6; give more samples or more lengths."
        )
    from scipy.optimize import curve_fit

    lengths = np.array(list(points), dtype=float)
    counts = np.array([n for n, _ in points.values()], dtype=float)
    values = np.array([mean for _, mean in points.values()])
    sigma = counts**-0.5 if weighting == "standard_error" else counts**0.25
    found, _ = curve_fit(
        curve, lengths, values, p0=START, sigma=sigma, bounds=((0, 0, 0, 0, 1e-6), UPPER), maxfev=100_000
    )
    a, b, c, d, e = (float(x) for x in found)
    if d > b:  # the fast term is named first
        a, b, c, d = c, d, a, b
    error = float(np.sqrt(np.mean((curve(lengths, a, b, c, d, e) - values) ** 2)))
    return (a, b, c, d, e), error


def curve(length: NDArray[np.float64], a: float, b: float, c: float, d: float, e: float) -> NDArray[np.float64]:
    """B(L) of an array of lengths."""
    out: NDArray[np.float64] = a * np.exp(-b * length) + c * np.exp(-d * length) + e
    return out


def fit_bias(
    samples: Sequence[Sample],
    *,
    name: str,
    model: str,
    revision: str,
    data: str = "",
    digests: Sequence[str] = (),
    window: int = WINDOW,
    weighting: str = "standard_error",
    made_with: Mapping[str, str] | None = None,
) -> Bias:
    """The artefact: fitted coefficients with everything that went into them.

    digests   the contents of the samples (`tasks.content_digest`), by which a run knows them again
    """
    points = means(samples, window)
    coefficients, residual = fit(points, weighting)
    return Bias(
        *coefficients,
        name=name,
        model=model,
        revision=revision,
        data=data,
        samples=tuple(sample.id for sample in samples),
        digests=tuple(digests),
        lengths=tuple(points),
        window=window,
        weighting=weighting,
        counts=tuple(n for n, _ in points.values()),
        means=tuple(mean for _, mean in points.values()),
        residual=residual,
        made_with=dict(made_with or {}),
    )
