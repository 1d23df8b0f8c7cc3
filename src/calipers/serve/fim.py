"""Mistral's `POST /v1/fim/completions`: what Zed's and Continue's clients for code in the middle speak.

OpenAI's request in all but a few names, and a chat's answer. What those clients always send is
taken; the rest is refused as `/v1/completions` refuses it.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Request
from fastapi.responses import Response
from pydantic import BaseModel, Field

from calipers.serve.openai import CompletionRequest, Form, Stop, Usage, respond
from calipers.serve.refusal import invalid
from calipers.serve.wire import ERRORS, MOST_SEED, STREAM, Error, Strict, Text

router = APIRouter()


class FimRequest(Strict):
    """Mistral's request, and the two penalties Continue may add."""

    model: Text | None = Field(None, description="the model served, by name or id; it may be left out")
    prompt: Text = Field(description="text left of the hole")
    suffix: Text | None = Field(None, description="text right of the hole")
    max_tokens: int | None = Field(None, ge=1, lt=1 << 31, description="longest hole; never above the server's")
    min_tokens: int | None = Field(None, ge=0, description="not to be had: refused unless 0, 1 or null")
    temperature: float | None = Field(None, ge=0, le=2, description="0, the default: the most probable token")
    top_p: float | None = Field(None, gt=0, le=1, description="draw from this mass; no effect at temperature 0")
    stop: Stop | Annotated[list[Stop], Field(max_length=64)] | None = Field(None, description="end before any of these")
    stream: bool | None = None
    random_seed: int | None = Field(None, ge=0, le=MOST_SEED, description="of what is drawn; none: another each time")
    frequency_penalty: float | None = Field(None, description="not to be had: refused unless 0 or null")
    presence_penalty: float | None = Field(None, description="not to be had: refused unless 0 or null")


class Message(BaseModel):
    """A fill as a chat's message."""

    role: Literal["assistant"]
    content: str


class FimChoice(BaseModel):
    """One fill."""

    index: int
    message: Message
    finish_reason: Literal["stop", "length"]


class FimCompleted(BaseModel):
    """Mistral's answer."""

    id: str
    object: Literal["chat.completion"]
    created: int
    model: str
    choices: list[FimChoice]
    usage: Usage


def _choice(text: str, index: int, reason: str) -> dict[str, Any]:
    return {"index": index, "message": {"role": "assistant", "content": text}, "finish_reason": reason}


def _part(text: str, index: int, reason: str) -> dict[str, Any]:
    return {"index": index, "delta": {"role": "assistant", "content": text}, "finish_reason": reason}


_FORM = Form("/v1/fim/completions", "chat.completion", "chat.completion.chunk", _choice, _part, usage=True)


@router.post(
    "/v1/fim/completions",
    summary="Fill between prompt and suffix, as Mistral does",
    responses={**ERRORS, 404: {"model": Error}, 200: {"model": FimCompleted, "content": STREAM}},
)
async def completions(body: FimRequest, request: Request) -> Response:
    """Fill the hole between `prompt` and `suffix`."""
    if (body.min_tokens or 0) > 1:
        raise invalid('"min_tokens" is not to be had here; leave it out.')
    asked = body.model_dump(exclude={"min_tokens", "random_seed"})
    return await respond(CompletionRequest(**asked, seed=body.random_seed), request, _FORM)
