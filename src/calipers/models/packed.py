"""One-file checkpoints: quantised matrices, plain vectors, the tokenizer and the configuration.

The file is an ordinary safetensors file. Of each quantised matrix it holds two tensors, named after
it with the suffixes ``.q`` and ``.scale`` (see `calipers.models.quant`); vectors are stored as they
are; ``tokenizer.json`` is the gzip-compressed text as bytes. The header's metadata name the format
and hold, as JSON, the configuration (``config``) and what was quantised how (``quant``).
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from calipers.errors import ModelError
from calipers.models.quant import unpack

FORMAT = "calipers-quant-1"
TOKENIZER = "tokenizer.json"


@dataclass(frozen=True)
class Packed:
    """An opened checkpoint: what it says of itself, and its tensors on demand."""

    path: Path
    config: dict[str, Any]
    quant: dict[str, Any]
    tokenizer_json: str

    def tensors(self, dtype: torch.dtype = torch.float32) -> Iterator[tuple[str, Tensor]]:
        """Each weight by its published name, one in memory at a time unless the caller keeps them."""
        shapes: dict[str, list[int]] = self.quant["shapes"]
        with safe_open(self.path, framework="pt") as file:
            for key in file.keys():
                name, _, part = key.rpartition(".")
                if part == "q":
                    parts = {"q": file.get_tensor(key), "scale": file.get_tensor(f"{name}.scale")}
                    yield name, unpack(parts, shapes[name][1], dtype)
                elif part != "scale" and key != TOKENIZER:
                    yield key, file.get_tensor(key).to(dtype)


def read_packed(path: str | Path) -> Packed:
    """Open a checkpoint; only its header and tokenizer are read now."""
    path = Path(path)
    try:
        with safe_open(path, framework="pt") as file:
            metadata: dict[str, str] = file.metadata() or {}
            if metadata.get("format") != FORMAT:
                raise ModelError(f"{path} is no {FORMAT} file; name a packed file, or the folder of a checkpoint.")
            packed_text: Tensor = file.get_tensor(TOKENIZER)
    except (SafetensorError, OSError) as broken:
        raise ModelError(f"{path} is no packed file ({broken}); name another, or fetch it again.") from None
    text = gzip.decompress(packed_text.numpy().tobytes()).decode("utf-8")
    return Packed(path, json.loads(metadata["config"]), json.loads(metadata["quant"]), text)


def write_packed(
    path: str | Path,
    tensors: Mapping[str, Tensor],
    config: Mapping[str, Any],
    quant: Mapping[str, Any],
    tokenizer_json: str,
) -> None:
    """Write a checkpoint. `tensors` are the stored ones: ``NAME.q``, ``NAME.scale`` and plain vectors."""
    # Minified, and without a time stamp: the same input gives the same bytes.
    text = json.dumps(json.loads(tokenizer_json), ensure_ascii=False, separators=(",", ":"))
    data = gzip.compress(text.encode("utf-8"), compresslevel=9, mtime=0)
    stored = {name: tensor.contiguous() for name, tensor in tensors.items()}
    stored[TOKENIZER] = torch.frombuffer(bytearray(data), dtype=torch.uint8)
    metadata = {"format": FORMAT, "config": json.dumps(config), "quant": json.dumps(quant)}
    written = save(stored, metadata)
    # safetensors puts the metadata in an order that changes from run to run; sort them.
    end = 8 + int.from_bytes(written[:8], "little")
    header = json.loads(written[8:end])
    header["__metadata__"] = metadata
    lines = json.dumps(header, separators=(",", ":")).encode("utf-8")
    lines += b" " * (-len(lines) % 8)
    Path(path).write_bytes(len(lines).to_bytes(8, "little") + lines + written[end:])
