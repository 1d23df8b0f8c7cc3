"""Step 2: a package's files judged, cleaned and kept away from evaluation; one result file a package.

Packages do not know of each other here, so they are sifted side by side, and a run that was stopped goes on
with those that have no result.
"""

from __future__ import annotations

import json
import lzma
import os
import random
import sys
import tarfile
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import Pool
from pathlib import Path
from typing import Any

import numpy as np

from training.corpus.archive import File, read_archive, read_folder
from training.corpus.filters import clean
from training.corpus.guard import Guard
from training.corpus.licence import judge
from training.corpus.manifest import Release
from training.corpus.prose import docstrings, is_prose, paragraphs
from training.corpus.twins import content_key, signature
from training.corpus.words import hashed_words

STDLIB = "cpython-stdlib"
_CODE_CAP, _TEST_CAP = 30_000_000, 12_000_000  # bytes a package may give
_SUFFIX = ".jsonl.xz"
# An archive that lies about itself is passed over.
_BROKEN = (
    zipfile.BadZipFile, tarfile.TarError, lzma.LZMAError, zlib.error,
    EOFError, OSError, KeyError, ValueError, RuntimeError,
)  # fmt: skip


@dataclass
class Sifted:
    """What became of a package: its licence (empty: refused, `why` says), files seen, and refusals by reason."""

    package: str
    version: str
    licence: str
    why: str
    seen: int = 0
    refused: Counter[str] = field(default_factory=Counter)


def sift(
    releases: Sequence[Release], files: Path, out: Path, guard: Guard, workers: int = 1, stdlib: Path | None = None
) -> None:
    """Sift every release whose file is there and whose result is not."""
    out.mkdir(parents=True, exist_ok=True)
    for torn in out.glob("*.part"):
        torn.unlink()
    todo = [r for r in releases if (files / r.file).exists() and not (out / (r.package + _SUFFIX)).exists()]
    if stdlib and not (out / (STDLIB + _SUFFIX)).exists():
        version = ".".join(map(str, sys.version_info[:3]))
        own = Sifted(STDLIB, version, "PSF-2.0", "the interpreter's own library")
        _write(out, own, _records(own, read_folder(stdlib), guard))
    work = partial(_sift_one, files=files, out=out, guard=guard)
    if workers < 2:
        for release in todo:
            work(release)
        return
    # Large packages first, so that no worker is left with one at the end.
    todo.sort(key=lambda r: -(files / r.file).stat().st_size)
    with Pool(workers) as pool:
        for _ in pool.imap_unordered(work, todo):
            pass


def read_sifted(path: Path) -> tuple[Sifted, Iterator[dict[str, Any]]]:
    """A package's summary and its records, which are read as they are taken."""
    lines = _lines(path)
    head = json.loads(next(lines))
    return Sifted(**{**head, "refused": Counter(head["refused"])}), map(json.loads, lines)


def sifted_file(folder: Path, package: str) -> Path:
    """Where a package's result is."""
    return folder / (package + _SUFFIX)


def _sift_one(release: Release, files: Path, out: Path, guard: Guard) -> None:
    try:
        archive = read_archive(files / release.file)
    except _BROKEN as broken:
        _write(out, Sifted(release.package, release.version, "", f"unreadable: {broken}"[:100]), [])
        return
    verdict = judge(archive.metadata, archive.licences)
    one = Sifted(release.package, release.version, verdict.licence, verdict.why)
    _write(out, one, _records(one, archive.files, guard) if verdict.licence else [])


def _records(one: Sifted, files: Sequence[File], guard: Guard) -> Iterator[dict[str, Any]]:
    """The package's records; what is refused is counted in `one`."""
    order = list(files)
    # Where a package is cut off at its cap, what stays is no matter of the alphabet.
    random.Random(one.package).shuffle(order)
    room = {"code": _CODE_CAP, "test": _TEST_CAP}
    for file in order:
        if file.kind == "doc":
            if is_prose(file.path):
                yield from _prose(one, file.path, paragraphs(file.text), guard)
            continue
        one.seen += 1
        text, refused = clean(file.path, file.text)
        words = hashed_words(text)
        refused = refused or ("cap" if room[file.kind] < len(text) else "") or guard.refuses(text, words)
        if refused:
            one.refused[refused] += 1
            continue
        room[file.kind] -= len(text)
        sign = {"key": content_key(text).hex(), "sign": signature(words).tobytes().hex()}
        yield {"kind": file.kind, "path": file.path, "text": text, **sign}
        if file.kind == "code":
            yield from _prose(one, file.path, docstrings(text), guard)


def _prose(one: Sifted, path: str, found: Iterable[str], guard: Guard) -> Iterator[dict[str, Any]]:
    kept = []
    for paragraph in found:
        if reason := guard.refuses(paragraph):
            one.refused[f"paragraph: {reason}"] += 1
        else:
            kept.append(paragraph)
    if kept:
        yield {"kind": "prose", "path": path, "paragraphs": kept}


def _write(out: Path, one: Sifted, records: Iterable[dict[str, Any]]) -> None:
    """The summary goes first, and is known last: so the records are held until then."""
    lines = [json.dumps(record, ensure_ascii=False) for record in records]
    path = sifted_file(out, one.package)
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    with lzma.open(part, "wt", encoding="utf-8", errors="backslashreplace", preset=1) as file:
        file.writelines(line + "\n" for line in [json.dumps(vars(one)), *lines])
    part.replace(path)


def _lines(path: Path) -> Iterator[str]:
    with lzma.open(path, "rt", encoding="utf-8") as file:
        yield from file


def sign_of(record: dict[str, Any]) -> np.ndarray[Any, np.dtype[np.uint32]]:
    """A record's MinHash."""
    return np.frombuffer(bytes.fromhex(record["sign"]), np.uint32)
