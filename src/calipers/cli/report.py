"""`calipers report`."""

from __future__ import annotations

import re
from pathlib import Path

import click

from calipers.cli.bench import RUNS, format_option, show
from calipers.errors import TargetError


@click.command("report", short_help="Tables of what was evaluated.")
@click.argument("runs", nargs=-1, type=click.Path(path_type=Path, exists=True, file_okay=False))
@format_option
@click.option("--compare", is_flag=True, help="Compare two runs task by task: RUNS are their two folders.")
def command(runs: tuple[Path, ...], form: str, compare: bool) -> None:
    """Tables of the records below RUNS (default: runs), with 95 % bootstrap intervals.

    \b
    calipers report                                      everything under runs/
    calipers report runs/calipers-135m@v0/stories        one model on one set
    calipers report --compare .../cal-8 .../fixed-8      two runs, paired by task
    """
    from calipers.bench import report
    from calipers.bench.run import MANIFEST, Run

    found = sorted({manifest.parent for root in runs or (RUNS,) for manifest in root.rglob(MANIFEST)}, key=_natural)
    if not found:
        raise TargetError(f"No records below {', '.join(map(str, runs or (RUNS,)))}; `calipers eval` makes some.")
    if compare:
        if len(found) != 2:
            raise click.UsageError(
                f"--compare takes two runs, and {len(found)} are below RUNS; name their two folders."
            )
        one, other = ((name, Run(folder).all()) for name, folder in zip(_names(found), found, strict=True))
        show(report.compare(one, other), form)
        return
    sets = list(dict.fromkeys(folder.parent for folder in found))
    for number, task_set in enumerate(sets):
        if number:
            click.echo()
        answers = {_name(folder): Run(folder).all() for folder in found if folder.parent == task_set}
        title = f"{task_set.name}, {task_set.parent.name}"
        if form == "csv" and len(sets) > 1:
            click.echo(f"# {title}")
        show(report.report(answers, title), form)


def _name(folder: Path) -> str:
    """What the method of a run is called."""
    from calipers.bench.run import MANIFEST
    from calipers.journal import read_object

    return str(read_object(folder / MANIFEST).get("method", {}).get("name", folder.name))


def _names(folders: list[Path]) -> list[str]:
    """Names that tell two runs apart: their methods, else with their models."""
    names = [_name(folder) for folder in folders]
    return (
        names
        if len(set(names)) > 1
        else [f"{n}, {f.resolve().parents[1].name}" for n, f in zip(names, folders, strict=True)]
    )


def _natural(path: Path) -> list[str | int]:
    """A key by which cal-8 comes before cal-16."""
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", str(path))]
