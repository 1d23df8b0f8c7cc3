"""Length 0: judged by what becomes of the text after the hole."""

from collections.abc import Iterable, Iterator, Sequence

import pytest
import torch

import calipers
from calipers import MASK, Emptiness, Infiller, Query, Scripted, Template
from calipers.errors import ArgumentError


class Knowing(Scripted):
    """Knows the whole text: a masked token is found where the true text has it at that place, else not."""

    def __init__(self, truth: str, answer: str) -> None:
        super().__init__([answer])
        self.truth = truth.encode()

    def predict(self, queries: Sequence[Query]) -> Iterator[torch.Tensor]:
        for query, logits in zip(queries, super().predict(queries), strict=True):
            ids = query.canvas.ids
            rows = logits.clone()
            for row, position in zip(rows, query.positions, strict=True):
                if len(ids) == len(self.truth):
                    row[:] = -9.0
                    row[self.truth[position]] = 0.0
            yield rows

    def encode(self, text: str) -> list[int]:
        return list(text.encode())

    def decode(self, ids: Iterable[int]) -> str:
        return super().decode(ids)


def test_a_hole_in_an_untouched_text_stays_empty_when_that_is_allowed() -> None:
    whole = "nothing is missing here"
    model = Knowing(whole, "xx")
    template = Template.around(whole[:10], whole[10:])
    assert Infiller(model).fill(template).length == 2
    fill = Infiller(model, empty=True).fill(template)
    assert (fill.text, fill.length, fill.whole) == ("", 0, whole)
    assert "judged empty" in fill.landscape.stop
    assert calipers.Fill.from_json(fill.to_json()) == fill


def test_a_hole_that_misses_something_is_filled_even_if_empty_is_allowed() -> None:
    whole = "something is missing here"
    model = Knowing(whole, whole[10:14])
    template = Template.around(whole[:10], whole[14:])
    fill = Infiller(model, empty=True).fill(template)
    assert (fill.text, fill.whole) == (whole[10:14], whole)


def test_judging_costs_one_forward_of_two_rows_and_an_empty_hole_no_decoding() -> None:
    whole = "nothing is missing here"
    model = Knowing(whole, "xx")
    template = Template.around(whole[:10], whole[10:])
    probing = Infiller(model).probe(template)
    searched = len(model.asked)
    model.asked.clear()
    Infiller(model, empty=True).fill(template)
    assert len(model.asked) == searched + 1
    assert len(model.asked[-1]) == 2
    assert len(probing) == 1


def test_the_judgement_masks_the_seam_and_asks_for_nothing_else() -> None:
    model = Knowing("abcdefgh", "x")
    Infiller(model, empty=Emptiness(window=3), search=calipers.HillClimb(init=2, max_length=2)).probe(
        Template.around("abcd", "efgh")
    )
    none, hole = sorted(model.asked[-1], key=lambda query: len(query.canvas))
    assert none.canvas.ids == (*b"abcd", MASK, MASK, MASK, *b"h")
    assert none.positions == (4, 5, 6)
    length = len(hole.canvas) - len(none.canvas)
    assert hole.canvas.ids == (*b"abcd", *(MASK,) * (length + 3), *b"h")
    assert hole.positions == tuple(range(4 + length, 7 + length))


def test_a_hole_at_the_end_and_a_given_length_are_never_judged() -> None:
    model = Knowing("all there is", "x")
    assert Infiller(model, empty=True).fill(Template.around("all there is", "")).length == 1
    template = Template.around("all ", "there is")
    assert Infiller(model, empty=True).fill(template, search=calipers.Fixed(3)).length == 3


def test_the_margin_decides() -> None:
    whole = "nothing is missing here"
    model = Knowing(whole, "xx")
    template = Template.around(whole[:10], whole[10:])
    assert Infiller(model, empty=Emptiness(margin=100.0)).fill(template).length == 2
    with pytest.raises(ArgumentError, match="window=0"):
        Emptiness(window=0)


def test_one_of_several_holes_may_be_empty() -> None:
    whole = "ab--cd==ef"
    model = Knowing(whole, "--")
    model.answers, model.landscapes = [b"--", b"x"], [model.landscapes[0], Scripted(["x"]).landscapes[0]]
    searches = [calipers.Fixed(2), calipers.HillClimb()]
    fill = Infiller(model, empty=True).fill(Template(("ab", "cd", "==ef")), search=searches)
    assert fill.lengths == (2, 0)
    assert fill.whole == whole
