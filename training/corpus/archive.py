"""What a wheel or source archive holds, read in memory: nothing is unpacked to disk and nothing is run."""

from __future__ import annotations

import re
import tarfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["code", "test", "doc"]
_SKIP = re.compile(
    r"_?vendor(ed|ing)?|_?vendors|third[_-]?party|node_modules|_?extern|externals?|_?bundled|\.git|site-packages"
    r"|__pycache__|_?locales?|packages_vendored|ext_libs|bower_components|.*_vendor",
    re.IGNORECASE,
)
_TEST = re.compile(
    r"(^|/)(tests?|testing|unit_?tests?|functional_tests?|integration_tests?|regressiontests|_tests)/"
    r"|(^|/)(tests?_[^/]*|[^/]*_tests?|test|tests|conftest)\.py$",
    re.IGNORECASE,
)
_LICENCE = re.compile(r"(licen[cs]e|copying|unlicense)", re.IGNORECASE)
_NO_DOC = re.compile(r"(requirements|licen|copying|cmakelists|robots)", re.IGNORECASE)
_SMALLEST, _LARGEST_CODE, _LARGEST_DOC = 150, 210_000, 1_000_000
_LARGEST_ARCHIVE = 60_000_000  # bytes of text taken from one
_LICENCE_HEAD = 4000


@dataclass(frozen=True, slots=True)
class File:
    """One text of an archive, its path from the project's root."""

    path: str
    kind: Kind
    text: str


@dataclass(frozen=True, slots=True)
class Archive:
    """Metadata (PKG-INFO or METADATA), the heads of the licence files, and the texts."""

    metadata: str
    licences: str
    files: tuple[File, ...]


def read_archive(path: Path) -> Archive:
    """Read a .whl, .zip or .tar.*."""
    metadata, licences, files, total = "", list[str](), list[File](), 0
    wheel = path.suffix == ".whl"
    # In the archive's order: a packed one is slow to go back in.
    for name, size, data in _members(path):
        inside = name if wheel else name.partition("/")[2]
        leaf = inside.rpartition("/")[2]
        if (wheel and inside.endswith(".dist-info/METADATA")) or (not wheel and inside == "PKG-INFO"):
            metadata = data().decode("utf-8", "replace")
        elif _LICENCE.match(leaf) and (".dist-info/" in inside or "/" not in inside):
            licences.append(data()[:_LICENCE_HEAD].decode("utf-8", "replace"))
        elif (kind := kind_of(inside)) and _fits(kind, size) and total < _LARGEST_ARCHIVE:
            try:
                files.append(File(inside, kind, data().decode("utf-8")))
            except UnicodeDecodeError:
                continue
            total += size
    return Archive(metadata, "\n".join(licences), tuple(sorted(files, key=lambda file: file.path)))


def read_folder(folder: Path) -> tuple[File, ...]:
    """The texts of a folder: an interpreter's standard library, which is in no index."""
    found = []
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder).as_posix()
        kind = kind_of(inside)
        if kind and path.is_file() and not path.is_symlink() and _fits(kind, path.stat().st_size):
            try:
                found.append(File(inside, kind, path.read_text("utf-8")))
            except UnicodeDecodeError:
                continue
    return tuple(found)


def kind_of(path: str) -> Kind | None:
    """What a file is by its path; None: of no use, or another project's copy."""
    if any(_SKIP.fullmatch(part) for part in path.split("/")[:-1]):
        return None
    low = path.lower()
    if low.endswith(".py"):
        return "test" if _TEST.search(path) else "code"
    if low.endswith((".md", ".rst")):
        return "doc"
    if low.endswith(".txt") and re.search(r"(^|/)docs?/", low) and not _NO_DOC.search(low):
        return "doc"
    return None


def _fits(kind: Kind, size: int) -> bool:
    return _SMALLEST <= size <= (_LARGEST_DOC if kind == "doc" else _LARGEST_CODE)


class _Member:
    """Reads one member when it is called."""

    def __init__(self, archive: zipfile.ZipFile | tarfile.TarFile, member: zipfile.ZipInfo | tarfile.TarInfo) -> None:
        self._archive, self._member = archive, member

    def __call__(self) -> bytes:
        if isinstance(self._archive, zipfile.ZipFile):
            assert isinstance(self._member, zipfile.ZipInfo)
            return self._archive.read(self._member)
        assert isinstance(self._member, tarfile.TarInfo)
        file = self._archive.extractfile(self._member)
        return file.read() if file else b""


def _members(path: Path) -> Iterator[tuple[str, int, _Member]]:
    if path.suffix in (".whl", ".zip"):
        archive = zipfile.ZipFile(path)
        for entry in archive.infolist():
            yield entry.filename, entry.file_size, _Member(archive, entry)
        return
    packed = tarfile.open(path)  # noqa: SIM115  (its members are read after this returns)
    for member in packed.getmembers():
        if member.isfile():
            yield member.name, member.size, _Member(packed, member)
