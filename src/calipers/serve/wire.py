"""What all routes share: strict JSON bodies, waiting for an answer, and server-sent events."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Mapping, Sequence
from typing import Annotated, Any, TypeVar

from fastapi import Request
from fastapi.responses import StreamingResponse
from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from starlette.types import Receive, Scope, Send

from calipers.serve.refusal import Refusal, refusal
from calipers.serve.service import Service

T = TypeVar("T")
# A seed may be whatever fits torch's.
MOST_SEED = (1 << 63) - 1
# Drawing at more than this is noise, and a budget above an hour none.
MOST_TEMPERATURE = 10.0
MOST_MILLISECONDS = 3_600_000


def _whole(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as bad:
        raise ValueError(f"half a surrogate pair at character {bad.start}, which is no UTF-8") from None
    return text


# JSON can spell half of a surrogate pair; no text has one.
Text = Annotated[str, AfterValidator(_whole)]


class Strict(BaseModel):
    """A body whose every key is known and whose every value has its type."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class Wrong(BaseModel):
    """What is said of an error."""

    code: int
    message: str
    type: str


class Error(BaseModel):
    """An error, as llama.cpp and OpenAI's clients read it."""

    error: Wrong = Field(description="its HTTP status, what is wrong and what to do, and its type")


# The answers every route may give beside its own, for the description.
ERRORS: dict[int | str, dict[str, Any]] = {
    400: {"model": Error, "description": "The request makes no sense, or asks for what is not to be had here."},
    401: {"model": Error, "description": "The API key is missing or wrong."},
    403: {"model": Error, "description": "The host named is not this server's."},
    408: {"model": Error, "description": "The body did not come in time."},
    413: {"model": Error, "description": "The body is too large."},
    503: {"model": Error, "description": "Loading, too busy, or shutting down; Retry-After says when to come back."},
}
# A stream's events, for the description.
_EVENT = {"event": {"type": "string"}, "data": {"type": "string", "description": "JSON"}}
STREAM = {"text/event-stream": {"schema": {"type": "object", "properties": _EVENT, "required": ["data"]}}}


def service_of(request: Request) -> Service:
    """The service behind the app."""
    service: Service = request.app.state.service
    return service


async def unless_gone(request: Request, work: Awaitable[T]) -> T:
    """The result, unless the client goes away first: then the work is cancelled, for nobody would read it."""
    doing = asyncio.ensure_future(work)
    leaving = asyncio.ensure_future(_gone(request))
    try:
        await asyncio.wait({doing, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if not doing.done():
            raise Refusal(499, "invalid_request_error", "The client went away.")
        return doing.result()
    finally:
        doing.cancel()
        leaving.cancel()


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


class Events(StreamingResponse):
    """A stream of server-sent events about work under way; however it ends, so does the work."""

    def __init__(self, events: AsyncIterator[bytes], work: Sequence[asyncio.Future[Any]]) -> None:
        super().__init__(_told(events), media_type="text/event-stream", headers={"Cache-Control": "no-cache"})
        self._work = work

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send them."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            for one in self._work:
                one.cancel()


async def _told(events: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The events; an error comes as one too, for the status has been sent by then."""
    try:
        async for event in events:
            yield event
    except Exception as error:
        yield sse(refusal(error).body, "error")


def sse(data: Mapping[str, Any] | str, event: str | None = None) -> bytes:
    """One server-sent event."""
    text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return ((f"event: {event}\n" if event else "") + f"data: {text}\n\n").encode()
