"""Holes: in order, apart, of the kind they say, as often as they should be."""

import itertools
import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from passages import CODE, PROSE
from training.examples.spans import KINDS, Mix, Page, draw

EVERY = dict.fromkeys(KINDS, 1.0)
TEXTS = (CODE, PROSE, CODE + PROSE, "x", "\n\n\n", "one line without an end", "a b c d e f g h i j")


@given(st.sampled_from(TEXTS), st.integers(0, 10**6))
def test_holes_are_in_order_and_never_touch(text, seed):
    changed, spans = draw(text, Mix(EVERY), random.Random(seed))
    ends = [(0, 0), *((s.start, s.end) for s in spans), (len(changed) + 1, len(changed) + 1)]
    assert all(0 <= a <= b for a, b in ends)
    for (_, end), (start, _) in itertools.pairwise(ends[1:]):
        assert end < start
    assert all(s.end > s.start for s in spans)


@given(st.sampled_from(TEXTS), st.integers(0, 10**6))
def test_a_text_loses_two_blanks_a_gap_and_nothing_else(text, seed):
    changed, spans = draw(text, Mix(EVERY), random.Random(seed))
    gaps = [span for span in spans if span.kind == "gap"]
    assert len(changed) == len(text) - 2 * len(gaps)
    back = changed
    for span in reversed(gaps):
        back = f"{back[: span.start]} {back[span.start : span.end]} {back[span.end :]}"
    assert back == text


@given(st.integers(0, 10**6))
def test_each_kind_is_what_its_name_says(seed):
    rng = random.Random(seed)
    for kind in KINDS[:-1]:
        text, spans = draw(CODE if kind in ("line", "block", "tail", "cut") else PROSE, Mix({kind: 1.0}), rng)
        for start, end, name in spans:
            hole = text[start:end]
            assert name == kind
            at_line = start == 0 or text[start - 1] == "\n"
            if kind == "line":
                assert at_line
                assert hole.strip()
                assert "\n" not in hole[:-1]
            elif kind == "block":
                assert at_line
                assert hole.split("\n")[0].strip()
                assert hole.rstrip("\n").count("\n") >= 1
            elif kind == "tail":
                assert text[end : end + 1] in ("", "\n")
                assert "\n" not in hole
            elif kind == "cut":
                assert not text[start - 1].isspace()
                assert not text[start].isspace()
                assert not text[end - 1].isspace()
                assert not text[end].isspace()
            elif kind == "words":
                assert hole.strip()
                assert hole[0] == " " or start == 0 or text[start - 1] == " "
            elif kind == "gap":
                assert hole == hole.strip()
                assert text[start - 1] != " "
                assert text[end] != " "


def test_every_kind_occurs_at_its_weight():
    weights = {"line": 4.0, "tail": 2.0, "chars": 1.0, "random": 3.0}
    mix, rng, counts = Mix(weights, several=0.0), random.Random(1), Counter[str]()
    for _ in range(4000):
        _, spans = draw(CODE, mix, rng)
        counts[spans[0].kind if spans else "random"] += 1
    for kind, weight in weights.items():
        assert counts[kind] / 4000 == pytest.approx(weight / 10, abs=0.05)


def test_holes_cover_no_more_than_they_may():
    rng = random.Random(2)
    for _ in range(200):
        _, spans = draw(CODE, Mix(EVERY, cover=0.3), rng)
        assert sum(s.end - s.start for s in spans) <= 0.3 * len(CODE)


def test_the_same_seed_draws_the_same():
    draws = [draw(CODE, Mix(EVERY), random.Random(5)) for _ in range(2)]
    assert draws[0] == draws[1]


@pytest.mark.parametrize("weights", [{}, {"line": 0.0}, {"lime": 1.0}, {"line": -1.0}])
def test_weights_that_mean_nothing_are_refused(weights):
    with pytest.raises(ValueError, match=r"weights|kinds"):
        Mix(weights)


def test_lines_of_a_page_are_where_they_are():
    page = Page.of("a\nbc\n\nd")
    assert [page.text[a:b] for a, b in zip(page.lines, page.lines[1:], strict=False)] == ["a\n", "bc\n", "\n", "d"]
