"""Pass@1: programs to verdicts, in parallel, each distinct program once and never again.

A verdict depends on the program, the limits and the version of Python; a digest of the three is its key, in
memory while a grader lives and in its journal afterwards. The journal is JSON lines that are only appended,
each flushed before anybody is told the verdict, so a crash costs at most what was running.
"""

from __future__ import annotations

import os
import platform
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path
from types import TracebackType

from calipers.bench.sandbox import KINDS, Limits, Sandbox, Verdict
from calipers.check import at_least_one
from calipers.errors import TargetError
from calipers.journal import Journal, mend, read_kept
from calipers.target import check_writable
from calipers.tasks import Task

__all__ = ["Grader", "Verdict", "digest", "program", "read_journal"]


def program(task: Task, text: str) -> str:
    """What is run to grade a fill: the task's text with the fill in its hole, and then its test."""
    return task.prefix + text + task.suffix + task.test


def digest(text: str, limits: Limits) -> str:
    """The key of a verdict."""
    return sha256(f"{platform.python_version()} {limits}\n{text}".encode("utf-8", "surrogatepass")).hexdigest()


class Grader:
    """Grades programs in `workers` sandboxes at a time.

    >>> with Grader(Sandbox(), journal=Path("verdicts.jsonl")) as grader:
    ...     futures = [grader.submit(program(task, fill)) for task, fill in fills]
    ...     passed = [future.result().passed for future in futures]

    Leaving the block waits for what was submitted; leaving it by an exception (Ctrl-C too) ends what runs.
    """

    def __init__(self, sandbox: Sandbox, workers: int | None = None, journal: Path | None = None) -> None:
        at_least_one(workers=workers)
        self.sandbox = sandbox
        self.launched = 0
        self._lock = threading.Lock()
        self._known: dict[str, Future[Verdict]] = {}
        self._journal = None
        if journal is not None:
            check_writable(journal)
            self._journal = Journal(journal)
            try:
                self._known = {key: _done(verdict) for key, verdict in read_journal(journal).items()}
            except BaseException:
                self._journal.close()
                raise
        self._pool = ThreadPoolExecutor(workers or os.cpu_count() or 1, thread_name_prefix="grader")

    def submit(self, program: str) -> Future[Verdict]:
        """The verdict of a program, when it is there; the same future for the same program."""
        key = digest(program, self.sandbox.limits)
        with self._lock:
            if key not in self._known:
                self._known[key] = self._pool.submit(self._grade, key, program)
            return self._known[key]

    def _grade(self, key: str, program: str) -> Verdict:
        with self._lock:
            self.launched += 1
        verdict = self.sandbox.run(program)
        if self._journal is not None:
            line = {"digest": key, "passed": verdict.passed, "reason": verdict.reason, "seconds": verdict.seconds}
            with self._lock:
                self._journal.append([line])
        return verdict

    def close(self, cancel: bool = False) -> None:
        """Wait for what was submitted; or drop what waits and end what runs (its sandbox is then done with)."""
        if cancel:
            self.sandbox.stop()
        self._pool.shutdown(wait=True, cancel_futures=cancel)
        if self._journal is not None:
            self._journal.close()

    def __enter__(self) -> Grader:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        try:
            self.close(cancel=kind is not None)
        except BaseException:  # Ctrl-C while waiting
            self.close(cancel=True)
            raise


def read_journal(path: Path) -> dict[str, Verdict]:
    """The verdicts of a journal by digest; a last line that a crash cut off is removed from the file."""
    check_writable(path)
    if path.exists():
        mend(path)
    verdicts = {}
    for number, values in enumerate(read_kept(path), 1):
        try:
            verdict = Verdict(values["passed"], values["reason"], values["seconds"])
            if verdict.passed is not (verdict.reason == "passed") or not verdict.reason.startswith(KINDS):
                raise ValueError(f"{verdict.reason!r} is no reason")
            verdicts[values["digest"]] = verdict
        except (ValueError, KeyError, TypeError, AttributeError) as broken:
            raise TargetError(
                f"{path}, line {number} is no verdict ({broken!r}); remove the file to grade anew, or name another."
            ) from None
    return verdicts


def _done(verdict: Verdict) -> Future[Verdict]:
    future: Future[Verdict] = Future()
    future.set_result(verdict)
    return future
