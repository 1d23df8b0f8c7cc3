"""What several test files need: small real checkpoints with known logits, and a real tokenizer for them."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from torch import Tensor

from calipers.canvas import MASK, Canvas
from calipers.models.base import Query
from calipers.models.transformer import TransformerModel

PARITY = Path(__file__).parent / "parity"
CHECKPOINTS = ("llada", "llada_gqa", "dream", "dream_tied")
# The special ids of the parity checkpoints' configs, and one more for DreamOn's rule.
PAD, EOS, BOS, EXPAND, MASK_ID, VOCABULARY = 0, 1, 2, 3, 7, 320
SPECIAL = {"<pad>": PAD, "<eos>": EOS, "<bos>": BOS, "<expand>": EXPAND, "<mask>": MASK_ID}
# The tokenizer has 300 tokens; the rows above are padding of the table.
FORBIDDEN = {*SPECIAL.values(), *range(300, VOCABULARY)}
ALLOWED = [i for i in range(VOCABULARY) if i not in FORBIDDEN]


def byte_tokenizer() -> Tokenizer:
    """All bytes, 36 pairs of letters, and the special tokens at the ids the parity configs give them."""
    pairs = list(product("etaoin", "shrdlu"))
    vocab = {**SPECIAL, "<4>": 4, "<5>": 5, "<6>": 6}
    for token in (*sorted(pre_tokenizers.ByteLevel.alphabet()), *(a + b for a, b in pairs)):
        vocab[token] = len(vocab)
    tokenizer = Tokenizer(models.BPE(vocab, pairs))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(name, special=True) for name in SPECIAL])
    return tokenizer


def checkpoint(
    folder: Path,
    name: str = "llada",
    config: Mapping[str, Any] | None = None,
    edit: Callable[[dict[str, Tensor]], None] | None = None,
) -> Path:
    """A parity checkpoint in a folder of its own, with a tokenizer; `config` and `edit` change it (None removes)."""
    folder.mkdir(parents=True, exist_ok=True)
    values = json.loads((PARITY / name / "config.json").read_text()) | dict(config or {})
    (folder / "config.json").write_text(json.dumps({k: v for k, v in values.items() if v is not None}))
    byte_tokenizer().save(str(folder / "tokenizer.json"))
    if edit is None:
        shutil.copy(PARITY / name / "model.safetensors", folder)
    else:
        tensors = load_file(PARITY / name / "model.safetensors")
        edit(tensors)
        save_file(tensors, folder / "model.safetensors")
    return folder


def split(folder: Path, parts: int) -> Path:
    """Cut a checkpoint's one file into shards with an index, as large checkpoints are published."""
    tensors = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    weight_map = {}
    for part in range(parts):
        file = f"model-{part + 1:05}-of-{parts:05}.safetensors"
        names = sorted(tensors)[part::parts]
        save_file({name: tensors[name] for name in names}, folder / file)
        weight_map |= dict.fromkeys(names, file)
    (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": weight_map}))
    return folder


def expected(name: str) -> list[tuple[list[int], Tensor]]:
    """The rows of ids of a parity checkpoint, each with the reference implementation's raw logits."""
    with np.load(PARITY / name / "expected.npz") as file:
        return [
            (ids[:length].tolist(), torch.from_numpy(file[f"logits_row{row}"]))
            for row, (ids, length) in enumerate(zip(file["input_ids"], file["lengths"], strict=True))
        ]


def canvas(prefix: Sequence[int], hole: int | Sequence[int], suffix: Sequence[int] = (), **more: Any) -> Canvas:
    """A canvas of one hole: a number of masks, or some ids."""
    ids = (MASK,) * hole if isinstance(hole, int) else tuple(hole)
    return Canvas((tuple(prefix), tuple(suffix)), (ids,), **more)


def predict(model: Any, *canvases: Canvas, controls: bool = False) -> list[Tensor]:
    """Logits of every hole position of each canvas, asked for in one call."""
    return list(model.predict([Query(c, c.positions, controls) for c in canvases]))


def raw(model: TransformerModel, ids: Sequence[int]) -> Tensor:
    """The backbone's own logits of one row of ids, forbidden ids set as `predict` promises."""
    logits: Tensor = model.backbone(torch.tensor([list(ids)])).float()
    logits[:, sorted(FORBIDDEN)] = -torch.inf
    return logits


@contextmanager
def forwards(model: TransformerModel) -> Iterator[list[tuple[int, int]]]:
    """The shape [rows, width] of every forward the backbone ran meanwhile."""
    shapes: list[tuple[int, int]] = []
    hook = model.backbone.register_forward_pre_hook(lambda _, args: shapes.append(tuple(args[0].shape)))
    try:
        yield shapes
    finally:
        hook.remove()


def close(got: Tensor, want: Tensor) -> None:
    """Equal to 1e-4, infinities included."""
    torch.testing.assert_close(got, want, rtol=0, atol=1e-4)


def python(code: str, *args: object, timeout: float = 120, **env: str) -> str:
    """What a fresh interpreter prints when it runs `code`; fails with its error output."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("HF_", "HUGGINGFACE_"))}
    run = subprocess.run(
        [sys.executable, "-c", code, *map(str, args)],
        env=clean | {"OMP_NUM_THREADS": "1"} | env,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return run.stdout
