"""Step 3: twins told apart over all packages, and what is left shuffled into shards.

Packages come in the manifest's order, so of twins the one of the earlier package stays. Shards are named
code-00.jsonl.xz, tests-00.jsonl.xz, docs-00.jsonl.xz, …; a line is an object with text, package, version,
licence and path.
"""

from __future__ import annotations

import json
import lzma
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any

from training.corpus.manifest import Release
from training.corpus.sift import STDLIB, Sifted, read_sifted, sifted_file, sign_of
from training.corpus.twins import Twins

KINDS = {"code": "code", "test": "tests", "prose": "docs"}
_SEED = 20240607


@dataclass
class Merged:
    """Counts for the statistics.

    packages   their summaries, refused ones too
    kept       (package, shard's name) → records and bytes
    twins      dropped, by kind of twin
    shards     file → records, bytes of text, bytes packed
    """

    packages: list[Sifted] = field(default_factory=list)
    kept: dict[tuple[str, str], list[int]] = field(default_factory=dict)
    twins: Counter[str] = field(default_factory=Counter)
    shards: dict[str, list[int]] = field(default_factory=dict)


def merge(releases: Sequence[Release], sifted: Path, out: Path, shard_bytes: int) -> Merged:
    """Write the shards of every package that was sifted."""
    out.mkdir(parents=True, exist_ok=True)
    merged, twins, paragraphs = Merged(), Twins(), set[bytes]()
    bins = {name: _Bin(out / f".{name}.tmp") for name in KINDS.values()}
    for package in [STDLIB, *(release.package for release in releases)]:
        path = sifted_file(sifted, package)
        if not path.exists():
            continue
        one, records = read_sifted(path)
        merged.packages.append(one)
        base = {"package": one.package, "version": one.version, "licence": one.licence}
        for record in _distinct(records, twins, paragraphs, merged.twins):
            name = KINDS[record["kind"]]
            size = bins[name].add({"text": record["text"], **base, "path": record["path"]})
            count = merged.kept.setdefault((one.package, name), [0, 0])
            count[0] += 1
            count[1] += size
    for name, bin_ in bins.items():
        merged.shards |= bin_.write(out, name, shard_bytes)
    return merged


def _distinct(
    records: Iterable[dict[str, Any]], twins: Twins, paragraphs: set[bytes], dropped: Counter[str]
) -> Iterator[dict[str, Any]]:
    """Records without twins; of prose, the paragraphs that nobody had before, as one text."""
    for record in records:
        if record["kind"] == "prose":
            new = []
            for paragraph in record["paragraphs"]:
                letters = "".join(filter(str.isalnum, paragraph.lower()))
                key = blake2b(letters.encode("utf-8", "surrogatepass"), digest_size=8).digest()
                if key in paragraphs:
                    dropped["paragraph"] += 1
                else:
                    paragraphs.add(key)
                    new.append(paragraph)
            if new:
                yield {**record, "text": "\n\n".join(new)}
        elif twin := twins.known(bytes.fromhex(record["key"]), sign_of(record)):
            dropped[twin] += 1
        else:
            yield record


class _Bin:
    """Records on disk until they are shuffled, for they may be more than fits the memory."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = path.open("wb")
        self._where: list[tuple[int, int, int]] = []

    def add(self, record: dict[str, Any]) -> int:
        """Keep a record; returns its text's bytes."""
        line = (json.dumps(record, ensure_ascii=False) + "\n").encode("utf-8", "backslashreplace")
        size = len(record["text"].encode("utf-8", "replace"))
        self._where.append((self._file.tell(), len(line), size))
        self._file.write(line)
        return size

    def write(self, out: Path, name: str, shard_bytes: int) -> dict[str, list[int]]:
        """Shuffle, and write shards of about so many bytes of text each."""
        self._file.close()
        random.Random(_SEED).shuffle(self._where)
        count = max(1, round(sum(size for *_, size in self._where) / shard_bytes)) if self._where else 0
        shards = {}
        with self._path.open("rb") as source:
            for number in range(count):
                path = out / f"{name}-{number:02d}.jsonl.xz"
                part, own = path.with_name(path.name + ".part"), self._where[number::count]
                with lzma.open(part, "wb", preset=6) as file:
                    for start, length, _ in own:
                        source.seek(start)
                        file.write(source.read(length))
                part.replace(path)
                shards[path.name] = [len(own), sum(size for *_, size in own), path.stat().st_size]
        self._path.unlink()
        return shards
