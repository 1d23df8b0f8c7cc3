"""Documents laid out for training: one file of text that all workers map, and where each document ends.

A shelf is a folder of `text.bin` and `ends.npy`. It is made once from .jsonl.xz shards whose lines are
texts, or objects with `text` and `package`. Of every shelf one in `HELD` packages (of texts without a
package: texts) is held out, by hash, into a shelf of its own, so that no run ever sees them.
"""

from __future__ import annotations

import json
import lzma
import multiprocessing as mp
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from pathlib import Path

import numpy as np

from training.examples.functions import carve

HELD = 100
_TEXT, _ENDS = "text.bin", "ends.npy"


class Shelf(Sequence[str]):
    """The documents of a folder, read where they lie."""

    def __init__(self, folder: Path) -> None:
        self._ends = np.load(folder / _ENDS)
        path = folder / _TEXT
        self._text = np.memmap(path, np.uint8, mode="r") if path.stat().st_size else np.empty(0, np.uint8)

    def __len__(self) -> int:
        return len(self._ends)

    def __getitem__(self, at: int) -> str:  # type: ignore[override]  # documents are drawn one by one
        first = int(self._ends[at - 1]) if at else 0
        return self._text[first : int(self._ends[at])].tobytes().decode("utf-8")

    @property
    def size(self) -> int:
        """Bytes of text."""
        return len(self._text)


def is_held_out(key: str) -> bool:
    """Whether a package (or a text that has none) is kept out of training."""
    return int.from_bytes(sha256(key.encode("utf-8", "surrogatepass")).digest()[:4], "big") % HELD == 0


def read_shard(path: Path) -> Iterator[tuple[str, str]]:
    """The (package, text) of every line of a .jsonl.xz; a text without a package is its own."""
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            value = json.loads(line)
            text = value if isinstance(value, str) else value["text"]
            yield (text if isinstance(value, str) else value.get("package") or text), text


def write_shelf(folder: Path, texts: Iterable[str]) -> int:
    """Lay texts out; whole when `ends.npy` is there. Returns how many they are."""
    folder.mkdir(parents=True, exist_ok=True)
    ends, end = [], 0
    with (folder / _TEXT).open("wb") as file:
        for text in texts:
            data = text.encode("utf-8", "replace")
            file.write(data)
            end += len(data)
            ends.append(end)
    part = folder / f"{_ENDS}.part"
    with part.open("wb") as file:
        np.save(file, np.array(ends, np.int64))
    part.replace(folder / _ENDS)
    return len(ends)


def shelve(shard: Path, folder: Path, functions: bool = False, workers: int = 1) -> Path:
    """The shelves of one shard (or of the functions in its modules): FOLDER/NAME/train and …/held.

    What is there already is taken as it is; shards never change under one name.
    """
    into = folder / (shard.name.partition(".")[0] + ("-functions" if functions else ""))
    if not all((into / part / _ENDS).is_file() for part in ("train", "held")):
        kept: dict[bool, list[str]] = {False: [], True: []}
        packages, texts = zip(*read_shard(shard), strict=True)
        for package, parts in zip(packages, _carved(texts, workers) if functions else zip(texts), strict=True):
            kept[is_held_out(package)] += parts
        write_shelf(into / "held", kept[True])
        write_shelf(into / "train", kept[False])
    return into


def _carved(texts: Sequence[str], workers: int) -> Iterator[Sequence[str]]:
    """The functions of each text; parsing is slow, so it is shared out where there are workers."""
    if workers < 2:
        yield from map(_functions, texts)
        return
    with mp.get_context("spawn").Pool(workers) as pool:
        yield from pool.imap(_functions, texts, chunksize=64)


def _functions(text: str) -> list[str]:
    return list(carve(text))
