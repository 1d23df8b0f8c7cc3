"""Write a checkpoint of a published shape with random weights, in the published form, to try a machine with.

    python benchmarks/checkpoint.py llada-8b FOLDER        16 GB; then: calipers reproduce table2 --model FOLDER
    python benchmarks/checkpoint.py dream-7b FOLDER        15 GB
    python benchmarks/checkpoint.py llada-toy FOLDER       2 MB: the same by the minute on anything

Everything is as published: config.json, sharded safetensors with their index, names, sizes and dtype. The
tokenizer is the bundled model's (the published ones are not at hand), so ids above 49,151 are never used, and
a task has about as many tokens as it would have. Random weights have no oracle peak: what runs on them says how
long it takes and what memory it needs, nothing else.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor

from calipers.models import files, packed
from calipers.models.card import cards
from calipers.models.config import Config
from calipers.models.load import family_of, pick_device
from calipers.models.weights import sizes

_LLADA: dict[str, Any] = {
    "model_type": "llada",
    "architectures": ["LLaDAModelLM"],
    "activation_type": "silu",
    "alibi": False,
    "block_type": "llama",
    "layer_norm_type": "rms",
    "rope": True,
    "rope_full_precision": True,
    "rope_theta": 500000.0,
    "rms_norm_eps": 1e-5,
    "include_bias": False,
    "include_qkv_bias": False,
    "weight_tying": False,
    "max_sequence_length": 4096,
}
CONFIGS: dict[str, dict[str, Any]] = {
    "llada-8b": {
        **_LLADA,
        "d_model": 4096,
        "n_layers": 32,
        "n_heads": 32,
        "n_kv_heads": 32,
        "mlp_hidden_size": 12288,
        "vocab_size": 126464,
        "embedding_size": 126464,
        "mask_token_id": 126336,
        "eos_token_id": 126081,
        "pad_token_id": 126081,
    },
    "dream-7b": {
        "model_type": "Dream",
        "architectures": ["DreamModel"],
        "hidden_act": "silu",
        "hidden_size": 3584,
        "intermediate_size": 18944,
        "num_hidden_layers": 28,
        "num_attention_heads": 28,
        "num_key_value_heads": 4,
        "vocab_size": 152064,
        "max_position_embeddings": 131072,
        "rope_theta": 1000000.0,
        "rope_scaling": None,
        "rms_norm_eps": 1e-6,
        "tie_word_embeddings": False,
        "mask_token_id": 151666,
        "bos_token_id": 151665,
        "eos_token_id": 151643,
        "pad_token_id": 151643,
    },
    "llada-toy": {
        **_LLADA,
        "d_model": 32,
        "n_layers": 2,
        "n_heads": 2,
        "n_kv_heads": 2,
        "mlp_hidden_size": 48,
        "vocab_size": 50304,
        "embedding_size": 50304,
        "mask_token_id": 50256,
        "eos_token_id": 0,
        "pad_token_id": 0,
    },
}
_SHARD = 4 << 30  # bytes


def tensors(config: Config, device: str, seed: int) -> Iterator[tuple[str, Tensor]]:
    """Every published tensor: norms are one, everything else is drawn."""
    family = family_of(config)
    shape = family.shape(config)
    generator = torch.Generator(device).manual_seed(seed)
    names = family.tensors(shape)
    for ours, size in sizes(shape).items():
        tensor = torch.empty(size, dtype=torch.bfloat16, device=device)
        tensor = tensor.fill_(1.0) if "norm" in ours else tensor.normal_(0.0, 0.02, generator=generator)
        yield names[ours], tensor.cpu()


def write(name: str, folder: Path, device: str, seed: int = 0) -> None:
    """The folder of a checkpoint."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(CONFIGS[name], indent=1))
    tokenizer = packed.read_packed(files.bundled(cards()["calipers-135m"])).tokenizer_json
    (folder / "tokenizer.json").write_text(tokenizer, "utf-8")
    where: dict[str, str] = {}
    held: dict[str, Tensor] = {}
    numbers = count(1)

    def flush() -> None:
        file = f"model-{next(numbers):05}.safetensors"
        save_file(held, folder / file, {"format": "pt"})
        where.update(dict.fromkeys(held, file))
        held.clear()

    for tensor_name, tensor in tensors(Config.read(folder / "config.json"), device, seed):
        held[tensor_name] = tensor
        if sum(one.nbytes for one in held.values()) >= _SHARD:
            flush()
    flush()
    index = {"metadata": {}, "weight_map": where}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))


def main() -> None:
    """Write it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shape", choices=CONFIGS)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--device", default="auto", help="where the weights are drawn")
    args = parser.parse_args()
    write(args.shape, args.folder, pick_device(args.device))
    print(f"{args.folder}: {sum(f.stat().st_size for f in args.folder.iterdir()) / 1e9:.1f} GB")


if __name__ == "__main__":
    main()
