"""From a template to a canvas that fits."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.canvas import Canvas
from calipers.encode import encode
from calipers.errors import ContextError
from calipers.models.scripted import Scripted
from calipers.template import Template

# One token a byte, so that lengths are plain to see; no byte occurs twice in these.
PREFIX, SUFFIX = "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz"


def encoded(*texts: str, longest: int = 8, context: int | None = None, crop: bool = True, reads: int = 1000) -> Canvas:
    model = Scripted(["?"] * (len(texts) - 1), context=reads)
    return encode(Template(texts), model, [longest] * (len(texts) - 1), context, crop)


def words(canvas: Canvas) -> list[str]:
    return [bytes(text).decode() for text in canvas.texts]


@pytest.mark.parametrize("texts", [(PREFIX, SUFFIX), ("", SUFFIX), (PREFIX, ""), ("", ""), ("a", "b", "c"), ("",) * 3])
def test_what_fits_is_kept_whole_around_empty_holes(texts):
    canvas = encoded(*texts)
    assert words(canvas) == list(texts)
    assert canvas.holes == ((),) * (len(texts) - 1)
    assert canvas.cropped == (0, 0)


def test_a_text_that_just_fits_is_not_cropped():
    assert encoded(PREFIX, SUFFIX, longest=8, context=60).cropped == (0, 0)
    assert sum(encoded(PREFIX, SUFFIX, longest=8, context=59).cropped) == 1


def test_cropping_keeps_the_ends_nearest_the_hole_and_counts_what_it_cut():
    canvas = encoded(PREFIX, SUFFIX, longest=8, context=38)  # room for 30
    before, after = words(canvas)
    assert (before, after) == (PREFIX[-20:], SUFFIX[:10])  # two thirds before, one third after
    assert canvas.cropped == (6, 16)


def test_what_one_side_does_not_need_the_other_gets():
    assert words(encoded("AB", SUFFIX, longest=8, context=28)) == ["AB", SUFFIX[:18]]
    assert words(encoded(PREFIX, "ab", longest=8, context=28)) == [PREFIX[-18:], "ab"]


@pytest.mark.parametrize(
    ("texts", "kept"),
    [(("", SUFFIX), ["", SUFFIX[:12]]), ((PREFIX, ""), [PREFIX[-12:], ""])],
)
def test_a_text_on_one_side_only_is_cropped_at_its_far_end(texts, kept):
    assert words(encoded(*texts, longest=8, context=20)) == kept


def test_text_between_holes_is_never_cut():
    canvas = encoded(PREFIX, "between", SUFFIX, longest=4, context=30)  # room for 22, 15 of it outside
    assert words(canvas) == [PREFIX[-10:], "between", SUFFIX[:5]]
    assert canvas.cropped == (16, 21)


sizes = st.integers(0, 60)


@given(left=sizes, right=sizes, inner=st.lists(st.integers(0, 6), max_size=3), longest=st.integers(1, 20), room=sizes)
def test_every_hole_has_room_for_the_longest_and_no_more_is_cut_than_must_be(left, right, inner, longest, room):
    texts = ["l" * left, *("i" * n for n in inner), "r" * right]
    holes = len(texts) - 1
    context = room + sum(inner) + longest * holes
    if room + sum(inner) < 1:
        return
    canvas = encoded(*texts, longest=longest, context=context)
    assert len(canvas.with_masks([longest] * holes)) == min(context, sum(map(len, texts)) + longest * holes)
    assert [len(text) for text in canvas.texts[1:-1]] == inner
    assert canvas.cropped == (left - len(canvas.texts[0]), right - len(canvas.texts[-1]))
    assert len(canvas.texts[-1]) >= min(right, room // 3)
    assert len(canvas.texts[0]) >= min(left, room - max(room // 3, 0) - (room % 3 > 0))


def test_all_lengths_are_judged_in_one_context():
    canvas = encoded(PREFIX, SUFFIX, longest=16, context=40)
    assert {canvas.with_masks([n]).texts for n in (1, 8, 16)} == {canvas.texts}
    assert max(len(canvas.with_masks([n])) for n in range(1, 17)) == 40


def test_context_is_the_models_when_none_is_named_and_never_more():
    for context in (None, 40, 100, 10_000):
        assert len(encoded(PREFIX, SUFFIX, longest=8, context=context, reads=40)) == 32


def test_cropping_can_be_refused():
    assert encoded(PREFIX, SUFFIX, longest=8, context=60, crop=False).cropped == (0, 0)
    with pytest.raises(ContextError) as failure:
        encoded(PREFIX, SUFFIX, longest=8, context=59, crop=False)
    assert "The text has 52 tokens and 51 fit beside the hole(s)" in str(failure.value)
    assert "context is 59" in str(failure.value)
    assert "shorten it, lower max_length, or allow cropping" in str(failure.value)


def test_text_between_holes_that_does_not_fit_is_an_error():
    assert words(encoded("", "x" * 12, "", longest=4, context=20)) == ["", "x" * 12, ""]
    with pytest.raises(ContextError) as failure:
        encoded("a", "x" * 13, "b", longest=4, context=20)
    assert "2 hole(s) of up to 4 tokens and 13 tokens between them do not fit a context of 20" in str(failure.value)
    assert "(scripted reads 1000); lower max_length, or fill fewer holes at once" in str(failure.value)


@pytest.mark.parametrize("longest", [20, 64])
def test_a_hole_that_leaves_no_room_for_text_is_an_error(longest):
    with pytest.raises(ContextError, match="lower max_length"):
        encoded("a", "b", longest=longest, reads=20)


def test_holes_of_known_lengths_leave_more_room_for_the_text():
    model = Scripted(["?", "?"], context=40)
    assert encode(Template((PREFIX, "", SUFFIX)), model, [2, 8]).cropped != (0, 0)
    assert len(encode(Template((PREFIX, "", SUFFIX)), model, [2, 8])) == 40 - 2 - 8
