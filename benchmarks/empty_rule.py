"""What a rule for empty holes gets right, from what benchmarks/empty_statistics.py wrote.

python benchmarks/empty_rule.py docs/results/empty.jsonl
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

KINDS = ("empty", "untouched", "answer")


def main() -> None:
    """Print, for each statistic and margin, the share of each kind that is judged empty."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("statistics", type=Path, help="JSON lines")
    args = parser.parse_args()
    rows = [json.loads(line) for line in args.statistics.read_text().splitlines()]
    counts = {kind: sum(r["kind"] == kind for r in rows) for kind in KINDS}
    print("judged empty, of", ", ".join(f"{n} {kind}" for kind, n in counts.items()))
    print(f"{'rule':28}" + "".join(f"{kind:>11}" for kind in KINDS) + f"{'balanced':>10}")
    rules = [(f"calibrated < {m}", "calibrated", m) for m in (0.8, 1.0, 1.2)]
    for name in ("right_1", "right_2", "right_4", "both_1", "both_2", "both_4"):
        rules += [(f"{name} gain > {margin}", name, margin) for margin in (0.0, 0.5, 1.0, 1.5, 2.0, 3.0)]
    for rule, name, margin in rules:
        shares = {}
        for kind in KINDS:
            own = [r for r in rows if r["kind"] == kind]
            if name == "calibrated":
                said = [r["calibrated"] < margin for r in own]
            else:
                said = [f"none_{name}" in r and r[f"none_{name}"] - r[f"hole_{name}"] > margin for r in own]
            shares[kind] = sum(said) / len(own)
        right = ((shares["empty"] + shares["untouched"]) / 2 + 1 - shares["answer"]) / 2
        print(f"{rule:28}" + "".join(f"{shares[kind]:11.2f}" for kind in KINDS) + f"{right:10.2f}")


if __name__ == "__main__":
    main()
