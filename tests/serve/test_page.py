"""The page's files as they are served: these and no others, to anyone, under a policy that allows nothing else."""

import re
from pathlib import Path

import pytest

import calipers.serve.page
from calipers.serve.page import PATHS

HOME = Path(calipers.serve.page.__file__).parent / "playground"
EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"


def test_every_file_of_the_page_is_served_as_it_is_and_without_a_key(serve):
    server = serve(keys=("secret",))
    assert {path.name for path in HOME.iterdir()} == {path.rpartition("/")[2] for path in PATHS} - {""}
    for path in PATHS:
        answer = server.get(path)
        assert answer.status_code == 200, path
        assert answer.content == (HOME / (path.rpartition("/")[2] or "playground.html")).read_bytes()
        assert answer.headers["content-type"].startswith(("text/", "image/svg+xml"))
        assert answer.headers["x-content-type-options"] == "nosniff"
    assert server.get("/props").status_code == 401


def test_the_policy_lets_the_page_load_and_speak_to_its_own_server_only(serve):
    policy = serve().get("/").headers["content-security-policy"]
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert rules.pop("require-trusted-types-for") == "'script'"
    assert set(rules.values()) == {"'self'", "'none'"}
    assert rules["default-src"] == rules["frame-ancestors"] == rules["trusted-types"] == "'none'"


@pytest.mark.parametrize(
    "path",
    [
        "/playground/",
        "/playground/../app.py",
        "/playground/..%2fapp.py",
        "/playground/%2e%2e%2fapp.py",
        "/playground/..%5capp.py",
        "/playground/%2fetc%2fpasswd",
        "/playground/main.js%00.html",
        "/playground/MAIN.JS",
        "/playground/page.py",
        "/playground.html",
    ],
)
def test_no_other_path_leads_to_a_file(serve, path):
    server = serve()
    status = server.raw(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".encode()).split()[1]
    assert status == b"404"


def test_all_the_page_refers_to_is_there():
    for file in HOME.iterdir():
        text = file.read_text("utf-8")
        named = re.findall(r'from "\./([^"]+)"', text) + re.findall(r'(?:src|href)="/playground/([^"]+)"', text)
        assert {f"/playground/{name}" for name in named} <= PATHS, file


def test_nothing_in_the_page_is_of_elsewhere_or_makes_markup_of_text():
    for file in HOME.iterdir():
        text = file.read_text("utf-8")
        addresses = set(re.findall(r"(?:https?:)?//[a-z][\w.-]+", text)) - {"http://www.w3.org"}
        assert not addresses, file
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function", text), (
            file
        )


def test_the_paper_s_figure_1_is_the_one_in_the_documents():
    source = (HOME / "examples.js").read_text("utf-8")
    assert f"const FIGURE_1 = `{(EXAMPLES / 'figure1.py').read_text('utf-8')}`;" in source


def test_modules_are_short():
    assert max(len(file.read_text("utf-8").splitlines()) for file in HOME.iterdir()) <= 300
