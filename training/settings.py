"""One run of training as a table of settings: `runs/NAME.toml` read into frozen dataclasses.

A misspelt or unknown key is an error; what is left out keeps its default below. `extends = "OTHER.toml"` takes
another run's settings and changes some, so that a comparison's file shows the one thing it changes.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from types import UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from training.architecture import CONFIG
from training.examples.batch import Recipe, Source
from training.examples.row import Cut
from training.examples.shelf import shelve
from training.examples.spans import Mix

T = TypeVar("T")
# About what the prototype drew, by kind.
CODE = {"line": 0.32, "block": 0.18, "tail": 0.08, "chars": 0.12, "random": 0.30}
PROSE = {"words": 0.53, "line": 0.02, "block": 0.02, "chars": 0.13, "random": 0.30}


@dataclass(frozen=True, slots=True)
class Start:
    """Where weights come from: base (a GGUF), pieces (8 bits, brought home), checkpoint (all of it), random."""

    kind: Literal["base", "pieces", "checkpoint", "random"] = "base"
    path: str = ""


@dataclass(frozen=True, slots=True)
class Shards:
    """A source of text: .jsonl.xz files below the data folder, by a pattern.

    functions   the self-contained functions in those modules, instead of the modules
    """

    name: str
    files: str
    weight: float
    prose: bool = False
    functions: bool = False


@dataclass(frozen=True, slots=True)
class Rows:
    """Batches: tokens a step, the rows' greatest lengths and how often each, padded tokens of one forward.

    step    rows of 128 tokens and more are cut to multiples of this: no padding, and so no mask, which the faster
            attention kernels do not take; 1: rows are as long as they are
    """

    tokens: int = 131_072
    lengths: tuple[int, ...] = (256, 512)
    shares: tuple[float, ...] = (0.5, 0.5)
    bucket: int = 65_536
    step: int = 1
    attend_padding: bool = False


@dataclass(frozen=True, slots=True)
class Schedule:
    """A leg's budget (the first of these that is spent ends it) and its learning rate.

    lr rises over `warmup` steps, is flat until the share `flat` of the budget, then falls in a line to
    `final` of itself at the end. A leg that another one continues has flat = 1.
    """

    lr: float = 1e-3
    warmup: int = 100
    flat: float = 0.5
    final: float = 0.0
    minutes: float = 0.0
    tokens: float = 0.0
    steps: int = 0

    def __post_init__(self) -> None:
        if not (self.minutes or self.tokens or self.steps):
            raise ValueError("a schedule needs a budget: minutes, tokens or steps.")


@dataclass(frozen=True, slots=True)
class Optimiser:
    """AdamW, or Muon for the blocks' matrices and AdamW for the rest; only the blocks' matrices decay."""

    kind: Literal["adamw", "muon"] = "adamw"
    betas: tuple[float, ...] = (0.9, 0.95)
    decay: float = 0.1
    clip: float = 1.0
    eps: float = 1e-8


@dataclass(frozen=True, slots=True)
class Loss:
    """How masked tokens count: all alike, or those of a row by 1 / its masked share (or that's root), to `most`."""

    weighting: Literal["token", "share", "root"] = "token"
    most: float = 20.0


@dataclass(frozen=True, slots=True)
class Average:
    """A running mean of the weights: w ← decay·w + (1 - decay)·new, every `every` steps; 0: none."""

    decay: float = 0.0
    every: int = 10


@dataclass(frozen=True, slots=True)
class Rounding:
    """Forwards with weights rounded as the packed file will have them, from this share of the budget on.

    linear, embedding, value   bits; `every`: steps between searches for the groups' scales
    """

    begin: float = 1.0
    linear: int = 5
    value: int = 6
    embedding: int = 7
    every: int = 50


@dataclass(frozen=True, slots=True)
class Keep:
    """What is written while a leg runs: a checkpoint every so many minutes, a line every so many steps,
    and the loss on held-out text every so many steps (0: at the end only), on so many batches."""

    minutes: float = 3.0
    log: int = 20
    held_every: int = 500
    held_batches: int = 2


@dataclass(frozen=True, slots=True)
class Run:
    """Everything a leg depends on beside the texts themselves."""

    name: str
    tokenizer: str
    source: tuple[Shards, ...]
    schedule: Schedule
    seed: int = 0
    first_batch: int = 0
    workers: int = 12
    compile: bool = True
    start: Start = Start()
    model: dict[str, Any] = field(default_factory=dict)
    rows: Rows = Rows()
    code: Mix = field(default_factory=lambda: Mix(dict(CODE)))
    prose: Mix = field(default_factory=lambda: Mix(dict(PROSE)))
    cut: Cut = field(default_factory=Cut)
    optimiser: Optimiser = Optimiser()
    loss: Loss = Loss()
    average: Average = Average()
    rounding: Rounding = Rounding()
    keep: Keep = Keep()

    @property
    def config(self) -> dict[str, Any]:
        """The model's config: the bundled one's, but for what [model] says."""
        if unknown := set(self.model) - set(CONFIG):
            raise ValueError(f"[model] has unknown keys {sorted(unknown)}; known: {sorted(CONFIG)}.")
        return {**CONFIG, **self.model}

    def recipe(self, data: Path, cache: Path) -> Recipe:
        """What the examples depend on; texts are laid out on shelves in `cache` unless they are there."""
        sources = []
        for shards in self.source:
            found = sorted(data.glob(shards.files))
            if not found:
                raise FileNotFoundError(f"source {shards.name}: no file is called {shards.files} in {data}.")
            shelves = tuple(str(shelve(file, cache, shards.functions, self.workers)) for file in found)
            sources.append(Source(shards.name, shelves, shards.weight, shards.prose))
        rows = self.rows
        tokenizer = str(data / self.tokenizer)
        return Recipe(
            tuple(sources), tokenizer, self.code, self.prose, self.cut, rows.lengths, rows.shares, rows.tokens,
            step=rows.step, begin=int(self.config["bos_token_id"]), seed=self.seed,
        )  # fmt: skip


def read_run(path: Path) -> Run:
    """A run's settings from its file, and from the one it `extends`: tables are merged, all else replaced."""
    return build(Run, {**_read(path), "name": path.stem}, path.name)


def _read(path: Path) -> dict[str, Any]:
    with path.open("rb") as file:
        values = tomllib.load(file)
    below = values.pop("extends", None)
    return _merged(_read(path.parent / below), values) if below else values


def _merged(below: dict[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    out = dict(below)
    for key, value in above.items():
        # Weights of span kinds are a whole: half of one mix and half of another is neither.
        both = isinstance(value, dict) and isinstance(out.get(key), dict) and key != "weights"
        out[key] = _merged(out[key], value) if both else value
    return out


def build(kind: type[T], values: Mapping[str, Any], where: str) -> T:
    """A dataclass from a table, its own dataclasses from the tables within."""
    hints = get_type_hints(kind)
    known = {f.name for f in fields(kind)}  # type: ignore[arg-type]  # only dataclasses are asked for
    if unknown := set(values) - known:
        raise ValueError(f"{where}: unknown {sorted(unknown)}; known: {', '.join(sorted(known))}.")
    try:
        return kind(**{name: _value(hints[name], value, f"{where}: {name}") for name, value in values.items()})
    except TypeError as broken:
        raise ValueError(f"{where}: {broken}") from None


def _value(hint: Any, value: Any, where: str) -> Any:
    origin, args = get_origin(hint), get_args(hint)
    if is_dataclass(hint) and isinstance(hint, type):
        return build(hint, value, where)
    if origin is tuple:
        return tuple(_value(args[0], one, where) for one in value)
    if origin is Literal and value not in args:
        raise ValueError(f"{where} = {value!r} is not known; give one of {', '.join(map(str, args))}.")
    if origin in (dict, Literal, Union, UnionType) or hint is Any:
        return value
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if isinstance(hint, type) and (not isinstance(value, hint) or (hint is int and isinstance(value, bool))):
        raise ValueError(f"{where} = {value!r} is no {hint.__name__}.")
    return value
