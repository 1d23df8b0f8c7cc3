"""Training with the packed file's rounding: forward and backward see rounded weights, steps go to the full ones.

The grid is `calipers.models.quant`'s, to the bit. Weights are swapped for rounded ones before a forward and
put back before the optimiser's step, so the gradient passes straight through the rounding, and a compiled
block notices nothing. A scale that is searched every few dozen steps is good for those between.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from calipers.models.quant import GROUP, levels
from training.settings import Rounding

_FACTORS = torch.linspace(0.74, 1.06, 17).tolist()
_AT_ONCE = 1 << 16  # groups: the search holds several copies of what it works on


def nearest(groups: Tensor, scale: Tensor, bits: int) -> Tensor:
    """What the nearest codes of groups [n, group] under the scales [n, 1] stand for."""
    steps = levels(bits).to(groups.device)
    ratio = groups / scale.float().clamp_min(1e-12)
    return steps[torch.bucketize(ratio, (steps[1:] + steps[:-1]) / 2)] * scale.float()


def scales(groups: Tensor, bits: int) -> Tensor:
    """The float16 scale of each group of least squared error, over the grid `quant.group_scales` searches."""
    found = []
    for some in torch.split(groups, _AT_ONCE):
        reach = some.abs().amax(-1, keepdim=True)
        best = torch.zeros_like(reach, dtype=torch.float16)
        least = torch.full_like(reach, torch.inf)
        for factor in _FACTORS:
            scale = (reach * factor).to(torch.float16)
            error = (nearest(some, scale, bits) - some).square().sum(-1, keepdim=True)
            better = error < least
            best, least = torch.where(better, scale, best), torch.where(better, error, least)
        found.append(best)
    return torch.cat(found)


def bits_of(name: str, rounding: Rounding) -> int:
    """The bits of a matrix by its parameter's name."""
    if name.startswith("embed"):
        return rounding.embedding
    return rounding.value if name.split(".")[-2] == "v" else rounding.linear


class Rounder:
    """Rounds a model's matrices in place and puts them back."""

    def __init__(self, model: nn.Module, rounding: Rounding) -> None:
        self._rounding = rounding
        self._matrices = {name: p for name, p in model.named_parameters() if p.dim() == 2 and p.shape[1] % GROUP == 0}
        self._scales: dict[str, Tensor] = {}
        self._age = 0

    @contextmanager
    def rounded(self) -> Iterator[None]:
        """Within, the weights are rounded; after, they are what they were."""
        kept = {name: p.detach().clone() for name, p in self._matrices.items()}
        with torch.no_grad():
            if not self._scales or self._age >= self._rounding.every:
                self._scales = {
                    name: scales(p.view(-1, GROUP), bits_of(name, self._rounding)) for name, p in kept.items()
                }
                self._age = 0
            for name, p in self._matrices.items():
                values = nearest(kept[name].view(-1, GROUP), self._scales[name], bits_of(name, self._rounding))
                p.copy_(values.view_as(p))
        self._age += 1
        try:
            yield
        finally:
            with torch.no_grad():
                for name, p in self._matrices.items():
                    p.copy_(kept[name])

    def state(self) -> dict[str, object]:
        """What a checkpoint must keep for the same rounding after it."""
        return {"scales": self._scales, "age": self._age}

    def load(self, state: dict[str, object]) -> None:
        """Go on from a state."""
        found, age = state["scales"], state["age"]
        assert isinstance(found, dict)
        assert isinstance(age, int)
        self._scales = {name: scale.to(self._matrices[name].device) for name, scale in found.items()}
        self._age = age
