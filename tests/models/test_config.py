"""A checkpoint's config.json: every error names the file, the key and what to do."""

import json

import pytest

from calipers.errors import ModelError
from calipers.models.config import Config
from calipers.models.load import load
from helpers import checkpoint


def refused(folder, *said):
    """Loading `folder` fails with a message that says all this."""
    with pytest.raises(ModelError) as failure:
        load(str(folder), device="cpu", dtype="float32")
    for part in said:
        assert part in str(failure.value)


def test_a_folder_without_config_is_no_checkpoint(tmp_path):
    refused(tmp_path, f"{tmp_path} has no config.json", "name a folder that has one")


@pytest.mark.parametrize("text", ["{", "", "\N{REPLACEMENT CHARACTER}", '{"model_type": '])
def test_a_broken_config_is_named(tmp_path, text):
    (checkpoint(tmp_path) / "config.json").write_text(text, "utf-8")
    refused(tmp_path, str(tmp_path / "config.json"), "is not JSON", "download it again")


def test_a_config_in_another_encoding_is_named(tmp_path):
    (checkpoint(tmp_path) / "config.json").write_bytes('{"a": "ä"}'.encode("latin-1"))
    refused(tmp_path, "is not JSON", "download it again")


@pytest.mark.parametrize("values", [[], "llada", 3, None])
def test_a_config_that_is_no_table_is_named(tmp_path, values):
    (checkpoint(tmp_path) / "config.json").write_text(json.dumps(values))
    refused(tmp_path, str(tmp_path / "config.json"), "holds no table of values; download it again")


def test_an_unknown_model_type_is_named_with_the_known_ones(tmp_path):
    refused(
        checkpoint(tmp_path, config={"model_type": "gpt2"}),
        "'gpt2'",
        "known: llada, Dream, calipers",
        "needs an adapter in calipers/models",
    )


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("llada", "model_type"),
        ("llada", "d_model"),
        ("llada", "n_heads"),
        ("llada", "mlp_hidden_size"),
        ("llada", "rms_norm_eps"),
        ("llada", "mask_token_id"),
        ("dream", "vocab_size"),
        ("dream", "rope_theta"),
        ("dream", "max_position_embeddings"),
        ("dream", "mask_token_id"),
    ],
)
def test_a_missing_value_is_named(tmp_path, name, key):
    refused(checkpoint(tmp_path, name, {key: None}), f"config.json has no '{key}'", "add it from the model's page")


@pytest.mark.parametrize(
    ("name", "key", "value", "said"),
    [
        ("llada", "d_model", "64", "not a whole number; correct it"),
        ("llada", "n_layers", 2.0, "not a whole number; correct it"),
        ("llada", "n_kv_heads", "4", "not a whole number; correct it"),
        ("llada", "embedding_size", "320", "not a whole number; correct it"),
        ("llada", "n_heads", 0, "no size; correct it"),
        ("llada", "n_layers", -1, "no size; correct it"),
        ("dream", "num_hidden_layers", True, "not a whole number; correct it"),
        ("dream", "num_key_value_heads", 0, "no size; correct it"),
        ("dream", "rms_norm_eps", "1e-6", "not a number; correct it"),
    ],
)
def test_a_value_of_another_kind_is_named(tmp_path, name, key, value, said):
    refused(checkpoint(tmp_path, name, {key: value}), f"'{key}' is", said)


@pytest.mark.parametrize("value", [-1, 320, 126336])
def test_a_mask_id_outside_the_vocabulary_is_named(tmp_path, value):
    refused(checkpoint(tmp_path, config={"mask_token_id": value}), f"mask_token_id {value}", "320; correct it")


@pytest.mark.parametrize(
    ("name", "key", "value"),
    [
        ("llada", "block_type", "sequential"),
        ("llada", "activation_type", "swiglu"),
        ("llada", "layer_norm_type", "default"),
        ("llada", "rope", False),
        ("llada", "alibi", True),
        ("llada", "attention_layer_norm", True),
        ("llada", "input_emb_norm", True),
        ("llada", "scale_logits", True),
        ("llada", "include_bias", True),
        ("llada", "include_qkv_bias", True),
        ("llada", "bias_for_layer_norm", True),
        ("dream", "hidden_act", "gelu"),
        ("dream", "rope_scaling", {"type": "yarn", "factor": 4.0}),
        ("dream", "use_sliding_window", True),
    ],
)
def test_a_switch_that_is_not_computed_is_refused(tmp_path, name, key, value):
    refused(
        checkpoint(tmp_path, name, {key: value}),
        f"'{key}' is {value!r}, and calipers computes only",
        "another architecture",
    )


def test_values_that_are_there_are_given(tmp_path):
    config = Config.read(checkpoint(tmp_path, "dream") / "config.json")
    assert (config.size("hidden_size"), config.integer("pad_token_id")) == (64, 0)
    assert config.number("rope_theta") == 1e6
    config.must_be("rope_scaling", None)
    config.must_be("a switch it does not have", "usual", "other")
