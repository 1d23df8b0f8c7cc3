"""A deadline: how much time a piece of work has, and whether a share of it is spent."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from calipers.errors import ArgumentError


class Deadline:
    """So many seconds, counted from now.

    within   seconds; whoever is late answers with what is known
    now      the clock; another one in tests
    """

    def __init__(self, within: float, now: Callable[[], float] = time.perf_counter) -> None:
        if not within > 0 or not math.isfinite(within):
            raise ArgumentError(f"within={within} must be a number of seconds above 0.")
        self.within = within
        self._now = now
        self._since = now()

    @property
    def left(self) -> float:
        """Seconds left; below 0 when it has passed."""
        return self._since + self.within - self._now()

    def passed(self, share: float = 1.0) -> bool:
        """Whether this share of the time is spent."""
        return self._now() - self._since >= share * self.within
