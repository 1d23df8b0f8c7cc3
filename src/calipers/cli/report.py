"""`calipers report`."""

from __future__ import annotations

from pathlib import Path

import click

from calipers.cli.bench import RUNS, show
from calipers.errors import TargetError


@click.command("report", short_help="Tables of what was evaluated.")
@click.argument("runs", nargs=-1, type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option(
    "--format",
    "form",
    type=click.Choice(["terminal", "markdown", "latex", "csv"]),
    default="terminal",
    show_default=True,
    help="How the table is printed.",
)
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

    found = sorted({manifest.parent for root in runs or (RUNS,) for manifest in root.rglob(MANIFEST)})
    if not found:
        raise TargetError(f"No records below {', '.join(map(str, runs or (RUNS,)))}; `calipers eval` makes some.")
    if compare:
        if len(found) != 2:
            raise click.UsageError(
                f"--compare takes two runs, and {len(found)} are below RUNS; name their two folders."
            )
        one, other = ((folder.name, Run(folder).all()) for folder in found)
        show(report.compare(one, other), form)
        return
    for task_set in sorted({folder.parent for folder in found}):
        inside = [folder for folder in found if folder.parent == task_set]
        answers = {Run(folder).manifest["method"]["name"]: Run(folder).all() for folder in inside}
        show(report.report(answers, f"{task_set.name}, {task_set.parent.name}"), form)
