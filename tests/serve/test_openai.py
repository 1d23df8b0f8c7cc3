"""`/v1/completions` and `/v1/models` through the official client, unchanged."""

import asyncio

import openai
import pytest
from serving import Gated, until

from calipers import Fixed, Infiller, Scripted
from pretend import Chaotic


def client(server, key="none", **more):
    return openai.OpenAI(base_url=server.url + "/v1", api_key=key, max_retries=0, **more)


def complete(server, **more):
    return client(server).completions.create(**{"model": "scripted", "prompt": "a", "suffix": "b"} | more)


def test_the_client_gets_a_fill_between_prompt_and_suffix(serve):
    answer = complete(serve())
    (choice,) = answer.choices
    assert (choice.text, choice.index, choice.finish_reason, choice.logprobs) == ("hello", 0, "stop", None)
    assert (answer.object, answer.model, answer.id[:5]) == ("text_completion", "scripted", "cmpl-")
    assert (answer.usage.prompt_tokens, answer.usage.completion_tokens, answer.usage.total_tokens) == (2, 5, 7)


def test_without_a_suffix_it_completes(serve):
    model = Scripted(["hello"])
    assert complete(serve(model), suffix=openai.omit).choices[0].text == "hello"
    assert model.asked[-1][-1].canvas.texts == ((ord("a"),), ())


def test_the_async_client_too(serve):
    server = serve()

    async def both():
        async with openai.AsyncOpenAI(base_url=server.url + "/v1", api_key="none", max_retries=0) as them:
            plain = await them.completions.create(model="scripted", prompt="a", suffix="b")
            stream = await them.completions.create(model="scripted", prompt="a", suffix="b", stream=True)
            return plain.choices[0].text, "".join([event.choices[0].text async for event in stream])

    assert asyncio.run(both()) == ("hello", "hello")


def test_a_stream_brings_each_choice_and_the_usage_if_asked(serve):
    server = serve(Infiller(Chaotic(3)))
    asked = {"model": "chaotic", "prompt": "abc", "n": 3}
    whole = complete(server, **asked)
    events = list(complete(server, **asked, stream=True, stream_options={"include_usage": True}))
    assert [event.choices[0] for event in events[:-1]] == whole.choices
    assert (events[-1].choices, events[-1].usage) == ([], whole.usage)
    assert [event.usage for event in events[:-1]] == [None] * 3


def test_a_stream_that_is_closed_ends_the_work(serve):
    model = Gated(["hello"], seconds=0.02)
    server = serve(Infiller(model, search=Fixed(60)))
    stream = complete(server, n=1, stream=True)
    until(lambda: model.forwards > 0)
    stream.close()
    until(lambda: server.engine.idle)
    assert model.forwards < 40
    assert server.metric("fills_total", end="cancelled") == 1


def test_an_async_request_that_is_cancelled_ends_the_work_and_others_go_on(serve):
    model = Gated(["hello"], seconds=0.02)
    server = serve(Infiller(model, search=Fixed(60)))

    async def leave():
        async with openai.AsyncOpenAI(base_url=server.url + "/v1", api_key="none", max_retries=0) as them:
            left = asyncio.create_task(them.completions.create(model="scripted", prompt="a", suffix="b"))
            await asyncio.to_thread(until, lambda: model.forwards > 0)
            left.cancel()
            kept = await them.completions.create(model="scripted", prompt="ab", suffix="b", max_tokens=5, n=1)
            with pytest.raises(openai.BadRequestError, match='"logprobs"'):
                await them.completions.create(model="scripted", prompt="a", logprobs=1, stream=True)
            stream = await them.completions.create(
                model="scripted", prompt="abc", suffix="b", max_tokens=5, stream=True
            )
            return kept.choices[0].text, [event.choices[0].text async for event in stream]

    assert asyncio.run(leave()) == ("hello", ["hello"])
    until(lambda: server.engine.idle)
    assert server.metric("fills_total", end="cancelled") == 1


def test_a_stream_ends_as_the_format_says(serve):
    text = serve().post("/v1/completions", {"prompt": "a", "stream": True}).text
    assert text.startswith("data: {")
    assert text.endswith("data: [DONE]\n\n")


def test_several_prompts_are_filled_side_by_side(serve):
    server = serve(Infiller(Chaotic(3)))
    alone = [complete(server, model="chaotic", prompt=prompt, n=2).choices for prompt in ("ab", "cd")]
    together = complete(server, model="chaotic", prompt=["ab", "cd"], n=2)
    assert [choice.index for choice in together.choices] == [0, 1, 2, 3]
    assert [choice.text for choice in together.choices] == [choice.text for one in alone for choice in one]


def test_max_tokens_bounds_the_length_and_says_so(serve):
    choice = complete(serve(), max_tokens=3).choices[0]
    assert (choice.text, choice.finish_reason) == ("hel", "length")


def test_a_fill_ends_before_a_stop_string(serve):
    server = serve()
    assert complete(server, stop="l").choices[0].text == "he"
    assert complete(server, stop=["o", "ll"]).choices[0].text == "he"


def test_with_a_temperature_choices_are_drawn_by_the_seed(serve):
    server = serve(Infiller(Chaotic(3)), cache=0)

    def draw(**more):
        return [c.text for c in complete(server, model="chaotic", temperature=2.0, n=3, **more).choices]

    assert draw(seed=1) == draw(seed=1) != draw(seed=2)
    assert draw() != draw()


def test_the_model_is_listed(serve):
    assert [model.id for model in client(serve()).models.list()] == ["scripted"]


def test_another_model_is_not_found(serve):
    with pytest.raises(openai.NotFoundError, match="'gpt-5' is not served here; 'scripted' is"):
        complete(serve(), model="gpt-5")


@pytest.mark.parametrize(
    "asked",
    [
        {"logprobs": 1},
        {"echo": True},
        {"best_of": 3},
        {"frequency_penalty": 0.5},
        {"presence_penalty": 0.5},
        {"logit_bias": {"1": 5}},
        {"extra_body": {"guided_regex": "x"}},
        {"n": 17},
        {"max_tokens": 0},
        {"stop": ""},
        {"seed": -1},
        {"temperature": 3.0},
    ],
)
def test_what_cannot_be_had_is_refused_by_name(serve, asked):
    (name,) = asked.get("extra_body", asked)
    with pytest.raises(openai.BadRequestError, match=f'"{name}'):
        complete(serve(), **asked)


def test_what_asks_for_nothing_is_no_matter(serve):
    more = {"logprobs": None, "echo": False, "best_of": 1, "frequency_penalty": 0, "logit_bias": {}, "user": "me"}
    assert complete(serve(), **more).choices[0].text == "hello"


def test_a_key_is_asked_for_and_the_client_brings_it(serve):
    server = serve(keys=("one", "two"))
    assert client(server, "two").completions.create(model="scripted", prompt="a").choices[0].text == "hello"
    with pytest.raises(openai.AuthenticationError, match="Invalid API key"):
        client(server, "three").completions.create(model="scripted", prompt="a")


def test_prompts_that_do_not_all_fit_the_queue_are_refused_whole(serve):
    model = Gated(["hello"])
    server = serve(model, queue=2, at_once=1)
    model.gate.clear()
    with pytest.raises(openai.InternalServerError, match="waiting already"):
        complete(server, prompt=["a", "b", "c", "d"])
    model.gate.set()
    until(lambda: server.engine.idle)
    assert server.metric("fills_total", end="done") == 0
