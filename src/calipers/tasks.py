"""Tasks with known answers, from a JSONL file: what a bias is fitted on and a run evaluates."""

from __future__ import annotations

import gzip
import json
import re
import zlib
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from calipers.errors import TargetError

# Ours first, then the keys of HumanEval-Infilling.
_KEYS = {
    "id": ("id", "task_id"),
    "prefix": ("prefix", "prompt"),
    "suffix": ("suffix",),
    "answer": ("answer", "canonical_solution"),
}
_GROUP = re.compile(r"(?:^|/)(HumanEval/\d+)(?:/|$)")


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


def content_digest(task: Task) -> str:
    """What a task asks, whatever it is called: 16 hex digits of its prefix, suffix and answer."""
    return sha256(json.dumps([task.prefix, task.suffix, task.answer]).encode()).hexdigest()[:16]


def program_end(test: str, entry_point: str = "") -> str:
    """What follows the filled text: the tests, and the call that runs those of HumanEval."""
    return f"\n{test}\ncheck({entry_point})" if entry_point else f"\n{test}"


def group_of(name: str) -> str:
    """The HumanEval problem that an id names, or nothing."""
    found = _GROUP.search(name)
    return found[1] if found else ""


def unpack(path: Path) -> str:
    """A file's text; `.gz` is unpacked."""
    try:
        data = path.read_bytes()
        return (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8")
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as broken:
        raise TargetError(f"{path} cannot be read as UTF-8 text ({broken}); name another file.") from None


def read_tasks(path: Path) -> list[Task]:
    """Every line's task; `.gz` is unpacked. A line without an id gets its number.

    `test` and `group` may be left out. With `entry_point` beside it, `test` is HumanEval's: it defines
    `check`, which is then called. An id with HumanEval/N in it says the group.
    """
    tasks = []
    for number, line in enumerate(unpack(path).split("\n"), 1):
        if line.strip():
            tasks.append(_task(line, number, path))
    if not tasks:
        raise TargetError(f"{path} has no tasks; give one JSON object a line.")
    refuse_twins([task.id for task in tasks], path)
    return tasks


def refuse_twins(ids: list[str], path: Path) -> None:
    """Refuse a file in which an id stands twice."""
    seen: set[str] = set()
    for name in ids:
        if name in seen:
            raise TargetError(f"{path} has the id {name!r} twice; ids must tell tasks apart.")
        seen.add(name)


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
    test, entry_point, group = (_text(values, key, number, path) for key in ("test", "entry_point", "group"))
    return Task(**found, test=program_end(test, entry_point) if test else "", group=group or group_of(found["id"]))


def _text(values: dict[str, Any], key: str, number: int, path: Path) -> str:
    value = values.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise TargetError(f"{path}, line {number} has {value!r} under {key!r} where a text is meant; correct it.")
    return value
