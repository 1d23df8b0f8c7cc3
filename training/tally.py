"""Losses added up where they are computed, by the kind of hole and by the row's masked share."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from training.examples.spans import KINDS
from training.feed import SHARES, Feed


class Tally:
    """Sums and counts on the device; reading them is the only time it is waited for."""

    def __init__(self, device: torch.device) -> None:
        self._kinds = torch.zeros(2, len(KINDS) + 1, dtype=torch.float64, device=device)
        self._shares = torch.zeros(2, len(SHARES), dtype=torch.float64, device=device)

    @torch.no_grad()
    def add(self, losses: Tensor, feed: Feed) -> None:
        """Add the losses of a feed's targets."""
        both = torch.stack((losses.detach().double(), torch.ones_like(losses, dtype=torch.float64)))
        self._kinds.index_add_(1, feed.kinds, both)
        self._shares.index_add_(1, feed.share, both)

    def read(self) -> dict[str, Any]:
        """Means in nats with the tokens they are over; {} where nothing was added."""
        (sums, counts), shares = self._kinds.tolist(), self._shares.tolist()
        if not (total := sum(counts)):
            return {}
        return {
            "loss": round(sum(sums) / total, 5),
            "targets": int(total),
            "kinds": {
                name: [round(s / n, 4), int(n)] for name, s, n in zip(KINDS, sums[1:], counts[1:], strict=True) if n
            },
            "shares": {
                f"to {edge}": [round(s / n, 4), int(n)] for edge, s, n in zip(SHARES, *shares, strict=True) if n
            },
        }
