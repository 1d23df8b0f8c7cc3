"""Programs that mean harm, each under every launcher that works here: none passes, and none hurts."""

import copy
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from calipers.bench import protections
from calipers.bench.sandbox import KINDS, LAUNCHERS, Limits, Sandbox, _uid
from calipers.errors import ArgumentError, CalipersError

LIMITS = Limits(seconds=1, wall=2.5, memory_mb=256, processes=8, file_mb=4)


@pytest.fixture(scope="module", params=LAUNCHERS)
def sandbox(request):
    try:
        return Sandbox(LIMITS, request.param)
    except ArgumentError as error:
        pytest.skip(str(error))


def protects(sandbox, *names):
    """Skip where the system does not let this launcher protect from it, which `describe` then says."""
    if missing := [p.name for p in sandbox.protections if p.name in names and not p.in_force]:
        pytest.skip(f"not in force here: {missing}")


def processes_of(home):
    """Processes of a sandbox that are there: by its directory in their arguments, or by its first slots' uids."""
    found = []
    uids = {_uid(slot) for slot in range(4)}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
            if state != "Z" and (home.encode() in (entry / "cmdline").read_bytes() or entry.stat().st_uid in uids):
                found.append(int(entry.name))
        except OSError:
            pass
    return found


def left_over(home):
    """What is still there after a moment, which the kernel may need."""
    end = time.monotonic() + 3
    while (found := processes_of(home)) and time.monotonic() < end:
        time.sleep(0.02)
    return found


def harmless(sandbox, program):
    """Run it: it does not pass, ends in time, and leaves neither a process nor a directory."""
    verdict = sandbox.run(program)
    assert not verdict.passed
    assert verdict.reason != "passed"
    assert verdict.reason.startswith(KINDS)
    assert len(verdict.reason) <= 200
    assert verdict.reason.isprintable()
    assert verdict.seconds < LIMITS.wall + 2
    assert left_over(sandbox._home) == []
    assert [name for name in os.listdir(sandbox._home) if name.startswith("run-")] == []
    return verdict.reason


def test_a_program_that_comes_to_its_end_passes(sandbox):
    verdict = sandbox.run("import math, json, re, collections.abc, hashlib, decimal\nassert math.gcd(4, 6) == 2\n")
    assert (verdict.passed, verdict.reason) == (True, "passed")
    assert 0 < verdict.seconds < 5


def test_a_program_that_raises_fails_with_what_it_raised(sandbox):
    assert harmless(sandbox, "assert 1 + 1 == 3, 'sums'") == "failed: AssertionError: sums"
    assert harmless(sandbox, "raise KeyboardInterrupt") == "failed: KeyboardInterrupt:"
    assert harmless(sandbox, "raise ValueError('x' * 10**6 + '\\n\\x1b[2J')").startswith("failed: ValueError: xxx")


@pytest.mark.parametrize(
    "leave",
    [
        "import sys; sys.exit(0)",
        "import sys; sys.exit()",
        "raise SystemExit",
        "exit()",
        "quit()",
        "import os; os._exit(0)",
        "import os; os.kill(os.getpid(), 9)",
        "import os, signal; os.kill(os.getpid(), signal.SIGALRM)",
        "import os; os.execv('/bin/true', ['true'])",
        "import os\nif os.fork(): os._exit(0)",
        "import atexit, sys; atexit.register(sys.exit, 0); raise ValueError",
        "import atexit, os; atexit.register(os._exit, 0); raise ValueError",
        "import sys, threading; threading.Timer(0.1, __import__('os')._exit, [0]).start(); __import__('time').sleep(2)",
    ],
)
def test_leaving_before_the_tests_with_status_0_is_not_passing(sandbox, leave):
    harmless(sandbox, leave + "\nassert True\n")


def test_how_an_early_exit_is_named(sandbox):
    assert sandbox.run("import sys; sys.exit(0)").reason == "exited early: SystemExit: 0"
    assert sandbox.run("import os; os._exit(0)").reason == "exited early"
    assert sandbox.run("import os; os.kill(os.getpid(), 11)").reason == "killed: SIGSEGV"


def test_a_fork_bomb_is_bounded_and_gone(sandbox):
    bomb = "import os\nwhile True:\n    try:\n        os.fork()\n    except OSError:\n        pass\n"
    assert harmless(sandbox, bomb).startswith("timed out")
    count = """
import os, time
hold, release = os.pipe()
children = 0
try:
    while True:
        if os.fork() == 0:
            os.close(release); os.read(hold, 1); os._exit(0)
        children += 1
except OSError:
    raise ValueError(f"={children}=")
"""
    assert int(harmless(sandbox, count).split("=")[1]) < LIMITS.processes


@pytest.mark.parametrize("size", ["1 << 40", "1 << 16"], ids=["one huge file", "many files"])
def test_a_disk_filler_writes_no_more_than_its_bound(sandbox, size):
    protects(sandbox, "disk")
    program = f"""
total, piece = 0, bytes(1 << 14)
try:
    for name in range(10**6):
        with open(f"file{{name}}", "wb", buffering=0) as file:
            for _ in range(({size}) >> 14):
                total += file.write(piece)
except OSError as error:
    raise ValueError(f"={{total}}= {{error}}")
"""
    assert int(harmless(sandbox, program).split("=")[1]) <= LIMITS.file_mb << 20


def test_empty_files_without_end_are_bounded_too(sandbox):
    protects(sandbox, "disk")
    harmless(sandbox, "for n in range(10**9):\n    open(str(n), 'w').close()\n")


def test_a_memory_hog_runs_out_of_its_own_memory(sandbox):
    hog = "x = []\nwhile True:\n    x.append(bytearray(b'x') * (1 << 22))\n"
    assert harmless(sandbox, hog) == "out of memory"


def test_a_sleeper_is_woken_by_the_clock(sandbox):
    assert harmless(sandbox, "import time\ntime.sleep(1000)") == "timed out: 2.5 s by the clock"


def test_an_endless_loop_is_ended_by_its_cpu_time(sandbox):
    assert harmless(sandbox, "while True: pass") == "timed out: 1 s of CPU"


def test_a_loop_that_ignores_every_signal_it_can_ends_all_the_same(sandbox):
    stubborn = "import signal\nfor n in range(1, 64):\n    try: signal.signal(n, lambda *_: None)\n"
    stubborn += "    except (OSError, ValueError): pass\nwhile True:\n    try:\n        while True: pass\n"
    assert harmless(sandbox, stubborn + "    except BaseException: pass\n").startswith("timed out")


def test_what_is_printed_without_end_goes_nowhere(sandbox, capfd):
    flood = "import sys\nwhile True:\n    print('x' * 10**6)\n    print('x' * 10**6, file=sys.stderr)\n"
    assert harmless(sandbox, flood) == "timed out: 1 s of CPU"
    assert capfd.readouterr() == ("", "")


def test_a_daemon_does_not_outlive_its_program(sandbox):
    daemon = """
import os, signal, time
if os.fork() == 0:
    for leave in (os.setsid, os.setpgrp):
        try: leave()
        except OSError: pass
    if os.fork() == 0:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(1000)
    os._exit(0)
time.sleep(0.3)
"""
    harmless(sandbox, daemon + "os._exit(0)\n")
    assert sandbox.run(daemon).passed
    assert left_over(sandbox._home) == []


def test_it_cannot_signal_its_parent_nor_anybody(sandbox):
    protects(sandbox, "signals")
    bystander = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        attack = f"""
import os, signal
for target in ({os.getpid()}, {bystander.pid}, os.getppid(), -1, 0, 1):
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGKILL):
        try: os.kill(target, number)
        except OSError: pass
raise ValueError
"""
        harmless(sandbox, attack)
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait()


def test_the_environment_of_the_parent_is_not_seen(sandbox):
    protects(sandbox, "environment")
    spy = """
import glob, os
texts = [repr(dict(os.environ))]
for path in glob.glob("/proc/[0-9]*/environ") + ["/proc/PARENT/environ", "/proc/self/environ"]:
    try: texts.append(open(path).read())
    except OSError: pass
assert not any("hunter2" in text for text in texts), texts
assert not os.environ
"""
    code = f"""
import os
from calipers.bench.sandbox import *
spy = {spy!r}.replace("PARENT", str(os.getpid()))
print(Sandbox(launcher={sandbox.launcher!r}).run(spy).reason)
"""
    code = code.replace('f"/proc/{PARENT}', 'f"/proc/{PARENT}')
    run = [sys.executable, "-c", code]
    got = subprocess.run(run, env={**os.environ, "PASSWORD": "hunter2"}, capture_output=True, text=True, check=True)
    assert got.stdout.strip() == "passed"


def test_a_private_file_is_not_read_and_nothing_outside_is_written(sandbox, tmp_path):
    protects(sandbox, "reading", "writing")
    key, open_to_all = tmp_path / "id_rsa", tmp_path / "open"
    key.write_text("key")
    key.chmod(0o600)
    open_to_all.touch(0o666)
    open_to_all.chmod(0o666)
    for folder in (tmp_path, *tmp_path.parents):
        if "pytest" in folder.name:  # pytest's are private, which is not what is tried here
            folder.chmod(0o755)
    for path in (key, "/etc/shadow", Path.home() / ".bashrc"):
        assert "ValueError" not in harmless(sandbox, f"raise ValueError(open({str(path)!r}).read())")
    harmless(sandbox, f"open({str(open_to_all)!r}, 'w').write('x'); raise ValueError")
    assert open_to_all.read_text() == ""
    for place in ("/tmp/calipers-was-here", "/usr/calipers-was-here", "/dev/shm/calipers-was-here"):
        harmless(sandbox, f"open({place!r}, 'w').write('x'); raise ValueError")
        assert not Path(place).exists()


def test_no_connection_reaches_a_listener_on_this_machine(sandbox):
    protects(sandbox, "network")
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.2)
        call = f"import socket\nsocket.create_connection(('127.0.0.1', {server.getsockname()[1]}), 1).send(b'x')"
        harmless(sandbox, call)
        with pytest.raises(TimeoutError):
            server.accept()


@pytest.mark.parametrize(
    "trick",
    [
        "import os\nos.closerange(0, 256)",
        "import os\nfor fd in range(64):\n    try: os.write(fd, b'\\n' + b'0' * 32 + b' passed\\npassed\\n')\n"
        "    except OSError: pass\n",
        "import os\nfor fd in range(64):\n    try:\n        while True: os.write(fd, b'passed\\n' * 999)\n"
        "    except OSError: pass\n",
    ],
    ids=["closed", "a guess", "filled"],
)
def test_the_result_pipe_takes_no_word_without_the_nonce(sandbox, trick):
    harmless(sandbox, trick + "\nraise SystemExit(0)\n")


def test_recursion_without_end_fails(sandbox):
    assert harmless(sandbox, "def f(): f()\nf()").startswith("failed: RecursionError")
    deep = (
        "import sys\nsys.setrecursionlimit(10**9)\nclass A:\n    def __repr__(self): return repr([self])\nrepr(A())\n"
    )
    harmless(sandbox, deep)


@pytest.mark.parametrize("text", ["x = '\0'", "x = '\ud800'", "(", "\0", "if:", "x = 1\n  y = 2", "(" * 5000])
def test_what_is_no_program_is_a_syntax_error(sandbox, text):
    assert harmless(sandbox, text).startswith("syntax error: ")


def test_any_text_a_string_can_hold_reaches_the_program_as_it_is(sandbox):
    assert sandbox.run("assert [ord(c) for c in 'é\u2028\U0001f600'] == [233, 8232, 128512]").passed
    assert sandbox.run("").passed


def test_stdin_is_at_its_end(sandbox):
    assert sandbox.run("import sys\nassert sys.stdin.read() == ''").passed
    assert harmless(sandbox, "input()").startswith("failed: EOFError")


def test_a_program_runs_as_the_official_checker_runs_it(sandbox):
    assert sandbox.run("if __name__ == '__main__': raise ValueError").passed
    # No __future__ of ours: annotations are evaluated.
    assert harmless(sandbox, "def f(x: 1 / 0): pass").startswith("failed: ZeroDivisionError")
    assert sandbox.run("from dataclasses import dataclass\n@dataclass\nclass A:\n    x: int\nassert A(1).x == 1").passed


def test_a_program_ends_the_same_each_time(sandbox):
    reasons = {sandbox.run("raise ValueError(hash('calipers'))").reason for _ in range(3)}
    assert len(reasons) == 1


def test_its_directory_is_empty_and_each_has_its_own(sandbox):
    assert sandbox.run("import os\nassert os.listdir('.') == []").passed
    sandbox.run("open('left', 'w').write('x')")
    assert sandbox.run("import os\nassert os.listdir('.') == []").passed


def test_a_caller_that_is_killed_takes_its_programs_along(sandbox):
    code = f"""
from calipers.bench.sandbox import *
sandbox = Sandbox(Limits(wall=60), {sandbox.launcher!r})
print(sandbox._home, flush=True)
sandbox.run("import time; time.sleep(60)")
"""
    caller = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    home = caller.stdout.readline().strip()
    end = time.monotonic() + 10
    while len(processes_of(home)) < 2 and time.monotonic() < end:  # the caller's own arguments do not name it
        time.sleep(0.02)
    time.sleep(0.2)
    assert processes_of(home)
    caller.send_signal(signal.SIGKILL)
    caller.wait()
    caller.stdout.close()
    assert left_over(home) == []
    shutil.rmtree(home)  # all that a kill -9 leaves


def test_a_stopped_sandbox_ends_what_runs_and_runs_no_more(sandbox):
    own = Sandbox(LIMITS, sandbox.launcher)
    timer = threading.Timer(0.3, own.stop)
    timer.start()
    began = time.monotonic()
    with pytest.raises(CalipersError, match="stopped"):
        own.run("import time; time.sleep(1000)")
    assert time.monotonic() - began < 2
    with pytest.raises(CalipersError, match="stopped"):
        own.run("x = 1")
    timer.join()
    assert left_over(own._home) == []


def test_an_unprotected_program_breaks_what_the_probe_tries(tmp_path):
    def unprotected(program):
        run = [sys.executable, "-c", program]
        return subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, check=False).stderr.strip()

    given = {
        "file_mb": 1,
        "memory_mb": 16,
        "cpu": 1,
        "processes": 3,
        "open_files": 4,
        "own_tree": False,
    }
    found = protections.probe(unprotected, given)
    in_force = [p.name for p in found if p.in_force]
    assert in_force == ([] if os.getuid() == 0 else ["privilege"])


def test_what_is_in_force_and_what_is_not_is_said(sandbox):
    said = sandbox.describe()
    assert f"launcher {sandbox.launcher!r}" in said
    assert "could forge its verdict on purpose" in said
    without = copy.copy(sandbox)
    without.protections = tuple(replace(p, in_force=p.name != "network") for p in sandbox.protections)
    in_force, missing = without.describe().split("NOT in force:")
    assert "network:" in missing
    assert "network:" not in in_force
    assert "memory:" in in_force


@pytest.mark.skipif(sys.platform != "linux", reason="namespaces are Linux's")
def test_every_protection_is_in_force_where_there_are_namespaces(sandbox):
    if sandbox.launcher == "plain":
        pytest.skip("plain promises less")
    assert [p.name for p in sandbox.protections if not p.in_force] == []


@pytest.mark.parametrize("wrong", [{"seconds": 0}, {"memory_mb": 1}, {"open_files": 3}, {"wall": 0}, {"processes": 0}])
def test_limits_in_which_nothing_could_run_are_refused_by_name(wrong):
    with pytest.raises(ArgumentError, match=next(iter(wrong))):
        Limits(**wrong)


def test_a_launcher_that_is_unknown_or_not_there_is_refused_with_the_reason(monkeypatch):
    with pytest.raises(ArgumentError, match="launcher='docker'"):
        Sandbox(launcher="docker")
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(ArgumentError, match="bwrap is not installed"):
        Sandbox(launcher="bwrap")


def test_without_bubblewrap_the_next_best_is_chosen(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    assert Sandbox(LIMITS).launcher in LAUNCHERS[1:]
