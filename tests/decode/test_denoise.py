"""The denoising loop: every mask becomes a token, in as many steps as were asked for, in the order of the ranks."""

from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from calipers import MASK, Denoise, Query, Template
from calipers.canvas import Canvas
from calipers.decode.denoise import RANKS, spread
from calipers.decode.rank import chosen
from calipers.drive import Done, drive
from calipers.errors import ArgumentError
from calipers.infiller import Infiller
from calipers.search import Fixed
from pretend import Chaotic, history


def masks(*lengths):
    return Canvas(tuple((n, n) for n in range(len(lengths) + 1)), tuple((MASK,) * n for n in lengths))


def plainly(model, canvas):
    """Greedy denoising, one token a step, as one would write it on a blackboard."""
    while canvas.masked:
        (logits,) = model.predict([Query(canvas, canvas.masked)])
        probability, token = logits.double().softmax(-1).max(-1)
        row = int(probability.argmax())
        canvas = canvas.edit({canvas.masked[row]: (int(token[row]),)})
    return canvas


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("lengths", [(1,), (7,), (3, 0, 4)])
def test_the_default_is_plain_greedy_denoising(seed, lengths):
    assert history(Denoise(), Chaotic(seed), masks(*lengths))[-1] == plainly(Chaotic(seed), masks(*lengths))


@st.composite
def settings_of_denoise(draw):
    speed = draw(st.sampled_from(["steps", "tokens_per_step", "neither"]))
    number = draw(st.integers(1, 14))
    return Denoise(
        rank=draw(st.sampled_from(RANKS)),
        temperature=draw(st.sampled_from([0.0, 0.7])),
        top_p=draw(st.sampled_from([1.0, 0.8])),
        top_k=draw(st.sampled_from([0, 3])),
        steps=number if speed == "steps" else None,
        tokens_per_step=number if speed == "tokens_per_step" else None,
        block=draw(st.none() | st.integers(1, 14)),
        threshold=draw(st.none() | st.floats(0.05, 1)),
    )


@st.composite
def canvases(draw):
    """Up to three holes, some of their places already filled."""
    holes = draw(st.lists(st.lists(st.sampled_from([MASK, MASK, 3]), max_size=6).map(tuple), min_size=1, max_size=3))
    return Canvas(tuple((n,) for n in range(len(holes) + 1)), tuple(holes))


def blocks(decoder, canvas):
    size = decoder.block or max(1, len(canvas.masked))
    return [canvas.masked[at : at + size] for at in range(0, len(canvas.masked), size)]


def enough(decoder, canvas):
    """Whether the steps suffice for one a block."""
    return decoder.steps is None or min(decoder.steps, len(canvas.masked)) >= len(blocks(decoder, canvas))


@settings(max_examples=200)
@given(settings_of_denoise(), canvases(), st.integers(0, 99))
def test_every_mask_becomes_one_token_and_nothing_else_changes(decoder, canvas, seed):
    if not enough(decoder, canvas):
        return
    seen = history(decoder, Chaotic(seed), canvas, seed)
    assert seen[-1].masked == ()
    for before, after in pairwise(seen):
        assert len(after) == len(before)
        assert set(after.masked) < set(before.masked)
        kept = [i for i, old in enumerate(before.ids) if old != MASK]
        assert [after.ids[i] for i in kept] == [before.ids[i] for i in kept]


@settings(max_examples=200)
@given(settings_of_denoise(), canvases())
def test_the_plan_commits_each_mask_once_in_as_many_steps_as_were_asked_for(decoder, canvas):
    if not enough(decoder, canvas):
        return
    plan = decoder.plan(canvas.masked)
    assert [places for places, _ in plan] == blocks(decoder, canvas)
    assert all(sum(counts) == len(places) and min(counts) >= 1 for places, counts in plan)
    forwards = sum(len(counts) for _, counts in plan)
    if decoder.steps is not None:
        assert forwards == min(decoder.steps, len(canvas.masked))
    elif decoder.tokens_per_step is None:
        assert forwards == len(canvas.masked)
    else:
        assert all(max(counts) <= decoder.tokens_per_step for _, counts in plan)
        assert forwards == sum(-(-len(places) // decoder.tokens_per_step) for places, _ in plan)


@settings(max_examples=60)
@given(st.integers(1, 12), st.integers(1, 20), st.sampled_from(RANKS))
def test_forwards_are_as_many_as_steps_and_never_more_than_masks(length, steps, rank):
    model = Chaotic()
    history(Denoise(rank, steps=steps), model, masks(length))
    assert len(model.asked) == min(steps, length)


@settings(max_examples=60)
@given(settings_of_denoise(), st.integers(1, 12))
def test_a_block_is_begun_only_when_those_left_of_it_are_full(decoder, length):
    canvas = masks(length)
    if not enough(decoder, canvas):
        return
    for before, after in pairwise(history(decoder, Chaotic(), canvas)):
        current = next(places for places in blocks(decoder, canvas) if set(places) & set(before.masked))
        assert set(before.masked) - set(after.masked) <= set(current)


@settings(max_examples=60)
@given(settings_of_denoise(), st.integers(1, 12))
def test_only_what_may_be_committed_is_asked_for(decoder, length):
    canvas, model = masks(length), Chaotic()
    if not enough(decoder, canvas):
        return
    seen = history(decoder, model, canvas)
    for (query,), now in zip(model.asked, seen, strict=False):
        current = next(places for places in blocks(decoder, canvas) if set(places) & set(now.masked))
        assert query.positions == tuple(p for p in current if p in now.masked)


@given(st.integers(0, 50), st.integers(1, 60))
def test_tokens_are_spread_evenly_over_steps_the_first_taking_what_remains(tokens, steps):
    counts = spread(tokens, steps)
    assert sum(counts) == tokens
    assert len(counts) == min(steps, tokens)
    assert counts == sorted(counts, reverse=True)
    assert not counts or counts[0] - counts[-1] <= 1


CONFIDENT = torch.tensor([[0.0, 5.0, 0.0], [0.0, 0.0, 1.0], [9.0, 0.0, 0.0], [0.5, 0.0, 0.0]])  # p ≈ .99 .58 .9998 .45


@pytest.mark.parametrize(
    ("threshold", "rows"),
    [(1.0, {2: 0}), (0.999, {2: 0}), (0.9, {0: 1, 2: 0}), (0.5, {0: 1, 1: 2, 2: 0}), (0.1, {0: 1, 1: 2, 2: 0, 3: 0})],
)
def test_a_threshold_commits_all_that_reach_it_and_one_at_least(threshold, rows):
    assert Denoise(threshold=threshold).commit(CONFIDENT, 1, None) == rows


def test_a_threshold_is_reached_by_what_equals_it():
    logits = torch.tensor([[0.0, 0.0], [9.0, 0.0]])
    assert set(Denoise(threshold=0.5).commit(logits, 1, None)) == {0, 1}


@pytest.mark.parametrize("rank", RANKS)
def test_a_threshold_speaks_of_probability_whatever_the_rank(rank):
    committed = Denoise(rank, threshold=0.9).commit(CONFIDENT, 1, torch.Generator().manual_seed(0))
    assert {0, 2} <= set(committed)
    assert len(committed) <= 3


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.integers(1, 10), st.floats(0.05, 1.0))
def test_a_step_leaves_nothing_that_reached_the_threshold(seed, length, threshold):
    model, decoder = Chaotic(seed), Denoise(threshold=threshold)
    for before, after in pairwise(history(decoder, Chaotic(seed), masks(length))):
        (logits,) = model.predict([Query(before, before.masked)])
        sure = chosen(logits, logits.argmax(-1)) >= threshold
        left = {p for p, is_sure in zip(before.masked, sure.tolist(), strict=True) if not is_sure}
        assert set(after.masked) <= left


def filled(infiller, templates, **options):
    return [fill.ids for fill in infiller.fill_many(templates, **options)]


@pytest.mark.parametrize("rank", RANKS)
def test_what_is_drawn_depends_on_the_seed_alone_and_not_on_the_company(rank):
    templates = [Template.around("ab" * n, "c") for n in range(1, 5)]

    def drawn(seed, **options):
        decoder = Denoise(rank, temperature=1.5, steps=3)
        infiller = Infiller(Chaotic(), search=Fixed(6), decoder=decoder, seed=seed)
        return filled(infiller, templates, **options), [infiller.fill(template).ids for template in templates]

    together, alone = drawn(1)
    assert together == alone
    assert drawn(1, at_once=1)[0] == together
    assert drawn(2)[0] != together


def test_a_hole_without_masks_asks_nothing():
    model = Chaotic()
    full = Canvas(((1,), (2,)), ((5, 6),))
    assert history(Denoise(), model, full) == [full]
    assert history(Denoise(steps=4, block=2), model, masks(0)) == [masks(0)]
    assert model.asked == []


def test_first_logits_are_used_only_for_the_canvas_they_belong_to():
    from calipers.decode import decode

    def run(canvas, first):
        model = Chaotic(3)
        (result,) = (e.result for _, e in drive(model, [decode(Denoise(), canvas, 0, first)]) if isinstance(e, Done))
        return result, len(model.asked)

    canvas = masks(4)
    (logits,) = Chaotic(3).predict([Query.whole(canvas)])
    known = dict(zip(canvas.positions, Denoise().look(logits), strict=True))
    plain = run(canvas, None)
    assert plain[1] == 4
    assert run(canvas, known) == (plain[0], 3)
    known.pop(canvas.positions[2])
    assert run(canvas, known) == plain


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"rank": "best"}, r"rank='best'.*low_confidence, entropy, margin, random"),
        ({"temperature": -0.1}, r"temperature=-0\.1"),
        ({"temperature": float("nan")}, "temperature=nan"),
        ({"temperature": float("inf")}, "temperature=inf"),
        ({"top_p": 0.0}, r"top_p=0\.0 must be above 0 and at most 1"),
        ({"top_p": 1.1}, r"top_p=1\.1"),
        ({"top_k": -1}, "top_k=-1 must be 0"),
        ({"threshold": 0.0}, r"threshold=0\.0"),
        ({"threshold": float("nan")}, "threshold=nan"),
        ({"steps": 0}, "steps=0 must be at least 1"),
        ({"tokens_per_step": 0}, "tokens_per_step=0 must be at least 1"),
        ({"block": 0}, "block=0 must be at least 1"),
        ({"steps": 2, "tokens_per_step": 3}, "steps=2 and tokens_per_step=3.*give one"),
    ],
)
def test_misuse_is_refused_by_name_value_and_remedy(arguments, message):
    with pytest.raises(ArgumentError, match=message):
        Denoise(**arguments)


@given(st.integers(1, 40), st.integers(1, 40), st.integers(1, 40))
def test_every_block_takes_its_share_of_the_steps_and_one_at_least(length, steps, block):
    plan = Denoise(steps=steps, block=block).plan(tuple(range(length)))
    assert [sum(counts) for _, counts in plan] == [len(places) for places, _ in plan]
    assert all(counts and min(counts) > 0 for _, counts in plan)
    assert sum(len(counts) for _, counts in plan) <= max(len(plan), min(steps, length))
