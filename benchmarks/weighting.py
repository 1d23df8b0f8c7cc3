"""Which weighting of the means finds the bias better: by their standard error, or as the paper prints it?

Data sets are simulated from the paper's own B(L): at each of its probe lengths N confidences with
noise, N drawn anew for every length. Each set is fitted under both weightings, and the fits are
compared with the B(L) that the data came from, over L = 1 … longest.
"""

from __future__ import annotations

import argparse

import numpy as np

from calipers.bias import PAPER
from calipers.fit import LENGTHS, WEIGHTINGS, curve, fit


def main() -> None:
    """Parse, simulate, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", type=int, default=300, help="simulated data sets (%(default)s)")
    parser.add_argument("--fewest", type=int, default=20, help="fewest samples a length (%(default)s)")
    parser.add_argument("--most", type=int, default=100, help="most samples a length (%(default)s)")
    parser.add_argument("--noise", type=float, default=0.2, help="standard deviation of Φ (%(default)s)")
    parser.add_argument("--longest", type=int, default=64, help="compare B up to this length (%(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of the simulation (%(default)s)")
    args = parser.parse_args()

    errors = simulate(args.sets, (args.fewest, args.most), args.noise, args.longest, args.seed)
    print(
        f"{args.sets} data sets from the paper's B(L); N = {args.fewest} to {args.most} a length, "
        f"noise sd {args.noise}, seed {args.seed}."
    )
    print(f"RMSE of the fitted B(L) over L = 1 to {args.longest}:\n")
    print(f"{'weighting':<16}{'mean':>9}{'± 95 %':>9}{'median':>9}{'worst':>9}")
    for weighting, values in errors.items():
        half = 1.96 * values.std(ddof=1) / len(values) ** 0.5
        print(f"{weighting:<16}{values.mean():9.5f}{half:9.5f}{np.median(values):9.5f}{values.max():9.5f}")
    by_error, as_printed = (errors[weighting] for weighting in WEIGHTINGS)
    gap = as_printed - by_error
    half = 1.96 * gap.std(ddof=1) / len(gap) ** 0.5
    print(f"\nas_printed - standard_error, paired: {gap.mean():.5f} ± {half:.5f}")
    print(f"standard_error is nearer in {np.mean(gap > 0):.0%} of the sets")


def simulate(
    sets: int, samples: tuple[int, int], noise: float, longest: int, seed: int
) -> dict[str, np.ndarray[tuple[int], np.dtype[np.float64]]]:
    """For each weighting, the root mean square error of every data set's fit."""
    lot = np.random.default_rng(seed)
    everywhere = np.arange(1.0, longest + 1)
    truth = curve(everywhere, *PAPER.coefficients)
    errors = {weighting: np.zeros(sets) for weighting in WEIGHTINGS}
    for number in range(sets):
        counts = lot.integers(samples[0], samples[1] + 1, len(LENGTHS)).tolist()
        points = {
            n: (count, float(lot.normal(PAPER(n), noise, count).mean()))
            for n, count in zip(LENGTHS, counts, strict=True)
        }
        for weighting in WEIGHTINGS:
            coefficients, _ = fit(points, weighting)
            errors[weighting][number] = np.sqrt(np.mean((curve(everywhere, *coefficients) - truth) ** 2))
    return errors


if __name__ == "__main__":
    main()
