"""Masked-token cross-entropy of weight formats on held-out code, paired with the int8 original.

    python -m training.crossentropy --original PIECES [--packed FILE ...] --site-packages DIR

Each window is 256 tokens (BOS first) of one file of packages which the training manifest does not
name. The masks depend on the seed alone, so every format is asked for the same tokens, and the
difference between two formats has a far smaller standard error than either mean.
"""

from __future__ import annotations

import argparse
import hashlib
import random
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.nn.functional as F
from tokenizers import Tokenizer
from torch import Tensor

from calipers.models.backbone import Backbone
from calipers.models.packed import read_packed
from training.architecture import BOS, MASK, backbone_of
from training.pieces import read_weights

WINDOW = 256
# Absent from corpus/manifest.csv. (The standard library is in it, so it is no held-out text.)
PACKAGES = (
    "aws_xray_sdk", "docutils", "graphql", "joserfc", "jsonschema_path", "openapi_schema_validator",
    "openapi_spec_validator", "outcome", "pathable", "py_partiql_parser", "pydantic_settings",
    "referencing", "samtranslator", "typing_inspection",
)  # fmt: skip


@dataclass(frozen=True)
class Windows:
    """Token ids [windows, 256], and which of them are masked."""

    ids: Tensor
    masked: Tensor

    @property
    def inputs(self) -> Tensor:
        """The ids with mask ids in the masked places."""
        return torch.where(self.masked, MASK, self.ids)

    def batches(self, size: int) -> Iterator[Windows]:
        """So many windows at a time."""
        for ids, masked in zip(torch.split(self.ids, size), torch.split(self.masked, size), strict=True):
            yield Windows(ids, masked)


def make_windows(texts: Iterable[str], tokenizer: Tokenizer, count: int, rng: random.Random) -> Windows:
    """One window a text, from a random line on; each token masked at the window's random ratio."""
    rows: list[list[int]] = []
    for text in texts:
        lines = text.splitlines(keepends=True)
        ids = tokenizer.encode("".join(lines[rng.randrange(len(lines)) :])).ids
        if len(ids) < WINDOW - 1:
            continue
        rows.append([BOS, *ids[: WINDOW - 1]])
        if len(rows) == count:
            break
    if len(rows) < count:
        raise SystemExit(f"only {len(rows)} of {count} windows could be cut")
    masked = torch.zeros(count, WINDOW, dtype=torch.bool)
    for row in masked:
        ratio = rng.uniform(0.05, 0.95)
        row[1:] = torch.tensor([rng.random() < ratio for _ in range(1, WINDOW)])
    return Windows(torch.tensor(rows), masked)


def held_out(site_packages: Path, rng: random.Random) -> Iterable[str]:
    """The packages' source files in a random order that depends on the seed alone."""
    paths = sorted(p for name in PACKAGES for p in (site_packages / name).rglob("*.py"))
    paths = [p for p in paths if "test" not in p.as_posix().lower()]
    rng.shuffle(paths)
    for path in paths:
        text = path.read_text(encoding="utf-8", errors="ignore")
        # The limits of the training data: neither stubs nor generated tables.
        if 200 < len(text) < 200_000 and max(map(len, text.split("\n"))) < 400:
            yield text


@torch.inference_mode()
def predictions(backbone: Backbone, windows: Windows) -> list[Tensor]:
    """For each window, the logits of its masked tokens: row j - 1 predicts token j."""
    width = windows.ids.shape[1]
    rows = (windows.masked.reshape(-1).nonzero()[:, 0] - 1).clamp(min=0)
    logits = backbone(windows.inputs.view(-1, width), None, rows)
    return list(torch.split(logits, windows.masked.sum(1).tolist()))


def losses(logits: list[Tensor], windows: Windows) -> list[Tensor]:
    """Nats of each masked token, window by window."""
    wanted = [ids[masked] for ids, masked in zip(windows.ids, windows.masked, strict=True)]
    return [F.cross_entropy(x, y, reduction="none") for x, y in zip(logits, wanted, strict=True)]


def divergence(first: list[Tensor], second: list[Tensor]) -> list[Tensor]:
    """KL(first || second) at each masked token: what a format changes, without the text's noise."""
    pairs = [(x.log_softmax(-1), y.log_softmax(-1)) for x, y in zip(first, second, strict=True)]
    return [F.kl_div(q, p, reduction="none", log_target=True).sum(-1) for p, q in pairs]


def mean_and_error(values: list[Tensor]) -> tuple[float, float]:
    """The mean over tokens, and its standard error with windows as the independent units."""
    sums = torch.stack([v.sum() for v in values]).double()
    sizes = torch.tensor([len(v) for v in values]).double()
    mean = sums.sum() / sizes.sum()
    error = (sums - mean * sizes).square().sum().sqrt() / sizes.sum()
    return float(mean), float(error)


def main() -> None:
    """Measure the files named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--original", type=Path, required=True, help="folder of int8 pieces, or a checkpoint.pt")
    parser.add_argument("--tokenizer", type=Path, help="tokenizer.json, if it is not beside the pieces")
    parser.add_argument("--packed", type=Path, nargs="*", default=[], help="packed files to compare")
    parser.add_argument("--site-packages", type=Path, required=True, help="folder with the held-out packages")
    parser.add_argument("--windows", type=int, default=200)
    parser.add_argument("--seed", type=int, default=20240)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--divergence", action="store_true", help="report the KL divergence as well")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)

    tokenizer = Tokenizer.from_file(str(args.tokenizer or args.original / "tokenizer.json"))
    rng = random.Random(args.seed)
    windows = make_windows(held_out(args.site_packages, rng), tokenizer, args.windows, rng)
    digest = hashlib.sha256(windows.inputs.numpy().tobytes()).hexdigest()[:12]
    print(f"{args.windows} windows, {int(windows.masked.sum())} masked tokens, inputs {digest}", flush=True)

    names, seconds = ["original"], [0.0]
    original = read_weights(args.original)
    models = [backbone_of(original.tensors.items(), original.config)]
    for path in args.packed:
        started = time.perf_counter()
        packed = read_packed(path)
        models.append(backbone_of(packed.tensors(), packed.config))
        seconds.append(time.perf_counter() - started)
        names.append(path.name)
    nats: list[list[Tensor]] = [[] for _ in models]
    apart: list[list[Tensor]] = [[] for _ in models]
    for some in windows.batches(8):
        logits = [predictions(model, some) for model in models]
        for i, theirs in enumerate(logits):
            nats[i] += losses(theirs, some)
            apart[i] += divergence(logits[0], theirs) if args.divergence else []
    for i, name in enumerate(names):
        line = "{:40} {:.4f} +- {:.4f} nats".format(name, *mean_and_error(nats[i]))
        if i:
            difference = [mine - base for mine, base in zip(nats[i], nats[0], strict=True)]
            line += "  difference {:+.4f} +- {:.4f}".format(*mean_and_error(difference))
            if args.divergence:
                line += "  KL {:.4f} +- {:.4f}".format(*mean_and_error(apart[i]))
            line += f"  {args.packed[i - 1].stat().st_size / 1e6:.2f} MB, loaded in {seconds[i]:.2f} s"
        print(line)


if __name__ == "__main__":
    main()
