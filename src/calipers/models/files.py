"""Where a checkpoint's files are: in this package, in a local folder, or on the hub (and its cache)."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from calipers.errors import ModelError
from calipers.models.card import Card

_PATTERNS = (
    "config.json",
    "*.safetensors",
    "model.safetensors.index.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "vocab.json",
    "merges.txt",
)


def bundled(card: Card) -> Path:
    """The packed file that ships with calipers."""
    return Path(str(resources.files("calipers.models") / "bundled" / card.file))


def fetch(hub_id: str, revision: str) -> Path:
    """The folder of a hub checkpoint, downloaded if the hub's cache does not have it.

    Goes through huggingface_hub: its cache, its tokens, HF_ENDPOINT and HF_HUB_OFFLINE hold.
    """
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError

    try:
        return Path(snapshot_download(hub_id, revision=revision, allow_patterns=list(_PATTERNS)))
    except HFValidationError:
        raise ModelError(
            f"model {hub_id!r} is no card, no local folder and no hub id; `calipers models` lists the cards."
        ) from None
    except LocalEntryNotFoundError:
        raise ModelError(
            f"model {hub_id!r} at revision {revision!r} is not in the hub's cache and the hub cannot be "
            "reached; connect, unset HF_HUB_OFFLINE, or name a local folder."
        ) from None
    except Exception as failure:  # what a broken connection raises depends on the client's version
        raise ModelError(
            f"model {hub_id!r} at revision {revision!r} cannot be fetched from the hub: {failure}. "
            "Check the name, the revision and, for a gated model, your token (`hf auth login`); "
            "if the download broke off, try again."
        ) from failure


def cached(hub_id: str, revision: str) -> Path | None:
    """The folder in the hub's cache, or None if its weights were never fetched."""
    from huggingface_hub import try_to_load_from_cache

    found = try_to_load_from_cache(hub_id, "config.json", revision=revision)
    folder = Path(found).parent if isinstance(found, str) else None
    return folder if folder and any(folder.glob("*.safetensors")) else None
