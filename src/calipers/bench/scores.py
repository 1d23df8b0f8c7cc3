"""Scores of a filled text against what was there; each from 0 to 1.

bleu2     sentence BLEU of words and pairs of words, weights (1/2, 1/2), words split on blanks, against one
          reference. With p_n the share of the fill's n-grams that are in the answer (none: 0.1 over how many
          the fill has, smoothing method 1) and BP = exp(1 - |answer| / |fill|) if the fill is shorter, else 1:
              BLEU-2 = BP · √(p_1 · p_2);  0 if no word is right
rouge_l   the F-measure of the longest common subsequence of words, lower-cased, letters and digits only,
          Porter-stemmed:  2·lcs / (|answer| + |fill|)
exact     1 if fill and answer are equal up to blanks at their ends, else 0

The first two are what the packages nltk and rouge-score compute, called as the paper's published script does:
a fill that equals a one-word answer has BLEU-2 √0.1 = 0.316, having no pair.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

from calipers.errors import MissingExtra
from calipers.tasks import Task


def score_text(task: Task, text: str) -> dict[str, float]:
    """Every score of a fill."""
    return {"bleu2": bleu2(task.answer, text), "rouge_l": rouge_l(task.answer, text), "exact": exact(task.answer, text)}


def bleu2(answer: str, text: str) -> float:
    """BLEU-2 of a fill."""
    return _bleu()([answer.split()], text.split())


def rouge_l(answer: str, text: str) -> float:
    """ROUGE-L of a fill."""
    return float(_rouge().score(answer, text)["rougeL"].fmeasure)


def exact(answer: str, text: str) -> float:
    """Whether a fill is the answer, blanks at the ends aside: a seam of a text has none to go by."""
    return float(answer.strip() == text.strip())


@cache
def _bleu() -> Callable[[list[list[str]], list[str]], float]:
    try:
        bleu = import_module("nltk.translate.bleu_score")
    except ImportError:
        raise MissingExtra("BLEU-2", "bench") from None
    smoothing = bleu.SmoothingFunction().method1
    return lambda answers, words: float(bleu.sentence_bleu(answers, words, (0.5, 0.5), smoothing))


@cache
def _rouge() -> Any:
    try:
        rouge = import_module("rouge_score.rouge_scorer")
    except ImportError:
        raise MissingExtra("ROUGE-L", "bench") from None
    return rouge.RougeScorer(["rougeL"], use_stemmer=True)
