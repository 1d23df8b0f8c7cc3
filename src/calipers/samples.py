"""Measuring the samples a bias is fitted on: resumable, for it takes a while."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from calipers.bias import NONE
from calipers.drive import Ask, Done, drive
from calipers.encode import encode
from calipers.errors import BiasError
from calipers.fit import LENGTHS, Sample
from calipers.models.base import MaskModel
from calipers.probe import Prober
from calipers.tasks import Task
from calipers.template import Template


def measure(
    model: MaskModel, tasks: Sequence[Task], lengths: Sequence[int] = LENGTHS, at_once: int = 4
) -> Iterator[Sample]:
    """Φ of every task at every length, each task as it is done."""

    def job(task: Task) -> Generator[Ask, None, Sample]:
        canvas = encode(Template.around(task.prefix, task.suffix), model, max(lengths))
        prober = Prober(0, NONE)
        yield from prober.measure(canvas, lengths)
        confidence = {n: phi for (n,), phi in prober.known.items()}
        return Sample(task.id, len(model.encode(task.answer)), confidence)

    for _, event in drive(model, (job(task) for task in tasks), at_once):
        if isinstance(event, Done):
            yield event.result


class Store:
    """Measured samples in a JSON-lines file, so that an interrupted fit goes on where it was.

    The first line says what was measured with what; a file of another model or other lengths
    is refused, not mixed.
    """

    def __init__(self, path: Path, model: MaskModel, lengths: Sequence[int]) -> None:
        self.path = path
        self.head = {
            "model": model.card.id,
            "name": model.card.name,
            "revision": model.card.revision,
            "device": model.device,
            "lengths": list(lengths),
        }

    def read(self) -> dict[str, Sample]:
        """The samples that are there already; a last line cut off by a crash is dropped."""
        if not self.path.exists() or not self.path.stat().st_size:
            return {}
        text = self.path.read_text("utf-8")
        complete, _, torn = text.rpartition("\n")
        if torn:
            self.path.write_text(complete + "\n" if complete else "", "utf-8")
        lines = complete.split("\n") if complete else []
        if lines and json.loads(lines[0]) != self.head:
            raise BiasError(
                f"{self.path} holds samples of {lines[0]}, not of {json.dumps(self.head)}; "
                "name another output, or remove the file."
            )
        samples = (json.loads(line) for line in lines[1:])
        return {
            s["id"]: Sample(s["id"], s["oracle_length"], {int(n): phi for n, phi in s["confidence"].items()})
            for s in samples
        }

    def append(self, sample: Sample) -> None:
        """Add one sample, on disk when this returns."""
        new = not self.path.exists() or not self.path.stat().st_size
        with self.path.open("a", encoding="utf-8") as file:
            if new:
                file.write(json.dumps(self.head) + "\n")
            file.write(json.dumps(asdict(sample)) + "\n")
