"""Runs side by side, by what their summaries say of held-out text; the first is what the others are held against.

    python -m training.compare OUT/short-0 OUT/short-again OUT/short-full …

A difference no larger than that between two seeds of one run says nothing; so run one of them twice.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


def losses(summary: Mapping[str, Any]) -> dict[str, float]:
    """Of each source its held-out loss (with the mean weights, where the run has them), and of code each kind."""
    held = summary["held"].get("mean", summary["held"]["last"])
    found = {name: one["loss"] for name, one in held.items() if one}
    for name, one in held.items():
        if one and "line" in one["kinds"]:
            found |= {f"{name}: {kind}": one["kinds"][kind][0] for kind in ("line", "block") if kind in one["kinds"]}
        if one and "words" in one["kinds"]:
            found[f"{name}: words"] = one["kinds"]["words"][0]
    return found


def table(summaries: Sequence[Mapping[str, Any]]) -> str:
    """A pipe table: a row a run, losses as differences from the first run's."""
    first = losses(summaries[0])
    lines = [
        "| run | M tokens | k tokens/s | " + " | ".join(first) + " |",
        "| --- | ---: | ---: |" + " ---: |" * len(first),
    ]
    for at, summary in enumerate(summaries):
        own = losses(summary)
        cells = ["–" if k not in own else f"{own[k] - first[k]:+.4f}" if at else f"{own[k]:.4f}" for k in first]
        speed = summary["tokens"] / max(1e-9, summary["seconds"]) / 1e3
        lines.append(
            f"| {summary['run']['name']} | {summary['tokens'] / 1e6:.1f} | {speed:.0f} | {' | '.join(cells)} |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("runs", type=Path, nargs="+", help="folders of finished runs")
    args = parser.parse_args()
    print(table([json.loads((run / "summary.json").read_text("utf-8")) for run in args.runs]), end="")


if __name__ == "__main__":
    main()
