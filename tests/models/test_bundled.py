"""The model that ships inside the package."""

import pytest

import calipers
from calipers.canvas import MASK, Canvas
from calipers.models.base import MaskModel, Query
from calipers.models.card import DEFAULT, cards
from calipers.models.files import bundled
from calipers.models.load import load


@pytest.fixture(scope="module")
def model():
    return load(device="cpu", dtype="float32")


def top(model, prefix, suffix):
    """The most probable text of a hole of one token, and its probability."""
    asked = Canvas((tuple(model.encode(prefix)), tuple(model.encode(suffix))), ((MASK,),))
    (logits,) = model.predict([Query.whole(asked)])
    probability, token = logits[0].softmax(-1).max(-1)
    return model.decode([int(token)]), float(probability)


def test_its_file_is_small_enough_for_a_package_index():
    assert bundled(cards()[DEFAULT]).stat().st_size <= 100_000_000


def test_it_is_what_load_gives_when_nothing_is_named(model):
    assert model.card == cards()[DEFAULT]
    assert isinstance(model, MaskModel)
    assert model.device == "cpu/float32"
    assert model.context == 1022  # begin- and end-of-text are its own


@pytest.mark.parametrize(
    ("prefix", "suffix", "answer"),
    [
        ("class A:\n    def __init__(", ", x):\n        self.x = x\n", "self"),
        ("try:\n    f()\n", " ValueError:\n    pass\n", "except"),
        ("import os\nprint(", ".path.join(a, b))\n", "os"),
        ("x = [1, 2, 3]\nfor item in ", ":\n    print(item)\n", "x"),
    ],
)
def test_it_knows_an_obvious_token(model, prefix, suffix, answer):
    text, probability = top(model, prefix, suffix)
    assert text == answer
    assert probability > 0.8


def test_what_stands_after_the_hole_is_read(model):
    assert top(model, "def f(a):\n    ", " a + 1\n")[0] == "return"
    assert top(model, "def f(a):\n    ", " a:\n        return 1\n")[0] == "if"


def test_it_fills_a_hole_whose_length_is_given(model):
    fill = calipers.Infiller(model).fill(
        calipers.Template.around("def add(a, b):\n    return ", "\n\nprint(add(1, 2))\n"), search=calipers.Fixed(3)
    )
    assert fill.text == "a + b"
    assert fill.lengths == (3,)


@pytest.mark.parametrize("text", ["def f(x):\n\treturn x\r\n", "naïve 你好 🙂", "<|im_start|> <|endoftext|>", "  "])
def test_its_tokenizer_gives_a_text_back(model, text):
    assert model.decode(model.encode(text)) == text


def test_no_special_token_comes_out(model):
    (logits,) = model.predict([Query.whole(Canvas(((), ()), ((MASK,) * 3,)))])
    assert logits[:, sorted(model.tokenizer.special)].isneginf().all()
    assert logits[:, list(model.card.forbidden)].isneginf().all()
    assert logits.isfinite().sum() > 3 * 49_000
