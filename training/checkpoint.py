"""A leg's whole state in one file, written whole or not at all, two of them kept in turn."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import torch

NAMES = ("checkpoint.pt", "checkpoint.old.pt")


def save(folder: Path, state: dict[str, Any]) -> Path:
    """Write the state; the one before it stays as `checkpoint.old.pt`."""
    folder.mkdir(parents=True, exist_ok=True)
    path, old = folder / NAMES[0], folder / NAMES[1]
    part = path.with_suffix(".part")
    with part.open("wb") as file:
        torch.save(state, file)
        file.flush()
        os.fsync(file.fileno())
    if path.exists():
        # A link first: at no moment is there no checkpoint.
        old.unlink(missing_ok=True)
        os.link(path, old)
    part.replace(path)
    return path


def load(path: Path) -> dict[str, Any]:
    """The state of a checkpoint (a file, or a folder's newest), on the CPU."""
    path = path / NAMES[0] if path.is_dir() else path
    state: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
    return state


def newest(folder: Path) -> Path | None:
    """A folder's checkpoint, if it has one."""
    path = folder / NAMES[0]
    return path if path.exists() else None
