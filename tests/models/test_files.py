"""Checkpoints from the hub: a real server that speaks its protocol, the real client, a cache of its own.

The client reads its environment when it is imported, so each load happens in a fresh interpreter.
"""

import hashlib
import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from calipers.models.card import cards
from calipers.models.files import bundled
from helpers import checkpoint, python, split

REPOSITORY = "owner/tiny"


class Hub(ThreadingHTTPServer):
    """The part of the hub's protocol that downloads use, over folders by (repository, revision)."""

    daemon_threads = True

    def __init__(self, folders: dict[tuple[str, str], Path]) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.folders = folders
        self.broken: set[str] = set()  # files whose download breaks off
        self.sent: list[str] = []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def find(self, repository: str, revision: str) -> tuple[str, Path] | None:
        """Commit and folder of a branch, a tag or a commit."""
        for (name, branch), folder in self.folders.items():
            commit = hashlib.sha1(f"{name}@{branch}".encode()).hexdigest()
            if name == repository and revision in (branch, commit):
                return commit, folder
        return None


class Answer(BaseHTTPRequestHandler):
    server: Hub

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        parts = path.removeprefix("/api/models").split("/")[1:]
        if len(parts) < 4:
            return self.answer(404, b"{}")  # whatever else the client is curious about
        owner, name, kind, revision, *_ = parts
        repository = f"{owner}/{name}"
        found = self.server.find(repository, revision)
        if found is None:
            known = any(repository == name for name, _ in self.server.folders)
            return self.answer(404, b"{}", {"X-Error-Code": "RevisionNotFound" if known else "RepoNotFound"})
        commit, folder = found
        files = sorted(folder.iterdir())
        if kind == "revision":
            siblings = [{"rfilename": f.name} for f in files]
            return self.answer(200, json.dumps({"id": repository, "sha": commit, "siblings": siblings}).encode())
        if kind == "tree":
            tree = [{"type": "file", "path": f.name, "size": f.stat().st_size, "oid": etag(f)} for f in files]
            return self.answer(200, json.dumps(tree).encode())
        file = folder / path.rpartition("/")[2]
        self.server.sent.append(f"{self.command} {file.name}")
        cut = 100 if file.name in self.server.broken else None
        return self.answer(200, file.read_bytes(), {"ETag": f'"{etag(file)}"', "X-Repo-Commit": commit}, cut)

    def answer(self, status: int, body: bytes, headers: dict[str, str] | None = None, cut: int | None = None) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body[:cut])

    def log_message(self, *_: object) -> None:
        pass


def etag(file: Path) -> str:
    return hashlib.sha1(file.read_bytes()).hexdigest()


LOAD = """
import json, sys
from calipers.errors import ModelError
from calipers.models.load import load

answers = []
for name, revision in json.loads(sys.argv[1]):
    try:
        model = load(name, revision=revision, device="cpu", dtype="float32")
        answers.append([model.card.name, model.card.id, model.card.revision, model.encode("ab"), model.context])
    except ModelError as failure:
        answers.append(f"ModelError: {failure}")
print(json.dumps(answers))
"""


def loads(wanted: list[tuple[str, str | None]], home: Path, endpoint: str, **env: str) -> list:
    """What came of loading each (name, revision) in a fresh interpreter."""
    said = python(LOAD, json.dumps(wanted), HF_HOME=str(home), HF_ENDPOINT=endpoint, **env)
    return json.loads(said.splitlines()[-1])


@pytest.fixture(scope="module")
def hub(tmp_path_factory):
    top = tmp_path_factory.mktemp("hub")
    folders = {
        (REPOSITORY, "main"): split(checkpoint(top / "main", "dream"), 2),
        (REPOSITORY, "v2"): checkpoint(top / "v2", "dream", {"max_position_embeddings": 128}),
        ("owner/cut", "main"): checkpoint(top / "cut", "llada"),
        ("GSAI-ML/LLaDA-1.5", "v9"): checkpoint(top / "card", "llada"),
    }
    (top / "main" / "README.md").write_text("not needed")
    (top / "main" / "pytorch_model.bin").write_bytes(b"not needed either, and large")
    server = Hub(folders)
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def online(hub, tmp_path_factory):
    """(cache, answers) of the loads below, the hub being there."""
    home = tmp_path_factory.mktemp("home")
    wanted = [
        (REPOSITORY, None),
        (REPOSITORY, "v2"),
        (REPOSITORY, "v3"),
        ("owner/none", None),
        ("a b/c", None),
        ("llada-1.5", "v9"),
    ]
    return home, loads(wanted, home, hub.endpoint)


def test_a_hub_id_is_downloaded_and_loaded(online):
    name, hub_id, revision, ids, context = online[1][0]
    assert (name, hub_id, context) == ("tiny", REPOSITORY, 511)
    assert re.fullmatch("[0-9a-f]{40}", revision)  # the commit that main stood for, so that results say which
    assert len(ids) == 2


def test_the_revision_named_is_the_one_loaded(online):
    assert online[1][1][4] == 127  # its config differs from main's
    assert online[1][1][2] != online[1][0][2]


def test_a_cards_name_is_its_hub_id_and_a_revision_named_is_told(online):
    assert online[1][5][:2] == ["llada-1.5", "GSAI-ML/LLaDA-1.5"]
    assert re.fullmatch("[0-9a-f]{40}", online[1][5][2])


def test_only_what_is_needed_is_downloaded(online, hub):
    assert "GET model.safetensors.index.json" in hub.sent
    assert not [line for line in hub.sent if "README" in line or ".bin" in line]


def test_a_revision_that_is_not_there_is_an_error_with_a_remedy(online):
    assert online[1][2].startswith(f"ModelError: model '{REPOSITORY}' at revision 'v3' cannot be fetched")
    assert "Check the name, the revision" in online[1][2]


def test_a_repository_that_is_not_there_is_an_error_with_a_remedy(online):
    assert online[1][3].startswith("ModelError: model 'owner/none' at revision 'main' cannot be fetched")
    assert "Check the name" in online[1][3]


def test_what_is_no_hub_id_is_an_error_with_a_remedy(online):
    assert online[1][4].startswith("ModelError: model 'a b/c' is no card, no local folder and no hub id")
    assert "calipers models" in online[1][4]


NOWHERE = "http://127.0.0.1:9"  # the discard port: nobody listens


def test_offline_what_was_fetched_loads_from_the_cache_and_the_rest_is_an_error(online):
    wanted = [(REPOSITORY, None), (REPOSITORY, "v2"), (REPOSITORY, "v3"), ("llada-8b-base", None)]
    main, tagged, missing, card = loads(wanted, online[0], NOWHERE, HF_HUB_OFFLINE="1")
    assert [main, tagged] == online[1][:2]
    assert missing.startswith(f"ModelError: model '{REPOSITORY}' at revision 'v3' is not in the hub's cache")
    assert "connect, unset HF_HUB_OFFLINE, or name a local folder" in missing
    revision = cards()["llada-8b-base"].revision
    assert card.startswith(f"ModelError: model 'GSAI-ML/LLaDA-8B-Base' at revision '{revision}' is not in the hub's")


FETCH = """
import sys
from calipers.errors import ModelError
from calipers.models.files import cached, fetch

for name in sys.argv[1:]:
    try:
        print(fetch(name, "main") == cached(name, "main"))
    except ModelError as failure:
        print(failure)
    print(cached(name, "main"))
assert "torch" not in sys.modules
"""


def test_a_hub_that_does_not_answer_is_replaced_by_the_cache_or_is_an_error(online):
    said = python(FETCH, REPOSITORY, "owner/none", HF_HOME=str(online[0]), HF_ENDPOINT=NOWHERE).splitlines()
    assert said[0] == "True"
    assert Path(said[1]).name == hashlib.sha1(f"{REPOSITORY}@main".encode()).hexdigest()
    assert "'owner/none' at revision 'main' is not in the hub's cache and the hub cannot be reached" in said[2]
    assert said[3] == "None"


@pytest.mark.slow  # the client tries again a few times before it gives up
def test_a_download_that_breaks_off_is_an_error_and_the_next_one_succeeds(hub, tmp_path):
    hub.broken = {"model.safetensors"}
    (said, _) = python(FETCH, "owner/cut", HF_HOME=str(tmp_path), HF_ENDPOINT=hub.endpoint).splitlines()
    assert said.startswith("model 'owner/cut' at revision 'main' cannot be fetched from the hub")
    assert "if the download broke off, try again" in said
    hub.broken = set()
    (said, _) = python(FETCH, "owner/cut", HF_HOME=str(tmp_path), HF_ENDPOINT=hub.endpoint).splitlines()
    assert said == "True"


def test_a_bundled_cards_file_is_in_the_package():
    files = [bundled(card) for card in cards().values() if card.file]
    assert files
    assert all(file.is_file() for file in files)
