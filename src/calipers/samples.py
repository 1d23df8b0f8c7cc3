"""Measuring the samples a bias is fitted on: resumable, for it takes a while."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator, Sequence
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from typing import Any

from calipers.bias import NONE
from calipers.drive import Ask, Done, drive
from calipers.encode import encode
from calipers.errors import BiasError, TargetError
from calipers.fit import LENGTHS, Sample
from calipers.journal import Journal, read_lines
from calipers.look import Look
from calipers.models.base import MaskModel
from calipers.probe import Prober
from calipers.tasks import Task
from calipers.template import Template


def measure(
    model: MaskModel, tasks: Sequence[Task], lengths: Sequence[int] = LENGTHS, at_once: int = 4
) -> Iterator[Sample]:
    """Φ of every task at every length, each task as it is done."""

    def job(task: Task) -> Generator[Ask, None, Sample]:
        canvas = encode(Template.around(task.prefix, task.suffix), model, [max(lengths)])
        prober = Prober(0, NONE, Look())
        yield from prober.measure(canvas, lengths)
        confidence = {n: seen.confidence for (n,), seen in prober.known.items()}
        return Sample(task.id, len(model.encode(task.answer)), confidence, sum(canvas.cropped))

    for _, event in drive(model, (job(task) for task in tasks), at_once):
        if isinstance(event, Done):
            yield event.result


class Store:
    """Measured samples in a JSON-lines file, so that an interrupted fit goes on where it was.

    The first line says what was measured with what; a file of another model or other lengths
    is refused, not mixed. Each sample carries a digest of its task, so that another task of the
    same id is measured anew.
    """

    def __init__(self, path: Path, model: MaskModel, lengths: Sequence[int]) -> None:
        self.path = path
        self.head = {
            "model": model.card.id,
            "revision": model.card.revision,
            "device": model.device,
            "lengths": list(lengths),
        }

    def read(self, tasks: Sequence[Task]) -> dict[str, Sample]:
        """The samples of these tasks that are there already; a last line cut off by a crash is dropped."""
        try:
            head, *lines = list(read_lines(self.path)) or [self.head]
            samples: dict[str, dict[str, Any]] = {line.pop("digest"): line for line in lines}
        except (TargetError, KeyError) as broken:
            raise BiasError(f"{self.path} is damaged ({broken!r}); remove it to measure anew.") from None
        if head != self.head:
            raise BiasError(
                f"{self.path} holds samples of {json.dumps(head)}, not of {json.dumps(self.head)}; "
                "name another output, or remove the file."
            )
        there = {task.id: samples[digest(task)] for task in tasks if digest(task) in samples}
        return {
            name: Sample(
                name,
                line["oracle_length"],
                {int(n): phi for n, phi in line["confidence"].items()},
                line["cropped"],
            )
            for name, line in there.items()
        }

    def append(self, task: Task, sample: Sample) -> None:
        """Add the sample of a task, on disk when this returns."""
        with Journal(self.path) as journal:  # which cuts off a torn line, be it the first
            head = [] if self.path.stat().st_size else [self.head]
            journal.append([*head, {**asdict(sample), "digest": digest(task)}])


def digest(task: Task) -> str:
    """What tells a task from another of the same id."""
    return sha256(json.dumps(asdict(task)).encode()).hexdigest()[:16]
