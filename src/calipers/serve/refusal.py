"""What a request may be told instead of an answer, in llama.cpp's words.

{"error": {"code": 400, "message": "…", "type": "invalid_request_error"}}
"""

from __future__ import annotations

from typing import Any

from calipers.errors import CalipersError, ContextError


class Refusal(CalipersError):
    """An answer that is no answer: its HTTP status, its type, and what to do about it.

    `retry_after` is in seconds, where waiting helps.
    """

    def __init__(self, status: int, kind: str, message: str, retry_after: int | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.kind = kind
        self.retry_after = retry_after

    @property
    def body(self) -> dict[str, Any]:
        """The JSON body."""
        return {"error": {"code": self.status, "message": str(self), "type": self.kind}}

    @property
    def headers(self) -> dict[str, str]:
        """Headers beside it."""
        return {} if self.retry_after is None else {"Retry-After": str(self.retry_after)}


def invalid(message: str) -> Refusal:
    """What was asked makes no sense, or is not to be had here."""
    return Refusal(400, "invalid_request_error", message)


def unavailable(message: str, retry_after: int = 1) -> Refusal:
    """Not now."""
    return Refusal(503, "unavailable_error", message, retry_after)


def refusal(error: BaseException) -> Refusal:
    """Any error as the client may see it: those meant for people by their message, others without a word of theirs."""
    if isinstance(error, Refusal):
        return error
    if isinstance(error, ContextError):
        return Refusal(400, "exceed_context_size_error", str(error))
    if isinstance(error, CalipersError) and isinstance(error, ValueError):
        return invalid(str(error))
    if isinstance(error, MemoryError):
        return unavailable("There is no room for this request now; send less text, or try again.")
    return Refusal(500, "server_error", "The server failed at this request; its log says where.")
