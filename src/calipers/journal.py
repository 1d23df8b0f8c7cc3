"""An append-only file of JSON lines that outlives a kill: what was appended is there, whole, once.

A line is written by one call and ends with a newline, so only the last can be torn. Reading
drops a torn last line, and opening to append cuts it off; any other line that is no JSON means
that somebody else wrote here, which is an error. Only one process appends at a time.
"""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from calipers.errors import TargetError


def read_lines(path: Path) -> Iterator[dict[str, Any]]:
    """Every whole line's values, in order; nothing if the file is not there. `.gz` is unpacked."""
    if not path.exists():
        return
    with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not line.endswith(b"\n"):
                return
            try:
                values = json.loads(line)
            except ValueError as broken:
                raise TargetError(
                    f"{path}, line {number} is no JSON ({broken}); restore the file, or move it away to begin anew."
                ) from None
            if not isinstance(values, dict):
                raise TargetError(f"{path}, line {number} is no JSON object; move the file away to begin anew.")
            yield values


class Journal:
    """Open for appending; closes its file, and its lock, on leaving."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        # Unbuffered, so that every append is with the system before it returns.
        self._file: IO[bytes] = path.open("ab", buffering=0)
        try:
            _lock(self._file, path)
            self._repair()
        except BaseException:
            self._file.close()
            raise

    def append(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Write these rows, all in one call."""
        data = "".join(json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n" for row in rows).encode()
        while data:  # a write may be cut short by a full disk or a signal
            data = data[self._file.write(data) :]

    def _repair(self) -> None:
        """Cut off a last line that a crash has torn."""
        size = self.path.stat().st_size
        with self.path.open("rb") as file:
            end = size
            while end:
                start = max(0, end - 65536)
                file.seek(start)
                at = file.read(end - start).rfind(b"\n")
                if at >= 0:
                    end = start + at + 1
                    break
                end = start
        if end < size:
            os.truncate(self.path, end)

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self._file.close()


def _lock(file: IO[bytes], path: Path) -> None:
    """One writer at a time, where the system has locks; they end with the process, however it ends."""
    try:
        import fcntl
    except ImportError:
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise TargetError(
            f"{path} is being written by another calipers; wait for it, or name another folder."
        ) from None
