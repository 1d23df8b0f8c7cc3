"""An echo is a fill that ends with what the suffix begins with."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.seam import LEAST, echo

few = st.text("ab \n", max_size=14)


def solid(text):
    return len("".join(text.split()))


@given(few, few, st.integers(1, 5))
def test_an_echo_is_the_longest_end_that_begins_the_suffix_if_enough_of_it_is_not_blank(text, suffix, least):
    shared = [n for n in range(1, min(len(text), len(suffix)) + 1) if text[-n:] == suffix[:n]]
    long_enough = [n for n in shared if solid(suffix[:n]) >= least]
    assert echo(text, suffix, least) == max(long_enough, default=0)


@given(st.text(), st.text(min_size=LEAST).filter(lambda text: solid(text) >= LEAST))
def test_the_suffix_said_over_again_is_found_whole(answer, suffix):
    assert echo(answer + suffix, suffix) == len(suffix)


@pytest.mark.parametrize(
    ("text", "suffix", "size"),
    [
        ("return total\nprint(total)", "\nprint(total)\n", 13),
        ("f(x)", ")\n", 0),
        ("a\n", "\nb = 1", 0),
        ("        ", "        return", 0),
        ("total", "total += 1", 0),
        ("", "anything", 0),
        ("anything", "", 0),
        ("naïve café", "café naïve", 0),
        ("un naïveté", "naïveté", 7),
    ],
)
def test_a_bracket_or_a_blank_in_common_is_no_echo(text, suffix, size):
    assert echo(text, suffix) == size
