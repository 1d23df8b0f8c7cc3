"""Muon (Jordan et al. 2024): a matrix's step is its momentum made orthogonal, so that all its directions count alike.

torch.optim.Muon's own step, to the last digits that bfloat16 leaves (tests/training/test_learning.py), but for all
matrices of one shape at once: thirty layers are a few large products instead of thousands of small ones.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import torch
from torch import Tensor, nn

# The quintic of Jordan et al.: five rounds bring every singular value to between about 0.7 and 1.2.
_QUINTIC, _ROUNDS = (3.4445, -4.7750, 2.0315), 5
_LEAST = 1e-7


class Muon(torch.optim.Optimizer):
    """Steps as large as AdamW's usually are (Liu et al. 2025, arXiv 2502.16982), so that it takes AdamW's rate."""

    def __init__(self, matrices: Iterable[nn.Parameter], decay: float, momentum: float = 0.95) -> None:
        super().__init__(matrices, {"lr": 1e-3, "decay": decay, "momentum": momentum})

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]  # nothing is computed again here
        """Move every matrix that has a gradient."""
        for group in self.param_groups:
            alike = defaultdict[torch.Size, list[Tensor]](list)
            for p in group["params"]:
                if p.grad is not None:
                    alike[p.shape].append(p)
            for shape, matrices in alike.items():
                state = self.state[matrices[0]]
                gradients = torch.stack([p.grad for p in matrices if p.grad is not None])
                if "momentum" not in state:
                    state["momentum"] = torch.zeros_like(gradients)
                state["momentum"].lerp_(gradients, 1 - group["momentum"])
                step = orthogonal(gradients.lerp_(state["momentum"], group["momentum"]))
                torch._foreach_mul_(matrices, 1 - group["lr"] * group["decay"])
                size = 0.2 * max(shape) ** 0.5
                torch._foreach_add_(matrices, list(step.to(matrices[0].dtype)), alpha=-group["lr"] * size)


def orthogonal(matrices: Tensor) -> Tensor:
    """[n, rows, columns] with singular values near 1, in bfloat16."""
    a, b, c = _QUINTIC
    x = matrices.bfloat16()
    tall = x.shape[1] > x.shape[2]
    x = x.mT if tall else x
    x = x / x.norm(dim=(1, 2), keepdim=True).clamp(min=_LEAST)
    for _ in range(_ROUNDS):
        square = x @ x.mT
        x = torch.baddbmm(x, torch.baddbmm(square, square, square, beta=b, alpha=c), x, beta=a)
    return x.mT if tall else x
