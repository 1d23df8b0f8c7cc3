"""The answer and its landscape: what they tell, and that nothing is lost on the way through JSON."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calipers import Fill, Landscape, Probe, Scripted, Template, infill
from calipers.errors import ArgumentError
from calipers.infiller import Infiller

texts = st.text(max_size=12) | st.sampled_from(["\r\n\t", "naïve 🦊", "</script>", '"\\', "\x00\x0c\u2028"])
numbers = st.floats(allow_nan=False, allow_infinity=False)
probes = st.lists(st.builds(Probe, st.integers(1, 64), numbers, numbers, numbers), max_size=3).map(tuple)
landscapes = st.builds(Landscape, probes, st.integers(0, 64), texts)
json_values = st.dictionaries(texts, st.none() | st.booleans() | st.integers() | numbers | texts, max_size=3)


@st.composite
def fills(draw):
    holes = draw(st.integers(1, 3))

    def each(strategy, count=holes):
        return tuple(draw(st.lists(strategy, min_size=count, max_size=count)))

    return Fill(
        template=Template(each(texts, holes + 1)),
        texts=each(texts),
        ids=each(st.lists(st.integers(0, 10**6), max_size=4).map(tuple)),
        lengths=each(st.integers(0, 64)),
        landscapes=each(landscapes),
        probes=draw(st.integers(0, 99)),
        forwards=draw(st.integers(0, 99)),
        passes=draw(st.integers(1, 3)),
        timings={"total": draw(numbers)},
        made_with={"model": draw(texts), "bias": draw(texts)} | draw(json_values),
        notes=tuple(draw(st.lists(texts, max_size=2))),
    )


@settings(max_examples=60)
@given(fills(), st.sampled_from([None, 1]))
def test_json_gives_back_an_equal_fill(fill, indent):
    assert Fill.from_json(fill.to_json(indent)) == fill


def test_json_is_plain_to_read():
    fill = infill("a = ", "\n", model=Scripted(["naïve"]))
    values = json.loads(fill.to_json())
    assert values["schema"] == "calipers-fill-1"
    assert values["texts"] == ["naïve"]
    assert values["whole"] == "a = naïve\n"
    assert values["lengths"] == [6]
    assert values["landscapes"][0]["length"] == 6
    assert "naïve" in fill.to_json()


@pytest.mark.parametrize(
    "text", ["", "[1]", "null", "{}", '{"schema": "calipers-bias-1"}', '{"schema": "calipers-fill-1"}']
)
def test_other_text_is_refused_with_what_to_give(text):
    with pytest.raises(ArgumentError, match=r"no calipers-fill-1; give what Fill\.to_json"):
        Fill.from_json(text)


def test_an_unknown_key_is_refused():
    values = infill("a", "b", model=Scripted(["x"])).to_dict() | {"extra": 1}
    with pytest.raises(ArgumentError):
        Fill.from_json(json.dumps(values))


@settings(max_examples=40)
@given(st.text(max_size=30), st.text(max_size=30), st.text(min_size=1, max_size=8))
def test_whole_is_prefix_answer_and_suffix_to_the_character(prefix, suffix, answer):
    fill = infill(prefix, suffix, model=Scripted([answer]))
    assert fill.text == answer
    assert fill.whole == prefix + answer + suffix


@pytest.mark.parametrize(
    ("prefix", "suffix"),
    [
        ("a\r\n\tb", "\r\n"),
        ("", ""),
        ("\ufefftext", "no final newline"),
        ("x\x0cy\u2028", "\n\n\n"),
        ("e\u0301", "\u00e9"),
    ],
)
def test_newlines_tabs_and_odd_characters_stay_as_they_are(prefix, suffix):
    assert infill(prefix, suffix, model=Scripted(["mid"])).whole == f"{prefix}mid{suffix}"


def test_it_prints_its_text_and_how_it_came_about():
    fill = infill("a", "b", model=Scripted(["hello"]))
    text, blank, line = str(fill).split("\n")
    assert (text, blank) == ("hello", "")
    for part in ("length 5", f"{fill.probes} probes", f"{fill.forwards} forwards", "scripted", "bias paper"):
        assert part in line


def test_it_prints_its_notes():
    fill = infill("a" * 300, "b", model=Scripted(["hello"], context=128))
    assert str(fill).endswith(f"note: {fill.notes[0]}")
    assert "text is longer than the context" in fill.notes[0]


@pytest.mark.parametrize("name", ["text", "length", "landscape"])
def test_what_is_one_hole_s_is_refused_of_several_with_the_plural(name):
    fill = Infiller(Scripted(["ab", "cde"])).fill(Template(("x", "y", "z")))
    with pytest.raises(ArgumentError, match=rf"2 holes; use {name}s instead of {name}"):
        getattr(fill, name)
    assert len(getattr(fill, f"{name}s")) == 2


TRACE = Landscape(
    (Probe(4, 0.8, 0.5, 1.6), Probe(5, 0.9, 0.45, 2.0), Probe(3, 0.7, 0.7, 1.0)), 5, "up: bound, down: patience"
)


def test_a_landscape_prints_from_short_to_long_and_marks_the_choice():
    head, *rows, last = str(TRACE).split("\n")
    assert head.split() == ["length", "confidence", "bias", "calibrated"]
    assert [row.split() for row in rows] == [
        ["3", "0.700", "0.700", "1.000"],
        ["4", "0.800", "0.500", "1.600"],
        ["→", "5", "0.900", "0.450", "2.000"],
    ]
    assert last == "stopped: up: bound, down: patience"
    assert len({len(line) for line in (head, *rows)}) == 1


@given(landscapes)
def test_by_length_has_every_length_once_in_order(landscape):
    lengths = [probe.length for probe in landscape.by_length]
    assert lengths == sorted({probe.length for probe in landscape.probes})


def test_the_peak_is_the_probe_at_the_choice():
    assert TRACE.peak == Probe(5, 0.9, 0.45, 2.0)
    assert Landscape(TRACE.probes, 9, "").peak is None


@given(landscapes)
def test_a_landscape_survives_plain_values(landscape):
    assert Landscape.from_dict(json.loads(json.dumps(landscape.to_dict()))) == landscape
