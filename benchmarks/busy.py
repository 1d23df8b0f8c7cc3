"""A fill on an idle machine and on a busy one, by how torch's threads wait for one another.

    python benchmarks/busy.py                    processes beside it: none, one, two
    python benchmarks/busy.py --beside 0 4

Every figure is of a fresh process, since the policy is read once, when torch is loaded; the policies take turns, so
that what else goes on meets both.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from contextlib import ExitStack
from statistics import median

from calipers.provenance import commit, invocation, machine

# What GNU's OpenMP reads when torch is loaded. The command takes "brief".
POLICIES: dict[str, dict[str, str]] = {
    "default": {},
    "brief": {"GOMP_SPINCOUNT": "1000"},
    "passive": {"OMP_WAIT_POLICY": "passive"},
}
_FILL = """
import time, calipers
infiller = calipers.Infiller("calipers-135m")
template = calipers.Template.around("def area(radius):\\n    return", "\\n\\nprint(area(2.0))\\n")
infiller.fill(template)
started = time.perf_counter()
for _ in range(3):
    infiller.fill(template)
print((time.perf_counter() - started) / 3)
"""


def fill(policy: dict[str, str]) -> float:
    """Seconds of a fill in a process of its own."""
    clean = {name: value for name, value in os.environ.items() if name not in ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT")}
    run = subprocess.run([sys.executable, "-c", _FILL], env=clean | policy, capture_output=True, text=True, check=True)
    return float(run.stdout)


def measure(beside: int, repeats: int) -> dict[str, list[float]]:
    """Seconds by policy, beside so many processes that do nothing but count."""
    seconds: dict[str, list[float]] = {name: [] for name in POLICIES}
    with ExitStack() as stack:
        for _ in range(beside):
            busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
            stack.callback(busy.wait)
            stack.callback(busy.kill)
        for _ in range(repeats):
            for name, policy in POLICIES.items():
                seconds[name].append(fill(policy))
    return seconds


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--beside", type=int, nargs="+", default=[0, 1, 2], help="busy processes beside it")
    parser.add_argument("--repeats", type=int, default=3)
    args = parser.parse_args()
    print(
        f"{'beside':>7}" + "".join(f"{name:>9}{'worst':>7}" for name in POLICIES), " seconds a fill, median and worst"
    )
    for beside in args.beside:
        found = measure(beside, args.repeats).values()
        print(f"{beside:>7}" + "".join(f"{median(some):>9.2f}{max(some):>7.2f}" for some in found), flush=True)
    print(f"machine: {machine('cpu')}\ncommit: {commit()}\ncommand: python benchmarks/{invocation()}")


if __name__ == "__main__":
    main()
