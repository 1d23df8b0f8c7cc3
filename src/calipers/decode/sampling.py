"""From logits to a token and the distribution it was drawn from.

    q = softmax(truncate(logits / temperature))      temperature 0: truncate only, and take the argmax

Truncation is nucleus first, then top-k, as the Dream family's reference has it.
"""

from __future__ import annotations

import torch
from torch import Tensor

# The smallest temperature that is not 0 to a float32.
_LEAST = torch.finfo(torch.float32).tiny


def draw(
    logits: Tensor, temperature: float, top_p: float, top_k: int, generator: torch.Generator | None
) -> tuple[Tensor, Tensor]:
    """Tokens [n] and the log-probabilities [n, vocabulary] they were drawn from."""
    if temperature > 0:
        # Shifted by the best one first, which then stays 0 however little it is divided by.
        logits = (logits - logits.amax(-1, keepdim=True)) / max(temperature, _LEAST)
    if top_p < 1:
        logits = nucleus(logits, top_p)
    if 0 < top_k < logits.shape[-1]:
        least = logits.topk(top_k, -1).values[:, -1:]
        logits = logits.masked_fill(logits < least, -torch.inf)
    logs = logits.log_softmax(-1)
    if temperature > 0:
        # On the CPU, so that a seed gives the same text whatever the device.
        tokens = torch.multinomial(logs.exp().cpu(), 1, generator=generator)[:, 0].to(logs.device)
    else:
        tokens = logits.argmax(-1)
    return tokens, logs


def nucleus(logits: Tensor, top_p: float) -> Tensor:
    """Keep the fewest most probable tokens whose mass reaches `top_p`; the best one always stays."""
    ordered, order = logits.sort(-1, descending=True)
    before = ordered.softmax(-1).cumsum(-1) - ordered.softmax(-1)
    # A token goes when the mass in front of it already exceeds p.
    drop = torch.zeros_like(before, dtype=torch.bool).scatter(-1, order, before > top_p)
    return logits.masked_fill(drop, -torch.inf)
