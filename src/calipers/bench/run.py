"""A run is (task set, model, method) → records, one an answer, and a manifest that says how they were made.

    RUNS/MODEL@REVISION/SET/model.json        what the memory was made with
                            memory.jsonl      what the model said (see `memory`), shared by all methods;
                                              memory-2-of-8.jsonl what it said to one of several processes
                            asked.jsonl       who asked, with what, when
                            verdicts.jsonl    what happened to every program that was run
                            METHOD/manifest.json, METHOD/records.jsonl

Every file is appended to or written whole, so a run killed at any moment goes on where it was: what
is in the memory is not asked again, what has a verdict is not run again, what has a record is done.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

from calipers.bench import heldout
from calipers.bench.answer import Record, job, records
from calipers.bench.grade import Grader, program
from calipers.bench.memory import Facts, Known, Memory
from calipers.bench.method import Method
from calipers.bench.part import Part
from calipers.bench.records import MANIFEST, RECORDS, Run
from calipers.bench.sandbox import Verdict
from calipers.bench.scores import exact, score_text
from calipers.bench.sets import TaskSet
from calipers.bias import Bias
from calipers.drive import Done, drive
from calipers.errors import ArgumentError
from calipers.journal import Journal, read_kept
from calipers.models.base import MaskModel
from calipers.provenance import commit, invocation, machine, memory_peak, versions
from calipers.tasks import Task

__all__ = ["MANIFEST", "RECORDS", "ROOM", "Bench", "Run", "Watch"]

# Every task is read with room for so many tokens in its hole, whatever method asks, so that all methods
# see one context; no method may search beyond. The fit of B probes up to here.
ROOM = 128
ASKED = "asked.jsonl"
# How many tasks are under way at once: enough to fill a forward of the device, and on a slow one no more, so that the
# first is soon done and the rate seen.
_AT_ONCE = {"cpu": 4, "mps": 64, "cuda": 1024}
# How many answers may wait for their verdicts.
_AHEAD = 512


class Watch(Protocol):
    """Who wants to see a run advance."""

    def __call__(self, stage: str, done: int, total: int) -> None:
        """`done` of `total` are done in this stage."""
        ...


class Bench:
    """One model on one task set.

    set        the tasks, their protocol and how they are graded
    folder     RUNS/MODEL@REVISION/SET
    model      opened only if something has to be asked
    grader     of programs; opened only if one has to be run
    watch      told how far it is
    """

    def __init__(
        self,
        tasks: TaskSet,
        folder: Path,
        model: Callable[[], MaskModel],
        grader: Callable[[Path], Grader],
        watch: Watch = lambda stage, done, total: None,
        at_once: int | None = None,
    ) -> None:
        self.tasks = tasks
        self.folder = folder
        self._open_model = model
        self._open_grader = grader
        self._watch = watch
        self._at_once = at_once

    @cached_property
    def memory(self) -> Memory:
        """What the model said; read when it is needed, for it is large and complete records need it not."""
        return Memory(self.folder)

    def answer(self, methods: Sequence[Method]) -> dict[str, list[Record]]:
        """The records of every method, in the order of the tasks; what is missing is made."""
        runs, missing = self._missing(methods)
        self._ask_for(missing)
        if missing:
            self._grade(missing, runs)
        return {method.name: runs[method.name].of(self.tasks.tasks) for method in methods}

    def ask(self, methods: Sequence[Method], part: Part | None = None) -> None:
        """Only ask the model what these methods lack, or a part of it; `answer` then grades it, here or elsewhere."""
        self._ask_for(self._missing(methods)[1], part)

    def _missing(self, methods: Sequence[Method]) -> tuple[dict[str, Run], list[tuple[Method, list[Task]]]]:
        """The runs, and the tasks that each method lacks; refused what must not or cannot be run."""
        named: dict[str, Method] = {}
        biases: list[Bias] = []
        for method in methods:
            if named.setdefault(method.name, method) != method:
                raise ArgumentError(
                    f"Two methods are called {method.name}, and their biases differ; give one bias another name."
                )
            if method.bias not in biases:
                heldout.check(method.bias, self.tasks.tasks)
                biases.append(method.bias)
            if method.max_length > ROOM:
                raise ArgumentError(
                    f"method {method.name} has max_length={method.max_length}, and a task is read with room for "
                    f"{ROOM} tokens in its hole; give {ROOM} or less."
                )
        runs = {name: Run(self.folder / method.folder) for name, method in named.items()}
        missing = []
        for method in named.values():
            run = runs[method.name]
            run.check(self._described(method))
            if tasks := [task for task in self.tasks.tasks if not run.has(task, method.samples)]:
                missing.append((method, tasks))
        return runs, missing

    def _ask_for(self, missing: Sequence[tuple[Method, list[Task]]], part: Part | None = None) -> None:
        """Ask the model what the memory lacks of these, or a part of it."""
        wanting: dict[str, list[Method]] = {}
        for method, tasks in missing:
            for task in tasks:
                if records(task, method, self.memory.of(task)) is None:
                    wanting.setdefault(task.id, []).append(method)
        mine = [task for place, task in enumerate(self.tasks.tasks) if part is None or part.has(place)]
        self._ask([task for task in mine if task.id in wanting], lambda task: wanting[task.id], _nothing, part)

    def probe(self, wanted: Callable[[Facts], Iterable[int]]) -> list[tuple[Task, Known]]:
        """The memory of every task, with the lengths in it that `wanted` names for its facts."""
        lacking = []
        for task in self.tasks.tasks:
            known = self.memory.of(task)
            if known.facts is None or any((n,) not in known.probes for n in wanted(known.facts)):
                lacking.append(task)
        self._ask(lacking, lambda _: [], wanted)
        return [(task, self.memory.of(task)) for task in self.tasks.tasks]

    def _ask(
        self,
        tasks: Sequence[Task],
        methods: Callable[[Task], Sequence[Method]],
        wanted: Callable[[Facts], Iterable[int]],
        part: Part | None = None,
    ) -> None:
        """Ask the model what the memory lacks of these tasks, the longest first, saving as it comes."""
        if not tasks:
            return
        model = self._open_model()
        at_once = self._at_once or _AT_ONCE.get(model.device.partition("/")[0], 16)
        memory = self.memory
        # The longest first, so that no long one is left alone at the end; all are encoded before the first is asked,
        # so that one that does not fit costs no work.
        ordered = sorted(tasks, key=lambda task: len(task.prefix) + len(task.suffix), reverse=True)
        jobs = [
            job(task, model, memory.of(task), methods(task), ROOM, _saver(memory, task), wanted) for task in ordered
        ]
        began = time.perf_counter()
        session = self._session(len(tasks)) | {"device": model.device, "machine": machine(model.device)}
        asked = self.folder / ASKED
        with memory.open(self._head(model), part), Journal(part.file(asked) if part else asked) as sessions:
            sessions.append([session])
            self._watch("asking the model", 0, len(ordered))
            for done, _ in enumerate(_ends(drive(model, jobs, at_once)), 1):
                self._watch("asking the model", done, len(ordered))
            sessions.append([session | _ended(began) | memory_peak(model.device)])

    def _grade(self, missing: Sequence[tuple[Method, list[Task]]], runs: Mapping[str, Run]) -> None:
        """Score what was answered, and append it to its run as it is scored."""
        total = sum(len(tasks) * method.samples for method, tasks in missing)
        about = {"model": self.memory.head or {}, "asked": self._asked()}
        began = time.perf_counter()
        self._watch("grading", 0, total)
        with ExitStack() as stack:
            graded = self.tasks.kind == "code"
            grader = stack.enter_context(self._open_grader(self.folder / "verdicts.jsonl")) if graded else None
            session = self._session(0) | ({"sandbox": grader.sandbox.describe()} if grader else {})
            sessions = {method.name: session | {"tasks": len(tasks)} for method, tasks in missing}
            journals = {}
            for method, _ in missing:
                journals[method.name] = stack.enter_context(runs[method.name].open())
                runs[method.name].sign(self._described(method), sessions[method.name], about)
            for done, (method, record) in enumerate(self._scored(missing, grader), 1):
                runs[method.name].add(record, journals[method.name])
                self._watch("grading", done, total)
            for method, _ in missing:
                runs[method.name].sign(self._described(method), sessions[method.name] | _ended(began), about)

    def _scored(
        self, missing: Sequence[tuple[Method, list[Task]]], grader: Grader | None
    ) -> Iterator[tuple[Method, Record]]:
        """Records with their scores, task by task; many programs are handed over ahead, to run side by side."""
        wanted = {task.id: task for _, tasks in missing for task in tasks}
        lacking = {method.name: {task.id for task in tasks} for method, tasks in missing}
        waiting: deque[tuple[Task, Method, Record, Future[Verdict] | None]] = deque()
        for task in wanted.values():
            for method in (method for method, _ in missing if task.id in lacking[method.name]):
                answers = records(task, method, self.memory.of(task))
                if answers is None:
                    raise AssertionError(f"{task.id} was asked by {method.name}, and its memory lacks the answer")
                for record in answers:
                    run = grader.submit(program(task, record.text)) if grader else None
                    waiting.append((task, method, record, run))
            while len(waiting) > _AHEAD:
                yield _scored(*waiting.popleft())
        while waiting:
            yield _scored(*waiting.popleft())

    def _described(self, method: Method) -> dict[str, Any]:
        return {"set": self.tasks.name, "kind": self.tasks.kind, "method": method.describe()}

    def _head(self, model: MaskModel) -> dict[str, Any]:
        card = model.card
        return {
            "model": str(Path(card.id).expanduser().resolve()) if card.revision == "local" else card.id,
            "revision": card.revision,
            "licence": card.licence,
            "device": model.device,
            "context": model.context,
            "room": ROOM,
            "set": self.tasks.name,
        }

    def _session(self, tasks: int) -> dict[str, Any]:
        """Who makes a part of a run, with what, when; it lacks an end until it has one."""
        return {
            "began": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "command": invocation(),
            "commit": commit(),
            "tasks": tasks,
            "split": self.tasks.split,
            "source": self.tasks.source,
            "versions": versions(),
        }

    def _asked(self) -> list[dict[str, Any]]:
        """The sessions that asked the model for what the memory holds; one that was killed has no end."""
        return list({session["began"]: session for session in read_kept(self.folder / ASKED)}.values())


def _ended(began: float) -> dict[str, Any]:
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    return {"ended": now, "seconds": round(time.perf_counter() - began, 1)}


def _scored(task: Task, method: Method, record: Record, run: Future[Verdict] | None) -> tuple[Method, Record]:
    """A record with what its graders say, once they have."""
    if run is None:
        return method, replace(record, scores=score_text(task, record.text))
    verdict = run.result()
    scores = {"pass": float(verdict.passed), "exact": exact(task.answer, record.text)}
    return method, replace(record, scores=scores, verdict=verdict.reason)


def _ends(events: Iterable[tuple[int, Any]]) -> Iterator[Task]:
    """The tasks that ended, from the driver's events."""
    return (event.result for _, event in events if isinstance(event, Done))


def _saver(memory: Memory, task: Task) -> Callable[[], None]:
    return lambda: memory.save(task)


def _nothing(_: Facts) -> tuple[int, ...]:
    return ()
