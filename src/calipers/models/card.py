"""A card describes a checkpoint: who it is, what it may be used for, and its quirks.

Cards are data (`cards/*.toml`), each with the source of its facts. What a checkpoint's own
`config.json` says is read from there and wins; a card adds what no config says.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache
from importlib import resources
from typing import Any, Literal

from calipers.errors import ModelError

DEFAULT = "calipers-135m"


@dataclass(frozen=True, slots=True)
class Card:
    """Facts of one checkpoint.

    name       the short name, used on the command line and in results
    id         hub id, or the path of a local folder
    family     `model_type` of its config: llada, Dream, calipers
    revision   hub revision that is loaded when none is named
    licence    of the weights
    source     where these facts come from
    context    longest sequence, in tokens; 0: what the config says
    forbidden  ids that never come out, beside mask, pads and every special token
    opens      when a begin-of-text token goes first: always, bare (nothing before the hole), never
    closes     whether an end-of-text token follows a text that was not cropped
    bos_id, eos_id   where the card knows better than the config (Dream's config names another BOS)
    expand_id, delete_id   tokens that change the length while decoding (DreamOn), or None
    rank, top_p   how the family orders positions when it decodes
    bias       name of the length bias used when none is named
    file       the packed file inside this package, if the weights ship with it
    """

    name: str
    id: str
    family: str
    revision: str = "main"
    licence: str = "unknown"
    source: str = ""
    context: int = 0
    forbidden: tuple[int, ...] = ()
    opens: Literal["always", "bare", "never"] = "never"
    closes: bool = False
    bos_id: int | None = None
    eos_id: int | None = None
    expand_id: int | None = None
    delete_id: int | None = None
    rank: str = "low_confidence"
    top_p: float = 1.0
    bias: str = "paper"
    file: str = ""

    @classmethod
    def read(cls, values: Mapping[str, Any], where: str) -> Card:
        """A card from a table of values; an unknown or missing key is an error."""
        known = {f.name for f in fields(cls)}
        if strange := set(values) - known:
            raise ModelError(f"Card {where} has unknown key(s) {sorted(strange)}; known: {sorted(known)}.")
        if missing := {"name", "id", "family"} - set(values):
            raise ModelError(f"Card {where} lacks {sorted(missing)}; add them.")
        fixed: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in values.items()}
        return cls(**fixed)


@cache
def cards() -> dict[str, Card]:
    """All cards that ship with calipers, by name."""
    found = {}
    for file in sorted(resources.files(__package__).joinpath("cards").iterdir(), key=lambda f: f.name):
        if file.name.endswith(".toml"):
            card = Card.read(tomllib.loads(file.read_text("utf-8")), file.name)
            found[card.name] = card
    return found


def find_card(name: str) -> Card | None:
    """The card with this name or hub id, in any case of letters."""
    for card in cards().values():
        if name.lower() in (card.name.lower(), card.id.lower()):
            return card
    return None
