"""Algorithm 1 and its siblings. The sequential algorithm below is written from the paper's pseudocode alone."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from calipers import Exhaustive, Fixed, HillClimb, Regression, find, oracle
from calipers.bias import PAPER
from calipers.errors import ArgumentError
from calipers.experiments.paper import CASE_STUDY
from calipers.search import line, powers


def algorithm_1(score, init, patience, step, max_length):
    """Algorithm 1 of the paper, line for line: the length, and every (length, score) in order."""
    best, best_score = init, score(init)
    visited = [(init, best_score)]
    for direction in (+1, -1):
        length, count = init + direction * step, 0
        while 1 <= length <= max_length and count < patience:
            here = score(length)
            visited.append((length, here))
            if here > best_score:
                best, best_score, count = length, here, 0
            else:
                count += 1
            length += direction * step
    return best, tuple(visited)


def searched(search, landscape):
    """What a search finds on `{length: score}`, and its rounds of questions."""
    rounds = []

    def score(lengths):
        rounds.append(tuple(lengths))
        return [landscape[n] for n in lengths]

    return find(search, score), rounds


@st.composite
def climbs(draw):
    """A random landscape, often with ties, and a climb on it."""
    max_length = draw(st.integers(1, 48))
    few = st.sampled_from([0.5, 1.0, 1.5, 2.0])
    scores = st.floats(0.0, 2.0) | few
    landscape = dict(enumerate(draw(st.lists(scores, min_size=max_length, max_size=max_length)), 1))
    climb = HillClimb(
        init=draw(st.integers(1, max_length)),
        patience=draw(st.integers(1, 8)),
        step=draw(st.integers(1, 5)),
        max_length=max_length,
    )
    return landscape, climb


@given(climbs())
def test_a_climb_is_algorithm_1_in_length_order_and_scores(case):
    landscape, climb = case
    found, _ = searched(climb, landscape)
    length, visited = algorithm_1(landscape.get, climb.init, climb.patience, climb.step, climb.max_length)
    assert found.length == length
    assert found.visited == visited


@given(climbs())
def test_what_is_asked_is_exactly_what_algorithm_1_visits_each_length_once(case):
    landscape, climb = case
    _, rounds = searched(climb, landscape)
    _, visited = algorithm_1(landscape.get, climb.init, climb.patience, climb.step, climb.max_length)
    asked = [length for lengths in rounds for length in lengths]
    assert sorted(asked) == sorted(length for length, _ in visited)
    assert len(set(asked)) == len(asked)


@given(climbs())
def test_a_round_is_needed_only_after_an_improvement(case):
    landscape, climb = case
    _, rounds = searched(climb, landscape)
    _, visited = algorithm_1(landscape.get, climb.init, climb.patience, climb.step, climb.max_length)
    scores = [score for _, score in visited]
    improvements = sum(score > max(scores[:at]) for at, score in enumerate(scores) if at)
    assert len(rounds) <= 1 + improvements
    assert len(rounds) <= len(visited)


def test_a_start_at_the_peak_takes_one_round():
    _, rounds = searched(HillClimb(init=8, patience=4), {n: -abs(n - 8) for n in range(1, 65)})
    assert rounds == [(8, 9, 10, 11, 12, 7, 6, 5, 4)]


@st.composite
def unimodal(draw):
    """Scores that rise strictly to one peak and fall strictly after it."""
    size = draw(st.integers(1, 40))
    scores = sorted(draw(st.lists(st.floats(0, 1), min_size=size, max_size=size, unique=True)))
    left = draw(st.lists(st.booleans(), min_size=size, max_size=size))
    rising = [s for s, is_left in zip(scores, left, strict=True) if is_left]
    falling = [s for s, is_left in zip(scores, left, strict=True) if not is_left]
    return dict(enumerate(rising + falling[::-1], 1))


@given(unimodal(), st.data())
def test_on_one_peak_every_climb_of_step_one_finds_what_brute_force_finds(landscape, data):
    size = len(landscape)
    climb = HillClimb(data.draw(st.integers(1, size)), data.draw(st.integers(1, 6)), 1, size)
    best, _ = searched(Exhaustive(size), landscape)
    assert searched(climb, landscape)[0].length == best.length


@given(climbs())
def test_with_patience_without_end_any_landscape_is_climbed_to_its_top(case):
    landscape, climb = case
    patient = HillClimb(climb.init, climb.max_length, 1, climb.max_length)
    found, rounds = searched(patient, landscape)
    assert landscape[found.length] == max(landscape.values())
    assert len(rounds) == 1


def test_a_tie_is_a_failure():
    flat = dict.fromkeys(range(1, 65), 1.0)
    found, _ = searched(HillClimb(init=8, patience=2), flat)
    assert found.length == 8
    assert [n for n, _ in found.visited] == [8, 9, 10, 7, 6]


def test_the_way_down_competes_with_the_best_found_on_the_way_up():
    landscape = {1: 0.0, 2: 0.0, 3: 0.0, 4: 2.0, 5: 1.0, 6: 3.0, 7: 0.0}
    found, _ = searched(HillClimb(init=5, patience=1, max_length=7), landscape)
    assert found.length == 6
    assert [n for n, _ in found.visited] == [5, 6, 7, 4]


@given(climbs())
def test_why_it_stopped_is_told_for_both_directions(case):
    landscape, climb = case
    found, _ = searched(climb, landscape)
    up, down = (part.split(": ")[1] for part in found.stop.split(", "))
    visited = [n for n, _ in found.visited]
    if max(visited) + climb.step <= climb.max_length:
        assert up == "patience"
    if min(visited) - climb.step >= 1:
        assert down == "patience"
    assert {up, down} <= {"patience", "bound"}
    assert found.stop.startswith("up: ")
    assert ", down: " in found.stop


# The paper's case study as printed, in the order visited: L, Φ(L), B(L), Φ_c(L).
FROM_4, FROM_16 = (
    tuple((probe.length, probe.confidence, probe.bias, probe.calibrated) for probe in CASE_STUDY[init])
    for init in (4, 16)
)
PRINTED = {row[0]: row[1:] for row in FROM_4 + FROM_16}


@pytest.mark.parametrize("length", sorted(PRINTED))
def test_the_paper_s_bias_is_the_printed_one(length):
    assert PAPER(length) == pytest.approx(PRINTED[length][1], abs=0.0006)


@pytest.mark.parametrize("length", sorted(PRINTED))
def test_confidence_over_bias_is_the_printed_calibrated_confidence(length):
    confidence, bias, calibrated = PRINTED[length]
    assert confidence / bias == pytest.approx(calibrated, abs=0.003)
    assert confidence / PAPER(length) == pytest.approx(calibrated, abs=0.003)


@pytest.mark.parametrize(("init", "table"), [(4, FROM_4), (16, FROM_16)])
def test_the_case_study_is_climbed_in_the_printed_order_to_ten_tokens(init, table):
    found, _ = searched(HillClimb(init), {n: phi / PAPER(n) for n, (phi, _, _) in PRINTED.items()})
    assert [n for n, _ in found.visited] == [row[0] for row in table]
    assert found.length == 10
    assert found.stop == ("up: patience, down: bound" if init == 4 else "up: patience, down: patience")


def test_exhaustive_asks_once_for_all_and_takes_the_shortest_of_equals():
    found, rounds = searched(Exhaustive(6), {1: 0, 2: 3, 3: 1, 4: 3, 5: 2, 6: 3})
    assert found.length == 2
    assert rounds == [(1, 2, 3, 4, 5, 6)]
    assert found.visited == ((1, 0), (2, 3), (3, 1), (4, 3), (5, 2), (6, 3))


def test_exhaustive_keeps_its_step():
    found, rounds = searched(Exhaustive(6, step=2), {1: 0, 3: 1, 5: 2})
    assert (found.length, rounds) == (5, [(1, 3, 5)])


def test_a_fixed_length_is_not_searched():
    found, rounds = searched(Fixed(7), {})
    assert (found.length, found.visited, found.stop, rounds) == (7, (), "fixed", [])


def test_an_oracle_is_the_length_of_the_true_answer():
    found, _ = searched(oracle([5, 6, 7]), {})
    assert (found.length, found.stop) == (3, "oracle")
    assert searched(oracle([]), {})[0].length == 0


def test_a_score_too_few_is_noticed():
    with pytest.raises(ValueError, match="shorter"):
        find(HillClimb(), lambda lengths: [1.0] * (len(lengths) - 1))


@given(climbs(), st.integers(-5, 60))
def test_a_later_start_stays_inside_the_bounds(case, length):
    _, climb = case
    later = climb.starting_at(length)
    assert 1 <= later.init <= climb.max_length
    if 1 <= length <= climb.max_length:
        assert later.init == length
    assert (later.patience, later.step, later.max_length) == (climb.patience, climb.step, climb.max_length)


def test_searches_that_have_no_start_ignore_one():
    assert Fixed(3).starting_at(9) == Fixed(3)
    assert Exhaustive(9).starting_at(3) == Exhaustive(9)


@given(st.integers(1, 70))
def test_a_hole_waits_at_a_length_the_search_allows(longest):
    assert 1 <= Exhaustive(longest).init <= longest


@pytest.mark.parametrize(
    ("make", "name", "remedy"),
    [
        (lambda: HillClimb(init=0), "init=0", "at least 1"),
        (lambda: HillClimb(patience=0), "patience=0", "at least 1"),
        (lambda: HillClimb(step=0), "step=0", "at least 1"),
        (lambda: HillClimb(max_length=0), "max_length=0", "at least 1"),
        (lambda: HillClimb(init=65), "init=65 is above max_length=64", "lower init or raise max_length"),
        (lambda: Exhaustive(max_length=0), "max_length=0", "at least 1"),
        (lambda: Exhaustive(step=-1), "step=-1", "at least 1"),
        (lambda: Fixed(-1), "length=-1", "0 or more"),
    ],
)
def test_misuse_is_refused_by_name_value_and_remedy(make, name, remedy):
    with pytest.raises(ArgumentError) as refused:
        make()
    assert name in str(refused.value)
    assert remedy in str(refused.value)


@given(climbs())
def test_the_order_of_scores_is_all_that_matters(case):
    landscape, climb = case
    stretched = {n: math.atan(10 * score) for n, score in landscape.items()}
    ranks = [sorted(values.values()).index for values in (landscape, stretched)]
    assume(all(ranks[0](landscape[n]) == ranks[1](stretched[n]) for n in landscape))
    assert searched(climb, landscape)[0].length == searched(climb, stretched)[0].length


# Regression: the first stage of LR-DLLM.


@st.composite
def regressions(draw):
    """A random landscape and a regression on it."""
    max_length = draw(st.integers(4, 70))
    scores = draw(st.lists(st.floats(-8.0, 0.0), min_size=max_length, max_size=max_length))
    return dict(enumerate(scores, 1)), Regression(max_length, draw(st.sampled_from(["all", "powers"])))


def residuals(search, landscape):
    """What is left of each candidate's score by numpy's own least squares."""
    fitted = [n for n in (1, 2, 4, 8, 16, 32, 64, 128) if n <= search.max_length]
    design = np.stack([np.ones(len(fitted)), np.log(fitted)], 1)
    (intercept, slope), *_ = np.linalg.lstsq(design, np.array([landscape[n] for n in fitted]), rcond=None)
    candidates = fitted if search.among == "powers" else landscape
    return {n: landscape[n] - intercept - slope * math.log(n) for n in candidates}


@given(regressions())
def test_a_regression_finds_what_is_furthest_above_numpy_s_line(case):
    landscape, search = case
    found, _ = searched(search, landscape)
    left = residuals(search, landscape)
    assert left[found.length] == pytest.approx(max(left.values()), abs=1e-9)


@given(regressions())
def test_a_regression_asks_once_for_every_length_it_may_choose(case):
    landscape, search = case
    found, (asked,) = searched(search, landscape)
    assert asked[: len(powers(search.max_length))] == powers(search.max_length)
    assert sorted(asked) == sorted(residuals(search, landscape))
    assert len(set(asked)) == len(asked)
    assert found.visited == tuple((n, landscape[n]) for n in asked)


@given(st.data(), st.sampled_from(["all", "powers"]), st.floats(-9, 9), st.floats(-3, 3), st.floats(1, 9))
def test_a_bump_is_found_on_any_line_in_log_length(data, among, intercept, slope, height):
    # A bump on a power pulls the line up with it; there it surely is the highest among four powers or more,
    # but lengths past the last power may stand higher still.
    search = Regression(data.draw(st.integers(8 if among == "powers" else 5, 70)), among)
    others = [n for n in range(1, search.max_length + 1) if n not in powers(search.max_length)]
    peak = data.draw(st.sampled_from(powers(search.max_length) if among == "powers" else others))
    landscape = {n: intercept + slope * math.log(n) for n in range(1, search.max_length + 1)}
    landscape[peak] += height
    assert searched(search, landscape)[0].length == peak


@given(regressions(), st.floats(-9, 9), st.floats(-3, 3))
def test_what_is_linear_in_log_length_changes_nothing(case, intercept, slope):
    landscape, search = case
    first, second = sorted(residuals(search, landscape).values())[-1:-3:-1]
    assume(first - second > 1e-6)
    tilted = {n: score + intercept + slope * math.log(n) for n, score in landscape.items()}
    assert searched(search, tilted)[0].length == searched(search, landscape)[0].length


def test_a_regression_by_hand():
    # Through (0, -1), (1, -2), (2, -6) over log2: slope -5/2, middle -3; the residuals of 1, 2, 4 are -1/2, 1, -1/2.
    landscape = {1: -1.0, 2: -2.0, 3: -3.0, 4: -6.0}
    intercept, slope = line({n: landscape[n] for n in (1, 2, 4)})
    assert slope * math.log(2) == pytest.approx(-2.5)
    assert intercept == pytest.approx(-0.5)
    assert searched(Regression(4, "powers"), landscape)[0].length == 2
    # At 3 the line stands at -0.5 - 2.5 * 1.585 = -4.46: 1.46 below the score.
    found, rounds = searched(Regression(4), landscape)
    assert found.length == 3
    assert rounds == [(1, 2, 4, 3)]
    assert found.stop == "furthest above -0.500 -3.607 log L"


@given(st.integers(4, 70), st.sampled_from(["all", "powers"]), st.floats(-9, 9))
def test_of_equals_a_regression_takes_the_shortest(max_length, among, score):
    found, _ = searched(Regression(max_length, among), dict.fromkeys(range(1, max_length + 1), score))
    assert found.length == 1


def test_a_regression_is_sent_entropies_and_all_others_calibrated_confidences():
    assert Regression().signal == "entropy"
    assert {search.signal for search in (HillClimb(), Exhaustive(), Fixed(3))} == {"confidence"}


def test_a_regression_has_no_start_to_change():
    assert Regression(9).starting_at(3) == Regression(9)
    assert Regression(5).init == 5


@pytest.mark.parametrize(
    ("make", "name", "remedy"),
    [
        (lambda: Regression(3), "max_length=3", "4 or more"),
        (lambda: Regression(among="even"), "among='even'", "'all' or 'powers'"),
    ],
)
def test_a_regression_that_makes_no_sense_is_refused(make, name, remedy):
    with pytest.raises(ArgumentError) as refused:
        make()
    assert name in str(refused.value)
    assert remedy in str(refused.value)
