"""A file that is only appended to: what a crash, a second writer and a strange hand do to it."""

import gzip
import json
import os
import signal
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.errors import TargetError
from calipers.journal import Journal, mend, read_kept, read_lines, read_object, sizes

ROWS = [{"n": n, "text": "é\u2028\n" * n} for n in range(5)]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def written(path, rows=ROWS):
    with Journal(path) as journal:
        journal.append(rows)
    return path.read_bytes()


@given(st.lists(st.dictionaries(st.text(), VALUES, max_size=3), max_size=5))
def test_what_is_appended_is_read_back_equal(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("journal") / "deep" / "lines.jsonl"
    written(path, rows)
    assert list(read_lines(path)) == rows


def test_half_a_surrogate_pair_is_kept_and_the_file_stays_utf_8(tmp_path):
    path = tmp_path / "lines.jsonl"
    assert written(path, [{"id": "a\ud800b"}]).decode("utf-8")
    assert list(read_lines(path)) == [{"id": "a\ud800b"}]


def test_wherever_the_last_line_is_torn_readers_drop_it_and_writers_cut_it(tmp_path):
    path = tmp_path / "lines.jsonl"
    whole = written(path)
    last = len(whole.splitlines(keepends=True)[-1])
    for torn in range(1, last):
        path.write_bytes(whole[:-torn])
        assert list(read_lines(path)) == ROWS[:-1]
        assert path.read_bytes() == whole[:-torn]
        written(path, ROWS[-1:])
        assert path.read_bytes() == whole


def test_a_torn_line_longer_than_what_is_read_at_a_time_is_cut_too(tmp_path):
    path = tmp_path / "lines.jsonl"
    for before in (b"", b'{"a":1}\n', b'{"a":"' + b"x" * 200_000 + b'"}\n'):
        path.write_bytes(before + b'{"b":"' + b"y" * 200_000)
        mend(path)
        assert path.read_bytes() == before


@pytest.mark.parametrize("line", [b"{", b"[1]", b"7", b"", b"\xff", b'{"a":1}{"a":2}'])
def test_a_broken_line_in_the_middle_is_an_error_that_names_it_and_the_file(tmp_path, line):
    path = tmp_path / "lines.jsonl"
    path.write_bytes(b'{"a":1}\n' + line + b'\n{"a":2}\n')
    with pytest.raises(TargetError, match=r"lines\.jsonl, line 2 is no JSON.* move .*away"):
        list(read_lines(path))


def test_a_file_that_is_not_there_has_no_lines(tmp_path):
    assert list(read_lines(tmp_path / "none.jsonl")) == []
    assert list(read_kept(tmp_path / "none.jsonl")) == []


def test_many_rows_are_whole_and_with_the_system_when_append_returns(tmp_path):
    path = tmp_path / "lines.jsonl"
    rows = [{"n": n, "text": "x" * (n % 997)} for n in range(20_000)]
    with Journal(path) as journal:
        journal.append(rows)
        assert list(read_lines(path)) == rows
        journal.append(rows[:1])
        assert sum(1 for _ in read_lines(path)) == len(rows) + 1


def test_a_write_that_is_cut_short_goes_on(tmp_path):
    class Slow:
        def __init__(self, file):
            self.file = file

        def write(self, data):
            return self.file.write(data[:7])

        def close(self):
            self.file.close()

    with Journal(tmp_path / "lines.jsonl") as journal:
        journal._file = Slow(journal._file)
        journal.append(ROWS)
    assert list(read_lines(tmp_path / "lines.jsonl")) == ROWS


def test_what_is_kept_compressed_is_read_before_what_was_appended_since(tmp_path):
    path = tmp_path / "lines.jsonl"
    (tmp_path / "lines.jsonl.gz").write_bytes(gzip.compress(written(path)))
    both = sizes(path)
    path.unlink()
    assert list(read_kept(path)) == ROWS
    written(path, [{"n": 5}])
    assert list(read_kept(path)) == [*ROWS, {"n": 5}]
    assert sizes(path) != both


def test_a_damaged_archive_is_an_error_that_names_it(tmp_path):
    archive = tmp_path / "lines.jsonl.gz"
    good = gzip.compress(b'{"a":"' + os.urandom(999).hex().encode() + b'"}\n')
    for bad in (good[:-20], b"plain", good[:40] + b"\xff" * 20 + good[60:]):
        archive.write_bytes(bad)
        with pytest.raises(TargetError, match=r"lines\.jsonl\.gz is damaged"):
            list(read_lines(archive))


HOLD = """
import sys, time
from pathlib import Path
from calipers.journal import Journal
with Journal(Path(sys.argv[1])) as journal:
    journal.append([{"n": 0}])
    print("open", flush=True)
    time.sleep(60)
"""


def test_a_second_writer_is_refused_while_the_first_lives_and_admitted_when_it_was_killed(tmp_path):
    path = tmp_path / "lines.jsonl"
    first = subprocess.Popen([sys.executable, "-c", HOLD, str(path)], stdout=subprocess.PIPE, text=True)
    try:
        assert first.stdout.readline() == "open\n"
        with pytest.raises(TargetError, match="being written by another calipers; wait for it, or name another folder"):
            Journal(path)
        assert list(read_lines(path)) == [{"n": 0}]
    finally:
        first.send_signal(signal.SIGKILL)
        first.wait()
        first.stdout.close()
    written(path, [{"n": 1}])
    assert list(read_lines(path)) == [{"n": 0}, {"n": 1}]


def test_a_refused_writer_leaves_no_file_open_and_the_first_can_go_on(tmp_path):
    path = tmp_path / "lines.jsonl"
    before = len(os.listdir("/proc/self/fd")) if os.path.exists("/proc/self/fd") else None
    with Journal(path) as journal:
        for _ in range(5):
            with pytest.raises(TargetError):
                Journal(path)
        journal.append(ROWS)
    assert before is None or len(os.listdir("/proc/self/fd")) == before
    assert list(read_lines(path)) == ROWS


def test_what_cannot_be_written_is_refused_with_the_remedy(tmp_path):
    path = tmp_path / "lines.jsonl"
    written(path)
    path.chmod(0o444)
    with pytest.raises(TargetError, match="read-only"):
        Journal(path)
    (tmp_path / "folder.jsonl").mkdir()
    with pytest.raises(TargetError, match="not a plain file"):
        Journal(tmp_path / "folder.jsonl")


@pytest.mark.parametrize("text", ["", "{", "[]", "3"])
def test_a_file_that_is_no_object_is_an_error_that_names_it(tmp_path, text):
    path = tmp_path / "one.json"
    path.write_text(text)
    with pytest.raises(TargetError, match=r"one\.json is no JSON.*move its folder"):
        read_object(path)
    path.write_text(json.dumps({"a": 1}))
    assert read_object(path) == {"a": 1}
