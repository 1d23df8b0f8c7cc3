"""One task answered by any number of methods: a job for the driver, and its replay as records.

The job asks the model only for what the task's memory lacks. What a method found, how many
lengths it scored and how many forwards it would have taken by itself are then read off the memory.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from calipers.bench.memory import Facts, Filled, Known, key
from calipers.bench.method import Method
from calipers.bias import NONE
from calipers.canvas import Canvas
from calipers.decode import Denoise, decode
from calipers.drive import Ask
from calipers.encode import encode
from calipers.look import Look
from calipers.models.base import MaskModel
from calipers.probe import Prober, Seen
from calipers.search import Found, Search, find
from calipers.tasks import Task, content_digest
from calipers.template import Template

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True, slots=True)
class Record:
    """One answer of one method to one task.

    id, task        the task, and the digest of what it asks
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


def look_of(model: MaskModel) -> Look:
    """What is kept of every probe: all that the family's greedy decoder needs, and the entropy."""
    usual = Denoise(rank=model.card.rank, top_p=model.card.top_p).look or Look()
    return Look(usual.rank, usual.top_p, usual.top_k, entropy=True)


def begin(task: Task, model: MaskModel, known: Known, longest: int) -> Canvas:
    """The canvas of a task, cropped with room for `longest` and for its true answer, whatever method asks."""
    oracle_length = len(model.encode(task.answer))
    canvas = encode(Template.around(task.prefix, task.suffix), model, [max(longest, oracle_length)])
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

    `save` is called as each becomes so.
    """
    canvas = begin(task, model, known, longest)
    look = look_of(model)
    yield from Prober(0, NONE, look, known.probes).measure(canvas, tuple(wanted(_facts(known))), "entropy")
    for method in methods:
        prober = Prober(0, method.bias, look, known.probes)
        landscape = yield from prober.search(canvas, method.search(_facts(known).oracle_length))
        masks = canvas.with_masks([landscape.length])
        for sample in range(method.samples):
            at = key(landscape.length, method.decoder, method.seed + sample)
            if at not in known.fills:
                known.fills[at] = yield from _fill(model, method, masks, method.seed + sample, _first(prober, method))
                save()
    save()
    for length, seen in known.probes.items():  # the rows are of use to this job alone
        known.probes[length] = Seen(seen.confidence, seen.entropy)
    return task


def _first(prober: Prober, method: Method) -> dict[int, Tensor]:
    """The winner's rows, by position, if the decoder looks at positions as the probes did."""
    look = method.decoder.look
    if prober.winner is None or look is None or prober.look is None:
        return {}
    if (look.rank, look.top_p, look.top_k) != (prober.look.rank, prober.look.top_p, prober.look.top_k):
        return {}
    canvas, rows = prober.winner
    return dict(zip(canvas.spans[0], rows, strict=True))


def _fill(
    model: MaskModel, method: Method, masks: Canvas, seed: int, first: Mapping[int, Tensor]
) -> Generator[Ask, None, Filled]:
    steps = 0
    work = decode(method.decoder, masks, seed, first)
    try:
        while True:
            ask = next(work)
            steps += 1
            yield ask
    except StopIteration as end:
        done: Canvas = end.value
    reused = bool(first) and masks.lengths != (0,)
    return Filled(model.decode(done.holes[0]), done.lengths[0], steps + reused)


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
        # The winner's probe is the first denoising step, where a probe keeps what the decoder needs.
        shared = bool(found.visited) and method.decoder.look is not None and filled.steps > 0
        made.append(
            Record(
                task.id,
                content_digest(task),
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
            )
        )
    return made


def _facts(known: Known) -> Facts:
    if known.facts is None:
        raise AssertionError("a task's facts are known once it was encoded")
    return known.facts


def _entropy(seen: Seen) -> float:
    if seen.entropy is None:
        raise KeyError("entropy")
    return seen.entropy
