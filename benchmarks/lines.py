"""Single-line infilling tasks, one a program: a random line of the body of each program in a random-span file.

    python benchmarks/lines.py RandomSpanLight.jsonl.gz -o lines.jsonl --seed 42 --limit 100

writes them in the form `calipers fit` reads. (The paper's own single-line set has every line.)
"""

from __future__ import annotations

import argparse
import ast
import gzip
import json
import random
from pathlib import Path


def single_line(task: dict[str, str], rng: random.Random) -> dict[str, str]:
    """The same program with one line of its function's body missing, newline included."""
    whole = task["prompt"] + task["canonical_solution"] + task["suffix"]
    functions = [node for node in ast.parse(whole).body if isinstance(node, ast.FunctionDef)]
    function = next(node for node in functions if node.name == task["entry_point"])
    documented = ast.get_docstring(function) is not None
    lines = whole.split("\n")
    first = function.body[documented].lineno - 1 if len(function.body) > documented else function.lineno
    at = rng.choice([i for i in range(first, function.end_lineno or len(lines)) if lines[i].strip()])
    answer = lines[at] + "\n"
    prompt, suffix = "".join(f"{line}\n" for line in lines[:at]), "\n".join(lines[at + 1 :])
    return task | {"prompt": prompt, "canonical_solution": answer, "suffix": suffix}


def read(path: Path) -> list[dict[str, str]]:
    """The tasks of a .jsonl.gz file."""
    return [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]


def main() -> None:
    """Choose, cut, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", type=Path, help="HumanEval-RandomSpanInfillingLight.jsonl.gz")
    parser.add_argument("-o", "--output", type=Path, required=True, help="JSON lines to write")
    parser.add_argument("--seed", type=int, default=42, help="of the shuffle and the lines (default 42)")
    parser.add_argument("--limit", type=int, default=100, help="tasks (default 100)")
    args = parser.parse_args()
    rng = random.Random(args.seed)
    tasks = read(args.tasks)
    rng.shuffle(tasks)
    with args.output.open("w", encoding="utf-8") as file:
        for task in tasks[: args.limit]:
            line = single_line(task, rng)
            values = {
                "id": line["task_id"],
                "prefix": line["prompt"],
                "suffix": line["suffix"],
                "answer": line["canonical_solution"],
            }
            file.write(json.dumps(values) + "\n")


if __name__ == "__main__":
    main()
