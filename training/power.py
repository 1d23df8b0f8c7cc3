"""The power a GPU draws while a leg runs, sampled beside it."""

from __future__ import annotations

import subprocess
import threading
from types import TracebackType

_EVERY = 10.0
_ASK = ("nvidia-smi", "--query-gpu=power.draw", "--format=csv,noheader,nounits")


class Power:
    """While open, samples the first GPU's power every few seconds; where there is no nvidia-smi, none."""

    def __init__(self, every: float = _EVERY) -> None:
        self._every = every
        self._samples: list[float] = []
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    @property
    def watts(self) -> float | None:
        """The mean so far."""
        return round(sum(self._samples) / len(self._samples), 1) if self._samples else None

    def __enter__(self) -> Power:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self._done.set()

    def _watch(self) -> None:
        while not self._done.wait(self._every):
            try:
                said = subprocess.run(_ASK, capture_output=True, text=True, timeout=self._every, check=True).stdout
                self._samples.append(float(said.splitlines()[0]))
            except (OSError, subprocess.SubprocessError, ValueError, IndexError):
                return
