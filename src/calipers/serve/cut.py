"""Where a text is to end earlier than the model ended it: stop strings and indentation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Cut:
    """The text that is left, and what ended it: a word (which one), a limit, or nothing (eos)."""

    text: str
    kind: Literal["eos", "limit", "word"] = "eos"
    word: str = ""


def cut(text: str, stops: Sequence[str] = (), indent: int = 0) -> Cut:
    """End before the first of the stop strings, and before a line indented less than `indent`.

    The first line of a text goes on where the cursor is, and a blank line has no indentation to
    speak of; neither is judged.
    """
    found = [(at, word) for word in stops if (at := text.find(word)) >= 0]
    at, word = min(found, default=(len(text), ""))
    before = text[:at]
    lines = before.split("\n")
    for number, line in enumerate(lines[1:], 1):
        if line.strip() and len(line) - len(line.lstrip(" \t")) < indent:
            return Cut("\n".join(lines[:number]).rstrip("\n"), "limit")
    return Cut(before, "word", word) if found else Cut(text)
