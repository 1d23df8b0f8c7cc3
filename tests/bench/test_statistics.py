"""Intervals that cover, differences that are tested exactly where they can be, and the pass@k of the literature."""

from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from calipers.bench.statistics import Difference, Interval, interval, paired, pass_at_k
from calipers.errors import ArgumentError

scores = st.lists(st.floats(-5, 5), min_size=1, max_size=30)
outcomes = st.lists(st.booleans(), min_size=1, max_size=12)


@given(scores)
def test_an_interval_is_around_the_mean_and_inside_the_scores(values):
    found = interval(values, resamples=200)
    assert found.n == len(values)
    assert found.mean == pytest.approx(sum(values) / len(values))
    assert min(values) - 1e-9 <= found.low <= found.high <= max(values) + 1e-9


def brute_force(units):
    """Every bootstrap mean there is, each equally likely: all ways to draw as many units as there are."""
    drawn = product(units, repeat=len(units))
    return np.array([sum(sum(unit) for unit in draw) / sum(len(unit) for unit in draw) for draw in drawn])


@pytest.mark.parametrize(
    ("values", "groups"),
    [
        ([0, 1, 1, 0, 1], None),
        ([0.1, 2.5, -1.0, 4.0], None),
        ([1, 1, 1, 0, 0, 1, 0], ["a", "a", "a", "b", "c", "c", "d"]),
    ],
)
@pytest.mark.parametrize("level", [0.5, 0.8])
def test_the_interval_is_that_of_all_resamples_there_are(values, groups, level):
    labels = groups or list(range(len(values)))
    units = [[v for v, g in zip(values, labels, strict=True) if g == label] for label in sorted(set(labels))]
    every = brute_force(units)
    found = interval(values, level=level, resamples=60_000, groups=groups)
    # Quantiles of a discrete distribution jump: below and above ours lies the share that should, to chance.
    tail = (1 - level) / 2
    assert (every < found.low - 1e-9).mean() <= tail + 0.01 <= (every <= found.low + 1e-9).mean() + 0.02
    assert (every > found.high + 1e-9).mean() <= tail + 0.01 <= (every >= found.high - 1e-9).mean() + 0.02


def test_ninety_percent_intervals_hold_the_true_mean_nine_times_in_ten():
    random = np.random.default_rng(7)
    held = 0
    for seed in range(400):
        found = interval(random.random(120) < 0.35, level=0.9, resamples=500, seed=seed)
        held += found.low <= 0.35 <= found.high
    assert 0.85 <= held / 400 <= 0.95


def test_tasks_of_one_problem_need_groups_for_an_interval_that_covers():
    random = np.random.default_rng(8)
    held = {"grouped": 0, "alone": 0}
    groups = [str(i // 8) for i in range(40 * 8)]
    for seed in range(200):
        skill = np.repeat(random.random(40), 8)  # a problem is easy or hard for all of its tasks
        passed = random.random(320) < skill
        for name, labels in (("grouped", groups), ("alone", None)):
            found = interval(passed, level=0.9, resamples=400, seed=seed, groups=labels)
            held[name] += found.low <= 0.5 <= found.high
    assert 0.84 <= held["grouped"] / 200 <= 0.96
    assert held["alone"] / 200 < 0.8


def test_a_group_for_each_score_is_no_grouping():
    values = [0.0, 1.0, 3.0, 2.5, 0.5]
    assert interval(values, groups=list("abcde")) == interval(values)


def test_the_same_seed_gives_the_same_interval_and_another_one_nearly():
    values = np.random.default_rng(1).random(300)
    first, again, other = interval(values), interval(values), interval(values, seed=1)
    assert first == again
    assert first != other
    assert first.low == pytest.approx(other.low, abs=0.005)


def test_more_scores_and_lower_levels_make_narrower_intervals():
    random = np.random.default_rng(2)
    few, many = random.random(50), random.random(5000)

    def width(found):
        return found.high - found.low

    assert width(interval(many)) < width(interval(few)) / 5
    assert width(interval(few, level=0.5)) < width(interval(few))
    # 95 % of a mean of 5,000 uniform scores: ± 1.96 · sqrt(1/12 / 5000).
    assert width(interval(many)) == pytest.approx(2 * 1.96 * (1 / 12 / 5000) ** 0.5, rel=0.06)


@given(scores, st.floats(0.1, 10), st.floats(-5, 5))
def test_an_interval_moves_and_stretches_with_its_scores(values, scale, shift):
    plain = interval(values, resamples=100)
    moved = interval([scale * v + shift for v in values], resamples=100)
    for field in ("mean", "low", "high"):
        assert getattr(moved, field) == pytest.approx(scale * getattr(plain, field) + shift, abs=1e-6)


def test_an_interval_in_percent():
    assert Interval(0.25, 0.125, 0.5, 8).times(100) == Interval(25.0, 12.5, 50.0, 8)


def test_the_full_multi_line_set_is_resampled_within_a_second_of_processor_time():
    from time import process_time

    values = np.random.default_rng(3).random(5715)
    best = float("inf")
    for _ in range(2):
        start = process_time()
        interval(values)
        best = min(best, process_time() - start)
    assert best < 1.5


@given(outcomes, st.data())
def test_passes_and_failures_are_compared_by_the_exact_sign_test(a, data):
    b = data.draw(st.lists(st.booleans(), min_size=len(a), max_size=len(a)))
    found = paired(a, b, resamples=50)
    wins = sum(x and not y for x, y in zip(a, b, strict=True))
    losses = sum(y and not x for x, y in zip(a, b, strict=True))
    assert (found.wins, found.losses, found.ties, found.n) == (wins, losses, len(a) - wins - losses, len(a))
    expected = binomtest(wins, wins + losses).pvalue if wins + losses else 1.0
    assert found.p == pytest.approx(expected)


@pytest.mark.parametrize(
    ("wins", "losses", "p"),
    [(5, 0, Fraction(2, 32)), (6, 1, Fraction(16, 128)), (3, 3, Fraction(1)), (0, 10, Fraction(2, 1024))],
)
def test_small_tables_have_the_p_that_is_counted_by_hand(wins, losses, p):
    a = [1] * wins + [0] * losses + [1, 0]
    b = [0] * wins + [1] * losses + [1, 0]
    assert paired(a, b, resamples=50).p == float(p)


def test_thousands_of_tasks_have_an_exact_p_too():
    a, b = [1] * 1300 + [0] * 1100, [0] * 1300 + [1] * 1100
    assert paired(a, b, resamples=50).p == pytest.approx(binomtest(1300, 2400).pvalue, rel=1e-9)


@given(outcomes, st.data())
def test_counting_all_signs_is_the_exact_sign_test(a, data):
    b = data.draw(st.lists(st.booleans(), min_size=len(a), max_size=len(a)))
    ungrouped = paired(a, b, resamples=4096)
    by_signs = paired(a, b, resamples=4096, groups=[str(i) for i in range(len(a))])
    assert by_signs.p == pytest.approx(ungrouped.p)


@given(st.lists(st.integers(-4, 4), min_size=1, max_size=7))
def test_few_differences_are_tested_over_every_choice_of_signs(difference):
    found = paired(
        [d / 2 for d in difference], [0] * len(difference), resamples=4096, groups=list(map(str, difference))
    )
    groups = {d: sum(e for e in difference if e == d) for d in difference}
    totals = [abs(sum(signs)) for signs in product(*((-s, s) for s in groups.values()))]
    assert found.p == pytest.approx(sum(t >= abs(sum(difference)) for t in totals) / len(totals))


def test_random_signs_agree_with_the_exact_test():
    random = np.random.default_rng(4)
    a, b = random.random(400) < 0.40, random.random(400) < 0.34
    exact = paired(a, b).p
    drawn = paired(a, b, groups=[str(i) for i in range(400)]).p
    assert 0.01 < exact < 0.5
    assert drawn == pytest.approx(exact, abs=0.02)


def test_under_no_difference_p_is_below_a_tenth_a_tenth_of_the_time():
    random = np.random.default_rng(5)
    groups = [str(i // 5) for i in range(100)]
    small = 0
    for seed in range(300):
        effect = np.repeat(random.normal(size=20), 5)  # a whole problem may favour either run
        a, b = random.random(100) + effect, random.random(100)
        small += paired(a, b, resamples=200, seed=seed, groups=groups).p <= 0.1
    assert 0.05 <= small / 300 <= 0.15


@given(scores, st.data())
def test_who_is_compared_with_whom_changes_only_the_sign(a, data):
    b = data.draw(st.lists(st.floats(-5, 5), min_size=len(a), max_size=len(a)))
    one, other = paired(a, b, resamples=64), paired(b, a, resamples=64)
    assert (one.wins, one.losses, one.ties) == (other.losses, other.wins, other.ties)
    assert one.mean == pytest.approx(-other.mean)
    assert one.p == pytest.approx(other.p)
    assert one.low == pytest.approx(-other.high, abs=1e-9)


@given(scores)
def test_a_run_does_not_differ_from_itself(values):
    n = len(values)
    assert paired(values, values, resamples=64) == Difference(0.0, 0.0, 0.0, 1.0, 0, 0, n, n)


def test_pairing_sees_what_two_intervals_do_not():
    random = np.random.default_rng(6)
    hard = random.random(200)
    a, b = hard + 0.02, hard + 0.01 * random.random(200)
    assert paired(a, b).low > 0
    assert interval(a).low < interval(b).high


@given(st.integers(1, 9), st.data())
def test_pass_at_k_is_the_share_of_subsets_with_a_right_sample(n, data):
    c, k = data.draw(st.integers(0, n)), data.draw(st.integers(1, n))
    subsets = list(combinations([True] * c + [False] * (n - c), k))
    assert pass_at_k(n, c, k) == pytest.approx(sum(map(any, subsets)) / len(subsets))


@pytest.mark.parametrize(
    ("n", "c", "k", "value"),
    [(5, 2, 1, 0.4), (5, 2, 2, 0.7), (10, 0, 10, 0.0), (10, 3, 8, 1.0), (200, 1, 100, 0.5), (100_000, 1, 1, 1e-5)],
)
def test_known_values_of_pass_at_k(n, c, k, value):
    assert pass_at_k(n, c, k) == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize(
    ("call", "says", "remedy"),
    [
        (lambda: interval([]), "values has shape (0,)", "at least one"),
        (lambda: interval([[1.0]]), "values has shape (1, 1)", "one score a task"),
        (lambda: interval([0.5, float("nan")]), "values[1]=nan", "leave the task out"),
        (lambda: interval([1.0], level=1.0), "level=1.0", "0.95"),
        (lambda: interval([1.0], resamples=0), "resamples=0", "at least 1"),
        (lambda: interval([1.0, 2.0], groups=["a"]), "groups has 1 labels for 2 scores", "one a score"),
        (lambda: paired([1], [1, 0]), "a has 1 scores and b 2", "the same tasks"),
        (lambda: pass_at_k(3, 4, 1), "c=4", "between 0 and n=3"),
        (lambda: pass_at_k(3, 1, 4), "k=4 is above n=3", "draw at least k"),
        (lambda: pass_at_k(3, 1, 0), "k=0", "at least 1"),
    ],
)
def test_misuse_is_refused_by_name_value_and_remedy(call, says, remedy):
    with pytest.raises(ArgumentError) as refused:
        call()
    assert says in str(refused.value)
    assert remedy in str(refused.value)
