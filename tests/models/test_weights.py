"""Weights from safetensors: shards, dtypes, tied tables, what is wrong with them, and what they cost."""

import json
import sys

import pytest
import torch
from safetensors.torch import load_file, save_file

from calipers.errors import ModelError
from calipers.models.backbone import Norm, Shape
from calipers.models.config import Config
from calipers.models.llada import LLADA
from calipers.models.load import load
from calipers.models.weights import random_weights, sizes
from helpers import CHECKPOINTS, PARITY, canvas, checkpoint, close, predict, python, split

INDEX = "model.safetensors.index.json"


def refused(folder, *said):
    """Loading `folder` fails with a message that says all this."""
    with pytest.raises(ModelError) as failure:
        load(str(folder), device="cpu", dtype="float32")
    for part in said:
        assert part in str(failure.value)


@pytest.mark.parametrize("name", CHECKPOINTS)
@pytest.mark.parametrize("parts", [1, 3])
def test_shards_are_the_same_model_as_one_file(parity, tmp_path, name, parts):
    sharded = load(str(split(checkpoint(tmp_path, name), parts)), device="cpu", dtype="float32")
    whole = dict(parity(name).backbone.named_parameters())
    parameters = dict(sharded.backbone.named_parameters())
    assert parameters.keys() == whole.keys()
    for key, parameter in parameters.items():
        assert torch.equal(parameter, whole[key]), key


def test_a_tied_checkpoint_unembeds_with_its_embedding_and_an_untied_one_does_not(parity):
    assert parity("dream_tied").backbone.unembed is None
    assert parity("dream").backbone.unembed is not None


def test_a_tied_checkpoint_may_carry_the_table_twice(parity, tmp_path):
    def twice(tensors):
        tensors["lm_head.weight"] = tensors["model.embed_tokens.weight"].clone()

    model = load(str(checkpoint(tmp_path, "dream_tied", edit=twice)), device="cpu", dtype="float32")
    asked = canvas(range(20, 30), 3)
    close(predict(model, asked)[0], predict(parity("dream_tied"), asked)[0])


@pytest.mark.parametrize("name", CHECKPOINTS)
def test_bfloat16_computes_nearly_the_same_and_answers_in_float32(parity, tmp_path, name):
    model = load(str(checkpoint(tmp_path, name)), device="cpu", dtype="bfloat16")
    assert model.device == "cpu/bfloat16"
    assert {p.dtype for p in model.backbone.parameters()} == {torch.bfloat16}
    asked = canvas(range(20, 40), 4, range(60, 70))
    (rough,), (exact,) = predict(model, asked), predict(parity(name), asked)
    assert rough.dtype == torch.float32
    finite = exact.isfinite()
    assert torch.equal(rough.isfinite(), finite)
    off = (rough - exact)[finite].abs()
    assert 0 < off.mean() < exact[finite].std() / 10


@pytest.mark.parametrize("stored", [torch.bfloat16, torch.float16, torch.float64])
def test_a_file_in_another_dtype_is_converted(tmp_path, stored):
    def convert(tensors):
        tensors.update({name: tensor.to(stored) for name, tensor in tensors.items()})

    model = load(str(checkpoint(tmp_path, "llada", edit=convert)), device="cpu", dtype="float32")
    tensors = load_file(PARITY / "llada" / "model.safetensors")
    want = tensors["model.transformer.wte.weight"].to(stored).float()
    assert torch.equal(model.backbone.embed.weight, want)


def test_quantised_tensors_are_refused(tmp_path):
    name = "model.transformer.ln_f.weight"
    folder = checkpoint(tmp_path, edit=lambda tensors: tensors.update({name: tensors[name].to(torch.int8)}))
    refused(folder, f"Tensor {name} in {folder}", "quantised (I8)", "download the checkpoint it was made from")


def test_a_missing_tensor_is_named(tmp_path):
    name = "model.layers.1.self_attn.q_proj.bias"
    folder = checkpoint(tmp_path, "dream", edit=lambda tensors: tensors.pop(name))
    refused(folder, "1 tensor(s) are missing", str(folder), name, "the download is incomplete")


def test_a_misshapen_tensor_is_named_with_both_sizes(tmp_path):
    name = "model.layers.2.mlp.up_proj.weight"
    folder = checkpoint(tmp_path, "dream", edit=lambda tensors: tensors.update({name: tensors[name][:-1].clone()}))
    refused(folder, f"Tensor {name}", "[111, 64]", "[112, 64]", "do not belong together")


def test_a_config_of_another_size_is_noticed(tmp_path):
    refused(checkpoint(tmp_path, config={"n_layers": 4}), "missing", "blocks.3.", "another architecture")
    refused(checkpoint(tmp_path, config={"mlp_hidden_size": 128}), "[64, 96]", "[64, 128]")


@pytest.mark.parametrize("keep", [0, 5, 1000, -1])
def test_a_broken_file_is_named(tmp_path, keep):
    file = checkpoint(tmp_path) / "model.safetensors"
    file.write_bytes(file.read_bytes()[:keep])
    refused(tmp_path, f"{file} is no safetensors file", "download it again")


def test_no_weights_at_all_are_named(tmp_path):
    (checkpoint(tmp_path) / "model.safetensors").unlink()
    refused(tmp_path, f"{tmp_path} has neither model.safetensors nor", "calipers reads safetensors only")


def test_a_missing_shard_is_named(tmp_path):
    (split(checkpoint(tmp_path), 3) / "model-00002-of-00003.safetensors").unlink()
    refused(tmp_path, INDEX, "1 file(s)", "model-00002-of-00003.safetensors", "download the checkpoint again")


@pytest.mark.parametrize("text", ["{", "{}", "[]", '{"weight_map": 3}', '{"weight_map": {}}'])
def test_a_broken_index_is_named(tmp_path, text):
    (split(checkpoint(tmp_path), 2) / INDEX).write_text(text)
    refused(tmp_path, str(tmp_path / INDEX), "again")


def test_a_tensor_in_two_shards_is_named(tmp_path):
    first = split(checkpoint(tmp_path), 2) / "model-00001-of-00002.safetensors"
    tensors = load_file(first)
    save_file(tensors | load_file(tmp_path / "model-00002-of-00002.safetensors"), first)
    refused(tmp_path, "is in", "and again in", "remove the file")


def test_random_weights_have_the_shape_and_follow_the_seed():
    shape = Shape(vocab=20, dim=8, layers=2, heads=2, kv_heads=1, hidden=12, eps=1e-5, theta=1e4, context=9)
    one, same, other = (random_weights(shape, "cpu", torch.float32, seed) for seed in (1, 1, 2))
    ids = torch.tensor([[1, 2, 3]])
    assert one(ids).shape == (3, 20)
    assert torch.equal(one(ids), same(ids))
    assert not torch.equal(one(ids), other(ids))


COST = """
import json, sys
from pathlib import Path

from calipers.models.load import load

def peak():  # not ru_maxrss, which a process inherits from the one that started it
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("VmHWM"))

large, small, dtype = sys.argv[1:]
load(small, device="cpu", dtype=dtype)  # whatever is imported when it is first used
before = peak()
model = load(large, device="cpu", dtype=dtype)
for parameter in model.backbone.parameters():
    parameter.view(-1)[::512].sum()  # touch every page, mapped or not
print(json.dumps([peak() - before, sum(p.numel() * p.element_size() for p in model.backbone.parameters())]))
"""
SIZES = {"vocab_size": 4096, "embedding_size": 4096, "d_model": 1024, "n_layers": 7, "mlp_hidden_size": 3072}


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """A LLaDA of 100M parameters in each dtype, in four shards."""

    def write(tensors):
        config = Config(json.loads((PARITY / "llada" / "config.json").read_text()) | SIZES, "here")
        shape = LLADA.shape(config)
        size, names = sizes(shape), LLADA.tensors(shape)
        tensors.update({theirs: torch.full(size[ours], 0.02, dtype=dtype) for ours, theirs in names.items()})

    folders = {}
    for dtype in (torch.bfloat16, torch.float32):
        folder = checkpoint(tmp_path_factory.mktemp("large"), "llada", SIZES, write)
        folders[str(dtype).removeprefix("torch.")] = split(folder, 4)
    return folders


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads the peak from /proc")
@pytest.mark.parametrize(
    ("stored", "wanted"), [("bfloat16", "bfloat16"), ("bfloat16", "float32"), ("float32", "bfloat16")]
)
def test_loading_costs_the_weights_and_where_they_are_converted_one_shard(large, tmp_path, stored, wanted):
    cost, weights = json.loads(python(COST, large[stored], checkpoint(tmp_path), wanted))
    shard = max(file.stat().st_size for file in large[stored].glob("*.safetensors"))
    slack = 20e6
    assert weights > 200e6
    assert cost <= weights + slack + (shard if wanted != stored else 0)
    assert cost >= weights  # else something was not measured


def test_in_bfloat16_the_norm_is_taken_in_float32_and_cast_before_its_weight():
    norm = Norm(64, 1e-6)
    with torch.no_grad():
        norm.weight.copy_(torch.rand(64) + 0.5)
        x = torch.randn(9, 64).bfloat16()
        wide = x.float()
        quotient = wide * (wide.square().mean(-1, keepdim=True) + 1e-6).rsqrt()
        half = norm.bfloat16()
        assert torch.equal(half(x), quotient.bfloat16() * half.weight)
