"""LLaDA (GSAI-ML): row i predicts position i; no biases; rotary angles in float32."""

from __future__ import annotations

from calipers.models.backbone import Shape
from calipers.models.config import Config
from calipers.models.family import Family


def shape(config: Config) -> Shape:
    """Sizes from a published LLaDA config."""
    config.must_be("block_type", "llama")
    config.must_be("activation_type", "silu")
    config.must_be("layer_norm_type", "rms")
    config.must_be("rope", True)
    for switch in ("alibi", "attention_layer_norm", "input_emb_norm", "scale_logits"):
        config.must_be(switch, False)
    config.must_be("multi_query_attention", None, False)
    config.must_be("clip_qkv", None)
    for switch in ("include_bias", "include_qkv_bias", "bias_for_layer_norm"):
        config.must_be(switch, False, None)
    heads = config.size("n_heads")
    return Shape(
        # The table is embedding_size long, which may be more than the vocabulary.
        vocab=config.size("embedding_size" if config.values.get("embedding_size") else "vocab_size"),
        dim=config.size("d_model"),
        layers=config.size("n_layers"),
        heads=heads,
        kv_heads=heads if config.values.get("n_kv_heads") is None else config.size("n_kv_heads"),
        hidden=config.size("mlp_hidden_size"),
        eps=config.number("rms_norm_eps"),
        theta=config.number("rope_theta"),
        context=config.size("max_sequence_length"),
        tied=bool(config.values.get("weight_tying", False)),
        rope_in_float32=bool(config.values.get("rope_full_precision", True)),
    )


_BLOCK = "model.transformer.blocks.{}."
LLADA = Family(
    model_type="llada",
    shape=shape,
    outer={
        "embed.weight": "model.transformer.wte.weight",
        "norm.weight": "model.transformer.ln_f.weight",
        "unembed.weight": "model.transformer.ff_out.weight",
    },
    inner={
        "norm1.weight": _BLOCK + "attn_norm.weight",
        "q.weight": _BLOCK + "q_proj.weight",
        "k.weight": _BLOCK + "k_proj.weight",
        "v.weight": _BLOCK + "v_proj.weight",
        "o.weight": _BLOCK + "attn_out.weight",
        "norm2.weight": _BLOCK + "ff_norm.weight",
        "gate.weight": _BLOCK + "ff_proj.weight",
        "up.weight": _BLOCK + "up_proj.weight",
        "down.weight": _BLOCK + "ff_out.weight",
    },
    shift=False,
    opens="never",
    closes=False,
    rank="low_confidence",
)
