"""What every request must pass before a route sees it: host, key, size and time; and what is logged of it.

A server on the loopback answers only to loopback names, so that a page that had its own name
point there cannot read from it; that, JSON as the one content type, and no CORS unless asked
for keep other pages' scripts out. Nothing of a request's text is logged unless asked for.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import time
import traceback
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from calipers.serve.metrics import Metrics
from calipers.serve.page import PATHS
from calipers.serve.refusal import Refusal, invalid, refusal

log = logging.getLogger("calipers.serve")
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
# Anyone may see whether the server is up, and the page that asks for a key.
_OPEN = PATHS | {"/health"}
# Of a body that is too large, so many times the limit is still read: most clients read no answer before they sent all.
_PATIENCE = 16


@dataclass(frozen=True, slots=True)
class Rules:
    """What is asked of a request.

    keys         API keys, any of which will do; none: no key is asked for
    hosts        names the server answers to; none: any
    body         bytes of a body at most
    seconds      until a body must have come
    log_prompts  log what was asked too
    """

    keys: tuple[str, ...] = ()
    hosts: frozenset[str] = frozenset()
    body: int = 1 << 20
    seconds: float = 20.0
    log_prompts: bool = False


class Guard:
    """ASGI middleware around the whole app."""

    def __init__(self, app: ASGIApp, rules: Rules, metrics: Metrics) -> None:
        self.app = app
        self.rules = rules
        self.metrics = metrics
        self._keys = tuple(key.encode() for key in rules.keys)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or say why not."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started, sent = time.perf_counter(), _Sent(send)
        try:
            self._check(scope)
            body = await self._body(scope, receive)
            if self.rules.log_prompts and body:
                log.info("asked %s %r", scope["path"], body)
            await self.app(scope, _replay(body, receive), sent)
        except ClientDisconnect:
            sent.status = 499
        except Exception as error:
            self._fail(error)
            if not sent.status:
                no = refusal(error)
                close = {"Connection": "close"} if no.status in (408, 413) else {}
                await JSONResponse(no.body, no.status, no.headers | close)(scope, receive, sent)
        finally:
            route = getattr(scope.get("route"), "path", "other")
            self.metrics.add("calipers_requests_total", route=route, status=sent.status or 499)
            milliseconds = 1000 * (time.perf_counter() - started)
            log.info("%s %s %s %.0f ms", scope["method"], route, sent.status or 499, milliseconds)

    def _check(self, scope: Scope) -> None:
        headers = dict(scope["headers"])
        if self.rules.hosts and _name(headers.get(b"host", b"")) not in self.rules.hosts:
            raise Refusal(403, "permission_error", "This server answers to names of the loopback only, as localhost.")
        if not self._keys or scope["path"] in _OPEN:
            return
        kind, _, key = headers.get(b"authorization", b"").partition(b" ")
        # Every key is compared, whichever fits, so that the time it takes tells nothing.
        fits = [hmac.compare_digest(key.strip(), known) for known in self._keys]
        if kind.lower() != b"bearer" or not any(fits):
            raise Refusal(401, "authentication_error", "Invalid API key; send it as Authorization: Bearer KEY.")

    async def _body(self, scope: Scope, receive: Receive) -> bytes:
        """All of it, in time and within the limit."""
        limit, parts, size = self.rules.body, list[bytes](), 0
        declared = dict(scope["headers"]).get(b"content-length", b"0")
        if not declared.isdigit():
            raise invalid("Content-Length is no number.")
        try:
            async with asyncio.timeout(self.rules.seconds):
                more = True
                while more and size <= limit * _PATIENCE:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise ClientDisconnect
                    more, part = message.get("more_body", False), message.get("body", b"")
                    size += len(part)
                    if size <= limit:
                        parts.append(part)
        except TimeoutError:
            raise Refusal(408, "invalid_request_error", f"The body did not come in {self.rules.seconds:g} s.") from None
        if size > limit:
            raise Refusal(413, "invalid_request_error", f"The body is larger than {limit} bytes; send less text.")
        return b"".join(parts)

    def _fail(self, error: Exception) -> None:
        """Where it failed, without what was asked: an error's own message may quote that."""
        if isinstance(error, Refusal):
            return
        frames = "".join(traceback.format_tb(error.__traceback__))
        said = f": {error}" if self.rules.log_prompts else ""
        log.error("%s%s\n%s", type(error).__name__, said, frames)


class _Sent:
    """A `send` that remembers the status."""

    def __init__(self, send: Send) -> None:
        self.status = 0
        self._send = send

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
        await self._send(message)


def _replay(body: bytes, receive: Receive) -> Receive:
    """The body once, and after it what the client does."""
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Message:
        return waiting.pop() if waiting else await receive()

    return again


def _name(host: bytes) -> str:
    """The name in a Host header, without its port."""
    try:
        return urlsplit(f"//{host.decode('ascii')}").hostname or ""
    except ValueError:
        return ""


def allowed_hosts(host: str, more: Iterable[str] = ()) -> frozenset[str]:
    """The names a server bound to `host` answers to: all, unless that is a loopback."""
    return LOOPBACK | frozenset(more) if is_loopback(host) else frozenset()


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches an address."""
    return host in LOOPBACK or host.startswith("127.")
