"""The model that is trained, its optimiser and its running mean: one step, and its state whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from calipers.models.backbone import Backbone
from calipers.models.weights import random_weights
from training import checkpoint
from training.architecture import backbone_of, shape_of, weights_of
from training.base import base_weights
from training.feed import Feed
from training.optimiser import optimiser_of
from training.pieces import Weights, read_pieces
from training.rounding import Rounder
from training.settings import Run
from training.tally import Tally

_VARIANTS = 32


class Trainer:
    """What a leg changes.

    next_batch     number of the batch to come
    earlier        tokens the weights had seen before this leg
    step, tokens, seconds   of this leg
    """

    def __init__(self, run: Run, device: str, folder: Path) -> None:
        self.run, self.device = run, torch.device(device)
        self.step = self.tokens = self.earlier = 0
        self.seconds = 0.0
        self.next_batch = run.first_batch
        state = None
        if run.start.kind == "checkpoint":
            state = checkpoint.load(_inside(folder, run.start.path))
            _same_model(state["config"], run)
        self.backbone = self._open(folder)
        self.backbone.requires_grad_(True)
        self._losses = losses_of
        if self.device.type == "cuda":
            # The residual stream in bfloat16, as the package computes it there.
            self.backbone.embed.register_forward_hook(lambda _, __, out: out.to(torch.bfloat16))
            if run.compile:
                # Rows of one and of many, masked and not, with gradients and without: each is compiled once.
                torch._dynamo.config.recompile_limit = _VARIANTS
                self.backbone.compile_blocks()
                self._losses = torch.compile(losses_of, dynamic=True)
        self.optimiser = optimiser_of(self.backbone, run.optimiser, fused=self.device.type == "cuda")
        self.rounder = Rounder(self.backbone, run.rounding)
        self.mean: dict[str, Tensor] | None = None
        if state is not None:
            self._take(state)
            self.earlier, self.step, self.tokens, self.seconds = self.earlier + self.tokens, 0, 0, 0.0
        if run.average.decay and self.mean is None:
            self.mean = {name: p.detach().clone() for name, p in self.backbone.named_parameters()}

    def learn(self, feeds: Sequence[Feed], rate: float, rounded: bool, tally: Tally) -> Tensor:
        """One step over a batch; returns the gradient's norm, not waited for."""
        total = float(sum(feed.weights.sum() for feed in feeds))
        self.backbone.train()
        with self.rounder.rounded() if rounded else nullcontext():
            for feed in feeds:
                here = feed.to(self.device)
                losses = self.losses(here)
                (losses * here.weights).sum().div(total).backward()  # type: ignore[no-untyped-call]
                tally.add(losses, here)
        norm = nn.utils.clip_grad_norm_(self.backbone.parameters(), self.run.optimiser.clip)
        self.optimiser.step(rate)
        self.step += 1
        if self.mean is not None and self.step % self.run.average.every == 0:
            self._average(self.mean)
        return norm

    def losses(self, feed: Feed) -> Tensor:
        """Nats of every target of a feed on the device."""
        with self._autocast():
            logits = self.backbone(feed.ids, feed.keep, feed.asked)
            return self._losses(logits, feed.targets)

    def state(self) -> dict[str, Any]:
        """All that the next step depends on, the texts aside."""
        return {
            "run": self.run.name,
            "config": dict(self.run.config),
            "weights": {name: p.detach() for name, p in self.backbone.named_parameters()},
            "optimiser": self.optimiser.state_dict(),
            "mean": self.mean,
            "rounder": self.rounder.state(),
            "counters": {
                "step": self.step, "tokens": self.tokens, "seconds": self.seconds,
                "earlier": self.earlier, "next_batch": self.next_batch,
            },
        }  # fmt: skip

    def resume(self, state: dict[str, Any]) -> None:
        """Go on with this run where a state of it was."""
        if state["run"] != self.run.name:
            raise ValueError(f"the checkpoint is of run {state['run']!r}, not {self.run.name!r}; name another --out.")
        _same_model(state["config"], self.run)
        self._take(state)

    def weights(self, mean: bool = False) -> Weights:
        """The weights (or their running mean) to be written, with what is known of them."""
        kept = self.mean if mean else None
        about = {
            "run": self.run.name, "mean": mean, "step": self.step, "tokens": self.earlier + self.tokens,
            "next_batch": self.next_batch, "seed": self.run.seed,
        }  # fmt: skip
        if kept is None:
            return Weights(weights_of(self.backbone, self.run.config), self.run.config, about)
        with _swapped(self.backbone, kept):
            return Weights(weights_of(self.backbone, self.run.config), self.run.config, about)

    def with_mean(self) -> AbstractContextManager[None]:
        """Within, the weights are their running mean."""
        return _swapped(self.backbone, self.mean) if self.mean is not None else nullcontext()

    def _open(self, folder: Path) -> Backbone:
        """The weights the run starts from, in float32 on the device."""
        run = self.run
        if run.start.kind == "base":
            return backbone_of(base_weights(_inside(folder, run.start.path)), run.config, str(self.device))
        if run.start.kind == "pieces":
            found = read_pieces(_inside(folder, run.start.path))
            _same_model(found.config, run)
            self.next_batch = max(self.next_batch, int(found.about.get("next_batch", 0)))
            self.earlier = int(found.about.get("tokens", 0))
            return backbone_of(found.tensors.items(), run.config, str(self.device))
        # A checkpoint's weights come with the rest of it, over these.
        return random_weights(shape_of(run.config), str(self.device), torch.float32, run.seed)

    def _take(self, state: dict[str, Any]) -> None:
        with torch.no_grad():
            for name, p in self.backbone.named_parameters():
                p.copy_(state["weights"][name])
        self.optimiser.load_state_dict(state["optimiser"])
        if state["mean"] is not None and self.run.average.decay:
            self.mean = {name: x.to(self.device) for name, x in state["mean"].items()}
        self.rounder.load(state["rounder"])
        counters = state["counters"]
        self.step, self.tokens, self.seconds = counters["step"], counters["tokens"], counters["seconds"]
        self.earlier, self.next_batch = counters["earlier"], max(self.next_batch, counters["next_batch"])

    @torch.no_grad()
    def _average(self, mean: dict[str, Tensor]) -> None:
        # The first means would be of the start; so the decay grows with the steps until it is what was asked.
        seen = self.step // self.run.average.every
        decay = min(self.run.average.decay, seen / (seen + 9))
        names, parameters = zip(*self.backbone.named_parameters(), strict=True)
        torch._foreach_lerp_([mean[name] for name in names], [p.detach() for p in parameters], 1 - decay)

    def _autocast(self) -> AbstractContextManager[None]:
        return torch.autocast("cuda", torch.bfloat16) if self.device.type == "cuda" else nullcontext()


def losses_of(logits: Tensor, targets: Tensor) -> Tensor:
    """Cross-entropy of each row in float32."""
    return F.cross_entropy(logits.float(), targets, reduction="none")


class _swapped(AbstractContextManager[None]):
    def __init__(self, model: nn.Module, other: Mapping[str, Tensor]) -> None:
        self._model, self._other = model, other

    @torch.no_grad()
    def __enter__(self) -> None:
        self._kept = {name: p.detach().clone() for name, p in self._model.named_parameters()}
        for name, p in self._model.named_parameters():
            p.copy_(self._other[name])

    @torch.no_grad()
    def __exit__(self, *_: object) -> None:
        for name, p in self._model.named_parameters():
            p.copy_(self._kept[name])


def _inside(folder: Path, path: str) -> Path:
    found = folder / path
    if not path or not found.exists():
        raise FileNotFoundError(f"start.path = {path!r}: nothing is called so in {folder}.")
    return found


def _same_model(config: Mapping[str, Any], run: Run) -> None:
    if other := [key for key, value in run.config.items() if config.get(key) != value]:
        raise ValueError(
            f"run {run.name} starts from weights of another model ({other[0]} = {config.get(other[0])!r}); "
            "correct [model] or start.path."
        )
