"""How many tokens a model was asked for, by task set: what a run's time is proportional to.

    python benchmarks/tokens.py RUNS/MODEL@REVISION [--rate 22000]     with a rate: hours for each set too

A probe of length L is one row of context + L tokens; a fill is as many rows as its decoder took steps.
"""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path

from calipers.bench.memory import Memory


def tokens(folder: Path) -> tuple[int, Counter[str]]:
    """Tasks, and tokens by what they were asked for: probes, or a decoder's key."""
    asked: Counter[str] = Counter()
    memory = Memory(folder)
    for known in memory.known.values():
        context = known.facts.context if known.facts else 0
        asked["probes"] += sum(context + n for (n,) in known.probes)
        for (_, decoder, _), filled in known.fills.items():
            asked[decoder] += filled.steps * (context + filled.length)
    return len(memory.known), asked


def main() -> None:
    """Print a line a set."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path, help="RUNS/MODEL@REVISION")
    parser.add_argument("--rate", type=float, help="tokens a second, to say how long it takes")
    args = parser.parse_args()
    for folder in sorted(path.parent for path in args.model.glob("*/memory.jsonl*")):
        tasks, asked = tokens(folder)
        total = sum(asked.values())
        took = f", {total / args.rate / 3600:.2f} h at {args.rate:,.0f} tokens/s" if args.rate else ""
        parts = ", ".join(f"{name} {count / 1e6:.1f}" for name, count in asked.most_common())
        print(f"{folder.name}: {tasks} tasks, {total / 1e6:.1f} M tokens, {total / tasks:,.0f} a task{took} ({parts})")


if __name__ == "__main__":
    main()
