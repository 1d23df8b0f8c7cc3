"""English paragraphs out of documentation and docstrings: whole sentences, markup taken off."""

from __future__ import annotations

import re
from collections.abc import Iterator

_STOP = {
    "the", "of", "to", "and", "a", "in", "is", "that", "it", "for", "as", "with",
    "are", "be", "this", "by", "on", "or", "an", "from", "which", "can", "not", "if",
    "at", "will", "has", "have", "its", "was", "when", "you", "we",
}  # fmt: skip
_FENCED = re.compile(r"```.*?```|~~~.*?~~~|<!--.*?-->", re.DOTALL)
_MARKED = re.compile(r"\s*(\.\.|:|\||>>>|\$|#|=|\+|<|@|\{|\[!)")
_LEGAL = re.compile(
    r"copyright|permission is hereby|licensed under|without warrant|all rights reserved|redistribut|liab(le|ility)",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"(\"\"\"|''')(.*?)\1", re.DOTALL)
_NO_PROSE = re.compile(
    r"(change|history|news|release|whatsnew|licen|authors|contributors|credits|copying|notice|vendor)", re.IGNORECASE
)
# Markup → what stays of it, in this order: images, links, roles, code, bold, emphasis, tags, bullets, blanks.
_MARKUP = tuple(
    (re.compile(pattern), stays)
    for pattern, stays in (
        (r"!\[[^\]]*\]\([^)]*\)", ""),
        (r"\[([^\]]*)\]\([^)]*\)", r"\1"),
        (r"\[([^\]]*)\]\[[^\]]*\]", r"\1"),
        (r":[\w:+.-]+:`~?\.?([^`<]*?)\s*(<[^`>]*>)?`", r"\1"),
        (r"`([^`<]*?)\s*<[^`>]*>`_{0,2}", r"\1"),
        (r"``?([^`]*)``?_{0,2}", r"\1"),
        (r"\*\*([^*]+)\*\*", r"\1"),
        (r"(?<!\w)[*_]([^*_]+)[*_](?!\w)", r"\1"),
        (r"<[^>]{1,200}>", ""),
        (r"^\s*[-*+•]\s+", ""),
        (r"^(?:[A-Z][\w /,:&-]{1,60} )?([-=~^\"*#])\1{2,}\s+", ""),
        (r"\s([-=~^])\1{3,}\s", " "),
        (r"\s+", " "),
    )
)
SHORTEST, _LONGEST = 200, 6000


def is_prose(path: str) -> bool:
    """Whether a documentation file is to be read: change logs, licences and lists of names are not."""
    return not _NO_PROSE.search(path)


def paragraphs(text: str) -> Iterator[str]:
    """The paragraphs of a text that read as English, each in one line."""
    for raw in re.split(r"\n[ \t]*\n", _FENCED.sub("\n\n", text.replace("\r\n", "\n"))):
        if SHORTEST <= len(raw) <= _LONGEST and not _MARKED.match(raw) and ">>>" not in raw:
            plain = " ".join(line.strip() for line in raw.split("\n"))
            for pattern, stays in _MARKUP:
                plain = pattern.sub(stays, plain)
            if reads_well(plain := plain.strip()):
                yield plain


def docstrings(source: str) -> Iterator[str]:
    """The paragraphs of a module's triple-quoted strings."""
    for match in _QUOTED.finditer(source):
        if len(match.group(2)) > SHORTEST:
            yield from paragraphs(match.group(2))


def reads_well(text: str) -> bool:
    """English sentences, to their end, that are neither legal nor a list of addresses."""
    words = re.findall(r"[a-z']+", text.lower())
    if len(text) < SHORTEST or len(words) < 30 or sum(word in _STOP for word in words) < 0.22 * len(words):
        return False
    if sum(c.isalpha() or c == " " for c in text) < 0.86 * len(text):
        return False
    if len(text.encode("ascii", "ignore")) < 0.97 * len(text) or text.count("http") > 2:
        return False
    return bool(re.search(r"[.!?:)\"']$", text)) and not _LEGAL.search(text)
