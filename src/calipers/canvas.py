"""A canvas is a template in token ids, each hole holding masks or tokens.

A canvas knows no checkpoint: a masked place is `MASK`, whatever id the model at
hand uses for it, and begin- and end-of-text tokens are added by the model itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain

MASK = -1


@dataclass(frozen=True)
class Canvas:
    """Clamped `texts` around `holes`, both in token ids; a hole's ids may be `MASK`.

    `cropped` counts the tokens that were cut from the far left and the far right.
    """

    texts: tuple[tuple[int, ...], ...]
    holes: tuple[tuple[int, ...], ...]
    cropped: tuple[int, int] = (0, 0)

    @cached_property
    def ids(self) -> tuple[int, ...]:
        """All ids from left to right."""
        parts: list[Iterable[int]] = [self.texts[0]]
        for hole, text in zip(self.holes, self.texts[1:], strict=True):
            parts += [hole, text]
        return tuple(chain.from_iterable(parts))

    @cached_property
    def spans(self) -> tuple[range, ...]:
        """The positions of each hole."""
        spans, start = [], 0
        for text, hole in zip(self.texts, self.holes, strict=False):
            start += len(text)
            spans.append(range(start, start + len(hole)))
            start += len(hole)
        return tuple(spans)

    @property
    def positions(self) -> tuple[int, ...]:
        """The positions of all holes, in order."""
        return tuple(chain.from_iterable(self.spans))

    @property
    def masked(self) -> tuple[int, ...]:
        """The hole positions that still hold a mask, in order."""
        ids = self.ids
        return tuple(p for p in self.positions if ids[p] == MASK)

    @property
    def lengths(self) -> tuple[int, ...]:
        """The number of tokens each hole has now."""
        return tuple(map(len, self.holes))

    def hole_at(self, position: int) -> int:
        """The hole a position is in."""
        return next(hole for hole, span in enumerate(self.spans) if position in span)

    def __len__(self) -> int:
        return sum(map(len, self.texts)) + sum(map(len, self.holes))

    def with_hole(self, index: int, ids: Sequence[int]) -> Canvas:
        """The same canvas with other contents, perhaps of other length, in one hole."""
        holes = (*self.holes[:index], tuple(ids), *self.holes[index + 1 :])
        return replace(self, holes=holes)

    def with_masks(self, lengths: Sequence[int]) -> Canvas:
        """The same canvas with every hole holding so many masks."""
        return replace(self, holes=tuple((MASK,) * n for n in lengths))

    def edit(self, changes: Mapping[int, Sequence[int]]) -> Canvas:
        """Replace single hole positions by any number of ids: one commits, none deletes, more grow."""
        holes = tuple(
            tuple(chain.from_iterable(changes.get(p, (old,)) for p, old in zip(span, hole, strict=True)))
            for span, hole in zip(self.spans, self.holes, strict=True)
        )
        return replace(self, holes=holes)


def beside(lengths: tuple[int, ...], hole: int) -> tuple[int, ...]:
    """The lengths of all holes but one."""
    return lengths[:hole] + lengths[hole + 1 :]
