"""Files: where their holes are, read to the byte, written whole or not at all."""

import os
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.errors import TargetError, TemplateError
from calipers.target import Target, check_writable, read_text, write_atomically
from helpers import python

CODE = "def f():\r\n\treturn 1\r\n\nlast"


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("a.py", Target(Path("a.py"))),
        ("a.py:3", Target(Path("a.py"), 3)),
        ("a.py:3:7", Target(Path("a.py"), 3, 7)),
        ("a.py:3-5", Target(Path("a.py"), 3, 1, 5)),
        ("dir/a b.py:12", Target(Path("dir/a b.py"), 12)),
        ("C:\\a.py:3", Target(Path("C:\\a.py"), 3)),
        ("a:1:2:3", Target(Path("a:1"), 2, 3)),
        ("a.py:", Target(Path("a.py:"))),
        ("a.py:x", Target(Path("a.py:x"))),
        ("a.py:3-", Target(Path("a.py:3-"))),
        (":3", Target(Path(":3"))),
    ],
)
def test_a_place_is_read_off_the_end_of_a_name(text, target):
    assert Target.parse(text) == target


def test_a_file_of_that_very_name_wins(tmp_path):
    path = tmp_path / "notes:3"
    path.write_text("x")
    assert Target.parse(str(path)) == Target(path)


def test_without_a_place_the_marker_is_it():
    assert Target(Path("a")).template("x <hole> y").texts == ("x ", " y")
    assert Target(Path("a")).template("x ?? y", "??").texts == ("x ", " y")
    with pytest.raises(TemplateError, match="'<hole>' is not in the text"):
        Target(Path("a")).template("x")


@pytest.mark.parametrize(
    ("place", "prefix"),
    [
        ("1", ""),
        ("2", "def f():\r\n"),
        ("2:1", "def f():\r\n"),
        ("2:2", "def f():\r\n\t"),
        ("2:10", "def f():\r\n\treturn 1"),
        ("3", "def f():\r\n\treturn 1\r\n"),
        ("4", "def f():\r\n\treturn 1\r\n\n"),
        ("4:5", CODE),
    ],
)
def test_a_line_or_column_is_the_hole_and_nothing_is_replaced(place, prefix):
    template = Target.parse(f"a.py:{place}").template(CODE)
    assert template.texts == (prefix, CODE[len(prefix) :])


@pytest.mark.parametrize(
    ("place", "texts"),
    [
        ("1-1", ("", "\r\n\treturn 1\r\n\nlast")),
        ("2-3", ("def f():\r\n", "\nlast")),
        ("1-4", ("", "")),
        ("4-4", ("def f():\r\n\treturn 1\r\n\n", "")),
    ],
)
def test_lines_are_replaced_all_but_the_last_newline(place, texts):
    assert Target.parse(f"a.py:{place}").template(CODE).texts == texts


def test_the_line_after_the_last_is_a_place():
    assert Target(Path("a"), 3).template("a\nb\n").texts == ("a\nb\n", "")
    assert Target(Path("a"), 1).template("").texts == ("", "")


def test_only_newlines_end_a_line():
    assert Target(Path("a"), 2).template("a\x0cb\u2028c\nd").texts == ("a\x0cb\u2028c\n", "d")


@given(st.text("ab\n\r\t é", max_size=30), st.data())
def test_every_place_there_is_cuts_the_text_and_loses_nothing(text, data):
    lines = text.split("\n")
    line = data.draw(st.integers(1, len(lines)))
    column = data.draw(st.integers(1, len(lines[line - 1].rstrip("\r")) + 1))
    prefix, suffix = Target(Path("a"), line, column).template(text).texts
    assert prefix + suffix == text
    assert prefix.count("\n") == line - 1
    assert len(prefix) - prefix.rfind("\n") == column
    last = data.draw(st.integers(line, len(lines)))
    prefix, suffix = Target(Path("a"), line, 1, last).template(text).texts
    assert text.startswith(prefix)
    assert text.endswith(suffix)
    removed = text[len(prefix) : len(text) - len(suffix)]
    assert removed == "\n".join([*lines[line - 1 : last - 1], lines[last - 1].rstrip("\r")])


@pytest.mark.parametrize("place", ["0", "5", "5:1", "2-1", "0-2", "3-5"])
def test_lines_that_are_not_there_are_refused_with_those_that_are(place):
    with pytest.raises(TemplateError, match=r"a\.py has lines 1 to 4.*name lines that are there"):
        Target.parse(f"a.py:{place}").template(CODE)


@pytest.mark.parametrize("place", ["2:0", "2:11", "3:2"])
def test_columns_that_are_not_there_are_refused_with_those_that_are(place):
    with pytest.raises(TemplateError, match=r"Line . of a\.py has columns 1 to \d+, not"):
        Target.parse(f"a.py:{place}").template(CODE)


@given(st.text())
def test_what_is_written_is_read_back_to_the_byte(tmp_path_factory, text):
    path = tmp_path_factory.getbasetemp() / "text"
    write_atomically(path, text)
    assert path.read_bytes() == text.encode()
    assert read_text(path) == text


def test_bytes_are_written_as_they_are(tmp_path):
    write_atomically(tmp_path / "bytes", b"\xff\r\n")
    assert (tmp_path / "bytes").read_bytes() == b"\xff\r\n"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: path.write_bytes(b"ab\xffcd"), r"not UTF-8 \(byte 2 is 0xff\); convert it.*iconv"),
        (lambda path: path.mkdir(), "is a folder; name a file"),
        (lambda path: None, "is not there; name a file that is"),
        (lambda path: path.symlink_to(path), "cannot be read"),
    ],
)
def test_what_cannot_be_read_is_refused_with_a_remedy(tmp_path, make, message):
    path = tmp_path / "file"
    make(path)
    with pytest.raises(TargetError, match=message):
        read_text(path)


def test_a_file_below_a_file_cannot_be_read_or_written(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(TargetError, match="cannot be read"):
        read_text(tmp_path / "file" / "below")
    with pytest.raises(TargetError, match="is no folder; make it first"):
        check_writable(tmp_path / "file" / "below")


def test_a_new_file_has_the_mode_of_any_new_file(tmp_path):
    (tmp_path / "plain").write_text("x")
    write_atomically(tmp_path / "ours", "x")
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "plain").stat().st_mode


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o755])
def test_the_mode_is_kept(tmp_path, mode):
    path = tmp_path / "file"
    path.write_text("old")
    path.chmod(mode)
    write_atomically(path, "new")
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == mode


def test_a_read_only_file_is_left_alone_even_by_root(tmp_path):
    path = tmp_path / "file"
    path.write_text("old")
    path.chmod(0o444)
    for attempt in (check_writable, lambda path: write_atomically(path, "new")):
        with pytest.raises(TargetError, match=r"read-only; make it writable \(chmod u\+w\)"):
            attempt(path)
    assert path.read_text() == "old"


def test_a_folder_is_no_file_to_write(tmp_path):
    with pytest.raises(TargetError, match="not a plain file"):
        check_writable(tmp_path)
    with pytest.raises(TargetError, match="is no folder; make it first"):
        check_writable(tmp_path / "absent" / "file")


def test_a_link_stays_a_link_and_what_it_names_is_written(tmp_path):
    (tmp_path / "there").mkdir()
    real, link = tmp_path / "there" / "real", tmp_path / "link"
    real.write_text("old")
    link.symlink_to(real)
    write_atomically(link, "new")
    assert link.is_symlink()
    assert real.read_text() == "new"
    assert os.listdir(tmp_path / "there") == ["real"]


def test_a_text_that_is_no_text_leaves_the_old_one(tmp_path):
    path = tmp_path / "file"
    path.write_text("old")
    with pytest.raises(UnicodeEncodeError):
        write_atomically(path, "new \udc80")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.skipif(os.name != "posix", reason="a limit on the size of files is POSIX")
def test_a_disk_that_fills_up_half_way_leaves_the_old_file_and_no_litter(tmp_path):
    path = tmp_path / "file"
    path.write_text("old")
    code = """
import resource, signal, sys
from pathlib import Path
from calipers.target import write_atomically

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    write_atomically(Path(sys.argv[1]), "new" * 1000)
except OSError as error:
    print(error.strerror)
"""
    assert "too large" in python(code, path)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["file"]
