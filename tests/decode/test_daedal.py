"""DAEDAL: hand-made traces, and the published rule step by step on random confidences."""

from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from calipers import MASK, Daedal, Scripted, infill
from calipers.canvas import Canvas
from calipers.errors import ArgumentError
from calipers.models.base import Query
from pretend import Chaotic, history


def masks(*lengths):
    return Canvas(tuple((n, n) for n in range(len(lengths) + 1)), tuple((MASK,) * n for n in lengths))


def trace(confidences, length, **options):
    """The hole after each step; at index i token 10 + i is predicted, with `confidences[length][i]`."""
    model = Scripted(["x"], tokens=lambda hole, index, now: (10 + index, confidences[now][index]))
    return [seen.holes[0] for seen in history(Daedal(**options), model, masks(length))][1:]


def test_all_that_are_surer_than_high_are_committed_together():
    assert trace({4: (0.95, 0.6, 0.91, 0.6)}, 4)[0] == (10, MASK, 12, MASK)


class Even(Chaotic):
    """Two tokens, each of probability one half exactly."""

    def row(self, canvas, position):
        return torch.zeros(2)


def test_as_sure_as_high_is_not_surer_and_as_unsure_as_low_is_not_below():
    assert len(history(Daedal(low=0.1, high=0.5), Even(), masks(3))) == 1 + 3
    assert history(Daedal(low=0.5, high=0.9), Even(), masks(3))[-1].lengths == (3,)


def test_if_none_is_sure_the_surest_alone_is_committed():
    assert trace({3: (0.5, 0.7, 0.6)}, 3)[0] == (MASK, 11, MASK)


def test_only_the_least_sure_of_those_below_low_grows():
    steps = trace({4: (0.2, 0.95, 0.1, 0.3), 5: (0.95,) * 5}, 4)
    assert steps[0] == (MASK, 11, MASK, MASK, MASK)
    assert steps[1] == (10, 11, 12, 13, 14)


def test_what_is_committed_for_want_of_better_does_not_grow():
    # Both are below low; the surer one is committed, the other grows.
    assert trace({2: (0.1, 0.2), 3: (0.95,) * 3}, 2)[0] == (MASK, MASK, 11)


def test_a_lone_mask_is_committed_and_never_grows():
    assert trace({1: (0.01,)}, 1) == [(10,)]
    assert trace({2: (0.95, 0.45)}, 2) == [(10, MASK), (10, 11)]


def test_the_only_unsure_mask_grows_beside_committed_ones():
    assert trace({3: (0.95, 0.95, 0.01), 4: (0.95,) * 4}, 3)[0] == (10, 11, MASK, MASK)


@pytest.mark.parametrize(("factor", "longer"), [(2, 5), (3, 6), (8, 11)])
def test_one_mask_becomes_as_many_as_the_factor(factor, longer):
    confidences = {4: (0.95, 0.1, 0.6, 0.6)} | {longer: (0.95,) * longer}
    assert len(trace(confidences, 4, factor=factor)[0]) == longer


def test_growth_stops_at_the_longest_and_loses_nothing():
    confidences = {4: (0.1, 0.6, 0.6, 0.95)} | {6: (0.95,) * 6}
    steps = trace(confidences, 4, factor=8, max_length=6)
    assert steps[0] == (MASK, MASK, MASK, MASK, MASK, 13)
    assert len(steps[-1]) == 6


def test_a_hole_at_its_longest_or_longer_does_not_grow():
    for length in (4, 6):
        assert len(trace({length: (0.1,) * length}, length, max_length=4)[-1]) == length


def test_only_the_left_most_block_with_masks_is_touched():
    assert trace({4: (0.6, 0.7, 0.99, 0.99)}, 4, block=2) == [
        (MASK, 11, MASK, MASK),
        (10, 11, MASK, MASK),
        (10, 11, 12, 13),
    ]


def test_what_growth_pushes_out_of_a_block_waits_for_the_next():
    confidences = {4: (0.7, 0.1, 0.99, 0.99), 5: (0.99, 0.6, 0.5, 0.99, 0.6)}
    steps = trace(confidences, 4, block=2)
    assert steps == [
        (10, MASK, MASK, MASK, MASK),
        (10, 11, MASK, MASK, MASK),
        (10, 11, MASK, 13, MASK),
        (10, 11, 12, 13, MASK),
        (10, 11, 12, 13, 14),
    ]


def published(model, length, low, high, max_length, block):
    """Stage 2 as DAEDAL's code does it, factor 2, one hole: a window that slides, a latch that forbids growth."""
    hole, position, latched, steps = [MASK] * length, 0, False, []
    while position < len(hole):
        if len(hole) >= max_length:
            latched = True
        canvas = Canvas(((0, 0), (1, 1)), (tuple(hole),))
        window = range(position, min(position + block, len(hole)))
        masked = [i for i in window if hole[i] == MASK]
        if masked:
            (logits,) = model.predict([Query(canvas, tuple(2 + i for i in masked))])
            top, token = (column.tolist() for column in logits.softmax(-1).max(-1))
            commit = [row for row in range(len(masked)) if top[row] > high]
            if not commit:
                commit = [top.index(max(top))]
            candidates = [row for row in range(len(masked)) if top[row] < low and row not in commit]
            for row in commit:
                hole[masked[row]] = token[row]
            if candidates and not latched:
                unsure = masked[min(candidates, key=lambda row: top[row])]
                hole[unsure : unsure + 1] = [MASK, MASK]
            steps.append(tuple(hole))
        while position < len(hole) and MASK not in hole[position : position + block]:
            position += block
    return steps


@settings(max_examples=150)
@given(
    st.integers(0, 10**6),
    st.integers(1, 12),
    st.sampled_from([0.2, 0.4, 0.6]),
    st.sampled_from([0.7, 0.9]),
    st.integers(1, 16),
    st.integers(1, 9),
)
def test_every_step_is_that_of_the_published_rule(seed, length, low, high, max_length, block):
    decoder = Daedal(low=low, high=high, max_length=max_length, block=block)
    seen = history(decoder, Chaotic(seed), masks(length))
    assert [canvas.holes[0] for canvas in seen[1:]] == published(Chaotic(seed), length, low, high, max_length, block)


@settings(max_examples=100)
@given(
    st.integers(0, 10**6),
    st.lists(st.integers(0, 9), min_size=1, max_size=3),
    st.integers(2, 8),
    st.integers(1, 16),
    st.integers(1, 9),
)
def test_it_ends_and_loses_nothing_whatever_the_confidences(seed, lengths, factor, max_length, block):
    decoder = Daedal(low=0.6, high=0.9, factor=factor, max_length=max_length, block=block)
    seen = history(decoder, Chaotic(seed), masks(*lengths))
    assert seen[-1].masked == ()
    assert all(final <= max(start, max_length) for start, final in zip(lengths, seen[-1].lengths, strict=True))
    assert len(seen) - 1 <= sum(seen[-1].lengths)
    for before, after in pairwise(seen):
        for old, new in zip(before.holes, after.holes, strict=True):
            committed = [token for token in old if token != MASK]
            rest = iter(new)
            assert all(token in rest for token in committed)  # a subsequence
        assert after.texts == before.texts


def test_holes_are_filled_from_left_to_right_each_to_its_own_longest():
    model = Scripted(["x", "y"], tokens=lambda hole, index, now: (10 * hole + index, 0.1))
    seen = history(Daedal(max_length=3), model, masks(2, 2))
    assert seen[-1].lengths == (3, 3)
    assert all(MASK not in canvas.holes[0] or set(canvas.holes[1]) == {MASK} for canvas in seen)


def test_a_fill_may_end_longer_than_the_length_searched():
    model = Scripted(["x"], landscape=lambda n: 0.3)
    fill = infill("a", "b", model=model, length=4, decoder=Daedal(max_length=9))
    assert fill.length == 9
    assert fill.landscape.length == 4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"low": 0.0}, r"low=0\.0"),
        ({"high": 1.5}, r"high=1\.5"),
        ({"low": 0.9, "high": 0.9}, r"low=0\.9 must be below high=0\.9"),
        ({"factor": 1}, "factor=1 would not grow a hole; give 2 or more"),
        ({"max_length": 0}, "max_length=0 must be at least 1"),
        ({"block": 0}, "block=0 must be at least 1"),
    ],
)
def test_misuse_is_refused_by_name_value_and_remedy(arguments, message):
    with pytest.raises(ArgumentError, match=message):
        Daedal(**arguments)
