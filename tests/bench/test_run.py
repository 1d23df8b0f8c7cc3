"""Runs outlive a kill with nothing lost or done twice, reuse what they may and refuse what they must."""

import gzip
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

import pieces
from calipers.bench.answer import identity, records
from calipers.bench.memory import Memory
from calipers.bench.records import MANIFEST, RECORDS, Run
from calipers.bench.run import ROOM, Bench
from calipers.bias import Bias
from calipers.errors import ArgumentError, BiasError, ContextError, TargetError
from calipers.models.load import load
from calipers.tasks import content_digest
from helpers import checkpoint
from pieces import bench, mark, parse, task_set, tasks
from pretend import Chaotic

FEW = task_set(tasks(4))
TEXT = task_set(tasks(6, "text"))
SEEN = {"model": "chaotic", "revision": "1", "licence": "unknown", "device": "cpu/float32", "context": 4096}


def lines(path):
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def all_records(folder):
    """Every line of every run's records, sorted."""
    found = {path.parent.name: path.read_bytes().splitlines() for path in folder.glob(f"*/{RECORDS}")}
    return {name: sorted(rows) for name, rows in found.items()}


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    bench(folder).answer(parse())
    return folder


def test_a_run_has_a_record_of_every_sample_with_its_scores(uninterrupted):
    answers = bench(uninterrupted).answer(parse())
    assert {name: len(rows) for name, rows in answers.items()} == {
        "oracle": 30,
        "cal:4": 30,
        "daedal:3": 30,
        "fixed:5,samples=2,temperature=0.8": 60,
    }
    for name, rows in answers.items():
        samples = 2 if "samples" in name else 1
        assert [row.id for row in rows] == [task.id for task in tasks() for _ in range(samples)]
        for row, task in zip(rows, [task for task in tasks() for _ in range(samples)], strict=True):
            right = len(row.text) % 2 == int(task.id[2:]) // 2 % 2
            assert row.scores == {"pass": float(right), "exact": float(row.text == task.answer)}
            assert row.verdict.startswith("passed" if right else "failed")
            assert (row.task, row.group) == (identity(task), task.group)
        assert {row.scores["pass"] for row in rows} == {0.0, 1.0}


def test_what_is_done_opens_neither_model_nor_grader_and_writes_nothing(uninterrupted):
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in uninterrupted.rglob("*") if path.is_file()}
    opened = []
    first = bench(uninterrupted, opened=opened).answer(parse())
    assert opened == []
    after = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in uninterrupted.rglob("*") if path.is_file()}
    assert after == before
    assert Run(uninterrupted / "cal-4").all() == first["cal:4"]


def environment(folder):
    """Of another process: our paths, and a place for what a killed sandbox leaves."""
    paths = [str(Path(pieces.__file__).parent), str(Path(pieces.__file__).parents[1])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "OMP_NUM_THREADS": "1", "TMPDIR": str(folder)}


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_killed_at_random_moments_it_ends_with_the_records_of_an_uninterrupted_run(tmp_path, uninterrupted, seed):
    lot = random.Random(seed)
    delays = [str(round(lot.uniform(0.05, 1.5), 3)) for _ in range(6)]
    args = [sys.executable, pieces.__file__, str(tmp_path), *delays]
    done = subprocess.run(args, env=environment(tmp_path), capture_output=True, text=True, check=False, timeout=200)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("killed") == 6
    assert all_records(tmp_path / "runs") == all_records(uninterrupted)
    # A task that was known when a life ended was asked in no later one.
    log = lines(tmp_path / "log.jsonl")
    memory = (tmp_path / "runs" / "memory.jsonl").read_bytes().splitlines(keepends=True)
    deaths, checked = dict(lines(tmp_path / "deaths.jsonl")), 0
    for at, saved in enumerate(deaths.values()):
        (tmp_path / "then").mkdir(exist_ok=True)
        (tmp_path / "then" / "memory.jsonl").write_bytes(b"".join(memory[:saved]))
        then = Memory(tmp_path / "then")
        known = {mark(task) for task in tasks() if all(records(task, m, then.of(task)) is not None for m in parse())}
        later = {name for life, names in log if life not in list(deaths)[: at + 1] for name in names}
        assert not known & later
        checked += len(known)
    assert checked > 0
    # Every fill is in the memory once, every program in the verdicts.
    fills = Counter((line["task"], *fill[:3]) for line in map(json.loads, memory) for fill in line.get("fills", ()))
    assert set(fills.values()) == {1}
    verdicts = [line["digest"] for line in lines(tmp_path / "runs" / "verdicts.jsonl")]
    assert len(set(verdicts)) == len(verdicts)


@pytest.mark.slow
@pytest.mark.parametrize("stage", ["asking the model 10", "grading 10"])
def test_interrupted_it_leaves_cleanly_and_goes_on_where_it_was(tmp_path, uninterrupted, stage):
    args = [sys.executable, pieces.__file__, str(tmp_path)]
    env = environment(tmp_path)
    process = subprocess.Popen(args, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    for line in process.stdout:
        if line.strip() == stage:
            break
    process.send_signal(signal.SIGINT)
    began = time.monotonic()
    _, errors = process.communicate(timeout=20)
    assert time.monotonic() - began < 5
    assert process.returncode == -signal.SIGINT
    assert errors.rstrip().endswith("KeyboardInterrupt")
    assert "Exception ignored" not in errors
    runs = tmp_path / "runs"
    asked = lines(tmp_path / "log.jsonl")
    held = Memory(runs)
    assert any(held.of(task).fills for task in tasks())
    assert sum(len(rows) for rows in all_records(runs).values()) < 150
    subprocess.run(args, env=env, check=True, capture_output=True, timeout=60)
    assert all_records(runs) == all_records(uninterrupted)
    if stage.startswith("grading"):
        assert lines(tmp_path / "log.jsonl") == asked


class Fragile(Chaotic):
    """Breaks down after so many calls."""

    def __init__(self, calls):
        super().__init__()
        self.calls = calls

    def predict(self, queries):
        if len(self.asked) >= self.calls:
            raise RuntimeError("broke down")
        return super().predict(queries)


def test_a_breakdown_at_any_call_loses_nothing_that_was_finished(tmp_path):
    whole = bench(tmp_path / "whole", TEXT).answer(parse())
    for calls in (0, 3, 17, 40):
        folder = tmp_path / str(calls)
        with pytest.raises(RuntimeError, match="broke down"):
            bench(folder, TEXT, Fragile(calls), at_once=2).answer(parse())
        known = Memory(folder)
        done = {mark(t) for t in TEXT.tasks if all(records(t, m, known.of(t)) is not None for m in parse())}
        model = Chaotic()
        assert bench(folder, TEXT, model, at_once=2).answer(parse()) == whole
        again = {"".join(map(str, query.canvas.texts[0][:5])) for call in model.asked for query in call}
        assert not again & done
    assert done


def test_the_same_bench_goes_on_after_a_breakdown(tmp_path):
    whole = bench(tmp_path / "whole", TEXT).answer(parse())
    models = [Fragile(17), Chaotic()]
    one = Bench(TEXT, tmp_path / "one", lambda: models.pop(0), None, at_once=2)
    with pytest.raises(RuntimeError, match="broke down"):
        one.answer(parse())
    assert one.answer(parse()) == whole


def test_a_larger_limit_reuses_what_a_smaller_one_has_made(tmp_path):
    model = Chaotic()
    small, large = TEXT.limit(2), TEXT.limit(5)
    first = bench(tmp_path, small, model).answer(parse())
    model.asked.clear()
    second = bench(tmp_path, large, model).answer(parse())
    asked = {"".join(map(str, query.canvas.texts[0][:5])) for call in model.asked for query in call}
    assert asked == {mark(task) for task in large.tasks} - {mark(task) for task in small.tasks}
    for name, rows in first.items():
        assert set(map(str, rows)) < set(map(str, second[name]))
    # And the smaller again has its own alone.
    assert bench(tmp_path, small, model).answer(parse()) == first
    assert bench(tmp_path, TEXT.only("t/1"), model).answer(parse("cal:4"))["cal:4"][0].id == "t/1"


def test_other_contents_under_the_same_ids_are_answered_anew(tmp_path):
    other = task_set(tasks(6, "text", " other"))
    model = Chaotic()
    bench(tmp_path, TEXT).answer(parse())
    found = bench(tmp_path, other, model).answer(parse())
    assert {mark(task) for task in other.tasks} == {
        "".join(map(str, query.canvas.texts[0][:5])) for call in model.asked for query in call
    }
    assert found == bench(tmp_path / "alone", other).answer(parse())
    # Both are kept; what is reported of the folder is what the ids mean now.
    assert bench(tmp_path, TEXT, None).answer(parse()) != found
    assert {row.task for row in Run(tmp_path / "cal-4").all()} == {identity(task) for task in other.tasks}


def test_another_test_of_the_same_task_is_graded_anew_and_not_asked_again(tmp_path):
    bench(tmp_path, FEW).answer(parse("cal:4"))
    contrary = task_set([replace(task, test=task.test.replace("==", "!=")) for task in FEW.tasks])
    opened = []
    after = bench(tmp_path, contrary, opened=opened).answer(parse("cal:4"))["cal:4"]
    before = bench(tmp_path, FEW).answer(parse("cal:4"))["cal:4"]
    assert opened == ["grader"]
    assert [row.scores["pass"] for row in after] == [1 - row.scores["pass"] for row in before]


def test_two_tasks_that_ask_the_same_have_a_record_each_and_are_asked_once(tmp_path):
    twins = task_set([TEXT.tasks[0], replace(TEXT.tasks[0], id="twin"), *TEXT.tasks[1:]])
    model = Chaotic()
    rows = bench(tmp_path, twins, model, at_once=1).answer(parse("cal:4"))["cal:4"]
    assert [row.id for row in rows] == [task.id for task in twins.tasks]
    assert rows[0] == replace(rows[1], id="t/0")
    canvases = Counter(query.canvas.ids for call in model.asked for query in call)
    assert set(canvases.values()) == {1}
    assert Run(tmp_path / "cal-4").all() == rows
    assert bench(tmp_path, twins, opened=(opened := [])).answer(parse("cal:4"))["cal:4"] == rows
    assert opened == []


def test_a_method_that_means_something_else_now_is_refused_with_both(tmp_path):
    (method,) = parse("cal:4")
    bench(tmp_path, TEXT).answer([method])
    before = all_records(tmp_path)
    for changed in (replace(method, patience=3), replace(method, bias=replace(method.bias, a=0.5))):
        with pytest.raises(
            TargetError, match=r"cal-4 holds records of another method .*name another folder with --runs"
        ):
            bench(tmp_path, TEXT).answer([changed])
    with pytest.raises(TargetError, match=r"records of another set .own\.jsonl, not mine\.jsonl"):
        bench(tmp_path, replace(TEXT, name="mine.jsonl")).answer([method])
    assert all_records(tmp_path) == before


def test_two_methods_of_one_name_are_refused_before_anything_is_opened(tmp_path):
    (method,) = parse("cal:4")
    opened = []
    with pytest.raises(ArgumentError, match="Two methods are called cal:4, and their biases differ"):
        bench(tmp_path, TEXT, opened=opened).answer([method, replace(method, bias=replace(method.bias, a=0.5))])
    assert opened == []
    assert bench(tmp_path, TEXT).answer([method, method]) == bench(tmp_path, TEXT).answer([method])


def test_what_cannot_be_run_is_refused_before_anything_is_opened(tmp_path):
    opened = []
    with pytest.raises(ArgumentError, match=f"method fixed:200 has max_length=200, .* give {ROOM} or less"):
        bench(tmp_path, TEXT, opened=opened).answer(parse("fixed:200"))
    seen = Bias(0, 0, 0, 0, 1, name="seen", digests=tuple(content_digest(task) for task in TEXT.tasks[:2]))
    (method,) = parse("cal:4")
    with pytest.raises(BiasError, match=r"'seen' was fitted on 2 of these 6 tasks \(t/0, t/1\)"):
        bench(tmp_path, TEXT, opened=opened).answer([replace(method, bias=seen)])
    assert opened == []
    assert list(tmp_path.iterdir()) == []


def test_a_task_that_does_not_fit_the_model_is_named_before_any_is_asked(tmp_path):
    made = tasks(4)
    made[2] = replace(made[2], answer="x" * 300)
    model = Chaotic()
    model.context = 200
    with pytest.raises(ContextError, match=r"'t/2' needs a hole of 300 tokens .* chaotic reads 200"):
        bench(tmp_path / "runs", task_set(made), model).answer(parse())
    assert model.asked == []
    assert not (tmp_path / "runs").exists()


def test_another_model_in_the_same_folder_is_refused_when_it_would_be_asked(tmp_path):
    bench(tmp_path, TEXT.limit(2)).answer(parse("cal:4"))
    other = Chaotic()
    other.card = replace(other.card, revision="2")
    with pytest.raises(TargetError, match="revision was '1' and is '2'"):
        bench(tmp_path, TEXT, other).answer(parse("cal:4"))
    assert other.asked == []


def kept(path):
    """Compress a file as results are kept."""
    path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
    path.unlink()


def test_results_that_are_kept_compressed_are_read_and_added_to_and_never_shadowed(tmp_path):
    half = task_set(FEW.tasks[:2])
    first = bench(tmp_path, half).answer(parse())
    whole = bench(tmp_path / "whole", FEW).answer(parse())
    for path in [*tmp_path.glob(f"*/{RECORDS}"), *tmp_path.glob("*.jsonl")]:
        if "whole" not in path.parts:
            kept(path)
    opened = []
    assert bench(tmp_path, half, opened=opened).answer(parse()) == first
    assert opened == []
    model = Chaotic()
    assert bench(tmp_path, FEW, model).answer(parse()) == whole
    asked = {"".join(map(str, query.canvas.texts[0][:5])) for call in model.asked for query in call}
    assert asked == {mark(task) for task in FEW.tasks[2:]}
    assert len(lines(tmp_path / "cal-4" / RECORDS)) == 2
    assert Run(tmp_path / "cal-4").all() == whole["cal:4"]
    assert len(json.loads((tmp_path / "cal-4" / MANIFEST).read_text())["asked"]) == 2
    # Unpacked beside the archive, nothing is there twice.
    (tmp_path / "cal-4" / RECORDS).write_bytes(
        gzip.decompress((tmp_path / "cal-4" / f"{RECORDS}.gz").read_bytes())
        + (tmp_path / "cal-4" / RECORDS).read_bytes()
    )
    assert Run(tmp_path / "cal-4").all() == whole["cal:4"]


def test_what_another_process_has_done_meanwhile_is_not_done_again(tmp_path):
    late, model = bench(tmp_path, TEXT, late_model := Chaotic()), Chaotic()
    missing = late._missing(parse())
    done = bench(tmp_path, TEXT, model).answer(parse())
    before = all_records(tmp_path)
    runs, lacking = missing
    late._ask_for(lacking)
    late._grade(lacking, runs)
    assert late_model.asked == []
    assert all_records(tmp_path) == before
    assert {name: run.of(TEXT.tasks) for name, run in runs.items()} == done


def test_a_second_bench_is_refused_while_the_first_asks(tmp_path):
    def interfere(stage, done, total):
        if stage.startswith("asking") and done == 0:
            with pytest.raises(TargetError, match=r"memory\.jsonl is being written by another calipers"):
                bench(tmp_path, TEXT).answer(parse("cal:8"))

    bench(tmp_path, TEXT, watch=interfere).answer(parse("cal:4"))
    bench(tmp_path, TEXT).answer(parse("cal:8"))


def test_asking_apart_from_grading_gives_the_same_records(tmp_path):
    whole = bench(tmp_path / "whole", FEW).answer(parse())
    opened = []
    bench(tmp_path / "apart", FEW, opened=opened).ask(parse())
    assert opened == ["model"]
    assert list((tmp_path / "apart").glob("*/")) == []
    assert bench(tmp_path / "apart", FEW, opened=opened).answer(parse()) == whole
    assert opened == ["model", "grader"]


def test_a_manifest_says_how_its_records_were_made(tmp_path):
    bench(tmp_path, FEW.limit(2)).answer(parse())
    bench(tmp_path, FEW).answer(parse())
    for method in parse():
        manifest = Run(tmp_path / method.folder).manifest
        assert manifest["set"] == "own.jsonl"
        assert manifest["kind"] == "code"
        assert manifest["method"] == method.describe()
        assert manifest["method"]["seed"] == 0
        assert manifest["model"].items() >= SEEN.items()
        assert manifest["records"] == 4 * method.samples
        assert [session["tasks"] for session in manifest["sessions"]] == [2, 2]
        for session in manifest["sessions"]:
            assert session["sandbox"].startswith("Programs run under the launcher")
        for session in (*manifest["sessions"], *manifest["asked"]):
            assert {"command", "commit", "began", "ended", "seconds", "split"} <= set(session)
            assert session["source"].startswith("own.jsonl (sha256 0)")
            assert {"python", "calipers", "torch"} <= set(session["versions"])
        for asked in manifest["asked"]:
            assert asked["device"] == "cpu/float32"
            assert asked["machine"]
            assert re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:.]+\+00:00", asked["began"])


def test_a_session_that_was_killed_stands_in_the_manifest_without_an_end(tmp_path):
    def die(stage, done, total):
        if stage == "grading" and done == 1:
            raise RuntimeError("killed")

    with pytest.raises(RuntimeError):
        bench(tmp_path, FEW, watch=die).answer(parse("cal:4"))
    (session,) = Run(tmp_path / "cal-4").manifest["sessions"]
    assert "ended" not in session
    bench(tmp_path, FEW).answer(parse("cal:4"))
    killed, last = Run(tmp_path / "cal-4").manifest["sessions"]
    assert killed == session
    assert (last["tasks"], "ended" in last) == (3, True)


def test_a_damaged_record_or_manifest_is_an_error_that_names_it(tmp_path):
    bench(tmp_path, TEXT).answer(parse("cal:4"))
    with (tmp_path / "cal-4" / RECORDS).open("a") as file:
        file.write('{"id": "x"}\n')
    with pytest.raises(TargetError, match=r"records\.jsonl has a line that is no record.*move its folder"):
        bench(tmp_path, TEXT).answer(parse("cal:4"))
    (tmp_path / "oracle").mkdir()
    (tmp_path / "oracle" / MANIFEST).write_text("{")
    with pytest.raises(TargetError, match=r"manifest\.json is no JSON"):
        bench(tmp_path, TEXT).answer(parse("oracle"))


def test_a_probe_measures_what_is_wanted_and_methods_use_it(tmp_path):
    model = Chaotic()
    found = bench(tmp_path, TEXT, model).probe(lambda facts: (facts.oracle_length, *range(1, 17)))
    assert [task for task, _ in found] == list(TEXT.tasks)
    for _, known in found:
        assert {n for (n,) in known.probes} == {known.facts.oracle_length, *range(1, 17)}
    model.asked.clear()
    again = bench(tmp_path, TEXT, model, opened=(opened := [])).probe(lambda facts: (1, facts.oracle_length))
    assert opened == []
    assert [known.facts for _, known in again] == [known.facts for _, known in found]
    bench(tmp_path, TEXT, model).answer(parse("exhaustive"))
    # Nothing is searched any more: no first step is asked but each winner's, to fill it.
    first = [q for call in model.asked for q in call if set(q.canvas.holes[0]) == {-1}]
    assert len(first) == len(TEXT.tasks)


def test_no_file_stays_open(tmp_path):
    if not os.path.exists("/proc/self/fd"):
        pytest.skip("open files are counted in /proc")
    bench(tmp_path / "warm", FEW).answer(parse())
    before = len(os.listdir("/proc/self/fd"))
    bench(tmp_path / "one", FEW).answer(parse())
    with pytest.raises(RuntimeError):
        bench(tmp_path / "two", FEW, Fragile(9)).answer(parse())
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_real_model_is_evaluated_and_told_by_where_it_lies(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = checkpoint(tmp_path / "toy")
    found = {}
    for name in ("toy", str(folder)):
        model = load(name, device="cpu", dtype="float32")
        (method,) = parse("cal:4")
        found[name] = bench(tmp_path / "runs", TEXT, model).answer([method])
        (tmp_path / "runs" / "cal-4" / RECORDS).unlink()
        (tmp_path / "runs" / "memory.jsonl").unlink()
    assert found["toy"] == found[str(folder)]
    assert Memory(tmp_path / "runs").head["model"] == str(folder)


def test_torn_in_its_last_line_any_file_is_mended_and_the_run_goes_on(tmp_path):
    whole = bench(tmp_path, FEW).answer(parse())
    want = all_records(tmp_path)
    lot = random.Random(0)
    for path in [*tmp_path.glob("*.jsonl"), *tmp_path.glob(f"*/{RECORDS}")]:
        data = path.read_bytes()
        last = len(data.splitlines(keepends=True)[-1])
        path.write_bytes(data[: -lot.randrange(1, last)])
        if path.name == "memory.jsonl":  # it is read only where records are lacking
            (tmp_path / "cal-4" / RECORDS).unlink()
        assert bench(tmp_path, FEW).answer(parse()) == whole
        assert all_records(tmp_path) == want
