"""Whether nothing belongs in a hole at all (length 0). Φ(0) is a mean of nothing, so it is judged otherwise."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass

from calipers.canvas import Canvas
from calipers.drive import Ask


@dataclass(frozen=True, slots=True)
class Emptiness:
    def judge(self, canvas: Canvas, hole: int) -> Generator[Ask, None, bool]:
        yield from ()
        return False
