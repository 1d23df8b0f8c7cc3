"""OpenAI's `POST /v1/completions`, with `suffix`, and `GET /v1/models`.

`max_tokens` bounds the length searched. Without a temperature the most probable fill is given
(OpenAI's default of 1 would draw one), and `n` choices are fills at neighbouring lengths; with
one, `n` are drawn. A fill has no left and right in time, so a stream brings each choice whole.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, Field

from calipers.serve.cut import cut
from calipers.serve.refusal import invalid
from calipers.serve.service import Answer, Order, Service, bounded, drawing, enough, unknown_model
from calipers.serve.wire import ERRORS, MOST_SEED, STREAM, Error, Events, Strict, Text, service_of, sse, unless_gone

router = APIRouter()
_MOST_CHOICES = 16
_MOST_PROMPTS = 16
Stop = Annotated[Text, Field(min_length=1)]


class StreamOptions(Strict):
    """What a stream says beside its choices."""

    include_usage: bool | None = None
    include_obfuscation: bool | None = None


class CompletionRequest(Strict):
    """OpenAI's request. What cannot be had is refused unless it asks for nothing."""

    model: Text | None = Field(None, description="the model served, by name or id; it may be left out")
    prompt: Text | Annotated[list[Text], Field(min_length=1, max_length=_MOST_PROMPTS)] = Field(
        description="text left of the hole, or several, each for a hole of its own"
    )
    suffix: Text | None = Field(None, description="text right of the hole")
    max_tokens: int | None = Field(None, ge=1, lt=1 << 31, description="longest hole; never above the server's")
    temperature: float | None = Field(None, ge=0, le=2, description="0, the default: the most probable token")
    top_p: float | None = Field(None, gt=0, le=1, description="draw from this mass; no effect at temperature 0")
    n: int | None = Field(None, ge=1, le=_MOST_CHOICES, description="choices a prompt")
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    stop: Stop | Annotated[list[Stop], Field(max_length=64)] | None = Field(None, description="end before any of these")
    seed: int | None = Field(None, ge=0, le=MOST_SEED, description="of what is drawn; none: another each time")
    user: Text | None = Field(None, description="taken, and not looked at")
    logprobs: int | None = Field(None, description="not to be had: refused unless null")
    echo: bool | None = Field(None, description="not to be had: refused unless false or null")
    best_of: int | None = Field(None, description="not to be had: refused unless n or null")
    frequency_penalty: float | None = Field(None, description="not to be had: refused unless 0 or null")
    presence_penalty: float | None = Field(None, description="not to be had: refused unless 0 or null")
    logit_bias: dict[str, Any] | None = Field(None, description="not to be had: refused unless empty or null")


class Choice(BaseModel):
    """One fill."""

    text: str
    index: int
    logprobs: None
    finish_reason: Literal["stop", "length"] | None


class Usage(BaseModel):
    """Tokens read and filled in."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


class Completed(BaseModel):
    """OpenAI's answer."""

    id: str
    object: Literal["text_completion"]
    created: int
    model: str
    choices: list[Choice]
    usage: Usage | None = None


class Model(BaseModel):
    """A model served."""

    id: str
    object: Literal["model"]
    created: int
    owned_by: str


class Models(BaseModel):
    """All models served: the one."""

    object: Literal["list"]
    data: list[Model]


@router.post(
    "/v1/completions",
    summary="Complete, or fill between prompt and suffix, as OpenAI does",
    responses={**ERRORS, 404: {"model": Error}, 200: {"model": Completed, "content": STREAM}},
)
async def completions(body: CompletionRequest, request: Request) -> Response:
    """Fill the hole between `prompt` and `suffix`."""
    return await respond(body, request, _COMPLETION)


@router.get("/v1/models", summary="The model served", response_model=Models, responses=ERRORS)
async def models(request: Request) -> JSONResponse:
    """The model served, by its name."""
    card = service_of(request).infiller.model.card
    one = {"id": card.name, "object": "model", "created": request.app.state.since, "owned_by": card.id}
    return JSONResponse({"object": "list", "data": [one]})


def _choice(text: str, index: int, reason: str) -> dict[str, Any]:
    return {"text": text, "index": index, "logprobs": None, "finish_reason": reason}


@dataclass(frozen=True, slots=True)
class Form:
    """How an answer is spelt.

    route          whose it is
    object, event  what it is called, whole and as an event of a stream
    choice, part   a choice of it from its text, index and reason to end, likewise
    usage          whether a stream's last choice tells the usage, unasked
    """

    route: str
    object: str
    event: str
    choice: Callable[[str, int, str], dict[str, Any]]
    part: Callable[[str, int, str], dict[str, Any]]
    usage: bool = False


_COMPLETION = Form("/v1/completions", "text_completion", "text_completion", _choice, _choice)


async def respond(body: CompletionRequest, request: Request, form: Form) -> Response:
    """What a request asks for, in the form its route has."""
    arrived = time.perf_counter()
    _supported(body)
    service = service_of(request)
    if wrong := unknown_model(body.model, service.infiller):
        raise wrong
    orders = _orders(service, body)
    waiting = await unless_gone(request, _begin(service, orders))
    head = {
        "id": f"cmpl-{secrets.token_hex(12)}",
        "object": form.event if body.stream else form.object,
        "created": int(time.time()),
        "model": service.infiller.model.card.name,
    }
    if body.stream:
        return Events(_stream(body, head, orders, waiting, form), waiting)
    given = await unless_gone(request, _all(waiting))
    service.metrics.add("calipers_request_seconds_total", time.perf_counter() - arrived, route=form.route)
    ends = [end for at, answer in enumerate(given) for end in _ends(body, orders[at], answer, at)]
    return JSONResponse(head | {"choices": [form.choice(*end) for end in ends], "usage": _usage(given)})


def _supported(body: CompletionRequest) -> None:
    harmless: dict[str, tuple[object, ...]] = {
        "logprobs": (None,),
        "echo": (None, False),
        "best_of": (None, body.n or 1),
        "frequency_penalty": (None, 0),
        "presence_penalty": (None, 0),
        "logit_bias": (None, {}),
    }
    for name, values in harmless.items():
        if getattr(body, name) not in values:
            raise invalid(f'"{name}" is not to be had here; leave it out.')
    if body.stream_options is not None and not body.stream:
        raise invalid('"stream_options" is for a stream; leave it out, or set "stream".')


def _orders(service: Service, body: CompletionRequest) -> list[Order]:
    base, count = service.infiller, body.n or 1
    decoder = drawing(base.decoder, body.temperature, body.top_p, None)
    searches = (bounded(base.search, body.max_tokens),)
    enough(count, searches, decoder)
    seed = body.seed
    if seed is None:
        seed = secrets.randbelow(1 << 62) if body.temperature else 0
    prompts = [body.prompt] if isinstance(body.prompt, str) else body.prompt
    return [
        Order(
            texts=(prompt, body.suffix or ""),
            searches=searches,
            decoder=decoder,
            choices=count,
            seed=seed,
            empty=base.empty is not None,
            trim_echo=base.trim_echo,
        )
        for prompt in prompts
    ]


async def _begin(service: Service, orders: list[Order]) -> list[asyncio.Future[Answer]]:
    """All of them in the row, or none."""
    begun: list[asyncio.Future[Answer]] = []
    try:
        for order in orders:
            begun.append(await service.begin(order))
    except BaseException:
        for one in begun:
            one.cancel()
        raise
    return begun


async def _all(waiting: list[asyncio.Future[Answer]]) -> list[Answer]:
    try:
        return list(await asyncio.gather(*waiting))
    finally:
        for one in waiting:
            one.cancel()


def _ends(body: CompletionRequest, order: Order, answer: Answer, at: int) -> list[tuple[str, int, str]]:
    """Of each choice its text, its index, and why it ends."""
    stops = [body.stop] if isinstance(body.stop, str) else body.stop or []
    ends = []
    for number, fill in enumerate(answer.fills):
        end = cut(fill.text, stops)
        full = end.kind == "eos" and (answer.late or fill.length >= order.searches[0].max_length)
        ends.append((end.text, at * order.choices + number, "length" if full else "stop"))
    return ends


def _usage(answers: list[Answer]) -> dict[str, int]:
    read = sum(answer.tokens for answer in answers)
    written = sum(fill.length for answer in answers for fill in answer.fills)
    return {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}


async def _stream(
    body: CompletionRequest,
    head: dict[str, Any],
    orders: list[Order],
    waiting: list[asyncio.Future[Answer]],
    form: Form,
) -> AsyncIterator[bytes]:
    usage = bool(body.stream_options and body.stream_options.include_usage)
    for at, one in enumerate(waiting):
        answer = await one
        for text, index, reason in _ends(body, orders[at], answer, at):
            event = head | {"choices": [form.part(text, index, reason)]} | ({"usage": None} if usage else {})
            if form.usage and index == len(waiting) * orders[at].choices - 1:
                event["usage"] = _usage([one.result() for one in waiting])
            yield sse(event)
    if usage:
        yield sse(head | {"choices": [], "usage": _usage([one.result() for one in waiting])})
    yield sse("[DONE]")
