"""Files as they are: read as UTF-8 to the byte, written whole or not at all."""

from __future__ import annotations

import os
import re
import stat
import tempfile
from dataclasses import dataclass
from pathlib import Path

from calipers.errors import TargetError, TemplateError
from calipers.template import MARKER, Template

_PLACE = re.compile(r"(?P<path>.+?):(?P<line>\d+)(?:(?::(?P<column>\d+))|(?:-(?P<last>\d+)))?$", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Target:
    """A file, and where its hole is.

    FILE               wherever the marker stands
    FILE:LINE          before line LINE; nothing is replaced
    FILE:LINE:COL      before character COL of that line; nothing is replaced
    FILE:FIRST-LAST    those lines are replaced (the last one's newline stays)

    Lines and columns count from 1. The line after the last is a place too.
    """

    path: Path
    line: int | None = None
    column: int = 1
    last: int | None = None

    @classmethod
    def parse(cls, text: str) -> Target:
        """From the command line; a file whose very name looks like a place wins."""
        place = _PLACE.fullmatch(text)
        if place is None or Path(text).exists():
            return cls(Path(text))
        last = place["last"]
        return cls(Path(place["path"]), int(place["line"]), int(place["column"] or 1), int(last) if last else None)

    def template(self, text: str, marker: str = MARKER) -> Template:
        """The template of this place in the file's text."""
        if self.line is None:
            return Template.parse(text, marker)
        lines = split_lines(text)
        last = self.last if self.last is not None else self.line
        if not 1 <= self.line <= last <= len(lines):
            raise TemplateError(
                f"{self.path} has lines 1 to {len(lines)} (its end), and {self._place()} is not among them; "
                "name lines that are there, the first before the last."
            )
        if self.last is not None:
            end = lines[last - 1]
            ending = end[len(end.rstrip("\r\n")) :]
            return Template.around("".join(lines[: self.line - 1]), ending + "".join(lines[last:]))
        body = lines[self.line - 1].rstrip("\r\n")
        if not 1 <= self.column <= len(body) + 1:
            raise TemplateError(
                f"Line {self.line} of {self.path} has columns 1 to {len(body) + 1}, not {self.column}; "
                "name one of those."
            )
        start = sum(map(len, lines[: self.line - 1])) + self.column - 1
        return Template.around(text[:start], text[start:])

    def _place(self) -> str:
        return f"{self.line}-{self.last}" if self.last is not None else f"{self.line}:{self.column}"


def split_lines(text: str) -> list[str]:
    """Lines with their newlines; unlike str.splitlines, cut at newlines alone.

    The last may be empty: a text that ends with a newline can be continued on the line after.
    """
    *whole, rest = text.split("\n")
    return [line + "\n" for line in whole] + [rest]


def read_text(path: Path) -> str:
    """A file's text with every newline as it stands."""
    try:
        return path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as bad:
        raise TargetError(
            f"{path} is not UTF-8 (byte {bad.start} is 0x{bad.object[bad.start]:02x}); convert it first, "
            "for example with iconv -t UTF-8."
        ) from None
    except IsADirectoryError:
        raise TargetError(f"{path} is a folder; name a file.") from None
    except FileNotFoundError:
        raise TargetError(f"{path} is not there; name a file that is.") from None
    except PermissionError:
        raise TargetError(f"{path} cannot be read; ask for permission or copy it.") from None
    except OSError as error:
        raise TargetError(f"{path} cannot be read ({error.strerror}); name a file that can.") from None


def check_writable(path: Path) -> None:
    """Refuse a target that could not be written in the end, before any work is done."""
    if path.exists():
        # A read-only file says "leave me"; that its folder would let us replace it is no consent.
        if not path.stat().st_mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH) or not os.access(path, os.W_OK):
            raise TargetError(f"{path} is read-only; make it writable (chmod u+w) or write elsewhere.")
        if not path.is_file():
            raise TargetError(f"{path} is not a plain file; name one.")
    folder = path.resolve().parent
    if not folder.is_dir():
        raise TargetError(f"{folder} is no folder; make it first.")
    if not os.access(folder, os.W_OK):
        raise TargetError(f"{folder} cannot be written to; write elsewhere.")


def write_atomically(path: Path, text: str | bytes) -> None:
    """Write a whole file or leave the old one as it was; links are followed, the mode is kept."""
    check_writable(path)
    real = path.resolve()
    data = text.encode("utf-8") if isinstance(text, str) else text
    handle, name = tempfile.mkstemp(prefix=".calipers-", dir=real.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if real.exists():
            os.chmod(name, stat.S_IMODE(real.stat().st_mode))
        else:
            mask = os.umask(0)
            os.umask(mask)
            os.chmod(name, 0o666 & ~mask)
        os.replace(name, real)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
