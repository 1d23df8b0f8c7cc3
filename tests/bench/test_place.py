"""Runs lie where their model and set say, and those of different models lie apart."""

import shutil

import pytest

from calipers.bench.place import folder, label
from calipers.models.card import cards
from helpers import checkpoint


def test_a_card_is_called_by_its_name_whatever_it_is_given_by():
    for name, card in cards().items():
        assert label(name) == label(card.id) == label(name.upper())
        assert label(name).startswith(f"{name}@")
    assert len(set(map(label, cards()))) == len(cards())


def test_a_hub_id_has_its_revision_and_a_commit_is_cut_short():
    assert label("owner/name") == "owner--name@main"
    assert label("owner/name", "v1.0") == "owner--name@v1.0"
    assert label("owner/name", "0123456789abcdef" * 2 + "01234567") == "owner--name@0123456789ab"


def test_revisions_that_differ_at_their_ends_are_told_apart():
    assert label("owner/name", "experiment-with-a") != label("owner/name", "experiment-with-b")
    assert label("owner/name", "a/b") == "owner--name@a--b"


def test_guided_runs_lie_apart():
    assert label("owner/name", guidance=1.5) == "owner--name-guided-1.5@main"
    assert len({label("owner/name", guidance=g) for g in (0.0, 1.0, 1.5)}) == 3


def test_a_local_checkpoint_is_told_by_what_it_is_and_not_by_where_it_lies(tmp_path, monkeypatch):
    one = checkpoint(tmp_path / "a" / "toy")
    copy = shutil.copytree(one, tmp_path / "b" / "toy")
    assert label(str(one)) == label(str(copy))
    assert label(str(one)).startswith("toy@local-")
    monkeypatch.chdir(tmp_path / "a")
    assert label("toy") == label("./toy/") == label(str(one))
    other = checkpoint(tmp_path / "c" / "toy", "dream")
    assert label(str(other)) != label(str(one))


def test_a_checkpoint_that_was_trained_on_in_its_place_has_another_label(tmp_path):
    def train(tensors):
        for tensor in tensors.values():
            tensor += 0.25

    before = label(str(checkpoint(tmp_path / "toy")))
    shutil.rmtree(tmp_path / "toy")
    after = label(str(checkpoint(tmp_path / "toy", edit=train)))
    assert before != after
    (tmp_path / "toy" / "trainer_state.json").write_text("{}")
    assert label(str(tmp_path / "toy")) == after


def test_a_packed_file_is_told_by_its_contents(tmp_path):
    path = tmp_path / "model.safetensors"
    path.write_bytes(b"\0" * (3 << 20))
    before = label(str(path))
    path.write_bytes(b"\0" * (3 << 20) + b"\0")
    assert label(str(path)) != before
    assert before.startswith("model.safetensors@local-")


@pytest.mark.parametrize("name", ["own set.jsonl", "../x", "a/b", "a\\b", "a:b", " ", "", "ü.jsonl"])
def test_a_sets_folder_is_one_folder_within_its_models(tmp_path, name):
    place = folder(tmp_path, "m@1", name)
    assert place.resolve().parent == tmp_path / "m@1"
    assert not set('/\\:*?"<>| ') & set(place.name)


def test_a_set_by_name_has_its_name(tmp_path):
    assert folder(tmp_path, "m@1", "humaneval-single-line") == tmp_path / "m@1" / "humaneval-single-line"
