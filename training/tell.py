"""Prose told by the base model itself, for kinds of text that no package holds; Apache-2.0, as the base is.

    python -m training.tell --gguf BASE.gguf --tokenizer tokenizer.json --tokens 3e7 --out told.jsonl.xz

The base is a causal model and is run as one, its keys and values kept, many tellings side by side. Give what comes
out to `python -m training.corpus … --text`, which keeps it away from evaluation like any other text.
"""

from __future__ import annotations

import argparse
import json
import lzma
import random
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import torch
from torch import Tensor

from calipers.models.backbone import Backbone, Block, attend, attention_of
from calipers.models.tokenizer import Tokenizer
from training.architecture import backbone_of
from training.base import base_weights
from training.prompts import request

# The base's own marks of a turn in a conversation.
TURN, END = 1, 2
_SHORTEST = 80  # characters of a telling that is kept


def opening(text: str, tokenizer: Tokenizer) -> list[int]:
    """A request as the base reads it, up to where its answer begins."""
    asked = [TURN, *tokenizer.encode("user\n" + text), END, *tokenizer.encode("\n")]
    return [*asked, TURN, *tokenizer.encode("assistant\n")]


class Causal:
    """A backbone run left to right: `next` takes the tokens that came and gives logits of the one to come."""

    def __init__(self, backbone: Backbone, rows: int, room: int) -> None:
        self._backbone, shape = backbone, backbone.shape
        like = backbone.embed.weight
        kept = (shape.layers, rows, shape.kv_heads, room, shape.head_dim)
        self._keys, self._values = like.new_empty(kept), like.new_empty(kept)
        self._at = 0

    @torch.inference_mode()
    def next(self, ids: Tensor) -> Tensor:
        """Logits [rows, vocab] after `ids` [rows, n]: all of the opening at first, then one token at a time."""
        backbone, new = self._backbone, ids.shape[1]
        begin, end = self._at, self._at + new
        x = backbone.embed(ids)
        cos, sin = (part[begin:end] for part in backbone.angles(end, x))
        # One token sees all before it; an opening is read at once, each of its tokens seeing those before it.
        keep = x.new_ones(new, end, dtype=torch.bool).tril(begin) if new > 1 else None
        with attention_of(x):
            for layer, block in enumerate(cast("list[Block]", list(backbone.blocks))):
                q, k, v = block.heads(x, cos, sin)
                self._keys[layer, :, :, begin:end], self._values[layer, :, :, begin:end] = k, v
                keys, values = (kept[layer, :, :, :end] for kept in (self._keys, self._values))
                x = block.close(x, attend(q, keys, values, keep))
        self._at = end
        return backbone.logits(x[:, -1])


def tell(backbone: Backbone, openings: Tensor, most: int, temperature: float, top: int, lot: torch.Generator) -> Tensor:
    """At most `most` tokens after each opening [rows, n], drawn from the `top` likeliest; what follows END is none."""
    causal = Causal(backbone, len(openings), openings.shape[1] + most)
    ids, told = openings, list[Tensor]()
    ended = torch.zeros(len(openings), 1, dtype=torch.bool, device=openings.device)
    for _ in range(most):
        best = (causal.next(ids).float() / temperature).topk(top)
        drawn = torch.multinomial(best.values.softmax(-1), 1, generator=lot)
        ids = best.indices.gather(1, drawn).masked_fill(ended, END)
        told.append(ids)
        ended |= ids == END
        if len(told) % 16 == 0 and bool(ended.all()):
            break
    return torch.cat(told, 1)


def openings(tokenizer: Tokenizer, rows: int, lot: random.Random) -> Iterator[list[list[int]]]:
    """Batches of openings of one length each, without end: so none is padded."""
    waiting = defaultdict[int, list[list[int]]](list)
    while True:
        one = opening(request(lot), tokenizer)
        waiting[len(one)].append(one)
        if len(waiting[len(one)]) == rows:
            yield waiting.pop(len(one))


def main() -> None:
    """Tell until there are tokens enough."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--gguf", type=Path, required=True)
    parser.add_argument("--tokenizer", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True, help="a .jsonl.xz, written whole")
    parser.add_argument("--tokens", type=float, default=3e7)
    parser.add_argument("--rows", type=int, default=2048, help="tellings side by side")
    parser.add_argument("--most", type=int, default=160, help="tokens of a telling")
    parser.add_argument("--temperature", type=float, default=0.8)
    parser.add_argument("--top", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    args = parser.parse_args()
    tokenizer = Tokenizer.from_json(args.tokenizer.read_text("utf-8"))
    backbone = backbone_of(base_weights(args.gguf), device=args.device, dtype=torch.bfloat16)
    lot = torch.Generator(args.device).manual_seed(args.seed)
    tokens, kept, began = 0, 0, time.monotonic()
    part = args.out.with_name(args.out.name + ".part")
    with lzma.open(part, "wt", encoding="utf-8", preset=1) as file:
        for batch in openings(tokenizer, args.rows, random.Random(args.seed)):
            told = tell(backbone, torch.tensor(batch, device=args.device), args.most, args.temperature, args.top, lot)
            for ids in told.tolist():
                whole = END in ids
                own = ids[: ids.index(END)] if whole else ids
                text = tokenizer.decode(own).strip()
                if not whole:  # cut where its last sentence ends
                    text = text[: max(text.rfind(mark) for mark in ".!?") + 1]
                if len(text) >= _SHORTEST:
                    file.write(json.dumps({"text": text}, ensure_ascii=False) + "\n")
                    tokens += len(own)
                    kept += 1
            rate = tokens / (time.monotonic() - began)
            print(f"{kept} tellings, {tokens / 1e6:.1f} M tokens, {rate:,.0f}/s", file=sys.stderr, flush=True)
            if tokens >= args.tokens:
                break
    part.replace(args.out)


if __name__ == "__main__":
    main()
