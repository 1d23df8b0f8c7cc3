"""The listening socket, and an end that drops nobody.

On SIGTERM or SIGINT the server keeps listening while it drains: what was accepted is finished,
what comes new is told to come back elsewhere (503), and only then the socket closes. A second
signal, or the grace time, ends it at once.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
import time
from types import FrameType

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from calipers.errors import ArgumentError
from calipers.serve.engine import Engine

# Whoever was about to connect when the last work was done finds someone to say no.
_LINGER = 0.3
# Of a request's first line to the end of its headers.
_HEADER_SECONDS = 10.0
_HEADER_BYTES = 32 << 10


class Impatient(H11Protocol):
    """HTTP/1.1 for clients that send their headers in time; others are hung up on."""

    seconds = _HEADER_SECONDS
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start to wait."""
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Wait on, unless the headers are there."""
        super().data_received(data)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        super().connection_lost(exc)
        self._stop()

    def _wait(self) -> None:
        if self.conn.their_state is not h11.IDLE:
            self._stop()
        elif self._timer is None:
            self._timer = self.loop.call_later(self.seconds, self._hang_up)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _hang_up(self) -> None:
        self._timer = None
        if self.conn.their_state is h11.IDLE and not self.transport.is_closing():
            self.transport.close()


def listen(host: str, port: int) -> socket.socket:
    """A listening socket; port 0 lets the system choose."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        return socket.create_server(address[:2], family=family, backlog=512)
    except OSError as why:
        raise ArgumentError(f"host={host}, port={port} cannot be listened at ({why}); give others.") from None


class Server(uvicorn.Server):
    """Serves until a signal, then drains.

    grace    seconds accepted requests have to be finished
    """

    def __init__(self, app: ASGIApp, engine: Engine, grace: float = 10.0) -> None:
        config = uvicorn.Config(
            app,
            http=Impatient,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_keep_alive=30,
            h11_max_incomplete_event_size=_HEADER_BYTES,
            timeout_graceful_shutdown=max(1, round(grace)),
        )
        super().__init__(config)
        self.engine = engine
        self.grace = grace
        self._drained_by: float | None = None

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Drain at the first signal, end at the second."""
        if self._drained_by is not None:
            self.force_exit = self.should_exit = True
            return
        self.drain()

    def drain(self) -> None:
        """Finish what was accepted, and end."""
        logging.getLogger("calipers.serve").info("draining")
        self._drained_by = time.monotonic() + self.grace
        # Not from here: a signal may have come while this thread held the engine's lock.
        threading.Thread(target=self.engine.drain, daemon=True).start()

    async def on_tick(self, counter: int) -> bool:
        """Ten times a second: whether it is time to end."""
        if self._drained_by is not None and not self.should_exit:
            quiet = self.engine.state != "ok" and self.engine.idle
            if (quiet and len(self.server_state.tasks) == 0) or time.monotonic() > self._drained_by:
                await asyncio.sleep(_LINGER)
                self.should_exit = True
        return await super().on_tick(counter)
