"""The options several commands share, and what they build."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from calipers.decode.denoise import RANKS
from calipers.errors import CalipersWarning, TemplateError
from calipers.search import Exhaustive, Fixed, HillClimb, Regression, Search
from calipers.target import Target, read_text
from calipers.template import MARKER, Template

if TYPE_CHECKING:
    from calipers.decode import Decoder
    from calipers.infiller import Infiller
    from calipers.models.base import MaskModel

F = TypeVar("F", bound=Callable[..., Any])
Values = dict[str, Any]
_DRAWING = {"rank", "temperature", "top_p", "top_k"}
# The options each decoder has; given to another they are an error.
_TAKES = {
    "denoise": _DRAWING | {"steps", "tokens_per_step", "block", "threshold"},
    "daedal": {"low", "high", "block"},
    "dreamon": _DRAWING,
}


def _stack(*decorators: Callable[[F], F]) -> Callable[[F], F]:
    def wrap(function: F) -> F:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return wrap


def text_options(function: F) -> F:
    """Where the text and its holes are."""
    return _stack(
        click.argument("target", required=False),
        click.option("--prefix", help="Text before the hole (instead of TARGET). Default: empty if --suffix is given."),
        click.option("--suffix", help="Text after the hole (instead of TARGET). Default: empty if --prefix is given."),
        click.option("--marker", default=MARKER, show_default=True, help="The string that marks a hole in TARGET."),
    )(function)


def model_options(function: F) -> F:
    """Which model, and where it computes."""
    return _stack(
        click.option(
            "--model",
            default="calipers-135m",
            show_default=True,
            help="Card name, hub id, local folder or packed file.",
        ),
        click.option("--card", help="Card whose facts hold for a local folder or a copy. Default: found by name."),
        click.option("--revision", help="Hub revision. Default: the card's, else main."),
        click.option("--device", default="auto", show_default=True, help="auto, cuda, mps or cpu."),
        click.option(
            "--dtype",
            default="auto",
            show_default=True,
            help="auto (bfloat16 where the device computes in it, else float32), bfloat16 or float32.",
        ),
        click.option(
            "--guidance",
            type=float,
            default=0.0,
            show_default=True,
            help="Classifier-free guidance scale; 0 is none. Doubles the work.",
        ),
    )(function)


def reading_options(function: F) -> F:
    """By which bias lengths are judged, and how much text is read."""
    return _stack(
        click.option(
            "--bias",
            help="Length bias: paper, none, calipers-135m, or a file from `calipers fit`. Default: the model card's.",
        ),
        click.option(
            "--context", type=int, help="Tokens of text and holes to use at most. Default: all the model reads."
        ),
        click.option(
            "--refuse-long",
            is_flag=True,
            help="Refuse a text longer than the context. Default: crop its far ends and say so.",
        ),
    )(function)


def search_options(search: str, max_length: int) -> Callable[[F], F]:
    """How a length is found; the defaults differ between commands."""
    return _stack(
        click.option(
            "--search",
            type=click.Choice(["climb", "exhaustive", "regression"]),
            default=search,
            show_default=True,
            help="climb is the paper's Algorithm 1; exhaustive scores every length; regression too, by entropy "
            "against a line fitted to each text (LR-DLLM's first stage), without a bias.",
        ),
        click.option(
            "--init", type=int, help="Length the climb starts at, in tokens. Default: 8, or --max-length if less."
        ),
        click.option(
            "--patience",
            type=int,
            help="Lengths in a row without a new best that end a direction of the climb. Default: 4.",
        ),
        click.option(
            "--step", type=int, default=1, show_default=True, help="Distance between lengths tried, in tokens."
        ),
        click.option("--max-length", type=int, default=max_length, show_default=True, help="Longest hole, in tokens."),
    )


def decode_options(function: F) -> F:
    """How masks become tokens."""
    return _stack(
        click.option(
            "--decoder",
            type=click.Choice(["denoise", "daedal", "dreamon"]),
            default="denoise",
            show_default=True,
            help="denoise keeps the length found; daedal grows it; dreamon is for that checkpoint.",
        ),
        click.option("--rank", type=click.Choice(RANKS), help="Which positions go first. Default: the model card's."),
        click.option("--temperature", type=float, help="0 takes the most probable token; above 0 draws. Default: 0."),
        click.option(
            "--top-p", type=float, help="Draw from the nucleus of this mass, 0 to 1. Default: the model card's, else 1."
        ),
        click.option("--top-k", type=int, help="Draw from the k most probable tokens; 0 is all. Default: 0."),
        click.option("--steps", type=int, help="Denoising steps in all. Default: one a token."),
        click.option("--tokens-per-step", type=int, help="Tokens committed a step (instead of --steps). Default: 1."),
        click.option(
            "--block", type=int, help="Fill left to right in blocks of so many tokens. Default: one block (daedal: 32)."
        ),
        click.option(
            "--threshold", type=float, help="Also commit every token at least this probable, 0 to 1. Default: off."
        ),
        click.option("--low", type=float, help="daedal: below this confidence a mask is expanded. Default: 0.4."),
        click.option("--high", type=float, help="daedal: above this confidence a token is committed. Default: 0.9."),
        click.option("--seed", type=int, default=0, show_default=True, help="Seed of everything drawn, 0 or more."),
    )(function)


@dataclass(frozen=True, slots=True)
class Source:
    """A template and where it came from: a file, standard input, or the command line."""

    template: Template
    original: str
    path: Path | None


def read_source(values: Values) -> Source:
    """The template that the text options name."""
    target, marker = values["target"], values["marker"]
    given = values["prefix"] is not None or values["suffix"] is not None
    if given and target is not None:
        raise click.UsageError("TARGET and --prefix/--suffix both say what to fill; give one of them.")
    if given:
        prefix, suffix = values["prefix"] or "", values["suffix"] or ""
        return Source(Template.around(prefix, suffix), prefix + suffix, None)
    if target is None and sys.stdin.isatty():
        raise click.UsageError("Nothing to fill: give TARGET, --prefix/--suffix, or a text on standard input.")
    if target in (None, "-"):
        data = sys.stdin.buffer.read()
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError as bad:
            raise TemplateError(f"Standard input is not UTF-8 (byte {bad.start}); convert it first.") from None
        return Source(Template.parse(text, marker), text, None)
    place = Target.parse(target)
    text = read_text(place.path)
    return Source(place.template(text, marker), text, place.path)


def filling_options(function: F) -> F:
    """All that says how a hole is filled: what `fill` and `serve` share."""
    return _stack(
        search_options("climb", 64),
        click.option(
            "--empty",
            is_flag=True,
            help="Allow the answer that nothing belongs in a hole. Default: at least one token.",
        ),
        click.option(
            "--trim-echo",
            is_flag=True,
            help="Cut the end of a fill that repeats the beginning of the text after it. Default: off.",
        ),
        decode_options,
        reading_options,
        model_options,
    )(function)


def build_search(values: Values, holes: int = 1) -> list[Search]:
    """One search a hole."""
    lengths = values.get("length") or ()
    if len(lengths) == 1:
        lengths = lengths * holes
    if lengths:
        if len(lengths) != holes:
            raise click.UsageError(
                f"--length is given {len(lengths)} times for {holes} hole(s); give it once, or once each."
            )
        return [Fixed(length) for length in lengths]
    longest = values["max_length"]
    init = min(8, longest) if values["init"] is None else values["init"]
    if values["search"] == "climb":
        patience = 4 if values["patience"] is None else values["patience"]
        return [HillClimb(init, patience, values["step"], longest)] * holes
    if values["init"] is not None or values["patience"] is not None:
        raise click.UsageError(
            f"--init and --patience belong to --search climb; {values['search']} scores every length."
        )
    if values["search"] == "exhaustive":
        return [Exhaustive(longest, values["step"])] * holes
    if values["step"] != 1:
        raise click.UsageError("--step belongs to --search climb and exhaustive; regression scores every length.")
    return [Regression(longest)] * holes


def build_model(values: Values) -> MaskModel:
    """Load the model that the options name."""
    from calipers.models.load import load

    model: MaskModel = load(
        values["model"],
        revision=values["revision"],
        card=values["card"],
        device=values["device"],
        dtype=values["dtype"],
        compile=values.get("compile", False),
    )
    if values["guidance"]:
        from calipers.models.guidance import Guided

        model = Guided(model, values["guidance"])
    if not model.card.file:
        click.echo(f"{model.card.name}: licence of the weights: {model.card.licence}", err=True)
    return model


def check_decoder(values: Values) -> Callable[[MaskModel], Decoder]:
    """Check the decoding options before a model is loaded; finish with what its card says."""
    from calipers.decode import Daedal, Denoise, DreamOn

    kind = values["decoder"]
    given = {name: values[name] for names in _TAKES.values() for name in names if values[name] is not None}
    if wrong := sorted(set(given) - _TAKES[kind]):
        names = ", ".join("--" + name.replace("_", "-") for name in wrong)
        raise click.UsageError(f"--decoder {kind} does not take {names}; leave out or use another decoder.")
    if kind == "daedal":
        daedal = Daedal(max_length=values["max_length"], **given)
        return lambda _: daedal
    drawing = Denoise(**given)

    def finish(model: MaskModel) -> Decoder:
        full = replace(
            drawing,
            rank=given.get("rank", model.card.rank),
            top_p=given.get("top_p", model.card.top_p),
        )
        if kind == "dreamon":
            return DreamOn.of(model.card, max_length=values["max_length"], drawing=full)
        return full

    return finish


def build_infiller(values: Values, search: Search) -> Infiller:
    """Everything together; what can be refused is refused before the model is loaded."""
    from calipers.bias import find_bias
    from calipers.infiller import Infiller

    finish = check_decoder(values) if "decoder" in values else None
    bias = None if values["bias"] is None else find_bias(values["bias"])
    model = build_model(values)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CalipersWarning)  # they come again as notes
        return Infiller(
            model,
            search=search,
            decoder=finish(model) if finish else None,
            bias=bias,
            empty=values.get("empty", False),
            trim_echo=values.get("trim_echo", False),
            context=values["context"],
            crop=not values["refuse_long"],
            seed=values.get("seed", 0),
        )
