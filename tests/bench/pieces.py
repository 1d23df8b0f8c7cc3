"""A small evaluation that several tests run, and other processes that are killed: `python pieces.py FOLDER [delay …]`.

For each delay a life begins that is killed after so many seconds; the last life runs to the end.
"""

import json
import os
import signal
import sys
import time
from pathlib import Path

from calipers.bench.grade import Grader
from calipers.bench.method import Method, Protocol
from calipers.bench.run import Bench
from calipers.bench.sandbox import Sandbox
from calipers.bench.sets import TaskSet
from calipers.tasks import Task
from pretend import Chaotic

METHODS = ("oracle", "cal:4", "daedal:3", "fixed:5,temperature=0.8,samples=2")


def tasks(count=30, kind="code", change=""):
    """Holes in a text of code, half of them filled right by any fill of an even length."""
    made = []
    for n in range(count):
        test = f"\nassert len(x) % 2 == {n // 2 % 2}\n" if kind == "code" else ""
        made.append(Task(f"t/{n}", f"# {n:03d}{change}\nx = '", "'\n", "answer"[: 1 + n % 6], test, f"g{n // 2}"))
    return made


def task_set(made, name="own.jsonl", source="own.jsonl (sha256 0)"):
    kind = "code" if made[0].test else "text"
    return TaskSet(name, tuple(made), kind, "eval", source, 16, (4, 8), 2)


class Logged(Chaotic):
    """Writes down the task of every query it is asked, and takes its time."""

    def __init__(self, log=None, delay=0.0, **card):
        super().__init__()
        self.log = log
        self.delay = delay

    def predict(self, queries):
        time.sleep(self.delay)
        if self.log is not None:
            names = ["".join(map(str, q.canvas.texts[0][:5])) for q in queries]
            with self.log.open("a") as file:
                file.write(json.dumps([os.getpid(), names]) + "\n")
        return super().predict(queries)


def mark(task):
    """How a task is called in a log."""
    return "".join(map(str, Chaotic().encode(task.prefix)[:5]))


def parse(*names):
    return [Method.parse(name, Chaotic.card, Protocol(16, 2), "paper") for name in names or METHODS]


def bench(folder, tasks_of=None, model=None, opened=None, at_once=4, watch=lambda stage, done, total: None):
    """A bench in a folder; `opened` is told what was opened."""
    opened = [] if opened is None else opened

    def open_model():
        opened.append("model")
        return model or Chaotic()

    def open_grader(journal):
        opened.append("grader")
        return Grader(Sandbox(), 2, journal)

    return Bench(tasks_of or task_set(tasks()), folder, open_model, open_grader, watch, at_once)


def life(folder):
    """Evaluate, slowly, saying what stage it is in."""
    bench(
        folder / "runs",
        model=Logged(folder / "log.jsonl", 0.004),
        watch=lambda stage, done, total: print(stage, done, flush=True) if done % 10 == 0 else None,
    ).answer(parse())


def main(folder, *delays):
    for delay in delays:
        if (child := os.fork()) == 0:
            life(folder)
            os._exit(0)
        time.sleep(delay)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        print("killed", flush=True)
        (folder / "runs").mkdir(exist_ok=True)
        memory = folder / "runs" / "memory.jsonl"
        lines = memory.read_bytes().count(b"\n") if memory.exists() else 0
        with (folder / "deaths.jsonl").open("a") as file:
            file.write(json.dumps([child, lines]) + "\n")
    life(folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(float, sys.argv[2:]))
