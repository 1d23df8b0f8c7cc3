"""What moves the weights: AdamW, or Muon for the blocks' matrices and AdamW for all else, as one optimiser."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import nn

from training.muon import Muon
from training.settings import Optimiser


class Together:
    """Several optimisers that step as one."""

    def __init__(self, parts: Sequence[torch.optim.Optimizer]) -> None:
        self._parts = tuple(parts)

    def step(self, rate: float) -> None:
        """Move the weights by their gradients at this rate, and forget the gradients."""
        for part in self._parts:
            for group in part.param_groups:
                group["lr"] = rate
            part.step()
            part.zero_grad(set_to_none=True)

    def state_dict(self) -> list[dict[str, Any]]:
        """What the next step depends on."""
        return [part.state_dict() for part in self._parts]

    def load_state_dict(self, states: Sequence[dict[str, Any]]) -> None:
        """Go on from there."""
        for part, state in zip(self._parts, states, strict=True):
            part.load_state_dict(state)


def optimiser_of(model: nn.Module, settings: Optimiser, fused: bool) -> Together:
    """The optimiser of a model's weights; only the blocks' matrices decay."""
    matrices = [p for name, p in model.named_parameters() if p.dim() == 2 and name.startswith("blocks")]
    others = [p for name, p in model.named_parameters() if p.dim() != 2 or not name.startswith("blocks")]
    betas = settings.betas[0], settings.betas[1]
    groups: list[dict[str, Any]] = [{"params": others, "weight_decay": 0.0}]
    if settings.kind == "adamw":
        groups.append({"params": matrices, "weight_decay": settings.decay})
    parts: list[torch.optim.Optimizer] = [torch.optim.AdamW(groups, betas=betas, eps=settings.eps, fused=fused)]
    if settings.kind == "muon":
        parts.append(Muon(matrices, settings.decay))
    return Together(parts)
