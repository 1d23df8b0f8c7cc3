"""Loss on held-out text, every source by itself, with masks that no run's settings change.

Holes are masked whole, which is what a probe and a first denoising step see. Two runs over the same shards
and tokenizer are asked for the same tokens, so their losses can be compared.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import torch

from training.examples.batch import Batch, Maker, Recipe
from training.examples.row import Cut
from training.examples.spans import Mix
from training.feed import feeds
from training.settings import Loss, Rows
from training.tally import Tally
from training.trainer import Trainer

CODE = Mix({"line": 0.35, "block": 0.2, "tail": 0.1, "cut": 0.05, "chars": 0.15, "random": 0.15})
PROSE = Mix({"words": 0.6, "gap": 0.15, "chars": 0.1, "random": 0.15})
SEED = 0


def held_batches(recipe: Recipe, count: int) -> dict[str, list[Batch]]:
    """So many batches of every source that has held-out text."""
    found = {}
    for source in recipe.sources:
        own = replace(
            recipe, sources=(source,), code=CODE, prose=PROSE, cut=Cut(full=1.0), seed=SEED,
            lengths=(256, 512), shares=(0.5, 0.5), tokens=min(recipe.tokens, 65_536), step=1,
        )  # fmt: skip
        try:
            maker = Maker(own, "held")
        except ValueError as none:
            print(f"not held out: {none}", file=sys.stderr)
            continue
        found[source.name] = [maker.batch(number) for number in range(count)]
    return found


@torch.no_grad()
def held_losses(trainer: Trainer, batches: dict[str, list[Batch]], rows: Rows) -> dict[str, Any]:
    """Of every source its loss, by kind and by masked share."""
    trainer.backbone.eval()
    found = {}
    for name, own in batches.items():
        tally = Tally(trainer.device)
        for batch in own:
            for feed in feeds(batch, replace(rows, step=1), Loss()):
                here = feed.to(trainer.device)
                tally.add(trainer.losses(here), here)
        found[name] = tally.read()
    return found
