"""What tells a hole that should stay empty from one that should not: candidates, measured.

For each case the statistics are written as one JSON line:
    calibrated      the best Φ/B of a climb
    none_SIDES_w    mean log-probability of the w tokens at the seam (right of it, or on both sides),
                    masked, with no hole between them
    hole_SIDES_w    the same with a hole of the climb's length between them
Cases: the random-span tasks with an empty answer; untouched texts, cut at a random character;
and random-span tasks with an answer.

    python benchmarks/empty_statistics.py RandomSpan.jsonl.gz RandomSpanLight.jsonl.gz -o stats.jsonl
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Generator
from pathlib import Path
from typing import Any

import torch

import calipers
from calipers.bias import PAPER
from calipers.canvas import MASK, Canvas
from calipers.drive import Ask, Done, drive
from calipers.encode import encode
from calipers.models.base import MaskModel, Query
from calipers.probe import Prober
from lines import read

WINDOWS = (1, 2, 4)


def cases(full: Path, light: Path, seed: int, limit: int) -> list[tuple[str, str, str, str]]:
    """(kind, id, prefix, suffix)."""
    rng = random.Random(seed)

    some = read(light)
    found = [("empty", t["task_id"], t["prompt"], t["suffix"]) for t in read(full) if not t["canonical_solution"]]
    for task in some[:limit]:
        solution = task["canonical_solution"] + task["suffix"]
        whole = task["prompt"] + solution
        at = rng.randrange(len(task["prompt"]) // 2, len(whole))
        found.append(("untouched", task["task_id"], whole[:at], whole[at:]))
    found += [("answer", t["task_id"], t["prompt"], t["suffix"]) for t in some[:limit] if t["canonical_solution"]]
    return found


def statistics(model: MaskModel, prefix: str, suffix: str) -> Generator[Ask, None, dict[str, Any]]:
    """All candidates for one case."""
    canvas = encode(calipers.Template.around(prefix, suffix), model, [64])
    landscape = yield from Prober(0, PAPER).search(canvas, calipers.HillClimb())
    out: dict[str, Any] = {"length": landscape.length, "calibrated": max(p.calibrated for p in landscape.probes)}
    queries, truths, names = [], [], []
    for length in (0, landscape.length):
        for window in WINDOWS:
            for sides in ("right", "both"):
                left, right = canvas.texts
                before = left[max(0, len(left) - window) :] if sides == "both" else ()
                after = right[:window]
                if not before + after:
                    continue
                kept = left[: len(left) - len(before)]
                masks = (MASK,) * (len(before) + length + len(after))
                masked = Canvas((kept, right[len(after) :]), (masks,), canvas.cropped)
                span = masked.spans[0]
                places = (*span[: len(before)], *span[len(before) + length :])
                queries.append(Query(masked, places))
                truths.append(torch.tensor(before + after))
                names.append(f"{'none' if length == 0 else 'hole'}_{sides}_{window}")

    def take(index: int, logits: torch.Tensor) -> None:
        truth = logits.log_softmax(-1).gather(-1, truths[index][:, None])[:, 0]
        out[names[index]] = round(float(truth.clamp(min=-20).mean()), 4)

    yield Ask(tuple(queries), take, "search")
    return out


def main() -> None:
    """Measure every case."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("full", type=Path, help="HumanEval-RandomSpanInfilling.jsonl.gz")
    parser.add_argument("light", type=Path, help="HumanEval-RandomSpanInfillingLight.jsonl.gz")
    parser.add_argument("-o", "--output", type=Path, required=True, help="JSON lines to write")
    parser.add_argument("--limit", type=int, default=50, help="untouched texts and answered tasks (default 50)")
    parser.add_argument("--seed", type=int, default=0, help="of the cuts (default 0)")
    parser.add_argument("--dtype", default="float32", help="as for calipers fill (default float32)")
    args = parser.parse_args()
    model = calipers.load(dtype=args.dtype)
    todo = cases(args.full, args.light, args.seed, args.limit)
    jobs = (statistics(model, prefix, suffix) for _, _, prefix, suffix in todo)
    with args.output.open("w") as file:
        for number, event in drive(model, jobs, at_once=4):
            if isinstance(event, Done):
                kind, task, _, _ = todo[number]
                file.write(json.dumps({"kind": kind, "id": task, **event.result}) + "\n")
                file.flush()


if __name__ == "__main__":
    main()
