"""How a program ended, from what was said in its name and how its process ended.

passed         its last statement was executed
failed         an exception, which is named
syntax error   it could not be compiled
exited early   it left by itself, whatever its status
timed out      by CPU time or by the clock
out of memory  a MemoryError
killed         a signal, its own or the system's
"""

from __future__ import annotations

import signal
from dataclasses import dataclass

from calipers.check import at_least_one
from calipers.errors import ArgumentError, CalipersError

KINDS = ("passed", "failed", "syntax error", "exited early", "timed out", "out of memory", "killed")


@dataclass(frozen=True, slots=True)
class Limits:
    """What a program may use.

    seconds     CPU time of a process       wall        time by the clock, all in all
    memory_mb   address space of a process  processes   at once, threads included
    file_mb     its directory, and any one file         open_files   of a process
    """

    seconds: int = 3
    wall: float = 10.0
    memory_mb: int = 1024
    processes: int = 16
    file_mb: int = 16
    open_files: int = 64

    def __post_init__(self) -> None:
        at_least_one(seconds=self.seconds, file_mb=self.file_mb, processes=self.processes)
        for name, least in (("memory_mb", 64), ("open_files", 16), ("wall", 0.1)):
            if getattr(self, name) < least:
                raise ArgumentError(
                    f"{name}={getattr(self, name)} is too little to start Python; give {least} or more."
                )


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a program came to its end; `reason` starts with one of `KINDS`; seconds by the clock."""

    passed: bool
    reason: str
    seconds: float


def judge(said: str, nonce: str, report: str, limits: Limits) -> str:
    """The reason: what was said with the nonce, or else how the process ended."""
    lines = [line[len(nonce) + 1 :] for line in said.split("\n") if line.startswith(nonce + " ")]
    broken = [line for line in lines if line.startswith("broken: ")]
    if broken or "begun" not in lines:
        why = broken[0] if broken else report.strip()[-300:] or "it said nothing"
        raise CalipersError(f"The sandbox could not be set up ({why}); try launcher='plain', or fewer workers.")
    if lines[-1] != "begun":
        return lines[-1][:200]
    fields = report.split()
    if len(fields) != 3:
        return "killed" if report or not fields else "killed: with its supervisor"
    number, cpu, late = int(fields[0]), float(fields[1]), fields[2] == "1"
    if late:
        return f"timed out: {limits.wall:g} s by the clock"
    if number == signal.SIGXCPU or (number == signal.SIGKILL and cpu > limits.seconds):
        return f"timed out: {limits.seconds} s of CPU"
    return f"killed: {signal.Signals(number).name}" if number else "exited early"
