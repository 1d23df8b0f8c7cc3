"""`/v1/fill`: any number of holes, all that was measured, and the way there as a stream."""

import json
import re

import pytest
from serving import Gated, is_error

from calipers import Exhaustive, Fill, Fixed, HillClimb, Infiller, Scripted, Template
from pretend import Chaotic


def fill(server, **body):
    answer = server.post("/v1/fill", body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def events(server, **body):
    answer = server.post("/v1/fill", body | {"stream": True})
    assert answer.headers["content-type"].startswith("text/event-stream")
    blocks = [block.split("\n") for block in answer.text.strip().split("\n\n")]
    return [(event.removeprefix("event: "), json.loads(data.removeprefix("data: "))) for event, data in blocks]


def timeless(values):
    return {**values, "timings": None}


@pytest.mark.parametrize(
    "body", [{"text": "a<hole>b<hole>c"}, {"texts": ["a", "b", "c"]}, {"text": "a@b@c", "marker": "@"}]
)
def test_the_answer_is_the_fill_the_library_gives(serve, body):
    given = fill(serve(Infiller(Chaotic(3))), **body)
    assert (given.pop("alternatives"), given.pop("late"), given.pop("cached")) == ([], False, False)
    ours = Infiller(Chaotic(3)).fill(Template(("a", "b", "c")))
    assert timeless(given) == timeless(json.loads(ours.to_json()))
    assert Fill.from_json(json.dumps(given)).texts == ours.texts


@pytest.mark.parametrize(
    ("body", "search"),
    [
        ({"lengths": [3]}, Fixed(3)),
        ({"search": "exhaustive", "max_length": 9}, Exhaustive(9)),
        ({"init": 3, "patience": 2, "step": 2, "max_length": 9}, HillClimb(3, 2, 2, 9)),
    ],
)
def test_how_lengths_are_found_is_the_request_s_to_say(serve, body, search):
    given = fill(serve(Infiller(Chaotic(3))), text="a<hole>b", **body)
    ours = Infiller(Chaotic(3), search=search).fill(Template.around("a", "b"))
    assert (given["texts"], given["lengths"]) == (list(ours.texts), list(ours.lengths))
    assert given["made_with"]["search"] == repr(search)


def test_alternatives_are_the_next_best_lengths(serve):
    given = fill(serve(Infiller(Chaotic(3), search=Exhaustive(12))), text="abc<hole>b", alternatives=3)
    score = {probe["length"]: probe["calibrated"] for probe in given["landscapes"][0]["probes"]}
    lengths = [given["lengths"][0], *(one["lengths"][0] for one in given["alternatives"])]
    assert lengths[0] == max(score, key=score.get)
    peaks = [n for n in score if score[n] > max(score.get(n - 1, 0), score.get(n + 1, 0))]
    assert set(lengths) <= set(peaks) or set(peaks) <= set(lengths)
    for one in given["alternatives"]:
        alone = Infiller(Chaotic(3), search=Fixed(one["lengths"][0])).fill(Template.around("abc", "b"))
        assert one["texts"] == list(alone.texts)


def test_a_stream_tells_every_probe_then_the_canvases_then_the_answer(serve):
    server = serve(Infiller(Chaotic(3)), cache=0)
    body = {"text": "a<hole>b<hole>c"}
    whole = fill(server, **body)
    told = events(server, **body)
    kinds = [kind for kind, _ in told]
    assert kinds == sorted(kinds, key=["probe", "canvas", "done"].index)
    probes = [data for kind, data in told if kind == "probe"]
    assert len(probes) == whole["probes"]
    last = {(probe["hole"], probe["length"]): probe["confidence"] for probe in probes}
    for hole, landscape in enumerate(whole["landscapes"]):
        assert {(hole, p["length"]): p["confidence"] for p in landscape["probes"]}.items() <= last.items()
    canvases = [data for kind, data in told if kind == "canvas"]
    masks = [sum(token is None for hole in data["tokens"] for token in hole) for data in canvases]
    assert masks == sorted(masks, reverse=True)
    assert timeless(told[-1][1]) == timeless(whole)


def test_a_canvas_shows_masks_and_how_sure_each_position_is(serve):
    told = events(serve(Scripted(["hello"], landscape=lambda n: 0.9)), text="a<hole>b", lengths=[5])
    canvases = [data for kind, data in told if kind == "canvas"]
    assert [data["texts"][0].count("░") for data in canvases] == [5, 4, 3, 2, 1, 0]
    assert canvases[1]["tokens"] == [["h", None, None, None, None]]
    assert canvases[0]["confidence"] == [[None] * 5] or canvases[0]["confidence"][0] == pytest.approx([0.9] * 5)
    assert canvases[-1]["texts"] == ["hello"]
    assert canvases[-1]["confidence"][0] == pytest.approx([0.9] * 5, abs=1e-5)


def test_the_last_canvas_of_a_stream_is_the_answer_s(serve):
    """Who plays a stream step by step sees its end too, and how sure the last tokens were."""
    *_, (last, canvas), (end, answer) = events(serve(Infiller(Chaotic(3))), text="a<hole>b<hole>c")
    assert (last, end) == ("canvas", "done")
    assert canvas["texts"] == answer["texts"]
    assert canvas["lengths"] == answer["lengths"]
    assert None not in [sure for hole in canvas["confidence"] for sure in hole]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({}, 'Give "text" with a marker'),
        ({"text": "a<hole>", "texts": ["a", "b"]}, 'Give "text" with a marker'),
        ({"text": "nothing"}, "marker '<hole>' is not in the text"),
        ({"texts": ["a"]}, '"texts"'),
        ({"texts": ["a"] * 18}, "17 holes are more than 16"),
        ({"text": "a<hole>", "lengths": [1, 2]}, r"2 lengths for 1 hole\(s\)"),
        ({"text": "a<hole>", "lengths": [65]}, "65 is above the longest here, 64"),
        ({"text": "a<hole>", "search": "exhaustive", "init": 3}, "init is not for Exhaustive"),
        ({"text": "a<hole>", "init": 9, "max_length": 5}, "init=9 is above max_length=5"),
        ({"text": "a<hole>b<hole>", "alternatives": 1}, "need a temperature above 0"),
        ({"text": "a<hole>", "lenghts": [1]}, '"lenghts" is not known here'),
        ({"text": "a<hole>", "temperature": True}, '"temperature"'),
        ({"text": "a\ud800<hole>"}, '"text"'),
    ],
)
def test_what_makes_no_sense_is_refused_by_name_before_any_work(serve, body, message):
    model = Gated(["x"] * 20)
    answer = serve(model).post("/v1/fill", None, content=json.dumps(body), headers={"Content-Type": "application/json"})
    assert answer.status_code == 400
    assert re.search(message, is_error(400, answer.text))
    assert model.forwards == 0


def test_a_stream_that_cannot_begin_is_an_error_with_its_status(serve):
    answer = serve().post("/v1/fill", {"text": "no hole", "stream": True})
    assert answer.status_code == 400
    is_error(400, answer.text)
