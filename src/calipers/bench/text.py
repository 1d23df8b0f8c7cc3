"""Text infilling: stories, abstracts and reviews with a span of words missing.

The paper's protocol, as its published preprocessing scripts have it: one generator, seed 42, for a whole
set; a text is split on blanks into words w; a length n is drawn from 2 … min(8, |w|), then a start s from
0 … |w| - n, each uniformly; then

    prefix = " ".join(w[:s])     answer = " ".join(w[s:s+n])     suffix = " ".join(w[s+n:])

without a blank at either seam. (The paper says tokens; the scripts mask words.)

    stories     1,000 are drawn first (random.sample, before any span), then masked in the order drawn;
                a file of fewer is masked whole, in its order; a text of one word is masked whole
    abstracts   30 words or more, all of them, in the order of the file; shorter ones draw nothing
    reviews     the same, over the test split of yelp_review_full

Followed to the letter: what is drawn and when. Different: the published script for abstracts counts nine
lines an entry, so loses the last entry of the file; here it is a task too (the last: no other is changed).
Not established: whether texts of the hub's yelp_review_full are byte for byte those of its CSV; and which
story file was used, where the scripts name "ROCStories_winter2017 - ROCStories_winter2017.csv".
"""

from __future__ import annotations

import csv
import io
import json
import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from calipers.errors import TargetError
from calipers.tasks import Task, refuse_twins, unpack

SHORTEST, LONGEST = 2, 8
SEED = 42
# More text than this is no test set, and would not fit into memory as one.
LARGEST = 1 << 30
FORMS = """\
ROCStories CSV (columns storyid, storytitle, sentence1 … sentence5); \
Story Cloze CSV (InputStoryid, InputSentence1 … 4, RandomFifthSentenceQuiz1 and 2, AnswerRightEnding); \
arxiv_cs_abstracts.txt of chrisdonahue/ilm (entries of seven lines, two empty lines between them); \
Yelp JSON lines (review_id, text); the CSV of yelp_review_full (stars, text); \
JSON lines of text and, if you like, id; each as it is or as .gz"""
_ROC = tuple(f"sentence{n}" for n in range(1, 6))
_CLOZE = tuple(f"InputSentence{n}" for n in range(1, 5))
_ENDINGS = ("RandomFifthSentenceQuiz1", "RandomFifthSentenceQuiz2")


@dataclass(frozen=True, slots=True)
class Text:
    """A text of a file and its id there (or its number, from 1)."""

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class Protocol:
    """Which texts of a file are masked: those of `least` words or more; of them `sample`, if it is given."""

    least: int = 1
    sample: int | None = None


PROTOCOLS = {"stories": Protocol(sample=1000), "abstracts": Protocol(least=30), "reviews": Protocol(least=30)}


def mask(texts: Sequence[Text], protocol: Protocol, seed: int = SEED) -> tuple[Task, ...]:
    """The tasks of these texts, drawn as the module says."""
    rng = random.Random(seed)
    kept = [text for text in texts if len(text.text.split()) >= protocol.least]
    if protocol.sample is not None and len(kept) >= protocol.sample:
        kept = rng.sample(kept, protocol.sample)
    return tuple(_span(text, rng) for text in kept)


def _span(text: Text, rng: random.Random) -> Task:
    words = text.text.split()
    length = rng.randint(SHORTEST, min(LONGEST, len(words))) if len(words) >= SHORTEST else 1
    start = rng.randint(0, len(words) - length)
    end = start + length
    return Task(text.id, " ".join(words[:start]), " ".join(words[end:]), " ".join(words[start:end]))


def read_texts(path: Path) -> list[Text]:
    """The texts of a file in one of the forms they are distributed in, recognised by content."""
    if path.is_file() and path.stat().st_size > LARGEST:
        raise TargetError(
            f"{path} has {path.stat().st_size / LARGEST:.1f} GiB, more than a test set; name a part of it, "
            f"for example of: head -n 50000 {path} > part{path.suffix}"
        )
    content = unpack(path).lstrip("\ufeff").replace("\r\n", "\n")
    form = _form(content)
    if form is None:
        raise TargetError(f"{path} has none of the known forms: {FORMS}. Name another file, or bring it into one.")
    try:
        texts = list(form(content))
    except (ValueError, KeyError, TypeError, AttributeError, csv.Error) as broken:
        raise TargetError(
            f"{path} begins like a known form ({(form.__doc__ or '').rstrip('.')}) but does not go on so: {broken}; "
            "repair it."
        ) from None
    empty = next((text.id for text in texts if not text.text.split()), None)
    if empty is not None:
        raise TargetError(f"{path} has nothing in text {empty!r}; leave it out or fill it in.")
    refuse_twins([text.id for text in texts], path)
    return texts


def _form(content: str) -> Callable[[str], Iterator[Text]] | None:
    first = content.lstrip().partition("\n")[0][:10_000]
    if first.startswith("{"):
        return _json_lines
    columns = next(csv.reader([first], delimiter=_delimiter(first)), [])
    if {"storyid", *_ROC} <= set(columns):
        return _roc_stories
    if {"InputStoryid", *_CLOZE, *_ENDINGS, "AnswerRightEnding"} <= set(columns):
        return _story_cloze
    if len(columns) == 2 and re.fullmatch("[1-5]", columns[0]):
        return _starred
    if content.partition("\n\n\n")[0].strip("\n").count("\n") >= 6:
        return _abstracts
    return None


def _delimiter(line: str) -> str:
    return "\t" if "\t" in line else ","


def _rows(content: str) -> csv.DictReader[str]:
    return csv.DictReader(io.StringIO(content, newline=""), delimiter=_delimiter(content.partition("\n")[0]))


def _json_lines(content: str) -> Iterator[Text]:
    """JSON lines with a text in each."""
    for number, line in enumerate(content.split("\n"), 1):
        if line.strip():
            values = json.loads(line)
            if not isinstance(values.get("text"), str):
                raise ValueError(f"line {number} has no text under 'text'")
            yield Text(str(values.get("id", values.get("review_id", number))), values["text"])


def _roc_stories(content: str) -> Iterator[Text]:
    """ROCStories CSV."""
    for row in _rows(content):
        yield Text(row["storyid"], " ".join(row[column] for column in _ROC))


def _story_cloze(content: str) -> Iterator[Text]:
    """Story Cloze CSV, each story with its right ending."""
    for row in _rows(content):
        ending = row[f"RandomFifthSentenceQuiz{row['AnswerRightEnding']}"]
        yield Text(row["InputStoryid"], " ".join([*(row[column] for column in _CLOZE), ending]))


def _starred(content: str) -> Iterator[Text]:
    """The CSV of yelp_review_full."""
    for number, (_, text) in enumerate(csv.reader(io.StringIO(content, newline="")), 1):
        yield Text(str(number), text)


def _abstracts(content: str) -> Iterator[Text]:
    """The abstracts of chrisdonahue/ilm: id, created, updated, categories, title, authors, abstract."""
    for entry in content.strip("\n").split("\n\n\n"):
        name, _, _, _, _, _, abstract = entry.split("\n", 6)
        yield Text(name, abstract)
