"""What a stream tells of a fill under way: probes as they are scored, canvases as they are denoised."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from itertools import groupby
from typing import Any

from calipers.canvas import MASK, Canvas
from calipers.denoising import Denoising
from calipers.filling import Filling
from calipers.models.base import MaskModel

Tell = Callable[[str, dict[str, Any]], None]
SHOWN = "░"  # a mask, where text is shown


class Watcher:
    """Called whenever something was answered, tells what is new since the last time."""

    def __init__(self, filling: Filling, tell: Tell) -> None:
        self._filling = filling
        self._tell = tell
        self._told: set[tuple[int, tuple[int, ...], int]] = set()
        self._canvas: Canvas | None = None

    def __call__(self) -> None:
        """Tell."""
        self._probes()
        if self._filling.denoisings:
            self._denoised(self._filling.denoisings[0])

    def _probes(self) -> None:
        measuring = self._filling.measuring
        prober = measuring.probers[measuring.turn]
        lengths = measuring.canvas.lengths
        others = lengths[: prober.hole] + lengths[prober.hole + 1 :]
        for probe in prober.probes:
            if (one := (prober.hole, others, probe.length)) not in self._told:
                self._told.add(one)
                self._tell("probe", {"hole": prober.hole, **asdict(probe)})

    def _denoised(self, denoising: Denoising) -> None:
        if denoising.canvas == self._canvas:
            return
        self._canvas = denoising.canvas
        self._tell("canvas", shown(denoising, self._filling.infiller.model))


def shown(denoising: Denoising, model: MaskModel) -> dict[str, Any]:
    """A canvas for readers.

    texts       each hole's text so far, a shade for each mask
    tokens      each hole's tokens; null for a mask
    confidence  of each position: of a token, how probable it was when it was committed; of a mask, how
                probable its best token is; null where that is not known
    """
    canvas = denoising.canvas
    known = {position: seen[1] for position, seen in denoising.seen.items()} | denoising.committed
    texts, tokens, confidence = [], [], []
    for hole, span in zip(canvas.holes, canvas.spans, strict=True):
        runs = [(masked, list(run)) for masked, run in groupby(hole, key=lambda token: token == MASK)]
        texts.append("".join(SHOWN * len(run) if masked else model.decode(run) for masked, run in runs))
        tokens.append([None if token == MASK else model.decode([token]) for token in hole])
        confidence.append([known.get(position) for position in span])
    return {"lengths": list(canvas.lengths), "texts": texts, "tokens": tokens, "confidence": confidence}
