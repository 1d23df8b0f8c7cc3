"""Batches as tensors: what the model reads, which rows of it are asked for, and how each answer counts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from training.architecture import BOS, MASK
from training.examples.batch import Batch, Bucket, buckets
from training.settings import Loss, Rows

# Rows are told apart by their masked share, up to each of these.
SHARES = (0.1, 0.25, 0.5, 0.75, 1.0)


@dataclass(frozen=True, slots=True)
class Feed:
    """One forward's worth.

    ids, keep   [rows, width]; keep is None where padding may be attended to
    asked       flat rows of the output that predict the targets: position j is read at row j - 1
    targets, kinds, share, weights   of each target: its id, its hole's kind, its row's bin in SHARES, its weight
    """

    ids: Tensor
    keep: Tensor | None
    asked: Tensor
    targets: Tensor
    kinds: Tensor
    share: Tensor
    weights: Tensor

    def to(self, device: torch.device) -> Feed:
        """The same on a device, without waiting for it."""

        def send(x: Tensor) -> Tensor:
            return x.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else x

        keep = None if self.keep is None else send(self.keep)
        parts = (self.asked, self.targets, self.kinds, self.share, self.weights)
        return Feed(send(self.ids), keep, *map(send, parts))


def feeds(batch: Batch, rows: Rows, loss: Loss) -> Iterator[Feed]:
    """A batch in forwards, longest rows first."""
    return (feed(bucket, rows, loss) for bucket in buckets(batch, rows.bucket, BOS, rows.step))


def feed(bucket: Bucket, rows: Rows, loss: Loss) -> Feed:
    """One bucket's tensors."""
    width = bucket.ids.shape[1]
    masked = bucket.kinds > 0
    # The token that begins a text is nobody's target.
    shares = masked.sum(1) / np.maximum(1, bucket.sizes - 1)
    keep = None
    if not rows.attend_padding and (bucket.sizes < width).any():
        keep = torch.from_numpy(np.arange(width) < bucket.sizes[:, None])
    at = np.flatnonzero(masked)
    ids = bucket.ids.astype(np.int64)
    own = at // width
    return Feed(
        ids=torch.from_numpy(np.where(masked, MASK, ids)),
        keep=keep,
        asked=torch.from_numpy(at - 1),
        targets=torch.from_numpy(ids.reshape(-1)[at]),
        kinds=torch.from_numpy(bucket.kinds.reshape(-1)[at].astype(np.int64)),
        share=torch.from_numpy(np.searchsorted(SHARES[:-1], shares)[own]),
        weights=torch.from_numpy(row_weights(shares, loss)[own].astype(np.float32)),
    )


def row_weights(shares: NDArray[np.float64], loss: Loss) -> NDArray[np.float64]:
    """How much a target of each row counts, by the row's masked share."""
    if loss.weighting == "token":
        return np.ones_like(shares)
    inverse = 1 / np.maximum(shares, 1e-9)
    return np.minimum(inverse if loss.weighting == "share" else np.sqrt(inverse), loss.most)
