"""What `eval` and `reproduce` share: their options, the bench they open, and how a run is watched."""

from __future__ import annotations

import os
import textwrap
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from calipers.cli.options import F, Values, _stack, build_model, model_options

if TYPE_CHECKING:
    from calipers.bench.grade import Grader
    from calipers.bench.run import Bench, Watch
    from calipers.bench.sandbox import Sandbox
    from calipers.bench.sets import TaskSet
    from calipers.bench.table import Table
    from calipers.models.base import MaskModel
    from calipers.models.card import Card

RUNS = Path("runs")
# Of what is printed where there is no terminal to be as wide as.
WIDTH = 100


def runs_option(function: F) -> F:
    """Where runs are kept."""
    return click.option(
        "--runs",
        type=click.Path(path_type=Path, file_okay=False),
        default=RUNS,
        show_default=True,
        help="Folder that keeps what the model said, verdicts and records; a run goes on where it was.",
    )(function)


def format_option(function: F) -> F:
    """In which form tables are printed."""
    return click.option(
        "--format",
        "form",
        type=click.Choice(["terminal", "markdown", "latex", "csv"]),
        default="terminal",
        show_default=True,
        help="How tables are printed.",
    )(function)


def bench_options(function: F) -> F:
    """How a bench runs."""
    return _stack(
        click.option(
            "--limit", type=click.IntRange(min=1), help="So many tasks of each set, drawn by lot. Default: all."
        ),
        runs_option,
        click.option("--at-once", type=click.IntRange(min=1), help="Tasks under way at once. Default: by device."),
        click.option(
            "--workers", type=click.IntRange(min=1), help="Programs graded side by side. Default: one a processor core."
        ),
        click.option(
            "--sandbox",
            type=click.Choice(["auto", "bwrap", "namespaces", "plain"]),
            default="auto",
            show_default=True,
            help="How programs are shut in; auto takes the strongest that works here and says which.",
        ),
        click.option("--compile", is_flag=True, help="Let torch compile the model: for long GPU runs. Default: off."),
        click.option("-q", "--quiet", is_flag=True, help="No progress on standard error. Default: off."),
        model_options,
    )(function)


class Opener:
    """Opens benches of one model on any number of task sets; the model is loaded once, and only if it is asked."""

    def __init__(self, values: Values) -> None:
        from calipers.bench.place import label

        self._values = values
        self._model: MaskModel | None = None
        self._sandbox: Sandbox | None = None
        self.label = label(values["model"], values["revision"], values["guidance"])

    @property
    def card(self) -> Card:
        """The model's card: a known one without loading the model."""
        from calipers.models.card import find_card

        return find_card(self._values["card"] or self._values["model"]) or self.model().card

    def model(self) -> MaskModel:
        """The model, loaded."""
        if self._model is None:
            self._model = build_model(self._values)
        return self._model

    def folder(self, name: str) -> Path:
        """Where the runs of a set are."""
        from calipers.bench.place import folder

        return folder(self._values["runs"], self.label, name)

    def bench(self, tasks: TaskSet, watch: Watch) -> Bench:
        """A bench on a set."""
        from calipers.bench.run import Bench

        def told(stage: str, done: int, total: int) -> None:
            watch(f"{tasks.name}: {stage}", done, total)

        return Bench(tasks, self.folder(tasks.name), self.model, self._grader, told, self._values["at_once"])

    def _grader(self, journal: Path) -> Grader:
        from calipers.bench.grade import Grader
        from calipers.bench.sandbox import Sandbox

        if self._sandbox is None:
            self._sandbox = Sandbox(launcher=self._values["sandbox"])
            if not self._values["quiet"]:
                say(_in_short(self._sandbox))
        return Grader(self._sandbox, self._values["workers"] or os.cpu_count() or 1, journal)


def _in_short(sandbox: Sandbox) -> str:
    """What is in force, in a sentence; a run's manifest has `describe`, all of it."""
    there, lacking = (", ".join(p.name for p in sandbox.protections if p.in_force is kept) for kept in (True, False))
    more = " More is where bubblewrap is installed, or user namespaces are allowed." if lacking else ""
    return (
        f"sandbox: {sandbox.launcher}; in force: {there or '–'}; not in force: {lacking or '–'}.{more} "
        "It is no boundary against a flaw in the kernel, and no judge of intent (all of it: manifest.json)."
    )


def say(text: str) -> None:
    """A remark on standard error, broken at words as wide as the terminal is."""
    from rich.console import Console

    console = Console(stderr=True)
    width = console.width if console.is_terminal else WIDTH
    lines = textwrap.wrap(text, width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
    click.echo("\n".join(lines), err=True)


@contextmanager
def watching(quiet: bool) -> Iterator[Watch]:
    """Progress, and on Ctrl-C what becomes of it."""
    try:
        with _progress(quiet) as watch:
            yield watch
    except KeyboardInterrupt:
        raise KeyboardInterrupt("what was done is kept, and the same command goes on from there") from None


@contextmanager
def _progress(quiet: bool) -> Iterator[Watch]:
    """With rate and time left, on standard error; lines now and then where it is no terminal."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        yield _silent if quiet else _Lines()
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console) as progress:
        stages: dict[str, Any] = {}

        def watch(stage: str, done: int, total: int) -> None:
            if stage not in stages:
                stages[stage] = progress.add_task(stage, total=total, rate="")
            if done == 0:
                progress.reset(stages[stage], total=total)
            speed = progress.tasks[progress.task_ids.index(stages[stage])].speed
            progress.update(stages[stage], completed=done, total=total, rate=f"{speed:.1f}/s" if speed else "")

        yield watch


def _silent(stage: str, done: int, total: int) -> None:
    """Nobody watches."""


class _Lines:
    """A line at the start, every half minute, and at the end of a stage: for logs."""

    def __init__(self, every: float = 30.0) -> None:
        self._every = every
        self._since: dict[str, tuple[float, float]] = {}

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Print if it is time."""
        now = time.monotonic()
        if done == 0 or stage not in self._since:
            self._since[stage] = (now, now)
        began, said = self._since[stage]
        if done not in (0, total) and now - said < self._every:
            return
        self._since[stage] = (began, now)
        rate = done / (now - began) if now > began and done else 0.0
        left = f", {rate:.2g}/s, {(total - done) / rate:.0f} s left" if rate else ""
        click.echo(f"{stage}: {done} of {total}{left}", err=True)


def show(table: Table, form: str) -> None:
    """A table on standard output, in a form; as wide as the terminal, if it is one."""
    from rich.console import Console

    if form == "terminal":
        console = Console(highlight=False, soft_wrap=True)
        console.print(table.terminal(console.width if console.is_terminal else WIDTH))
    else:
        click.echo(getattr(table, form)())
