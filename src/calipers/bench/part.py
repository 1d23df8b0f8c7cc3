"""A part of a set's tasks, so that several processes or accelerators ask for one run side by side.

Each writes into files of its own, `memory-2-of-8.jsonl` beside `memory.jsonl`; who reads one reads all.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from calipers.errors import ArgumentError


@dataclass(frozen=True, slots=True)
class Part:
    """Every `of`-th task, from the `number`-th: each part is a fair sample of a set that is ordered by problems."""

    number: int
    of: int

    def __post_init__(self) -> None:
        if not 1 <= self.number <= self.of:
            raise ArgumentError(f"part={str(self)!r} is none; give I/N with I from 1 to N.")

    @classmethod
    def parse(cls, text: str) -> Part:
        """The second of eight parts from "2/8"."""
        if not (found := re.fullmatch(r"(\d+)/(\d+)", text)):
            raise ArgumentError(f"part={text!r} is not understood; give for example 2/8, the second of eight parts.")
        return cls(int(found[1]), int(found[2]))

    def has(self, place: int) -> bool:
        """Whether the task at this place of the set is in it."""
        return place % self.of == self.number - 1

    def file(self, path: Path) -> Path:
        """The file that this part writes instead of `path`."""
        return path.with_name(f"{path.stem}-{self.number}-of-{self.of}{path.suffix}")

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"
