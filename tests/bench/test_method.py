"""Names of methods: two ways of saying the same are one, and what makes no sense is refused with its remedy."""

import re
from contextlib import suppress
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.bench.method import Method, Protocol
from calipers.bias import NONE, PAPER, Bias
from calipers.decode import Daedal, Denoise, LrDllm
from calipers.errors import ArgumentError, BiasError
from calipers.models.card import Card, find_card
from calipers.search import Exhaustive, Fixed, HillClimb, Regression

CARD = Card("chaotic", "chaotic", "scripted", "1")
DREAM = replace(CARD, rank="entropy", top_p=0.95, bias="none")
CODE, TEXT = Protocol(64, 4), Protocol(16, 2)
NO_START = ("oracle", "exhaustive", "regression", "powers", "lr-dllm")


def parse(text, card=CARD, protocol=CODE, bias=None):
    return Method.parse(text, card, protocol, bias)


def name(text, *more):
    return parse(text, *more).name


@pytest.mark.parametrize(
    ("text", "search", "decoder"),
    [
        ("oracle", Fixed(7, "oracle"), Denoise()),
        ("fixed:8", Fixed(8), Denoise()),
        ("fixed:0", Fixed(0), Denoise()),
        ("cal:8", HillClimb(8, 4, 1, 64), Denoise()),
        ("cal:4,patience=2,step=3,max_length=32,steps=5", HillClimb(4, 2, 3, 32), Denoise(steps=5)),
        ("daedal:8", Fixed(8), Daedal()),
        ("daedal:8,low=0.3,max_length=128,block=16", Fixed(8), Daedal(low=0.3, max_length=128, block=16)),
        ("daedal:100", Fixed(100), Daedal(max_length=100)),
        ("exhaustive,step=2", Exhaustive(64, 2), Denoise()),
        ("regression", Regression(64), Denoise()),
        ("powers,max_length=32", Regression(32, "powers"), Denoise()),
        ("lr-dllm,max-length=32,temperature=0.2", Regression(32, "powers"), LrDllm(32, 0.2)),
    ],
)
def test_a_name_is_a_search_and_a_decoder(text, search, decoder):
    method = parse(text)
    assert method.search(7) == search
    assert method.decoder == decoder
    assert method.samples == 1


def test_what_is_not_said_is_the_protocols_and_the_cards():
    method = parse("cal:8", DREAM, TEXT)
    assert method.search(1) == HillClimb(8, 2, 1, 16)
    assert method.decoder == Denoise(rank="entropy", top_p=0.95)
    assert method.bias == NONE
    assert method.name == "cal:8,bias=none"
    assert parse("cal:8", DREAM, TEXT, "paper").name == "cal:8"
    assert parse("cal:8,bias=none", CARD, CODE, "paper").bias == NONE
    assert parse("fixed:8", DREAM, TEXT, "paper").bias == NONE


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("cal:8", " cal:08,bias=paper,patience=4,step=1,max-length=64 "),
        ("cal:8,patience=2,bias=none", "cal:8,bias=none,patience=2"),
        ("cal:8,temperature=0.2", "cal:8, temperature = 0.20,seed=0,samples=1"),
        ("cal:8", "cal:8,tokens_per_step=1,rank=low_confidence,top_p=1,top_k=0,temperature=-0.0"),
        ("daedal:8", "daedal:8,low=0.4,high=0.9,factor=2,block=32,max_length=64"),
        ("daedal:100", "daedal:100,max_length=100"),
        ("lr-dllm", "lr-dllm,max_length=64,top_p=1.0"),
    ],
)
def test_two_ways_of_saying_the_same_are_one_method(one, other):
    assert parse(one) == parse(other)
    assert parse(one).describe() == parse(other).describe()


KINDS = st.sampled_from([*NO_START, *(f"{kind}:{n}" for kind in ("fixed", "cal", "daedal") for n in (0, 1, 8, 65))])
OPTIONS = {
    "bias": ["paper", "none", "missing.json", ""],
    "patience": ["0", "1", "4", "x"],
    "step": ["0", "1", "2"],
    "max_length": ["1", "4", "63", "64", "128", "-1"],
    "steps": ["0", "1", "8"],
    "tokens_per_step": ["1", "2"],
    "block": ["8", "32"],
    "threshold": ["0", "0.5", "1", "nan"],
    "rank": ["entropy", "low_confidence", "random", "best"],
    "temperature": ["0", "-0.0", "0.2", "inf", "nan", "-1"],
    "top_p": ["0.5", "1", "2"],
    "top_k": ["0", "5", "-1"],
    "low": ["0.1", "0.4", "0.95"],
    "high": ["0.5", "0.9"],
    "factor": ["1", "2", "3"],
    "samples": ["0", "1", "2", "x"],
    "seed": ["0", "1", "-1", str(1 << 63), "9" * 5000],
}
SAID = st.sampled_from(sorted(OPTIONS)).flatmap(lambda key: st.sampled_from(OPTIONS[key]).map(f"{key}={{}}".format))
NAMES = st.tuples(KINDS, st.lists(SAID, max_size=3)).map(lambda parts: ",".join([parts[0], *parts[1]]))


def attempt(text, card=CARD):
    try:
        return parse(text, card)
    except (ArgumentError, BiasError):
        return None


@given(NAMES, st.sampled_from([CARD, DREAM]))
def test_a_methods_name_says_the_same_method_again(text, card):
    method = attempt(text, card)
    if method is not None:
        assert parse(method.name, card) == method


@given(NAMES, NAMES, st.sampled_from([CARD, DREAM]))
def test_methods_differ_if_and_only_if_their_names_and_their_folders_do(one, other, card):
    first, second = attempt(one, card), attempt(other, card)
    if first is None or second is None:
        return
    same = first.describe() == second.describe()
    assert (first.name == second.name) == same
    assert (first.folder == second.folder) == same
    assert (first == second) == same


@given(NAMES)
def test_a_folders_name_is_safe_anywhere(text):
    method = attempt(text)
    if method is not None:
        assert re.fullmatch(r"[a-z][\w.,=+-]*", method.folder)
        assert len(method.folder) < 200


@given(st.text() | NAMES | st.tuples(NAMES, st.text()).map("".join))
def test_of_any_text_a_method_or_an_error_that_is_meant_for_people_comes(text):
    with suppress(ArgumentError, BiasError):
        assert parse(text).name


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("foo", "give one of fixed, cal, daedal, oracle"),
        ("cal", "lacks its start; give 'cal:8'"),
        ("cal:", "lacks its start; give 'cal:8'"),
        ("oracle:8", "takes no start; give 'oracle'"),
        ("cal:x", "start='x' is no int; correct it"),
        ("cal:8:9", "start='8:9' is no int; correct it"),
        ("cal:8,", "has the option ''; cal takes bias, block"),
        ("cal:8,patience", "has the option 'patience'; cal takes"),
        ("cal:8,bias=", "has the option 'bias='; cal takes"),
        ("fixed:8,patience=2", "has the option 'patience=2'; fixed takes block, rank"),
        ("daedal:8,temperature=1", "has the option 'temperature=1'; daedal takes block, factor, high, low, max_length"),
        ("cal:8,patience=2,patience=2", "says patience twice; say it once"),
        ("cal:8,patience=2.5", "patience='2.5' is no int; correct it"),
        ("cal:8,temperature=hot", "temperature='hot' is no float; correct it"),
        ("cal:8,patience=0", "patience=0 must be at least 1"),
        ("cal:8,max_length=4", "init=8 is above max_length=4; lower init or raise max_length"),
        ("daedal:8,max_length=4", "start=8 is above max_length=4; lower the start or raise max_length"),
        ("daedal:0", "start=0 must be at least 1"),
        ("fixed:-1", "length=-1 is negative; give 0 or more"),
        ("powers,max_length=3", "max_length=3 leaves too few lengths to fit a line to; give 4 or more"),
        ("cal:8,rank=best", "rank='best' is not known; give one of low_confidence"),
        ("cal:8,steps=2,tokens_per_step=1", "both say how fast; give one"),
        ("daedal:8,low=0.95", "low=0.95 must be below high=0.9"),
        ("cal:8,temperature=1,samples=0", "samples=0 must be at least 1"),
        ("cal:8,temperature=1,seed=-1", "seed=-1 must be 0 or more"),
        (f"cal:8,temperature=1,seed={(1 << 63) - 1},samples=2", "below 2\\*\\*63"),
        ("cal:8,samples=10", "samples=10 and seed=0 change nothing where nothing is drawn; give a temperature above 0"),
        ("lr-dllm,seed=3", "seed=3 change nothing where nothing is drawn"),
    ],
)
def test_a_mistake_is_told_with_the_method_the_option_and_the_remedy(text, said):
    with pytest.raises(ArgumentError, match=f"method={re.escape(repr(text))}.*{said}"):
        parse(text)


@pytest.mark.parametrize("bias", ["missing.json", "no/such/file", ".", "\0", "\ud800", "x" * 5000])
def test_a_bias_that_is_not_there_is_an_error_of_the_bias_that_names_the_method(bias):
    with pytest.raises(BiasError, match="method='cal:8,bias="):
        parse(f"cal:8,bias={bias}")


def fitted(path, name="mine", a=0.5):
    path.parent.mkdir(parents=True, exist_ok=True)
    Bias(a, 1.5, 0.5, 0.06, 0.2, name=name, model="m", data="d").save(path)
    return path


def test_a_bias_from_a_file_is_called_by_its_own_name_wherever_it_lies(tmp_path):
    one, copy = fitted(tmp_path / "a.json"), fitted(tmp_path / "deep" / "b.json")
    method = parse(f"cal:8,bias={one}")
    assert method.name == "cal:8,bias=mine"
    assert parse(f"cal:8,bias={copy}") == method == parse("cal:8", CARD, CODE, str(one))
    said = method.describe()["bias"]
    assert said == {
        "name": "mine",
        "coefficients": [0.5, 1.5, 0.5, 0.06, 0.2],
        "model": "m",
        "revision": "",
        "data": "d",
    }


@pytest.mark.parametrize("odd", ["../../etc", "a/b", "a,b=c:d", "a\nb", "Ü ü", ".", "", "x" * 300])
def test_an_odd_name_of_a_bias_makes_no_odd_folder(tmp_path, odd):
    method = parse(f"cal:8,bias={fitted(tmp_path / 'a.json', odd)}")
    assert re.fullmatch(r"cal-8,bias=[\w.+-]{1,64}", method.folder)
    assert (tmp_path / method.folder).parent == tmp_path
    (tmp_path / method.folder).mkdir()
    assert method.describe()["bias"]["name"] == odd


def test_two_biases_of_one_name_are_told_apart_by_what_a_manifest_says(tmp_path):
    one, other = fitted(tmp_path / "a.json"), fitted(tmp_path / "b.json", a=0.6)
    first, second = parse(f"cal:8,bias={one}"), parse(f"cal:8,bias={other}")
    assert first.name == second.name
    assert first.describe() != second.describe()
    assert first != second


def test_a_file_that_takes_the_name_of_another_bias_is_refused(tmp_path):
    impostor = fitted(tmp_path / "a.json", "paper")
    with pytest.raises(BiasError, match="calls itself 'paper', which is the name of another; change the name"):
        parse(f"cal:8,bias={impostor}")
    PAPER.save(tmp_path / "copy.json")
    assert parse(f"cal:8,bias={tmp_path / 'copy.json'}") == parse("cal:8")


def test_a_method_of_the_bundled_model_is_named_without_what_its_card_says():
    card = find_card("calipers-135m")
    assert name("fixed:8", card) == "fixed:8"
    assert name(f"cal:8,rank={card.rank}", card, CODE, "paper") == "cal:8"


def test_samples_have_seeds_of_their_own():
    method = parse("cal:8,temperature=0.8,samples=10,seed=5")
    assert (method.samples, method.seed) == (10, 5)
    assert method.name == "cal:8,samples=10,seed=5,temperature=0.8"
    assert parse("fixed:8,rank=random,samples=2").samples == 2
