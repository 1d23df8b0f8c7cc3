"""What an experiment is given: the records of one model by task set and method, made if they are missing.

An experiment is a module with a TITLE, `tables(lab)` and perhaps `figure(lab, path)`: pure functions of
what it asks the lab for. The lab reads what is kept; only what is missing is asked of the model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from calipers.bench.answer import Record
from calipers.bench.memory import Facts, Known
from calipers.bench.method import Method
from calipers.bench.method import Protocol as Settings
from calipers.bench.run import Bench, Run
from calipers.bench.sets import TaskSet, open_set
from calipers.bench.text import FORMS, PROTOCOLS
from calipers.bias import PAPER, SHIPPED, find_bias
from calipers.errors import ArgumentError
from calipers.experiments import paper
from calipers.models.card import Card
from calipers.tasks import Task

if TYPE_CHECKING:
    from calipers.bias import Bias


# How `bench.sets` searches a text, for sets whose file is not at hand.
TEXT = Settings(max_length=16, patience=2)


class Absent(ArgumentError):
    """A set's file is not at hand, and its records are not complete."""


def figures_of(model: str) -> str:
    """Whose figures stand in parentheses, in words."""
    return f"the paper's figure for {paper.LABELS[model]}"


class Opens(Protocol):
    """How a lab gets at one model's runs."""

    @property
    def label(self) -> str:
        """MODEL@REVISION."""
        ...

    @property
    def card(self) -> Card:
        """The model's card."""
        ...

    def bench(self, tasks: TaskSet) -> Bench:
        """A bench on a set."""
        ...

    def folder(self, name: str) -> Path:
        """Where the runs of a set are."""
        ...


class Lab:
    """One model, all task sets.

    opens    how its runs are got at
    limit    so many tasks of each set; None: all
    data     the files of sets that are not derived from a package
    own      the bias fitted for this model, beside the paper's; None: there is none
    """

    def __init__(
        self, opens: Opens, limit: int | None = None, data: Mapping[str, Path] | None = None, own: str | None = None
    ) -> None:
        self._opens = opens
        self._limit = limit
        self._data = dict(data or {})
        self._own = own or _shipped(opens.card)
        self._benches: dict[tuple[str, str, str | None], Bench] = {}
        self.notes: list[str] = []

    @property
    def label(self) -> str:
        """MODEL@REVISION."""
        return self._opens.label

    @property
    def own(self) -> Bias | None:
        """The bias fitted for this model, if there is one."""
        return find_bias(self._own) if self._own else None

    @property
    def own_name(self) -> str | None:
        """How a method names it: a shipped name or a file."""
        return self._own

    @property
    def beside(self) -> str:
        """The paper's model whose figures stand beside ours: the same one, or its main one."""
        return self._opens.card.name if self._opens.card.name in paper.LABELS else paper.LLADA

    @property
    def compared(self) -> str:
        """Whose figures stand in parentheses, in words."""
        return figures_of(self.beside)

    def counted(self, records: Sequence[Record]) -> str:
        """How many tasks these are of, for a note."""
        n = len({(record.id, record.task) for record in records})
        return f"{n} tasks{', drawn by lot (--limit)' if n == self._limit else ''}"

    def tasks(self, name: str, split: str = "eval", only: str | None = None) -> TaskSet:
        """A task set, cut to the limit, or to one task."""
        tasks = open_set(name, self._data.get(name), split)
        if only is not None:
            return tasks.only(only)
        return tasks.limit(self._limit) if self._limit else tasks

    def answers(
        self, name: str, methods: Sequence[str], split: str = "eval", only: str | None = None
    ) -> dict[str, list[Record]]:
        """The records of every method, by the name it was asked for; of all tasks, or of one.

        Of texts, whose files are not free, the records that are kept will do: of the tasks that all methods have.
        """
        if name in PROTOCOLS and name not in self._data:
            return self._kept(name, methods)
        bench = self._bench(name, split, only)
        settings = Settings(bench.tasks.max_length, bench.tasks.patience)
        parsed = {text: self._parse(text, settings) for text in methods}
        found = bench.answer(list({one.name: one for one in parsed.values()}.values()))
        return {text: found[one.name] for text, one in parsed.items()}

    def known(
        self, name: str, split: str, wanted: Callable[[Facts], Iterable[int]], only: str | None = None
    ) -> list[tuple[Task, Known]]:
        """What the first step says of the lengths wanted, of every task (or of one)."""
        return self._bench(name, split, only).probe(wanted)

    def _bench(self, name: str, split: str, only: str | None) -> Bench:
        """One bench a part of a set, for its memory takes a while to read."""
        key = name, split, only
        if key not in self._benches:
            self._benches[key] = self._opens.bench(self.tasks(name, split, only))
        return self._benches[key]

    def _parse(self, text: str, settings: Settings) -> Method:
        return Method.parse(text, self._opens.card, settings, PAPER.name)

    def _kept(self, name: str, methods: Sequence[str]) -> dict[str, list[Record]]:
        folder = self._opens.folder(name)
        found: dict[str, list[Record]] = {}
        for text in methods:
            method = self._parse(text, TEXT)
            run = Run(folder / method.folder)
            run.check({"set": name, "kind": "text", "method": method.describe()})
            found[text] = run.all()
        both = set.intersection(*({(one.id, one.task) for one in records} for records in found.values()))
        if not both:
            raise Absent(
                f"{name} is not distributed with calipers, and {folder} has no records of all that is asked for; "
                f"give the file of the texts with --data {name}=FILE: {FORMS}."
            )
        note = f"{name}: from the records in {folder}, of the {len(both)} tasks that all methods have."
        if note not in self.notes:
            self.notes.append(note)
        return {text: [one for one in records if (one.id, one.task) in both] for text, records in found.items()}


def _shipped(card: Card) -> str | None:
    """The name of the bias that ships for a model, if one does and it is of this revision."""
    if not (SHIPPED / f"{card.name}.json").is_file():
        return None
    return None if find_bias(card.name).foreign(card.id, card.revision) else card.name
