"""Classifier-free guidance: u + (scale + 1)(c - u), c with the context and u without."""

import pytest
import torch

import calipers
from calipers.canvas import MASK, Canvas
from calipers.errors import ArgumentError
from calipers.models.base import MaskModel, Query
from calipers.models.guidance import Guided, blind
from calipers.models.scripted import EXPAND, Scripted
from helpers import ALLOWED, CHECKPOINTS, FORBIDDEN, canvas, close, forwards, predict

PREFIX, SUFFIX = [30, 31, 200], [40, 41]
HOLE = [MASK, 77, MASK, MASK]  # 77 was generated: it stays visible in both


@pytest.mark.parametrize("name", CHECKPOINTS)
@pytest.mark.parametrize("scale", [0.5, 3.0])
def test_guided_logits_are_those_computed_by_hand(parity, name, scale):
    model = parity(name)
    (c,) = predict(model, canvas(PREFIX, HOLE, SUFFIX))
    (u,) = predict(model, canvas([MASK] * 3, HOLE, [MASK] * 2))
    (guided,) = predict(Guided(model, scale), canvas(PREFIX, HOLE, SUFFIX))
    close(guided[:, ALLOWED], (u + (scale + 1) * (c - u))[:, ALLOWED])
    assert (u - c)[:, ALLOWED].abs().max() > 0.1  # else any formula would do


@pytest.mark.parametrize("name", CHECKPOINTS)
def test_forbidden_ids_stay_forbidden_and_nothing_is_not_a_number(parity, name):
    for logits in predict(Guided(parity(name), 1.5), canvas(PREFIX, HOLE, SUFFIX), canvas([], 3)):
        assert logits[:, sorted(FORBIDDEN)].isneginf().all()
        assert logits[:, ALLOWED].isfinite().all()


def test_with_and_without_context_share_a_forward(parity):
    model = parity("llada")
    with forwards(model) as shapes:
        predict(Guided(model, 1.0), canvas(PREFIX, 4, SUFFIX), canvas(PREFIX, 5, SUFFIX))
    assert shapes == [(4, 10)]


def test_answers_are_in_the_order_of_the_queries(parity):
    guided = Guided(parity("dream"), 2.0)
    asked = [canvas(PREFIX, 2, SUFFIX), canvas([], 30), canvas([9] * 20, 3)]
    for got, one in zip(predict(guided, *asked), asked, strict=True):
        close(got, predict(guided, one)[0])


def test_without_context_guidance_changes_nothing(parity):
    asked = canvas([], HOLE)
    close(predict(Guided(parity("llada"), 2.0), asked)[0], predict(parity("llada"), asked)[0])


def test_blind_masks_every_text_and_leaves_the_holes():
    seen = Canvas(((1, 2), (3,), ()), ((MASK, 9), (8,)), (4, 5))
    assert blind(seen) == Canvas(((MASK, MASK), (MASK,), ()), ((MASK, 9), (8,)), (4, 5))


def test_controls_are_passed_on():
    guided = Guided(Scripted(["x"], tokens=lambda *_: (EXPAND, 0.9)), 1.0)
    asked = canvas(b".", 2)
    plain, control = guided.predict([Query.whole(asked), Query(asked, asked.positions, controls=True)])
    assert plain[:, EXPAND].isneginf().all()
    assert control.argmax(-1).tolist() == [EXPAND, EXPAND]


@pytest.mark.parametrize("scale", [0, -1, -0.5, float("inf"), float("nan")])
def test_a_scale_that_makes_no_sense_is_refused(scale):
    with pytest.raises(ArgumentError, match=rf"guidance={scale} must be a finite number above 0; leave it out"):
        Guided(Scripted(["x"]), scale)


def test_all_else_is_the_models(parity):
    model = parity("dream")
    guided = Guided(model, 1.0)
    assert isinstance(guided, MaskModel)
    assert (guided.card.revision, guided.context, guided.device) == (model.card.revision, model.context, model.device)
    # Results must say so, and a bias fitted with guidance is another than one without.
    assert guided.card.name == f"{model.card.name} guided 1"
    assert guided.card.id == f"{model.card.id} guided 1"
    assert guided.encode("ab") == model.encode("ab")
    assert guided.decode(model.encode("ab")) == "ab"


def test_a_guided_model_fills_a_hole(parity):
    fill = calipers.infill("def f(", "):", model=Guided(parity("llada"), 1.0), length=4)
    assert fill.lengths == (4,)
    assert torch.tensor(fill.ids[0]).ge(0).all()
