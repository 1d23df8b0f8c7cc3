"""Tasks with known answers, from a JSONL file: what a bias is fitted on."""

from __future__ import annotations

import gzip
import json
import zlib
from dataclasses import dataclass
from pathlib import Path

from calipers.errors import TargetError

# Ours first, then the keys of HumanEval-Infilling.
_KEYS = {
    "id": ("id", "task_id"),
    "prefix": ("prefix", "prompt"),
    "suffix": ("suffix",),
    "answer": ("answer", "canonical_solution"),
}


@dataclass(frozen=True, slots=True)
class Task:
    """A hole between two texts and what was there.

    test    program text that goes after the filled text and raises if the fill is wrong; empty: there is none
    group   what the task was made from (HumanEval/0): tasks of one group share a text
    """

    id: str
    prefix: str
    suffix: str
    answer: str
    test: str = ""
    group: str = ""


def read_tasks(path: Path) -> list[Task]:
    """Every line's task; `.gz` is unpacked. A line without an id gets its number."""
    try:
        data = path.read_bytes()
        text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8")
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as broken:
        raise TargetError(f"{path} cannot be read as UTF-8 JSON lines ({broken}); name another file.") from None
    tasks = []
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            tasks.append(_task(line, number, path))
    if not tasks:
        raise TargetError(f"{path} has no tasks; give one JSON object a line.")
    ids = [task.id for task in tasks]
    if len(set(ids)) != len(ids):
        twice = next(i for i in ids if ids.count(i) > 1)
        raise TargetError(f"{path} has the id {twice!r} twice; ids must tell tasks apart.")
    return tasks


def _task(line: str, number: int, path: Path) -> Task:
    try:
        values = json.loads(line)
    except json.JSONDecodeError as broken:
        raise TargetError(f"{path}, line {number} is not JSON ({broken}); correct it.") from None
    found = {"id": str(number)}
    for name, keys in _KEYS.items():
        for key in keys:
            if isinstance(values, dict) and isinstance(values.get(key), str):
                found[name] = values[key]
                break
        else:
            if name != "id":
                raise TargetError(f"{path}, line {number} has no text under {' or '.join(map(repr, keys))}; add it.")
    return Task(**found)
