"""Dream, Dream-Coder, DiffuCoder, DreamOn, and calipers' own model: row j - 1 predicts position j.

The Dream family is Qwen2.5's shape (biases on q, k, v); calipers' own model is SmolLM2's (none).
Both use the published tensor names of the Llama line.
"""

from __future__ import annotations

from dataclasses import replace

from calipers.models.backbone import Shape
from calipers.models.config import Config
from calipers.models.family import Family


def shape(config: Config) -> Shape:
    """Sizes from a published Dream config."""
    config.must_be("hidden_act", "silu")
    config.must_be("rope_scaling", None)
    config.must_be("use_sliding_window", False, None)
    heads = config.size("num_attention_heads")
    return Shape(
        vocab=config.size("vocab_size"),
        dim=config.size("hidden_size"),
        layers=config.size("num_hidden_layers"),
        heads=heads,
        kv_heads=config.size("num_key_value_heads"),
        hidden=config.size("intermediate_size"),
        eps=config.number("rms_norm_eps"),
        theta=config.number("rope_theta"),
        context=config.size("max_position_embeddings"),
        qkv_bias=True,
        tied=bool(config.values.get("tie_word_embeddings", False)),
    )


def own_shape(config: Config) -> Shape:
    """Sizes of calipers' own model: the same keys, no biases."""
    return replace(shape(config), qkv_bias=False)


_LAYER = "model.layers.{}."
_OUTER = {
    "embed.weight": "model.embed_tokens.weight",
    "norm.weight": "model.norm.weight",
    "unembed.weight": "lm_head.weight",
}
_INNER = {
    "norm1.weight": _LAYER + "input_layernorm.weight",
    "q.weight": _LAYER + "self_attn.q_proj.weight",
    "q.bias": _LAYER + "self_attn.q_proj.bias",
    "k.weight": _LAYER + "self_attn.k_proj.weight",
    "k.bias": _LAYER + "self_attn.k_proj.bias",
    "v.weight": _LAYER + "self_attn.v_proj.weight",
    "v.bias": _LAYER + "self_attn.v_proj.bias",
    "o.weight": _LAYER + "self_attn.o_proj.weight",
    "norm2.weight": _LAYER + "post_attention_layernorm.weight",
    "gate.weight": _LAYER + "mlp.gate_proj.weight",
    "up.weight": _LAYER + "mlp.up_proj.weight",
    "down.weight": _LAYER + "mlp.down_proj.weight",
}
# How Qwen2 cuts text before byte-pair merging: contractions, words, single digits, punctuation, blanks.
_QWEN2 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)

DREAM = Family(
    model_type="Dream",
    shape=shape,
    outer=_OUTER,
    inner=_INNER,
    shift=True,
    opens="bare",
    closes=False,
    rank="entropy",
    splits=_QWEN2,
)
OWN = replace(DREAM, model_type="calipers", shape=own_shape, opens="always", closes=True, splits="")
