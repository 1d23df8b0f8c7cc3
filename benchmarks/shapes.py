"""What it costs a CPU to meet a text of another length: time at first sight, memory for good; by the grain of widths.

    python benchmarks/shapes.py                 the bundled model, 120 widths, met twice each

Each grain in a process of its own. With a grain of 1 every width is a shape for which code is generated and kept.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import time
from pathlib import Path

from calipers.provenance import commit, invocation, machine

GRAINS = (1, 16, 32)


def resident() -> float:
    """This process's memory in MiB."""
    line = next(one for one in Path("/proc/self/status").read_text().splitlines() if one.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


def meet(grain: int, count: int, seed: int) -> None:
    """Print MiB when loaded, then MiB and seconds after each round over the widths."""
    import calipers
    from calipers.canvas import Canvas
    from calipers.look import Look
    from calipers.models import transformer
    from calipers.models.base import Query

    transformer._GRAIN["cpu"] = grain
    model, lot = calipers.load("calipers-135m"), random.Random(seed)
    widths = lot.sample(range(20, 300), count)
    said = [resident()]
    for _ in range(2):
        started = time.perf_counter()
        for width in widths:
            text = tuple(lot.randrange(100, 40000) for _ in range(width - 8))
            list(model.look([Query.whole(Canvas((text, ()), ((),)).with_masks([8]))], [Look()]))
        said += [resident(), time.perf_counter() - started]
    print(*said)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--widths", type=int, default=120, help="widths between 20 and 299 tokens")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--grain", type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.grain:
        meet(args.grain, args.widths, args.seed)
        return
    print(" grain   MiB loaded   after one round   after two   s, first sight   s, second")
    for grain in GRAINS:
        command = [sys.executable, __file__, "--grain", str(grain), "--widths", str(args.widths)]
        env = os.environ | {"GOMP_SPINCOUNT": "1000"}
        run = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
        loaded, one, first, two, second = map(float, run.stdout.split())
        print(f"{grain:>6} {loaded:>12.0f} {one:>17.0f} {two:>11.0f} {first:>16.1f} {second:>11.1f}", flush=True)
    print(f"machine: {machine('cpu')}\ncommit: {commit()}\ncommand: python benchmarks/{invocation()}")


if __name__ == "__main__":
    main()
