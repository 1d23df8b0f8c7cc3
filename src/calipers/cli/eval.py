"""`calipers eval`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from calipers.cli.bench import Opener, bench_options, say, show, watching

_DEFAULT = "oracle, fixed and cal from each of the paper's starts"


@click.command("eval", short_help="Evaluate methods on a task set.")
@click.argument("task_set", metavar="SET")
@click.option("--data", type=click.Path(path_type=Path, dir_okay=False), help="The file SET is read from.")
@click.option(
    "--split",
    type=click.Choice(["eval", "strict", "all", "fit"]),
    default="eval",
    show_default=True,
    help="eval is the paper's; strict shares no problem with what the bias was fitted on.",
)
@click.option(
    "-m",
    "--method",
    "methods",
    multiple=True,
    metavar="METHOD",
    help=f"A method, see above; may be given several times. Default: {_DEFAULT}.",
)
@click.option(
    "--ask-only",
    is_flag=True,
    help="Only ask the model; the same command without this grades it, anywhere. Default: off.",
)
@click.option(
    "--part",
    metavar="I/N",
    help="Only ask, and only the I-th of N parts of the tasks: several processes or GPUs share a set so. "
    "Default: all of them.",
)
@click.option("--bias", help="Length bias of every method that names none. Default: the model card's.")
@bench_options
def command(
    task_set: str,
    data: Path | None,
    split: str,
    methods: tuple[str, ...],
    ask_only: bool,
    part: str | None,
    bias: str | None,
    **values: Any,
) -> None:
    """Evaluate methods on a task set, and keep a record of every answer.

    \b
    SET is humaneval-single-line, humaneval-multi-line, humaneval-random-span,
    humaneval-random-span-light, stories, abstracts, reviews, or a JSONL file of
    prefix, suffix, answer[, test]. The texts are not distributed: give --data.
    A method is a search, a decoder and options behind commas:
      cal:8                             the paper's search, from 8 tokens
      cal:8,bias=none,patience=2        without calibration, less patient
      cal:8,temperature=0.8,samples=10  ten answers drawn, for pass@k
      fixed:8, oracle                   eight tokens; as many as the true answer
      daedal:8,low=0.3                  eight masks that grow
      exhaustive, lr-dllm               the best of all lengths; LR-DLLM's two stages
    Interrupt it as you like: the same command goes on where it was, and other
    methods use what these have asked.
    """
    from calipers.bench.method import Method, Protocol
    from calipers.bench.part import Part
    from calipers.bench.report import report
    from calipers.bench.sets import open_set

    share = Part.parse(part) if part else None
    tasks = open_set(task_set, data, split)
    if values["limit"]:
        tasks = tasks.limit(values["limit"])
    names = methods or ("oracle", *(f"{kind}:{n}" for kind in ("fixed", "cal") for n in tasks.inits))
    opener = Opener(values)
    protocol = Protocol(tasks.max_length, tasks.patience)
    parsed = [Method.parse(name, opener.card, protocol, bias) for name in names]
    with watching(values["quiet"]) as watch:
        bench = opener.bench(tasks, watch)
        if ask_only or share:
            bench.ask(parsed, share)
            kind = f"Part {share} is asked; once all are, the same command without --part" if share else ""
            say(f"{kind or 'The model is asked; the same command without --ask-only'} grades what it said.")
            return
        answers = bench.answer(parsed)
    show(report(answers, f"{tasks.name} ({tasks.split}), {opener.label}"), "terminal")
    if not values["quiet"]:
        click.echo(f"records: {opener.folder(tasks.name)}, a folder a method", err=True)
