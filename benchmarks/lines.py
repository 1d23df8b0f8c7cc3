"""What the measurements behind docs/decisions.md are made of: random-span programs, and one random line of each."""

from __future__ import annotations

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
