"""Turn trained weights (a folder of int8 pieces, or a checkpoint) into one packed file.

    python -m training.quantise --weights PIECES --out FILE --calibration code-00.jsonl.xz

Every matrix is rounded to `--bits-linear` or `--bits-embedding`; `--bits NAME=B` sets other bits for
the tensors whose published name contains NAME (the last match counts). With `--calibration`, training
text, the linear layers are rounded column by column, each column's error being made up for by the
columns still to come (GPTQ: Frantar et al., 2023), with the inputs that the layers really see.
"""

from __future__ import annotations

import argparse
import itertools
import random
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import torch
from tokenizers import Tokenizer
from torch import Tensor, nn

from calipers.models.packed import write_packed
from calipers.models.quant import GROUP, decode, encode, group_scales, pack, pack_codes, unpack
from training.architecture import backbone_of, published
from training.crossentropy import make_windows
from training.examples.shelf import read_shard
from training.pieces import Weights, read_weights


def calibration_inputs(path: Path, tokenizer_file: Path, count: int, seed: int) -> Tensor:
    """Masked windows of training text."""
    rng = random.Random(seed)
    # The file is large and its records are in random order: its head will do.
    texts = [text for _, text in itertools.islice(read_shard(path), 4 * count)]
    return make_windows(texts, Tokenizer.from_file(str(tokenizer_file)), count, rng).inputs


def compensated(weight: Tensor, hessian: Tensor, bits: int) -> tuple[Tensor, Tensor]:
    """Codes and scales for `weight` of least error in its products with inputs X, `hessian` = X'X.

    Columns are rounded from first to last; the error of each goes, as far as the inputs correlate,
    into the columns after it. A group's scale is chosen when its first column is reached.
    """
    columns = weight.shape[1]
    weight, hessian = weight.clone(), hessian.double().clone()
    hessian.diagonal().add_(0.01 * hessian.diagonal().mean())
    inverse = torch.linalg.inv(hessian)
    upper = torch.linalg.cholesky(inverse, upper=True).float()
    codes, scales = torch.empty(weight.shape, dtype=torch.uint8), []
    for first in range(0, columns, GROUP):
        last = first + GROUP
        block = weight[:, first:last].t().contiguous()
        own = upper[first:last, first:last]
        # An error in a column costs, after the best compensation, by the square of this diagonal.
        scale = group_scales(block.t().contiguous(), bits, own.diagonal() ** -2)
        errors = torch.empty_like(block)
        for j in range(GROUP):
            code = encode(block[j, :, None], scale, bits)
            codes[:, first + j] = code[:, 0]
            errors[j] = (block[j] - decode(code, scale, bits)[:, 0]) / own[j, j]
            if j + 1 < GROUP:
                block[j + 1 :].addr_(own[j, j + 1 :], errors[j], alpha=-1)
        weight[:, last:].addmm_(errors.t(), upper[first:last, last:], alpha=-1)
        scales.append(scale)
    return codes, torch.cat(scales, 1)


def packed_layers(weights: Weights, inputs: Tensor, bits: dict[str, int]) -> dict[str, Tensor]:
    """The linear layers rounded with compensation.

    One pass of the model does it: each matrix is rounded when its input is at hand, and the pass goes
    on with the rounded matrix, so that later layers see, and make up for, what earlier ones lost.
    """
    stored: dict[str, Tensor] = {}
    last: list[Tensor] = []  # an input and its products; query, key and value share theirs
    backbone = backbone_of(weights.tensors.items(), weights.config)
    names = published(weights.config)

    def round_it(layer: nn.Linear, name: str, seen: Tensor) -> None:
        if not last or last[0] is not seen:
            flat = seen.reshape(-1, seen.shape[-1])
            last[:] = [seen, flat.t() @ flat]
        codes, scale = compensated(layer.weight, last[1], bits[name])
        parts = pack_codes(codes, scale, bits[name])
        stored.update({f"{name}.{part}": tensor for part, tensor in parts.items()})
        layer.weight.copy_(unpack(parts, codes.shape[1]))

    for ours, layer in backbone.named_modules():
        if isinstance(layer, nn.Linear):
            name = names[f"{ours}.weight"]
            layer.register_forward_pre_hook(lambda layer, seen, name=name: round_it(layer, name, seen[0]))
    backbone(inputs, None, torch.zeros(1, dtype=torch.long))
    return stored


def quantise(weights: Weights, bits: dict[str, int], inputs: Tensor | None) -> dict[str, Tensor]:
    """What the packed file stores: every matrix in its bits, compensated for if there are inputs."""
    tensors = dict(weights.tensors)
    stored = {name: w for name, w in tensors.items() if name not in bits}
    if inputs is not None:
        # The embedding first: its error is in the inputs of all others.
        name = "model.embed_tokens.weight"
        parts = pack(tensors[name], bits[name])
        stored |= {f"{name}.{part}": tensor for part, tensor in parts.items()}
        tensors[name] = unpack(parts, tensors[name].shape[1])
        stored |= packed_layers(replace(weights, tensors=tensors), inputs, bits)
    for name in bits:
        if f"{name}.q" not in stored:
            parts = pack(tensors[name], bits[name])
            stored |= {f"{name}.{part}": tensor for part, tensor in parts.items()}
    return stored


def bits_of(name: str, linear: int, embedding: int, rules: Sequence[str]) -> int:
    """The bits of a matrix; the last rule NAME=B whose NAME is in its name counts."""
    bits = embedding if "embed" in name else linear
    for rule in rules:
        part, _, number = rule.partition("=")
        bits = int(number) if part in name else bits
    return bits


@torch.inference_mode()
def main() -> None:
    """Quantise and write."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--weights", type=Path, required=True, help="folder of int8 pieces, or a checkpoint.pt")
    parser.add_argument("--tokenizer", type=Path, help="tokenizer.json, if it is not beside the pieces")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--bits-linear", type=int, default=5)
    parser.add_argument("--bits-embedding", type=int, default=6)
    parser.add_argument("--bits", action="append", default=[], metavar="NAME=B")
    parser.add_argument("--calibration", type=Path, help="training text: compensate errors")
    parser.add_argument("--calibration-windows", type=int, default=128)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)

    weights = read_weights(args.weights)
    tokenizer = args.tokenizer or args.weights / "tokenizer.json"
    shapes = {name: list(w.shape) for name, w in weights.tensors.items() if w.dim() == 2}
    bits = {name: bits_of(name, args.bits_linear, args.bits_embedding, args.bits) for name in shapes}
    started, inputs = time.perf_counter(), None
    if args.calibration:
        inputs = calibration_inputs(args.calibration, tokenizer, args.calibration_windows, args.seed)
        print(f"{len(inputs)} windows of {args.calibration.name}, {time.perf_counter() - started:.0f} s")
    stored = quantise(weights, bits, inputs)
    quant = {"group": GROUP, "bits": bits, "shapes": shapes}
    write_packed(args.out, stored, weights.config, quant, tokenizer.read_text("utf-8"))
    size, seconds = args.out.stat().st_size, time.perf_counter() - started
    print(f"{args.out}: {size:,} bytes, {seconds:.0f} s")


if __name__ == "__main__":
    main()
