"""A real server on a real socket, in a thread of the test's own process, so that its model can be looked into."""

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from calipers import Infiller, Scripted
from calipers.serve.app import create_app
from calipers.serve.engine import Engine
from calipers.serve.guard import Rules, allowed_hosts
from calipers.serve.run import Server, listen
from calipers.serve.service import Service

WARM = 2  # forwards before the first request


class Gated(Scripted):
    """A scripted model whose forwards take `seconds` a query, and after the warm ones wait for the gate."""

    def __init__(self, *args: Any, seconds: float = 0.0, **more: Any) -> None:
        super().__init__(*args, **more)
        self.gate = threading.Event()
        self.gate.set()
        self.entered = threading.Event()
        self.seconds = seconds

    def predict(self, queries: Any) -> Any:
        if len(self.asked) >= WARM:
            self.entered.set()
            assert self.gate.wait(30)
        time.sleep(self.seconds * len(queries))
        return super().predict(queries)

    @property
    def forwards(self) -> int:
        return len(self.asked) - WARM


@dataclass
class Running:
    """A server under test."""

    url: str
    port: int
    engine: Engine
    server: Server

    def post(self, path: str, body: Any, **more: Any) -> httpx.Response:
        return httpx.post(self.url + path, json=body, timeout=60, **more)

    def get(self, path: str, **more: Any) -> httpx.Response:
        return httpx.get(self.url + path, timeout=60, **more)

    def raw(self, data: bytes, timeout: float = 30) -> bytes:
        """Everything that comes back for these bytes until the server hangs up."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=timeout) as line:
            line.sendall(data)
            parts = []
            while part := line.recv(65536):
                parts.append(part)
            return b"".join(parts)

    def metric(self, name: str, **labels: object) -> float:
        return self.engine.metrics.total(f"calipers_{name}", **labels)


Serve = Callable[..., Running]


@contextmanager
def servers() -> Iterator[Serve]:
    """Serve an infiller (or a model, by the default one) on a free port until the end of the block."""
    begun: list[tuple[Server, threading.Thread]] = []

    def start(
        model: Any = None,
        *,
        queue: int = 64,
        at_once: int = 16,
        cache: int = 256,
        within: float | None = None,
        cors: tuple[str, ...] = (),
        ready: bool = True,
        **rules: Any,
    ) -> Running:
        model = Scripted(["hello"] * 16) if model is None else model
        open = model if callable(model) else lambda: model if isinstance(model, Infiller) else Infiller(model)
        engine = Engine(open, queue=queue, at_once=at_once)
        socket = listen("127.0.0.1", 0)
        rules.setdefault("hosts", allowed_hosts("127.0.0.1"))
        server = Server(create_app(Service(engine, cache, within), Rules(**rules), cors), engine, grace=10)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [socket]})
        engine.start()
        thread.start()
        begun.append((server, thread))
        port = socket.getsockname()[1]
        until(lambda: server.started)
        if ready:
            until(lambda: engine.state == "ok", 60)
        return Running(f"http://127.0.0.1:{port}", port, engine, server)

    try:
        yield start
    finally:
        for server, thread in begun:
            server.force_exit = server.should_exit = True
            thread.join(20)
            server.engine.close(0)
            assert not thread.is_alive()


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Servers until the test ends."""
    with servers() as start:
        yield start


def until(condition: Callable[[], bool], seconds: float = 20) -> None:
    """Wait for something that is about to happen."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.005)


def http(method: str, path: str, body: bytes = b"", *headers: str, length: int | None = None) -> bytes:
    """The bytes of a request, as a client writes them."""
    lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1:8012", "Connection: close", *headers]
    lines += [f"Content-Length: {len(body) if length is None else length}"] if body or length is not None else []
    return "\r\n".join([*lines, "", ""]).encode() + body


def split(answer: bytes) -> tuple[int, dict[str, str], bytes]:
    """Status, headers and body of a raw answer."""
    head, _, body = answer.partition(b"\r\n\r\n")
    first, *rest = head.decode().split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in rest)
    return int(first.split()[1]), headers, body


def is_error(status: int, body: bytes | str, kind: str | None = None) -> str:
    """The message of an error in llama.cpp's shape."""
    error = json.loads(body)["error"]
    assert set(error) == {"code", "message", "type"}
    assert error["code"] == status
    assert kind is None or error["type"] == kind
    assert "Traceback" not in error["message"]
    assert "/" + "work" not in error["message"]
    return str(error["message"])
