"""`calipers reproduce`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from calipers.cli.bench import Opener, bench_options, format_option, say, show, watching
from calipers.errors import TargetError
from calipers.experiments import NAMES

if TYPE_CHECKING:
    from calipers.bench.run import Bench, Watch
    from calipers.bench.sets import TaskSet
    from calipers.bench.table import Table

_SETS = ("stories", "abstracts", "reviews", "humaneval-single-line", "humaneval-multi-line")
_EPILOG = "\b\nNAME is one of\n" + "\n".join(f"  {name:9} {what}" for name, what in NAMES.items())


@click.command("reproduce", short_help="A table or figure of the paper, on any model.", epilog=_EPILOG)
@click.argument("name", type=click.Choice(list(NAMES)), metavar="NAME")
@click.option(
    "--data",
    multiple=True,
    metavar="SET=FILE",
    help=f"The file of a task set ({', '.join(_SETS)}); may be given several times.",
)
@click.option(
    "--own-bias",
    help="The bias fitted for this model, a row beside the paper's. Default: the one that ships with it, if any.",
)
@format_option
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
    there is only read, so a table of complete runs loads no model (one without a card is loaded
    for its facts). Interrupt it as you like: the same command goes on where it was. How long it
    takes is the model's matter: --limit 20 first shows the rate, and other tables then need less.
    """
    from calipers.experiments import experiment
    from calipers.experiments.lab import Lab

    module, files = experiment(name), _files(data)
    draws = getattr(module, "figure", None)
    if output is not None:
        _check_output(output, name, draws is not None)
    with watching(values["quiet"]) as watch:
        lab = Lab(_Opens(Opener(values), watch), values["limit"], files, own_bias)
        tables: list[Table] = module.tables(lab)
        written = _written(name, tables, draws, lab, output) if output is not None else []
    for number, table in enumerate(tables):
        if number:
            click.echo()
        show(table, form)
    for note in lab.notes:
        say(f"note: {note}")
    if not values["quiet"]:
        for path in written:
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
        if name not in _SETS:
            raise click.UsageError(f"--data {one!r} is of no set that is reproduced; give one of {', '.join(_SETS)}.")
        if not Path(path).is_file():
            raise TargetError(f"--data {one!r}: {path} is no file; name one that is there.")
        files[name] = Path(path)
    return files


def _check_output(output: Path, name: str, draws: bool) -> None:
    """Refuse what could not be written, or drawn, before any work is done."""
    from calipers.plot import check
    from calipers.target import check_writable

    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise TargetError(f"--output {output} cannot be made ({error.strerror}); name another folder.") from None
    check_writable(output / f"{name}.csv")
    if draws:
        check(output / f"{name}.svg", "bench")


def _written(
    name: str, tables: list[Table], figure: Callable[[Any, Path], Path] | None, lab: Any, output: Path
) -> list[Path]:
    """The files of an experiment; texts end with how they were made, numbers are left to themselves."""
    from calipers.provenance import commit, invocation, versions
    from calipers.target import write_atomically

    made = f"{invocation()} (calipers {versions()['calipers']}, commit {commit() or 'unknown'})"
    endings = {"md": f"\nMade by `{made}`.\n", "tex": f"% made by {made}\n", "csv": ""}
    paths = []
    for suffix, form in (("md", "markdown"), ("tex", "latex"), ("csv", "csv")):
        path = output / f"{name}.{suffix}"
        text = "\n".join(getattr(table, form)().rstrip("\n") + "\n" for table in tables)
        write_atomically(path, text + endings[suffix])
        paths.append(path)
    if figure is not None:
        paths += [figure(lab, output / f"{name}.{suffix}") for suffix in ("svg", "png")]
    return paths
