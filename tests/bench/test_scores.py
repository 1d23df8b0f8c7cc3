"""Scores of text: values worked out by hand, bounds, and silence."""

import math
import warnings

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calipers.bench.scores import bleu2, exact, rouge_l, score_text
from calipers.tasks import Task

pytest.importorskip("nltk", reason="needs calipers[bench]")
pytest.importorskip("rouge_score", reason="needs calipers[bench]")


@pytest.mark.parametrize(
    ("answer", "text", "value"),
    [
        ("a b c d", "a b c d", 1.0),
        # Both words and their pair are right; two words where three were: BP = exp(1 - 3/2).
        ("the cat sat", "the cat", math.exp(-1 / 2)),
        # Two of four words, one of three pairs; longer than the answer costs no more.
        ("the cat", "the cat sat on", math.sqrt(2 / 4 * 1 / 3)),
        # Every word, in another order: no pair is right, and counts 0.1 of 2.
        ("a b c", "c b a", math.sqrt(1 * 0.1 / 2)),
        # A word counts as often as the answer has it: 1 of 3; the pairs "a a" not at all: 0.1 of 2.
        ("a b", "a a a", math.sqrt(1 / 3 * 0.1 / 2)),
        # One word has no pairs: 0.1 of 1.
        ("a", "a", math.sqrt(0.1)),
        ("a b", "x y", 0.0),
        ("a b", "A B", 0.0),
        ("a b", "", 0.0),
        ("", "a b", 0.0),
        ("", "", 0.0),
        ("a  b\nc", " a b c ", 1.0),
    ],
)
def test_bleu_2_by_hand(answer, text, value):
    assert bleu2(answer, text) == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize(
    ("answer", "text", "value"),
    [
        ("the cat sat", "the cat", 2 * 2 / (3 + 2)),
        ("the cat sat down", "the dog sat down there", 2 * 3 / (4 + 5)),
        # In order, not together.
        ("a b c d", "a x c y", 2 * 2 / 8),
        ("a b c", "c b a", 2 * 1 / 6),
        ("The cats, running!", "the cat run", 1.0),
        ("a b", "x y", 0.0),
        ("a", "", 0.0),
        ("", "a", 0.0),
        ("", "", 0.0),
        ("...", "...", 0.0),
    ],
)
def test_rouge_l_by_hand(answer, text, value):
    assert rouge_l(answer, text) == pytest.approx(value, abs=1e-12)


def test_exact_asks_for_everything_but_the_blanks_at_the_ends():
    assert exact("a b", " a b\n") == exact("", " ") == 1
    assert exact("a b", "a  b") == exact("a b", "A b") == exact("a", "") == 0


words = st.lists(st.sampled_from(["cat", "cats", "sat", "The", "on", ".", "é"]), max_size=9).map(" ".join)


@settings(max_examples=100, deadline=None)
@given(words, words)
def test_scores_are_shares_and_best_for_the_answer_itself(answer, text):
    scores = score_text(Task("t", "", "", answer), text)
    best = score_text(Task("t", "", "", answer), answer)
    assert list(scores) == ["bleu2", "rouge_l", "exact"]
    for name, value in scores.items():
        assert type(value) is float
        assert 0 <= value <= best[name] + 1e-12 <= 1 + 2e-12


def test_no_warning_leaks_and_nothing_is_printed(capfd):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for answer in ("", "a", "a b", "a b c"):
            for text in ("", "a", "x", "b a", "a b c d"):
                score_text(Task("t", "", "", answer), text)
    assert capfd.readouterr() == ("", "")
