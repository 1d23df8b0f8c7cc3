"""A template is text with holes: `texts[0] · hole · texts[1] · hole · … · texts[n]`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from calipers.errors import TemplateError

MARKER = "<hole>"


@dataclass(frozen=True, slots=True)
class Template:
    """The texts around `len(texts) - 1` holes, in reading order."""

    texts: tuple[str, ...]

    def __post_init__(self) -> None:
        if len(self.texts) < 2:
            raise TemplateError(
                f"A template of {len(self.texts)} text(s) has no hole; give the texts before and "
                "after each hole, or use Template.parse on a text with a marker."
            )
        for text in self.texts:
            if not isinstance(text, str):
                raise TemplateError(f"A text of the template is {text!r}, not a string; give '' for an empty one.")
            try:
                text.encode("utf-8")
            except UnicodeEncodeError as bad:
                raise TemplateError(
                    f"A text has half a surrogate pair at character {bad.start}, which is no UTF-8; "
                    "decode the text it comes from with its right encoding."
                ) from None

    @classmethod
    def around(cls, prefix: str, suffix: str) -> Template:
        """One hole between two strings; either may be empty."""
        return cls((prefix, suffix))

    @classmethod
    def parse(cls, text: str, marker: str = MARKER, holes: int | None = None) -> Template:
        """Cut a text at every occurrence of `marker`; `holes` says how many there must be."""
        if not marker:
            raise TemplateError(f"marker is empty; name the string that marks a hole, e.g. {MARKER!r}.")
        texts = tuple(text.split(marker))
        found = len(texts) - 1
        if found == 0:
            raise TemplateError(
                f"The marker {marker!r} is not in the text; put it where something is to be "
                "filled in, or name another marker."
            )
        if holes is not None and found != holes:
            raise TemplateError(
                f"The marker {marker!r} is in the text {found} times where {holes} "
                f"{'is' if holes == 1 else 'are'} meant; remove the others or name another marker."
            )
        return cls(texts)

    @property
    def holes(self) -> int:
        """How many holes there are."""
        return len(self.texts) - 1

    def fill(self, answers: Sequence[str]) -> str:
        """The whole text with each hole replaced by its answer, and nothing else touched."""
        if len(answers) != self.holes:
            raise TemplateError(f"{len(answers)} answer(s) for {self.holes} hole(s); give one each.")
        pieces = [self.texts[0]]
        for answer, text in zip(answers, self.texts[1:], strict=True):
            pieces += [answer, text]
        return "".join(pieces)
