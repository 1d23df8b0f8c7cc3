"""Parts of a set that are asked for side by side are, together, the run that nobody divided."""

import gzip
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.bench.memory import LINES
from calipers.bench.part import Part
from calipers.bench.run import ASKED
from calipers.errors import ArgumentError, TargetError
from pieces import bench, mark, parse, task_set, tasks
from pretend import Chaotic

TEXT = task_set(tasks(11, "text"))


@given(st.integers(1, 40), st.integers(0, 200))
def test_every_place_is_in_one_part_and_parts_are_alike_in_size(of, size):
    parts = [[place for place in range(size) if Part(n, of).has(place)] for n in range(1, of + 1)]
    assert sorted(place for part in parts for place in part) == list(range(size))
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


def test_parts_asked_side_by_side_give_the_records_of_a_whole_run(tmp_path):
    whole = bench(tmp_path / "whole", TEXT).answer(parse())
    folder = tmp_path / "shared"
    models = [Chaotic() for _ in range(3)]

    def ask(number):
        bench(folder, TEXT, models[number - 1]).ask(parse(), Part(number, 3))

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(ask, (1, 2, 3)))
    for number, model in enumerate(models, 1):
        asked = {"".join(map(str, query.canvas.texts[0][:5])) for call in model.asked for query in call}
        assert asked == {mark(task) for place, task in enumerate(TEXT.tasks) if place % 3 == number - 1}
    assert {p.name for p in folder.glob("*.jsonl")} == {
        f"{name}-{n}-of-3.jsonl" for name in ("memory", "asked") for n in (1, 2, 3)
    }
    opened = []
    assert bench(folder, TEXT, opened=opened).answer(parse()) == whole
    assert opened == []


def test_what_a_part_has_not_asked_is_asked_by_who_asks_for_all(tmp_path):
    bench(tmp_path, TEXT).ask(parse(), Part(2, 3))
    model = Chaotic()
    rest = bench(tmp_path, TEXT, model).answer(parse())
    asked = {"".join(map(str, query.canvas.texts[0][:5])) for call in model.asked for query in call}
    assert asked == {mark(task) for place, task in enumerate(TEXT.tasks) if place % 3 != 1}
    assert rest == bench(tmp_path / "whole", TEXT).answer(parse())
    sessions = (tmp_path / ASKED).read_text() + (tmp_path / "asked-2-of-3.jsonl").read_text()
    assert sessions.count('"began"') == 4


def test_a_part_that_was_moved_away_is_asked_anew_and_one_that_was_packed_is_not(tmp_path):
    for number in (1, 2):
        bench(tmp_path, TEXT).ask(parse(), Part(number, 2))
    whole = bench(tmp_path, TEXT).answer(parse())
    for run in list(tmp_path.glob("*/records.jsonl")):
        run.unlink()
    (tmp_path / "memory-1-of-2.jsonl").rename(tmp_path / "memory-1-of-2.jsonl.bak")
    second = tmp_path / "memory-2-of-2.jsonl"
    second.with_name(f"{second.name}.gz").write_bytes(gzip.compress(second.read_bytes()))
    second.unlink()
    model = Chaotic()
    assert bench(tmp_path, TEXT, model).answer(parse()) == whole
    asked = {"".join(map(str, query.canvas.texts[0][:5])) for call in model.asked for query in call}
    assert asked == {mark(task) for place, task in enumerate(TEXT.tasks) if place % 2 == 0}


def test_a_part_is_asked_for_by_one_process_at_a_time(tmp_path):
    class Asks(Chaotic):
        def predict(self, queries):
            bench(tmp_path, TEXT).ask(parse(), Part(1, 3))
            return super().predict(queries)

    with pytest.raises(TargetError, match=r"memory-1-of-3\.jsonl is being written by another"):
        bench(tmp_path, TEXT, Asks()).ask(parse(), Part(1, 3))
    assert not (tmp_path / LINES).exists()


@pytest.mark.parametrize("text", ["", "3", "0/4", "5/4", "1/0", "-1/4", "a/b", "1/4/2"])
def test_what_is_no_part_is_refused_by_name(text):
    with pytest.raises(ArgumentError, match="part="):
        Part.parse(text)
    assert str(Part.parse("2/8")) == "2/8"
