"""The engine: one thread owns the model, and all requests under way share its forwards.

A fill is a generator of asks (see `drive`), so a request under way is a generator waiting for
answers. A round takes queries of all of them in turn, as many as the model answers in about
`_ROUND` seconds by its pace so far, and sends them in one call: probes of one request ride with
denoising steps of another. On a fast device that is everything that is asked; on a slow one a
round is a few canvases, so that nobody waits long for a cancelled request's work to end or for
their deadline to be seen.

Who was served goes to the back of the row; who waits longest starts first. A cancelled request
is forgotten at the end of the round, one whose time is up is resumed with what was answered.
"""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Callable, Generator
from concurrent.futures import Future
from typing import Any, TypeVar

from calipers.canvas import MASK, Canvas
from calipers.check import at_least_one
from calipers.deadline import Deadline
from calipers.drive import Ask, answer
from calipers.infiller import Infiller
from calipers.models.base import Query
from calipers.serve.job import Job
from calipers.serve.metrics import Metrics
from calipers.serve.refusal import unavailable

T = TypeVar("T")
_ROUND = 0.1  # seconds: how long a cancellation or a deadline may go unseen
_WARM = 32  # tokens of the forwards that warm a model


class Engine:
    """Runs fills for any number of threads.

    open      loads the infiller; called once, on the engine's own thread
    queue     requests that may wait; one more is refused with a time to come back
    at_once   requests under way at a time
    ended     called on the engine's thread when loading failed or the engine broke; `failure` says why
    """

    def __init__(
        self,
        open: Callable[[], Infiller],
        *,
        queue: int = 64,
        at_once: int = 16,
        metrics: Metrics | None = None,
        ended: Callable[[], None] = lambda: None,
    ) -> None:
        at_least_one(queue=queue, at_once=at_once)
        self.metrics = metrics or Metrics()
        self.metrics.gauge("calipers_waiting", lambda: len(self._waiting))
        self.metrics.gauge("calipers_running", lambda: len(self._running))
        self.failure: BaseException | None = None
        self.pace = 0.0  # tokens a second, as of late
        self.ended = ended
        self.at_once = at_once
        self._open, self._queue = open, queue
        self._infiller: Infiller | None = None
        self._waiting: deque[Job] = deque()
        self._running: deque[Job] = deque()
        self._wake = threading.Condition()
        self._draining = self._abandoned = False
        self._job_seconds = 1.0
        self._thread = threading.Thread(target=self._run, name="calipers-engine", daemon=True)

    def start(self) -> None:
        """Begin to load."""
        self._thread.start()

    @property
    def infiller(self) -> Infiller:
        """What was loaded; refused while there is nothing yet."""
        if self._infiller is None:
            raise unavailable("Loading model", retry_after=2)
        return self._infiller

    @property
    def state(self) -> str:
        """One of loading, ok, draining, failed."""
        if self.failure is not None:
            return "failed"
        if self._draining:
            return "draining"
        return "loading" if self._infiller is None else "ok"

    @property
    def idle(self) -> bool:
        """Whether nothing is under way or waiting."""
        with self._wake:
            return not self._waiting and not self._running

    def submit(
        self,
        work: Generator[Ask, None, T],
        deadline: Deadline | None = None,
        watch: Callable[[], None] | None = None,
    ) -> Future[T]:
        """Put a request in the row; cancelling its future ends it at the next forward.

        watch   called on the engine's thread whenever something was answered
        """
        if self._draining or self.failure is not None:
            raise unavailable("The server is shutting down; ask again where it comes up.", retry_after=5)
        _ = self.infiller  # refused while it loads
        future: Future[T] = Future()
        with self._wake:
            if len(self._waiting) >= self._queue:
                self._waiting = deque(job for job in self._waiting if not job.future.cancelled())
            if len(self._waiting) >= self._queue:
                wait = math.ceil(self._job_seconds * len(self._waiting) / self.at_once)
                raise unavailable(f"{len(self._waiting)} requests are waiting already; try again later.", max(1, wait))
            self._waiting.append(Job(work, future, deadline, watch))
            self._wake.notify()
        return future

    def drain(self) -> None:
        """Take nothing new; what was taken is finished."""
        with self._wake:
            self._draining = True
            self._wake.notify()

    def close(self, grace: float = 10.0) -> None:
        """Drain, wait so many seconds, and give up on what is not done by then."""
        self.drain()
        if self._thread.ident is None:
            return
        self._thread.join(grace)
        self._abandoned = True
        self._thread.join(5)

    def _run(self) -> None:
        try:
            infiller = self._open()
            self._warm(infiller)
            self._infiller = infiller
            while self._admit():
                self._round(infiller)
        except BaseException as failure:  # whoever waits must hear of it, whatever it is
            self.failure = failure
        finally:
            with self._wake:
                left = [*self._running, *self._waiting]
                self._running.clear()
                self._waiting.clear()
            for job in left:
                self._end(job, error=unavailable("The server was shut down before this was done; ask again.", 5))
            if self.failure is not None:
                self.ended()

    def _warm(self, infiller: Infiller) -> None:
        """Let everything be loaded that a first forward loads, and see how fast the next one is."""
        canvas = Canvas((tuple(infiller.model.encode("\n")),) * 2, ((MASK,) * _WARM,))
        for _ in range(2):
            started = time.perf_counter()
            ask = Ask((Query.whole(canvas),), lambda *_: None, "search", infiller.decoder.look)
            answer(infiller.model, [ask])
            self.pace = len(canvas) / max(time.perf_counter() - started, 1e-9)

    def _admit(self) -> bool:
        """Wait for work, and start what there is room for; False when there will be none."""
        with self._wake:
            while not self._waiting and not self._running:
                if self._draining:
                    return False
                self._wake.wait()
            while self._waiting and len(self._running) < self.at_once:
                self._running.append(self._waiting.popleft())
        return not self._abandoned

    def _round(self, infiller: Infiller) -> None:
        """Resume who can go on, answer a share of what is asked."""
        for job in list(self._running):
            if job.future.cancelled():
                self._end(job)
            elif job.resumable:
                self._resume(job)
        taken = self._share()
        if not taken:
            return
        asks = [job.part(count) for job, count in taken.items()]
        sizes = [len(query.canvas) for ask in asks for query in ask.queries]
        started = time.perf_counter()
        try:
            answer(infiller.model, asks)
        except Exception:
            self._apart(infiller, taken)
        seconds = time.perf_counter() - started
        self.pace += 0.3 * (sum(sizes) / max(seconds, 1e-9) - self.pace)
        for name, value in {
            "forwards": 1,
            "queries": len(sizes),
            "tokens": sum(sizes),
            "model_seconds": seconds,
        }.items():
            self.metrics.add(f"calipers_{name}_total", value)
        for job, ask in zip(taken, asks, strict=True):
            job.answered += len(ask.queries)
            job.queries += len(ask.queries)
            job.seconds += seconds * sum(len(query.canvas) for query in ask.queries) / sum(sizes)
            self._show(job)

    def _share(self) -> dict[Job, int]:
        """How many queries of whom are answered in this round: one of each in turn, while there is time."""
        tokens = self.pace * _ROUND
        taken: dict[Job, int] = {}
        turn = deque(self._running)
        while turn and (tokens > 0 or not taken):
            job = turn.popleft()
            asked = job.ask.queries if job.ask else ()
            at = job.answered + taken.get(job, 0)
            if at < len(asked):
                tokens -= len(asked[at].canvas)
                taken[job] = taken.get(job, 0) + 1
                turn.append(job)
        with self._wake:
            self._running = deque([*(job for job in self._running if job not in taken), *taken])
        return taken

    def _resume(self, job: Job) -> None:
        job.answered = 0
        try:
            job.ask = next(job.work)
        except StopIteration as end:
            self._show(job)  # what the last answers made of it
            if job in self._running:
                self._end(job, result=end.value)
        except Exception as error:
            self._end(job, error=error)

    def _apart(self, infiller: Infiller, taken: dict[Job, int]) -> None:
        """A forward failed: answer each alone, so that only those it fails for hear of it."""
        for job, count in taken.items():
            try:
                answer(infiller.model, [job.part(count)])
            except Exception as error:
                self._end(job, error=error)

    def _show(self, job: Job) -> None:
        if job.watch is not None and not job.future.done():
            try:
                job.watch()
            except Exception as error:
                self._end(job, error=error)

    def _end(self, job: Job, result: Any = None, error: BaseException | None = None) -> None:
        with self._wake:
            if job in self._running:
                self._running.remove(job)
        job.work.close()
        self._job_seconds += 0.2 * (time.monotonic() - job.started - self._job_seconds)
        if not job.future.set_running_or_notify_cancel():
            self.metrics.add("calipers_fills_total", end="cancelled")
            self.metrics.add("calipers_wasted_queries_total", job.queries)
            self.metrics.add("calipers_wasted_seconds_total", job.seconds)
        elif error is not None:
            job.future.set_exception(error)
        else:
            job.future.set_result(result)
