"""Tokens a second through the adapter, on many rows of unlike length: what a bench run is bound by.

    python benchmarks/throughput.py                     the bundled model, on what is here
    python benchmarks/throughput.py --tokens 16384 32768 65536 --rows 2000

plain     the forward as it is
torch's   with the attention kernel that torch would choose, where that may be another (cuda)
compiled  every block compiled by torch (dynamic shapes), if --compile is given
"""

from __future__ import annotations

import argparse
import json
import random
import time
from contextlib import nullcontext
from pathlib import Path

import torch

import calipers
from calipers.canvas import Canvas
from calipers.look import Look
from calipers.models import backbone
from calipers.models.base import Query
from calipers.models.transformer import TransformerModel
from calipers.provenance import commit, invocation, machine


def queries(model: TransformerModel, rows: int, seed: int = 0) -> list[Query]:
    """Canvases of 150 to 450 tokens around holes of 4 to 32, sorted as the driver sorts them."""
    lot, vocabulary = random.Random(seed), model.backbone.shape.vocab
    made = []
    for _ in range(rows):
        left, right = lot.randrange(100, 300), lot.randrange(50, 150)
        texts = tuple(tuple(lot.randrange(100, vocabulary) for _ in range(n)) for n in (left, right))
        made.append(Query.whole(Canvas(texts, ((),)).with_masks([lot.randrange(4, 33)])))
    return sorted(made, key=lambda query: len(query.canvas))


def measure(model: TransformerModel, asked: list[Query]) -> float:
    """Seconds for all of them."""
    if model.where.type == "cuda":
        torch.cuda.synchronize()
    started = time.perf_counter()
    for rows in model.look(asked, [Look(entropy=True)] * len(asked)):
        rows.sum()
    return time.perf_counter() - started


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="calipers-135m")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--dtype", default="auto")
    parser.add_argument("--rows", type=int, default=64)
    parser.add_argument("--tokens", type=int, nargs="+", help="tokens a forward (default: the adapter's own)")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    model = calipers.load(args.model, device=args.device, dtype=args.dtype)
    asked = queries(model, args.rows)
    total = sum(len(query.canvas) for query in asked)
    results = []
    ours = backbone.attention_of
    for way in [*(["torch's"] if model.where.type == "cuda" else []), "plain", *(["compiled"] if args.compile else [])]:
        backbone.attention_of = (lambda x: nullcontext()) if way == "torch's" else ours
        if way == "compiled":
            model.backbone.compile_blocks()
        for tokens in args.tokens or [model._tokens]:
            model._tokens = tokens
            first, seconds = (
                measure(model, asked[: max(1, args.rows // 4)]),
                min(measure(model, asked) for _ in range(2)),
            )
            results.append({"way": way, "tokens": tokens, "first": first, "seconds": seconds, "rate": total / seconds})
            print(
                f"{way:>9} {tokens:7d} a forward: {total / seconds:12,.0f} tokens/s (first pass {first:.1f} s)",
                flush=True,
            )
    about = {"machine": machine(model.device), "device": model.device, "commit": commit(), "command": invocation()}
    print(json.dumps(about))
    if args.json:
        args.json.write_text(json.dumps({**about, "results": results}, indent=1) + "\n")


if __name__ == "__main__":
    main()
