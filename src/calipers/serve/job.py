"""A request under way: its generator, what that waits for, and how much of it is answered."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from calipers.deadline import Deadline
from calipers.drive import Ask

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(eq=False, slots=True)
class Job:
    """What the engine knows of a request.

    work       yields asks, returns the result
    future     where the result goes; cancelled by whoever no longer wants it
    deadline   after which `work` goes on without what is not answered, unless that is vital
    watch      called whenever something was answered
    ask        what `work` waits for; none before it began
    answered   how many of its queries are answered
    started    when the request came
    queries    how many were answered in all
    seconds    the model's time they took: of each forward, the share of its tokens
    """

    work: Generator[Ask, None, Any]
    future: Future[Any]
    deadline: Deadline | None = None
    watch: Callable[[], None] | None = None
    ask: Ask | None = None
    answered: int = 0
    started: float = field(default_factory=time.monotonic)
    queries: int = 0
    seconds: float = 0.0

    @property
    def resumable(self) -> bool:
        """Whether all it asked is answered, or its time is up and the rest can be gone without."""
        if self.ask is None or self.answered == len(self.ask.queries):
            return True
        return not self.ask.vital and self.deadline is not None and self.deadline.passed()

    def part(self, count: int) -> Ask:
        """So many of its unanswered queries as an ask of their own."""
        ask, since = self.ask, self.answered
        if ask is None:
            raise AssertionError("only who asks is answered")

        def take(index: int, rows: Tensor) -> None:
            ask.take(since + index, rows)

        return replace(ask, queries=ask.queries[since : since + count], take=take)
