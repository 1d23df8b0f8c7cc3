"""Which protections are in force: told by a program that tries to break each, run like any other program.

What an attempt could not do is in force on this machine, whatever the reason; nothing is assumed from the
name of a mechanism. Attempts are made where they do no harm: on a port, a file and a variable made for them.
"""

from __future__ import annotations

import os
import socket
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# name of the protection: what the attempt does, and what it means that it failed
ATTEMPTS = {
    "network": "no connection can be made, not even to this machine",
    "reading": "files of other people and of yours cannot be read",
    "writing": "nothing outside its own directory can be written",
    "disk": "its own directory holds a bounded amount, or nothing",
    "environment": "nothing of the parent's environment can be seen",
    "signals": "other processes cannot be signalled",
    "escape": "no process it starts outlives it",
    "privilege": "it runs without privileges, and not as root",
    "memory": "a process has a bounded address space",
    "cpu": "a process has bounded CPU time",
    "processes": "the number of processes is bounded",
    "open files": "the number of open files is bounded",
}
# Run inside. `given` is put before it. Each attempt raises where it is stopped.
PROGRAM = """
import os, resource, signal, socket

def network():
    socket.create_connection(("127.0.0.1", given["port"]), 2)

def reading():
    open(given["secret"]).read()

def writing():
    open(given["outside"], "w").write("x")

def disk():
    for name in "ab":
        with open(name, "wb") as file:
            for _ in range(given["file_mb"]):
                file.write(bytes(1 << 20))

def environment():
    texts = [os.sep.join(os.environ.values())]
    for who in ("self", str(given["parent"])):
        try:
            texts.append(open(f"/proc/{who}/environ").read())
        except OSError:
            pass
    assert any(given["word"] in text for text in texts)

def signals():
    os.kill(given["parent"], 0)

def escape():
    assert not given["own_tree"]
    child = os.fork()
    if child == 0:
        try:
            os.setsid()
        except OSError:
            os._exit(1)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0

def privilege():
    if os.getuid() != 0:
        os.chroot("/")

def memory():
    bytearray(given["memory_mb"] << 20)

def cpu():
    assert resource.getrlimit(resource.RLIMIT_CPU)[0] != given["cpu"]

def processes():
    # The children wait together, so that all count; the pipe's end lets them go.
    hold, release = os.pipe()
    children = []
    try:
        for _ in range(given["processes"]):
            child = os.fork()
            if child == 0:
                os.close(release)
                os.read(hold, 1)
                os._exit(0)
            children.append(child)
    finally:
        os.close(release)
        for child in children:
            os.waitpid(child, 0)

def open_files():
    handles = []
    try:
        for _ in range(given["open_files"]):
            handles.append(os.dup(0))
    finally:
        for handle in handles:
            os.close(handle)

broken = []
for attempt in (
    network, reading, writing, disk, environment, signals, escape, privilege, memory, cpu, processes, open_files
):
    try:
        attempt()
    except BaseException:
        continue
    broken.append(attempt.__name__.replace("_", " "))
raise AssertionError("probe:" + ",".join(broken))
"""


@dataclass(frozen=True, slots=True)
class Protection:
    """One thing a program is kept from, whether it is here, and what it means."""

    name: str
    in_force: bool
    how: str


def probe(run: Callable[[str], str], given: dict[str, Any]) -> tuple[Protection, ...] | str:
    """Make every attempt through `run`, which gives a program's reason back; a text says why it did not get there."""
    with tempfile.TemporaryDirectory() as folder, socket.create_server(("127.0.0.1", 0)) as server:
        os.chmod(folder, 0o755)
        secret, outside = Path(folder, "secret"), Path(folder, "outside")
        secret.write_text("secret")
        secret.chmod(0o600)
        outside.touch()
        outside.chmod(0o666)
        facts = {
            **given,
            "port": server.getsockname()[1],
            "secret": str(secret),
            "outside": str(outside),
            "parent": os.getpid(),
            "word": _a_value_of_ours(),
        }
        reason = run(f"given = {facts!r}\n{PROGRAM}")
    _, found, names = reason.partition("AssertionError: probe:")
    if not found:
        return reason
    return tuple(Protection(name, name not in names.split(","), how) for name, how in ATTEMPTS.items())


def _a_value_of_ours() -> str:
    """A value of this process's environment as it was started with, long enough to be no accident."""
    return max(os.environ.values(), key=len, default="") or "no value at all"
