"""Which positions to commit first: one score a position, the highest goes first.

low_confidence   p(token), of the untempered, untruncated softmax       (LLaDA)
entropy          Σ q log q, the negative entropy of the distribution drawn from   (Dream)
margin           q's best minus its second best                          (Dream)
random           uniform
"""

from __future__ import annotations

import torch
from torch import Tensor


def rank(rule: str, logits: Tensor, tokens: Tensor, logs: Tensor, generator: torch.Generator | None) -> Tensor:
    """Scores [n] for positions with raw `logits`, drawn `tokens`, and log q in `logs`."""
    if rule == "low_confidence":
        return chosen(logits, tokens)
    if rule == "entropy":
        probabilities = logs.exp()
        # 0 · log 0 is 0, not the NaN that arithmetic makes of it.
        return (probabilities * logs.masked_fill(probabilities == 0, 0.0)).sum(-1)
    if rule == "margin":
        best = logs.topk(2, -1).values.exp()
        return best[:, 0] - best[:, 1]
    return torch.rand(len(tokens), generator=generator).to(logits.device)


def chosen(logits: Tensor, tokens: Tensor) -> Tensor:
    """p(token) under the plain softmax: the confidence that thresholds speak of."""
    # Shifted by the best first: exp(picked - logsumexp) would lose digits to large logits.
    shifted = logits - logits.amax(-1, keepdim=True)
    picked = shifted.gather(-1, tokens[:, None])[:, 0]
    return picked.exp() / shifted.exp_().sum(-1)
