"""What a model said is read back as it was said, once, and never mixed with what another said."""

import gzip
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.bench.memory import HEAD, LINES, Facts, Filled, Known, Memory, key
from calipers.decode import Daedal, Denoise
from calipers.errors import TargetError
from calipers.probe import Seen
from calipers.tasks import Task

TASK = Task("t/1", "a = ", "\n", "1")
MADE = {"model": "m", "revision": "1", "device": "cpu/float32", "context": 64}
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
KNOWN = st.builds(
    Known,
    st.none() | st.builds(Facts, st.integers(0, 99), st.integers(0, 99), st.integers(0, 99)),
    st.dictionaries(st.tuples(st.integers(1, 128)), st.builds(Seen, FLOATS, st.none() | FLOATS), max_size=5),
    st.dictionaries(
        st.tuples(st.integers(0, 99), st.text("0123456789abcdef", min_size=8, max_size=8), st.integers(0, 99)),
        st.builds(Filled, st.text(), st.integers(0, 99), st.integers(0, 99)),
        max_size=5,
    ),
)


def remember(folder, known, task=TASK, head=MADE):
    """Add to the memory of a task, and save."""
    with Memory(folder).open(head) as memory:
        own = memory.of(task)
        own.facts = known.facts or own.facts
        own.probes.update(known.probes)
        own.fills.update(known.fills)
        memory.save(task)


def lines(folder):
    return [json.loads(line) for line in (folder / LINES).read_bytes().splitlines()]


ONE = Known(Facts(3, 9, 0), {(1,): Seen(1 / 3, -0.1)}, {(1, "abcdef01", 0): Filled("1\n", 1, 1)})
TWO = Known(None, {(2,): Seen(2 / 3, None)}, {(2, "abcdef01", 0): Filled("é\u2028", 2, 2)})


@given(st.lists(KNOWN, min_size=1, max_size=4))
def test_what_is_saved_is_read_back_equal_to_the_last_bit(tmp_path_factory, parts):
    folder = tmp_path_factory.mktemp("memory")
    for known in parts:
        remember(folder, known)
    back = Memory(folder).of(TASK)
    # What is known is not learnt again: the first word counts.
    probes, fills = {}, {}
    for known in parts:
        probes = {**known.probes, **probes}
        fills = {**known.fills, **fills}
    assert set(back.probes) == set(probes)
    assert set(back.fills) == set(fills)
    if len(parts) == 1:
        assert (back.facts, back.probes, back.fills) == (parts[0].facts, parts[0].probes, parts[0].fills)


def test_saving_again_writes_nothing_and_what_is_new_is_written_alone(tmp_path):
    with Memory(tmp_path).open(MADE) as memory:
        known = memory.of(TASK)
        known.facts, known.probes, known.fills = ONE.facts, dict(ONE.probes), dict(ONE.fills)
        memory.save(TASK)
        before = (tmp_path / LINES).read_bytes()
        memory.save(TASK)
        assert (tmp_path / LINES).read_bytes() == before
        known.probes[(2,)] = Seen(0.5, -1.0)
        memory.save(TASK)
    (first, second) = lines(tmp_path)
    assert set(first) == {"task", "facts", "probes", "fills"}
    assert second == {"task": first["task"], "probes": [[2, 0.5, -1.0]]}
    remember(tmp_path, ONE)
    assert len(lines(tmp_path)) == 2


def test_a_task_is_known_by_what_it_asks_and_not_by_its_name_or_its_test(tmp_path):
    remember(tmp_path, ONE)
    memory = Memory(tmp_path)
    assert memory.of(Task("other/7", "a = ", "\n", "1", test="assert 0")) == ONE
    for other in (Task("t/1", "b = ", "\n", "1"), Task("t/1", "a = ", "\n", "2"), Task("t/1", "a = ", ";", "1")):
        assert memory.of(other) == Known()


@pytest.mark.parametrize(("name", "value"), [("model", "n"), ("revision", "2"), ("device", "cuda"), ("context", 32)])
def test_a_memory_of_something_else_is_refused_with_what_differs(tmp_path, name, value):
    remember(tmp_path, ONE)
    said = f"remembers another model or setting .{name} was {MADE[name]!r} and is {value!r}.; name another folder"
    with pytest.raises(TargetError, match=said):
        Memory(tmp_path).open(MADE | {name: value})
    assert Memory(tmp_path).of(TASK) == ONE
    remember(tmp_path, TWO)  # and the refusal has left no lock


def test_reading_needs_no_head_and_writes_nothing(tmp_path):
    memory = Memory(tmp_path / "none")
    assert memory.head is None
    assert memory.of(TASK) == Known()
    assert not (tmp_path / "none").exists()
    remember(tmp_path, ONE)
    assert Memory(tmp_path).head == MADE


def test_a_memory_that_is_not_open_cannot_be_written(tmp_path):
    memory = Memory(tmp_path)
    memory.of(TASK).facts = ONE.facts
    with pytest.raises(AssertionError):
        memory.save(TASK)
    with memory.open(MADE):
        memory.save(TASK)
    with pytest.raises(AssertionError):
        memory.save(TASK)
    with memory.open(MADE):  # and again
        memory.save(TASK)
    assert len(lines(tmp_path)) == 1


def kept(folder):
    """Compress a memory as results are kept."""
    (folder / f"{LINES}.gz").write_bytes(gzip.compress((folder / LINES).read_bytes()))
    (folder / LINES).unlink()


def union():
    return Known(ONE.facts, {**ONE.probes, **TWO.probes}, {**ONE.fills, **TWO.fills})


def test_a_memory_that_is_kept_compressed_is_read_and_added_to_and_neither_is_lost(tmp_path):
    remember(tmp_path, ONE)
    kept(tmp_path)
    archive = (tmp_path / f"{LINES}.gz").read_bytes()
    assert Memory(tmp_path).of(TASK) == ONE
    remember(tmp_path, TWO)
    assert Memory(tmp_path).of(TASK) == union()
    assert (tmp_path / f"{LINES}.gz").read_bytes() == archive
    assert len(lines(tmp_path)) == 1  # what is kept is not written again
    remember(tmp_path, ONE)
    assert len(lines(tmp_path)) == 1


def test_what_another_has_saved_before_the_lock_was_had_is_known_and_not_saved_again(tmp_path):
    early = Memory(tmp_path)
    remember(tmp_path, ONE)
    with early.open(MADE) as memory:
        assert memory.of(TASK) == ONE
        memory.of(TASK).probes.update(TWO.probes)
        memory.of(TASK).fills.update(TWO.fills)
        memory.save(TASK)
    assert Memory(tmp_path).of(TASK) == union()
    assert len(lines(tmp_path)) == 2


def test_two_cannot_save_at_a_time(tmp_path):
    with Memory(tmp_path).open(MADE), pytest.raises(TargetError, match="being written by another"):
        Memory(tmp_path).open(MADE)


@pytest.mark.parametrize(
    "line",
    [{}, {"task": "t", "facts": {"length": 1}}, {"task": "t", "probes": [[1]]}, {"task": "t", "fills": [[1, 2]]}],
)
def test_a_line_that_is_no_memory_is_an_error_that_names_the_file(tmp_path, line):
    (tmp_path / LINES).write_text(json.dumps(line) + "\n")
    with pytest.raises(TargetError, match=r"memory\.jsonl has a line that is no memory.*move it away"):
        Memory(tmp_path)


def test_a_damaged_head_is_an_error_that_names_it(tmp_path):
    (tmp_path / HEAD).write_text("{")
    with pytest.raises(TargetError, match=r"model\.json is no JSON"):
        Memory(tmp_path).open(MADE)


def test_fills_are_told_apart_by_length_decoder_and_seed():
    keys = [
        key(length, decoder, seed)
        for length in (1, 2)
        for decoder in (Denoise(), Denoise(temperature=0.2), Denoise(top_p=0.9), Daedal(), Daedal(max_length=32))
        for seed in (0, 1)
    ]
    assert len(set(keys)) == len(keys)
    assert key(1, Denoise(temperature=0.2), 0) == key(1, Denoise(temperature=0.2), 0)
