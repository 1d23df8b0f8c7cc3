"""The bundled model's architecture, and its tensors' published names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import torch
from torch import Tensor

from calipers.models.backbone import Backbone, Shape
from calipers.models.config import Config
from calipers.models.dream import OWN
from calipers.models.weights import assemble

CONFIG: dict[str, Any] = {
    "model_type": "calipers", "vocab_size": 49152, "hidden_size": 576, "num_hidden_layers": 30,
    "num_attention_heads": 9, "num_key_value_heads": 3, "intermediate_size": 1536,
    "rms_norm_eps": 1e-5, "rope_theta": 100000.0, "tie_word_embeddings": True, "mask_token_id": 4,
    "bos_token_id": 0, "eos_token_id": 0, "pad_token_id": 0, "forbidden_token_ids": list(range(17)),
    "max_position_embeddings": 2048, "hidden_act": "silu",
}  # fmt: skip
# Begin of text, end of text and padding are one id. Ids below SPECIAL never come out of a hole.
MASK, BOS, SPECIAL = 4, 0, 17


def shape_of(config: Mapping[str, Any]) -> Shape:
    """The backbone's sizes."""
    return OWN.shape(Config(config, "the model's config"))


def published(config: Mapping[str, Any]) -> dict[str, str]:
    """Our parameter → its published name."""
    return OWN.tensors(shape_of(config))


def backbone_of(
    weights: Iterable[tuple[str, Tensor]],
    config: Mapping[str, Any] = CONFIG,
    device: str = "cpu",
    dtype: torch.dtype = torch.float32,
) -> Backbone:
    """The package's own model over weights with published names."""
    ours = {theirs: name for name, theirs in published(config).items()}
    return assemble(shape_of(config), ((ours[name], tensor) for name, tensor in weights), device, dtype)


def weights_of(backbone: Backbone, config: Mapping[str, Any]) -> dict[str, Tensor]:
    """A backbone's weights under their published names, on the CPU in float32."""
    names = published(config)
    return {names[name]: p.detach().float().cpu() for name, p in backbone.named_parameters()}
