"""An append-only file of JSON lines that outlives a kill: what was appended is there, whole, once.

A line is written by one call and ends with a newline, so only the last can be torn. Reading
drops a torn last line, and opening to append cuts it off; any other line that is no JSON means
that somebody else wrote here, which is an error. Only one process appends at a time.

Results are kept compressed, `lines.jsonl.gz` for `lines.jsonl`; what is appended later stands in the
plain file beside it, and so does what others write for their share of the work, `lines-2-of-8.jsonl`;
`read_kept` reads all of them.
"""

from __future__ import annotations

import gzip
import json
import os
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from calipers.errors import TargetError
from calipers.target import check_writable

_BLOCK = 1 << 16


def read_lines(path: Path) -> Iterator[dict[str, Any]]:
    """Every whole line's values, in order; nothing if the file is not there. `.gz` is unpacked."""
    if not path.exists():
        return
    try:
        with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as file:
            for number, line in enumerate(file, 1):
                if not line.endswith(b"\n"):
                    return
                yield _values(path, number, line)
    except (EOFError, gzip.BadGzipFile, zlib.error) as broken:
        raise TargetError(f"{path} is damaged ({broken}); restore it, or move it away to begin anew.") from None


def read_kept(path: Path) -> Iterator[dict[str, Any]]:
    """The lines that are kept compressed beside a file, then its own, then those of shares of the work."""
    for file in _kept(path):
        yield from read_lines(file)


def sizes(path: Path) -> tuple[int, ...]:
    """How large what `read_kept` reads is: it only grows, so this tells whether somebody has written."""
    return tuple(file.stat().st_size if file.exists() else 0 for file in _kept(path))


def read_object(path: Path) -> dict[str, Any]:
    """A file of one JSON object, written whole."""
    try:
        values = json.loads(path.read_bytes())
    except ValueError as broken:
        raise TargetError(f"{path} is no JSON ({broken}); restore it, or move its folder away.") from None
    if not isinstance(values, dict):
        raise TargetError(f"{path} is no JSON object; restore it, or move its folder away.")
    return values


def packed(path: Path) -> Path:
    """Where the lines of a file are kept compressed."""
    return path.with_name(f"{path.name}.gz")


def mend(path: Path) -> None:
    """Cut off a last line that a crash has torn."""
    size = path.stat().st_size
    end = size
    with path.open("rb") as file:
        while end:
            start = max(0, end - _BLOCK)
            file.seek(start)
            at = file.read(end - start).rfind(b"\n")
            end = start + at + 1 if at >= 0 else start
            if at >= 0:
                break
    if end < size:
        os.truncate(path, end)


class Journal:
    """Open for appending; closes its file, and its lock, on leaving."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        check_writable(path)
        # Unbuffered, so that every append is with the system before it returns.
        self._file: IO[bytes] = path.open("ab", buffering=0)
        try:
            _lock(self._file, path)
            mend(path)
        except BaseException:
            self._file.close()
            raise

    def append(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Write these rows, all in one call."""
        lines = "".join(json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n" for row in rows)
        # Half a surrogate pair is no UTF-8; with a backslash it is JSON all the same.
        data = lines.encode("utf-8", "backslashreplace")
        while data:  # a write may be cut short by a full disk or a signal
            data = data[self._file.write(data) :]

    def close(self) -> None:
        """Let others write."""
        self._file.close()

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.close()


def _kept(path: Path) -> list[Path]:
    share = f"{path.stem}-*-of-*{path.suffix}"
    shares = {*path.parent.glob(share), *(file.with_suffix("") for file in path.parent.glob(f"{share}.gz"))}
    return [file for plain in (path, *sorted(shares)) for file in (packed(plain), plain)]


def _values(path: Path, number: int, line: bytes) -> dict[str, Any]:
    try:
        values = json.loads(line)
    except ValueError as broken:
        raise TargetError(
            f"{path}, line {number} is no JSON ({broken}); restore the file, or move it away to begin anew."
        ) from None
    if not isinstance(values, dict):
        raise TargetError(f"{path}, line {number} is no JSON object; move the file away to begin anew.")
    return values


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
