"""A model from a name: a card, a hub id, a local folder, or one packed file."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import torch

from calipers.errors import ArgumentError, ModelError
from calipers.models import files, packed, weights
from calipers.models.card import DEFAULT, Card, cards, find_card
from calipers.models.config import Config
from calipers.models.dream import DREAM, OWN
from calipers.models.family import Family
from calipers.models.llada import LLADA
from calipers.models.tokenizer import Tokenizer
from calipers.models.transformer import TransformerModel

FAMILIES = {family.model_type: family for family in (LLADA, DREAM, OWN)}


def load(
    name: str | Path = DEFAULT,
    *,
    revision: str | None = None,
    card: str | None = None,
    device: str = "auto",
    dtype: str = "auto",
    compile: bool = False,
) -> TransformerModel:
    """Load a model.

    name      a card's name (`calipers models` lists them), a hub id, a local folder, or a packed file
    revision  of a hub id; the card's, else main, when None
    card      the name of the card whose facts hold for a local folder or a hub copy of its checkpoint
    device    cuda, mps, cpu, cuda:1 …; auto takes the first of cuda, mps, cpu that is there
    dtype     bfloat16 or float32; auto is bfloat16 on cuda and on a CPU that computes in it, else float32
    compile   let torch compile the blocks at the first forwards: for long runs on a GPU (docs/results/bench.md)
    """
    model = _load(str(name), revision, card, device, dtype)
    if compile:
        model.backbone.compile_blocks()
    return model


def _load(name: str, revision: str | None, card: str | None, device: str, dtype: str) -> TransformerModel:
    where = pick_device(device)
    kind = pick_dtype(dtype, where)
    facts = find_card(card or name)
    if card is not None and facts is None:
        raise ArgumentError(f"card={card!r} is not known; known: {', '.join(cards())}.")
    if card is not None and (own := find_card(name)) is not None and own.file:
        raise ArgumentError(
            f"card={card!r} is for a local folder or a copy, and model {name!r} has its own; name both."
        )
    path = Path(name).expanduser()
    bundled = card is None and facts is not None and facts.file
    if revision is not None and (bundled or path.exists()):
        raise ArgumentError(f"revision={revision!r} is for the hub, and {name} is here already; leave it out.")
    if bundled and facts is not None:
        return _load_packed(files.bundled(facts), facts, where, kind)
    if path.is_file():
        return _load_packed(path, facts, where, kind)
    if path.is_dir() and (card is not None or facts is None):
        local = replace(facts, id=str(path), revision="local") if facts else _card(str(path), path, "local")
        return load_folder(path, local, where, kind)
    if facts is None and (name.startswith((".", "/", "~")) or name.count("/") != 1):
        raise ModelError(
            f"model {name!r} is no card, no folder or file that is there, and no hub id; "
            "`calipers models` lists the cards, a hub id is owner/name."
        )
    named = facts if card is None else None  # a copy under another id has revisions of its own
    revision = revision or (named.revision if named else "main")
    hub_id = named.id if named else name
    folder = files.fetch(hub_id, revision)
    # A snapshot's folder is named by the commit that a branch or tag stood for.
    revision = folder.name if re.fullmatch("[0-9a-f]{40}", folder.name) else revision
    known = replace(facts, id=hub_id, revision=revision) if facts else _card(name, folder, revision)
    return load_folder(folder, known, where, kind)


def load_folder(folder: Path, card: Card, device: str, dtype: torch.dtype) -> TransformerModel:
    """A published checkpoint in a folder: config.json, safetensors, tokenizer files."""
    config = Config.read(folder / "config.json")
    family = family_of(config)
    if card.family != family.model_type:
        raise ModelError(
            f"Card {card.name} is of family {card.family}, but {config.where} says {family.model_type}; "
            "name the checkpoint by its folder or correct the card."
        )
    shape = family.shape(config)
    tokenizer = Tokenizer.from_folder(folder, family.splits)
    names = family.tensors(shape)
    beyond = set(family.tensors(replace(shape, layers=shape.layers + 1)).values()) - set(names.values())
    tensors = weights.read(weights.shards(folder), names, weights.sizes(shape), beyond)
    backbone = weights.assemble(shape, tensors, device, dtype)
    return TransformerModel(card, config, backbone, tokenizer, family.shift)


def family_of(config: Config) -> Family:
    """The family of a config's model_type."""
    kind = config.need("model_type")
    if kind not in FAMILIES:
        raise ModelError(
            f"{config.where} has model_type {kind!r}, which calipers does not know; "
            f"known: {', '.join(FAMILIES)}. Another masked diffusion model needs an adapter in calipers/models."
        )
    return FAMILIES[kind]


def pick_device(device: str) -> str:
    """The device meant; auto is the first of cuda, mps, cpu that is there."""
    there = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    if device == "auto":
        return next(name for name, is_there in there.items() if is_there)
    kind = device.partition(":")[0]
    if kind not in there:
        raise ArgumentError(f"device={device!r} is not known; give auto, cuda, mps or cpu.")
    if not there[kind]:
        here = [name for name, is_there in there.items() if is_there]
        raise ArgumentError(f"device={device!r} is not on this machine; here: {', '.join(here)}.")
    return device


def pick_dtype(dtype: str, device: str) -> torch.dtype:
    """The dtype meant; auto is bfloat16 where the device computes in it and float32 elsewhere."""
    known = {"bfloat16": torch.bfloat16, "float32": torch.float32}
    if dtype == "auto":
        native = device.startswith("cuda") or (device == "cpu" and cpu_has_bfloat16())
        return torch.bfloat16 if native else torch.float32
    if dtype not in known:
        raise ArgumentError(f"dtype={dtype!r} is not known; give auto, bfloat16 or float32.")
    return known[dtype]


def cpu_has_bfloat16() -> bool:
    """Whether this CPU multiplies bfloat16 matrices in hardware; without that float32 is faster."""
    try:
        flags = Path("/proc/cpuinfo").read_text()
    except OSError:
        return False
    return "avx512_bf16" in flags or "amx_bf16" in flags


def _load_packed(path: Path, card: Card | None, device: str, dtype: torch.dtype) -> TransformerModel:
    """One file that holds config, tokenizer and quantised weights."""
    file = packed.read_packed(path)
    config = Config(file.config, str(path))
    family = family_of(config)
    shape = family.shape(config)
    card = card or _card(str(path), path, "local", family)
    ours = {theirs: name for name, theirs in family.tensors(shape).items()}
    tensors = ((ours[theirs], tensor) for theirs, tensor in file.tensors(dtype) if theirs in ours)
    backbone = weights.assemble(shape, tensors, device, dtype)
    tokenizer = Tokenizer.from_json(file.tokenizer_json)
    return TransformerModel(card, config, backbone, tokenizer, family.shift)


def _card(name: str, folder: Path, revision: str, family: Family | None = None) -> Card:
    family = family or family_of(Config.read(folder / "config.json"))
    return Card(
        name=Path(name).name,
        id=name,
        family=family.model_type,
        revision=revision,
        opens=family.opens,
        closes=family.closes,
        rank=family.rank,
        source="config.json and its family's habits; calipers has no card for it",
    )
