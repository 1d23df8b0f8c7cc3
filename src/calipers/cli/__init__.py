"""The `calipers` command: each subcommand parses, calls the library, and renders."""

from __future__ import annotations

import os
import sys
from importlib import import_module

import click

from calipers import __version__
from calipers.errors import CalipersError

_COMMANDS = {
    "fill": "Fill the holes of a text or file, at lengths nobody gave.",
    "probe": "Measure one hole and draw its landscape; nothing is filled.",
    "serve": "Serve editors and the OpenAI client: fills over HTTP.",
    "eval": "Evaluate methods on a task set; what was measured is kept and shared.",
    "reproduce": "A table or figure of the paper by a command, on any model.",
    "report": "Tables of what was evaluated, with intervals; two runs compared.",
    "fit": "Fit a length bias B(L) on a model's own confidences.",
    "models": "List the known models: family, licence, where their files are.",
}
_EPILOG = """\b
Exit codes:
    0  done                             5  the text does not fit the context
    1  another error of calipers        6  a bias is missing or broken
    2  wrong usage, or a missing extra  7  out of memory for a single row
    3  a file or a hole in it           130  interrupted (Ctrl-C); nothing half-written
    4  a model cannot be loaded
"""


class _Lazy(click.Group):
    """Subcommands are imported when they run, so that --help stays quick."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in _COMMANDS:
            return None
        command: click.Command = import_module(f"calipers.cli.{name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))


@click.group(cls=_Lazy, epilog=_EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="calipers")
def cli() -> None:
    """Measure a gap before filling it: infilling with masked diffusion language models.

    A model ships inside, so `calipers fill` works offline as it is.
    """


def main() -> None:
    """The entry point: run, and turn errors that are meant for people into one line and an exit code."""
    # torch's threads meet at every step, and whoever waits spins: beside another busy process that takes the core from
    # the one waited for, so here they spin briefly (docs/decisions.md has figures). Read once, as torch is loaded.
    os.environ.setdefault("GOMP_SPINCOUNT", "1000")
    try:
        code = cli.main(prog_name="calipers", standalone_mode=False)
    except click.exceptions.Abort as stopped:
        code = _interrupted(stopped.__cause__)
    except KeyboardInterrupt as stopped:
        code = _interrupted(stopped)
    except click.ClickException as wrong:
        wrong.show()
        code = wrong.exit_code
    except CalipersError as error:
        click.echo(f"calipers: {error}", err=True)
        code = error.exit_code
    sys.exit(code)


def _interrupted(stopped: BaseException | None) -> int:
    """Say so, with what the command has to add."""
    more = f"; {stopped}" if isinstance(stopped, KeyboardInterrupt) and stopped.args else ""
    click.echo(f"calipers: interrupted{more}", err=True)
    return 130
