"""vim and neovim themselves at our server, and the bodies other editors' clients send.

The bodies are facts of the wire, read in each client's source (docs/editors.md says which version).
"""

import json
import logging

import pytest
from editors import TAB, Editor, needed
from serving import Gated, http, split, until

from calipers import Fixed, Infiller, Scripted
from pretend import Chaotic

VIMS = [pytest.param(name, marks=needed(name, "curl")) for name in ("vim", "nvim")]
FILE = "def add(a, b):\n    retur\n\nprint(add(1, 2))\n"


@pytest.fixture
def edit(tmp_path, request):
    """Open a file in an editor; it is ended with the test."""
    opened = []

    def open(program, server, text=FILE, **more):
        file = tmp_path / "file.py"
        file.write_text(text)
        opened.append(Editor(program, server, file, **more))
        return opened[-1], file

    yield open
    for one in opened:
        one.close()


@pytest.fixture
def bodies(caplog):
    """What the server was sent, byte by byte; it must have been told to log that."""
    caplog.set_level(logging.INFO, "calipers.serve")
    return lambda: [record.args[1] for record in caplog.records if record.msg.startswith("asked")]


def spaced(body, program):
    """A body as the editor's own json_encode spaces it: vim not at all, neovim after every colon and comma."""
    return json.dumps(body, ensure_ascii=False, separators=(", ", ": ") if program == "nvim" else (",", ":"))


@pytest.mark.parametrize("program", VIMS)
def test_what_is_accepted_in_the_editor_is_what_the_server_gave(serve, edit, program):
    editor, file = edit(program, serve(Scripted(["n a +\n        b"])))
    editor.type("2GA ")
    (answer,) = editor.wait("shown")
    assert answer["content"] == "n a +\n        b"
    editor.type(TAB)
    editor.wait("accepted")
    editor.save()
    assert file.read_text() == FILE.replace("retur\n", "retur n a +\n        b\n")


@pytest.mark.parametrize("program", VIMS)
def test_the_server_gets_the_bytes_the_editor_made_and_their_text(serve, edit, bodies, program):
    model = Scripted(["x"])
    server = serve(model, log_prompts=True, keys=("secret",))
    editor, _ = edit(program, server, "# naïve “ö” \\\t\n\tif x:\n\t\tfoo()\nend\n", key="secret", within=20000)
    editor.type("3G$i1")  # within foo(), before its last character
    editor.wait("shown")
    (sent,) = bodies()
    asked = json.loads(sent)
    assert sent.decode() == spaced(asked, program)
    assert {
        "id_slot": 0,
        "input_prefix": "# naïve “ö” \\\t\n\tif x:\n",
        "prompt": "\t\tfoo(1",
        "input_suffix": ")\nend\n",
        "n_predict": 128,
        "n_cmpl": 1,
        "n_indent": 2,
        "top_p": 0.9,
        "stop": [],
        "stream": False,
        "t_max_predict_ms": 20000,
    }.items() <= asked.items()
    left, right = model.asked[-1][-1].canvas.texts
    assert bytes(left).decode() == "import os\n\n# naïve “ö” \\\t\n\tif x:\n\t\tfoo(1"
    assert bytes(right) == b")\nend\n"


@pytest.mark.parametrize("program", VIMS)
def test_the_next_key_ends_the_work_for_the_one_before(serve, edit, program):
    model = Gated(["n a + b"])
    server = serve(Infiller(model, search=Fixed(7)))
    model.gate.clear()
    editor, file = edit(program, server)
    editor.type("2GA ")
    until(model.entered.is_set)
    for count, key in enumerate("abc", 1):
        editor.type(key)
        until(lambda count=count: len(server.engine._waiting) == count)
    # The first is in the forward that is held, the last is to come; nobody waits for those between.
    until(lambda: server.engine._running[0].future.cancelled())
    until(lambda: [job.future.cancelled() for job in server.engine._waiting] == [True, True, False])
    assert len(editor.did("stopped")) == 3
    model.gate.set()
    (answer,) = editor.wait("shown")
    until(lambda: server.engine.idle)
    assert server.metric("fills_total", end="cancelled") == 3
    assert model.forwards == 7 + 1  # of the last a forward a token; of the first the one that was under way
    assert answer["content"] == "n a + b"
    assert editor.did("dropped") == []
    editor.type(TAB)
    editor.wait("accepted")
    editor.save()
    assert "retur abcn a + b\n" in file.read_text()


@pytest.mark.parametrize("program", VIMS)
def test_a_warm_up_costs_nothing_and_is_answered_with_what_it_asked_for(serve, edit, program):
    model = Gated(["x"])
    editor, _ = edit(program, serve(model))
    editor.type(":Warm\r")
    assert editor.wait("warm") == ["{}"]
    assert model.forwards == 0


@pytest.mark.parametrize("program", VIMS)
def test_a_wrong_key_shows_nothing_and_says_why(serve, edit, program):
    editor, _ = edit(program, serve(keys=("secret",)), key="wrong")
    editor.type("2GA ")
    (body,) = editor.wait("dropped")
    assert json.loads(body)["error"]["type"] == "authentication_error"
    editor.type(TAB)
    editor.wait("nothing")


@pytest.mark.slow
@pytest.mark.parametrize("program", VIMS)
def test_the_bundled_model_completes_in_the_editor(serve, edit, program):
    server = serve(lambda: Infiller("calipers-135m", context=256))
    editor, file = edit(program, server, "def add(a, b):\n    retur\n\nprint(add(1, 2))\n", within=60000)
    editor.type("2GAn")
    (answer,) = editor.wait("shown")
    assert answer["content"].strip()
    assert answer["timings/predicted_n"] > 0
    editor.type(TAB)
    editor.wait("accepted")
    editor.save()
    assert file.read_text() == FILE.replace("retur\n", f"return{answer['content']}\n")


TEXT = {"input_prefix": "def f(x):\n", "input_suffix": "\n\nprint(f(1))\n", "prompt": "    return "}
SAMPLERS = {"samplers": ["top_k", "top_p", "infill"], "stream": False, "cache_prompt": True, "t_max_prompt_ms": 500}
NOTHING = {"input_prefix": "", "input_suffix": "", "prompt": "", "n_predict": 0, "samplers": [], "cache_prompt": True}
FIELDS = ["content", "timings/prompt_n", "timings/predicted_n", "timings/predicted_ms", "truncated", "tokens_cached"]
INFILL = {
    "llama.vim": {
        "id_slot": 0,
        **TEXT,
        "input_extra": [{"text": "import os\n", "time": [1, 2], "filename": "a.py"}],
        "n_predict": 128,
        "stop": [],
        "n_cmpl": 1,
        "n_indent": 4,
        "top_k": 40,
        "top_p": 0.9,
        **SAMPLERS,
        "t_max_predict_ms": 250,
        "response_fields": FIELDS,
    },
    "llama.vim, with a model named, after it was turned off and on": {
        "id_slot": 0,
        **TEXT,
        "input_extra": [],
        "n_predict": 128,
        "stop": ["\n"],
        "n_cmpl": 1,
        "n_indent": -1,
        "top_k": 40,
        "top_p": 0.9,
        **SAMPLERS,
        "t_max_predict_ms": 1000,
        "response_fields": FIELDS,
        "model": "qwen",
    },
    "llama.vim as it began": {
        **TEXT,
        "input_extra": [],
        "n_predict": 256,
        "n_indent": 4,
        "top_k": 40,
        "top_p": 0.99,
        **SAMPLERS,
        "t_max_predict_ms": 1500,
        "response_fields": FIELDS,
    },
    "llama.vscode, one completion": {
        "id_slot": 0,
        **TEXT,
        "input_extra": [{"text": "import os\n", "time": 1763584830000, "filename": "a.py"}],
        "n_predict": 128,
        "n_cmpl": 1,
        "top_k": 40,
        "top_p": 0.99,
        **SAMPLERS,
        "n_indent": 4,
        "t_max_predict_ms": 500,
    },
}
WARM_UPS = {
    "llama.vim": {
        "id_slot": 0,
        **NOTHING,
        "input_extra": [{"text": "import os\n", "time": [1, 2], "filename": "a.py"}],
        "temperature": 0.0,
        "stream": False,
        "t_max_prompt_ms": 1,
        "t_max_predict_ms": 1,
        "response_fields": [""],
    },
    "llama.vscode": {
        "id_slot": 0,
        **NOTHING,
        "input_extra": [{"text": "import os\n", "time": 1763584830000, "filename": "a.py"}],
        "t_max_prompt_ms": 500,
        "t_max_predict_ms": 1,
    },
}
# What is put before the cursor by minuet: the language and how the file is indented.
BEFORE, AFTER = "# language: python\n# indentation: use 4 spaces for a tab\ndef f(x):\n    return ", "\n\nprint(f(1))\n"
COMPLETIONS = {
    "minuet-ai.nvim": {"model": "scripted", "stream": True, "prompt": BEFORE, "suffix": AFTER},
    "minuet-ai.nvim, with options": {
        "model": "scripted",
        "stream": True,
        "max_tokens": 56,
        "top_p": 0.9,
        "stop": ["\n\n"],
        "prompt": BEFORE,
        "suffix": AFTER,
    },
    "minuet.el": {"max_tokens": 56, "stream": True, "model": "scripted", "prompt": BEFORE, "suffix": AFTER},
}


def sent(server, path, body, *headers):
    """A body as curl sends it."""
    more = ("User-Agent: curl/7.88.1", "Accept: */*", "Content-Type: application/json", *headers)
    status, head, answer = split(server.raw(http("POST", path, spaced(body, "vim").encode(), *more)))
    assert status == 200, answer
    return head, answer


def events(answer):
    """The data of a stream's events, read as minuet does: lines that begin with `data:`."""
    lines = [line.removeprefix("data: ") for line in answer.decode().splitlines() if line.startswith("data: ")]
    assert lines[-1] == "[DONE]"
    return [json.loads(line) for line in lines[:-1]]


@pytest.mark.parametrize("name", INFILL)
def test_a_client_of_infill_is_answered_with_what_it_reads(serve, name):
    _, answer = sent(serve(), "/infill", INFILL[name], "Authorization: Bearer ")
    assert b'"content":"hello"' in answer or INFILL[name].get("stop")
    wanted = INFILL[name].get("response_fields", ["content", "tokens_cached", "truncated", "timings", "tokens"])
    assert set(wanted) <= set(json.loads(answer))


@pytest.mark.parametrize("name", WARM_UPS)
def test_a_client_may_warm_up_and_nothing_is_computed(serve, name):
    model = Gated(["x"])
    _, answer = sent(serve(model), "/infill", WARM_UPS[name])
    assert json.loads(answer).get("content", "") == ""
    assert model.forwards == 0


def test_llama_vscode_gets_the_three_it_asks_for_and_knows_the_server_by_its_small_routes(serve):
    server = serve(Infiller(Chaotic(3)))
    asked = INFILL["llama.vscode, one completion"] | {"n_cmpl": 3, "t_max_predict_ms": 20000}
    answers = json.loads(sent(server, "/infill", asked)[1])
    assert len({answer["content"] for answer in answers}) == 3
    assert server.get("/health").json() == {"status": "ok"}
    assert [one["id"] for one in server.get("/v1/models").json()["data"]] == ["chaotic"]
    assert server.get("/props").json()["default_generation_settings"]["n_ctx"] > 0


@pytest.mark.parametrize("name", COMPLETIONS)
def test_minuet_reads_the_text_out_of_the_stream(serve, name):
    head, answer = sent(serve(), "/v1/completions", COMPLETIONS[name], "Authorization: Bearer xterm")
    assert head["content-type"].startswith("text/event-stream")
    assert "".join(event["choices"][0]["text"] for event in events(answer)) == "hello"


def test_minuet_asks_for_the_same_three_times_and_each_is_answered(serve):
    server = serve()
    for _ in range(3):
        answer = sent(server, "/v1/completions", COMPLETIONS["minuet.el"])[1]
        assert events(answer)[0]["choices"][0]["text"] == "hello"


def test_zed_reads_a_chat_s_message(serve):
    body = {"model": "scripted", "prompt": BEFORE, "suffix": AFTER, "max_tokens": 350}
    body |= {"temperature": 0.2, "top_p": 1.0, "stream": False}
    answer = json.loads(sent(serve(), "/v1/fim/completions", body)[1])
    assert set(answer) == {"id", "object", "model", "usage", "created", "choices"}
    (choice,) = answer["choices"]
    assert choice == {"index": 0, "message": {"role": "assistant", "content": "hello"}, "finish_reason": "stop"}
    assert set(answer["usage"]) == {"prompt_tokens", "completion_tokens", "total_tokens"}


def test_continue_reads_the_deltas_of_a_chat_s_stream(serve):
    body = {"model": "scripted", "prompt": BEFORE, "suffix": AFTER, "max_tokens": 4096, "temperature": 0.01}
    body |= {"stop": ["/src/", "\n\n\n", "```"], "stream": True, "frequency_penalty": 0, "presence_penalty": 0}
    told = events(sent(serve(), "/v1/fim/completions", body, "x-api-key: none", "Authorization: Bearer none")[1])
    assert {event["object"] for event in told} == {"chat.completion.chunk"}
    assert "".join(event["choices"][0]["delta"]["content"] for event in told) == "hello"
    assert told[-1]["usage"]["completion_tokens"] == 5


@pytest.mark.parametrize("more", [{"min_tokens": 9}, {"frequency_penalty": 0.5}, {"logprobs": 1}, {"tools": []}])
def test_what_mistral_s_route_cannot_do_is_refused_by_name(serve, more):
    answer = serve().post("/v1/fim/completions", {"prompt": "a"} | more)
    assert answer.status_code == 400
    assert f'"{next(iter(more))}" is not' in answer.json()["error"]["message"]
