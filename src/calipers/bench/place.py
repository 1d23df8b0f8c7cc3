"""Where the runs of a model and a task set are, found without loading the model."""

from __future__ import annotations

import re
from hashlib import sha256
from pathlib import Path

from calipers.models.card import find_card

_COMMIT = re.compile("[0-9a-f]{40}")
_FILES = ("config.json", "tokenizer.json", "*.safetensors")
_END = 1 << 20


def label(model: str, revision: str | None = None, guidance: float = 0.0) -> str:
    """MODEL@REVISION as a folder's name: the card's, the hub id's, or a local checkpoint's with its digest."""
    card, path = find_card(model), Path(model).expanduser()
    if card is not None:
        name, at = card.name, revision or card.revision
    elif path.exists():
        name, at = path.resolve().name, f"local-{_digest(path)}"
    else:
        name, at = model, revision or "main"
    if guidance:
        name += f" guided {guidance:g}"
    return f"{_plain(name)}@{at[:12] if _COMMIT.fullmatch(at) else _plain(at)}"


def folder(runs: Path, model: str, task_set: str) -> Path:
    """RUNS/MODEL/SET."""
    return runs / model / _plain(task_set)


def _digest(path: Path) -> str:
    """What tells a checkpoint from one trained further in its place, or of its name elsewhere, in eight digits.

    Of large files the ends are read: no training leaves all of them as they were.
    """
    hashed = sha256()
    files = [path] if path.is_file() else sorted(file for name in _FILES for file in path.glob(name))
    for file in files:
        size = file.stat().st_size
        hashed.update(f"{file.name if path.is_dir() else ''} {size}\n".encode())
        with file.open("rb") as opened:
            hashed.update(opened.read(_END))
            opened.seek(max(0, size - _END))
            hashed.update(opened.read(_END))
    return hashed.hexdigest()[:8]


def _plain(name: str) -> str:
    """Letters that any file system takes."""
    return re.sub(r"[^\w.,=+-]+", "-", name.replace("/", "--")).strip("-") or "model"
