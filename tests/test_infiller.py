"""The whole composition on models with known answers: what is found, what it costs, and what is told on the way."""

import warnings
from dataclasses import replace
from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import calipers
from calipers import Daedal, Denoise, Exhaustive, Fixed, HillClimb, Infiller, Scripted, Template, infill
from calipers.bias import PAPER, Bias
from calipers.errors import ArgumentError, BiasError, CalipersWarning, ContextError
from pretend import Chaotic, Coupled
from test_search import FROM_4, FROM_16, PRINTED

SUFFIX = "\n      if distance < threshold:\n"
FOREIGN = replace(PAPER, name="mine", model="owner/other", revision="abc", portable=False)


def queries(model):
    return [query for call in model.asked for query in call]


def untimed(fill):
    return replace(fill, timings={})


@pytest.mark.parametrize(("init", "table"), [(4, FROM_4), (16, FROM_16)])
def test_the_case_study_of_the_paper_from_text_to_fill(init, table):
    answer = "distance =\n"[:10]
    model = Scripted([answer], landscape=lambda n: PRINTED[n][0])
    fill = infill("if idx != idx2:\n", SUFFIX, model=model, init=init)
    assert [probe.length for probe in fill.landscape.probes] == [row[0] for row in table]
    for probe, (_, confidence, bias, calibrated) in zip(fill.landscape.probes, table, strict=True):
        assert probe.confidence == pytest.approx(min(0.999, confidence), abs=1e-5)  # Scripted is never surer
        assert probe.bias == pytest.approx(bias, abs=0.0006)
        assert probe.calibrated == pytest.approx(calibrated, abs=0.003)
    assert (fill.length, fill.text, fill.probes) == (10, answer, len(table))


@settings(max_examples=40)
@given(st.text("abcé", min_size=1, max_size=10), st.integers(1, 24), st.integers(1, 4))
def test_an_answer_is_found_from_any_start(answer, init, patience):
    fill = infill("x = ", "\n", model=Scripted([answer]), init=init, patience=patience, max_length=24)
    assert fill.text == answer
    assert fill.length == len(answer.encode())
    assert fill.passes == 1


def test_a_length_that_is_known_is_not_searched():
    model = Scripted(["hello"])
    fill = infill("a", "b", model=model, length=3)
    assert (fill.text, fill.length, fill.probes, fill.landscape.stop) == ("hel", 3, 0, "fixed")


def test_nothing_is_a_length_too():
    model = Scripted(["hello"])
    fill = infill("a", "b", model=model, length=0)
    assert (fill.whole, fill.lengths, fill.forwards, model.asked) == ("ab", (0,), 0, [])


def test_the_ablation_without_bias_maximises_plain_confidence():
    landscape = {n: 0.95 - n / 20 + 0.25 * (n == 7) for n in range(1, 13)}
    found = {
        bias: infill(
            "a", "b", model=Scripted(["x"], landscape.get), bias=bias, init=7, patience=12, max_length=12
        ).length
        for bias in ("paper", "none")
    }
    assert found["none"] == max(landscape, key=landscape.get)
    assert found["paper"] == max(landscape, key=lambda n: landscape[n] / PAPER(n))
    assert found["none"] != found["paper"]


# Several holes.


@settings(max_examples=40)
@given(st.lists(st.text("abc", min_size=1, max_size=14), min_size=1, max_size=3), st.integers(1, 16))
def test_several_holes_with_different_answers_are_found_exactly(answers, init):
    texts = tuple(f"<{n}>" for n in range(len(answers) + 1))
    fill = Infiller(Scripted(answers), search=HillClimb(init, max_length=16)).fill(Template(texts))
    assert fill.texts == tuple(answers)
    assert fill.lengths == tuple(map(len, answers))
    assert len(fill.landscapes) == len(answers)
    assert fill.whole == "".join(a + b for a, b in zip(texts, [*answers, ""], strict=True))


def test_one_hole_of_a_template_is_the_plain_infill():
    alone = infill("ab", "c", model=Scripted(["hello"]))
    assert untimed(Infiller(Scripted(["hello"])).fill(Template.around("ab", "c"))) == untimed(alone)
    chaotic = Infiller(Chaotic()).fill(Template.parse("ab<hole>c"))
    assert untimed(chaotic) == untimed(infill("ab", "c", model=Chaotic()))


def decoding(model):
    """The queries of the decode stage: those about every mask there is."""
    return [query for query in queries(model) if query.positions == query.canvas.masked]


@pytest.mark.parametrize(("passes", "forwards"), [(3, 3 + 5 - 1), (1, 3 + 5)])
def test_holes_are_decoded_together_their_first_step_reused_if_all_of_it_is_known(passes, forwards):
    # After one pass, the first hole was last measured beside another length of the second.
    model = Scripted(["abc", "defgh"])
    fill = Infiller(model, passes=passes).fill(Template(("x", "y", "z")))
    assert fill.texts == ("abc", "defgh")
    assert len(decoding(model)) == forwards


def test_passes_end_when_nothing_changes_and_are_told():
    fill = Infiller(Coupled(lambda hole, lengths: (6, lengths[0] + 3)[hole])).fill(Template(("a", "b", "c")))
    assert (fill.lengths, fill.passes) == ((6, 9), 2)
    still = Infiller(Scripted(["x" * 8, "y" * 8])).fill(Template(("a", "b", "c")))
    assert still.passes == 1


def test_each_hole_may_have_its_own_search():
    infiller = Infiller(Scripted(["abc", "defgh"]))
    fill = infiller.fill(Template(("x", "y", "z")), search=[Fixed(2), Exhaustive(6)])
    assert fill.texts == ("ab", "defgh")
    assert [landscape.stop for landscape in fill.landscapes] == ["fixed", "all"]
    assert fill.probes == 6


@pytest.mark.parametrize("count", [0, 1, 3])
def test_searches_are_one_or_one_a_hole(count):
    infiller = Infiller(Scripted(["abc", "defgh"]))
    with pytest.raises(ArgumentError, match=rf"{count} searches for 2 hole\(s\); give one, or one each"):
        infiller.fill(Template(("x", "y", "z")), search=[HillClimb()] * count)


# Several templates.


@settings(max_examples=25)
@given(st.lists(st.text("abc", max_size=6), max_size=5), st.integers(1, 6), st.integers(0, 10**6), st.booleans())
def test_many_fills_are_what_each_would_be_alone_however_many_at_once(prefixes, at_once, seed, growing):
    decoder = Daedal(low=0.6, max_length=12) if growing else Denoise(temperature=0.5, tokens_per_step=2)
    infiller = Infiller(Chaotic(seed), search=HillClimb(4, 2, 1, 9), decoder=decoder, seed=seed)
    templates = [Template.around(prefix, "c") for prefix in prefixes]
    alone = [untimed(infiller.fill(template)) for template in templates]
    assert [untimed(fill) for fill in infiller.fill_many(templates)] == alone
    assert [untimed(fill) for fill in infiller.fill_many(iter(templates), at_once=at_once)] == alone


def test_many_fills_share_forwards():
    model = Scripted(["hello"])
    fills = Infiller(model, search=Fixed(5)).fill_many([Template.around("a" * n, "b") for n in range(16)])
    assert len(model.asked) == 5
    assert all(fill.forwards == 5 for fill in fills)


def test_each_template_may_have_its_own_search():
    templates = [Template.around("a", "b"), Template(("a", "b", "c"))]
    infiller = Infiller(Scripted(["hello", "you"]))
    fills = infiller.fill_many(templates, searches=[Fixed(2), [Fixed(3), HillClimb()]])
    assert [fill.texts for fill in fills] == [("he",), ("hel", "you")]


@pytest.mark.parametrize("count", [0, 1, 3])
def test_searches_are_one_a_template(count):
    templates = [Template.around("a", "b")] * 2
    with pytest.raises(ArgumentError, match=rf"{count} searches for 2 template\(s\); give one each"):
        Infiller(Scripted(["x"])).fill_many(templates, searches=[Fixed(1)] * count)


def test_one_template_that_does_not_fit_costs_no_work():
    model = Scripted(["hello"], context=128)
    with pytest.raises(ContextError):
        Infiller(model, crop=False).fill_many([Template.around("a", "b"), Template.around("a" * 200, "b")])
    assert model.asked == []


# On the way.


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.integers(1, 3), st.integers(1, 9))
def test_a_stream_tells_of_search_then_decode_then_the_fill(seed, holes, init):
    infiller = Infiller(Chaotic(seed), search=HillClimb(init, 2, 1, 9), decoder=Denoise(tokens_per_step=2))
    template = Template(("a",) * (holes + 1))
    steps = list(infiller.stream(template))
    stages = [step.stage for step in steps]
    assert stages == sorted(stages, key=["search", "decode", "done"].index)
    assert stages.count("done") == 1
    assert untimed(steps[-1].fill) == untimed(infiller.fill(template))
    assert len(steps) - 1 == steps[-1].fill.forwards
    decoding = [step.canvas for step in steps if step.stage != "search"]
    assert all(set(after.masked) < set(before.masked) for before, after in pairwise(decoding))
    assert steps[-1].canvas.holes == steps[-1].fill.ids
    assert all(step.fill is None for step in steps[:-1])


def test_a_stream_shows_the_probes_so_far():
    steps = list(Infiller(Scripted(["hello"]), search=HillClimb(20, 4)).stream(Template.around("a", "b")))
    searching = [step for step in steps if step.stage == "search"]
    assert searching[0].probes == ()
    counts = [len(step.probes) for step in searching]
    assert counts == sorted(set(counts))
    assert counts[-1] < steps[-1].fill.probes


def test_a_stream_may_be_left_early():
    model = Scripted(["hello"])
    stream = Infiller(model).stream(Template.around("a", "b"))
    next(stream)
    stream.close()
    assert model.asked == []


def test_a_probe_measures_and_decodes_nothing():
    probing, filling = Scripted(["abc", "defgh"]), Scripted(["abc", "defgh"])
    template = Template(("x", "y", "z"))
    landscapes = Infiller(probing).probe(template)
    fill = Infiller(filling).fill(template)
    assert landscapes == fill.landscapes
    assert len(queries(probing)) == fill.probes
    assert len(probing.asked) == fill.forwards - (3 + 5 - 1)


def test_forwards_and_probes_are_counted_as_the_model_saw_them():
    model = Chaotic(5)
    fill = Infiller(model, search=HillClimb(4, 2, 1, 9)).fill(Template(("a", "b", "c")))
    assert fill.forwards == len(model.asked)
    assert fill.probes == len(queries(model)) - len(decoding(model))


# What a result says of itself.


def test_a_fill_says_what_made_it():
    search, decoder = HillClimb(6, 2), Denoise("entropy", steps=3)
    fill = Infiller(Scripted(["hello"]), search=search, decoder=decoder, bias="none", seed=7).fill(
        Template.around("a", "b")
    )
    assert fill.made_with == {
        "model": "scripted",
        "revision": "1",
        "device": "cpu/float32",
        "bias": "none",
        "bias_coefficients": [0.0, 0.0, 0.0, 0.0, 1.0],
        "search": repr(search),
        "decoder": repr(decoder),
        "seed": 7,
        "empty": "None",
        "trim_echo": False,
        "passes": 3,
        "context": 4096,
        "calipers": calipers.__version__,
    }
    assert set(fill.timings) == {"encode", "search", "decode", "total"}
    assert fill.timings["total"] == pytest.approx(sum(fill.timings.values()) - fill.timings["total"])


def test_a_fill_says_which_searches_found_its_lengths():
    infiller = Infiller(Scripted(["abc", "defgh"]))
    fill = infiller.fill(Template(("x", "y", "z")), search=[Fixed(2), Exhaustive(6)])
    assert fill.made_with["search"] == f"{Fixed(2)!r}; {Exhaustive(6)!r}"
    assert infiller.fill(Template(("x", "y", "z"))).made_with["search"] == repr(HillClimb())


def test_the_card_s_habits_are_the_defaults():
    model = Scripted(["hello"])
    model.card = replace(model.card, rank="entropy", top_p=0.95, bias="none")
    infiller = Infiller(model)
    assert infiller.decoder == Denoise("entropy", top_p=0.95)
    assert infiller.bias.name == "none"
    assert Infiller(model, bias="paper", decoder=Denoise()).bias is PAPER


def test_a_bias_of_another_model_is_used_and_told_of():
    with pytest.warns(CalipersWarning, match=r"'mine' was fitted on owner/other \(abc\).*`calipers fit`"):
        infiller = Infiller(Scripted(["hello"]), bias=FOREIGN)
    fill = infiller.fill(Template.around("a", "b"))
    assert "fitted on owner/other" in fill.notes[0]


def test_the_paper_s_bias_is_used_without_a_word():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fill = infill("a", "b", model=Scripted(["hello"]), bias="paper")
    assert fill.notes == ()


def test_a_bias_file_is_read(tmp_path):
    mine = replace(PAPER, name="mine")
    mine.save(tmp_path / "mine.json")
    assert Infiller(Scripted(["x"]), bias=tmp_path / "mine.json").bias == mine
    with pytest.raises(BiasError, match=r"absent\.json"):
        Infiller(Scripted(["x"]), bias=str(tmp_path / "absent.json"))


def test_a_long_text_is_cropped_and_the_whole_is_not():
    prefix, suffix = "p" * 300, "s" * 300
    model = Scripted(["hello"], context=128)
    fill = infill(prefix, suffix, model=model)
    assert fill.whole == prefix + "hello" + suffix
    assert "were not read" in fill.notes[0]
    assert all(len(query.canvas) <= 128 for query in queries(model))
    with pytest.raises(ContextError, match="allow cropping"):
        infill(prefix, suffix, model=model, crop=False)


def test_context_is_what_the_user_allows_of_what_the_model_reads():
    model = Scripted(["hello"])
    infill("p" * 300, "s" * 300, model=model, context=100)
    assert max(len(query.canvas) for query in queries(model)) <= 100


ECHOING = "return total\n    print(to"


def test_an_echo_of_the_suffix_is_cut_when_asked_for_and_told_of():
    suffix = "\n    print(total)\n"
    plain = infill("    ", suffix, model=Scripted([ECHOING]))
    assert plain.text == ECHOING
    fill = infill("    ", suffix, model=Scripted([ECHOING]), trim_echo=True)
    assert fill.text == "return total"
    assert fill.whole == "    return total\n    print(total)\n"
    assert fill.length == plain.length
    assert r"Trimmed '\n    print(to', which the text after hole 1 begins with." in fill.notes


def test_an_echo_is_looked_for_in_the_text_after_its_own_hole():
    infiller = Infiller(Scripted(["one, third!", "two, third!"]), trim_echo=True)
    fill = infiller.fill(Template(("", " second;", ", third!")))
    assert fill.texts == ("one, third!", "two")


def test_without_temperature_the_seed_changes_nothing():
    templates = [Template.around("a", "b"), Template(("a", "b", "c"))]
    one, two = (
        [untimed(fill) for fill in Infiller(Chaotic(), search=Fixed(5), seed=seed).fill_many(templates)]
        for seed in (1, 2)
    )
    assert [fill.texts for fill in one] == [fill.texts for fill in two]


def test_a_model_s_randomness_is_not_touched():
    torch.manual_seed(0)
    expected = torch.rand(3).tolist()
    torch.manual_seed(0)
    infill("a", "b", model=Chaotic(), decoder=Denoise("random", temperature=1.0))
    assert torch.rand(3).tolist() == expected


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"passes": 0}, "passes=0 must be at least 1"),
        ({"context": 0}, "context=0 must be at least 1"),
    ],
)
def test_misuse_is_refused_by_name_value_and_remedy(options, message):
    with pytest.raises(ArgumentError, match=message):
        Infiller(Scripted(["x"]), **options)


def test_a_mistyped_option_is_an_error():
    with pytest.raises(TypeError, match="patienc"):
        infill("a", "b", model=Scripted(["x"]), patienc=2)


def test_a_hole_too_many_is_scripted_s_own_error():
    with pytest.raises(ArgumentError, match=r"Scripted has 1 answer\(s\)"):
        Infiller(Scripted(["x"])).fill(Template(("a", "b", "c")))


def test_a_bias_that_is_made_by_hand_is_used():
    steep = Bias(0.0, 0.0, 1.0, 0.5, 0.01, name="steep")
    fill = infill("a", "b", model=Scripted(["x"], landscape=lambda n: 0.5), bias=steep, patience=2, max_length=20)
    assert fill.length == 20
    assert fill.bias == "steep"
