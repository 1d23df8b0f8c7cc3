"""`/infill`, in the bytes llama.vim writes and by what it and llama.vscode read."""

import json

import pytest
from serving import Gated, http, is_error, split

from calipers import Infiller, Scripted, Template
from pretend import Chaotic

# What vim's json_encode gives: the keys in its own order, no spaces, and newlines escaped.
VIM = (
    b'{"id_slot":0,"input_prefix":"def f(x):\\n","input_suffix":"\\n\\nprint(f(1))\\n","input_extra":'
    b'[{"text":"import os\\n","time":[1,2],"filename":"a.py"}],"prompt":"    return ","n_predict":128,"stop":[],'
    b'"n_indent":4,"top_k":40,"top_p":0.99,"samplers":["top_k","top_p","infill"],"stream":false,"cache_prompt":true,'
    b'"t_max_prompt_ms":500,"t_max_predict_ms":1000,"response_fields":["content","timings/prompt_n",'
    b'"timings/prompt_ms","timings/prompt_per_token_ms","timings/prompt_per_second","timings/predicted_n",'
    b'"timings/predicted_ms","timings/predicted_per_token_ms","timings/predicted_per_second","truncated",'
    b'"tokens_cached"]}'
)
WARM_UP = (
    b'{"id_slot":0,"input_prefix":"","input_suffix":"","input_extra":[],"prompt":"","n_predict":0,"stop":[],'
    b'"n_indent":0,"top_k":40,"top_p":0.99,"samplers":["top_k","top_p","infill"],"stream":false,"cache_prompt":true,'
    b'"t_max_prompt_ms":1,"t_max_predict_ms":1,"response_fields":[""]}'
)
CURL = ("User-Agent: curl/8.5.0", "Accept: */*", "Content-Type: application/json", "Authorization: Bearer ")


def ask(server, **body):
    answer = server.post("/infill", {"input_prefix": "a", "input_suffix": "b"} | body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_llama_vim_gets_what_it_reads_from_the_bytes_it_sends(serve):
    server = serve()
    status, headers, body = split(server.raw(http("POST", "/infill", VIM, *CURL)))
    assert (status, headers["content-type"]) == (200, "application/json")
    assert b'"content":"hello"' in body  # it drops a body with a space after the colon
    answer = json.loads(body)
    assert answer["content"] == "hello"
    assert all(key in answer for key in json.loads(VIM)["response_fields"])
    assert set(answer) == set(json.loads(VIM)["response_fields"])
    assert answer["timings/predicted_n"] == 5
    assert answer["timings/prompt_n"] == answer["tokens_cached"] - 5 > 0
    assert answer["truncated"] is False


def test_a_warm_up_costs_no_forward_and_gives_the_fields_asked_for_which_are_none(serve):
    model = Gated(["hello"])
    server = serve(model)
    status, _, body = split(server.raw(http("POST", "/infill", WARM_UP, *CURL)))
    assert (status, body, model.forwards) == (200, b"{}", 0)


def test_the_cursor_s_line_goes_right_of_the_prefix_and_other_texts_left_of_it(serve):
    model = Scripted(["x"])
    ask(serve(model), input_prefix="PRE", prompt="LINE", input_suffix="SUF", input_extra=[{"text": "EXTRA"}])
    canvas = model.asked[-1][-1].canvas
    assert [bytes(ids) for ids in canvas.texts] == [b"EXTRA\n\nPRELINE", b"SUF"]


def test_other_texts_give_way_first_then_the_far_ends(serve):
    model = Scripted(["x"], context=200)
    server = serve(Infiller(model))
    extra = [{"text": "o" * 300}, {"text": "n" * 20}]
    ask(server, input_extra=extra, n_predict=16)
    assert bytes(model.asked[-1][-1].canvas.texts[0]) == b"n" * 20 + b"\n\na"
    answer = ask(server, input_prefix="p" * 300 + "P", input_suffix="S" + "s" * 300, input_extra=extra, n_predict=16)
    left, right = (bytes(ids) for ids in model.asked[-1][-1].canvas.texts)
    assert set(left) == set(b"pP")
    assert left.endswith(b"P")
    assert right.startswith(b"S")
    assert len(left) > len(right) > 0
    assert answer["truncated"] is True


def test_llama_vscode_gets_an_array_of_different_answers_the_best_first(serve):
    server = serve(Infiller(Chaotic(3)))
    alone = ask(server, input_prefix="abc")
    answers = ask(server, input_prefix="abc", n_cmpl=3, t_max_predict_ms=20000, cache_prompt=True, samplers=["infill"])
    assert [answer["index"] for answer in answers] == [0, 1, 2]
    assert answers[0]["content"] == alone["content"]
    assert len({answer["content"] for answer in answers}) == 3
    assert len({answer["tokens_predicted"] for answer in answers}) == 3
    assert {"content", "generation_settings", "tokens_cached", "truncated", "timings"} <= set(answers[2])
    assert {"prompt_n", "prompt_ms", "predicted_n", "predicted_ms", "predicted_per_second"} <= set(
        answers[2]["timings"]
    )


def test_an_answer_is_the_fill_the_library_gives(serve):
    model = Chaotic(7)
    answer = ask(serve(Infiller(Chaotic(7))), input_prefix="abc", input_suffix="cba")
    fill = Infiller(model).fill(Template.around("abc", "cba"))
    assert (answer["content"], answer["tokens_predicted"], answer["tokens_evaluated"]) == (fill.text, fill.length, 6)
    assert (answer["stop"], answer["has_new_line"], answer["model"]) == (True, False, "chaotic")


@pytest.mark.parametrize(
    ("n_predict", "content", "kind"), [(3, "hel", "limit"), (128, "hello", "eos"), (-1, "hello", "eos")]
)
def test_n_predict_bounds_the_length(serve, n_predict, content, kind):
    answer = ask(serve(), n_predict=n_predict)
    assert (answer["content"], answer["stop_type"]) == (content, kind)


def test_a_fill_ends_before_a_stop_string(serve):
    answer = ask(serve(), stop=["zz", "l"])
    assert (answer["content"], answer["stop_type"], answer["stopping_word"]) == ("he", "word", "l")


def test_a_fill_ends_before_a_line_that_is_indented_too_little(serve):
    answer = ask(serve(Scripted(["a\n  b\nc"])), n_indent=2)
    assert (answer["content"], answer["stop_type"], answer["has_new_line"]) == ("a\n  b", "limit", True)


def test_what_is_drawn_hangs_on_the_seed(serve):
    server = serve(Infiller(Chaotic(3)), cache=0)
    drawn = [ask(server, input_prefix="abc", temperature=2.0, seed=seed)["content"] for seed in (1, 2, 1)]
    assert drawn[0] == drawn[2] != drawn[1]
    several = ask(server, input_prefix="abc", temperature=2.0, seed=1, n_cmpl=2)
    assert [one["content"] for one in several] == drawn[:2]


def test_an_answer_is_remembered_by_exactly_what_was_asked(serve):
    model = Gated(["hello"])
    server = serve(model)
    first = ask(server)
    forwards = model.forwards
    again = ask(server)
    assert model.forwards == forwards > 0
    assert again["content"] == first["content"]
    assert again["timings"]["cache_n"] == 2
    ask(server, n_predict=9)
    ask(server, input_suffix="c")
    assert model.forwards > forwards


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"input_suffix": "b"}, '"input_prefix" is required'),
        ({"input_prefix": "a"}, '"input_suffix" is required'),
        ({"input_prefix": "a", "input_suffix": "b", "prompt": [1, 2]}, '"prompt"'),
        ({"input_prefix": "a", "input_suffix": "b", "stream": True}, '"stream" is not to be had here'),
        ({"input_prefix": "a", "input_suffix": "b", "grammar": "root ::= x"}, '"grammar" is not to be had'),
        ({"input_prefix": "a", "input_suffix": "b", "n_predict": "9"}, '"n_predict"'),
        ({"input_prefix": "a", "input_suffix": "b", "n_cmpl": 9, "n_predict": 3}, "9 choices differ in their length"),
        ({"input_prefix": "a", "input_suffix": "b", "input_extra": ["x"]}, '"input_extra.0"'),
    ],
)
def test_what_makes_no_sense_or_cannot_be_had_is_refused_by_name(serve, body, message):
    answer = serve().post("/infill", body)
    assert answer.status_code == 400
    assert message in is_error(400, answer.text, "invalid_request_error")


def test_a_hole_that_leaves_no_room_for_text_is_a_context_error(serve):
    answer = serve(Infiller(Scripted(["x"], context=32))).post("/infill", {"input_prefix": "a", "input_suffix": "b"})
    is_error(400, answer.text, "exceed_context_size_error")
