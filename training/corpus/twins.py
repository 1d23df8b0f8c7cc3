"""Exact and near duplicates: MinHash signatures of 5-word shingles, looked up by bands.

The share of equal entries of two signatures estimates the Jaccard similarity J of the shingle sets. With 16
bands of 4 entries, a pair is compared with probability 1 - (1 - J⁴)¹⁶: 99.98 % at J = 0.8, 0.2 % at 0.1.
"""

from __future__ import annotations

from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from training.corpus.words import Hashes, runs

SIMILAR = 0.8
_ENTRIES, _BANDS, _SHINGLE, _COMPARED = 64, 16, 5, 8
_rng = np.random.RandomState(7)
_MULTIPLY = _rng.randint(1, 1 << 62, _ENTRIES, np.int64).astype(np.uint64) * np.uint64(2) + np.uint64(1)
_ADD = _rng.randint(0, 1 << 62, _ENTRIES, np.int64).astype(np.uint64)


def signature(words: Hashes) -> NDArray[np.uint32]:
    """The MinHash of a text's shingles (of its words, if it has fewer than five)."""
    shingles = np.unique(runs(words, _SHINGLE))
    if not len(shingles):
        shingles = np.unique(words)
    if not len(shingles):
        return np.zeros(_ENTRIES, np.uint32)
    with np.errstate(over="ignore"):
        least = [(shingles * a + b).min() for a, b in zip(_MULTIPLY, _ADD, strict=True)]
    return (np.array(least, np.uint64) >> np.uint64(32)).astype(np.uint32)


def content_key(text: str) -> bytes:
    """The same for texts that differ in blanks only."""
    return blake2b(" ".join(text.split()).encode("utf-8", "surrogatepass"), digest_size=12).digest()


class Twins:
    """The texts seen so far."""

    def __init__(self) -> None:
        self._exact: set[bytes] = set()
        self._bands: list[dict[bytes, list[int]]] = [{} for _ in range(_BANDS)]
        self._signatures: list[NDArray[np.uint32]] = []

    def known(self, key: bytes, sign: NDArray[np.uint32]) -> str:
        """`exact` or `near` if a twin was seen; else nothing, and the text counts as seen from now on."""
        if key in self._exact:
            return "exact"
        self._exact.add(key)
        bands = [band.tobytes() for band in sign.reshape(_BANDS, -1)]
        near = {one for table, band in zip(self._bands, bands, strict=True) for one in table.get(band, ())[:_COMPARED]}
        if any((self._signatures[one] == sign).mean() >= SIMILAR for one in near):
            return "near"
        for table, band in zip(self._bands, bands, strict=True):
            table.setdefault(band, []).append(len(self._signatures))
        self._signatures.append(sign)
        return ""
