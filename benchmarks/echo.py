"""Fill one line of HumanEval programs: how often a fill echoes what follows, what passes before and after a trim.

The tasks are one random line of the body of each program in a random-span file (its prompt, answer and suffix joined).

    python benchmarks/echo.py RandomSpanLight.jsonl.gz -o fills.jsonl [--length 16] [--limit 60]

Each program runs in a process of its own with limits on time and memory. That is enough for the
tame programs a model writes for these tasks; it is no sandbox.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import calipers
from calipers.seam import echo
from lines import read, single_line


def passes(task: dict[str, str], completion: str) -> bool:
    """Whether the completed program passes its task's tests."""
    program = task["prompt"] + completion + task["suffix"] + f"\n{task['test']}\ncheck({task['entry_point']})\n"

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
        resource.setrlimit(resource.RLIMIT_CPU, (5, 5))

    with tempfile.TemporaryDirectory() as folder:
        try:
            done = subprocess.run(
                [sys.executable, "-I", "-c", program],
                cwd=folder,
                env={},
                timeout=10,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                preexec_fn=limit,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return False
    return done.returncode == 0


def main() -> None:
    """Fill, grade, count."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", type=Path, help="HumanEval-RandomSpanInfillingLight.jsonl.gz")
    parser.add_argument("-o", "--output", type=Path, required=True, help="JSON lines to write")
    parser.add_argument("--length", type=int, help="a fixed length (default: measured, init 8)")
    parser.add_argument("--limit", type=int, default=60, help="tasks (default 60)")
    parser.add_argument("--seed", type=int, default=0, help="of the choice of lines (default 0)")
    parser.add_argument("--dtype", default="auto", help="as for calipers fill (default auto)")
    args = parser.parse_args()
    tasks = read(args.tasks)[: args.limit]
    rng = random.Random(args.seed)
    tasks = [single_line(task, rng) for task in tasks]
    infiller = calipers.Infiller(calipers.load(dtype=args.dtype))
    search = calipers.Fixed(args.length) if args.length else calipers.HillClimb()
    rows: list[dict[str, Any]] = []
    with args.output.open("w") as file:
        for start in range(0, len(tasks), 8):
            some = tasks[start : start + 8]
            templates = [calipers.Template.around(t["prompt"], t["suffix"]) for t in some]
            for task, fill in zip(some, infiller.fill_many(templates, searches=[search] * len(some)), strict=True):
                size = echo(fill.text, task["suffix"])
                trimmed = fill.text[: len(fill.text) - size]
                row = {
                    "id": task["task_id"],
                    "text": fill.text,
                    "length": fill.length,
                    "echo": size,
                    "exact": fill.text == task["canonical_solution"],
                    "exact_trimmed": trimmed == task["canonical_solution"],
                    "passes": passes(task, fill.text),
                }
                row["passes_trimmed"] = passes(task, trimmed) if size else row["passes"]
                rows.append(row)
                file.write(json.dumps(row) + "\n")
                file.flush()
    print(f"{infiller.made_with()} search {search}")
    print(f"{len(rows)} tasks, {sum(r['echo'] > 0 for r in rows)} with an echo")
    for name in ("exact", "passes"):
        before, after = (sum(r[name + end] for r in rows) for end in ("", "_trimmed"))
        print(f"{name}: {before} as filled, {after} with echoes trimmed")


if __name__ == "__main__":
    main()
