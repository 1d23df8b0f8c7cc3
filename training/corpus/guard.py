"""What must never be trained on, recognised: evaluation tasks and texts, and what quotes them.

A text is refused if it
    names HumanEval, MBPP or EvalPlus,
    shares 13 words in a row with a program of HumanEval, a task of MBPP (its text, code or tests), or a
        text of the evaluation sets (stories, reviews, abstracts),
    or defines a function called as a task's and shares 10 words in a row with that task's description.
Not recognised: paraphrases, and solutions written independently with fewer words in common.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import md5
from typing import Any

import numpy as np

from training.corpus.words import Hashes, hashed_words, runs, share_any

RUN, DESCRIBED = 13, 10
# "human evaluation" is no data set.
_NAMED = re.compile(r"human[-_ ]?eval(?![a-z])|(?<![a-z])mbpp(?![a-z])|evalplus", re.IGNORECASE)
_DEFINED = re.compile(r"^[ \t]*(?:async[ \t]+)?def[ \t]+(\w+)", re.MULTILINE)


@dataclass(frozen=True)
class Guard:
    """Sorted hashes of 13-word runs, and of 10-word runs of descriptions by their function's name."""

    runs: Hashes
    described: Mapping[str, Hashes]

    @classmethod
    def build(cls, texts: Iterable[str], descriptions: Iterable[tuple[str, str]] = ()) -> Guard:
        """From texts to be kept out, and (function name, description) pairs."""
        found = [runs(hashed_words(text), RUN) for text in texts]
        by_name: dict[str, list[Hashes]] = {}
        for name, text in descriptions:
            by_name.setdefault(name, []).append(runs(hashed_words(text), DESCRIBED))
        joined = {name: np.unique(np.concatenate(parts)) for name, parts in by_name.items()}
        return cls(np.unique(np.concatenate([np.zeros(0, np.uint64), *found])), joined)

    def refuses(self, text: str, words: Hashes | None = None) -> str:
        """Why a text must not be trained on; empty if it may."""
        if _NAMED.search(text):
            return "names an evaluation set"
        words = hashed_words(text) if words is None else words
        if share_any(runs(words, RUN), self.runs):
            return "13 words of an evaluation set"
        if (names := set(_DEFINED.findall(text)) & self.described.keys()) and any(
            share_any(runs(words, DESCRIBED), self.described[name]) for name in names
        ):
            return "an evaluation task's function"
        return ""


def may_train(abstract: str) -> bool:
    """Whether an abstract is of the half that training may see: those whose md5 begins below 0x80."""
    return md5(abstract.encode("utf-8"), usedforsecurity=False).digest()[0] < 0x80


def humaneval(problems: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Of each problem its program, and its descriptions by function."""
    for problem in problems:
        descriptions = []
        for node in ast.walk(ast.parse(problem["prompt"] + "    pass\n")):
            if isinstance(node, ast.FunctionDef) and (text := ast.get_docstring(node)):
                descriptions.append((str(problem["entry_point"]), text))
        yield problem["prompt"] + problem["canonical_solution"], descriptions


def mbpp(tasks: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Of each task its text with its code and tests, and its description by the function its tests call."""
    for task in tasks:
        text, tests = str(task.get("text") or task.get("prompt") or ""), list(task.get("test_list") or ())
        names = re.findall(r"assert\s+\(*(\w+)\(", " ".join(tests))
        yield "\n".join([text, str(task["code"]), *tests]), [(name, text) for name in set(names)]
        yield str(task["code"]), []
