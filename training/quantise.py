"""Turn the int8 pieces of the prototype model into one quantised checkpoint.

    python training/quantise.py --weights /work/shared/model --out FILE --calibration code0.jsonl.xz

Every matrix is rounded to `--bits-linear` or `--bits-embedding`; `--bits NAME=B` sets other bits for
the tensors whose published name contains NAME (the last match counts). With `--calibration`, training
text, the linear layers are rounded column by column, each column's error being made up for by the
columns still to come (GPTQ: Frantar et al., 2023), with the inputs that the layers really see.
"""

from __future__ import annotations

import argparse
import itertools
import json
import lzma
import random
import time
from pathlib import Path

import torch
from tokenizers import Tokenizer
from torch import Tensor, nn

from calipers.models.dream import OWN
from calipers.models.packed import write_packed
from calipers.models.quant import GROUP, decode, encode, group_scales, pack, pack_codes, unpack
from crossentropy import CONFIG, backbone_of, make_windows, read_pieces


def calibration_inputs(path: Path, tokenizer_file: Path, count: int, seed: int) -> Tensor:
    """Masked windows of training text."""
    rng = random.Random(seed)
    # The file is large and its records are in random order: its head will do.
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        texts = [json.loads(line) for line in itertools.islice(lines, 4 * count)]
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


def packed_layers(weights: dict[str, Tensor], inputs: Tensor, bits: dict[str, int]) -> dict[str, Tensor]:
    """The linear layers rounded with compensation.

    One pass of the model does it: each matrix is rounded when its input is at hand, and the pass goes
    on with the rounded matrix, so that later layers see, and make up for, what earlier ones lost.
    """
    stored: dict[str, Tensor] = {}
    last: list[Tensor] = []  # an input and its products; query, key and value share theirs
    backbone = backbone_of(weights.items())
    names = OWN.tensors(backbone.shape)

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


@torch.inference_mode()
def main() -> None:
    """Quantise and write."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--weights", type=Path, required=True, help="folder of the int8 pieces")
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

    def bits_of(name: str) -> int:
        bits: int = args.bits_embedding if "embed" in name else args.bits_linear
        for rule in args.bits:
            part, _, number = rule.partition("=")
            bits = int(number) if part in name else bits
        return bits

    weights = dict(read_pieces(args.weights))
    shapes = {name: list(w.shape) for name, w in weights.items() if w.dim() == 2}
    bits = {name: bits_of(name) for name in shapes}
    stored: dict[str, Tensor] = {n: w for n, w in weights.items() if w.dim() == 1}
    started = time.perf_counter()
    if args.calibration:
        inputs = calibration_inputs(
            args.calibration, args.weights / "tokenizer.json", args.calibration_windows, args.seed
        )
        print(f"{len(inputs)} windows of {args.calibration.name}, {time.perf_counter() - started:.0f} s")
        # The embedding first: its error is in the inputs of all others.
        name = "model.embed_tokens.weight"
        parts = pack(weights[name], bits[name])
        stored |= {f"{name}.{part}": tensor for part, tensor in parts.items()}
        weights[name] = unpack(parts, shapes[name][1])
        stored |= packed_layers(weights, inputs, bits)
    for name in shapes:
        if f"{name}.q" not in stored:
            parts = pack(weights[name], bits[name])
            stored |= {f"{name}.{part}": tensor for part, tensor in parts.items()}
    quant = {"group": GROUP, "bits": bits, "shapes": shapes}
    write_packed(args.out, stored, CONFIG, quant, (args.weights / "tokenizer.json").read_text("utf-8"))
    size, seconds = args.out.stat().st_size, time.perf_counter() - started
    print(f"{args.out}: {size:,} bytes, {seconds:.0f} s")


if __name__ == "__main__":
    main()
