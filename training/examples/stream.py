"""Batches made ahead by worker processes, handed out in the order of their numbers."""

from __future__ import annotations

import multiprocessing as mp
import os
import queue
import signal
from collections.abc import Iterator
from multiprocessing.queues import Queue

from training.examples.batch import Batch, Maker, Recipe

_AHEAD = 4
_WAIT = 5.0


def stream(recipe: Recipe, start: int, workers: int) -> Iterator[Batch]:
    """Batches start, start + 1, … without end; with no workers they are made here."""
    if not workers:
        maker = Maker(recipe)
        while True:
            yield maker.batch(start)
            start += 1
    # Spawned, not forked: the trainer has threads and a GPU, which do not survive a fork.
    context = mp.get_context("spawn")
    # Worker w makes every workers-th batch from start + w on, so the order needs no counter between them.
    queues = [context.Queue(_AHEAD) for _ in range(workers)]
    processes = [
        context.Process(target=_work, args=(recipe, start + w, workers, q), daemon=True) for w, q in enumerate(queues)
    ]
    for process in processes:
        process.start()
    try:
        at = 0
        while True:
            yield _take(queues[at % workers], processes[at % workers])
            at += 1
    finally:
        for process in processes:
            process.terminate()


def _take(batches: Queue[Batch], process: mp.process.BaseProcess) -> Batch:
    """The next batch of a worker; a worker that died is an error and no endless wait."""
    while True:
        try:
            return batches.get(timeout=_WAIT)
        except queue.Empty:
            if not process.is_alive():
                raise RuntimeError(f"a worker ended with {process.exitcode}; its error stands above.") from None


def _work(recipe: Recipe, start: int, step: int, batches: Queue[Batch]) -> None:
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    # A signal to stop is the trainer's: it still wants batches for its last step.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    maker = Maker(recipe)
    parent = os.getppid()
    while True:
        batch = maker.batch(start)
        while True:
            try:
                batches.put(batch, timeout=_WAIT)
                break
            except queue.Full:
                if os.getppid() != parent:  # the trainer was killed
                    os._exit(1)
        start += step
