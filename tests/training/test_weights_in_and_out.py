"""Weights on their way: out of a GGUF, into pieces and back, averaged, carried."""

import gzip
import json
import os
import struct
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from training.architecture import CONFIG, MASK, backbone_of, published, shape_of, weights_of
from training.average import average
from training.base import base_weights, half_rotation, published_name, tokenizer_json
from training.gguf import Gguf
from training.pieces import LIST, Weights, read_pieces, read_weights, round8, write_pieces
from training.quantise import bits_of

from training import checkpoint, loads

TINY = {
    **CONFIG, "num_hidden_layers": 2, "hidden_size": 64, "num_attention_heads": 2,
    "num_key_value_heads": 1, "intermediate_size": 128, "vocab_size": 320,
}  # fmt: skip
MODEL = Path("/work/shared/model")
BASE = os.environ.get("CALIPERS_BASE_GGUF", "")


def tiny_weights(seed=0):
    generator = torch.Generator().manual_seed(seed)
    from calipers.models.weights import sizes

    names = published(TINY)
    tensors = {names[n]: torch.randn(size, generator=generator) for n, size in sizes(shape_of(TINY)).items()}
    return Weights(tensors, TINY, {"run": "tiny", "tokens": 5, "next_batch": 7})


def text(value):
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def write_gguf(path, tensors, tokens):
    """A small version-3 file: tensors of (name, shape, type, bytes)."""
    merges = ["a b"]
    kinds = [3] + [1] * (len(tokens) - 1)
    pairs = [
        text("tokenizer.ggml.tokens") + struct.pack("<IIQ", 9, 8, len(tokens)) + b"".join(map(text, tokens)),
        text("tokenizer.ggml.token_type")
        + struct.pack(f"<IIQ{len(kinds)}i", 9, 5, len(kinds), *kinds),
        text("tokenizer.ggml.merges") + struct.pack("<IIQ", 9, 8, 1) + text(merges[0]),
        text("some.number") + struct.pack("<If", 6, 0.5),
    ]  # fmt: skip
    head, body = b"", b""
    for name, shape, kind, data in tensors:
        head += text(name) + struct.pack("<I", len(shape)) + struct.pack(f"<{len(shape)}Q", *reversed(shape))
        head += struct.pack("<IQ", kind, len(body))
        body += data + b"\0" * (-len(data) % 32)
    start = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(pairs)) + b"".join(pairs) + head
    path.write_bytes(start + b"\0" * (-len(start) % 32) + body)


def test_blocks_of_a_gguf_are_what_their_formulas_say(tmp_path):
    rng = np.random.default_rng(0)
    d, m = np.float16(0.5), np.float16(-3)
    nibbles = rng.integers(0, 16, (2, 32))
    packed = (nibbles[:, :16] | nibbles[:, 16:] << 4).astype(np.uint8)
    signed = rng.integers(-127, 128, (2, 32)).astype(np.int8)
    four1 = b"".join(d.tobytes() + m.tobytes() + row.tobytes() for row in packed)
    four0 = b"".join(d.tobytes() + row.tobytes() for row in packed)
    eight = b"".join(d.tobytes() + row.tobytes() for row in signed)
    plain = np.arange(3, dtype=np.float32)
    write_gguf(
        tmp_path / "f.gguf",
        [("a", (2, 32), 3, four1), ("b", (2, 32), 2, four0), ("c", (2, 32), 8, eight), ("d", (3,), 0, plain.tobytes())],
        ["<|end|>", "a"],
    )
    file = Gguf(tmp_path / "f.gguf")
    assert file.names() == ["a", "b", "c", "d"]
    assert file.metadata["some.number"] == 0.5
    assert np.array_equal(file.tensor("a"), 0.5 * nibbles - 3)
    assert np.array_equal(file.tensor("b"), 0.5 * (nibbles - 8))
    assert np.array_equal(file.tensor("c"), 0.5 * signed)
    assert np.array_equal(file.tensor("d"), plain)


def test_a_file_that_is_no_gguf_is_refused(tmp_path):
    (tmp_path / "x").write_bytes(b"GGML" + bytes(100))
    with pytest.raises(ValueError, match="no GGUF"):
        Gguf(tmp_path / "x")


def test_the_tokenizer_keeps_special_tokens_and_cuts_at_line_ends(tmp_path):
    import tokenizers

    write_gguf(tmp_path / "f.gguf", [], ["<|end|>", "a", "b", "ab", "Ċ"])
    inner = tokenizers.Tokenizer.from_str(tokenizer_json(tmp_path / "f.gguf"))
    assert inner.encode("ab\nab").ids == [3, 4, 3]
    assert [t.content for t in inner.get_added_tokens_decoder().values()] == ["<|end|>"]


def test_rotation_in_halves_pairs_what_neighbours_paired():
    heads, dim = 2, 8
    weight = torch.arange(heads * dim * 3.0).view(heads * dim, 3)
    turned = half_rotation(weight, heads)
    for head in range(heads):
        for i in range(dim // 2):
            for j, place in ((0, i), (1, i + dim // 2)):
                assert torch.equal(turned[head * dim + place], weight[head * dim + 2 * i + j])


@pytest.mark.skipif(not (BASE and MODEL.is_dir()), reason="needs CALIPERS_BASE_GGUF and the prototype's folder")
def test_the_base_gives_the_prototypes_tokenizer_and_every_weight():
    assert json.loads(tokenizer_json(Path(BASE))) == json.loads((MODEL / "tokenizer.json").read_text("utf-8"))
    found = dict(base_weights(Path(BASE)))
    assert found.keys() == set(published(CONFIG).values())
    table = found["model.embed_tokens.weight"]
    assert torch.allclose(table[MASK], table.mean(0), atol=1e-4)
    backbone_of(found.items())


@pytest.mark.skipif(not MODEL.is_dir(), reason="needs the prototype's folder")
def test_the_prototypes_pieces_are_read():
    found = read_pieces(MODEL)
    assert found.tensors.keys() == set(published(CONFIG).values())


def test_names_of_the_base_are_published_ones():
    assert published_name("blk.3.attn_k.weight") == "model.layers.3.self_attn.k_proj.weight"
    assert published_name("output_norm.weight") == "model.norm.weight"


def test_pieces_give_weights_back_within_half_a_step(tmp_path):
    weights = tiny_weights()
    paths = write_pieces(tmp_path, weights, size=10_000)
    assert len(paths) > 3
    assert all(path.stat().st_size <= 10_000 for path in paths)
    back = read_pieces(tmp_path)
    assert dict(back.config) == TINY
    assert back.about["next_batch"] == 7
    assert back.tensors.keys() == weights.tensors.keys()
    for name, tensor in weights.tensors.items():
        if tensor.dim() == 1:
            assert torch.equal(back.tensors[name], tensor)
        else:
            step = tensor.view(-1, 64).abs().amax(1) / 127
            error = (back.tensors[name] - tensor).view(-1, 64).abs().amax(1)
            # Half a step, and what rounding the scale to float16 adds over 127 steps.
            assert (error <= step * (0.5 + 127 * 2**-10) + 1e-8).all()


def test_writing_what_was_read_changes_nothing(tmp_path):
    write_pieces(tmp_path / "a", tiny_weights())
    write_pieces(tmp_path / "b", read_pieces(tmp_path / "a"))
    first, second = read_pieces(tmp_path / "a"), read_pieces(tmp_path / "b")
    assert all(torch.allclose(first.tensors[n], second.tensors[n], atol=0.04) for n in first.tensors)


def test_a_piece_that_is_missing_or_damaged_is_named(tmp_path):
    paths = write_pieces(tmp_path, tiny_weights(), size=30_000)
    data = paths[1].read_bytes()
    paths[1].write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    with pytest.raises(ValueError, match=paths[1].name):
        read_pieces(tmp_path)
    paths[1].unlink()
    with pytest.raises(FileNotFoundError, match=paths[1].name):
        read_pieces(tmp_path)
    with pytest.raises(FileNotFoundError, match=LIST):
        read_pieces(tmp_path / "nowhere")


def test_groups_of_nothing_stay_nothing():
    codes, scale = round8(torch.zeros(2, 64))
    assert not codes.any()
    assert not scale.any()


def test_the_mean_is_the_mean_and_refuses_other_models(tmp_path):
    one, two = tiny_weights(1), tiny_weights(2)
    both = average([one, two], [1, 3])
    for name, tensor in both.tensors.items():
        assert torch.allclose(tensor, 0.25 * one.tensors[name] + 0.75 * two.tensors[name], atol=1e-6)
    with pytest.raises(ValueError, match="shares"):
        average([one, two], [1])
    with pytest.raises(ValueError, match="different"):
        average([one, Weights(two.tensors, {**TINY, "rope_theta": 1.0}, {})], [1, 1])


def test_a_checkpoint_is_read_like_pieces(tmp_path):
    weights = tiny_weights()
    backbone = backbone_of(weights.tensors.items(), TINY)
    state = {
        "run": "tiny", "config": TINY, "mean": None, "counters": {"step": 1},
        "weights": {name: p.detach() for name, p in backbone.named_parameters()},
    }  # fmt: skip
    path = checkpoint.save(tmp_path, state)
    checkpoint.save(tmp_path, state)
    assert (tmp_path / checkpoint.NAMES[1]).exists()
    assert checkpoint.newest(tmp_path) == path
    back = read_weights(path)
    assert all(torch.equal(back.tensors[n], t) for n, t in weights.tensors.items())
    assert all(torch.equal(weights_of(backbone, TINY)[n], t) for n, t in weights.tensors.items())


@given(st.lists(st.integers(0, 400), min_size=1, max_size=6), st.integers(50, 300))
def test_loads_arrive_whole_in_any_order(tmp_path_factory, sizes, room):
    folder = tmp_path_factory.mktemp("loads")
    (folder / "from").mkdir()
    files = []
    for number, size in enumerate(sizes):
        path = folder / "from" / f"file{number}.bin"
        path.write_bytes(os.urandom(size))
        files.append(path)
    packed = loads.pack(files, folder / "carry", room)
    for load in packed:
        assert sum(p.stat().st_size for p in load.iterdir() if p.name != "load.json") <= room
    whole = [name for load in reversed(packed) for name in loads.unpack(load, folder / "to")]
    assert sorted(whole) == sorted(path.name for path in files)
    assert all((folder / "to" / path.name).read_bytes() == path.read_bytes() for path in files)


def test_a_load_that_was_damaged_is_refused(tmp_path):
    (tmp_path / "f").write_bytes(b"12345")
    (load,) = loads.pack([tmp_path / "f"], tmp_path / "carry")
    (load / "f.part-00").write_bytes(b"12346")
    with pytest.raises(ValueError, match="carry"):
        loads.unpack(load, tmp_path / "to")


def test_the_last_rule_of_bits_counts():
    assert bits_of("model.embed_tokens.weight", 5, 7, []) == 7
    assert bits_of("model.layers.0.self_attn.v_proj.weight", 5, 7, ["self_attn=4", "v_proj=6"]) == 6


def test_a_corpus_line_may_be_a_text_or_an_object(tmp_path):
    from training.corpus.texts import read_texts

    with gzip.open(tmp_path / "t.jsonl.gz", "wt") as file:
        file.write('"one"\n{"text": "two", "id": 3}\n')
    assert list(read_texts(tmp_path / "t.jsonl.gz")) == ["one", "two"]
