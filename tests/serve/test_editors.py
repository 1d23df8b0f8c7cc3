"""vim and neovim themselves at our server, and the bodies other editors' clients send.

The bodies are facts of the wire, read in each client's source (docs/editors.md says which version).
"""

import json
import logging

import pytest
from editors import TAB, Editor, needed
from serving import Gated, until

from calipers import Fixed, Infiller, Scripted

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
