"""The public fake says what it was told to say, with the confidence it was told to have."""

import pytest
import torch

import calipers
from calipers.bias import PAPER
from calipers.errors import ArgumentError
from calipers.models.base import MaskModel, Query
from calipers.models.scripted import DELETE, EXPAND, SIZE, Scripted, peaked
from calipers.probe import confidence
from helpers import canvas, predict

LENGTHS = range(1, 65)


def test_it_is_a_mask_model():
    assert isinstance(Scripted(["x"]), MaskModel)


def test_the_example_in_its_docstring_holds():
    fill = calipers.infill("hello ", "!", model=Scripted(["world"]))
    assert fill.text == "world"
    assert fill.length == 5


@pytest.mark.parametrize("answer", ["a", "return x + 1", "ünïcode 🙂"])
def test_a_search_finds_the_answers_own_length_and_decodes_it(answer):
    fill = calipers.infill("def f(x):\n    ", "\n", model=Scripted([answer]))
    assert (fill.text, fill.length) == (answer, len(answer.encode()))


def test_each_hole_has_its_answer():
    template = calipers.Template.parse("a<hole>b<hole>c")
    fill = calipers.Infiller(Scripted(["one", "three"])).fill(template)
    assert fill.texts == ("one", "three")


@pytest.mark.parametrize(("length", "text"), [(2, "wo"), (5, "world"), (12, "worldworldwo")])
def test_at_another_length_the_answer_is_cut_or_repeated(length, text):
    model = Scripted(["world"])
    (logits,) = predict(model, canvas(b"hello ", length, b"!"))
    assert model.decode(logits.argmax(-1).tolist()) == text


def test_predictions_follow_the_positions_asked_for():
    model = Scripted(["abc"])
    (logits,) = model.predict([Query(canvas(b"..", 3), (4, 2))])
    assert model.decode(logits.argmax(-1).tolist()) == "ca"


@pytest.mark.parametrize("oracle", [1, 8, 30, 64])
def test_the_calibrated_landscape_peaks_at_the_oracle_and_nowhere_else(oracle):
    calibrated = [peaked(oracle)(length) / PAPER(length) for length in LENGTHS]
    assert LENGTHS[max(range(64), key=calibrated.__getitem__)] == oracle
    assert calibrated[:oracle] == sorted(calibrated[:oracle])
    assert calibrated[oracle - 1 :] == sorted(calibrated[oracle - 1 :], reverse=True)


@pytest.mark.parametrize("landscape", [None, lambda length: 1 / (1 + length)])
def test_a_holes_confidence_is_its_landscape_at_its_length_whatever_stands_around(landscape):
    model = Scripted(["a word"], landscape)
    told = landscape or peaked(6)
    for length in (1, 6, 40):
        for prefix, suffix in ((b"", b""), (b"some", b"text")):
            (logits,) = predict(model, canvas(prefix, length, suffix))
            assert confidence(logits) == pytest.approx(told(length), abs=1e-4)


def test_tokens_override_what_is_predicted():
    model = Scripted(["x"], tokens=lambda hole, index, length: (ord("a") + index, 0.25 * length))
    (logits,) = predict(model, canvas(b"..", 3))
    assert logits.argmax(-1).tolist() == [97, 98, 99]
    assert logits.softmax(-1).amax(-1).tolist() == pytest.approx([0.75] * 3, abs=0.01)


def test_only_controls_let_the_length_changing_tokens_through():
    model = Scripted(["x"], tokens=lambda *_: (EXPAND, 0.9))
    asked = canvas(b".", 2)
    (plain,), (control,) = predict(model, asked), predict(model, asked, controls=True)
    assert plain[:, [EXPAND, DELETE]].isneginf().all()
    assert control.argmax(-1).tolist() == [EXPAND, EXPAND]


def test_every_query_is_remembered_call_by_call():
    model = Scripted(["x"])
    one, two = Query.whole(canvas(b".", 1)), Query.whole(canvas(b".", 2))
    list(model.predict([one, two]))
    list(model.predict([two]))
    assert model.asked == [[one, two], [two]]


def test_a_query_of_no_position_is_answered_with_no_row():
    (logits,) = predict(Scripted(["x"]), canvas(b"..", 0))
    assert logits.shape == (0, SIZE)
    assert logits.dtype == torch.float32


def test_a_hole_without_an_answer_is_an_error():
    template = calipers.Template.parse("a<hole>b<hole>c")
    with pytest.raises(ArgumentError, match=r"Scripted has 1 answer\(s\), and was asked of hole 2"):
        calipers.Infiller(Scripted(["one"])).fill(template)


def test_it_reads_and_writes_bytes():
    model = Scripted([])
    assert model.encode("é\n") == [0xC3, 0xA9, 10]
    assert model.decode([0xC3, 0xA9, EXPAND, 10]) == "é\n"
    assert model.decode([0xC3]) == "\N{REPLACEMENT CHARACTER}"


def test_a_nameless_empty_answer_can_still_be_asked_for():
    (logits,) = predict(Scripted([""]), canvas(b"a", 2, b"b"))
    assert logits.argmax(-1).tolist() == [32, 32]
