"""What a model said of the tasks of a set, on disk, so that no method asks again what another has asked.

A task's memory holds its facts (oracle length, tokens cropped), what the first step said of every
length that was probed, and every fill. All methods are replayed on it: a search on remembered
scores is the search itself, for it never sees a model.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from types import TracebackType
from typing import Any, TypeAlias

from calipers.bench.part import Part
from calipers.decode import Decoder
from calipers.errors import TargetError
from calipers.journal import Journal, read_kept, read_object, sizes
from calipers.probe import Seen
from calipers.target import write_atomically
from calipers.tasks import Task, content_digest

HEAD, LINES = "model.json", "memory.jsonl"
# What a fill depends on beside its task: the length begun with, the decoder, the seed.
FillKey: TypeAlias = tuple[int, str, int]
# A set is gone through once a method, and its tasks are the same.
_digest = lru_cache(maxsize=1 << 16)(content_digest)


@dataclass(frozen=True, slots=True)
class Facts:
    """Of one task with one tokenizer: the true answer's length, and the tokens of text read and not read."""

    oracle_length: int
    context: int
    cropped: int


@dataclass(frozen=True, slots=True)
class Filled:
    """One answer: its text, its length as decoded, and how many times the decoder asked."""

    text: str
    length: int
    steps: int


@dataclass(slots=True)
class Known:
    """The memory of one task; `probes` is what a `Prober` takes and fills."""

    facts: Facts | None = None
    probes: dict[tuple[int, ...], Seen] = field(default_factory=dict)
    fills: dict[FillKey, Filled] = field(default_factory=dict)


def key(length: int, decoder: Decoder, seed: int) -> FillKey:
    """The key of a fill; a decoder is a frozen object, so its repr tells it from any other."""
    return length, sha256(repr(decoder).encode()).hexdigest()[:8], seed


class Memory:
    """The memory of a set of tasks in a folder; several may read it, one at a time writes it, or a part of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.known: dict[str, Known] = {}
        self._journal: Journal | None = None
        # Of each task what is on disk: "facts", lengths probed, keys of fills.
        self._saved: dict[str, set[str | int | FillKey]] = {}
        self._read = self._load()

    @property
    def head(self) -> dict[str, Any] | None:
        """What the memory was made with; None if there is none yet."""
        path = self.folder / HEAD
        return read_object(path) if path.is_file() else None

    def of(self, task: Task) -> Known:
        """One task's memory, empty if nothing is known."""
        return self.known.setdefault(_digest(task), Known())

    def open(self, head: Mapping[str, Any], part: Part | None = None) -> Memory:
        """Make ready to save, a part into a file of its own; refuse if what is there was made with something else."""
        there = self.head
        if there is not None and there != head:
            other = {k: (there.get(k), head.get(k)) for k in {*there, *head} if there.get(k) != head.get(k)}
            raise TargetError(
                f"{self.folder} remembers another model or setting ("
                + "; ".join(f"{k} was {was!r} and is {now!r}" for k, (was, now) in sorted(other.items()))
                + "); name another folder with --runs."
            )
        lines = self.folder / LINES
        self._journal = Journal(part.file(lines) if part else lines)
        if sizes(lines) != self._read:  # another process has written since
            self._read = self._load()
        if there is None:
            write_atomically(self.folder / HEAD, json.dumps(head, indent=1) + "\n")
        return self

    def save(self, task: Task) -> None:
        """Append what is new of a task; with the system when this returns."""
        if self._journal is None:
            raise AssertionError("a memory must be opened before it is written")
        name, known = _digest(task), self.of(task)
        saved = self._saved.setdefault(name, set())
        line: dict[str, Any] = {"task": name}
        if known.facts is not None and "facts" not in saved:
            line["facts"] = asdict(known.facts)
        if probes := [(n, seen) for (n,), seen in known.probes.items() if n not in saved]:
            line["probes"] = [[n, seen.confidence, seen.entropy] for n, seen in probes]
        if fills := [(at, filled) for at, filled in known.fills.items() if at not in saved]:
            line["fills"] = [[*at, filled.text, filled.length, filled.steps] for at, filled in fills]
        if len(line) > 1:
            self._journal.append([line])
            saved |= {"facts"} if known.facts is not None else set()
            saved.update(n for n, _ in probes)
            saved.update(at for at, _ in fills)

    def _load(self) -> tuple[int, ...]:
        """Take what is on disk, and say how much that was."""
        read = sizes(self.folder / LINES)
        for line in read_kept(self.folder / LINES):
            try:
                self._take(line)
            except (KeyError, TypeError, ValueError) as broken:
                raise TargetError(
                    f"{self.folder / LINES} has a line that is no memory ({broken!r}, {str(line)[:60]} …); "
                    "restore the file, or move it away to begin anew."
                ) from None
        return read

    def _take(self, line: Mapping[str, Any]) -> None:
        known = self.known.setdefault(line["task"], Known())
        saved = self._saved.setdefault(line["task"], set())
        if "facts" in line:
            known.facts = Facts(**line["facts"])
            saved.add("facts")
        for n, confidence, entropy in line.get("probes", ()):
            known.probes[(n,)] = Seen(confidence, entropy)
            saved.add(n)
        for length, decoder, seed, *filled in line.get("fills", ()):
            known.fills[length, decoder, seed] = Filled(*filled)
            saved.add((length, decoder, seed))

    def __enter__(self) -> Memory:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        if self._journal is not None:
            self._journal.close()
            self._journal = None
