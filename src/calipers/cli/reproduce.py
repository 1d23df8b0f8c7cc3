"""`calipers reproduce`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from calipers.cli.bench import Opener, bench_options, show, watching
from calipers.experiments import NAMES

if TYPE_CHECKING:
    from calipers.bench.run import Bench, Watch
    from calipers.bench.sets import TaskSet
    from calipers.bench.table import Table

_SETS = "stories, abstracts, reviews, humaneval-single-line or humaneval-multi-line"
_EPILOG = "\b\nNAME is one of\n" + "\n".join(f"  {name:9} {what}" for name, what in NAMES.items())


@click.command("reproduce", short_help="A table or figure of the paper, on any model.", epilog=_EPILOG)
@click.argument("name", type=click.Choice(list(NAMES)), metavar="NAME")
@click.option(
    "--data",
    multiple=True,
    metavar="SET=FILE",
    help=f"The file of a task set ({_SETS}); may be given several times.",
)
@click.option(
    "--own-bias", help="The bias fitted for this model, shown beside the paper's. Default: the one that ships."
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["terminal", "markdown", "latex", "csv"]),
    default="terminal",
    show_default=True,
    help="How tables are printed.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    help="Write the tables (.md, .tex, .csv) and the figure (.svg, .png) into this folder too. Default: only printed.",
)
@bench_options
def command(
    name: str, data: tuple[str, ...], own_bias: str | None, form: str, output: Path | None, **values: Any
) -> None:
    """Reproduce a table or figure of the paper, the paper's figures beside ours.

    What is missing is asked of the model and kept below --runs, shared by all tables; what is
    there is only read, so a table of complete runs needs no model. Interrupt it as you like.
    """
    from calipers.experiments import experiment
    from calipers.experiments.lab import Lab

    module = experiment(name)
    with watching(values["quiet"]) as watch:
        lab = Lab(_Opens(Opener(values), watch), values["limit"], _files(data), own_bias)
        tables: list[Table] = module.tables(lab)
    for table in tables:
        show(table, form)
        click.echo()
    for note in lab.notes:
        click.echo(f"note: {note}", err=True)
    if output is not None:
        output.mkdir(parents=True, exist_ok=True)
        for path in _written(name, tables, getattr(module, "figure", None), lab, output):
            click.echo(f"wrote {path}", err=True)


class _Opens:
    """The opener, watched."""

    def __init__(self, opener: Opener, watch: Watch) -> None:
        self._opener = opener
        self._watch = watch
        self.label = opener.label
        self.folder = opener.folder

    @property
    def card(self) -> Any:
        """The model's card."""
        return self._opener.card

    def bench(self, tasks: TaskSet) -> Bench:
        """A bench on a set."""
        return self._opener.bench(tasks, self._watch)


def _files(data: tuple[str, ...]) -> dict[str, Path]:
    files = {}
    for one in data:
        name, equals, path = one.partition("=")
        if not equals or not path:
            raise click.UsageError(f"--data {one!r} names no set; give SET=FILE, for example stories=stories.csv.")
        files[name] = Path(path)
    return files


def _written(
    name: str, tables: list[Table], figure: Callable[[Any, Path], Path] | None, lab: Any, output: Path
) -> list[Path]:
    """The files of an experiment."""
    from calipers.target import write_atomically

    paths = []
    for suffix, form in (("md", "markdown"), ("tex", "latex"), ("csv", "csv")):
        path = output / f"{name}.{suffix}"
        write_atomically(path, "\n".join(getattr(table, form)().rstrip("\n") + "\n" for table in tables))
        paths.append(path)
    if figure is not None:
        paths += [figure(lab, output / f"{name}.{suffix}") for suffix in ("svg", "png")]
    return paths
