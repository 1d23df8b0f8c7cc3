"""What an experiment is given: the records of one model by task set and method, made if they are missing.

An experiment is a module with a TITLE and `tables(lab)`, `figure(lab, path)`, or both: pure functions of
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
from calipers.bias import PAPER, SHIPPED, find_bias
from calipers.errors import CalipersError
from calipers.experiments import paper
from calipers.models.card import Card
from calipers.tasks import Task

if TYPE_CHECKING:
    from calipers.bias import Bias


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
        shipped = SHIPPED / f"{opens.card.name}.json"
        self._own = own or (opens.card.name if shipped.is_file() else None)
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
        return f"the paper's figure for {paper.LABELS[self.beside]}"

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

        Where a set's own file is not at hand, the records that are kept are all there is.
        """
        try:
            tasks = self.tasks(name, split, only)
        except CalipersError as absent:
            return self._kept(name, methods, absent)
        parsed = {text: self._parse(text, Settings(tasks.max_length, tasks.patience)) for text in methods}
        found = self._opens.bench(tasks).answer(list({one.name: one for one in parsed.values()}.values()))
        return {text: found[one.name] for text, one in parsed.items()}

    def known(
        self, name: str, split: str, wanted: Callable[[Facts], Iterable[int]], only: str | None = None
    ) -> list[tuple[Task, Known]]:
        """What the first step says of the lengths wanted, of every task (or of one)."""
        tasks = self.tasks(name, split, only)
        return self._opens.bench(tasks).probe(wanted)

    def _parse(self, text: str, settings: Settings) -> Method:
        return Method.parse(text, self._opens.card, settings, PAPER.name)

    def _kept(self, name: str, methods: Sequence[str], absent: CalipersError) -> dict[str, list[Record]]:
        folder = self._opens.folder(name)
        text = name in (paper.STORIES, paper.ABSTRACTS, paper.REVIEWS)
        settings = Settings(16, 2) if text else Settings()
        found = {text: Run(folder / self._parse(text, settings).folder).all() for text in methods}
        if not all(found.values()):
            raise absent
        self.notes.append(f"{name}: from the records in {folder}; the texts themselves are not at hand.")
        return found
