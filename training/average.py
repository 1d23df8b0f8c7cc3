"""The mean of several runs' weights, or of several moments of one, as pieces again.

python -m training.average OUT PIECES PIECES … [--shares 1 1 2]
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from training.pieces import Weights, read_weights, write_pieces


def average(found: Sequence[Weights], shares: Sequence[float]) -> Weights:
    """Σ share · weights / Σ share, tensor by tensor; what is known of the last one stays."""
    if len(found) != len(shares) or not found or sum(shares) <= 0:
        raise ValueError(f"{len(found)} sets of weights and shares {list(shares)}: give one share above 0 for each.")
    first = found[0]
    for other in found[1:]:
        if dict(other.config) != dict(first.config):
            raise ValueError("the weights are of different models.")
    total = sum(shares)
    tensors = {
        name: sum((w.tensors[name] * (s / total) for w, s in zip(found[1:], shares[1:], strict=True)),
                  start=tensor * (shares[0] / total))
        for name, tensor in first.tensors.items()
    }  # fmt: skip
    about = {**found[-1].about, "mean_of": [dict(w.about) for w in found], "shares": list(shares)}
    return Weights(tensors, first.config, about)


def main() -> None:
    """Average what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("out", type=Path, help="folder of the pieces to write")
    parser.add_argument("weights", type=Path, nargs="+", help="folders of pieces, or checkpoint.pt files")
    parser.add_argument("--shares", type=float, nargs="*", default=[], help="how much each counts; default: alike")
    args = parser.parse_args()
    shares = args.shares or [1.0] * len(args.weights)
    write_pieces(args.out, average([read_weights(path) for path in args.weights], shares))


if __name__ == "__main__":
    main()
