"""Where the runs of a model and a task set are, found without loading the model."""

from __future__ import annotations

import re
from pathlib import Path

from calipers.models.card import find_card


def label(model: str, revision: str | None = None, guidance: float = 0.0) -> str:
    """MODEL@REVISION as a folder's name: the card's, the hub id's, or the local folder's."""
    card = find_card(model)
    if card is not None:
        name, at = card.name, revision or card.revision
    elif Path(model).expanduser().exists():
        name, at = Path(model).expanduser().resolve().name, "local"
    else:
        name, at = model, revision or "main"
    if guidance:
        name += f" guided {guidance:g}"
    return f"{_plain(name)}@{_plain(at)[:12]}"


def folder(runs: Path, model: str, task_set: str) -> Path:
    """RUNS/MODEL/SET."""
    return runs / model / _plain(task_set)


def _plain(name: str) -> str:
    """Letters that any file system takes."""
    return re.sub(r"[^\w.,=+-]+", "-", name.replace("/", "--")).strip("-") or "model"
