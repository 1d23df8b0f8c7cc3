"""The length bias: its values, its file, and what it refuses to be."""

import json
import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calipers.bias import NONE, PAPER, Bias, find_bias, names
from calipers.errors import BiasError
from calipers.models.card import cards

FITTED = Bias(
    a=0.8,
    b=1.5,
    c=0.5,
    d=0.06,
    e=0.2,
    name="mine",
    model="owner/model",
    revision="0123abc",
    data="café tasks",
    samples=("HumanEval/0/L3", "HumanEval/1/L2"),
    lengths=(1, 2, 4, 8, 16, 32),
    window=4,
    weighting="standard_error",
    counts=(2, 2, 1, 1, 2, 2),
    means=(0.9, 0.7, 0.6, 0.5, 0.4, 0.3),
    residual=0.01,
    made_with={"command": "calipers fit"},
)


@given(st.integers(1, 4096))
def test_the_value_is_the_double_exponential(length):
    expected = 1.00 * math.exp(-1.77 * length) + 0.56 * math.exp(-0.06 * length) + 0.24
    assert PAPER(length) == pytest.approx(expected, rel=1e-12)


def test_the_paper_s_bias_falls_towards_its_floor():
    values = [PAPER(n) for n in range(1, 129)]
    assert values == sorted(values, reverse=True)
    assert 0.24 < values[-1] < 0.2405


@given(st.integers(1, 4096))
def test_none_divides_by_one(length):
    assert NONE(length) == 1.0


def test_names_are_known_and_a_bias_is_itself():
    assert find_bias("paper") is PAPER
    assert find_bias("none") is NONE
    assert find_bias(FITTED) is FITTED


shares = st.floats(0, 3)
texts = st.text(max_size=8)


@settings(max_examples=30)
@given(
    st.builds(
        Bias,
        a=shares,
        b=shares,
        c=shares,
        d=shares,
        e=st.floats(1e-6, 3),
        name=texts,
        model=texts,
        revision=texts,
        portable=st.booleans(),
        data=texts,
        samples=st.lists(texts, max_size=3).map(tuple),
        lengths=st.lists(st.integers(1, 128), max_size=3).map(tuple),
        window=st.integers(0, 9),
        residual=st.none() | shares,
        made_with=st.dictionaries(texts, texts, max_size=2),
    )
)
def test_what_is_saved_is_read_back_equal(tmp_path_factory, bias):
    path = tmp_path_factory.getbasetemp() / "bias.json"
    bias.save(path)
    assert Bias.read(path) == bias
    assert find_bias(path) == bias
    assert find_bias(str(path)) == bias


def saved(path, **changes):
    """The file of FITTED, some keys changed, those set to ... left out."""
    FITTED.save(path)
    values = json.loads(path.read_text()) | changes
    path.write_text(json.dumps({key: value for key, value in values.items() if value is not ...}))
    return path


@pytest.mark.parametrize(
    "changes",
    [
        {"schema": "calipers-fill-1"},
        {"schema": ...},
        {"a": ...},
        {"e": ...},
        {"extra": 1},
        {"a": -0.1},
        {"d": -1e-9},
        {"b": math.nan},
        {"c": math.inf},
        {"a": "1.0"},
        {"b": None},
        {"c": [0.5]},
        {"e": 0.0},
    ],
)
def test_a_broken_artefact_is_refused(tmp_path, changes):
    with pytest.raises(BiasError):
        Bias.read(saved(tmp_path / "bias.json", **changes))


@pytest.mark.parametrize("contents", [b"", b"{", b"[1, 2]", b"3", b"\xff\xfe", b"null"])
def test_a_file_that_is_no_artefact_is_named_in_the_error(tmp_path, contents):
    path = tmp_path / "bias.json"
    path.write_bytes(contents)
    with pytest.raises(BiasError, match=r"bias\.json.*(fit it again|calipers fit)"):
        Bias.read(path)


def test_a_folder_is_no_artefact(tmp_path):
    with pytest.raises(BiasError, match="cannot be read as a bias"):
        Bias.read(tmp_path)


def test_an_unknown_name_is_answered_with_the_known_ones_and_how_to_make_one():
    with pytest.raises(BiasError) as refused:
        find_bias("papre")
    for part in ("'papre'", "paper", "none", "`calipers fit`"):
        assert part in str(refused.value)


@pytest.mark.parametrize("value", [-0.1, math.nan, math.inf])
@pytest.mark.parametrize("name", ["a", "b", "c", "d", "e"])
def test_coefficients_are_finite_and_not_negative(name, value):
    with pytest.raises(BiasError, match="finite and not negative"):
        replace(PAPER, **{name: value})


@pytest.mark.parametrize("d", [0.06, 0.5])
def test_a_bias_that_vanishes_is_refused(d):
    with pytest.raises(BiasError, match="e must be above 0"):
        replace(PAPER, d=d, e=0.0)


def test_a_bias_fitted_on_another_model_or_revision_warns_by_name():
    assert FITTED.foreign("owner/model", "0123abc") is None
    for model, revision in [("owner/other", "0123abc"), ("owner/model", "fff")]:
        warning = FITTED.foreign(model, revision)
        for part in ("'mine'", "owner/model", "0123abc", model, revision, "`calipers fit`"):
            assert part in warning


def test_the_paper_s_bias_is_meant_for_every_model():
    assert PAPER.foreign("Dream-org/Dream-Coder-v0-Base-7B", "main") is None
    assert NONE.foreign("anything", "main") is None


def test_a_bias_of_unknown_origin_warns_of_nothing():
    assert Bias(1, 1, 1, 1, 1).foreign("anything", "main") is None


def test_the_bias_that_ships_is_found_by_name_and_belongs_to_the_bundled_model():
    bias, card = find_bias("calipers-135m"), cards()["calipers-135m"]
    assert bias.foreign(card.id, card.revision) is None
    assert bias.foreign("llada", "main") is not None
    assert len(bias.samples) == len(set(bias.samples)) == 100
    assert "calipers-135m" in names()
