"""One-file checkpoints: what goes in comes out, and the same goes in as the same bytes."""

import json

import pytest
import torch
from safetensors import safe_open

from calipers.errors import ModelError
from calipers.models.load import load
from calipers.models.packed import read_packed, write_packed
from calipers.models.quant import pack, unpack
from helpers import PARITY, byte_tokenizer

CONFIG = {"model_type": "calipers", "hidden_size": 64, "note": "größer ≥ 1"}
QUANT = {"group": 64, "shapes": {"a.weight": [3, 128], "b.weight": [2, 64]}}


def stored():
    generator = torch.Generator().manual_seed(1)
    tensors = {"norm.weight": torch.randn(64, generator=generator), "half": torch.ones(5, dtype=torch.float16)}
    for name, bits in (("a.weight", 5), ("b.weight", 8)):
        matrix = torch.randn(*QUANT["shapes"][name], generator=generator)
        tensors |= {f"{name}.{part}": value for part, value in pack(matrix, bits).items()}
    return tensors


@pytest.fixture
def file(tmp_path):
    write_packed(tmp_path / "model.safetensors", stored(), CONFIG, QUANT, byte_tokenizer().to_str(pretty=True))
    return tmp_path / "model.safetensors"


def test_configuration_and_tokenizer_come_back(file):
    packed = read_packed(file)
    assert packed.config == CONFIG
    assert packed.quant == QUANT
    assert json.loads(packed.tokenizer_json) == json.loads(byte_tokenizer().to_str())


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_every_tensor_comes_back_by_its_published_name(file, dtype):
    was = stored()
    got = dict(read_packed(file).tensors(dtype))
    assert got.keys() == {"a.weight", "b.weight", "norm.weight", "half"}
    assert {tensor.dtype for tensor in got.values()} == {dtype}
    assert torch.equal(got["norm.weight"], was["norm.weight"].to(dtype))
    for name, (_, columns) in QUANT["shapes"].items():
        parts = {part: was[f"{name}.{part}"] for part in ("q", "scale")}
        assert torch.equal(got[name], unpack(parts, columns, dtype))


def test_the_same_checkpoint_is_the_same_bytes(file, tmp_path):
    shuffled = dict(reversed(stored().items()))
    write_packed(tmp_path / "again", shuffled, CONFIG, QUANT, byte_tokenizer().to_str())
    assert (tmp_path / "again").read_bytes() == file.read_bytes()
    with safe_open(file, framework="pt") as opened:
        assert not opened.get_tensor("tokenizer.json")[4:8].any()  # gzip's time stamp


def test_it_is_an_ordinary_safetensors_file(file):
    with safe_open(file, framework="pt") as opened:
        assert opened.metadata()["format"] == "calipers-quant-1"
        assert set(stored()) < set(opened.keys())


@pytest.mark.parametrize("keep", [0, 7, 2000, -1])
def test_a_broken_file_is_named(file, keep):
    file.write_bytes(file.read_bytes()[:keep])
    with pytest.raises(ModelError, match=r"model.safetensors is no packed file \(.*\); name another"):
        load(str(file), device="cpu", dtype="float32")


def test_a_file_that_was_not_packed_is_named():
    with pytest.raises(ModelError, match=r"is no calipers-quant-1 file; name a packed file, or the folder"):
        load(str(PARITY / "llada" / "model.safetensors"), device="cpu", dtype="float32")
