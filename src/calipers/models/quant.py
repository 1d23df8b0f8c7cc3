"""Weights in 4 to 8 bits: groups of consecutive values in a row share one float16 scale.

A code stands for one of ``2**bits`` levels, symmetric about zero and closer together near it: with
``u`` evenly spaced from -1 to 1, the level is ``u * (1 + CUBIC * u * u) / (1 + CUBIC)`` times the
scale. Weights crowd round zero, so this loses a fifth less (squared) than even levels do, at no cost
in bits; and unlike a table of levels it needs no gather, only a few multiplications.

Codes are stored as planes of 4, 2 and 1 bits (5 bits: a nibble plane and a bit plane), each plane a
run of whole bytes. Byte ``j`` of a plane of ``p`` values a byte holds the values ``j``, ``j + m``,
``j + 2m`` ... of the tensor, ``m`` being the bytes in the plane. So each step of unpacking reads and
writes contiguous memory, which is what makes it fast with plain array operations.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

BITS = range(4, 9)
GROUP = 64
CUBIC = 0.6
# Values handled at once: small enough for the scratch arrays to stay in the cache.
_BLOCK = 1 << 16


def levels(bits: int) -> Tensor:
    """What each code stands for, before the scale."""
    return _bend(torch.arange(1 << bits).float(), bits)


def _bend(codes: Tensor, bits: int) -> Tensor:
    """Turn float codes into levels, in place."""
    top = (1 << bits) - 1
    u = codes.mul_(2 / top).sub_(1)
    square = u.square()
    return u.mul_(square.mul_(CUBIC / (1 + CUBIC)).add_(1 / (1 + CUBIC)))


def encode(groups: Tensor, scale: Tensor, bits: int) -> Tensor:
    """The nearest codes (uint8) of `groups` [n, group] under the scales [n, 1]."""
    steps = levels(bits)
    # A zero scale decodes to zeros whatever the codes; only the quotient has to be avoided.
    ratio = groups / scale.float().clamp_min(1e-12)
    return torch.bucketize(ratio, (steps[1:] + steps[:-1]) / 2).to(torch.uint8)


def decode(codes: Tensor, scale: Tensor, bits: int) -> Tensor:
    """The float32 values of codes [n, group] under the scales [n, 1]: what `unpack` gives for them."""
    return _bend(codes.float(), bits) * scale.float()


def group_scales(groups: Tensor, bits: int, importance: Tensor | None = None) -> Tensor:
    """The float16 scale [n, 1], for each row of `groups`, of least squared error over a small grid.

    The scale that just covers the largest value is rarely the best one: clipping a lone outlier
    often buys finer steps for all others. `importance` weighs the errors, by column or by element.
    """
    reach = groups.abs().amax(-1, keepdim=True)
    best = torch.zeros_like(reach, dtype=torch.float16)
    least = torch.full_like(reach, torch.inf)
    for factor in torch.linspace(0.74, 1.06, 17).tolist():
        scale = (reach * factor).to(torch.float16)
        error = decode(encode(groups, scale, bits), scale, bits).sub_(groups).square_()
        if importance is not None:
            error *= importance
        total = error.sum(-1, keepdim=True)
        better = total < least
        best, least = torch.where(better, scale, best), torch.where(better, total, least)
    return best


def pack(weight: Tensor, bits: int, group: int = GROUP) -> dict[str, Tensor]:
    """A matrix as ``{"q": uint8 [rows, bytes], "scale": float16 [rows, groups]}``."""
    rows, columns = weight.shape
    if columns % group:
        raise ValueError(f"{columns} columns are not a multiple of the group of {group}")
    codes, scales = [], []
    # In blocks, for the search holds several float copies of what it works on.
    for groups in torch.split(weight.float().reshape(-1, group), max(1, _BLOCK // group)):
        scales.append(group_scales(groups, bits))
        codes.append(encode(groups, scales[-1], bits))
    return pack_codes(torch.cat(codes).view(rows, columns), torch.cat(scales).view(rows, -1), bits)


def pack_codes(codes: Tensor, scale: Tensor, bits: int) -> dict[str, Tensor]:
    """Codes [rows, columns] already chosen, with their scales [rows, groups], in the form of `pack`."""
    if bits not in BITS:
        raise ValueError(f"bits must be 4 to 8, not {bits}")
    rows, columns = codes.shape
    if columns % 8:
        raise ValueError(f"{columns} columns are not a multiple of 8")
    flat, planes, shift = codes.reshape(-1), [], 0
    for width in _planes(bits):
        parts = ((flat >> shift) & ((1 << width) - 1)).view(8 // width, -1)
        plane = parts[0].clone()
        for i in range(1, 8 // width):
            plane |= parts[i] << (i * width)
        planes.append(plane)
        shift += width
    return {"q": torch.cat(planes).view(rows, columns * bits // 8), "scale": scale.to(torch.float16)}


def unpack(parts: dict[str, Tensor], columns: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """The matrix of `columns` columns that `parts` hold; bits and group follow from their shapes.

    In numpy, hence on one thread, on purpose: on a busy machine torch's threads, which would meet at
    thousands of small steps, wait for each other so long that loading takes a minute, not a second.
    """
    q, scale = parts["q"].numpy(), parts["scale"].float().numpy()
    rows, bits, group = q.shape[0], q.shape[1] * 8 // columns, columns // scale.shape[1]
    codes = _join_planes(q.reshape(-1), rows * columns, bits).reshape(-1, group)
    scale = scale.reshape(-1, 1)
    values = np.empty(codes.shape, dtype=np.float32)
    for first in range(0, len(codes), max(1, _BLOCK // group)):
        some = slice(first, first + max(1, _BLOCK // group))
        # As in _bend, to the last bit.
        u = codes[some].astype(np.float32)
        u *= np.float32(2 / ((1 << bits) - 1))
        u -= np.float32(1)
        square = u * u
        square *= np.float32(CUBIC / (1 + CUBIC))
        square += np.float32(1 / (1 + CUBIC))
        u *= square
        np.multiply(u, scale[some], out=values[some])
    return torch.from_numpy(values).view(rows, columns).to(dtype)


def _planes(bits: int) -> list[int]:
    return [8] if bits == 8 else [width for width in (4, 2, 1) if bits & width]


def _join_planes(flat: NDArray[np.uint8], count: int, bits: int) -> NDArray[np.uint8]:
    """The `count` codes of the planes in `flat`."""
    if bits == 8:
        return flat
    codes = np.empty(count, dtype=np.uint8)
    start = shift = 0
    for width in _planes(bits):
        size = count * width // 8
        for first in range(0, size, _BLOCK):
            last = min(first + _BLOCK, size)
            plane = flat[start + first : start + last]
            for i in range(8 // width):
                part = plane >> (i * width)
                part &= (1 << width) - 1
                into = codes[i * size + first : i * size + last]
                if shift:
                    part <<= shift
                    into |= part
                else:
                    into[:] = part
        start += size
        shift += width
    return codes
