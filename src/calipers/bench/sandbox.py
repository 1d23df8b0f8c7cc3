"""Running a program that nobody has read, and learning whether it came to its end.

A `Sandbox` starts `jail` in a process of its own for every program, by the best launcher that works here:

    bwrap        bubblewrap builds namespaces and a read-only root; `jail` adds filters and limits
    namespaces   `jail` builds the same by itself, as root or in a user namespace
    plain        no namespaces (a container that forbids them, macOS): filters and limits alone

Which one is best is not guessed: a program run under each has tried to break every protection (`protections`),
and what it managed is said in `describe`.

A program passes only if its last statement was executed: `jail` then writes a nonce, which it was told on
stdin, to a pipe. That keeps accidents and laziness (`exit()` before the tests, closing or filling the pipe)
from passing. A program shares its interpreter with its tests, so one that sets out to forge its verdict can.
"""

from __future__ import annotations

import contextlib
import os
import py_compile
import secrets
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from collections.abc import Iterator
from pathlib import Path

from calipers.bench import jail, protections, walls
from calipers.bench.protections import Protection
from calipers.bench.verdict import KINDS, Limits, Verdict, judge
from calipers.errors import ArgumentError, CalipersError

__all__ = ["KINDS", "LAUNCHERS", "Limits", "Sandbox", "Verdict"]

LAUNCHERS = ("bwrap", "namespaces", "plain")
# Uids nobody has: what systemd sets aside for services that are given one for a while.
FIRST_UID, UIDS = 61184, 4336
# The parent's clock is a second one, for the case that the supervisor inside is dead.
GRACE = 2.0
NOT = (
    "What this is not: a boundary against a flaw in the kernel, or a judge of intent. A program shares its "
    "interpreter with its tests and could forge its verdict on purpose. Memory is bounded for each process, "
    "not for all of a program's together. Only the standard library can be imported."
)


class Sandbox:
    """A place to run programs in; many threads may share one.

    >>> sandbox = Sandbox()
    >>> print(sandbox.describe())
    >>> sandbox.run("assert 1 + 1 == 3").reason
    'failed: AssertionError:'
    """

    def __init__(self, limits: Limits | None = None, launcher: str = "auto") -> None:
        self.limits = limits or Limits()
        if launcher not in ("auto", *LAUNCHERS):
            raise ArgumentError(f"launcher={launcher!r} is none of auto, {', '.join(LAUNCHERS)}; name one of them.")
        self._lock = threading.Lock()
        self._busy: set[int] = set()
        self._live: set[subprocess.Popen[bytes]] = set()
        self._stopped = False
        # Compiled once, not at each start.
        self._home = tempfile.mkdtemp(prefix="calipers-")
        weakref.finalize(self, shutil.rmtree, self._home, ignore_errors=True)
        for module in (jail, walls):
            place = "jail.pyc" if module is jail else "calipers/bench/walls.pyc"
            py_compile.compile(str(module.__file__), str(Path(self._home, place)), doraise=True)
        self.launcher, self.protections = self._choose(LAUNCHERS if launcher == "auto" else (launcher,))

    def _choose(self, launchers: tuple[str, ...]) -> tuple[str, tuple[Protection, ...]]:
        """The first launcher under which every protection is in force, or else the one with the most."""
        problems, working = [], {}
        for name in launchers:
            if name == "bwrap" and shutil.which("bwrap") is None:
                problems.append("bwrap is not installed")
                continue
            self.launcher = name
            limits = self.limits
            given = {
                "file_mb": limits.file_mb,
                "memory_mb": limits.memory_mb,
                "cpu": limits.seconds,
                "processes": limits.processes,
                "open_files": limits.open_files,
                "own_tree": name != "plain",
            }
            try:
                found = protections.probe(lambda program: self.run(program).reason, given)
            except (CalipersError, OSError) as error:
                found = str(error)
            if isinstance(found, str):
                problems.append(f"{name}: {found}")
                continue
            working[name] = found
            if all(p.in_force for p in found):
                break
        if working:
            return max(working.items(), key=lambda item: sum(p.in_force for p in item[1]))
        raise ArgumentError(f"No sandbox of launcher={' or '.join(launchers)} works here ({'; '.join(problems)}).")

    def describe(self) -> str:
        """What is in force here, what is not, and what a sandbox is not; for the start of a run."""
        lines = [f"Programs run under the launcher {self.launcher!r}."]
        for there, title in ((True, "In force"), (False, "NOT in force")):
            listed = [f"  {p.name}: {p.how}" for p in self.protections if p.in_force is there]
            lines += [f"{title}:", *listed] if listed else []
        if not all(p.in_force for p in self.protections):
            lines.append("More is in force where bubblewrap is installed, or user namespaces are allowed.")
        return "\n".join([*lines, NOT])

    def run(self, program: str) -> Verdict:
        """Run a program to its end or to a limit. Nothing of it is left when this returns or raises."""
        nonce = secrets.token_hex(16)
        began = time.monotonic()
        with self._slot() as slot, self._folder(slot) as folder:
            process = self._start(folder)
            try:
                self._send(process, self._orders(folder, nonce, slot, program))
                report = self._report(process)
            finally:
                self._end(process)
            with process.stdout as pipe:  # type: ignore[union-attr]
                os.set_blocking(pipe.fileno(), False)
                said = (pipe.read(1 << 16) or b"").decode("utf-8", "replace")
        if self._stopped:
            raise CalipersError("The sandbox was stopped; make another to run more programs.")
        reason = judge(said, nonce, report, self.limits)
        return Verdict(reason == "passed", reason, time.monotonic() - began)

    def stop(self) -> None:
        """End every program that is running, at once; their `run` raises, and so does every later one."""
        with self._lock:
            self._stopped = True
            for process in self._live:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(process.pid, signal.SIGKILL)

    @contextlib.contextmanager
    def _slot(self) -> Iterator[int]:
        """The lowest number no other thread has: its programs run as a uid of their own."""
        with self._lock:
            slot = next(n for n in range(UIDS) if n not in self._busy)
            self._busy.add(slot)
        try:
            yield slot
        finally:
            with self._lock:
                self._busy.discard(slot)

    @contextlib.contextmanager
    def _folder(self, slot: int) -> Iterator[str]:
        """An empty directory, gone afterwards."""
        folder = tempfile.mkdtemp(prefix="run-", dir=self._home)
        try:
            if os.geteuid() == 0:
                os.chown(folder, _uid(slot), _uid(slot))
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _start(self, folder: str) -> subprocess.Popen[bytes]:
        python = os.path.realpath(sys.executable)
        # Not -I, which would ignore the one variable given: with it a program hashes, and so ends, the same each time.
        command = [python, "-s", "-S", "-P", "-X", "utf8", self._home + "/jail.pyc"]
        if self.launcher == "bwrap":
            command = [*_bwrap(self.limits, self._home), *command[:-1], "/jail/jail.pyc"]
        with self._lock:
            if self._stopped:
                raise CalipersError("The sandbox was stopped; make another to run more programs.")
            pipe = subprocess.PIPE
            process = subprocess.Popen(
                command,
                stdin=pipe,
                stdout=pipe,
                stderr=pipe,
                env={"PYTHONHASHSEED": "0"},
                cwd="/",
                start_new_session=True,
            )
            self._live.add(process)
        with contextlib.suppress(OSError):  # where memory runs out, these go first
            Path(f"/proc/{process.pid}/oom_score_adj").write_text("1000")
        return process

    def _orders(self, folder: str, nonce: str, slot: int, program: str) -> bytes:
        limits = self.limits
        inside = "/box" if self.launcher == "bwrap" else folder
        numbers = (limits.seconds, limits.memory_mb, limits.processes, limits.file_mb, limits.open_files, _uid(slot))
        fields = [self.launcher, inside, nonce, *map(str, numbers), str(limits.wall)]
        return "\0".join([*fields, program]).encode("utf-8", "surrogatepass")

    def _send(self, process: subprocess.Popen[bytes], orders: bytes) -> None:
        assert process.stdin is not None
        with contextlib.suppress(BrokenPipeError), process.stdin:
            process.stdin.write(orders)

    def _report(self, process: subprocess.Popen[bytes]) -> str:
        """The supervisor's last line, or what was said instead, or nothing if the time is over."""
        assert process.stderr is not None
        end = time.monotonic() + self.limits.wall + GRACE
        waiting, handle, report = select.poll(), process.stderr.fileno(), b""
        waiting.register(handle, select.POLLIN | select.POLLHUP)
        with process.stderr:
            while (left := end - time.monotonic()) > 0 and len(report) < 4096:
                if waiting.poll(left * 1000):
                    if not (some := os.read(handle, 4096)):
                        break
                    report += some
        return report.decode("utf-8", "replace")

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        """Kill the whole group before its leader is reaped, so that its number is still its own."""
        with self._lock:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            self._live.discard(process)
        process.wait()


def _uid(slot: int) -> int:
    """An unused uid of this process's this slot."""
    return FIRST_UID + (os.getpid() * 61 + slot) % UIDS


def _bwrap(limits: Limits, home: str) -> list[str]:
    """bubblewrap with the root that `jail` would build."""
    command = ["bwrap", "--die-with-parent", "--new-session", "--unshare-pid", "--unshare-net", "--unshare-ipc"]
    command += ["--unshare-uts", "--unshare-cgroup-try", "--cap-drop", "ALL"]
    if os.geteuid() == 0:  # `jail` becomes an unprivileged uid itself: with bwrap's, it would still be root's
        for capability in ("CAP_SETUID", "CAP_SETGID", "CAP_KILL"):  # the last to end what has become another
            command += ["--cap-add", capability]
    else:
        command += ["--unshare-user", "--uid", str(walls.NOBODY), "--gid", str(walls.NOBODY)]
    for path in walls.visible():
        for parent in reversed(Path(path).parents[:-1]):  # bwrap would make them for its own user alone
            command += ["--perms", "0755", "--dir", str(parent)]
        if os.path.islink(path):
            command += ["--symlink", os.readlink(path), path]
        elif os.path.exists(path):
            command += ["--dev-bind" if path.startswith("/dev/") else "--ro-bind", path, path]
    size = str(limits.file_mb << 20)
    command += ["--ro-bind", home, "/jail", "--perms", "0777", "--size", size, "--tmpfs", "/box"]
    return [*command, "--remount-ro", "/", "--chdir", "/box", "--"]
