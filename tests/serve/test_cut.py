"""Where a text is ended early."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.serve.cut import Cut, cut


@given(st.text("ab\n "), st.lists(st.text("ab\n ", min_size=1, max_size=3), max_size=3), st.integers(0, 4))
def test_what_is_left_begins_the_text_and_has_no_stop_string(text, stops, indent):
    left = cut(text, stops, indent)
    assert text.startswith(left.text)
    assert not any(word in left.text for word in stops)
    assert (left.kind == "eos") == (left.text == text and left.kind == "eos")
    assert (left.word in stops) == (left.kind == "word")


@given(st.text("ab\n "), st.integers(1, 4))
def test_no_later_line_is_indented_less(text, indent):
    for line in cut(text, (), indent).text.split("\n")[1:]:
        assert not line.strip() or len(line) - len(line.lstrip()) >= indent


@pytest.mark.parametrize(
    ("text", "stops", "indent", "left"),
    [
        ("a\nb", ["\n"], 0, Cut("a", "word", "\n")),
        ("abc", ["c", "bc"], 0, Cut("a", "word", "bc")),
        ("abc", ["x"], 0, Cut("abc")),
        ("a\n  b\n\n  c\nd", [], 2, Cut("a\n  b\n\n  c", "limit")),
        ("a\n  b\n\nd", [], 2, Cut("a\n  b", "limit")),
        ("a\n\tb\n", [], 1, Cut("a\n\tb\n")),
    ],
)
def test_it_ends_where_it_should(text, stops, indent, left):
    assert cut(text, stops, indent) == left
