"""Prose from files a user has: abstracts, novels, anything in English, kept away from evaluation.

A .txt is cut into paragraphs and these are joined to texts of a few thousand characters; .jsonl (also .gz, .xz)
has a text, or an object with `text`, a line. Abstracts are told by the flag, and only the half whose md5 begins
below 0x80 is taken, for the other half is what models are evaluated on.
"""

from __future__ import annotations

import gzip
import json
import lzma
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from training.corpus.guard import Guard, may_train
from training.corpus.prose import paragraphs

_JOINED = 4000  # characters


def read_texts(path: Path) -> Iterator[str]:
    """The texts of a file, one by one."""
    with _open(path) as file:
        if ".jsonl" in path.suffixes:
            for line in file:
                value = json.loads(line)
                yield value if isinstance(value, str) else str(value["text"])
            return
        joined = ""
        for paragraph in paragraphs(file.read()):
            joined += paragraph + "\n\n"
            if len(joined) > _JOINED:
                yield joined.rstrip("\n")
                joined = ""
        if joined:
            yield joined.rstrip("\n")


def _open(path: Path) -> IO[str]:
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8")
    return lzma.open(path, "rt", encoding="utf-8") if path.suffix == ".xz" else path.open(encoding="utf-8")


def write_texts(source: Path, out: Path, guard: Guard, abstracts: bool = False) -> Counter[str]:
    """One shard of a file's texts, each of them once; counts what was kept and refused."""
    counts, seen = Counter[str](), set[int]()
    part = out.with_name(out.name + ".part")
    with lzma.open(part, "wt", encoding="utf-8", preset=6) as file:
        for text in read_texts(source):
            if abstracts and not may_train(text):
                counts["kept for evaluation"] += 1
            elif reason := guard.refuses(text):
                counts[reason] += 1
            elif hash(text) in seen:
                counts["twice"] += 1
            else:
                seen.add(hash(text))
                counts["kept"] += 1
                file.write(json.dumps({"text": text}, ensure_ascii=False) + "\n")
    part.replace(out)
    return counts
