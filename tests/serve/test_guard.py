"""What a request must pass, and what all the malformed ones there are are told: a clear 4xx, and the server lives."""

import logging
import socket
import time

import pytest
from serving import http, is_error, split, until

from calipers import Infiller, Scripted
from calipers.serve.guard import Guard, Rules, allowed_hosts
from calipers.serve.metrics import Metrics
from calipers.serve.run import Impatient

JSON = "Content-Type: application/json"
GOOD = b'{"input_prefix":"a","input_suffix":"b"}'


def alive(server):
    return split(server.raw(http("POST", "/infill", GOOD, JSON)))[0] == 200


MALFORMED = {
    "no body": b"",
    "half an object": b'{"input_prefix":"a","input_suffix":',
    "a list": b"[]",
    "null": b"null",
    "a string": b'"input_prefix"',
    "no JSON at all": b"input_prefix=a",
    "no UTF-8": b'{"input_prefix":"\xff\xfe","input_suffix":"b"}',
    "UTF-16": '{"input_prefix":1,"input_suffix":"b"}'.encode("utf-16"),
    "a raw NUL": b'{"input_prefix":"a\x00","input_suffix":"b"}',
    "half a surrogate": b'{"input_prefix":"\\ud800","input_suffix":"b"}',
    "half a surrogate elsewhere": b'{"input_prefix":"a","input_suffix":"b","stop":["\\udfff"]}',
    "a wrong type": b'{"input_prefix":1,"input_suffix":"b"}',
    "null for text": b'{"input_prefix":null,"input_suffix":"b"}',
    "a bool for a number": b'{"input_prefix":"a","input_suffix":"b","n_predict":true}',
    "a float for a whole number": b'{"input_prefix":"a","input_suffix":"b","n_predict":1.5}',
    "a huge float": b'{"input_prefix":"a","input_suffix":"b","temperature":1e400}',
    "a huge whole number": b'{"input_prefix":"a","input_suffix":"b","n_predict":1' + b"0" * 30 + b"}",
    "more digits than Python reads": b'{"input_prefix":"a","input_suffix":"b","n_predict":1' + b"0" * 9999 + b"}",
    "a huge float for a whole number": b'{"input_prefix":"a","input_suffix":"b","n_predict":1e400}',
    "no number": b'{"input_prefix":"a","input_suffix":"b","temperature":NaN}',
    "infinity": b'{"input_prefix":"a","input_suffix":"b","top_p":Infinity}',
    "deep lists": b'{"input_prefix":"a","input_suffix":"b","x":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "deep objects": b'{"input_prefix":' + b'{"a":' * 50_000 + b"1" + b"}" * 50_000 + b"}",
    "unending lists": b"[" * 500_000,
}


@pytest.mark.parametrize("name", MALFORMED)
def test_what_is_malformed_is_a_clear_400(serve, name):
    server = serve()
    status, _, body = split(server.raw(http("POST", "/infill", MALFORMED[name], JSON)))
    assert status == 400
    is_error(400, body, "invalid_request_error")
    assert alive(server)


def test_an_escaped_nul_is_a_character_like_others(serve):
    answer = serve().post("/infill", {"input_prefix": "a\0", "input_suffix": "\0b"})
    assert answer.json()["content"] == "hello"


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"])
def test_what_a_page_could_send_without_asking_is_refused(serve, kind):
    status, _, body = split(serve().raw(http("POST", "/infill", GOOD, f"Content-Type: {kind}")))
    assert "Content-Type: application/json" in is_error(status, body)


def test_an_unknown_key_is_named_and_its_value_is_not(serve):
    answer = serve().post("/v1/completions", {"prompt": "a", "sufix": "my secret"})
    assert is_error(400, answer.text) == '"sufix" is not known here; leave it out.'


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", "/nowhere", 404), ("DELETE", "/infill", 405), ("GET", "/../../etc/passwd", 404)],
)
def test_what_is_not_there_is_an_error_of_the_same_shape(serve, method, path, status):
    got, _, body = split(serve().raw(http(method, path)))
    assert got == status
    is_error(status, body)


def test_a_body_of_10_mb_is_refused_however_it_comes(serve):
    server = serve()
    big = b'{"input_prefix":"' + b"a" * 10_000_000 + b'","input_suffix":"b"}'
    status, headers, body = split(server.raw(http("POST", "/infill", big, JSON)))
    assert (status, headers["connection"]) == (413, "close")
    assert "larger than 1048576 bytes" in is_error(413, body)
    chunks = b"".join(b"10000\r\n" + b"a" * 65536 + b"\r\n" for _ in range(32)) + b"0\r\n\r\n"
    head = http("POST", "/infill", b"", JSON, "Transfer-Encoding: chunked")
    assert split(server.raw(head + chunks))[0] == 413
    assert alive(server)


def test_a_body_without_end_is_hung_up_on(serve):
    server = serve(body=1000)
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as line:
        line.sendall(http("POST", "/infill", b"", JSON, length=10**12))
        with pytest.raises(OSError):  # noqa: PT012
            while True:
                line.sendall(b"a" * 65536)
    assert alive(server)


def test_a_body_that_does_not_come_is_not_waited_for(serve):
    server = serve(seconds=0.3)
    started = time.perf_counter()
    status, headers, body = split(server.raw(http("POST", "/infill", b'{"input', JSON, length=100)))
    assert (status, headers["connection"]) == (408, "close")
    assert time.perf_counter() - started < 5
    is_error(408, body)
    assert alive(server)


@pytest.mark.parametrize("sent", [b"", b"POST /infill HTTP/1.1\r\nHost: local"])
def test_headers_that_do_not_come_are_not_waited_for(serve, monkeypatch, sent):
    monkeypatch.setattr(Impatient, "seconds", 0.3)
    server = serve()
    started = time.perf_counter()
    assert server.raw(sent) == b""
    assert 0.2 < time.perf_counter() - started < 5
    assert alive(server)


@pytest.mark.parametrize(
    "data",
    [
        b"\x00\x01\x02\r\n\r\n",
        b"GET / HTTP/9.9\r\nConnection: close\r\n\r\n",
        b"POST /infill HTTP/1.1\r\nHost: localhost\r\nContent-Length: -5\r\n\r\n",
        b"POST /infill HTTP/1.1\r\nHost: localhost\r\nContent-Length: many\r\n\r\n",
        b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
        b"POST /infill HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\nzz\r\n",
    ],
)
def test_what_is_no_http_is_a_400(serve, data):
    server = serve()
    assert server.raw(data).startswith(b"HTTP/1.1 4")
    assert alive(server)


# Keys.


@pytest.mark.parametrize(
    "header",
    [
        "",
        "Authorization: Bearer",
        "Authorization: Bearer wrong",
        "Authorization: Basic right",
        "Authorization: right",
        "Authorization: Bearer \u00e9",
        "X-Api-Key: right",
    ],
)
def test_without_the_right_key_there_is_no_answer(serve, header):
    server = serve(keys=("right", "also"))
    headers = [JSON, header] if header else [JSON]
    status, _, body = split(server.raw(http("POST", "/infill", GOOD, *headers)))
    assert status == 401
    is_error(401, body, "authentication_error")
    assert split(server.raw(http("GET", "/props", b"", *headers[1:])))[0] == 401
    assert split(server.raw(http("GET", "/metrics", b"", *headers[1:])))[0] == 401


def test_with_any_of_the_keys_there_is_and_health_needs_none(serve):
    server = serve(keys=("right", "also"))
    for key in ("right", "also"):
        assert split(server.raw(http("POST", "/infill", GOOD, JSON, f"Authorization: Bearer {key}")))[0] == 200
    assert server.get("/health").status_code == 200


def test_keys_are_compared_in_constant_time_all_of_them(monkeypatch):
    compared = []
    monkeypatch.setattr("hmac.compare_digest", lambda given, known: compared.append(known) or given == known)
    guard = Guard(None, Rules(keys=("one", "two")), Metrics())
    guard._check({"path": "/infill", "headers": [(b"authorization", b"Bearer one")]})
    assert compared == [b"one", b"two"]


# Other pages.


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example:80", "[::", ""])
def test_another_name_for_the_loopback_is_refused(serve, host):
    data = http("POST", "/infill", GOOD, JSON).replace(b"127.0.0.1:8012", host.encode())
    status, _, body = split(serve().raw(data))
    assert status == 403
    is_error(403, body, "permission_error")


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1", "127.0.0.1:8012", "[::1]:8012"])
def test_the_names_of_the_loopback_are_not(serve, host):
    data = http("POST", "/infill", GOOD, JSON).replace(b"127.0.0.1:8012", host.encode())
    assert split(serve().raw(data))[0] == 200


def test_a_server_for_others_answers_to_any_name():
    assert allowed_hosts("0.0.0.0") == frozenset()
    assert "localhost" in allowed_hosts("127.0.0.1")


def test_no_other_page_may_read_unless_asked_for(serve):
    question = ("Origin: http://page.example", "Access-Control-Request-Method: POST")
    _, headers, _ = split(serve().raw(http("OPTIONS", "/infill", b"", *question)))
    assert not [name for name in headers if name.startswith("access-control")]
    server = serve(cors=("http://page.example",), keys=("right",))
    status, headers, _ = split(server.raw(http("OPTIONS", "/infill", b"", *question)))
    assert (status, headers["access-control-allow-origin"]) == (200, "http://page.example")
    other = ("Origin: http://other.example", "Access-Control-Request-Method: POST")
    assert split(server.raw(http("OPTIONS", "/infill", b"", *other)))[0] == 400


# The log.


SECRET = "it quotes my secret code"


class Broken(Scripted):
    def predict(self, queries):
        if self.asked and len(self.asked) >= 2:
            raise RuntimeError(SECRET)
        return super().predict(queries)


@pytest.mark.parametrize("log_prompts", [False, True])
def test_the_log_has_no_text_of_a_user_unless_asked_for(serve, caplog, log_prompts):
    caplog.set_level(logging.INFO)
    logging.getLogger("httpx").setLevel(logging.WARNING)  # the client's own
    server = serve(Infiller(Broken(["hello"])), log_prompts=log_prompts)
    assert server.post("/infill", {"input_prefix": "my secret code", "input_suffix": "b"}).status_code == 500
    server.post("/infill", {"input_prefix": 5, "my secret code": "b"})
    server.get("/my secret code?my+secret+code")
    until(lambda: "GET other 404" in caplog.text)  # a line is written after its answer was sent
    assert "POST /infill 500" in caplog.text
    assert "POST /infill 400" in caplog.text
    assert ("secret" in caplog.text) is log_prompts


def test_requests_are_counted_by_route_and_status(serve):
    server = serve()
    server.post("/infill", {"input_prefix": "a", "input_suffix": "b"})
    server.get("/nowhere")
    until(lambda: server.metric("requests_total") == 2)
    text = server.get("/metrics").text
    assert 'calipers_requests_total{route="/infill",status="200"} 1' in text
    assert 'calipers_requests_total{route="other",status="404"} 1' in text
    assert "nowhere" not in text
