"""The lengths of several holes: each found given the others, no more often than needed."""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from calipers import Exhaustive, Fixed, HillClimb, Query, Scripted
from calipers.bias import PAPER
from calipers.canvas import Canvas
from calipers.drive import Done, drive
from calipers.measure import Measuring
from pretend import Chaotic, Coupled


def empty(holes):
    return Canvas(tuple((n, n) for n in range(holes + 1)), ((),) * holes)


def measured(model, searches, passes=3):
    measuring = Measuring(empty(len(searches)), searches, PAPER, passes)
    (result,) = (e.result for _, e in drive(model, [measuring.run()]) if isinstance(e, Done))
    return result


def asked(model):
    return [(query.canvas.lengths, query.positions) for call in model.asked for query in call]


@settings(max_examples=40)
@given(st.lists(st.tuples(st.integers(1, 20), st.integers(1, 20)), min_size=1, max_size=3))
def test_independent_holes_get_each_its_own_length_and_a_second_pass_only_confirms(holes):
    model = Scripted(["x" * answer for answer, _ in holes])
    result = measured(model, [HillClimb(init, max_length=24) for _, init in holes])
    assert result.canvas.lengths == tuple(answer for answer, _ in holes)
    assert [landscape.length for landscape in result.landscapes] == [answer for answer, _ in holes]
    # A hole is measured again only where one that was measured after it has changed.
    changed = any(answer != init for answer, init in holes[1:])
    assert result.passes == (2 if changed else 1)


def test_each_hole_is_measured_given_the_others_as_they_are():
    # The second hole wants three more than the first, which wants five.
    result = measured(Coupled(lambda hole, lengths: 5 if hole == 0 else lengths[0] + 3), [HillClimb()] * 2)
    assert result.canvas.lengths == (5, 8)
    # The other way round, the first must be measured again once the second is known.
    result = measured(Coupled(lambda hole, lengths: lengths[1] + 3 if hole == 0 else 5), [HillClimb()] * 2)
    assert result.canvas.lengths == (8, 5)
    assert result.passes == 2


def test_a_hole_is_measured_again_only_if_another_has_changed():
    model = Coupled(lambda hole, lengths: (5, 8, 9)[hole])
    result = measured(model, [HillClimb(init=5), HillClimb(init=8), HillClimb(init=8)])
    assert (result.canvas.lengths, result.passes) == ((5, 8, 9), 2)
    of_third = [lengths[:2] for lengths, positions in asked(model) if positions[0] >= 3 * 2 + 5 + 8]
    assert set(of_third) == {(5, 8)}
    assert len(of_third) == len(result.landscapes[2].probes)


def test_a_second_measurement_starts_where_the_first_ended():
    model = Coupled(lambda hole, lengths: 30 if hole == 0 else 20)
    result = measured(model, [HillClimb(init=28, patience=1), HillClimb(init=18, patience=1)])
    assert result.canvas.lengths == (30, 20)
    assert [p.length for p in result.landscapes[0].probes] == [30, 31, 29]


def quarrel(hole, lengths):
    """Two holes that never agree."""
    if hole == 0:
        return 3 if lengths[1] == 7 else 5
    return 7 if lengths[0] == 5 else 9


@given(st.integers(1, 4))
def test_holes_that_never_agree_are_left_after_the_passes_allowed(passes):
    result = measured(Coupled(quarrel), [HillClimb()] * 2, passes)
    assert result.passes == passes
    assert result.canvas.lengths == ((5, 7) if passes % 2 else (3, 9))


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.integers(2, 3), st.integers(1, 3), st.integers(1, 4))
def test_nothing_is_asked_twice_in_any_pass(seed, holes, passes, patience):
    model = Chaotic(seed)
    measured(model, [HillClimb(4, patience, 1, 9)] * holes, passes)
    assert len(set(asked(model))) == len(asked(model))


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.integers(1, 3), st.integers(1, 4))
def test_what_is_known_of_the_first_step_is_what_the_model_would_say(seed, holes, passes):
    result = measured(Chaotic(seed), [HillClimb(4, 2, 1, 9)] * holes, passes)
    canvas = result.canvas
    assert set(result.first) <= set(canvas.positions)
    for position, logits in result.first.items():
        (direct,) = Chaotic(seed).predict([Query(canvas, (position,))])
        assert torch.equal(logits, direct[0])


def test_the_first_step_is_known_of_every_hole_once_nothing_changes():
    result = measured(Scripted(["abc", "defgh"]), [HillClimb()] * 2)
    assert set(result.first) == set(result.canvas.positions)


def test_the_first_step_is_unknown_of_a_hole_measured_beside_another_length():
    result = measured(Scripted(["abc", "defgh"]), [HillClimb()] * 2, passes=1)
    assert set(result.first) == set(result.canvas.spans[1])


def test_one_hole_takes_one_pass():
    assert measured(Scripted(["abc"]), [HillClimb()], passes=5).passes == 1


def test_a_fixed_hole_is_held_while_the_other_is_searched():
    model = Coupled(lambda hole, lengths: lengths[0] + 1)
    result = measured(model, [Fixed(6), Exhaustive(12)])
    assert result.canvas.lengths == (6, 7)
    assert result.landscapes[0].probes == ()
    assert len(asked(model)) == 12
