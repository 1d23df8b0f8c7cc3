"""From an order to its answer: encode, put in the row, wait, remember."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

from calipers.deadline import Deadline
from calipers.decode import Decoder, Denoise
from calipers.empty import Emptiness
from calipers.fill import Fill
from calipers.filling import Filling
from calipers.infiller import Infiller
from calipers.search import Exhaustive, Fixed, HillClimb, Regression, Search
from calipers.serve.engine import Engine
from calipers.serve.metrics import Metrics
from calipers.serve.refusal import Refusal, invalid
from calipers.template import Template

# Within a deadline, text is read so far as to leave time for this many forwards, and never less than so many tokens.
_FORWARDS = 8
_LEAST = 64
# An answer to more text than this is not kept: the cache holds the text too.
_KEPT = 1 << 17


@dataclass(frozen=True, slots=True)
class Order:
    """What a request wants; equal orders have equal answers, so it is also what the cache knows an answer by.

    texts      around the holes
    searches   one a hole
    decoder    how masks become tokens
    extra      other texts, the last the most telling; they go before the first and give way before it
    choices    fills wanted
    seed       of what is drawn
    within     seconds from the request's arrival, after which the best fill known is given
    """

    texts: tuple[str, ...]
    searches: tuple[Search, ...]
    decoder: Decoder
    extra: tuple[str, ...] = ()
    choices: int = 1
    seed: int = 0
    within: float | None = None
    empty: bool = False
    trim_echo: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """The fills of an order, the best first; how much text was read; whether time was up; whether it was remembered."""

    fills: tuple[Fill, ...]
    tokens: int
    cropped: tuple[int, int]
    late: bool
    cached: bool = False


Watching = Callable[[Filling], Callable[[], None]]


class Service:
    """Orders in, answers out, on one engine.

    cache   answers kept; the least recently asked for goes first. Late ones are not kept: with more
            time there is a better one.
    within  seconds for requests that name no budget of their own; None: as many as it takes
    """

    def __init__(self, engine: Engine, cache: int = 256, within: float | None = None) -> None:
        self.engine = engine
        self.within = within
        self._size = cache
        self._known: OrderedDict[Order, Answer] = OrderedDict()

    @property
    def infiller(self) -> Infiller:
        """The infiller all orders begin from."""
        return self.engine.infiller

    @property
    def metrics(self) -> Metrics:
        """What is counted."""
        return self.engine.metrics

    async def answer(self, order: Order, watching: Watching | None = None) -> Answer:
        """The answer; cancelling this ends the work at the next forward.

        watching   given the filling, returns what the engine calls as it goes on
        """
        work = await self.begin(order, watching)
        return await work

    async def begin(self, order: Order, watching: Watching | None = None) -> asyncio.Future[Answer]:
        """The answer to come; what can be refused is refused now."""
        if order.within is None and self.within is not None:
            order = replace(order, within=self.within)
        if (known := self._known.get(order)) is not None and watching is None:
            self._known.move_to_end(order)
            self.metrics.add("calipers_fills_total", end="cached")
            return _done(replace(known, cached=True))
        deadline = None if order.within is None else Deadline(order.within)
        try:
            # Long texts take a while to encode; meanwhile others are served.
            filling = await asyncio.to_thread(self._filling, order, deadline, watching is not None)
            watch = None if watching is None else watching(filling)
            future = self.engine.submit(filling.several(order.choices), deadline, watch)
        except Exception:
            self.metrics.add("calipers_fills_total", end="refused")
            raise
        return asyncio.ensure_future(self._finish(order, filling, asyncio.wrap_future(future)))

    async def _finish(self, order: Order, filling: Filling, future: asyncio.Future[tuple[Fill, ...]]) -> Answer:
        try:
            fills = await future
        except Exception:
            self.metrics.add("calipers_fills_total", end="failed")
            raise
        tokens = sum(map(len, filling.canvas.texts))
        answer = Answer(fills, tokens, filling.canvas.cropped, filling.late)
        self.metrics.add("calipers_fills_total", end="late" if answer.late else "done")
        if not answer.late and self._size and sum(map(len, order.texts + order.extra)) <= _KEPT:
            self._known[order] = answer
            while len(self._known) > self._size:
                self._known.popitem(last=False)
        return answer

    def _filling(self, order: Order, deadline: Deadline | None, watched: bool) -> Filling:
        ours = copy(self.infiller)
        ours.decoder, ours.seed, ours.trim_echo = order.decoder, order.seed, order.trim_echo
        ours.empty = Emptiness() if order.empty else None
        longest = sum(max(order.decoder.max_length, search.max_length) for search in order.searches)
        limit = min(ours.context or ours.model.context, ours.model.context)
        if deadline is not None:
            affordable = int(self.engine.pace * deadline.within / _FORWARDS)
            limit = min(limit, longest + max(_LEAST, affordable))
            # Time is looked at between forwards, so one more may be under way when it is up.
            deadline.within = max(deadline.within / 2, deadline.within - limit / max(self.engine.pace, 1.0))
        ours.context = limit
        texts = order.texts
        if order.extra:
            extra = _fitting(ours, order.extra, limit - longest - sum(len(ours.model.encode(text)) for text in texts))
            texts = (extra + texts[0], *texts[1:])
        return ours.begin(Template(texts), list(order.searches), deadline=deadline, watched=watched)


def bounded(search: Search, limit: int | None) -> Search:
    """A search that stays at or below `limit`, and below its own bound."""
    if limit is None or limit >= search.max_length:
        return search
    if isinstance(search, HillClimb):
        return replace(search, max_length=limit, init=min(search.init, limit))
    if isinstance(search, Exhaustive | Regression):
        return replace(search, max_length=limit)
    return Fixed(min(search.max_length, limit))


def drawing(decoder: Decoder, temperature: float | None, top_p: float | None, top_k: int | None) -> Decoder:
    """A decoder that draws so; at temperature 0 the most probable token is taken, and there is nothing to truncate."""
    if not temperature:
        return replace(decoder, temperature=0.0) if isinstance(decoder, Denoise) else decoder
    if not isinstance(decoder, Denoise):
        raise invalid(f"temperature={temperature} is not to be had: this server decodes by {decoder!r}; leave it out.")
    more: dict[str, Any] = {"top_p": top_p, "top_k": top_k}
    return replace(decoder, temperature=temperature, **{name: v for name, v in more.items() if v is not None})


def enough(choices: int, searches: tuple[Search, ...], decoder: Decoder) -> None:
    """Refuse more choices than there are ways for them to differ."""
    if choices == 1 or decoder.look is None:
        return
    if len(searches) > 1:
        raise invalid(f"{choices} choices need a temperature above 0 where there is more than one hole.")
    if choices > searches[0].max_length:
        raise invalid(
            f"{choices} choices differ in their length without a temperature, and the longest is "
            f"{searches[0].max_length}; raise it, or give a temperature above 0."
        )


def _fitting(infiller: Infiller, extra: tuple[str, ...], room: int) -> str:
    """The last of the extra texts that fit the room, each whole."""
    kept: list[str] = []
    for text in reversed(extra):
        piece = text.rstrip("\n") + "\n\n"
        room -= len(infiller.model.encode(piece))
        if room < 0:
            break
        kept.insert(0, piece)
    return "".join(kept)


def _done(answer: Answer) -> asyncio.Future[Answer]:
    future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
    future.set_result(answer)
    return future


def unknown_model(name: str | None, infiller: Infiller) -> Refusal | None:
    """What to say of a model that is not the one served; None if it is."""
    card = infiller.model.card
    if name is None or name in (card.name, card.id):
        return None
    return Refusal(404, "not_found_error", f"model {name!r} is not served here; {card.name!r} is.")
