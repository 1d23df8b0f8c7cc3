"""DreamOn's rule: expand, delete, and the limits that end a quarrel between them."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calipers import MASK, Card, Denoise, DreamOn, Scripted, Template, infill
from calipers.canvas import Canvas
from calipers.errors import ArgumentError
from calipers.infiller import Infiller
from calipers.models.scripted import DELETE, EXPAND
from pretend import Chaotic, history


def masks(*lengths):
    return Canvas(tuple((n, n) for n in range(len(lengths) + 1)), tuple((MASK,) * n for n in lengths))


def dreamon(**options):
    return DreamOn(EXPAND, DELETE, **options)


def trace(tokens, length, **options):
    """The hole after each step; `tokens(index, length)` gives id and probability."""
    model = Scripted(["x"], tokens=lambda hole, index, now: tokens(index, now))
    return [seen.holes[0] for seen in history(dreamon(**options), model, masks(length))][1:]


def listed(**rows):
    """Predictions from rows `n3=((id, p), …)`, by the hole's length."""
    return lambda index, now: rows[f"n{now}"][index]


def test_expand_becomes_two_masks_in_its_place():
    steps = trace(listed(n2=((10, 0.8), (EXPAND, 0.9)), n3=((10, 0.9), (11, 0.8), (12, 0.7))), 2)
    assert steps == [(MASK, MASK, MASK), (10, MASK, MASK), (10, 11, MASK), (10, 11, 12)]


def test_delete_removes_its_mask_and_nothing_else():
    steps = trace(listed(n3=((10, 0.8), (DELETE, 0.9), (12, 0.95)), n2=((10, 0.9), (99, 0.8))), 3)
    assert steps == [(MASK, MASK, 12), (MASK, 12), (10, 12)]


def test_a_step_does_only_what_its_best_position_says():
    steps = trace(listed(n3=((EXPAND, 0.8), (DELETE, 0.7), (12, 0.9)), n4=((10, 0.9),) * 4, n2=((10, 0.9),) * 2), 3)
    assert steps[0] == (MASK, MASK, 12)
    assert steps[1] == (MASK, MASK, MASK, 12)


def test_a_sweep_takes_every_mask_to_the_right_and_spares_what_is_committed():
    tokens = listed(n5=((10, 0.6), (DELETE, 0.8), (12, 0.7), (13, 0.95), (14, 0.7)), n2=((20, 0.9), (0, 0.9)))
    assert trace(tokens, 5, sweep=True) == [(MASK, MASK, MASK, 13, MASK), (MASK, 13), (20, 13)]


def test_a_sweep_stays_in_its_hole():
    def tokens(hole, index, now):
        return (DELETE, 0.9) if hole == 0 else (10 + index, 0.8)

    last = history(dreamon(sweep=True), Scripted(["x", "y"], tokens=tokens), masks(3, 2))[-1]
    assert last.holes == ((), (10, 11))


def test_a_hole_at_its_longest_may_not_expand():
    steps = trace(
        lambda index, now: (EXPAND, 0.9) if now < 5 else (10, 0.9) if index else (EXPAND, 0.99), 2, max_length=5
    )
    assert max(map(len, steps)) == 5
    assert len(steps[-1]) == 5
    assert not {EXPAND, DELETE, MASK} & set(steps[-1])


def test_a_spent_budget_forbids_to_expand():
    for budget in range(4):
        steps = trace(lambda index, now: (EXPAND, 0.9), 2, budget=budget)
        assert len(steps[-1]) == 2 + budget


def test_deleting_gives_no_budget_back():
    steps = trace(lambda index, now: (EXPAND if now % 2 else DELETE, 0.9), 3, budget=2)
    assert sum(len(after) > len(before) for before, after in pairwise([(MASK,) * 3, *steps])) == 2


def test_a_hole_may_be_deleted_whole():
    model = Scripted(["x"], tokens=lambda hole, index, now: (DELETE, 0.9))
    fill = infill("a", "b", model=model, length=5, decoder=dreamon())
    assert (fill.text, fill.length, fill.forwards, fill.whole) == ("", 0, 5, "ab")


adversaries = st.sampled_from(["expand", "delete", "by turns", "at random"])


@settings(max_examples=100)
@given(
    adversaries,
    st.lists(st.integers(0, 5), min_size=1, max_size=3),
    st.integers(1, 9),
    st.integers(0, 12),
    st.booleans(),
)
def test_it_ends_within_masks_and_twice_the_budget_whatever_the_model_wants(kind, lengths, longest, budget, sweep):
    def tokens(hole, index, now):
        wish = {
            "expand": EXPAND,
            "delete": DELETE,
            "by turns": EXPAND if now % 2 else DELETE,
            "at random": (EXPAND, DELETE, 5)[hash((hole, index, now)) % 3],
        }[kind]
        return wish, 0.5 + hash((index, now)) % 7 / 20

    model = Scripted(["x"] * len(lengths), tokens=tokens)
    seen = history(dreamon(max_length=longest, budget=budget, sweep=sweep), model, masks(*lengths))
    assert len(model.asked) <= sum(lengths) + 2 * budget
    assert seen[-1].masked == ()
    assert not {EXPAND, DELETE} & set(seen[-1].ids)
    assert all(
        now <= max(start, longest) for canvas in seen for start, now in zip(lengths, canvas.lengths, strict=True)
    )


def test_the_budget_is_the_longest_length_when_none_is_given():
    model = Scripted(["x"], tokens=lambda hole, index, now: (EXPAND if now == 2 else DELETE, 0.9))
    history(dreamon(max_length=4), model, masks(2))
    grown = sum(len(after.canvas) > len(before.canvas) for (before,), (after,) in pairwise(model.asked))
    assert grown == 4


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.integers(1, 8))
def test_without_control_tokens_it_is_plain_denoising_by_entropy(seed, length):
    class Plain(Chaotic):
        def row(self, canvas, position):
            row = super().row(canvas, position)
            row[:2] = -float("inf")
            return row

    ours = history(DreamOn(0, 1), Plain(seed), masks(length))
    assert ours == history(Denoise(rank="entropy"), Plain(seed), masks(length))


def test_only_this_decoder_lets_control_tokens_out():
    model = Scripted(["x"], tokens=lambda hole, index, now: (EXPAND, 0.9))
    infill("a", "b", model=model, length=3, decoder=dreamon(budget=0))
    assert all(query.controls for call in model.asked for query in call)
    infill("a", "b", model=(plain := Scripted(["x"])), init=3)
    assert not any(query.controls for call in plain.asked for query in call)


def test_a_searched_first_step_is_asked_again_with_control_tokens():
    model = Scripted(["hello"])
    fill = infill("a", "b", model=model, init=5, decoder=dreamon())
    assert fill.text == "hello"
    assert fill.forwards == 1 + 5


def test_what_is_drawn_depends_on_the_seed_alone():
    decoder = DreamOn(0, 1, max_length=12, drawing=Denoise(rank="entropy", temperature=1.0))

    templates = [Template.around("a" * n, "c") for n in range(4)]

    def drawn(seed):
        return [fill.ids for fill in Infiller(Chaotic(), decoder=decoder, seed=seed).fill_many(templates)]

    assert drawn(1) == drawn(1)
    assert drawn(1) != drawn(2)


def test_of_a_card_reads_its_ids():
    assert DreamOn.of(Card("x", "x", "Dream", expand_id=7, delete_id=9), budget=3) == DreamOn(7, 9, budget=3)


@pytest.mark.parametrize("ids", [{}, {"expand_id": 7}, {"delete_id": 9}])
def test_a_card_without_control_tokens_is_refused_with_one_that_has_them(ids):
    with pytest.raises(ArgumentError, match=r"llada.*has none; use model dreamon-7b or another decoder"):
        DreamOn.of(Card("llada", "x", "llada", **ids))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"max_length": 0}, "max_length=0 must be at least 1"),
        ({"budget": -1}, "budget=-1 must be 0 or more"),
        ({"drawing": Denoise(threshold=0.9)}, r"threshold=0\.9"),
        ({"drawing": Denoise(steps=2)}, "steps=2"),
        ({"drawing": Denoise(tokens_per_step=2)}, "tokens_per_step=2"),
        ({"drawing": Denoise(block=2)}, "block=2"),
    ],
)
def test_misuse_is_refused_by_name_value_and_remedy(arguments, message):
    with pytest.raises(ArgumentError, match=message):
        dreamon(**arguments)
