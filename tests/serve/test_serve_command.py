"""`calipers serve` as a process of its own: what it refuses, what it prints, how it ends."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import httpx
import pytest
from serving import http, split, until

from helpers import checkpoint

COMMAND = [sys.executable, "-c", "from calipers.cli import main; main()", "serve"]
ENVIRONMENT = {k: v for k, v in os.environ.items() if not k.startswith("CALIPERS_")} | {"OMP_NUM_THREADS": "1"}


class Process:
    """A server in a process; its port, and what it has said so far."""

    def __init__(self, arguments, **environment):
        self.run = subprocess.Popen(
            [*COMMAND, *map(str, arguments)], env=ENVIRONMENT | environment, stderr=subprocess.PIPE, text=True
        )
        self.said = []
        threading.Thread(target=self._listen, daemon=True).start()
        until(lambda: self.port or self.run.poll() is not None, 60)

    def _listen(self):
        for line in self.run.stderr:
            self.said.append(line)

    @property
    def port(self):
        found = re.search(r"at http://127\.0\.0\.1:(\d+)", "".join(self.said))
        return int(found[1]) if found else 0

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return checkpoint(tmp_path_factory.mktemp("serve") / "tiny")


@contextmanager
def serving(folder, *arguments, **environment):
    process = Process(["--model", folder, "--port", 0, *arguments], **environment)
    try:
        until(lambda: httpx.get(process.url + "/health").status_code == 200, 60)
        yield process
    finally:
        process.run.kill()
        process.run.wait(20)


def refused(*arguments, **environment):
    """The exit code and last words of a server that does not start."""
    run = subprocess.run(
        [*COMMAND, *map(str, arguments)],
        env=ENVIRONMENT | environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return run.returncode, run.stderr


def test_it_says_where_it_listens_and_what_an_editor_needs(folder):
    with serving(folder) as server:
        said = "".join(server.said)
        assert f"playground     {server.url}/\n" in said
        assert f"'endpoint_fim': '{server.url}/infill'" in said
        assert f'"llama-vscode.endpoint": "{server.url}"' in said


def test_a_key_may_come_by_the_environment_or_a_file(folder, tmp_path):
    (tmp_path / "keys").write_text("three\n\nfour\n")
    file = ("--api-key-file", tmp_path / "keys")
    with serving(folder, *file, CALIPERS_API_KEY="one", CALIPERS_API_KEYS="two, five") as server:
        for key, status in {
            "one": 200,
            "two": 200,
            "five": 200,
            "three": 200,
            "four": 200,
            "six": 401,
        }.items():
            assert httpx.get(server.url + "/props", headers={"Authorization": f"Bearer {key}"}).status_code == status
        assert "one" not in "".join(server.said).split()


def test_other_machines_are_not_served_without_a_key_by_mistake(folder):
    code, said = refused("--model", folder, "--host", "0.0.0.0", "--port", 0)
    assert code == 2
    assert "give --api-key, or --insecure-no-key if that is meant" in said


def test_an_address_that_is_taken_is_an_error_that_says_so(folder):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        code, said = refused("--model", folder, "--port", taken.getsockname()[1])
    assert code == 2
    assert "cannot be listened at" in said
    assert "Traceback" not in said


def test_a_model_that_cannot_be_loaded_ends_the_server_with_its_error():
    code, said = refused("--model", "./nowhere", "--port", 0)
    assert code == 4
    assert "'./nowhere' is no card" in said
    assert "Traceback" not in said


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_told_to_end_under_load_it_drops_no_request_it_took(folder, how):
    """Each client's request is under way or waiting when the signal comes; all are answered, new ones turned away."""
    clients = 8
    with serving(folder, "--at-once", 4, "--max-length", 60, "--init", 56) as server:

        def ask(number):
            body = {"input_prefix": "a" * (number + 1), "input_suffix": "b" * 50}
            return httpx.post(server.url + "/infill", json=body, timeout=60)

        with ThreadPoolExecutor(clients) as pool:
            asking = [pool.submit(ask, number) for number in range(clients)]
            until(lambda: under_way(server) == clients)
            server.run.send_signal(how)
            until(lambda: httpx.get(server.url + "/health").status_code == 503)
            late = httpx.post(server.url + "/infill", json={"input_prefix": "late", "input_suffix": ""})
            assert sum(one.done() for one in asking) < clients  # there was still something to lose
            answers = [one.result() for one in asking]
        assert (late.status_code, late.headers["retry-after"]) == (503, "5")
        assert [answer.status_code for answer in answers] == [200] * clients
        assert all(len(answer.json()["content"]) > 0 for answer in answers)
        assert server.run.wait(20) == 0
        assert "Traceback" not in "".join(server.said)


def under_way(server):
    text = httpx.get(server.url + "/metrics").text
    return sum(int(n) for n in re.findall(r"^calipers_(?:running|waiting) (\d+)$", text, re.MULTILINE))


def test_a_second_signal_ends_it_at_once(folder):
    with serving(folder, "--max-length", 400, "--init", 300) as server:
        body = json.dumps({"input_prefix": "a", "input_suffix": "b" * 50}).encode()
        with socket.create_connection(("127.0.0.1", server.port)) as line:
            line.sendall(http("POST", "/infill", body, "Content-Type: application/json"))
            until(lambda: under_way(server) == 1)
            server.run.send_signal(signal.SIGTERM)
            time.sleep(0.3)
            started = time.perf_counter()
            server.run.send_signal(signal.SIGTERM)
            server.run.wait(20)
            assert time.perf_counter() - started < 5


@pytest.mark.slow
def test_the_bundled_model_fills_within_an_editor_s_patience():
    with serving("calipers-135m", "--context", 256) as server:
        body = {"input_prefix": "def add(a, b):\n", "input_suffix": "\n\nprint(add(1, 2))\n", "prompt": "    return "}
        whole = httpx.post(server.url + "/infill", json=body, timeout=60).json()
        assert whole["content"].strip().startswith("a")
        for budget in (500, 1000):
            asked = body | {"t_max_predict_ms": budget, "input_prefix": f"# {budget}\n" + body["input_prefix"]}
            started = time.perf_counter()
            answer = httpx.post(server.url + "/infill", json=asked, timeout=60).json()
            assert answer["content"].strip()
            assert time.perf_counter() - started < budget / 1000 + 1.5
        raw = socket.create_connection(("127.0.0.1", server.port))
        with raw:
            raw.sendall(http("GET", "/health"))
            assert split(raw.recv(65536))[0] == 200
