"""A GGUF file read: its metadata, and its tensors dequantised one by one.

Only what the base model's file holds is known: version 2 and 3, and the types in `_BLOCKS`. Of a type, a
block of so many values takes so many bytes; with d, m float16, q the codes and w the values

    Q4_0   d, 16 bytes of q          w = d (q - 8)
    Q4_1   d, m, 16 bytes of q       w = d q + m
    Q8_0   d, 32 signed bytes q      w = d q

where the low halves of the 16 bytes are values 0 to 15 of the block and the high halves 16 to 31.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Bytes: TypeAlias = NDArray[np.uint8]
Floats: TypeAlias = NDArray[np.float32]
# Value types of metadata, by their number; 8 is a text and 9 a list.
_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_TEXT, _LIST = 8, 9


def _half(data: Bytes) -> Floats:
    return np.ascontiguousarray(data).view(np.float16).astype(np.float32)


def _nibbles(data: Bytes) -> Floats:
    return np.concatenate((data & 15, data >> 4), 1).astype(np.float32)


# Number of the type: values a block, bytes a block, and the blocks' values from their bytes.
_BLOCKS: dict[int, tuple[int, int, Callable[[Bytes], Floats]]] = {
    0: (1, 4, lambda b: np.ascontiguousarray(b).view(np.float32)),
    1: (1, 2, _half),
    2: (32, 18, lambda b: _half(b[:, :2]) * (_nibbles(b[:, 2:]) - 8)),
    3: (32, 20, lambda b: _half(b[:, :2]) * _nibbles(b[:, 4:]) + _half(b[:, 2:4])),
    8: (32, 34, lambda b: _half(b[:, :2]) * np.ascontiguousarray(b[:, 2:]).view(np.int8).astype(np.float32)),
}


@dataclass(frozen=True, slots=True)
class _Entry:
    shape: tuple[int, ...]
    kind: int
    offset: int


class Gguf:
    """An opened file; tensors are read when they are asked for."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._data: Bytes = np.memmap(path, np.uint8, mode="r")
        self._at = 0
        if self._data[:4].tobytes() != b"GGUF":
            raise ValueError(f"{path} is no GGUF file.")
        self._at = 4
        if (version := self._scalar("I")) not in (2, 3):
            raise ValueError(f"{path} is GGUF version {version}; 2 and 3 are read.")
        tensors, values = self._scalar("Q"), self._scalar("Q")
        self.metadata: dict[str, Any] = {self._text(): self._value(self._scalar("I")) for _ in range(values)}
        self._entries = dict(self._entry() for _ in range(tensors))
        step = self.metadata.get("general.alignment", 32)
        self._start = -(-self._at // step) * step

    def names(self) -> list[str]:
        """Every tensor's name, in the order of the file."""
        return list(self._entries)

    def tensor(self, name: str) -> Floats:
        """A tensor's values; the last axis runs fastest, as in numpy and torch."""
        entry = self._entries[name]
        if entry.kind not in _BLOCKS:
            raise ValueError(f"{self.path}: {name} is of type {entry.kind}; {sorted(_BLOCKS)} are read.")
        values, size, decode = _BLOCKS[entry.kind]
        count = int(np.prod(entry.shape)) // values
        first = self._start + entry.offset
        return decode(self._data[first : first + count * size].reshape(count, size)).reshape(entry.shape)

    def tensors(self) -> Iterator[tuple[str, Floats]]:
        """All tensors, one at a time."""
        return ((name, self.tensor(name)) for name in self._entries)

    def _entry(self) -> tuple[str, _Entry]:
        name = self._text()
        sizes = [self._scalar("Q") for _ in range(self._scalar("I"))]
        return name, _Entry(tuple(reversed(sizes)), self._scalar("I"), self._scalar("Q"))

    def _value(self, kind: int) -> Any:
        if kind == _TEXT:
            return self._text()
        if kind == _LIST:
            inner, count = self._scalar("I"), self._scalar("Q")
            return [self._value(inner) for _ in range(count)]
        return self._scalar(_SCALARS[kind])

    def _text(self) -> str:
        size = self._scalar("Q")
        self._at += size
        return self._data[self._at - size : self._at].tobytes().decode("utf-8")

    def _scalar(self, form: str) -> Any:
        size = struct.calcsize(f"<{form}")
        self._at += size
        return struct.unpack(f"<{form}", self._data[self._at - size : self._at].tobytes())[0]
