"""`POST /v1/fill`: our own, for any number of holes, with all that was measured.

The answer is a Fill (see calipers/fill.py), its `alternatives`, and whether time was up (`late`)
or it was remembered (`cached`). As a stream, server-sent events tell of it as it comes:

    probe    {hole, length, confidence, bias, calibrated, entropy}     a length was scored
    canvas   {lengths, texts, tokens, confidence}                      a step of denoising, at last without masks;
                                                                       see watcher.py
    done     the answer
    error    {error: {code, message, type}}
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, ConfigDict, Field

from calipers.decode import Decoder, Denoise
from calipers.filling import Filling
from calipers.search import Exhaustive, Fixed, HillClimb, Search
from calipers.serve.refusal import invalid
from calipers.serve.service import Answer, Order, Service, Watching, bounded, drawing, enough
from calipers.serve.watcher import Watcher
from calipers.serve.wire import (
    ERRORS,
    MOST_MILLISECONDS,
    MOST_SEED,
    MOST_TEMPERATURE,
    STREAM,
    Events,
    Strict,
    Text,
    service_of,
    sse,
    unless_gone,
)
from calipers.template import MARKER, Template

router = APIRouter()
_MOST_HOLES = 16
_MOST_ALTERNATIVES = 15
_MOST_LENGTH = 1 << 20
Length = Annotated[int, Field(ge=0, le=_MOST_LENGTH)]


class FillRequest(Strict):
    """A text with holes, and how to fill them; what is left out is as the server was started."""

    text: Text | None = Field(None, description="the text, a marker at each hole; this or texts")
    marker: Text = Field(MARKER, min_length=1, description="what marks a hole in text")
    texts: list[Text] | None = Field(None, min_length=2, description="the texts around the holes, in order")
    lengths: list[Length | None] | None = Field(None, description="tokens of each hole; null: measured")
    search: Literal["climb", "exhaustive"] | None = Field(None, description="how lengths are found")
    init: int | None = Field(None, ge=1, le=_MOST_LENGTH, description="length a climb starts at")
    patience: int | None = Field(None, ge=1, le=_MOST_LENGTH, description="lengths without a new best that end it")
    step: int | None = Field(None, ge=1, le=_MOST_LENGTH, description="distance between lengths tried")
    max_length: int | None = Field(None, ge=1, le=_MOST_LENGTH, description="longest hole; never above the server's")
    temperature: float | None = Field(None, ge=0, le=MOST_TEMPERATURE, description="0: the most probable token")
    top_p: float | None = Field(None, gt=0, le=1, description="draw from this mass; no effect at temperature 0")
    top_k: int | None = Field(None, ge=0, le=_MOST_LENGTH, description="draw from so many; no effect at temperature 0")
    tokens_per_step: int | None = Field(None, ge=1, le=_MOST_LENGTH, description="tokens committed a step")
    seed: int = Field(0, ge=0, le=MOST_SEED, description="of what is drawn")
    alternatives: int = Field(0, ge=0, le=_MOST_ALTERNATIVES, description="other fills wanted")
    empty: bool | None = Field(None, description="allow that nothing belongs in a hole")
    trim_echo: bool | None = Field(None, description="cut what repeats the text after a hole")
    within_ms: int | None = Field(None, ge=1, le=MOST_MILLISECONDS, description="time; then the best known is given")
    stream: bool = Field(False, description="tell of it as it comes, by server-sent events")


class FillAnswer(BaseModel):
    """A Fill; its every key is described in calipers/fill.py."""

    model_config = ConfigDict(extra="allow")
    template: list[str]
    texts: list[str]
    lengths: list[int]
    whole: str
    landscapes: list[dict[str, Any]]
    probes: int
    forwards: int
    timings: dict[str, float]
    made_with: dict[str, Any]
    notes: list[str]


class Filled(FillAnswer):
    """The best fill, the others, and how they came."""

    alternatives: list[FillAnswer]
    late: bool = Field(description="whether time was up before all was done")
    cached: bool = Field(description="whether the answer was remembered")


@router.post(
    "/v1/fill",
    summary="Fill any number of holes, and tell how",
    responses={**ERRORS, 200: {"model": Filled, "content": STREAM}},
)
async def fill(body: FillRequest, request: Request) -> Response:
    """Fill the holes of a text."""
    arrived = time.perf_counter()
    service = service_of(request)
    order = _order(service, body)
    if body.stream:
        events: asyncio.Queue[tuple[str, dict[str, Any]]] = asyncio.Queue()
        work = await unless_gone(request, service.begin(order, _watching(events)))
        return Events(_stream(work, events), [work])
    answer = await unless_gone(request, service.answer(order))
    service.metrics.add("calipers_request_seconds_total", time.perf_counter() - arrived, route="/v1/fill")
    return JSONResponse(_filled(answer))


def _order(service: Service, body: FillRequest) -> Order:
    base, template = service.infiller, _template(body)
    searches = _searches(base.search, body, template.holes)
    decoder: Decoder = drawing(base.decoder, body.temperature, body.top_p, body.top_k)
    if body.tokens_per_step is not None:
        if not isinstance(decoder, Denoise):
            raise invalid(f"tokens_per_step={body.tokens_per_step} is not for {decoder!r}; leave it out.")
        decoder = replace(decoder, tokens_per_step=body.tokens_per_step, steps=None)
    enough(1 + body.alternatives, searches, decoder)
    return Order(
        texts=template.texts,
        searches=searches,
        decoder=decoder,
        choices=1 + body.alternatives,
        seed=body.seed,
        within=None if body.within_ms is None else body.within_ms / 1000,
        empty=(base.empty is not None) if body.empty is None else body.empty,
        trim_echo=base.trim_echo if body.trim_echo is None else body.trim_echo,
    )


def _template(body: FillRequest) -> Template:
    if (body.text is None) == (body.texts is None):
        raise invalid('Give "text" with a marker at each hole, or "texts", the texts around the holes; one of them.')
    template = Template.parse(body.text, body.marker) if body.text is not None else Template(tuple(body.texts or ()))
    if template.holes > _MOST_HOLES:
        raise invalid(f"{template.holes} holes are more than {_MOST_HOLES}; fill fewer at once.")
    return template


def _searches(base: Search, body: FillRequest, holes: int) -> tuple[Search, ...]:
    """One a hole: as the server was started but for what the request says."""
    limit = base.max_length
    longest = min(body.max_length or limit, limit)
    search = base
    if body.search == "exhaustive":
        search = Exhaustive(limit)
    elif body.search == "climb" and not isinstance(base, HillClimb):
        search = HillClimb(init=min(8, limit), max_length=limit)
    given = {name: getattr(body, name) for name in ("init", "patience", "step")}
    given = {name: value for name, value in given.items() if value is not None}
    takes = {HillClimb: {"init", "patience", "step"}, Exhaustive: {"step"}}.get(type(search), set())
    if strange := sorted(set(given) - takes):
        raise invalid(f"{', '.join(strange)} is not for {search!r}; leave it out, or search by climb.")
    search = bounded(search, longest)
    if given:
        search = replace(search, **given)  # type: ignore[type-var]
    lengths = [None] * holes if body.lengths is None else body.lengths
    if len(lengths) != holes:
        raise invalid(f"{len(lengths)} lengths for {holes} hole(s); give one each, null for what is to be measured.")
    if above := [length for length in lengths if length is not None and length > limit]:
        raise invalid(f"A length of {above[0]} is above the longest here, {limit}; lower it.")
    return tuple(search if length is None else Fixed(length) for length in lengths)


def _filled(answer: Answer) -> dict[str, Any]:
    best, *others = (one.to_dict() for one in answer.fills)
    return {**best, "alternatives": others, "late": answer.late, "cached": answer.cached}


def _watching(events: asyncio.Queue[tuple[str, dict[str, Any]]]) -> Watching:
    loop = asyncio.get_running_loop()

    def tell(event: str, data: dict[str, Any]) -> None:
        loop.call_soon_threadsafe(events.put_nowait, (event, data))

    return lambda filling: _watcher(filling, tell)


def _watcher(filling: Filling, tell: Any) -> Watcher:
    return Watcher(filling, tell)


async def _stream(
    work: asyncio.Future[Answer], events: asyncio.Queue[tuple[str, dict[str, Any]]]
) -> AsyncIterator[bytes]:
    work.add_done_callback(lambda _: events.put_nowait(("end", {})))
    while (event := await events.get())[0] != "end":
        yield sse(event[1], event[0])
    yield sse(_filled(work.result()), "done")
