"""Train for one leg.

    python -m training.train training/runs/NAME.toml --data DATA --out OUT [--minutes 8]

DATA holds the shards, the tokenizer and what the run starts from; shelves of text are kept in OUT/../shelves
unless --cache says where. OUT gets `log.jsonl`, `checkpoint.pt`, and at the end `pieces/` (and
`pieces-mean/`) and `summary.json`. Killed or stopped, the same command goes on where it was.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch

from calipers import provenance
from calipers.journal import Journal
from calipers.target import write_atomically
from training import checkpoint
from training.examples.batch import Batch, Recipe
from training.examples.stream import stream
from training.feed import feeds
from training.held import held_batches, held_losses
from training.pieces import write_pieces
from training.power import Power
from training.schedule import learning_rate, progress
from training.settings import Run, read_run
from training.tally import Tally
from training.trainer import Trainer

STOPPED = 143  # the exit status of a program that SIGTERM ended


class Meter:
    """What has happened since the last line of the log."""

    def __init__(self, trainer: Trainer) -> None:
        self._trainer, self._tokens, self._began = trainer, trainer.tokens, time.monotonic()
        self.tally = Tally(trainer.device)
        self._waited = 0.0

    def waiting(self, take: Callable[[], Batch]) -> Batch:
        """A batch, the time it takes to come being counted."""
        asked = time.monotonic()
        batch = take()
        self._waited += time.monotonic() - asked
        return batch

    def read(self) -> dict[str, Any]:
        """A line's values; the device is waited for."""
        trainer = self._trainer
        losses = self.tally.read()
        return {
            "step": trainer.step, **losses, "tokens": trainer.tokens, "seconds": round(trainer.seconds, 1),
            "per_second": round((trainer.tokens - self._tokens) / max(1e-9, time.monotonic() - self._began)),
            "waited": round(self._waited, 2), **provenance.memory_peak(str(trainer.device)),
        }  # fmt: skip


class Leg:
    """One leg: the loop, and what it writes into its folder."""

    def __init__(self, run: Run, recipe: Recipe, data: Path, out: Path, device: str) -> None:
        self.run, self.recipe, self.out = run, recipe, out
        self.trainer = Trainer(run, device, data)
        found = checkpoint.newest(out)
        if found is not None:
            self.trainer.resume(checkpoint.load(found))
        self.resumed = found is not None
        self.stop = False
        self._held = held_batches(recipe, run.keep.held_batches)

    def go(self, journal: Journal) -> bool:
        """Train until the budget is spent (true) or somebody asks to stop (false)."""
        run, trainer = self.run, self.trainer
        here = {"event": "resume" if self.resumed else "begin", "step": trainer.step, "time": int(time.time())}
        journal.append([{**here, "earlier": trainer.earlier, "next_batch": trainer.next_batch}])
        batches = stream(self.recipe, trainer.next_batch, run.workers)
        meter, saved, before = Meter(trainer), time.monotonic(), time.monotonic()
        while (share := self._share()) < 1 and not self.stop:
            batch = meter.waiting(lambda: next(batches))
            rate = learning_rate(run.schedule, share, trainer.step)
            rounded = share >= run.rounding.begin
            norm = trainer.learn(list(feeds(batch, run.rows, run.loss)), rate, rounded, meter.tally)
            trainer.tokens += int(batch.sizes.sum())
            trainer.next_batch = batch.number + 1
            now = time.monotonic()
            trainer.seconds, before = trainer.seconds + now - before, now
            if trainer.step % run.keep.log == 0 or trainer.step <= 3:
                about = {"share": round(share, 4), "lr": rate, "rounded": rounded, "norm": round(float(norm), 4)}
                journal.append([meter.read() | about])
                meter = Meter(trainer)
            if run.keep.held_every and trainer.step % run.keep.held_every == 0:
                journal.append([{"event": "held", "step": trainer.step, "held": self.held()}])
            if now - saved > 60 * run.keep.minutes:
                self.save()
                saved = time.monotonic()
        _close(batches)
        self.save()
        return not self.stop

    def held(self, mean: bool = False) -> dict[str, Any]:
        """Losses on held-out text now, with the weights or their running mean."""
        if not mean:
            return held_losses(self.trainer, self._held, self.run.rows)
        with self.trainer.with_mean():
            return held_losses(self.trainer, self._held, self.run.rows)

    def save(self) -> None:
        """Write a checkpoint."""
        checkpoint.save(self.out, self.trainer.state())

    def finish(self, journal: Journal, watts: float | None = None) -> None:
        """The held-out losses, the pieces and the summary."""
        trainer = self.trainer
        held = {"last": self.held()}
        write_pieces(self.out / "pieces", trainer.weights())
        if trainer.mean is not None:
            held["mean"] = self.held(mean=True)
            write_pieces(self.out / "pieces-mean", trainer.weights(mean=True))
        journal.append([{"event": "end", "step": trainer.step, "held": held}])
        summary = {
            "run": asdict(self.run), "step": trainer.step, "tokens": trainer.tokens, "earlier": trainer.earlier,
            "next_batch": trainer.next_batch, "seconds": round(trainer.seconds, 1), "held": held,
            "machine": provenance.machine(str(trainer.device)), "versions": provenance.versions(),
            "commit": provenance.commit(), "command": provenance.invocation(),
            **provenance.memory_peak(str(trainer.device)), **({"watts": watts} if watts else {}),
        }  # fmt: skip
        write_atomically(self.out / "summary.json", json.dumps(summary, indent=1) + "\n")

    def _share(self) -> float:
        return progress(self.run.schedule, self.trainer.seconds, self.trainer.tokens, self.trainer.step)


def _close(batches: Iterator[Batch]) -> None:
    # A generator; closing it ends its workers.
    getattr(batches, "close", lambda: None)()


def main() -> None:
    """Train, and write what came of it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("run", type=Path, help="the run's settings, a TOML file")
    parser.add_argument("--data", type=Path, required=True, help="folder of shards, tokenizer and starting weights")
    parser.add_argument("--out", type=Path, required=True, help="the run's own folder")
    parser.add_argument("--cache", type=Path, help="where texts are laid out for the workers")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--minutes", type=float, help="another budget than the run's own")
    parser.add_argument("--threads", type=int, help="of torch on a CPU")
    args = parser.parse_args()
    if args.threads:
        torch.set_num_threads(args.threads)
    torch.set_float32_matmul_precision("high")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    run = read_run(args.run)
    if args.minutes:
        run = replace(run, schedule=replace(run.schedule, minutes=args.minutes))
    recipe = run.recipe(args.data, args.cache or args.out.parent / "shelves")
    if (args.out / "summary.json").exists():
        print(f"{args.out} is finished; name another --out to train again.")
        return
    leg = Leg(run, recipe, args.data, args.out, args.device)

    def ask_to_stop(*_: object) -> None:
        leg.stop = True

    signal.signal(signal.SIGTERM, ask_to_stop)
    signal.signal(signal.SIGINT, ask_to_stop)
    with Journal(args.out / "log.jsonl") as journal:
        with Power() if leg.trainer.device.type == "cuda" else nullcontext() as power:
            if not leg.go(journal):
                sys.exit(STOPPED)
        leg.finish(journal, power.watts if power else None)


if __name__ == "__main__":
    main()
