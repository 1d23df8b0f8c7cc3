"""Texts that tests cut, and where the checkout is."""

from pathlib import Path

ROOT = Path(__file__).parents[2]

CODE = '''\
"""Shapes and their areas."""

import math
from typing import List


def area(radius: float) -> float:
    """The area of a circle.

    >>> round(area(1.0), 2)
    3.14
    """
    return math.pi * radius ** 2


class Shape:
    def __init__(self, name: str, sides: List[float]) -> None:
        self.name = name
        self.sides = sides

    def perimeter(self) -> float:
        total = 0.0
        for side in self.sides:
            total += side
        return total


def largest(values: List[int]) -> int:
    """The largest of some values, which must not be empty."""
    best = values[0]
    for value in values[1:]:
        if value > best:
            best = value
    return best


print(area(2.0), largest([1, 5, 3]))
'''
PROSE = (
    "The library reads a text once and keeps what it has seen, so that a second pass over it costs next to nothing. "
    "It was written for people who have long files and little time, and it is meant to be used from other programs. "
    "When a file changes while it is being read, the pages that were kept are thrown away and read again from disk."
)
