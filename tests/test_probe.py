"""Confidence of a hole, and a prober that asks for nothing twice."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from calipers import (
    MASK,
    Exhaustive,
    Fixed,
    HillClimb,
    Infiller,
    Query,
    Regression,
    Scripted,
    Template,
    find,
    infill,
)
from calipers.bias import NONE, PAPER
from calipers.canvas import Canvas
from calipers.decode import Denoise
from calipers.drive import Done, drive
from calipers.errors import CalipersError, ModelError
from calipers.look import Look
from calipers.probe import Prober, confidence, entropy
from pretend import Chaotic, Coupled

EMPTY = Canvas(((1, 2, 3), (4, 5)), ((),))


def probed(model, search, bias=PAPER, prober=None, canvas=EMPTY):
    """The landscape of the first hole, and the prober that found it."""
    prober = prober or Prober(0, bias)
    (done,) = (e.result for _, e in drive(model, [prober.search(canvas, search)]) if isinstance(e, Done))
    return done, prober


def lengths_asked(model):
    return [query.canvas.lengths[0] for call in model.asked for query in call]


@given(st.integers(1, 9), st.integers(2, 40), st.integers(0, 10**6), st.sampled_from([0.01, 1.0, 30.0, 1e4]))
def test_confidence_is_the_mean_top_probability_of_a_plain_softmax(rows, size, seed, scale):
    logits = torch.randn(rows, size, generator=torch.Generator().manual_seed(seed)) * scale
    plain = logits.double().softmax(-1).max(-1).values.mean()
    assert confidence(logits) == pytest.approx(float(plain), abs=2e-6)


def test_confidence_distinguishes_what_bfloat16_cannot():
    logits = torch.tensor([[4.0, 0.0, 0.0]])
    nearby = torch.tensor([[4.0 + 1e-3, 0.0, 0.0]])
    assert confidence(nearby) > confidence(logits)
    assert logits.bfloat16().softmax(-1).max() == nearby.bfloat16().softmax(-1).max()


def test_forbidden_ids_have_no_share_in_confidence():
    logits = torch.tensor([[1.0, 2.0, -torch.inf], [0.0, -torch.inf, 3.0]])
    assert confidence(logits) == pytest.approx(float(logits.softmax(-1).max(-1).values.mean()))


@pytest.mark.parametrize("bad", [[float("nan"), 0.0], [float("inf"), 0.0], [-float("inf"), -float("inf")]])
def test_logits_that_are_not_finite_are_a_model_s_error_with_a_remedy(bad):
    with pytest.raises(ModelError, match=r"not finite.*float32"):
        confidence(torch.tensor([[1.0, 2.0], bad]))


def test_a_broken_model_is_told_of_by_a_fill():
    class Overflowing(Chaotic):
        def row(self, canvas, position):
            return super().row(canvas, position) * torch.inf

    with pytest.raises(CalipersError, match="not finite"):
        infill("a", "b", model=Overflowing())


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.integers(1, 24), st.integers(1, 5), st.integers(1, 3))
def test_a_landscape_holds_confidence_bias_and_their_ratio_in_the_search_s_order(seed, init, patience, step):
    model = Chaotic(seed)
    landscape, _ = probed(model, HillClimb(init, patience, step, 24))
    for probe in landscape.probes:
        masks = EMPTY.with_masks([probe.length])
        (logits,) = Chaotic(seed).predict([Query(masks, masks.positions)])
        assert probe.confidence == confidence(logits)
        assert probe.bias == PAPER(probe.length)
        assert probe.calibrated == probe.confidence / probe.bias
    assert landscape.probes[0].length == init
    assert landscape.peak.calibrated == max(p.calibrated for p in landscape.probes)


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.integers(1, 24), st.integers(1, 5))
def test_nothing_is_probed_twice_even_by_a_second_search(seed, init, patience):
    model = Chaotic(seed)
    first, prober = probed(model, HillClimb(init, patience, 1, 24))
    assert sorted(lengths_asked(model)) == sorted(p.length for p in first.probes)
    again, _ = probed(model, Exhaustive(24), prober=prober)
    assert sorted(lengths_asked(model)) == list(range(1, 25))
    assert [p.length for p in again.probes] == list(range(1, 25))
    assert {p.length: p for p in first.probes}.items() <= {p.length: p for p in again.probes}.items()


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.integers(1, 24), st.integers(1, 5))
def test_the_winner_is_the_canvas_of_the_length_found_with_its_own_logits(seed, init, patience):
    landscape, prober = probed(Chaotic(seed), HillClimb(init, patience, 1, 24))
    canvas, logits = prober.winner
    assert canvas == EMPTY.with_masks([landscape.length])
    (asked_alone,) = Chaotic(seed).predict([Query(canvas, canvas.positions)])
    assert torch.equal(logits, asked_alone)


def test_a_winner_is_forgotten_when_the_other_holes_change_even_for_a_worse_one():
    # Beside a hole of 4 the best length is 4 and among those tried; beside one of 7 it is far away.
    model = Coupled(lambda hole, lengths: 4 if lengths[1] == 4 else 30)
    canvas = Canvas(((1,), (2,), (3,)), ((MASK,) * 4, (MASK,) * 4))
    first, prober = probed(model, HillClimb(4, 2, 1, 8), canvas=canvas)
    wider = canvas.with_hole(1, (MASK,) * 7)
    second, _ = probed(model, HillClimb(4, 2, 1, 8), prober=prober, canvas=wider)
    assert first.peak.calibrated > second.peak.calibrated
    assert prober.winner[0] == wider.with_hole(0, (MASK,) * 8)


@settings(max_examples=40)
@given(st.integers(1, 24), st.integers(1, 24), st.integers(1, 5))
def test_a_fill_costs_the_search_s_rounds_and_one_forward_less_than_its_length(answer, init, patience):
    model = Scripted(["x" * answer])
    search = HillClimb(init, patience, 1, 24)
    landscape, _ = probed(model, search)
    rounds, probes = len(model.asked), len(lengths_asked(model))
    model = Scripted(["x" * answer])
    fill = infill("abc", "de", model=model, init=init, patience=patience, max_length=24)
    assert fill.length == landscape.length == answer
    assert fill.forwards == len(model.asked) == rounds + answer - 1
    assert fill.probes == probes
    assert len(lengths_asked(model)) == probes + answer - 1


def test_the_first_step_is_known_even_when_lengths_tie():
    model = Scripted(["hello"], landscape=lambda length: 0.5)
    fill = infill("a", "b", model=model, bias=NONE, init=8, patience=2)
    assert fill.length == 8
    assert fill.forwards == len(model.asked) == 1 + 7


@given(st.integers(0, 20))
def test_a_fixed_length_costs_that_many_forwards(length):
    model = Scripted(["hello"])
    fill = infill("a", "b", model=model, length=length)
    assert (fill.length, fill.forwards, fill.probes, len(model.asked)) == (length, length, 0, length)


def test_a_fixed_length_has_a_landscape_without_probes_or_peak():
    landscape, _ = probed(Chaotic(), Fixed(5))
    assert (landscape.probes, landscape.length, landscape.stop, landscape.peak) == ((), 5, "fixed", None)


def test_a_faster_decoder_saves_its_first_forward_too():
    model = Scripted(["x" * 10])
    fill = infill("a", "b", model=model, init=10, decoder=Denoise(steps=3))
    assert fill.forwards == 1 + 2


def negative_entropy(model, length):
    """E of a length of the hole alone, in double precision."""
    masks = EMPTY.with_masks([length])
    (logits,) = model.predict([Query(masks, masks.positions)])
    p = logits.double().softmax(-1)
    return float((p * p.log()).sum(-1).mean())


@given(st.integers(1, 9), st.integers(2, 40), st.integers(0, 10**6), st.sampled_from([0.01, 1.0, 30.0]))
def test_entropy_is_the_mean_of_p_log_p_over_the_hole(rows, size, seed, scale):
    logits = torch.randn(rows, size, generator=torch.Generator().manual_seed(seed)) * scale
    p = logits.double().softmax(-1)
    assert entropy(logits) == pytest.approx(float((p * p.clamp_min(1e-300).log()).sum(-1).mean()), abs=1e-4)


looks = st.sampled_from([None, Look(), Look("margin"), Look(entropy=True)])


@settings(max_examples=30)
@given(st.integers(0, 10**6), looks, st.sampled_from(["all", "powers"]))
def test_a_search_by_entropy_is_sent_entropies_by_no_bias_and_the_landscape_keeps_both(seed, look, among):
    landscape, _ = probed(Chaotic(seed), Regression(12, among), prober=Prober(0, PAPER, look))
    expected = {n: negative_entropy(Chaotic(seed), n) for n in range(1, 13)}
    wanted = find(Regression(12, among), lambda lengths: [expected[n] for n in lengths])
    assert landscape.length == wanted.length
    assert landscape.signal == "entropy"
    assert [probe.length for probe in landscape.probes] == [n for n, _ in wanted.visited]
    plain, _ = probed(Chaotic(seed), Exhaustive(12))
    calibrated = {probe.length: probe.calibrated for probe in plain.probes}
    for probe in landscape.probes:
        assert probe.entropy == pytest.approx(expected[probe.length], abs=1e-4)
        assert probe.calibrated == pytest.approx(calibrated[probe.length], abs=1e-6)


@settings(max_examples=30)
@given(st.integers(0, 10**6), looks)
def test_what_was_seen_without_entropy_is_asked_again_for_it_and_then_never(seed, look):
    model = Chaotic(seed)
    first, prober = probed(model, HillClimb(4, 2, 1, 8), prober=Prober(0, PAPER, look))
    before = lengths_asked(model)
    probed(model, Regression(8), prober=prober)
    after = lengths_asked(model)[len(before) :]
    had = set(before) if look and look.entropy else set()
    assert sorted(after) == sorted(set(range(1, 9)) - had)
    again, _ = probed(model, HillClimb(4, 2, 1, 8), prober=prober)
    probed(model, Regression(8), prober=prober)
    assert len(lengths_asked(model)) == len(before) + len(after)
    assert again.length == first.length


@settings(max_examples=20)
@given(st.integers(0, 10**6), st.sampled_from([Denoise(), Denoise("entropy"), Denoise(temperature=1.0)]))
def test_a_fill_after_a_search_by_entropy_is_the_fill_at_that_length(seed, decoder):
    infiller = Infiller(Chaotic(seed), search=Regression(12), decoder=decoder, bias=PAPER)
    fill = infiller.fill(Template.around("abc", "de"))
    known = infiller.fill(Template.around("abc", "de"), search=Fixed(fill.length))
    assert fill.ids == known.ids
    assert (fill.landscape.signal, fill.probes) == ("entropy", 12)
    if decoder.look:  # the first step is known
        assert fill.forwards == 1 + fill.length - 1


def test_a_regression_fills_a_hole_whose_confidence_peaks_at_its_answer():
    # Between the powers Φ falls like a line in log L but for a bump at 11; so, nearly, does the entropy.
    model = Scripted(["x" * 11], lambda n: 0.9 if n == 11 else 0.8 - 0.1 * math.log(n))
    fill = Infiller(model, search=Regression(32)).fill(Template.around("a", "b"))
    assert fill.text == "x" * 11
    assert "entropy" in str(fill.landscape).split("\n")[0]


def test_holes_searched_by_entropy_and_by_confidence_share_a_first_step():
    def best(hole, lengths):
        return (5, 7)[hole]

    model = Coupled(best)
    fill = Infiller(model, search=HillClimb(max_length=16)).fill(
        Template(("ab", "cd", "ef")), search=[Regression(16), HillClimb(max_length=16)]
    )
    assert [landscape.signal for landscape in fill.landscapes] == ["entropy", "confidence"]
    assert fill.lengths[1] == 7
