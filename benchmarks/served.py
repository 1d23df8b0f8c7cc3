"""`calipers serve` as a process of its own, looked at from outside: its counters, its memory, its end."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

T = TypeVar("T")

_START, _QUIET = 120.0, 60.0  # seconds: to be up, and to be idle again


class Served:
    """A server on a free port of the loopback, until the block ends.

    options   of `calipers serve`
    """

    def __init__(self, options: Sequence[str]) -> None:
        self.options = tuple(options)

    def __enter__(self) -> Self:
        self._said = tempfile.NamedTemporaryFile()
        command = [sys.executable, "-c", "from calipers.cli import main; main()"]
        command += ["serve", "--quiet", "--port", "0", *self.options]
        self.process = subprocess.Popen(command, stderr=self._said, stdin=subprocess.DEVNULL)
        try:
            self.port = self._wait_for(self._listening, _START)
            self._wait_for(self._up, _START)
        except BaseException:
            self.process.kill()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(20)
        self._said.close()

    def get(self, path: str) -> str:
        """A page of its, as text."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=30) as answer:
            text: str = answer.read().decode()
        return text

    def counters(self) -> dict[str, float]:
        """Its metrics, labels and all, without the name they share."""
        found = re.findall(r"^calipers_(\S+) (\S+)$", self.get("/metrics"), re.MULTILINE)
        return {name: float(value) for name, value in found}

    def quiet(self) -> dict[str, float]:
        """The counters once nothing is under way."""

        def idle() -> dict[str, float]:
            now = self.counters()
            return now if now["running"] + now["waiting"] == 0 else {}

        return self._wait_for(idle, _QUIET)

    def rss(self) -> float:
        """Its memory in MiB."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        found = re.search(r"^VmRSS:\s+(\d+) kB$", status, re.MULTILINE)
        return int(found[1]) / 1024 if found else 0.0

    def end(self, seconds: float = 60.0) -> tuple[int, float]:
        """Tell it to end: its exit code, and how long it took."""
        started = time.monotonic()
        self.terminate()
        return self.process.wait(seconds), time.monotonic() - started

    def terminate(self) -> None:
        """SIGTERM."""
        self.process.send_signal(signal.SIGTERM)

    def said(self) -> str:
        """What it wrote."""
        return Path(self._said.name).read_text("utf-8", "replace")

    def _listening(self) -> int:
        found = re.search(r"at http://127\.0\.0\.1:(\d+)", self.said())
        return int(found[1]) if found else 0

    def _up(self) -> bool:
        try:
            return '"ok"' in self.get("/health")
        except OSError:
            return False

    def _wait_for(self, what: Callable[[], T], seconds: float) -> T:
        until = time.monotonic() + seconds
        while not (found := what()):
            if self.process.poll() is not None or time.monotonic() > until:
                raise SystemExit(f"The server did not do what was waited for:\n{self.said()}")
            time.sleep(0.05)
        return found
