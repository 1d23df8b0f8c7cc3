"""A fill whose time is up is made of what is known; several choices share one measurement."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calipers import MASK, Daedal, Denoise, Exhaustive, Fixed, HillClimb, Infiller, Scripted, Template
from calipers.deadline import Deadline
from calipers.drive import answer
from pretend import Chaotic

ONE = Template.around("a", "b")
DECODERS = [Denoise(), Denoise(temperature=0.7), Denoise(block=2), Daedal(low=0.6, max_length=12)]


class Clock:
    """Stands still but for what a forward takes: one second a query."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


def run(infiller, template, seconds=None, count=1, **more):
    """The filling, its fills, and how many canvases the model was asked about; a second each."""
    clock = Clock()
    deadline = None if seconds is None else Deadline(seconds, clock)
    filling = infiller.begin(template, deadline=deadline, **more)
    work = filling.several(count)
    try:
        while True:
            ask = next(work)
            answer(infiller.model, [ask])
            clock.now += len(ask.queries)
    except StopIteration as end:
        return filling, end.value, clock.now


@settings(max_examples=60)
@given(st.integers(0, 10**6), st.floats(0.5, 60), st.sampled_from(DECODERS), st.integers(1, 3))
def test_there_is_always_a_fill_without_masks_and_in_time_but_for_one_ask(seed, seconds, decoder, holes):
    infiller = Infiller(Chaotic(seed), search=HillClimb(4, 2, 1, 9), decoder=decoder, seed=seed)
    filling, (fill,), took = run(infiller, Template(("a",) * (holes + 1)), seconds)
    assert all(MASK not in ids for ids in fill.ids)
    assert all(fill.lengths)
    # Time is looked at between asks; the longest is the first round, and one more may be vital.
    assert took <= seconds + 5 + 1
    assert filling.late == any("Time was up" in note for note in fill.notes)


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.sampled_from(DECODERS))
def test_with_time_enough_a_deadline_changes_nothing(seed, decoder):
    infiller = Infiller(Chaotic(seed), search=HillClimb(4, 2, 1, 9), decoder=decoder, seed=seed)
    filling, (fill,), _ = run(infiller, ONE, 1e6)
    plain = infiller.fill(ONE)
    assert (fill.ids, fill.landscapes, fill.notes, filling.late) == (plain.ids, plain.landscapes, plain.notes, False)


def test_a_search_that_is_cut_short_gives_the_best_length_so_far_without_another_forward():
    infiller = Infiller(Scripted(["hello world, hello"]))
    filling, (fill,), took = run(infiller, ONE, 9)
    scored = {probe.length: probe.calibrated for probe in fill.landscape.probes}
    assert sorted(scored) == list(range(4, 13))
    assert (fill.length, fill.text) == (12, "hello world,")
    assert fill.length == max(scored, key=scored.get)
    assert (took, filling.late, fill.landscape.stop) == (9, True, "out of time")


def test_with_a_deadline_the_lengths_that_are_far_apart_are_asked_for_first():
    infiller = Infiller(Scripted(["hello"]))
    work = infiller.begin(ONE, deadline=Deadline(9)).run()
    ask = next(work)
    assert [len(query.positions) for query in ask.queries] == [8, 12, 4, 6, 10, 5, 7, 9, 11]
    answer(infiller.model, [ask])
    assert {query.canvas.lengths[0] for query in next(work).queries} == {1, 2, 3}
    assert infiller.fill(ONE).landscape == run(infiller, ONE, 1e6)[1][0].landscape


def test_a_decoder_takes_as_many_steps_as_there_is_time_for():
    # Nine probes of a second each: of 16 seconds, 7 are left, and the first step is known.
    infiller = Infiller(
        Scripted(["hello world,"], landscape=lambda n: 0.9 * (n == 12) + 0.01), search=HillClimb(12, 4, 1, 12)
    )
    _, (fill,), took = run(infiller, ONE, 12)
    assert fill.text == "hello world,"
    assert took <= 12
    assert "Time was up" in fill.notes[0]


def test_a_fixed_length_without_time_is_one_forward():
    infiller = Infiller(Scripted(["hello"]), search=Fixed(5))
    filling, (fill,), took = run(infiller, ONE, 0.5)
    assert (fill.text, took, filling.late) == ("hello", 1, True)


def test_holes_that_were_never_seen_are_asked_for_once():
    infiller = Infiller(Scripted(["hello", "you", "there"]), search=HillClimb(5, 4, 1, 5))
    filling, (fill,), _ = run(infiller, Template(("a", "b", "c", "d")), 1)
    assert fill.texts == ("hello", "youyo", "there")
    assert filling.forwards == 2
    assert [landscape.stop for landscape in fill.landscapes] == ["out of time"] * 3


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.integers(2, 6))
def test_choices_are_the_fills_of_their_lengths_alone(seed, count):
    infiller = Infiller(Chaotic(seed), search=Exhaustive(8))
    _, fills, _ = run(infiller, ONE, count=count)
    assert fills[0].ids == infiller.fill(ONE).ids
    lengths = [fill.length for fill in fills]
    assert len(set(lengths)) == count
    for fill in fills:
        assert fill.ids == infiller.fill(ONE, search=Fixed(fill.length)).ids
    score = {probe.length: probe.calibrated for probe in fills[0].landscape.probes}
    peaks = [n for n in score if score[n] > max(score.get(n - 1, 0), score.get(n + 1, 0))]
    best = sorted(peaks, key=score.get, reverse=True)
    assert lengths[: len(best)] == best[:count]


def test_choices_share_their_forwards():
    model = Scripted(["hello"])
    _, fills, _ = run(Infiller(model), ONE, count=3)
    alone = Scripted(["hello"])
    Infiller(alone).fill(ONE)
    longest = max(fill.length for fill in fills)
    assert len(model.asked) == len(alone.asked) - (5 - 1) + (longest - 1)


def test_choices_that_are_drawn_have_seeds_of_their_own():
    infiller = Infiller(Chaotic(3), search=Fixed(6), decoder=Denoise(temperature=1.0), seed=5)
    _, fills, _ = run(infiller, ONE, count=3)
    for number, fill in enumerate(fills):
        alone = Infiller(Chaotic(3), search=Fixed(6), decoder=Denoise(temperature=1.0), seed=5 + number).fill(ONE)
        assert (fill.ids, fill.made_with["seed"]) == (alone.ids, 5 + number)


def test_what_was_not_scored_is_chosen_last():
    _, fills, _ = run(Infiller(Scripted(["hello"]), search=Fixed(5)), ONE, count=4)
    assert [fill.length for fill in fills] == [5, 4, 3, 2]


def test_a_watched_fill_knows_how_sure_each_position_is():
    model = Scripted(["hello"], tokens=lambda hole, index, length: (b"hello"[index], 0.5 + index / 10))
    filling = Infiller(model, search=Fixed(5)).begin(ONE, watched=True)
    for ask in filling.run():
        answer(model, [ask])
    (denoising,) = filling.denoisings
    assert denoising.committed == pytest.approx({1: 0.5, 2: 0.6, 3: 0.7, 4: 0.8, 5: 0.9}, abs=1e-5)
