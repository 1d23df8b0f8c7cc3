"""People at editors, simulated: what they type, when, and what becomes of each request.

A typist opens one of HumanEval's programs, puts the cursor into a line and types on what the
program really has there, a burst of keys at a time. Every key hangs up on the request before
and sends one for where the cursor now is, each on a connection of its own, as an editor's curl
does. At the end of a burst the typist waits for the completion and reads it.

Keys come 0.24 s apart on average, with a deviation of 0.11 s (Dhakal et al., CHI 2018, of 168,000
people), and lognormally so. All of it hangs on a seed, and nothing on how fast the server is.
"""

from __future__ import annotations

import asyncio
import json
import math
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from calipers.bench.humaneval import derive
from calipers.tasks import Task

_KEY = (0.24, 0.11)  # seconds between keys: mean and deviation
_READ = (1.2, 0.6)  # of looking at a completion
_EVERY = 3  # in one burst of so many the cursor is within a line, not at its end
_WITHIN = 4  # characters that are right of such a cursor


@dataclass(frozen=True, slots=True)
class Key:
    """A key: seconds since the one before, and the text around the cursor once it is typed."""

    after: float
    above: str
    line: str
    below: str


@dataclass(frozen=True, slots=True)
class Burst:
    """Keys in a row, and how long the completion at their end is looked at."""

    keys: tuple[Key, ...]
    pause: float


def bursts(seed: str) -> Iterator[Burst]:
    """What a typist does, without end."""
    lot = random.Random(seed)
    while True:
        yield _burst(lot, lot.choice(_programs()))


@cache
def _programs() -> tuple[Task, ...]:
    """Lines long enough to be typed at."""
    return tuple(task for task in derive("humaneval-single-line") if len(task.answer.strip()) >= 2 * _WITHIN)


def _burst(lot: random.Random, task: Task) -> Burst:
    line = task.answer.rstrip("\n")
    begin = len(line) - len(line.lstrip())
    right = line[-_WITHIN:] if lot.randrange(_EVERY) == 0 else ""
    first = lot.randint(begin, len(line) - _WITHIN - 1)
    last = min(first + lot.randint(3, 15), len(line) - _WITHIN)
    keys = tuple(
        Key(_seconds(lot, *_KEY), task.prefix, line[:end], f"{right}\n{task.suffix}")
        for end in range(first + 1, last + 1)
    )
    return Burst(keys, _seconds(lot, *_READ))


def _seconds(lot: random.Random, mean: float, deviation: float) -> float:
    """Lognormal of this mean and deviation, without the far tail."""
    spread = math.log(1 + (deviation / mean) ** 2)
    return min(lot.lognormvariate(math.log(mean) - spread / 2, math.sqrt(spread)), 8 * mean)


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back: an HTTP status (0: nothing, the line broke), after how long, with how many tokens.

    refused   told at the door that the server is ending: never accepted, so not dropped
    """

    status: int
    seconds: float
    tokens: int = 0
    refused: bool = False


@dataclass(slots=True)
class Tally:
    """What became of requests.

    waited   answers to the last key of each burst
    early    answers that were there before the next key
    left     hung up on
    """

    waited: list[Answer] = field(default_factory=list)
    early: list[Answer] = field(default_factory=list)
    left: int = 0

    @property
    def answers(self) -> list[Answer]:
        """All that came back."""
        return self.waited + self.early

    @property
    def dropped(self) -> int:
        """Requests that nobody hung up on and that got no completion."""
        return sum(answer.status != 200 for answer in self.answers)


def body(key: Key, within: int) -> bytes:
    """What llama.vim asks at this cursor; `within` milliseconds, 0: as long as it takes."""
    request: dict[str, Any] = {
        "id_slot": 0,
        "input_prefix": key.above,
        "input_suffix": key.below,
        "input_extra": [],
        "prompt": key.line,
        "n_predict": 128,
        "stop": [],
        "n_cmpl": 1,
        "n_indent": len(key.line) - len(key.line.lstrip()),
        "top_k": 40,
        "top_p": 0.9,
        "samplers": ["top_k", "top_p", "infill"],
        "stream": False,
        "cache_prompt": True,
        "t_max_prompt_ms": 500,
        "t_max_predict_ms": within,
        "response_fields": ["content", "timings/predicted_n"],
    }
    return json.dumps(request).encode()


async def ask(port: int, content: bytes) -> Answer:
    """One request on a connection of its own; cancelled, it hangs up."""
    started = time.perf_counter()
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return Answer(0, time.perf_counter() - started)
    try:
        head = f"POST /infill HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n"
        head += f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
        writer.write(head.encode() + content)
        came = await reader.read()
    except OSError:
        came = b""
    finally:
        writer.close()
    return _read(came, time.perf_counter() - started)


def _read(came: bytes, seconds: float) -> Answer:
    head, _, content = came.partition(b"\r\n\r\n")
    try:
        status, answer = int(head.split(b" ", 2)[1]), json.loads(content)
    except (ValueError, IndexError):
        return Answer(0, seconds)  # it broke off
    refused = status == 503 and b"is shutting down" in content
    return Answer(status, seconds, answer.get("timings/predicted_n", 0) if status == 200 else 0, refused)


@dataclass(slots=True)
class Typist:
    """One person's session.

    within    milliseconds asked for, 0: as long as it takes
    bursts    how many there are at most; 0: until `over`
    over      set when no more is to be typed; a request under way then is waited for
    """

    port: int
    seed: str
    within: int
    bursts: int
    over: asyncio.Event
    tally: Tally = field(default_factory=Tally)
    pending: asyncio.Task[Answer] | None = None

    async def run(self) -> None:
        """Type, wait, read, until it is over."""
        for number, burst in enumerate(bursts(self.seed)):
            if self.over.is_set() or (self.bursts and number == self.bursts):
                return
            for key in burst.keys:
                if await self._rest(key.after):
                    break
                self._leave()
                self.pending = asyncio.create_task(ask(self.port, body(key, self.within)))
            if self.pending is not None:
                self.tally.waited.append(await self.pending)
                self.pending = None
            await self._rest(burst.pause)

    def _leave(self) -> None:
        """The next key: an answer that is there was seen, one that is not is wanted no more."""
        if self.pending is None:
            return
        if self.pending.done():
            self.tally.early.append(self.pending.result())
        else:
            self.pending.cancel()
            self.tally.left += 1
        self.pending = None

    async def _rest(self, seconds: float) -> bool:
        """Let time pass; whether it was over meanwhile."""
        try:
            await asyncio.wait_for(self.over.wait(), seconds)
        except TimeoutError:
            return False
        return True
