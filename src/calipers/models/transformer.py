"""The adapter of every transformer checkpoint: canvases in, aligned logits out.

Here, and only here, live the shift, the mask id, begin- and end-of-text tokens, forbidden
ids, padding, and how much fits the device at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from calipers.canvas import MASK
from calipers.errors import ContextError, ModelError, OutOfMemory
from calipers.look import Look
from calipers.models.backbone import Backbone
from calipers.models.base import Query
from calipers.models.card import Card
from calipers.models.config import Config
from calipers.models.tokenizer import Tokenizer

# How many tokens and how many bytes of logits go through at once. More would not be faster.
_TOKENS = {"cpu": 2048, "cuda": 32768, "mps": 8192}
_LOGIT_BYTES = {"cpu": 1 << 28, "cuda": 1 << 30, "mps": 1 << 29}
# Rows are right-padded to the longest of their batch; more padding than this starts a new batch.
_WASTE = 1.15
# On a CPU code is generated for every new shape, and kept (docs/decisions.md has figures): so the width of a forward is
# a multiple of this there, and the number of positions unembedded one of half of it.
_GRAIN = {"cpu": 16}


class TransformerModel:
    """A `MaskModel` over a backbone, a tokenizer and the facts of a card and a config."""

    def __init__(self, card: Card, config: Config, backbone: Backbone, tokenizer: Tokenizer, shift: bool) -> None:
        self.card = card
        self.backbone = backbone
        self.tokenizer = tokenizer
        self.shift = int(shift)
        size = backbone.shape.vocab
        self._mask_id = config.integer("mask_token_id")
        if not 0 <= self._mask_id < size:
            raise ModelError(
                f"{config.where}: mask_token_id {self._mask_id} is outside the vocabulary of {size}; correct it."
            )
        self._bos = _first_id(card.bos_id, config, "bos_token_id", "eos_token_id")
        self._eos = _first_id(card.eos_id, config, "eos_token_id", "pad_token_id")
        if shift and card.opens == "never":
            raise ModelError(
                f"Card {card.name} never opens with a begin-of-text token, but this family reads position j "
                "from row j - 1 and needs one before a hole at the very start; set opens to bare or always."
            )
        if card.opens != "never" and self._bos is None:
            raise ModelError(f"{config.where} has no bos_token_id, which {card.family} puts first; add it.")
        if card.closes and self._eos is None:
            raise ModelError(f"{config.where} has no eos_token_id, which ends a text here; add it.")
        named = {config.values.get(k) for k in ("pad_token_id", "bos_token_id", "eos_token_id")}
        named |= {self._mask_id, self._bos, self._eos}
        forbidden = {i for i in named if isinstance(i, int)} | set(card.forbidden)
        forbidden |= tokenizer.special | tokenizer.unused(size)
        self._controls = frozenset(i for i in (card.expand_id, card.delete_id) if i is not None)
        weight = backbone.embed.weight
        self.where, self._dtype = weight.device, weight.dtype
        self.never = self._indices(forbidden - self._controls)
        self._rarely = self._indices(self._controls)
        self._tokens = _TOKENS.get(self.where.type, 2048)
        self._grain = _GRAIN.get(self.where.type, 1)
        self._logits = _LOGIT_BYTES.get(self.where.type, 1 << 28) // (4 * size)

    @property
    def context(self) -> int:
        """The most tokens a canvas may have."""
        longest = self.card.context or self.backbone.shape.context
        return longest - (self.card.opens != "never") - self.card.closes

    @property
    def device(self) -> str:
        """Where and in what it computes."""
        return f"{self.where.type}/{str(self._dtype).removeprefix('torch.')}"

    def encode(self, text: str) -> list[int]:
        """Token ids of a text or a piece of one."""
        return self.tokenizer.encode(text)

    def decode(self, ids: Iterable[int]) -> str:
        """The text of ids."""
        return self.tokenizer.decode(ids)

    def predict(self, queries: Sequence[Query]) -> Iterator[Tensor]:
        """Logits of every query, in order; neighbours of like length share a forward."""
        return self.look(queries, [None] * len(queries))

    def look(self, queries: Sequence[Query], looks: Sequence[Look | None]) -> Iterator[Tensor]:
        """The same, reduced to what each query's look keeps, if it has one.

        A forward is begun before the one before it is waited for, so that an accelerator computes
        while answers are taken and the next rows are laid out.
        """
        rows = [self.row(query) for query in queries]
        start = 0
        begun: list[_Answers] = []
        while start < len(rows):
            stop = self._reach(rows, queries, start)
            coming = self._forward(queries[start:stop], rows[start:stop], looks[start:stop])
            for answers in begun:
                yield from answers.arrive()
            begun, start = coming, stop
        for answers in begun:
            yield from answers.arrive()

    def row(self, query: Query) -> tuple[list[int], int]:
        """A canvas as the checkpoint reads it, and how far its positions moved right."""
        canvas = query.canvas
        ids = [self._mask_id if i == MASK else i for i in canvas.ids]
        if len(ids) > self.context:
            raise ContextError(
                f"The canvas has {len(ids)} tokens and {self.card.name} reads {self.context}; "
                "shorten the text or lower max_length."
            )
        # A shifted model reads position j from row j - 1, so there must be a row before the first hole.
        bare = not canvas.texts[0] or 0 in query.positions
        opened = self.card.opens == "always" or (self.card.opens == "bare" and bare)
        if opened and self._bos is not None:
            ids.insert(0, self._bos)
        if self.card.closes and self._eos is not None and not canvas.cropped[1]:
            ids.append(self._eos)
        return ids, int(opened)

    def _reach(self, rows: Sequence[tuple[list[int], int]], queries: Sequence[Query], start: int) -> int:
        """Where the batch that begins at `start` ends."""
        longest = real = asked = 0
        for at in range(start, len(rows)):
            width = _up(len(rows[at][0]), self._grain)
            longest = max(longest, width)
            real += width
            asked += len(queries[at].positions)
            padded = longest * (at - start + 1)
            if at > start and (padded > min(self._tokens, _WASTE * real) or asked > self._logits):
                return at
        return len(rows)

    def _forward(
        self, queries: Sequence[Query], rows: Sequence[tuple[list[int], int]], looks: Sequence[Look | None]
    ) -> list[_Answers]:
        """One forward; where it does not fit, two of half the size, and smaller ones from then on."""
        try:
            return [self._compute(queries, rows, looks)]
        except (torch.OutOfMemoryError, MemoryError, RuntimeError) as failure:
            if not _is_memory(failure):
                raise
            if len(rows) == 1:
                raise OutOfMemory(
                    f"{self.card.name} has no room on {self.where} for one row of {len(rows[0][0])} tokens; "
                    "lower context or max_length, use dtype bfloat16, or a device with more memory."
                ) from None
        half = len(rows) // 2
        self._tokens = _up(max(len(row[0]) for row in rows), self._grain) * half
        return [
            *self._forward(queries[:half], rows[:half], looks[:half]),
            *self._forward(queries[half:], rows[half:], looks[half:]),
        ]

    @torch.inference_mode()
    def _compute(
        self, queries: Sequence[Query], rows: Sequence[tuple[list[int], int]], looks: Sequence[Look | None]
    ) -> _Answers:
        width = _up(max(len(ids) for ids, _ in rows), self._grain)
        padding = self._mask_id  # never attended to
        ids = self._send([row + [padding] * (width - len(row)) for row, _ in rows])
        keep = None
        if any(len(row) < width for row, _ in rows):
            lengths = self._send([len(row) for row, _ in rows])
            keep = torch.arange(width, device=self.where) < lengths[:, None]
        wanted = [
            at * width + moved - self.shift + position
            for at, (query, (_, moved)) in enumerate(zip(queries, rows, strict=True))
            for position in query.positions
        ]
        spare = _up(len(wanted), max(1, self._grain // 2)) - len(wanted)
        logits = self.backbone(ids, keep, self._send(wanted + [0] * spare))[: len(wanted)].float()
        logits[:, self.never] = -torch.inf
        parts = list(torch.split(logits, [len(query.positions) for query in queries]))
        for query, part in zip(queries, parts, strict=True):
            if not query.controls and self._controls:
                part[:, self._rarely] = -torch.inf
        seen = []
        for look in {look for look in looks if look is not None}:
            places = [place for place, one in enumerate(looks) if one == look]
            sizes = [len(queries[place].positions) for place in places]
            whole = logits if len(places) == len(parts) else torch.cat([parts[place] for place in places])
            seen.append((places, sizes, look(whole)))
        return _Answers({place: parts[place] for place, look in enumerate(looks) if look is None}, seen)

    def _send(self, values: list[int] | list[list[int]]) -> Tensor:
        """Whole numbers on the device, without waiting for what it is doing."""
        here = torch.tensor(values, dtype=torch.long)
        return here.pin_memory().to(self.where, non_blocking=True) if self.where.type == "cuda" else here.to(self.where)

    def _indices(self, ids: Iterable[int]) -> Tensor:
        inside = sorted(i for i in ids if 0 <= i < self.backbone.shape.vocab)
        return torch.tensor(inside, dtype=torch.long, device=self.where)


@dataclass(frozen=True, slots=True)
class _Answers:
    """What a forward will have answered: tensors that may still be computed.

    logits   of the queries that have no look, by their place in the forward
    seen     a look's rows for several queries together: their places, rows each, and the rows
    """

    logits: dict[int, Tensor]
    seen: list[tuple[list[int], list[int], Tensor]]

    def arrive(self) -> list[Tensor]:
        """Every query's rows, in order; a look's come home in one transfer, logits stay where they are."""
        out = dict(self.logits)
        for places, sizes, rows in self.seen:
            out |= zip(places, torch.split(rows.cpu(), sizes), strict=True)
        return [rows for _, rows in sorted(out.items())]


def _first_id(known: int | None, config: Config, *keys: str) -> int | None:
    """What the card knows, else the first of the config's keys that is there."""
    for value in (known, *(config.values.get(key) for key in keys)):
        if isinstance(value, int):
            return value
    return None


def _up(size: int, grain: int) -> int:
    """The next multiple of `grain`."""
    return -(-size // grain) * grain


def _is_memory(failure: BaseException) -> bool:
    return isinstance(failure, (torch.OutOfMemoryError, MemoryError)) or "allocate memory" in str(failure)
