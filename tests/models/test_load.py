"""A model from a name, on a device, in a dtype."""

import json

import pytest
import torch
from safetensors.torch import load_file

from calipers.errors import ArgumentError, ModelError
from calipers.models.card import Card
from calipers.models.load import cpu_has_bfloat16, load, load_folder, pick_device, pick_dtype
from calipers.models.packed import write_packed
from calipers.models.quant import pack
from helpers import canvas, checkpoint, predict


@pytest.mark.parametrize("name", ["llada-9b", "nowhere/at/all", "./llada", "/no/such/place", "~/model", "../x/y"])
def test_an_unknown_name_is_named_and_says_what_names_there_are(name):
    with pytest.raises(ModelError) as failure:
        load(name)
    assert f"model {name!r} is no card, no folder or file that is there, and no hub id" in str(failure.value)
    assert "`calipers models` lists the cards, a hub id is owner/name" in str(failure.value)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a cuda device here")
@pytest.mark.parametrize("device", ["cuda", "cuda:1"])
def test_a_device_that_is_not_here_is_named_with_those_that_are(tmp_path, device):
    with pytest.raises(ArgumentError, match=rf"device='{device}' is not on this machine; here: .*cpu\."):
        load(str(checkpoint(tmp_path)), device=device)


@pytest.mark.parametrize("device", ["gpu", "", "CPU", "cpux:0"])
def test_an_unknown_device_is_named_with_the_known_ones(device):
    with pytest.raises(ArgumentError, match=rf"device='{device}' is not known; give auto, cuda, mps or cpu"):
        load(device=device)


@pytest.mark.parametrize("dtype", ["float16", "bf16", "", "int8"])
def test_an_unknown_dtype_is_named_with_the_known_ones(dtype):
    with pytest.raises(ArgumentError, match=rf"dtype='{dtype}' is not known; give auto, bfloat16 or float32"):
        load(dtype=dtype)


def test_auto_is_bfloat16_where_the_device_computes_in_it_and_float32_elsewhere():
    assert pick_dtype("auto", "cuda:1") == torch.bfloat16
    assert pick_dtype("auto", "cpu") == (torch.bfloat16 if cpu_has_bfloat16() else torch.float32)
    assert pick_dtype("auto", "mps") == torch.float32
    assert pick_dtype("bfloat16", "cpu") == torch.bfloat16
    assert pick_dtype("float32", "cuda") == torch.float32


def test_auto_takes_a_device_that_is_here():
    assert pick_device(pick_device("auto")) in ("cuda", "mps", "cpu")
    assert pick_device("cpu") == "cpu"


@pytest.mark.parametrize(
    ("name", "opens", "rank"), [("llada", "never", "low_confidence"), ("dream", "bare", "entropy")]
)
def test_a_folder_without_a_card_has_its_familys_habits(tmp_path, name, opens, rank):
    card = load(str(checkpoint(tmp_path / "mine", name)), device="cpu", dtype="float32").card
    assert (card.name, card.id, card.revision) == ("mine", str(tmp_path / "mine"), "local")
    assert (card.opens, card.closes, card.rank, card.context) == (opens, False, rank, 0)


def test_a_card_of_another_family_is_refused(tmp_path):
    folder = checkpoint(tmp_path, "llada")
    with pytest.raises(ModelError, match=r"Card mine is of family Dream, but .*config.json says llada; name .* folder"):
        load_folder(folder, Card("mine", "mine", "Dream", opens="bare"), "cpu", torch.float32)


def test_nothing_is_read_before_the_arguments_are_checked(tmp_path):
    with pytest.raises(ArgumentError):
        load(str(tmp_path / "nothing here"), dtype="float16")


def own(folder, change=lambda stored: None):
    """A small checkpoint of calipers' own family (no biases, tied) and the quantised file made of it, changed."""

    def edit(tensors):
        for name in [name for name in tensors if name.endswith("bias")]:
            del tensors[name]

    checkpoint(folder, "dream_tied", {"model_type": "calipers"}, edit)
    stored = {}
    shapes = {}
    for name, tensor in load_file(folder / "model.safetensors").items():
        if tensor.dim() == 1:
            stored[name] = tensor
        else:
            shapes[name] = list(tensor.shape)
            stored |= {f"{name}.{part}": value for part, value in pack(tensor, 8, 16).items()}
    change(stored)
    config = json.loads((folder / "config.json").read_text())
    file = folder.parent / "packed.safetensors"
    write_packed(file, stored, config, {"shapes": shapes}, (folder / "tokenizer.json").read_text())
    return folder, file


def test_a_packed_file_is_nearly_the_checkpoint_it_was_made_of(tmp_path):
    folder, file = own(tmp_path / "own")
    whole, packed = load(str(folder), device="cpu", dtype="float32"), load(str(file), device="cpu", dtype="float32")
    assert (packed.card.id, packed.card.opens, packed.card.closes) == (str(file), "always", True)
    assert packed.encode("def f(x):") == whole.encode("def f(x):")
    asked = canvas(range(20, 40), 4, range(60, 70))
    (rough,), (exact,) = predict(packed, asked), predict(whole, asked)
    off = (rough - exact)[exact.isfinite()]
    assert off.abs().mean() < exact[exact.isfinite()].std() / 20


def test_a_packed_file_in_bfloat16_is_held_in_bfloat16(tmp_path):
    model = load(str(own(tmp_path / "own")[1]), device="cpu", dtype="bfloat16")
    assert {p.dtype for p in model.backbone.parameters()} == {torch.bfloat16}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda stored: stored.pop("model.norm.weight"), r"1 parameter\(s\) are in no file, norm.weight first"),
        (
            lambda stored: stored.update({"model.norm.weight": torch.ones(32)}),
            r"norm.weight is \[32\] in the file where its config means \[64\]",
        ),
    ],
)
def test_a_packed_file_that_does_not_fit_its_config_is_refused(tmp_path, change, said):
    with pytest.raises(ModelError, match=rf"{said}.*pack it again"):
        load(str(own(tmp_path / "own", change)[1]), device="cpu", dtype="float32")


def test_a_named_cards_facts_hold_for_a_local_copy(tmp_path):
    folder = str(checkpoint(tmp_path / "copy", "dream"))
    model = load(folder, card="dream-coder-7b", device="cpu", dtype="float32")
    assert (model.card.name, model.card.top_p) == ("dream-coder-7b", 0.95)
    assert (model.card.id, model.card.revision) == (folder, "local")
    with pytest.raises(ArgumentError, match=r"card='nobody' is not known; known: calipers-135m"):
        load(folder, card="nobody")
    with pytest.raises(ModelError, match=r"of family llada, but .* says Dream"):
        load(folder, card="llada-8b-base")


def test_a_revision_of_what_is_here_already_is_refused(tmp_path):
    for name in ("calipers-135m", str(checkpoint(tmp_path))):
        with pytest.raises(ArgumentError, match=r"revision='abc' is for the hub"):
            load(name, revision="abc")


def test_more_layers_than_the_config_says_are_refused(tmp_path):
    folder = checkpoint(tmp_path, "llada", config={"n_layers": 2})
    with pytest.raises(ModelError, match=r"blocks\.2\..* of a layer that config\.json does not have"):
        load(str(folder))
