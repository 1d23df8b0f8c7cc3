"""A method is how a task is answered: a search with its bias, and a decoder. It is named by a short text.

    fixed:8      eight tokens                  cal:8        Algorithm 1 from 8, calibrated (the paper's)
    oracle       the true answer's length      daedal:8     eight masks, grown while they are denoised
    exhaustive   the best of all lengths       regression   entropy against a line in log L, best of all lengths
    powers       the same, best of 1, 2, 4 …   lr-dllm      that, and LR-DLLM's second stage as the decoder

and options behind commas: `cal:8,bias=none,patience=2`, `cal:8,temperature=0.8,samples=10`. What is
not said is the task set's protocol (patience, max_length), and the model card's (bias, rank, top_p).
A bias may be given as a file; a method is then called by the name that the bias bears.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from calipers.bias import NONE, PAPER, Bias, find_bias, names
from calipers.check import at_least_one
from calipers.decode import Daedal, Decoder, Denoise, LrDllm
from calipers.errors import ArgumentError, BiasError
from calipers.models.card import Card
from calipers.search import Exhaustive, Fixed, HillClimb, Regression, Search

# Which kinds start somewhere, and what each takes beside the decoder's options.
_STARTS = {
    **dict.fromkeys(("fixed", "cal", "daedal"), True),
    **dict.fromkeys(("oracle", "exhaustive", "regression", "powers", "lr-dllm"), False),
}
_SEARCH: Mapping[str, Mapping[str, type]] = {
    "cal": {"bias": str, "patience": int, "step": int, "max_length": int},
    "exhaustive": {"bias": str, "step": int, "max_length": int},
    **{kind: {"max_length": int} for kind in ("regression", "powers", "lr-dllm", "daedal")},
    "fixed": {},
    "oracle": {},
}
_DENOISE: Mapping[str, type] = {
    "steps": int,
    "tokens_per_step": int,
    "block": int,
    "threshold": float,
    "rank": str,
    "temperature": float,
    "top_p": float,
    "top_k": int,
}
_DAEDAL: Mapping[str, type] = {"low": float, "high": float, "factor": int, "block": int}
_LRDLLM: Mapping[str, type] = {"temperature": float, "top_p": float}
_DRAWN: Mapping[str, type] = {"samples": int, "seed": int}
# What is not said, where neither the protocol nor the card has a say.
_USUAL: Mapping[str, Any] = {"step": 1, "tokens_per_step": 1, "samples": 1, "seed": 0, "bias": PAPER.name}


@dataclass(frozen=True, slots=True)
class Protocol:
    """What a task set says of every method: how far to search and how patiently."""

    max_length: int = 64
    patience: int = 4


@dataclass(frozen=True, slots=True)
class Method:
    """One way of answering, everything resolved.

    name      the canonical text; also the name of its folder
    start     the length a search begins at, or the one that is taken; None: there is none
    samples   answers drawn for each task, with the seeds `seed`, `seed + 1`, …
    """

    name: str
    kind: str
    start: int | None
    bias: Bias
    decoder: Decoder
    max_length: int
    patience: int
    step: int = 1
    samples: int = 1
    seed: int = 0

    @classmethod
    def parse(cls, text: str, card: Card, protocol: Protocol, bias: str | None = None) -> Method:
        """From its name; `bias` is the run's, where the name has none."""
        kind, begin, given = _read(text)
        try:
            return cls._made(kind, begin, given, card, protocol, bias)
        except (ArgumentError, BiasError) as wrong:
            raise type(wrong)(f"method={text!r}: {wrong}") from None

    @classmethod
    def _made(
        cls,
        kind: str,
        begin: int | None,
        given: Mapping[str, Any],
        card: Card,
        protocol: Protocol,
        bias: str | None,
    ) -> Method:
        longest = protocol.max_length
        if kind == "daedal" and begin is not None:
            at_least_one(start=begin)
            longest = max(longest, begin)
        # Only what is not usual is named, so that two ways of saying the same are one method.
        usual = _decoder(kind, longest, card)
        defaults = {**asdict(usual), **_USUAL, "max_length": longest, "patience": protocol.patience}
        judged = _bias(given.get("bias") or bias or card.bias) if "bias" in _SEARCH[kind] else NONE
        named = {**given, "bias": _plain(judged.name)} if "bias" in _SEARCH[kind] else given
        unusual = (f"{key}={value}" for key, value in sorted(named.items()) if defaults[key] != value)
        name = ",".join([kind if begin is None else f"{kind}:{begin}", *unusual])

        searched = {key: given.get(key, defaults[key]) for key in ("max_length", "patience", "step")}
        if kind in ("fixed", "daedal") and begin is not None and begin > searched["max_length"]:
            if "max_length" in given:
                raise ArgumentError(
                    f"start={begin} is above max_length={given['max_length']}; lower the start or raise max_length."
                )
            searched["max_length"] = begin
        drawn = {key: given[key] for key in _DRAWN if key in given}
        own = {key: value for key, value in given.items() if key in asdict(usual) and key != "max_length"}
        if own.get("tokens_per_step") == 1 and "steps" not in own:
            del own["tokens_per_step"]  # as when nothing is said
        decoder = replace(_decoder(kind, searched["max_length"], card), **own)
        _check_drawn(decoder, **drawn)
        method = cls(name, kind, begin, judged, decoder, **searched, **drawn)
        method.search(1)  # what cannot be searched is refused now
        return method

    @property
    def folder(self) -> str:
        """The name as a folder's."""
        return self.name.replace(":", "-")

    def search(self, oracle_length: int) -> Search:
        """The search of one task, whose true answer has so many tokens."""
        start = self.start or 0
        makers: dict[str, Callable[[], Search]] = {
            "oracle": lambda: Fixed(oracle_length, "oracle"),
            "fixed": lambda: Fixed(start),
            "daedal": lambda: Fixed(start),
            "cal": lambda: HillClimb(start, self.patience, self.step, self.max_length),
            "exhaustive": lambda: Exhaustive(self.max_length, self.step),
            "regression": lambda: Regression(self.max_length),
            "powers": lambda: Regression(self.max_length, "powers"),
            "lr-dllm": lambda: Regression(self.max_length, "powers"),
        }
        return makers[self.kind]()

    def describe(self) -> dict[str, Any]:
        """Everything that decides its answers, for a manifest."""
        return {
            "name": self.name,
            "search": repr(self.search(1)) if self.kind != "oracle" else "oracle",
            "decoder": repr(self.decoder),
            "bias": {"name": self.bias.name, "coefficients": list(self.bias.coefficients), **_origin(self.bias)},
            "samples": self.samples,
            "seed": self.seed,
        }


def _decoder(kind: str, longest: int, card: Card) -> Daedal | LrDllm | Denoise:
    """The decoder a kind has, with its usual settings."""
    if kind == "daedal":
        return Daedal(max_length=longest)
    return LrDllm(max_length=longest) if kind == "lr-dllm" else Denoise(rank=card.rank, top_p=card.top_p)


def _origin(bias: Bias) -> dict[str, Any]:
    return {key: value for key, value in asdict(bias).items() if key in ("model", "revision", "data")}


def _bias(text: str) -> Bias:
    """A bias by name or file; one from a file must not go by the name of another that has one."""
    try:
        bias = find_bias(text)
    except BiasError:
        raise
    except (ValueError, OSError) as broken:  # a path that cannot be one
        raise BiasError(f"bias={text!r} is no name and no path ({broken}); give one.") from None
    if bias.name in names() and bias != find_bias(bias.name):
        raise BiasError(
            f"bias={text!r} calls itself {bias.name!r}, which is the name of another; change the name in the file."
        )
    return bias


def _plain(name: str) -> str:
    """A bias's name as a part of a method's and of a folder's."""
    return re.sub(r"[^\w.+-]+", "-", str(name))[:64] or "unnamed"


def _check_drawn(decoder: Decoder, samples: int = 1, seed: int = 0) -> None:
    """Refuse samples and seeds that cannot be, or of what is not drawn."""
    at_least_one(samples=samples)
    if not 0 <= seed < seed + samples <= 1 << 63:
        raise ArgumentError(f"seed={seed} must be 0 or more, and with samples={samples} below 2**63.")
    if decoder.look is not None and (samples, seed) != (1, 0):
        raise ArgumentError(
            f"samples={samples} and seed={seed} change nothing where nothing is drawn; "
            "give a temperature above 0 (or rank=random), or leave them out."
        )


def _read(text: str) -> tuple[str, int | None, dict[str, Any]]:
    """Kind, start and options of a method's name."""
    head, *rest = text.strip().split(",")
    kind, _, start = head.partition(":")
    if kind not in _STARTS:
        raise ArgumentError(f"method={text!r} is not known; give one of {', '.join(_STARTS)}.")
    if _STARTS[kind] != bool(start):
        example = f"{kind}:8" if _STARTS[kind] else kind
        raise ArgumentError(
            f"method={text!r} {'lacks its start' if _STARTS[kind] else 'takes no start'}; give {example!r}."
        )
    return kind, _value(text, "start", start, int) if start else None, _options(text, kind, rest)


def _options(text: str, kind: str, parts: list[str]) -> dict[str, Any]:
    decoding = {"daedal": _DAEDAL, "lr-dllm": {**_LRDLLM, **_DRAWN}}.get(kind, {**_DENOISE, **_DRAWN})
    known = {**_SEARCH[kind], **decoding}
    given: dict[str, Any] = {}
    for part in parts:
        key, equals, value = part.partition("=")
        key = key.strip().replace("-", "_")
        if key not in known or not equals or not value.strip():
            raise ArgumentError(f"method={text!r} has the option {part!r}; {kind} takes {', '.join(sorted(known))}.")
        if key in given:
            raise ArgumentError(f"method={text!r} says {key} twice; say it once.")
        given[key] = _value(text, key, value.strip(), known[key])
    return given


def _value(text: str, key: str, value: str, kind: type) -> Any:
    try:
        return kind(value) + kind()  # there is no -0.0
    except ValueError:
        raise ArgumentError(f"method={text!r}: {key}={value!r} is no {kind.__name__}; correct it.") from None
