"""`calipers fill`."""

from __future__ import annotations

import difflib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from calipers.cli.options import (
    Source,
    build_infiller,
    build_search,
    filling_options,
    read_source,
    text_options,
)
from calipers.errors import TargetError
from calipers.provenance import invocation
from calipers.target import check_writable, read_text, split_lines, write_atomically

if TYPE_CHECKING:
    from calipers.fill import Fill


@click.command("fill", short_help="Fill the holes of a text or file.")
@text_options
@click.option(
    "--length",
    type=int,
    multiple=True,
    help="Tokens of the hole, if you know (once, or once a hole). Default: measured.",
)
@filling_options
@click.option("--only", is_flag=True, help="Print the fill alone. Default: the whole text.")
@click.option("--json", "as_json", is_flag=True, help="Print everything about the fill as JSON. Default: off.")
@click.option("--diff", is_flag=True, help="Print a unified diff of the file instead of its text. Default: off.")
@click.option(
    "-i", "--in-place", is_flag=True, help="Write the filled text back to the file, whole or not at all. Default: off."
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="Write the filled text to this file. Default: standard output.",
)
@click.option(
    "--plot",
    type=click.Path(path_type=Path),
    help="Draw the landscape into this PNG, SVG or PDF file (needs calipers[plot]). Default: not drawn.",
)
@click.option("-q", "--quiet", is_flag=True, help="No live view and no notes on standard error. Default: off.")
def command(**values: Any) -> None:
    """Fill the holes of a text, at lengths nobody gave.

    \b
    TARGET is one of
      FILE             a file with <hole> in it (see --marker), any number of times
      FILE:LINE        a hole before line LINE; nothing is replaced
      FILE:LINE:COL    a hole before character COL of line LINE
      FILE:FIRST-LAST  lines FIRST to LAST are replaced (LAST keeps its newline)
      -                a text with <hole> in it, on standard input
    Lines and columns count from 1. Without TARGET, give --prefix and/or --suffix.
    """
    _check_outputs(values)
    source = read_source(values)
    holes = source.template.holes
    searches = build_search(values, holes)
    _check_files(values, source)
    infiller = build_infiller(values, searches[0])
    from calipers.cli.view import viewer

    fill: Fill | None = None
    with viewer(not values["quiet"]) as view:
        for step in infiller.stream(source.template, search=searches):
            view.show(step, infiller.model, source.template.texts)
            fill = step.fill
    if fill is None:
        raise AssertionError("a stream ends with its fill")
    fill.made_with["command"] = invocation()
    if values["plot"]:
        fill.plot(values["plot"])
    _write(values, source, fill)
    if not values["quiet"] and not values["as_json"]:
        _report(fill)


def _check_outputs(values: dict[str, Any]) -> None:
    for ways, what in (
        ({"--json": "as_json", "--diff": "diff", "--only": "only", "--in-place": "in_place"}, "what is written"),
        ({"--in-place": "in_place", "--output": "output"}, "where the fill goes"),
    ):
        given = [flag for flag, name in ways.items() if values[name]]
        if len(given) > 1:
            raise click.UsageError(f"{' and '.join(given)} both say {what}; give one of them.")


def _check_files(values: dict[str, Any], source: Source) -> None:
    """Refuse what could not be written in the end."""
    if (values["in_place"] or values["diff"]) and source.path is None:
        flag = "--in-place" if values["in_place"] else "--diff"
        raise click.UsageError(
            f"{flag} needs a file; TARGET is {'standard input' if values['target'] else 'not given'}."
        )
    if values["in_place"] and source.path is not None:
        check_writable(source.path)
    if values["output"]:
        check_writable(values["output"])
    if values["plot"]:
        from calipers.plot import check

        check(values["plot"])
        if values["length"]:
            raise click.UsageError("--plot draws what was measured, and --length measures nothing; leave one out.")


def _write(values: dict[str, Any], source: Source, fill: Fill) -> None:
    out = sys.stdout.buffer
    if values["in_place"] and source.path is not None:
        if read_text(source.path) != source.original:
            # What somebody else wrote meanwhile is not ours to overwrite, nor is the fill to be lost.
            out.write(fill.whole.encode())
            out.flush()
            raise TargetError(
                f"{source.path} changed while it was being filled, so it was left alone; "
                "the filled text is on standard output."
            )
        write_atomically(source.path, fill.whole)
    elif values["output"]:
        write_atomically(values["output"], _content(values, source, fill))
    else:
        out.write(_content(values, source, fill).encode())
        if values["only"] and sys.stdout.isatty():
            out.write(b"\n")
        out.flush()


def _content(values: dict[str, Any], source: Source, fill: Fill) -> str:
    if values["as_json"]:
        return fill.to_json(indent=2) + "\n"
    if values["diff"]:
        return unified(source.original, fill.whole, str(source.path))
    return "\n".join(fill.texts) if values["only"] else fill.whole


def unified(old: str, new: str, path: str) -> str:
    """A diff that `patch` and `git apply` take, a missing last newline included."""
    lines = []
    name = path.lstrip("/")
    before, after = ([line for line in split_lines(text) if line] for text in (old, new))
    for line in difflib.unified_diff(before, after, f"a/{name}", f"b/{name}"):
        lines.append(line if line.endswith("\n") else line + "\n\\ No newline at end of file\n")
    return "".join(lines)


def _report(fill: Fill) -> None:
    """One line about the fill and its notes, on standard error so that pipes stay clean."""
    lengths = " + ".join(map(str, fill.lengths))
    if sys.stderr.isatty() and sys.stdout.isatty() and not fill.whole.endswith("\n"):
        click.echo(err=True)
    click.echo(
        f"length {lengths} · {fill.probes} probes · {fill.forwards} forwards · {fill.timings['total']:.1f} s · "
        f"{fill.model} · bias {fill.bias}",
        err=True,
    )
    for note in fill.notes:
        click.echo(f"note: {note}", err=True)
