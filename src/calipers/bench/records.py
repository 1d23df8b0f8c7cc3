"""One method's records of a set, in a folder, with the manifest that says how they were made.

A record is of a task's sample, and a task is told by its id and by what it asks (`answer.identity`): two
tasks that ask the same have a record each, and a task that was changed is answered anew.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from calipers.bench.answer import Record, identity
from calipers.errors import TargetError
from calipers.journal import Journal, read_kept, read_object, sizes
from calipers.target import write_atomically
from calipers.tasks import Task

MANIFEST, RECORDS = "manifest.json", "records.jsonl"
_NAMES = tuple(field.name for field in fields(Record))


class Run:
    """The records of one folder; one process at a time appends to them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._records: dict[tuple[str, str], dict[int, Record]] = {}
        self._read: tuple[int, ...] = ()
        self._load()

    @property
    def manifest(self) -> dict[str, Any]:
        """How it was made; empty if nothing was begun yet."""
        path = self.path / MANIFEST
        return read_object(path) if path.is_file() else {}

    def check(self, described: Mapping[str, Any]) -> None:
        """Refuse to go on with records that something else has made."""
        there = self.manifest
        if other := [key for key in described if there and there.get(key) != described[key]]:
            key = other[0]
            raise TargetError(
                f"{self.path} holds records of another {key} ({there.get(key)}, not {described[key]}); "
                "name another folder with --runs, or move it away."
            )

    def has(self, task: Task, samples: int) -> bool:
        """Whether all samples of a task are there."""
        return len(self._records.get((task.id, identity(task)), ())) >= samples

    def of(self, tasks: Iterable[Task]) -> list[Record]:
        """The records of these tasks, in their order."""
        found = (self._records.get((task.id, identity(task)), {}) for task in tasks)
        return [one for samples in found for _, one in sorted(samples.items())]

    def all(self) -> list[Record]:
        """Every record, in the order written; of a task that was changed, only those of what it asked last."""
        last = dict(self._records.keys())
        return [
            one for (name, asked), samples in self._records.items() if last[name] == asked for one in samples.values()
        ]

    def open(self) -> Journal:
        """Make ready to add; what another process has added meanwhile is taken note of."""
        journal = Journal(self.path / RECORDS)
        if sizes(self.path / RECORDS) != self._read:
            self._load()
        return journal

    def add(self, record: Record, journal: Journal) -> None:
        """Append a record, unless it is there."""
        if record.sample not in self._records.get((record.id, record.task), {}):
            journal.append([{name: getattr(record, name) for name in _NAMES}])
            self._take(record)

    def sign(self, described: Mapping[str, Any], session: Mapping[str, Any], about: Mapping[str, Any]) -> None:
        """Write the manifest anew; a session begun when the last one was takes its place."""
        sessions = self.manifest.get("sessions", [])
        if sessions and sessions[-1]["began"] == session["began"]:
            del sessions[-1]
        records = sum(map(len, self._records.values()))
        manifest = {**described, **about, "records": records, "sessions": [*sessions, session]}
        write_atomically(self.path / MANIFEST, json.dumps(manifest, indent=1, ensure_ascii=False) + "\n")

    def _load(self) -> None:
        self._read = sizes(self.path / RECORDS)
        for line in read_kept(self.path / RECORDS):
            try:
                self._take(Record(**line))
            except TypeError as broken:
                raise TargetError(
                    f"{self.path / RECORDS} has a line that is no record ({broken}, {str(line)[:60]} …); "
                    "restore the file, or move its folder away to begin anew."
                ) from None

    def _take(self, record: Record) -> None:
        self._records.setdefault((record.id, record.task), {})[record.sample] = record
