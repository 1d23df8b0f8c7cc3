"""What is kept of a position's logits where nobody needs them all: a few numbers instead of a vocabulary.

A probe wants how probable the best token is; a greedy step also wants which token it is and how
early its position should go. A look takes these from the logits beside the model, for all rows of
a forward at once, so that many texts share one reduction and one transfer, and what a search has
seen of a length can be kept whole: the last probe is the first denoising step.

A row is (token, its probability, its rank[, Σ p log p]); the columns are named below.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor

TOKEN, PROBABILITY, RANK, ENTROPY = range(4)


@dataclass(frozen=True, slots=True)
class Look:
    """How positions are ranked and tokens truncated (as in `Denoise`), and whether entropy is wanted too."""

    rank: str = "low_confidence"
    top_p: float = 1.0
    top_k: int = 0
    entropy: bool = False

    def __call__(self, logits: Tensor) -> Tensor:
        """Rows [n, 3 or 4] in float32, beside the logits; a token's id is a whole number there, exactly."""
        import torch

        best = logits.max(-1)
        # Never below: the exponential is 0 long before, and 0 times infinity would be no number.
        shifted = (logits - best.values[:, None]).clamp_min_(-1e4)
        powers = shifted.exp()
        total = powers.sum(-1)
        probability = total.reciprocal()
        columns = [best.indices.float(), probability]
        plain_entropy = None
        if self.entropy or (self.rank == "entropy" and self._whole):
            plain_entropy = powers.mul_(shifted).sum(-1) * probability - total.log()
        columns.append(self._ranked(logits, best.indices, probability, plain_entropy))
        if self.entropy and plain_entropy is not None:
            columns.append(plain_entropy)
        return torch.stack(columns, 1)

    @property
    def _whole(self) -> bool:
        return self.top_p == 1 and self.top_k == 0

    def _ranked(self, logits: Tensor, tokens: Tensor, probability: Tensor, plain_entropy: Tensor | None) -> Tensor:
        if self.rank == "low_confidence":
            return probability
        if self.rank == "entropy" and self._whole and plain_entropy is not None:
            return plain_entropy
        from calipers.decode.rank import rank
        from calipers.decode.sampling import draw

        _, logs = draw(logits, 0.0, self.top_p, self.top_k, None)
        return rank(self.rank, logits, tokens, logs, None)
