"""Weights in 8 bits, cut into pieces that fit the way home, and put together again.

Matrices are int8 in groups of 64 with a float16 scale (the largest value is 127), vectors float32. One
safetensors file holds them, as NAME.q [n / 64, 64], NAME.scale [n / 64, 1] and NAME, with the model's config
and what is known of the run in its header; it is cut into PREFIX.00, PREFIX.01, … and `pieces.json` lists
their digests. The prototype's pieces (`weights.npz.*`) are read as well.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load, save
from torch import Tensor

from calipers.models.quant import GROUP
from calipers.target import write_atomically
from training import checkpoint
from training.architecture import CONFIG, published

PREFIX, LIST = "weights", "pieces.json"
# Sixteen MiB is what one file may have on its way; a little less, to be safe.
PIECE = 16 * 2**20 - 4096
_PROTOTYPE = {
    "n1": "input_layernorm", "n2": "post_attention_layernorm", "gate": "mlp.gate_proj",
    "up": "mlp.up_proj", "down": "mlp.down_proj", **{n: f"self_attn.{n}_proj" for n in "qkvo"},
}  # fmt: skip


@dataclass(frozen=True)
class Weights:
    """Weights under their published names, float32, with the model's config and what is known of the run."""

    tensors: dict[str, Tensor]
    config: Mapping[str, Any]
    about: Mapping[str, Any]


def round8(weight: Tensor) -> tuple[Tensor, Tensor]:
    """A matrix as int8 groups and their float16 scales."""
    groups = weight.float().reshape(-1, GROUP)
    scale = (groups.abs().amax(1, keepdim=True) / 127).half()
    # A scale too small for float16 would divide by zero; such a group is as good as zero.
    quotient = torch.where(scale > 0, groups / scale.float().clamp_min(1e-12), 0.0)
    return quotient.round().clamp_(-127, 127).to(torch.int8), scale


def write_pieces(folder: Path, weights: Weights, size: int = PIECE) -> list[Path]:
    """Write weights in pieces of at most `size` bytes; the list is written last."""
    stored: dict[str, Tensor] = {}
    shapes: dict[str, list[int]] = {}
    for name, tensor in weights.tensors.items():
        if tensor.dim() == 2 and tensor.shape[1] % GROUP == 0:
            stored[f"{name}.q"], stored[f"{name}.scale"] = round8(tensor)
            shapes[name] = list(tensor.shape)
        else:
            stored[name] = tensor.float().contiguous()
    about = {"config": weights.config, "about": weights.about, "shapes": shapes}
    data = save(stored, {"pieces": json.dumps(about)})
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob(f"{PREFIX}.[0-9][0-9]"):
        old.unlink()
    paths, digests = [], {}
    for number, first in enumerate(range(0, len(data), size)):
        path = folder / f"{PREFIX}.{number:02d}"
        piece = data[first : first + size]
        path.write_bytes(piece)
        paths.append(path)
        digests[path.name] = sha256(piece).hexdigest()
    write_atomically(folder / LIST, json.dumps({"pieces": digests, "about": weights.about}, indent=1) + "\n")
    return paths


def read_pieces(folder: Path) -> Weights:
    """Weights from a folder of pieces, each piece checked; or from one of the prototype's."""
    if not (folder / LIST).is_file():
        return Weights(dict(_prototype(folder)), CONFIG, {"from": "the prototype"})
    listed: dict[str, str] = json.loads((folder / LIST).read_text("utf-8"))["pieces"]
    parts = []
    for name, digest in listed.items():
        path = folder / name
        if not path.is_file():
            raise FileNotFoundError(f"{path} is missing; bring it home too.")
        parts.append(path.read_bytes())
        if sha256(parts[-1]).hexdigest() != digest:
            raise ValueError(f"{path} is not what {LIST} lists; bring it home again.")
    data = b"".join(parts)
    end = 8 + int.from_bytes(data[:8], "little")
    values: dict[str, Any] = json.loads(json.loads(data[8:end])["__metadata__"]["pieces"])
    stored = load(data)
    tensors = {name: tensor for name, tensor in stored.items() if not name.endswith((".q", ".scale"))}
    for name, shape in values["shapes"].items():
        tensors[name] = (stored[f"{name}.q"].float() * stored[f"{name}.scale"].float()).view(shape)
    return Weights(tensors, values["config"], values["about"])


def read_weights(path: Path) -> Weights:
    """From a folder of pieces (or the prototype's), or from a checkpoint's file: its mean, if it has one."""
    if path.is_dir():
        return read_pieces(path)
    state = checkpoint.load(path)
    names = published(state["config"])
    tensors = {names[name]: tensor for name, tensor in (state["mean"] or state["weights"]).items()}
    return Weights(tensors, state["config"], {"run": state["run"], **state["counters"]})


def _prototype(folder: Path) -> Iterator[tuple[str, Tensor]]:
    paths = sorted(folder.glob("weights.npz.*"))
    if not paths:
        raise FileNotFoundError(f"{folder} has neither {LIST} nor weights.npz.*; name a folder of pieces.")
    with np.load(io.BytesIO(b"".join(path.read_bytes() for path in paths))) as pieces:
        for key in pieces.files:
            name, _, part = key.partition("|")
            if part == "f":
                yield _prototype_name(name), torch.from_numpy(pieces[key])
            elif part == "q":
                values = torch.from_numpy(pieces[key]).float()
                values *= torch.from_numpy(pieces[f"{name}|s"]).float()
                yield _prototype_name(name), values.view(*pieces[f"{name}|shape"].tolist())


def _prototype_name(name: str) -> str:
    outer = {"emb.weight": "model.embed_tokens.weight", "norm.weight": "model.norm.weight"}
    if name in outer:
        return outer[name]
    _, layer, kind, _ = name.split(".")
    return f"model.layers.{layer}.{_PROTOTYPE[kind]}.weight"
