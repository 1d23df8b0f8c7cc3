"""Weights from safetensors into a backbone, one tensor at a time.

Files are mapped, not read: an 8B checkpoint never costs more memory than its weights in the
target dtype plus the pages of the shard at hand. Names and sizes are all checked before any
data is touched.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor, nn

from calipers.errors import ModelError
from calipers.models.backbone import Backbone, Shape

_DTYPES = ("BF16", "F16", "F32", "F64")


def shards(folder: Path) -> list[Path]:
    """The safetensors files of a checkpoint: one, or those its index names."""
    index, single = folder / "model.safetensors.index.json", folder / "model.safetensors"
    if index.is_file():
        try:
            names = sorted(set(json.loads(index.read_text("utf-8"))["weight_map"].values()))
        except (ValueError, KeyError, TypeError, AttributeError) as broken:
            raise ModelError(f"{index} is no index of tensors ({broken!r}); download it again.") from None
        if not names:
            raise ModelError(f"{index} names no file; download the checkpoint again.")
        missing = [n for n in names if not (folder / n).is_file()]
        if missing:
            raise ModelError(
                f"{index} names {len(missing)} file(s) that are not there, {missing[0]} first; "
                "download the checkpoint again."
            )
        return [folder / n for n in names]
    if single.is_file():
        return [single]
    raise ModelError(
        f"{folder} has neither model.safetensors nor model.safetensors.index.json; calipers reads safetensors only."
    )


def sizes(shape: Shape) -> dict[str, tuple[int, ...]]:
    """The size of every parameter of a backbone of this shape."""
    with torch.device("meta"):
        return {name: tuple(p.shape) for name, p in Backbone(shape).named_parameters()}


def read(
    files: list[Path],
    names: dict[str, str],
    sizes: dict[str, tuple[int, ...]],
    beyond: Collection[str] = (),
) -> Iterator[tuple[str, Tensor]]:
    """Yield (our parameter, tensor) for every entry of `names`, after checking them all.

    `beyond` are tensors that must not be there: those of one layer more than the config says.
    """
    wanted = {theirs: ours for ours, theirs in names.items()}
    expected = {theirs: sizes[ours] for theirs, ours in wanted.items()}
    found: dict[str, Path] = {}
    for file in files:
        for theirs in _checked(file, expected, beyond):
            if theirs in found:
                raise ModelError(
                    f"Tensor {theirs} is in {found[theirs]} and again in {file}; "
                    "remove the file that does not belong to the checkpoint."
                )
            found[theirs] = file
    if missing := [t for t in wanted if t not in found]:
        raise ModelError(
            f"{len(missing)} tensor(s) are missing in {files[0].parent}, {missing[0]} first; "
            "the download is incomplete or this is another architecture."
        )
    for file in files:
        # One at a time: the pages of a mapped file count as ours until it is closed.
        with safe_open(file, framework="pt") as shard:
            for theirs in shard.keys():
                if theirs in wanted:
                    yield wanted[theirs], shard.get_tensor(theirs)


def _checked(file: Path, expected: dict[str, tuple[int, ...]], beyond: Collection[str]) -> list[str]:
    """The tensors of a file that are expected anywhere, each of the size and in a dtype that is."""
    try:
        with safe_open(file, framework="pt") as shard:
            extra = next((name for name in shard.keys() if name in beyond), None)
            there = {name: shard.get_slice(name) for name in shard.keys() if name in expected}
            facts = {name: (tuple(slice_.get_shape()), slice_.get_dtype()) for name, slice_ in there.items()}
    except (SafetensorError, OSError) as broken:
        raise ModelError(f"{file} is no safetensors file ({broken}); download it again.") from None
    if extra is not None:
        raise ModelError(
            f"Tensor {extra} in {file} is of a layer that config.json does not have; "
            "config and weights do not belong together."
        )
    for name, (size, dtype) in facts.items():
        if size != expected[name]:
            raise ModelError(
                f"Tensor {name} in {file} is {list(size)} where config.json means {list(expected[name])}; "
                "config and weights do not belong together."
            )
        if dtype not in _DTYPES:
            raise ModelError(
                f"Tensor {name} in {file} is quantised ({dtype}), and calipers reads {', '.join(_DTYPES)}; "
                "download the checkpoint it was made from."
            )
    return list(facts)


def assemble(shape: Shape, tensors: Iterable[tuple[str, Tensor]], device: str, dtype: torch.dtype) -> Backbone:
    """A backbone on `device` in `dtype`, its parameters replaced one by one as they come."""
    with torch.device("meta"):
        backbone = Backbone(shape)
    missing = dict(backbone.named_parameters())
    for name, tensor in tensors:
        if (expected := missing.pop(name).shape) != tensor.shape:
            raise ModelError(
                f"{name} is {list(tensor.shape)} in the file where its config means {list(expected)}; pack it again."
            )
        owner, _, leaf = name.rpartition(".")
        ready = tensor.to(device=device, dtype=dtype)
        setattr(backbone.get_submodule(owner), leaf, nn.Parameter(ready, requires_grad=False))
    if missing:
        raise ModelError(f"{len(missing)} parameter(s) are in no file, {next(iter(missing))} first; pack it again.")
    return backbone.eval()


def random_weights(shape: Shape, device: str, dtype: torch.dtype, seed: int = 0) -> Backbone:
    """A backbone of a given shape with random weights: for measuring, never for filling."""
    generator = torch.Generator(device).manual_seed(seed)

    def made() -> Iterator[tuple[str, Tensor]]:
        for name, size in sizes(shape).items():
            tensor = torch.empty(size, device=device, dtype=dtype)
            yield name, tensor.fill_(1.0) if "norm" in name else tensor.normal_(0.0, 0.02, generator=generator)

    return assemble(shape, made(), device, dtype)
