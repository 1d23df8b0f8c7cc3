"""Texts as sequences of hashed words, and hashes of every run of n of them.

A run's hash is  h(w₁)·p⁰ + h(w₂)·p¹ + … , mixed, in 64 bits: cheap over whole arrays, and two different
runs share one with probability about 2⁻⁶⁴.
"""

from __future__ import annotations

import re
from functools import lru_cache
from hashlib import blake2b
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Hashes: TypeAlias = NDArray[np.uint64]
_WORD = re.compile(r"[a-z0-9_]+")
_FACTORS = np.array([pow(0x9E3779B97F4A7C15, i, 1 << 64) | 1 for i in range(16)], np.uint64)


def hashed_words(text: str) -> Hashes:
    """The hash of every word (letters, digits, _; case does not count), in order."""
    words = _WORD.findall(text.lower())
    return np.fromiter(map(_hash, words), np.uint64, len(words))


def runs(words: Hashes, n: int) -> Hashes:
    """The hash of every n words in a row; none if there are fewer words."""
    if len(words) < n:
        return np.zeros(0, np.uint64)
    out = np.zeros(len(words) - n + 1, np.uint64)
    with np.errstate(over="ignore"):
        for i in range(n):
            out += words[i : len(words) - n + 1 + i] * _FACTORS[i]
        out ^= out >> np.uint64(29)
        out *= np.uint64(0xBF58476D1CE4E5B9)
    return out ^ (out >> np.uint64(32))


def share_any(found: Hashes, known: Hashes) -> bool:
    """Whether a hash is among the known ones, which are sorted."""
    if not len(found) or not len(known):
        return False
    at = np.searchsorted(known, found)
    at[at == len(known)] = 0
    return bool((known[at] == found).any())


@lru_cache(maxsize=1 << 20)
def _hash(word: str) -> int:
    return int.from_bytes(blake2b(word.encode(), digest_size=8).digest(), "little")
