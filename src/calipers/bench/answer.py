"""One task answered by any number of methods: a job for the driver, and its replay as records.

The job asks the model only for what the task's memory lacks. What a method found, how many
lengths it scored and how many forwards it would have taken by itself are then read off the memory.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING, TypeAlias

from calipers.bench.memory import Facts, Filled, Known, key
from calipers.bench.method import Method
from calipers.bias import NONE
from calipers.canvas import Canvas
from calipers.decode import Denoise, decode
from calipers.drive import Ask
from calipers.encode import encode
from calipers.errors import ContextError
from calipers.look import Look
from calipers.models.base import MaskModel
from calipers.probe import Prober, Seen
from calipers.search import Found, Search, find
from calipers.tasks import Task, content_digest
from calipers.template import Template

if TYPE_CHECKING:
    from torch import Tensor

# What a query asks of a task, whose texts are always the same: holes, positions, controls, look.
_Asked: TypeAlias = tuple[tuple[tuple[int, ...], ...], tuple[int, ...], bool, Look]


@dataclass(frozen=True, slots=True)
class Record:
    """One answer of one method to one task.

    id, task        the task, and the digest of what it asks and is graded by (`identity`)
    sample          which of the method's samples
    text            what was filled in
    length          tokens the search chose; `final_length` as decoded, if the decoder grew the hole
    oracle_length   tokens of the true answer
    probes          lengths scored (the paper's Stps.)
    forwards        model calls this method alone would have made
    stop            why the search ended
    cropped         tokens of the task's text that did not fit the context
    scores          what the graders said: `pass` of a program; `bleu2`, `rouge_l` of a text; `exact`
    verdict         what happened to the program
    group           the text the task was cut from, where the task says
    """

    id: str
    task: str
    sample: int
    text: str
    length: int
    final_length: int
    oracle_length: int
    probes: int
    forwards: int
    stop: str
    cropped: int
    scores: Mapping[str, float]
    verdict: str = ""
    group: str = ""


@lru_cache(maxsize=1 << 16)
def identity(task: Task) -> str:
    """What tells a task's records from those of another of its name: what it asks, and its test if it has one."""
    asked = content_digest(task)
    return sha256((asked + task.test).encode("utf-8", "surrogatepass")).hexdigest()[:16] if task.test else asked


def look_of(model: MaskModel) -> Look:
    """What is kept of every probe: all that the family's greedy decoder needs, and the entropy."""
    usual = Denoise(rank=model.card.rank, top_p=model.card.top_p).look or Look()
    return Look(usual.rank, usual.top_p, usual.top_k, entropy=True)


def begin(task: Task, model: MaskModel, known: Known, longest: int) -> Canvas:
    """The canvas of a task, cropped with room for `longest` and for its true answer, whatever method asks."""
    oracle_length = len(model.encode(task.answer))
    hole = max(longest, oracle_length)
    if hole >= model.context:
        raise ContextError(
            f"task {task.id!r} needs a hole of {hole} tokens (its answer has {oracle_length}), "
            f"and {model.card.name} reads {model.context}; leave the task out, or take a model that reads more."
        )
    canvas = encode(Template.around(task.prefix, task.suffix), model, [hole])
    known.facts = Facts(oracle_length, len(canvas), sum(canvas.cropped))
    return canvas


def job(
    task: Task,
    model: MaskModel,
    known: Known,
    methods: Sequence[Method],
    longest: int,
    save: Callable[[], None],
    wanted: Callable[[Facts], Iterable[int]] = lambda facts: (),
) -> Generator[Ask, None, Task]:
    """Make sure that every method's answer to a task is known, and the `wanted` lengths' first steps too.

    `save` is called as each becomes so. A task that does not fit the model is refused here, before the job runs.
    """
    return _work(task, begin(task, model, known, longest), model, known, methods, save, wanted)


def _work(
    task: Task,
    canvas: Canvas,
    model: MaskModel,
    known: Known,
    methods: Sequence[Method],
    save: Callable[[], None],
    wanted: Callable[[Facts], Iterable[int]],
) -> Generator[Ask, None, Task]:
    look = look_of(model)
    asked: dict[_Asked, Tensor] = {}
    yield from Prober(0, NONE, look, known.probes).measure(canvas, tuple(wanted(_facts(known))), "entropy")
    for method in methods:
        prober = Prober(0, method.bias, look, known.probes)
        landscape = yield from prober.search(canvas, method.search(_facts(known).oracle_length))
        for sample in range(method.samples):
            at = key(landscape.length, method.decoder, method.seed + sample)
            if at not in known.fills:
                first = yield from _first(prober, method, canvas, landscape.length)
                masks = canvas.with_masks([landscape.length])
                known.fills[at] = yield from _fill(model, method, masks, method.seed + sample, first, asked)
                save()
    save()
    for length, seen in known.probes.items():  # the rows are of use to this job alone
        known.probes[length] = Seen(seen.confidence, seen.entropy)
    return task


def _first(prober: Prober, method: Method, canvas: Canvas, length: int) -> Generator[Ask, None, dict[int, Tensor]]:
    """The rows of the length's probe, by position, if the decoder looks at positions as the probes do.

    A length that no search has scored is probed now: it costs what the first step would, and is then known.
    """
    look = method.decoder.look
    if not length or look is None or prober.look is None:
        return {}
    if (look.rank, look.top_p, look.top_k) != (prober.look.rank, prober.look.top_p, prober.look.top_k):
        return {}
    yield from prober.measure(canvas, (length,))
    rows = prober.known[(length,)].rows  # none of what was read from disk
    return {} if rows is None else dict(zip(canvas.with_masks([length]).spans[0], rows, strict=True))


def _fill(
    model: MaskModel,
    method: Method,
    masks: Canvas,
    seed: int,
    first: Mapping[int, Tensor],
    asked: dict[_Asked, Tensor],
) -> Generator[Ask, None, Filled]:
    steps = 0
    work = decode(method.decoder, masks, seed, first)
    try:
        while True:
            ask = next(work)
            steps += 1
            yield from _once(ask, asked)
    except StopIteration as end:
        done: Canvas = end.value
    return Filled(model.decode(done.holes[0]), done.lengths[0], steps + bool(first))


def _once(ask: Ask, asked: dict[_Asked, Tensor]) -> Generator[Ask, None, None]:
    """An ask of a task, less what the model was asked before: decoders of one kind come by the same canvases."""
    if ask.look is None:
        yield ask
        return
    names = [(query.canvas.holes, query.positions, query.controls, ask.look) for query in ask.queries]
    missing = [index for index, name in enumerate(names) if name not in asked]
    if missing:

        def take(place: int, rows: Tensor) -> None:
            asked[names[missing[place]]] = rows

        yield Ask(tuple(ask.queries[index] for index in missing), take, ask.stage, ask.look, ask.vital)
    for index, name in enumerate(names):
        ask.take(index, asked[name])


def replay(search: Search, method: Method, known: Known) -> tuple[Found, int] | None:
    """What a search finds on a memory, and in how many rounds; None if the memory lacks a length it asks for."""
    rounds = 0

    def score(lengths: Sequence[int]) -> list[float]:
        nonlocal rounds
        rounds += 1
        seen = [known.probes[(n,)] for n in lengths]
        if search.signal == "confidence":
            return [one.confidence / method.bias(n) for n, one in zip(lengths, seen, strict=True)]
        return [_entropy(one) for one in seen]

    try:
        return find(search, score), rounds
    except KeyError:
        return None


def records(task: Task, method: Method, known: Known) -> list[Record] | None:
    """A method's answers to a task, ungraded, or None if they are not all known yet."""
    if known.facts is None:
        return None
    replayed = replay(method.search(known.facts.oracle_length), method, known)
    if replayed is None:
        return None
    found, rounds = replayed
    made = []
    for sample in range(method.samples):
        filled = known.fills.get(key(found.length, method.decoder, method.seed + sample))
        if filled is None:
            return None
        shared = filled.steps > 0 and _shares(found, method, known)
        made.append(
            Record(
                task.id,
                identity(task),
                sample,
                filled.text,
                found.length,
                filled.length,
                known.facts.oracle_length,
                len(found.visited),
                rounds + filled.steps - shared,
                found.stop,
                known.facts.cropped,
                {},
                group=task.group,
            )
        )
    return made


def _shares(found: Found, method: Method, known: Known) -> bool:
    """Whether the winner's probe is the first denoising step, when this method is alone.

    It is where a probe keeps what the decoder needs; of logits, only those of the highest Φ/B are kept.
    """
    if not found.visited or method.decoder.look is not None:
        return bool(found.visited)
    calibrated = {n: known.probes[(n,)].confidence / method.bias(n) for n, _ in found.visited}
    return calibrated[found.length] == max(calibrated.values())


def _facts(known: Known) -> Facts:
    if known.facts is None:
        raise AssertionError("a task's facts are known once it was encoded")
    return known.facts


def _entropy(seen: Seen) -> float:
    if seen.entropy is None:
        raise KeyError("entropy")
    return seen.entropy
