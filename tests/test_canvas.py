"""A template in ids: where its holes are, which places are masked, and edits that touch nothing else."""

from hypothesis import given
from hypothesis import strategies as st

from calipers import MASK
from calipers.canvas import Canvas

ids = st.lists(st.integers(0, 9), max_size=4).map(tuple)
places = st.lists(st.sampled_from([MASK, 5, 6]), max_size=5).map(tuple)


@st.composite
def canvases(draw):
    holes = draw(st.lists(places, min_size=1, max_size=3))
    texts = draw(st.lists(ids, min_size=len(holes) + 1, max_size=len(holes) + 1))
    return Canvas(tuple(texts), tuple(holes), (draw(st.integers(0, 3)), 0))


@given(canvases())
def test_ids_are_texts_and_holes_in_turn(canvas):
    parts = [canvas.texts[0]]
    for hole, text in zip(canvas.holes, canvas.texts[1:], strict=True):
        parts += [hole, text]
    assert canvas.ids == sum(parts, ())
    assert len(canvas) == len(canvas.ids)


@given(canvases())
def test_spans_are_where_the_holes_stand_in_the_ids(canvas):
    assert [tuple(canvas.ids[p] for p in span) for span in canvas.spans] == list(canvas.holes)
    assert canvas.positions == tuple(p for span in canvas.spans for p in span)
    assert canvas.lengths == tuple(len(hole) for hole in canvas.holes)


@given(canvases())
def test_masked_are_the_hole_positions_that_hold_a_mask(canvas):
    assert canvas.masked == tuple(p for p in canvas.positions if canvas.ids[p] == MASK)


def test_a_mask_in_the_text_around_is_no_hole():
    canvas = Canvas(((MASK, 1), (MASK,)), ((MASK,),))
    assert canvas.masked == canvas.positions == (2,)


@given(canvases(), st.data())
def test_a_hole_is_replaced_and_the_rest_stays(canvas, data):
    index = data.draw(st.integers(0, len(canvas.holes) - 1))
    contents = data.draw(places)
    changed = canvas.with_hole(index, list(contents))
    assert changed.holes == (*canvas.holes[:index], contents, *canvas.holes[index + 1 :])
    assert (changed.texts, changed.cropped) == (canvas.texts, canvas.cropped)


@given(canvases(), st.data())
def test_all_holes_are_masked_at_given_lengths(canvas, data):
    lengths = data.draw(st.lists(st.integers(0, 6), min_size=len(canvas.holes), max_size=len(canvas.holes)))
    masked = canvas.with_masks(lengths)
    assert masked.lengths == tuple(lengths)
    assert masked.masked == masked.positions
    assert (masked.texts, masked.cropped) == (canvas.texts, canvas.cropped)


@given(canvases(), st.data())
def test_an_edit_commits_deletes_and_grows_where_it_says_and_nowhere_else(canvas, data):
    changes = {
        p: tuple(data.draw(places))
        for p in data.draw(st.lists(st.sampled_from(canvas.positions or (0,)), unique=True))
        if p in canvas.positions
    }
    edited = canvas.edit(changes)
    expected = tuple(sum((changes.get(p, (canvas.ids[p],)) for p in span), ()) for span in canvas.spans)
    assert edited.holes == expected
    assert (edited.texts, edited.cropped) == (canvas.texts, canvas.cropped)
    assert canvas.edit({}) == canvas


@given(canvases())
def test_equal_canvases_are_equal_and_hash_alike_whatever_was_computed_of_them(canvas):
    twin = Canvas(canvas.texts, canvas.holes, canvas.cropped)
    assert (canvas.ids, canvas.spans) != (None, None)
    assert twin == canvas
    assert hash(twin) == hash(canvas)
