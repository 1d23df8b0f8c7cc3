"""Ours against the plain way, on the same weights, in one run, answers compared.

plain   one probe a forward, every position unembedded, softmax over all of them; the length found,
        decoding begins with a forward that the search already made; one token a step
ours    probes of a round in one forward, hole positions unembedded only, the winner's logits kept

    python benchmarks/speed.py                                   the bundled model, on what is here
    python benchmarks/speed.py --shape llada-8b --dtype bfloat16  an 8B of random weights (a GPU's work)

Random weights have no oracle peak, so a climb on them measures speed and nothing else.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tokenizers as hf
import torch
from tokenizers.models import WordLevel
from torch import Tensor

import calipers
from calipers.bias import PAPER
from calipers.canvas import MASK, Canvas
from calipers.decode import Denoise, decode
from calipers.drive import Ask, Done, drive
from calipers.measure import Measuring
from calipers.models.backbone import Shape
from calipers.models.card import Card
from calipers.models.config import Config
from calipers.models.load import pick_device, pick_dtype
from calipers.models.tokenizer import Tokenizer
from calipers.models.transformer import TransformerModel
from calipers.models.weights import random_weights
from calipers.provenance import commit, invocation, machine, memory_peak
from calipers.search import HillClimb

SHAPES = {
    "llada-8b": Shape(126464, 4096, 32, 32, 32, 12288, 1e-5, 500000.0, 4096, rope_in_float32=True),
    "llada-toy": Shape(2048, 128, 4, 4, 4, 384, 1e-5, 500000.0, 4096, rope_in_float32=True),
}
TEXT = (Path(__file__).parent.parent / "src/calipers/measure.py").read_text("utf-8")


@dataclass
class Answer:
    """What a way found and what it cost."""

    visited: tuple[int, ...]
    ids: tuple[int, ...]
    forwards: int = 0
    seconds: float = 0.0


class Plain:
    """The method as one would first write it, on the same backbone."""

    def __init__(self, model: TransformerModel, search: HillClimb) -> None:
        self.model = model
        self.search = search

    def logits(self, canvas: Canvas) -> Tensor:
        """Logits of all hole positions, from a forward that unembeds every position."""
        model = self.model
        ids, moved = model.row(calipers.Query.whole(canvas))
        with torch.inference_mode():
            raw = model.backbone(torch.tensor([ids], device=model.where)).float()
            raw[:, model.never] = -torch.inf
            if model.shift:
                raw = torch.cat((raw[:1], raw[:-1]))
        aligned: Tensor = raw[moved : moved + len(canvas)]
        return aligned

    def run(self, canvas: Canvas) -> Answer:
        """Algorithm 1, then one token a step."""
        visited: list[int] = []
        calibrated: dict[int, float] = {}

        def score(length: int) -> float:
            masked = canvas.with_hole(0, (MASK,) * length)
            p = self.logits(masked).softmax(-1).amax(-1)[list(masked.spans[0])]
            visited.append(length)
            calibrated[length] = float(p.mean()) / PAPER(length)
            return calibrated[length]

        search = self.search
        best = search.init
        score(best)
        for direction in (1, -1):
            length, count = search.init + direction, 0
            while 1 <= length <= search.max_length and count < search.patience:
                if score(length) > calibrated[best]:
                    best, count = length, 0
                else:
                    count += 1
                length += direction
        canvas = canvas.with_hole(0, (MASK,) * best)
        while masked := list(canvas.masked):
            logits = self.logits(canvas)[masked]
            p, tokens = logits.softmax(-1).max(-1)
            row = int(p.argmax())
            canvas = canvas.edit({masked[row]: (int(tokens[row]),)})
        return Answer(tuple(visited), canvas.holes[0])


def ours(model: TransformerModel, search: HillClimb, canvas: Canvas) -> Answer:
    """The library's own composition, below text."""
    measuring = Measuring(canvas, [search], PAPER, look=Denoise().look)

    def job() -> Generator[Ask, None, Answer]:
        measured = yield from measuring.run()
        final = yield from decode(Denoise(), measured.canvas, 0, measured.first)
        visited = tuple(p.length for p in measured.landscapes[0].probes)
        return Answer(visited, final.holes[0])

    *_, last = (event for _, event in drive(model, [job()]))
    assert isinstance(last, Done)
    answer: Answer = last.result
    return answer


def timed(way: Callable[[], Answer], model: TransformerModel, repeats: int) -> Answer:
    """The answer with the least wall time of several runs, and the forwards the backbone really made."""
    best: Answer | None = None
    for _ in range(repeats):
        made: list[int] = []
        counting = model.backbone.register_forward_pre_hook(lambda *_, made=made: made.append(1))
        _wait(model.where)
        started = time.perf_counter()
        answer = way()
        _wait(model.where)
        answer.seconds = time.perf_counter() - started
        answer.forwards = len(made)
        counting.remove()
        if best is None or answer.seconds < best.seconds:
            best = answer
    assert best is not None
    return best


def _wait(where: torch.device) -> None:
    if where.type == "cuda":
        torch.cuda.synchronize()


def random_model(name: str, device: str, dtype: str) -> TransformerModel:
    """A model of a published shape with random weights and a vocabulary of numbers."""
    shape = SHAPES[name]
    device = pick_device(device)
    backbone = random_weights(shape, device, pick_dtype(dtype, device))
    words = Tokenizer(hf.Tokenizer(WordLevel({str(i): i for i in range(shape.vocab)}, unk_token="0")))
    card = Card(name, name, "llada", "random", bias="paper")
    config = Config({"mask_token_id": shape.vocab - 1, "eos_token_id": 0}, name)
    return TransformerModel(card, config, backbone, words, shift=False)


def canvas_of(model: TransformerModel, tokens: int, named: bool) -> Canvas:
    """A hole in so many tokens of context, two thirds of them in front of it."""
    if named:
        ids = model.encode(TEXT * (1 + tokens // 1000))[:tokens]
    else:
        rng = random.Random(tokens)
        ids = [rng.randrange(1, model.backbone.shape.vocab - 1) for _ in range(tokens)]
    cut = 2 * tokens // 3
    return Canvas((tuple(ids[:cut]), tuple(ids[cut:])), ((),))


def compare(model: TransformerModel, search: HillClimb, args: argparse.Namespace) -> list[dict[str, Any]]:
    """One row a context length."""
    rows = []
    print(f"{'context':>8} {'way':>6} {'probes':>7} {'forwards':>9} {'seconds':>9} {'ratio':>7}  answers")
    for tokens in args.context:
        canvas = canvas_of(model, tokens, args.shape is None)
        plainly = timed(lambda c=canvas: Plain(model, search).run(c), model, args.repeats)  # type: ignore[misc]
        mine = timed(lambda c=canvas: ours(model, search, c), model, args.repeats)  # type: ignore[misc]
        same = {"visited": plainly.visited == mine.visited, "ids": plainly.ids == mine.ids}
        ratio = plainly.seconds / mine.seconds
        said = "same" if all(same.values()) else f"differ: {[k for k, v in same.items() if not v]}"
        for way, one, note in (("plain", plainly, ""), ("ours", mine, f"{ratio:7.2f}  {said}")):
            print(f"{tokens:8d} {way:>6} {len(one.visited):7d} {one.forwards:9d} {one.seconds:9.3f} {note}")
        rows.append({"context": tokens, "plain": vars(plainly), "ours": vars(mine), "ratio": ratio, "same": same})
    return rows


def about(model: TransformerModel) -> dict[str, Any]:
    """Where and with what this ran."""
    here: dict[str, Any] = {
        "model": model.card.name,
        "revision": model.card.revision,
        "device": model.device,
        "torch": torch.__version__,
        "threads": torch.get_num_threads(),
        "machine": machine(model.device),
        "commit": commit(),
        "command": invocation(),
    }
    return here | memory_peak(model.device)


def main() -> None:
    """Measure and print; keep the rows as JSON if asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="calipers-135m", help="what to load (default calipers-135m)")
    parser.add_argument("--shape", choices=SHAPES, help="random weights of this shape instead of --model")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--dtype", default="auto")
    parser.add_argument("--context", type=int, nargs="+", default=[64, 250, 900], help="tokens around the hole")
    parser.add_argument("--init", type=int, default=8)
    parser.add_argument("--repeats", type=int, default=3, help="runs of each, the fastest counts (default 3)")
    parser.add_argument("--json", type=Path, help="write the rows and the machine here")
    args = parser.parse_args()
    if args.shape:
        model = random_model(args.shape, args.device, args.dtype)
    else:
        model = calipers.load(args.model, device=args.device, dtype=args.dtype)
    search = HillClimb(args.init)
    ours(model, search, canvas_of(model, 32, args.shape is None))  # warm up
    rows = compare(model, search, args)
    made = about(model)
    print("\n".join(f"{key}: {value}" for key, value in made.items()))
    if args.json:
        args.json.write_text(json.dumps({"about": made, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
