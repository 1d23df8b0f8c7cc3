"""The one transformer all families share: pre-norm blocks, full attention, rotary positions, gated MLP.

x ← x + O·attend(rope(Q n), rope(K n), V n),    n = norm(x)
x ← x + D·(silu(G n) ⊙ U n),                    n = norm(x)
logits = E·norm(x)      at the rows that are asked for, and at no others
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

# Not cuDNN's, which torch would prefer on new cards: it plans anew for every number of rows and width, and both differ
# from forward to forward here; and where memory is short its error does not say so (docs/decisions.md).
_ATTENTION = [SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]


@dataclass(frozen=True, slots=True)
class Shape:
    """The sizes and the few switches in which the families differ."""

    vocab: int
    dim: int
    layers: int
    heads: int
    kv_heads: int
    hidden: int
    eps: float
    theta: float
    context: int
    qkv_bias: bool = False
    tied: bool = False
    rope_in_float32: bool = False

    @property
    def head_dim(self) -> int:
        """Width of one head."""
        return self.dim // self.heads


class Norm(nn.Module):
    """RMSNorm; the mean square is taken in float32 whatever the dtype."""

    def __init__(self, dim: int, eps: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(dim))
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        """x / rms(x) · weight, the quotient in float32 and cast back before the product, as the families do."""
        if x.dtype == torch.float32:
            return F.rms_norm(x, x.shape[-1:], self.weight, self.eps)
        return F.rms_norm(x.float(), x.shape[-1:], None, self.eps).to(x.dtype) * self.weight


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotary positions in half-rotation form, in the dtype of cos and sin, cast back."""
    wide = x.to(cos.dtype)
    a, b = wide.chunk(2, -1)
    return (wide * cos + torch.cat((-b, a), -1) * sin).to(x.dtype)


def attention_of(x: Tensor) -> AbstractContextManager[None]:
    """Within, attention is computed by the kernels that suit us where `x` is."""
    return sdpa_kernel(_ATTENTION) if x.is_cuda else nullcontext()


def attend(q: Tensor, k: Tensor, v: Tensor, keep: Tensor | None) -> Tensor:
    """Full attention; a key and value head serves several query heads where there are fewer of them."""
    grouped = k.shape[1] != q.shape[1]
    if grouped and keep is not None and q.is_cuda:
        # No fused kernel there takes both a mask and grouped heads; the plain one would hold all scores.
        k, v = (x.repeat_interleave(q.shape[1] // x.shape[1], 1) for x in (k, v))
        grouped = False
    return F.scaled_dot_product_attention(q, k, v, attn_mask=keep, enable_gqa=grouped)


class Block(nn.Module):
    """One layer."""

    def __init__(self, s: Shape) -> None:
        super().__init__()
        self.shape = s
        kv = s.kv_heads * s.head_dim
        self.norm1, self.norm2 = Norm(s.dim, s.eps), Norm(s.dim, s.eps)
        self.q = nn.Linear(s.dim, s.dim, bias=s.qkv_bias)
        self.k = nn.Linear(s.dim, kv, bias=s.qkv_bias)
        self.v = nn.Linear(s.dim, kv, bias=s.qkv_bias)
        self.o = nn.Linear(s.dim, s.dim, bias=False)
        self.gate = nn.Linear(s.dim, s.hidden, bias=False)
        self.up = nn.Linear(s.dim, s.hidden, bias=False)
        self.down = nn.Linear(s.hidden, s.dim, bias=False)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor, keep: Tensor | None) -> Tensor:
        """Attention, then the MLP; `keep` is false at padding."""
        q, k, v = self.heads(x, cos, sin)
        return self.close(x, attend(q, k, v, keep))

    def heads(self, x: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values [rows, heads, length, head_dim], rotated to their positions."""
        rows, length, _ = x.shape
        n = self.norm1(x)

        def heads(y: Tensor) -> Tensor:
            return y.view(rows, length, -1, self.shape.head_dim).transpose(1, 2)

        return rotate(heads(self.q(n)), cos, sin), rotate(heads(self.k(n)), cos, sin), heads(self.v(n))

    def close(self, x: Tensor, seen: Tensor) -> Tensor:
        """What attention has seen, added to x, and then the MLP."""
        x = x + self.o(seen.transpose(1, 2).reshape(*x.shape[:2], -1))
        n = self.norm2(x)
        out: Tensor = x + self.down(F.silu(self.gate(n)) * self.up(n))
        return out


class Backbone(nn.Module):
    """Embedding, blocks, final norm, unembedding."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        self.embed = nn.Embedding(shape.vocab, shape.dim)
        self.blocks = nn.ModuleList(Block(shape) for _ in range(shape.layers))
        self.norm = Norm(shape.dim, shape.eps)
        self.unembed = None if shape.tied else nn.Linear(shape.dim, shape.vocab, bias=False)
        self._rope: tuple[Tensor, Tensor] | None = None

    def forward(self, ids: Tensor, keep: Tensor | None = None, rows: Tensor | None = None) -> Tensor:
        """Raw logits [n, vocab] of flat `rows` of ids [batch, length] (all of them if None).

        `keep` [batch, length] is false at padding, which nothing attends to.
        """
        x: Tensor = self.embed(ids)
        cos, sin = self.angles(ids.shape[1], x)
        mask = None if keep is None else keep[:, None, None, :]
        with attention_of(x):
            for block in self.blocks:
                x = block(x, cos, sin, mask)
        x = x.reshape(-1, x.shape[-1])
        return self.logits(x if rows is None else x[rows])

    def logits(self, x: Tensor) -> Tensor:
        """What comes out of the blocks at some positions, as raw logits."""
        x = self.norm(x)
        weight = self.embed.weight if self.unembed is None else self.unembed.weight
        logits: Tensor = F.linear(x, weight)
        return logits

    def compile_blocks(self) -> None:
        """Let torch compile the blocks, once for all of them and for every batch and length."""
        for block in self.blocks:
            block.compile(dynamic=True)

    def angles(self, length: int, like: Tensor) -> tuple[Tensor, Tensor]:
        """cos and sin of every position's angles, kept from call to call, grown when needed."""
        if self._rope is None or self._rope[0].shape[0] < length:
            dim, theta = self.shape.head_dim, self.shape.theta
            even = torch.arange(0, dim, 2, device=like.device, dtype=torch.float32)
            positions = torch.arange(max(length, 512), device=like.device, dtype=torch.float32)
            angles = torch.outer(positions, 1.0 / theta ** (even / dim))
            angles = torch.cat((angles, angles), -1)
            # Dream casts cos and sin to the activations' dtype; LLaDA rotates in float32.
            dtype = torch.float32 if self.shape.rope_in_float32 else like.dtype
            self._rope = angles.cos().to(dtype), angles.sin().to(dtype)
        return self._rope[0][:length], self._rope[1][:length]
