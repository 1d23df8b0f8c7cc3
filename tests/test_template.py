"""Text with holes, and nothing touched but the holes."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from calipers import Template
from calipers.errors import TemplateError

texts = st.lists(st.text(), min_size=2, max_size=5)


@given(texts, st.data())
def test_a_filled_template_is_its_texts_and_answers_in_turn(pieces, data):
    template = Template(tuple(pieces))
    answers = data.draw(st.lists(st.text(), min_size=template.holes, max_size=template.holes))
    whole = template.fill(answers)
    for text, answer in zip(pieces, [*answers, ""], strict=True):
        assert whole.startswith(text + answer)
        whole = whole[len(text) + len(answer) :]
    assert whole == ""


@given(texts, st.sampled_from(["<hole>", "____", "⟦⟧"]))
def test_a_text_is_cut_at_every_marker_and_put_together_again(pieces, marker):
    assume(not any(marker in piece for piece in pieces))
    text = marker.join(pieces)
    assume(text.split(marker) == pieces)
    template = Template.parse(text, marker, holes=len(pieces) - 1)
    assert template == Template(tuple(pieces))
    assert template.fill([marker] * template.holes) == text


@given(st.text(), st.text())
def test_one_hole_lies_between_prefix_and_suffix(prefix, suffix):
    template = Template.around(prefix, suffix)
    assert (template.texts, template.holes) == ((prefix, suffix), 1)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Template(()), r"0 text\(s\) has no hole; give"),
        (lambda: Template(("alone",)), r"1 text\(s\) has no hole; give"),
        (lambda: Template.parse("a b"), "'<hole>' is not in the text; put it"),
        (lambda: Template.parse("a <hole> b", "____"), "'____' is not in the text"),
        (lambda: Template.parse("a", ""), "marker is empty; name"),
        (lambda: Template.parse("<hole><hole>", holes=1), "2 times where 1 is meant; remove"),
        (lambda: Template.parse("<hole>", holes=2), "1 times where 2 are meant"),
        (lambda: Template.around("a", "b").fill([]), r"0 answer\(s\) for 1 hole\(s\); give one each"),
        (lambda: Template.around("a", "b").fill(["x", "y"]), r"2 answer\(s\) for 1 hole"),
    ],
)
def test_misuse_is_refused_with_a_remedy(make, message):
    with pytest.raises(TemplateError, match=message):
        make()


def test_half_a_surrogate_pair_is_refused_before_it_can_spoil_a_file():
    with pytest.raises(TemplateError, match=r"character 2.*right encoding"):
        Template.around("ab\ud800", "c")
