"""One canvas being denoised: as it stands, what was last seen of it, and an end when time is up."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from calipers.canvas import MASK, Canvas
from calipers.deadline import Deadline
from calipers.decode import Decoder, decode
from calipers.drive import Ask
from calipers.look import PROBABILITY, TOKEN
from calipers.models.base import Query

if TYPE_CHECKING:
    from torch import Tensor


class Denoising:
    """A canvas being denoised: as it stands, and what was last seen of it.

    seen        position -> (most probable token, its probability), of the canvas as it stands
    committed   position -> how probable its token was when it was committed, if it was the most probable
    late        whether its last masks were committed together because time was up

    Both are kept only where they are wanted: to hurry, or to be watched.
    """

    def __init__(
        self,
        decoder: Decoder,
        canvas: Canvas,
        seed: int,
        first: Mapping[int, Tensor],
        deadline: Deadline | None = None,
        keep: bool = False,
    ) -> None:
        self.decoder = decoder
        self.canvas = canvas
        self.seed = seed
        self.seen: dict[int, tuple[int, float]] = {}
        self.committed: dict[int, float] = {}
        self.late = False
        self._first = first
        self._deadline = deadline
        self._keep = keep
        if keep:
            self.seen = {position: _most_probable(row[None], decoder)[0] for position, row in first.items()}

    def run(self) -> Generator[Ask, None, Canvas]:
        """Denoise, all the way or until time is up."""
        work = decode(self.decoder, self.canvas, self.seed, self._first)
        try:
            while not self._is_late():
                ask = next(work)
                self._move(ask.queries[0].canvas)
                if self._is_late():
                    break
                yield replace(ask, take=self._noting(ask)) if self._keep else ask
        except StopIteration as end:
            self._move(end.value)
            return self.canvas
        finally:
            work.close()
        yield from self._rush()
        return self.canvas

    def _is_late(self) -> bool:
        return self._deadline is not None and self._deadline.passed()

    def _rush(self) -> Generator[Ask, None, None]:
        """Commit all masks there are; only what was never seen is asked for."""
        masked = self.canvas.masked
        self.late = bool(masked)
        if any(position not in self.seen for position in masked):
            ask = Ask((Query(self.canvas, masked),), lambda *_: None, "decode", self.decoder.look, vital=True)
            yield replace(ask, take=self._noting(ask))
        self._move(self.canvas.edit({position: (self.seen[position][0],) for position in masked}))

    def _noting(self, ask: Ask) -> Callable[[int, Tensor], None]:
        positions = ask.queries[0].positions

        def take(index: int, rows: Tensor) -> None:
            self.seen.update(zip(positions, _most_probable(rows, self.decoder), strict=True))
            ask.take(index, rows)

        return take

    def _move(self, canvas: Canvas) -> None:
        if canvas.lengths != self.canvas.lengths:  # positions are others now
            self.seen, self.committed = {}, {}
        elif self._keep:
            old, new = self.canvas.ids, canvas.ids
            for position in self.canvas.masked:
                token, probability = self.seen.get(position, (MASK, 0.0))
                if old[position] != new[position] == token:
                    self.committed[position] = probability
        self.canvas = canvas


def _most_probable(rows: Tensor, decoder: Decoder) -> list[tuple[int, float]]:
    """The most probable token of each row, and its probability."""
    if decoder.look is None:
        best = rows.softmax(-1).max(-1)
        return list(zip(best.indices.tolist(), best.values.tolist(), strict=True))
    return [(int(row[TOKEN]), row[PROBABILITY]) for row in rows.tolist()]
