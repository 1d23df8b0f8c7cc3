"""A fill is the answer: the texts of the holes, their lengths, and how they came about."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from calipers.errors import ArgumentError
from calipers.landscape import Landscape
from calipers.template import Template

SCHEMA = "calipers-fill-1"


@dataclass(frozen=True, slots=True)
class Fill:
    """What was filled in, and everything needed to say how.

    template     the text with its holes
    texts        what each hole got; `template.fill(texts)` is `whole`
    ids          the same in token ids
    lengths      tokens of each hole as decoded (a decoder may have grown or trimmed the choice)
    landscapes   what was probed of each hole (of its last pass), with the length chosen
    probes       lengths scored
    forwards     model calls: rounds of canvases asked for together (a round too large for the device runs in parts)
    passes       rounds over the holes until no length changed (1 for one hole)
    timings      seconds: encode, search, decode, total
    made_with    model, revision, device and dtype, bias, search, decoder, seed and the other settings, version
    notes        what the user should know: text cropped, a foreign bias, an echo trimmed
    """

    template: Template
    texts: tuple[str, ...]
    ids: tuple[tuple[int, ...], ...]
    lengths: tuple[int, ...]
    landscapes: tuple[Landscape, ...]
    probes: int
    forwards: int
    passes: int
    timings: dict[str, float]
    made_with: dict[str, Any]
    notes: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The one hole's text."""
        return self.texts[self._only("text", "texts")]

    @property
    def length(self) -> int:
        """The one hole's length in tokens."""
        return self.lengths[self._only("length", "lengths")]

    @property
    def landscape(self) -> Landscape:
        """The one hole's landscape."""
        return self.landscapes[self._only("landscape", "landscapes")]

    @property
    def whole(self) -> str:
        """The template with its holes filled, nothing else touched."""
        return self.template.fill(self.texts)

    @property
    def model(self) -> str:
        """The model's name."""
        return str(self.made_with["model"])

    @property
    def bias(self) -> str:
        """The bias's name."""
        return str(self.made_with["bias"])

    def plot(self, path: str | Path, hole: int = 0) -> Path:
        """Draw a hole's landscape into a PNG, SVG or PDF file (needs the `plot` extra)."""
        return self.landscapes[hole].plot(path)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON, `text` of every hole and `whole` included for readers."""
        values = asdict(self)
        values["template"] = list(self.template.texts)
        return {"schema": SCHEMA, **values, "whole": self.whole}

    def to_json(self, indent: int | None = None) -> str:
        """JSON that `from_json` reads back to an equal fill."""
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=indent)

    @classmethod
    def from_json(cls, text: str) -> Fill:
        """What `to_json` gave."""
        try:
            values = json.loads(text)
            if values.pop("schema") != SCHEMA:
                raise ValueError("another schema")
            values.pop("whole")
            return cls(
                template=Template(tuple(values.pop("template"))),
                texts=tuple(values.pop("texts")),
                ids=tuple(tuple(hole) for hole in values.pop("ids")),
                lengths=tuple(values.pop("lengths")),
                landscapes=tuple(Landscape.from_dict(one) for one in values.pop("landscapes")),
                notes=tuple(values.pop("notes")),
                **values,
            )
        except (ValueError, KeyError, TypeError, AttributeError):
            raise ArgumentError(
                f"This text is no {SCHEMA}; give what Fill.to_json or `calipers fill --json` wrote."
            ) from None

    def __str__(self) -> str:
        lengths = ", ".join(map(str, self.lengths))
        parts = [
            "\n".join(self.texts),
            "",
            f"length {lengths} · {self.probes} probes · {self.forwards} forwards · "
            f"{self.timings['total']:.2f} s · {self.model} · bias {self.bias}",
            *(f"note: {note}" for note in self.notes),
        ]
        return "\n".join(parts)

    def _only(self, name: str, plural: str) -> int:
        if len(self.texts) != 1:
            raise ArgumentError(f"This fill has {len(self.texts)} holes; use {plural} instead of {name}.")
        return 0
