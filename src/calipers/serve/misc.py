"""The small routes: health, properties, tokens, metrics."""

from __future__ import annotations

import asyncio
from dataclasses import fields, is_dataclass
from typing import Any, Literal

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, Field

from calipers.serve.refusal import Refusal, invalid, unavailable
from calipers.serve.wire import ERRORS, Strict, Text, service_of

router = APIRouter()


class Health(BaseModel):
    """The server can be asked."""

    status: Literal["ok"]


class Properties(BaseModel):
    """llama.cpp's properties, as far as they mean something here, and how fills are made."""

    default_generation_settings: dict[str, Any]
    total_slots: int
    model_path: str
    chat_template: str
    build_info: str
    made_with: dict[str, Any]
    search: dict[str, Any]
    decoder: dict[str, Any]
    max_length: int
    within_ms: float | None


class Tokenize(Strict):
    """A text to cut into tokens."""

    content: Text
    add_special: bool = Field(False, description="nothing is added to a text here: refused if true")
    with_pieces: bool = Field(False, description="give each token's text too")


class Tokens(BaseModel):
    """Token ids, or {id, piece}."""

    tokens: list[int | dict[str, Any]]


class Detokenize(Strict):
    """Tokens to put together."""

    tokens: list[int] = Field(max_length=1 << 20)


class Content(BaseModel):
    """A text."""

    content: str


@router.get("/health", summary="Whether the server can be asked", response_model=Health, responses=ERRORS)
async def health(request: Request) -> JSONResponse:
    """`ok`, or why not yet or no longer."""
    state = service_of(request).engine.state
    if state == "loading":
        raise unavailable("Loading model", retry_after=2)
    if state == "failed":
        raise Refusal(503, "unavailable_error", "The model could not be loaded; the server's log says why.")
    if state == "draining":
        raise unavailable("The server is shutting down.", retry_after=5)
    return JSONResponse({"status": "ok"})


@router.get("/props", summary="The server's properties", response_model=Properties, responses=ERRORS)
async def props(request: Request) -> JSONResponse:
    """What is served, and how fills are made unless a request says otherwise."""
    service = service_of(request)
    base = service.infiller
    made_with = base.made_with()
    return JSONResponse(
        {
            "default_generation_settings": {
                "n_ctx": made_with["context"],
                "params": {"n_predict": base.search.max_length},
            },
            "total_slots": service.engine.at_once,
            "model_path": base.model.card.name,
            "chat_template": "",
            "build_info": f"calipers {made_with['calipers']}",
            "made_with": made_with,
            "search": _described(base.search),
            "decoder": _described(base.decoder),
            "max_length": base.search.max_length,
            "within_ms": None if service.within is None else 1000 * service.within,
        }
    )


def _described(method: Any) -> dict[str, Any]:
    """A search or decoder by its name and what it was made with, which made_with has as text."""
    values = ((one.name, getattr(method, one.name)) for one in fields(method))
    described = {name: _described(value) if is_dataclass(value) else value for name, value in values}
    return {"name": type(method).__name__, **described}


@router.post("/tokenize", summary="A text's tokens", response_model=Tokens, responses=ERRORS)
async def tokenize(body: Tokenize, request: Request) -> JSONResponse:
    """A text's tokens, in the model's own."""
    if body.add_special:
        raise invalid('"add_special" is not to be had: nothing is added to a text here; leave it out.')
    model = service_of(request).infiller.model
    ids = await asyncio.to_thread(model.encode, body.content)
    if not body.with_pieces:
        return JSONResponse({"tokens": ids})
    pieces = await asyncio.to_thread(lambda: [model.decode([one]) for one in ids])
    return JSONResponse({"tokens": [{"id": one, "piece": text} for one, text in zip(ids, pieces, strict=True)]})


@router.post("/detokenize", summary="The text of tokens", response_model=Content, responses=ERRORS)
async def detokenize(body: Detokenize, request: Request) -> JSONResponse:
    """The text of tokens."""
    model = service_of(request).infiller.model
    if strange := [one for one in body.tokens if not 0 <= one < 1 << 31]:
        raise invalid(f"{strange[0]} is no token's id; ids are what /tokenize gives.")
    try:
        return JSONResponse({"content": await asyncio.to_thread(model.decode, body.tokens)})
    except (ValueError, OverflowError, IndexError):
        raise invalid("Not all of these are ids of tokens; ids are what /tokenize gives.") from None


@router.get("/metrics", summary="Counters for Prometheus", responses={**ERRORS, 200: {"content": {"text/plain": {}}}})
async def metrics(request: Request) -> Response:
    """Counters and gauges in Prometheus's text format."""
    return Response(service_of(request).metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")
