"""LR-DLLM's second stage: its rule written from the description alone, hand-made traces, and what it costs."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from calipers import MASK, Fixed, Infiller, LrDllm, Regression, Scripted, Template
from calipers.canvas import Canvas
from calipers.errors import ArgumentError
from calipers.models.base import Query
from pretend import Chaotic, history


def masks(*lengths):
    return Canvas(tuple((n, n) for n in range(len(lengths) + 1)), tuple((MASK,) * n for n in lengths))


def described(model, canvas, hole, max_length):
    """The hole by the description, with plain logits in double precision, nothing remembered."""

    def rest(written, n):
        full = canvas.with_hole(hole, (*written, *(MASK,) * n))
        (logits,) = model.predict([Query(full, tuple(full.spans[hole])[len(written) :])])
        p = logits.double().softmax(-1)
        return float((p * p.clamp_min(1e-300).log()).sum(-1).mean()), int(logits[0].argmax())

    lengths = [n for n in (1, 2, 4, 8, 16, 32, 64) if n <= max_length]
    x, y = torch.tensor(lengths).double().log(), torch.tensor([rest((), n)[0] for n in lengths]).double()
    k = float(((x - x.mean()) * (y - y.mean())).sum() / ((x - x.mean()) ** 2).sum())
    written, left = (), canvas.lengths[hole]
    while left:
        while True:
            near = [n for n in (left - 1, left, left + 1) if n >= 1 and (n <= left or len(written) + n <= max_length)]
            score = {n: rest(written, n)[0] - k * math.log(n) for n in near}
            best = max(near, key=score.__getitem__)
            if score[best] <= score[left]:
                break
            left = best
        written, left = (*written, rest(written, left)[1]), left - 1
    return written


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 12), st.integers(4, 10))
def test_a_hole_is_written_by_the_rule(seed, length, max_length):
    canvas = masks(length)
    *_, last = history(LrDllm(max_length), Chaotic(seed), canvas)
    assert last.holes[0] == described(Chaotic(seed), canvas, 0, max_length)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 5), st.integers(0, 5))
def test_holes_are_written_one_after_the_other_from_the_left(seed, first, second):
    canvas = masks(first, second)
    *_, last = history(LrDllm(6), Chaotic(seed), canvas)
    for hole in range(2):
        if canvas.lengths[hole]:
            canvas = canvas.with_hole(hole, described(Chaotic(seed), canvas, hole, 6))
    assert last == canvas


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 12), st.integers(4, 10), st.sampled_from([0.0, 0.2, 1.0]))
def test_nothing_is_left_masked_or_longer_than_allowed_and_only_masks_are_asked_for(seed, length, longest, heat):
    decoder = LrDllm(longest, temperature=heat, top_p=0.9)
    *steps, last = history(decoder, Chaotic(seed), masks(length))
    assert MASK not in last.holes[0]
    assert 1 <= len(last.holes[0]) <= max(length, longest)
    tokens = [sum(t != MASK for t in step.holes[0]) for step in steps]
    assert tokens == sorted(tokens)
    assert all(step.holes[0][n:] == (MASK,) * len(step.holes[0][n:]) for step, n in zip(steps, tokens, strict=True))


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 12))
def test_beside_one_prefix_no_length_is_asked_for_twice(seed, length):
    *steps, _ = history(LrDllm(10), Chaotic(seed), masks(length))
    assert len(set(steps)) == len(steps)


def test_a_rest_grows_one_by_one_to_where_it_is_surest_and_is_then_written():
    # A slope across lengths that rises towards 5 and falls after it.
    class Hill(Chaotic):
        def row(self, canvas, position):
            hole = canvas.holes[0]
            written = sum(token != MASK for token in hole)
            row = torch.zeros(self.size)
            row[written] = 6.0 - abs(len(hole) - 5)
            return row

    steps = history(LrDllm(8), Hill(), masks(3))
    assert steps[-1].holes[0] == (0, 1, 2, 3, 4)
    assert steps[0] == masks(3)
    assert masks(6) in steps  # asked, and not better
    assert masks(7) not in steps


def test_where_all_lengths_are_equal_the_search_s_stays():
    class Even(Chaotic):
        def row(self, canvas, position):
            row = torch.zeros(self.size)
            row[position] = 3.0
            return row

    steps = history(LrDllm(8), Even(), masks(3))
    assert steps[-1].holes[0] == (2, 3, 4)
    # Its own length first, then the powers, which are its neighbours too.
    assert [step.lengths[0] for step in steps[:5]] == [3, 1, 2, 4, 8]


def test_the_search_s_last_probe_is_the_first_step_and_the_whole_method_fills():
    model = Scripted(["x" * 8], lambda n: 0.9 if n == 8 else 0.8 - 0.1 * math.log(n))
    fill = Infiller(model, search=Regression(32, "powers"), decoder=LrDllm(32)).fill(Template.around("a", "b"))
    assert fill.landscape.length == 8
    asked = [query.canvas for call in model.asked for query in call]
    alone = [canvas for canvas in asked if canvas.lengths == (8,) and set(canvas.holes[0]) == {MASK}]
    assert len(alone) == 1
    assert MASK not in fill.ids[0]


def test_a_seed_decides_what_is_drawn():
    def drawn(seed):
        infiller = Infiller(Chaotic(3), search=Fixed(6), decoder=LrDllm(8, temperature=2.0), seed=seed)
        return infiller.fill(Template.around("abc", "de")).ids

    assert drawn(1) == drawn(1)
    assert len({drawn(seed) for seed in range(5)}) > 1


@pytest.mark.parametrize(
    ("options", "named"),
    [({"max_length": 3}, "max_length=3"), ({"temperature": -1.0}, "temperature=-1.0"), ({"top_p": 0.0}, "top_p=0.0")],
)
def test_misuse_is_refused_by_name_and_value(options, named):
    with pytest.raises(ArgumentError, match=named):
        LrDllm(**options)
