"""Every method's record is what `Infiller` gives for the task alone; several methods share what they ask."""

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calipers import Infiller
from calipers.bench.answer import Record, begin, identity, job, records
from calipers.bench.memory import Known, Memory
from calipers.bench.method import Method, Protocol
from calipers.drive import drive
from calipers.errors import ContextError
from calipers.models.load import load
from calipers.models.scripted import Scripted
from calipers.tasks import Task
from calipers.template import Template
from helpers import CHECKPOINTS, checkpoint
from pretend import Chaotic

ROOM = 24
PROTOCOL = Protocol(16, 2)
METHODS = (
    "oracle",
    "fixed:0",
    "fixed:5",
    "fixed:5,steps=2",
    "cal:4",
    "cal:8,bias=none,patience=4",
    "cal:4,threshold=0.5",
    "cal:4,rank=entropy",
    "cal:4,rank=random,seed=7",
    "cal:4,temperature=0.8,samples=3",
    "fixed:5,temperature=0.8,samples=2,seed=9",
    "daedal:3",
    "daedal:12,block=4",
    "exhaustive",
    "exhaustive,temperature=1.5",
    "regression",
    "regression,temperature=1.5",
    "powers",
    "lr-dllm",
    "lr-dllm,temperature=0.5,samples=2",
)
TASK = Task("a/1", "def f(x):\n    return ", "\n# end\n", "x + 1", group="a")
EMPTY = Task("a/2", "one ", "two", "")
LONG = Task("a/3", "prefix " * 20, " suffix" * 20, "in the middle")


class Counting(Chaotic):
    """Chaotic, in a context of its own."""

    def __init__(self, seed=0, context=4096, rank="low_confidence"):
        super().__init__(seed)
        self.context = context
        self.card = replace(self.card, rank=rank)


def parse(name, model):
    return Method.parse(name, model.card, PROTOCOL)


def answered(task, model, methods, known=None, room=ROOM):
    """The memory of a task, once these methods were asked."""
    known = Known() if known is None else known
    saved = []
    list(drive(model, [job(task, model, known, methods, room, lambda: saved.append(len(known.fills)))]))
    assert saved  # at the latest at the end
    assert saved[-1] == len(known.fills)
    assert all(seen.rows is None for seen in known.probes.values())
    return known


def alone(task, model, method, sample, room=ROOM):
    """What the library gives for a task, in the context that the bench gives to all methods."""
    oracle = len(model.encode(task.answer))
    search = method.search(oracle)
    longest = max(method.decoder.max_length, search.max_length)
    # The bench keeps room for all methods; the infiller for its own.
    context = model.context - max(room, oracle) + longest
    infiller = Infiller(
        model,
        search=search,
        bias=method.bias,
        decoder=method.decoder,
        context=min(context, model.context),
        seed=method.seed + sample,
    )
    return infiller.fill(Template.around(task.prefix, task.suffix))


def agree(task, model, method, made):
    assert [record.sample for record in made] == list(range(method.samples))
    for record in made:
        fill = alone(task, model, method, record.sample)
        assert (record.id, record.task, record.group) == (task.id, identity(task), task.group)
        assert record.text == fill.text
        assert record.length == fill.landscape.length
        assert record.final_length == fill.length
        assert record.probes == fill.probes
        assert record.forwards == fill.forwards
        assert record.stop == fill.landscape.stop
        assert record.oracle_length == len(model.encode(task.answer))
        assert record.scores == {}


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("task", [TASK, EMPTY, LONG], ids=lambda task: task.id)
@pytest.mark.parametrize("rank", ["low_confidence", "entropy"])
def test_a_methods_record_is_what_the_infiller_gives_for_the_task_alone(name, task, rank):
    for seed in range(3):
        model = Counting(seed, context=120, rank=rank)
        method = parse(name, model)
        made = records(task, method, answered(task, model, [method]))
        agree(task, model, method, made)
        assert (made[0].cropped > 0) == (task is LONG)


@pytest.mark.parametrize("family", CHECKPOINTS)
def test_so_it_is_on_a_real_model(family, tmp_path):
    model = load(str(checkpoint(tmp_path / family, family)), device="cpu", dtype="float32")
    methods = [parse(name, model) for name in ("oracle", "cal:4", "daedal:3", "lr-dllm", "cal:8,temperature=0.8")]
    for task in (TASK, LONG):
        known = Known()
        canvas = begin(task, model, known, ROOM)
        assert len(canvas) + max(ROOM, known.facts.oracle_length) <= model.context
        known = answered(task, model, methods)
        for method in methods:
            agree(task, model, method, records(task, method, known))


def test_several_methods_together_give_what_each_gives_alone_in_any_order():
    for task in (TASK, EMPTY):
        each = {}
        for name in METHODS:
            model = Counting(4)
            method = parse(name, model)
            each[name] = records(task, method, answered(task, model, [method]))
        for order in (METHODS, METHODS[::-1]):
            model = Counting(4)
            known = answered(task, model, [parse(name, model) for name in order])
            assert {name: records(task, parse(name, model), known) for name in order} == {n: each[n] for n in order}


def asked(model):
    """How often each canvas was asked about."""
    return Counter(query.canvas.holes[0] for call in model.asked for query in call)


def test_methods_that_look_alike_ask_of_no_hole_of_masks_twice():
    names = ("oracle", "fixed:5", "fixed:5,steps=2", "cal:4", "cal:8,bias=none", "daedal:3", "daedal:12", "regression")
    for order in (names, names[::-1]):
        model = Counting(1)
        answered(TASK, model, [parse(name, model) for name in order])
        masks = {hole: count for hole, count in asked(model).items() if set(hole) == {-1}}
        assert len(masks) >= 16
        assert set(masks.values()) == {1}


def test_decoders_that_come_by_the_same_canvas_ask_of_it_once_and_their_records_say_what_each_costs_alone():
    methods = [parse(f"daedal:{n},low={low}", Counting()) for n in (3, 5) for low in (0.1, 0.2, 0.3, 0.5)]
    methods += [parse(name, Counting()) for name in ("fixed:5", "fixed:3", "cal:4")]
    model = Counting()
    known = answered(TASK, model, methods)
    queries = [(query.canvas.ids, query.positions) for call in model.asked for query in call]
    assert max(Counter(queries).values()) == 1
    total = 0
    for method in methods:
        own = Counting()
        (record,) = records(TASK, method, answered(TASK, own, [method]))
        assert records(TASK, method, known) == [record]
        total += sum(map(len, own.asked))
    assert len(queries) < 0.8 * total


def test_methods_that_choose_the_same_length_are_filled_once():
    model = Counting(2)
    methods = [
        parse(name, model) for name in ("exhaustive", "exhaustive,step=1", "cal:4,patience=16", "cal:8,patience=16")
    ]
    known = answered(TASK, model, methods)
    assert len({records(TASK, method, known)[0].length for method in methods}) == 1
    assert len(known.fills) == 1
    assert set(asked(model).values()) == {1}


def test_a_method_asks_nothing_that_its_records_do_not_count():
    for name in METHODS:
        model = Counting(5)
        method = parse(name, model)
        (first, *more) = records(TASK, method, answered(TASK, model, [method]))
        # A search that is drawn from asks its winner again here, and all samples share the search.
        looked = method.decoder.look is not None and method.decoder.look.rank == "low_confidence"
        if looked and not more:
            assert len(model.asked) == first.forwards, name


def test_what_is_remembered_on_disk_is_not_asked_again(tmp_path):
    head = {"model": "chaotic"}
    model = Counting(3)
    methods = [parse(name, model) for name in METHODS]
    with Memory(tmp_path).open(head) as memory:
        list(drive(model, [job(TASK, model, memory.of(TASK), methods, ROOM, lambda: memory.save(TASK))]))
        want = {method.name: records(TASK, method, memory.of(TASK)) for method in methods}
    again = Memory(tmp_path)
    assert {method.name: records(TASK, method, again.of(TASK)) for method in methods} == want
    fresh = Counting(3)
    with again.open(head):
        list(drive(fresh, [job(TASK, fresh, again.of(TASK), methods, ROOM, lambda: again.save(TASK))]))
    assert fresh.asked == []
    # Of a length that was probed in another life only the fill is asked for.
    other = [parse("exhaustive,steps=1", model)]
    list(drive(fresh, [job(TASK, fresh, again.of(TASK), other, ROOM, lambda: None)]))
    assert len(fresh.asked) == 1


@given(st.integers(0, 10**6), st.sampled_from(METHODS))
@settings(max_examples=30)
def test_a_record_is_lacking_until_all_it_is_made_of_is_known(seed, name):
    model = Counting(seed)
    method = parse(name, model)
    assert records(TASK, method, Known()) is None
    known = answered(TASK, model, [method])
    made = records(TASK, method, known)
    assert len(made) == method.samples
    for at in list(known.fills):
        less = replace(known, fills={k: v for k, v in known.fills.items() if k != at})
        assert records(TASK, method, less) is None
    visited = made[0].probes
    assert visited <= len(known.probes)
    if visited:
        assert records(TASK, method, replace(known, probes={})) is None


def test_the_lengths_that_are_wanted_are_measured_and_no_others():
    model, known = Counting(), Known()
    list(drive(model, [job(TASK, model, known, [], ROOM, lambda: None, lambda facts: (1, facts.oracle_length, 24))]))
    assert set(known.probes) == {(1,), (5,), (24,)}
    assert all(seen.entropy is not None for seen in known.probes.values())
    assert known.fills == {}


def test_samples_differ_and_the_same_seed_gives_the_same():
    model = Counting()
    method = parse("fixed:9,temperature=2.0,samples=4", model)
    known = answered(TASK, model, [method])
    texts = [record.text for record in records(TASK, method, known)]
    assert len(set(texts)) > 1
    later = parse("fixed:9,temperature=2.0,samples=2,seed=2", model)
    model.asked.clear()
    assert [record.text for record in records(TASK, later, answered(TASK, model, [later], known))] == texts[2:]
    assert model.asked == []


def test_an_oracle_of_no_tokens_fills_nothing_and_asks_nothing():
    model = Scripted([""])
    method = parse("oracle", model)
    (record,) = records(EMPTY, method, answered(EMPTY, model, [method]))
    assert (record.text, record.length, record.oracle_length, record.forwards) == ("", 0, 0, 0)
    assert model.asked == []


def test_all_methods_see_one_context_even_if_the_answer_is_longer_than_any():
    long = replace(LONG, answer="x" * 50)
    model = Counting(context=120)
    known = answered(long, model, [parse(name, model) for name in ("oracle", "cal:4", "daedal:3")])
    texts = {query.canvas.texts for call in model.asked for query in call}
    assert len(texts) == 1
    assert sum(map(len, texts.pop())) == known.facts.context == 120 - 50
    assert known.facts.cropped == 280 - 70


def test_an_answer_that_fits_no_context_is_refused_before_anything_is_asked():
    model = Counting(context=40)
    with pytest.raises(ContextError):
        answered(replace(TASK, answer="x" * 60), model, [parse("cal:4", model)])
    assert model.asked == []


def test_a_record_is_of_what_is_asked_and_of_what_it_is_graded_by():
    assert identity(TASK) == identity(replace(TASK, id="b", group="b"))
    changed = [replace(TASK, **{name: "other"}) for name in ("prefix", "suffix", "answer", "test")]
    assert len({identity(task) for task in (TASK, *changed, replace(TASK, test="another"))}) == 6


def test_a_scripted_answer_of_the_right_length_is_right():
    task = Task("a", "hello ", "!", "world")
    model = Scripted(["world"])
    method = parse("cal:8", model)
    (record,) = records(task, method, answered(task, model, [method]))
    assert record == Record(
        "a", identity(task), 0, "world", 5, 5, 5, record.probes, record.forwards, record.stop, 0, {}
    )
