"""A family of checkpoints: how its config gives a shape, what its tensors are called, and its quirks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from calipers.models.backbone import Shape
from calipers.models.config import Config


@dataclass(frozen=True, slots=True)
class Family:
    """Facts that hold for every checkpoint of a `model_type`.

    shape    config -> the backbone's sizes and switches
    outer    our parameter -> published tensor, outside the layers
    inner    the same for a layer, `{}` standing for its number
    shift    whether row j - 1 of the raw logits predicts position j
    opens, closes, rank   what a card of this family says when there is none
    splits   the pre-tokeniser's pattern, to build a tokenizer from vocab.json and merges.txt
    """

    model_type: str
    shape: Callable[[Config], Shape]
    outer: Mapping[str, str]
    inner: Mapping[str, str]
    shift: bool
    opens: Literal["always", "bare", "never"]
    closes: bool
    rank: str
    splits: str = ""

    def tensors(self, shape: Shape) -> dict[str, str]:
        """Every parameter of the backbone and the published tensor it is read from."""
        names = dict(self.outer)
        if shape.tied:
            names.pop("unembed.weight", None)
        for layer in range(shape.layers):
            for ours, theirs in self.inner.items():
                if ours.endswith(".bias") and not shape.qkv_bias:
                    continue
                names[f"blocks.{layer}.{ours}"] = theirs.format(layer)
        return names
