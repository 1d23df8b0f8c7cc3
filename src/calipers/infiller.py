"""The only composition: template -> canvas -> search -> decode -> fill."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypedDict, Unpack

from calipers import __version__
from calipers.bias import Bias, find_bias
from calipers.canvas import Canvas
from calipers.check import at_least_one
from calipers.deadline import Deadline
from calipers.decode import Decoder, Denoise
from calipers.drive import Done, drive
from calipers.empty import Emptiness
from calipers.encode import encode
from calipers.errors import ArgumentError, CalipersWarning
from calipers.fill import Fill
from calipers.filling import Filling
from calipers.landscape import Landscape, Probe
from calipers.measure import Measuring
from calipers.models.base import MaskModel
from calipers.search import Fixed, HillClimb, Search
from calipers.template import Template

Searches: TypeAlias = Search | Sequence[Search]


@dataclass(frozen=True, slots=True)
class Step:
    """One moment of a fill under way.

    stage    search (lengths are being scored), decode, or done
    canvas   what the model is asked about (in a search: the first of the lengths being scored)
    probes   all lengths of the hole being measured that are scored so far
    fill     the answer, at the end
    """

    stage: Literal["search", "decode", "done"]
    canvas: Canvas
    probes: tuple[Probe, ...] = ()
    fill: Fill | None = None


class Infiller:
    """A model with a search, a bias and a decoder, ready to fill any number of templates.

    model       a loaded model, or the name of one (see `calipers.load`); None: the bundled one
    search      how a length is found: HillClimb(init, patience, step, max_length), Exhaustive, Regression, Fixed
    decoder     how masks become tokens: Denoise, Daedal, DreamOn, LrDllm; None: Denoise as the model's family does
    bias        name, file or Bias; None: the model card's (the paper's, if nothing was fitted for it);
                a search by entropy takes none
    empty       judge whether nothing belongs in a hole at all, and answer length 0 if so
    trim_echo   cut the end of a fill that repeats the beginning of the text after it
    passes      rounds over several holes at most, until no length changes
    context     tokens of context at most; None: all the model reads
    crop        crop the far ends of a longer text (and say so), or refuse it
    seed        of everything drawn; the same seed gives the same fill, alone or in a batch
    """

    def __init__(
        self,
        model: MaskModel | str | Path | None = None,
        *,
        search: Search | None = None,
        decoder: Decoder | None = None,
        bias: Bias | str | Path | None = None,
        empty: bool | Emptiness = False,
        trim_echo: bool = False,
        passes: int = 3,
        context: int | None = None,
        crop: bool = True,
        seed: int = 0,
    ) -> None:
        at_least_one(passes=passes, context=context)
        if not 0 <= seed < 1 << 63:
            raise ArgumentError(f"seed={seed} must be 0 or more and less than 2**63.")
        named = None if bias is None else find_bias(bias)  # before a model is loaded for nothing
        if model is None or isinstance(model, str | Path):
            from calipers.models.card import DEFAULT
            from calipers.models.load import load

            model = load(model or DEFAULT)
        card = model.card
        self.model = model
        self.search: Search = HillClimb() if search is None else search
        self.decoder: Decoder = Denoise(rank=card.rank, top_p=card.top_p) if decoder is None else decoder
        self.bias = named or find_bias(card.bias)
        self.empty = Emptiness() if empty is True else (empty or None)
        self.trim_echo = trim_echo
        self.passes = passes
        self.context = context
        self.crop = crop
        self.seed = seed
        self.foreign = self.bias.foreign(card.id, card.revision)
        if self.foreign:
            warnings.warn(self.foreign, CalipersWarning, stacklevel=2)

    def fill(self, template: Template, *, search: Searches | None = None) -> Fill:
        """Fill one template; `search` overrides the infiller's, for all holes or one each."""
        return self.fill_many([template], searches=None if search is None else [search])[0]

    def fill_many(
        self,
        templates: Iterable[Template],
        *,
        searches: Sequence[Searches] | None = None,
        at_once: int = 16,
    ) -> list[Fill]:
        """Fill templates side by side, sharing forwards; each answer is what it would be alone.

        A fill's timings count the time it was under way, the others' share of it included.
        """
        templates = list(templates)
        if searches is not None and len(searches) != len(templates):
            raise ArgumentError(f"{len(searches)} searches for {len(templates)} template(s); give one each.")
        # All of them are encoded before the first is filled: one that does not fit costs no work.
        begun = [self.begin(template, searches[n] if searches else None) for n, template in enumerate(templates)]
        jobs = [filling.run() for filling in begun]
        fills: dict[int, Fill] = {}
        for number, event in drive(self.model, jobs, at_once):
            if isinstance(event, Done):
                fills[number] = event.result
        return [fills[number] for number in sorted(fills)]

    def stream(self, template: Template, *, search: Searches | None = None) -> Iterator[Step]:
        """The same fill, one step at a time: what the model is asked next, and at last the answer."""
        filling = self.begin(template, search)
        for _, event in drive(self.model, [filling.run()]):
            if isinstance(event, Done):
                yield Step("done", filling.canvas, (), event.result)
            else:
                measuring = filling.measuring
                probes = measuring.probers[measuring.turn].probes if event.stage == "search" else ()
                yield Step(event.stage, event.queries[0].canvas, probes)

    def probe(self, template: Template, *, search: Searches | None = None) -> tuple[Landscape, ...]:
        """Only measure: the landscape of each hole, nothing decoded."""
        filling = self.begin(template, search)
        for _, event in drive(self.model, [filling.measuring.run()]):
            if isinstance(event, Done):
                return event.result.landscapes
        raise AssertionError("a measurement always ends")

    def made_with(self, searches: Sequence[Search] = ()) -> dict[str, Any]:
        """What a result must say of its making: model, revision, bias, methods, seed, version."""
        used = dict.fromkeys(map(repr, searches or [self.search]))
        return {
            "model": self.model.card.name,
            "revision": self.model.card.revision,
            "device": self.model.device,
            "bias": self.bias.name,
            "bias_coefficients": list(self.bias.coefficients),
            "search": "; ".join(used),
            "decoder": repr(self.decoder),
            "seed": self.seed,
            "empty": repr(self.empty),
            "trim_echo": self.trim_echo,
            "passes": self.passes,
            "context": min(self.context or self.model.context, self.model.context),
            "calipers": __version__,
        }

    def begin(
        self,
        template: Template,
        search: Searches | None = None,
        *,
        deadline: Deadline | None = None,
        watched: bool = False,
    ) -> Filling:
        """Encode, and refuse what cannot be filled before any work is done; the work is for a driver to do.

        deadline   when the best fill known is to be given
        watched    keep what a viewer shows of each step: every position's confidence
        """
        started = time.perf_counter()
        search = self.search if search is None else search
        each = list(search) if isinstance(search, Sequence) else [search] * template.holes
        if len(each) != template.holes:
            raise ArgumentError(f"{len(each)} searches for {template.holes} hole(s); give one, or one each.")
        longest = [max(self.decoder.max_length, one.max_length) for one in each]
        canvas = encode(template, self.model, longest, self.context, self.crop)
        measuring = Measuring(canvas, each, self.bias, self.passes, self.empty, self.decoder.look)
        return Filling(self, template, measuring, time.perf_counter() - started, deadline, watched)


class Options(TypedDict, total=False):
    """What `infill` passes on to `Infiller`."""

    decoder: Decoder
    bias: Bias | str | Path
    empty: bool | Emptiness
    trim_echo: bool
    context: int
    crop: bool
    seed: int


def infill(
    prefix: str,
    suffix: str = "",
    *,
    model: MaskModel | str | Path | None = None,
    length: int | None = None,
    init: int | None = None,
    patience: int = 4,
    step: int = 1,
    max_length: int = 64,
    **options: Unpack[Options],
) -> Fill:
    """Fill the hole between two strings, at a length nobody gave, with the bundled model if none is named.

    length    tokens the hole has, if you know; None: searched for
    init, patience, step, max_length   of Algorithm 1, in tokens; init is 8, or max_length if that is less
    options   what else `Infiller` takes: decoder, bias, empty, trim_echo, context, crop, seed

    A model given by name is loaded anew at each call; make an `Infiller` to fill many.
    """
    climb = HillClimb(min(8, max_length) if init is None else init, patience, step, max_length)
    search: Search = climb if length is None else Fixed(length)
    return Infiller(model, search=search, **options).fill(Template.around(prefix, suffix))
