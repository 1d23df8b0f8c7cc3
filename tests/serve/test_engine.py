"""One model, many clients: forwards are shared, nobody waits for what nobody wants, time is kept, nothing is lost."""

import contextlib
import json
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from serving import Gated, http, is_error, until

from calipers import Denoise, Fixed, HillClimb, Infiller, Scripted, Template
from calipers.errors import ModelError
from calipers.serve.engine import Engine
from calipers.serve.refusal import Refusal
from pretend import Chaotic


class Counted(Chaotic):
    """Chaotic, its forwards held until the gate is open."""

    def __init__(self, seed):
        super().__init__(seed)
        self.gate = threading.Event()

    def predict(self, queries):
        if len(self.asked) >= 2:
            assert self.gate.wait(30)
        return super().predict(queries)


def body(text, **more):
    return {"input_prefix": text, "input_suffix": "b"} | more


def begin(server, body):
    """Send a request and leave its answer to be read."""
    line = socket.create_connection(("127.0.0.1", server.port), timeout=30)
    line.sendall(http("POST", "/infill", json.dumps(body).encode(), "Content-Type: application/json"))
    return line


def busy(server, what):
    """Requests running, or waiting."""
    return int(server.engine.metrics.text().split(f"\ncalipers_{what} ")[1].split("\n")[0])


def end(line):
    """All of an answer."""
    with line:
        return b"".join(iter(lambda: line.recv(65536), b""))


def test_requests_that_arrive_together_share_forwards_and_get_the_answers_they_get_alone(serve):
    prefixes = ["a" * n for n in range(1, 13)]
    infiller = Infiller(Chaotic(5), search=HillClimb(4, 2, 1, 9))
    alone = [infiller.fill(Template.around(prefix, "b")) for prefix in prefixes]
    one_by_one = len(infiller.model.asked)
    model = Counted(5)
    server = serve(Infiller(model, search=HillClimb(4, 2, 1, 9)))
    with ThreadPoolExecutor(len(prefixes)) as pool:
        asking = [pool.submit(server.post, "/infill", body(prefix)) for prefix in prefixes]
        until(lambda: not server.engine.idle)
        time.sleep(0.3)
        model.gate.set()
        answers = [one.result().json() for one in asking]
    assert [answer["content"] for answer in answers] == [fill.text for fill in alone]
    shared = len(model.asked) - 2
    assert shared <= max(fill.forwards for fill in alone) * 2 + 2
    assert shared < one_by_one / 4
    assert server.metric("queries_total") == sum(len(call) for call in infiller.model.asked)


def test_work_stops_at_the_next_forward_when_the_client_goes_away(serve):
    model = Gated(["hello"], seconds=0.03)
    server = serve(Infiller(model, search=Fixed(60)))
    line = begin(server, body("a"))
    until(model.entered.is_set)
    line.close()
    until(lambda: server.engine.idle)
    assert model.forwards < 15
    assert server.metric("fills_total", end="cancelled") == 1
    still = model.forwards
    time.sleep(0.15)
    assert model.forwards == still


def test_what_is_spent_on_those_who_leave_is_counted_apart(serve):
    model = Gated(["hello"], seconds=0.02)
    server = serve(Infiller(model, search=Fixed(30)))
    line = begin(server, body("a"))
    until(lambda: model.forwards >= 3)
    line.close()
    until(lambda: server.engine.idle)
    wasted, seconds = server.metric("wasted_queries_total"), server.metric("wasted_seconds_total")
    assert wasted == model.forwards == server.metric("queries_total") >= 3
    assert seconds == pytest.approx(server.metric("model_seconds_total"))
    server.post("/infill", body("aa"))
    assert (server.metric("wasted_queries_total"), server.metric("wasted_seconds_total")) == (wasted, seconds)
    assert server.metric("queries_total") > wasted


def test_a_waiting_request_that_is_cancelled_never_begins_and_leaves_its_place(serve):
    model = Gated(["hello"])
    server = serve(model, queue=1, at_once=1)
    model.gate.clear()
    first = begin(server, body("a"))
    until(model.entered.is_set)
    second = begin(server, body("aa"))
    until(lambda: busy(server, "waiting") == 1)
    second.close()
    until(lambda: all(job.future.cancelled() for job in server.engine._waiting))
    third = begin(server, body("aaa"))
    until(lambda: server.engine._waiting and not server.engine._waiting[0].future.cancelled())
    model.gate.set()
    for line in (first, third):
        assert b'"content":"hello"' in end(line)
    assert all(len(query.canvas.texts[0]) != 2 for call in model.asked[2:] for query in call)


def test_a_stream_that_is_left_stops_too(serve):
    model = Gated(["hello"], seconds=0.03)
    server = serve(Infiller(model, search=Fixed(60)))
    line = socket.create_connection(("127.0.0.1", server.port), timeout=30)
    asked = json.dumps({"text": "a<hole>b", "stream": True}).encode()
    line.sendall(http("POST", "/v1/fill", asked, "Content-Type: application/json"))
    assert b"200" in line.recv(1024)
    line.close()
    until(lambda: server.engine.idle)
    assert model.forwards < 40


def test_when_time_is_up_the_best_fill_known_is_given(serve):
    model = Gated(["hello"], seconds=0.03)
    server = serve(Infiller(model, search=HillClimb(8, 4, 1, 64)), cache=9)
    started = time.perf_counter()
    answer = server.post("/infill", body("a", t_max_predict_ms=250)).json()
    assert time.perf_counter() - started < 1.0
    assert answer["content"]
    assert answer["stop_type"] == "limit"
    assert model.forwards < 12
    assert server.metric("fills_total", end="late") == 1
    # With all the time there is, the answer is another, so the late one was not remembered.
    assert server.post("/infill", body("a")).json()["content"] == "hello"


def test_a_request_without_a_budget_has_the_server_s_and_one_with_its_own_keeps_it(serve):
    server = serve(Infiller(Gated(["hello"], seconds=0.03), search=HillClimb(8, 4, 1, 64)), cache=0, within=0.2)
    started = time.perf_counter()
    answer = server.post("/v1/completions", {"prompt": "a", "suffix": "b"}).json()
    assert time.perf_counter() - started < 1.0
    assert answer["choices"][0]["text"]
    assert answer["choices"][0]["finish_reason"] == "length"
    assert server.post("/infill", body("a")).json()["stop_type"] == "limit"
    assert server.metric("fills_total", end="late") == 2
    assert server.post("/infill", body("a", t_max_predict_ms=20000)).json()["content"] == "hello"
    assert server.metric("fills_total", end="done") == 1


def test_a_budget_that_was_spent_in_the_queue_still_gets_a_fill(serve):
    model = Gated(["hello"])
    server = serve(model, at_once=1)
    model.gate.clear()
    first = begin(server, body("a"))
    until(model.entered.is_set)
    second = begin(server, body("aa", t_max_predict_ms=1))
    time.sleep(0.1)
    model.gate.set()
    for line in (first, second):
        assert json.loads(end(line).split(b"\r\n\r\n")[1])["content"]


def test_a_full_queue_says_when_to_come_back_and_drops_nobody_it_took(serve):
    model = Gated(["hello"])
    server = serve(model, queue=2, at_once=1)
    model.gate.clear()
    taken = [begin(server, body("a"))]
    until(model.entered.is_set)
    taken += [begin(server, body("aa")), begin(server, body("aaa"))]
    until(lambda: len(server.engine._waiting) == 2)
    refused = server.post("/infill", body("aaaa"))
    assert refused.status_code == 503
    assert int(refused.headers["retry-after"]) >= 1
    assert "2 requests are waiting" in is_error(503, refused.text, "unavailable_error")
    model.gate.set()
    for line in taken:
        assert b'"content":"hello"' in end(line)


def test_the_loop_answers_while_the_model_is_at_work(serve):
    model = Gated(["hello"])
    server = serve(model)
    model.gate.clear()
    line = begin(server, body("a"))
    until(model.entered.is_set)
    started = time.perf_counter()
    assert server.get("/health").json() == {"status": "ok"}
    assert time.perf_counter() - started < 1
    assert "calipers_running 1" in server.get("/metrics").text
    model.gate.set()
    assert b"hello" in end(line)


def test_who_waits_longest_starts_first(serve):
    model = Gated(["hello"])
    server = serve(model, at_once=1)
    model.gate.clear()
    lines = []
    for number in range(1, 5):
        lines.append(begin(server, body("a" * number)))
        until(lambda: busy(server, "running") + busy(server, "waiting") == len(lines))
    model.gate.set()
    for line in lines:
        end(line)
    begun = [len(query.canvas.texts[0]) for call in model.asked[2:] for query in call]
    assert list(dict.fromkeys(begun)) == [1, 2, 3, 4]


def test_short_work_overtakes_long(serve):
    model = Gated(["hello"], seconds=0.01)
    server = serve(Infiller(model, search=Fixed(60)))
    long = begin(server, body("long"))
    until(model.entered.is_set)
    assert server.post("/infill", body("a", n_predict=2)).json()["content"] == "he"
    assert busy(server, "running") == 1
    long.close()


def test_before_the_model_is_there_the_server_says_so(serve):
    there = threading.Event()

    def open():
        assert there.wait(20)
        return Infiller(Scripted(["hello"]))

    server = serve(open, ready=False)
    for answer in (server.get("/health"), server.post("/infill", body("a")), server.get("/v1/models")):
        assert is_error(answer.status_code, answer.text, "unavailable_error") == "Loading model"
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "2")
    there.set()
    until(lambda: server.get("/health").status_code == 200)
    assert server.post("/infill", body("a")).json()["content"] == "hello"


def test_a_model_that_cannot_be_loaded_is_told_and_kept():
    def open():
        raise ModelError("no such model")

    ended = threading.Event()
    engine = Engine(open, ended=ended.set)
    engine.start()
    assert ended.wait(20)
    assert (engine.state, str(engine.failure)) == ("failed", "no such model")
    with pytest.raises(Refusal):
        engine.submit(iter(()))


def test_only_those_a_forward_fails_for_hear_of_it(serve):
    class Allergic(Scripted):
        def predict(self, queries):
            if any(query.canvas.texts[0][:1] == (ord("!"),) for query in queries):
                raise RuntimeError("secret detail")
            yield from super().predict(queries)

    server = serve(Infiller(Allergic(["hello"] * 9), decoder=Denoise()))
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda text: server.post("/infill", body(text)), ["!a", "a", "!aa", "aa", "!b", "b"]))
    assert [answer.status_code for answer in answers] == [500, 200] * 3
    assert all("secret" not in is_error(500, answer.text, "server_error") for answer in answers[::2])
    assert {answer.json()["content"] for answer in answers[1::2]} == {"hello"}


def test_closing_finishes_what_was_taken_and_refuses_what_comes():
    model = Gated(["hello"], seconds=0.01)
    infiller = Infiller(model)
    engine = Engine(lambda: infiller)
    engine.start()
    until(lambda: engine.state == "ok")
    taken = [engine.submit(infiller.begin(Template.around("a" * n, "b")).run()) for n in range(1, 6)]
    engine.drain()
    with pytest.raises(Refusal, match="shutting down"):
        engine.submit(infiller.begin(Template.around("a", "b")).run())
    engine.close(30)
    assert [future.result(0).text for future in taken] == ["hello"] * 5
    assert engine.state == "draining"


def test_what_is_not_done_within_the_grace_hears_of_it():
    model = Gated(["hello"], seconds=0.02)
    infiller = Infiller(model, search=Fixed(60))
    engine = Engine(lambda: infiller, at_once=1)
    engine.start()
    until(lambda: engine.state == "ok")
    taken = [engine.submit(infiller.begin(Template.around("a" * n, "b")).run()) for n in range(1, 4)]
    engine.close(0.1)
    for future in taken:
        with pytest.raises(Refusal, match="shut down"):
            future.result(10)


def test_a_slow_reader_keeps_nobody_waiting(serve):
    server = serve(Scripted(["hello"]))
    with contextlib.closing(begin(server, body("a"))):
        assert server.post("/infill", body("aa")).json()["content"] == "hello"
