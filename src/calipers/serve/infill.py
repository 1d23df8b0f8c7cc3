"""`POST /infill` as llama.cpp has it: what llama.vim, llama.vscode and others of their kind speak.

The left context is `input_prefix + prompt`. `n_predict` bounds the length searched,
`t_max_predict_ms` the time, counted from the request's arrival: the best fill known by then is
given, never nothing. `n_cmpl` asks for several answers, in an array.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field, model_validator

from calipers.serve.cut import cut
from calipers.serve.refusal import invalid
from calipers.serve.service import Answer, Order, Service, bounded, drawing, enough
from calipers.serve.wire import ERRORS, MOST_MILLISECONDS, MOST_SEED, MOST_TEMPERATURE, Text, service_of, unless_gone

router = APIRouter()
_MOST_CHOICES = 16
# Asked for with anything but these values, they would change the answer, and cannot here.
_UNSUPPORTED: Mapping[str, tuple[object, ...]] = {
    "stream": (False,),
    "grammar": ("",),
    "json_schema": ({},),
    "logit_bias": ([], {}, False),
    "n_probs": (0,),
    "lora": ([],),
    "post_sampling_probs": (False,),
    "return_tokens": (False,),
}


class Extra(BaseModel):
    """A text from elsewhere that may help; clients add the time it was seen."""

    model_config = ConfigDict(strict=True, allow_inf_nan=False)
    text: Text
    filename: Text = ""


class InfillRequest(BaseModel):
    """llama.cpp's request. Samplers and cache settings of its own are taken and have no effect on a greedy fill."""

    model_config = ConfigDict(strict=True, allow_inf_nan=False, extra="allow")
    input_prefix: Text = Field(description="text left of the hole")
    input_suffix: Text = Field(description="text right of the hole")
    prompt: Text = Field("", description="text between input_prefix and the hole: the cursor's line so far")
    input_extra: list[Extra] = Field([], description="other texts, the most telling last; the first to give way")
    n_predict: int = Field(
        -1, ge=-1, lt=1 << 31, description="longest hole, in tokens; -1: the server's; 0: nothing, only be warm"
    )
    n_cmpl: int = Field(1, ge=1, le=_MOST_CHOICES, description="answers wanted; above 1, an array is given")
    # llama.vim says -1 when it speculates on a fill it remembers from before it was turned off and on.
    n_indent: int = Field(0, ge=-1, lt=1 << 31, description="end before a line indented less than this; -1: as 0")
    stop: list[Annotated[Text, Field(min_length=1)]] = Field([], max_length=64, description="end before any of these")
    seed: int = Field(-1, ge=-1, le=MOST_SEED, description="of what is drawn; -1: 0")
    temperature: float = Field(0.0, ge=0, le=MOST_TEMPERATURE, description="0: the most probable token")
    top_k: int = Field(0, ge=-1, lt=1 << 31, description="draw from so many; no effect at temperature 0")
    top_p: float = Field(1.0, ge=0, le=1, description="draw from this mass; no effect at temperature 0")
    t_max_predict_ms: int = Field(
        0, ge=-1, le=MOST_MILLISECONDS, description="milliseconds for all of it; 0 or less: as many as it takes"
    )
    response_fields: list[Text] | None = Field(None, max_length=256, description="only these, nested ones by a/path")

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, values: Any) -> Any:
        """What is null is left out, as llama.cpp reads it."""
        return {k: v for k, v in values.items() if v is not None} if isinstance(values, dict) else values


class Timings(BaseModel):
    """llama.cpp's timings: the prompt is the search, what is predicted the denoising."""

    cache_n: int
    prompt_n: int
    prompt_ms: float
    prompt_per_token_ms: float
    prompt_per_second: float
    predicted_n: int
    predicted_ms: float
    predicted_per_token_ms: float
    predicted_per_second: float


class Infilled(BaseModel):
    """llama.cpp's answer."""

    index: int
    content: str
    tokens: list[int]
    id_slot: int
    stop: bool
    model: str
    tokens_predicted: int
    tokens_evaluated: int
    generation_settings: dict[str, Any]
    prompt: str
    has_new_line: bool
    truncated: bool
    stop_type: str = Field(pattern="^(none|eos|limit|word)$")
    stopping_word: str
    tokens_cached: int
    timings: Timings


@router.post(
    "/infill",
    summary="Fill at the cursor, as llama.cpp does",
    responses={
        **ERRORS,
        200: {
            "description": "The answer; an array of them for n_cmpl above 1; only the fields asked for, if some were.",
            "model": Infilled | list[Infilled] | dict[str, Any] | list[dict[str, Any]],
        },
    },
)
async def infill(body: InfillRequest, request: Request) -> JSONResponse:
    """Fill the hole between `input_prefix + prompt` and `input_suffix`."""
    arrived = time.perf_counter()
    _supported(body.model_extra or {})
    service = service_of(request)
    if body.n_predict == 0:
        _ = service.infiller  # a warm-up: 503 until the model is there
        answers = [_answer(service, body, _NOTHING, number) for number in range(body.n_cmpl)]
    else:
        order = _order(service, body)
        given = await unless_gone(request, service.answer(order))
        answers = [_answer(service, body, given, number) for number in range(len(given.fills))]
    service.metrics.add("calipers_request_seconds_total", time.perf_counter() - arrived, route="/infill")
    if body.response_fields is not None:
        answers = [_only(answer, body.response_fields) for answer in answers]
    return JSONResponse(answers if body.n_cmpl > 1 else answers[0])


def _supported(extra: Mapping[str, Any]) -> None:
    for name, harmless in _UNSUPPORTED.items():
        if (value := extra.get(name)) is not None and value not in harmless:
            raise invalid(f'"{name}" is not to be had here; leave it out.')


def _order(service: Service, body: InfillRequest) -> Order:
    base = service.infiller
    decoder = drawing(base.decoder, body.temperature, body.top_p or 1e-9, max(0, body.top_k))
    searches = (bounded(base.search, _limit(body)),)
    enough(body.n_cmpl, searches, decoder)
    return Order(
        texts=(body.input_prefix + body.prompt, body.input_suffix),
        searches=searches,
        decoder=decoder,
        extra=tuple(extra.text for extra in body.input_extra),
        choices=body.n_cmpl,
        seed=max(0, body.seed),
        within=body.t_max_predict_ms / 1000 if body.t_max_predict_ms > 0 else None,
        empty=base.empty is not None,
        trim_echo=base.trim_echo,
    )


def _limit(body: InfillRequest) -> int | None:
    """The longest hole the request allows; None: as long as the server does."""
    return body.n_predict if body.n_predict > 0 else None


_NOTHING = Answer((), 0, (0, 0), late=False)


def _answer(service: Service, body: InfillRequest, given: Answer, number: int) -> dict[str, Any]:
    """One answer in llama.cpp's words."""
    fill = given.fills[number] if given.fills else None
    end = cut(fill.text if fill else "", body.stop, body.n_indent)
    limit = bounded(service.infiller.search, _limit(body)).max_length
    bound = fill is None or given.late or fill.length >= limit
    kind = "limit" if end.kind == "eos" and bound else end.kind
    return {
        "index": number,
        "content": end.text,
        "tokens": [],
        "id_slot": 0,
        "stop": True,
        "model": service.infiller.model.card.name,
        "tokens_predicted": fill.length if fill else 0,
        "tokens_evaluated": given.tokens,
        "generation_settings": _settings(service, body),
        "prompt": "",
        "has_new_line": "\n" in end.text,
        "truncated": any(given.cropped),
        "stop_type": kind,
        "stopping_word": end.word,
        "tokens_cached": given.tokens + (fill.length if fill else 0),
        "timings": _timings(given, fill.length if fill else 0, fill.timings if fill else {}),
    }


def _settings(service: Service, body: InfillRequest) -> dict[str, Any]:
    base = service.infiller
    return {
        "n_predict": body.n_predict,
        "seed": max(0, body.seed),
        "temperature": body.temperature,
        "top_k": body.top_k,
        "top_p": body.top_p,
        "stop": body.stop,
        "n_indent": body.n_indent,
        "t_max_predict_ms": body.t_max_predict_ms,
        "stream": False,
        "search": repr(base.search),
        "decoder": repr(base.decoder),
        "bias": base.bias.name,
    }


def _timings(given: Answer, predicted: int, seconds: Mapping[str, float]) -> dict[str, float]:
    prompt_ms = 1000 * (seconds.get("encode", 0.0) + seconds.get("search", 0.0)) * (not given.cached)
    predicted_ms = 1000 * seconds.get("decode", 0.0) * (not given.cached)
    return {
        "cache_n": given.tokens if given.cached else 0,
        "prompt_n": 0 if given.cached else given.tokens,
        "prompt_ms": prompt_ms,
        "prompt_per_token_ms": prompt_ms / max(1, given.tokens),
        "prompt_per_second": given.tokens / prompt_ms * 1000 if prompt_ms else 0.0,
        "predicted_n": predicted,
        "predicted_ms": predicted_ms,
        "predicted_per_token_ms": predicted_ms / max(1, predicted),
        "predicted_per_second": predicted / predicted_ms * 1000 if predicted_ms else 0.0,
    }


def _only(answer: Mapping[str, Any], fields: Sequence[str]) -> dict[str, Any]:
    """The fields asked for, flat: a nested one under its whole path. What is not there is left out."""
    found: dict[str, Any] = {}
    for path in fields:
        value: Any = answer
        for key in path.split("/"):
            value = value.get(key, found) if isinstance(value, Mapping) else found
        if value is not found:
            found[path] = value
    return found
