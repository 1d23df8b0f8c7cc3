"""A look keeps exactly what the full logits would have said, whoever shares the forward."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from calipers import MASK, Denoise, Infiller, Query, Template
from calipers.canvas import Canvas
from calipers.decode.rank import chosen, rank
from calipers.decode.sampling import draw
from calipers.drive import Ask, answer
from calipers.look import ENTROPY, PROBABILITY, RANK, TOKEN, Look
from calipers.models.load import load
from helpers import checkpoint
from pretend import Chaotic


@given(
    st.integers(1, 9),
    st.integers(2, 40),
    st.integers(0, 10**6),
    st.sampled_from(["low_confidence", "entropy", "margin"]),
    st.sampled_from([(1.0, 0), (0.8, 0), (1.0, 3), (0.95, 2)]),
    st.booleans(),
)
def test_a_look_keeps_token_probability_rank_and_entropy(rows, size, seed, rule, cut, entropy):
    top_p, top_k = cut
    logits = torch.randn(rows, size, generator=torch.Generator().manual_seed(seed)) * 3
    if size > 3:
        logits[:, 1] = -torch.inf  # forbidden
    seen = Look(rule, top_p, top_k, entropy)(logits)
    tokens, logs = draw(logits, 0.0, top_p, top_k, None)
    assert seen[:, TOKEN].long().tolist() == tokens.tolist()
    torch.testing.assert_close(seen[:, PROBABILITY], chosen(logits, tokens), rtol=0, atol=0)
    torch.testing.assert_close(seen[:, RANK], rank(rule, logits, tokens, logs, None), rtol=1e-5, atol=1e-6)
    assert seen.shape[1] == 3 + entropy
    if entropy:
        p = logits.double().softmax(-1)
        plain = torch.where(p > 0, p * p.log(), 0.0).sum(-1)
        torch.testing.assert_close(seen[:, ENTROPY].double(), plain, rtol=1e-4, atol=1e-5)


def test_the_largest_token_id_survives_float32():
    size = 200_000
    logits = torch.zeros(1, size)
    logits[0, size - 1] = 1
    assert int(Look()(logits)[0, TOKEN]) == size - 1


def test_queries_with_different_looks_and_none_share_a_forward_and_each_gets_its_own(tmp_path):
    model = load(checkpoint(tmp_path / "m", "dream"))
    canvas = Canvas(((5, 9, 20), (30, 31)), ((),))
    queries = [Query.whole(canvas.with_masks([n])) for n in (3, 4, 3, 2)]
    looks = [Look(), None, Look("entropy", entropy=True), Look()]
    plain = list(model.predict(queries))
    for logits, look, seen in zip(plain, looks, model.look(queries, looks), strict=True):
        torch.testing.assert_close(seen, logits if look is None else look(logits))


def test_a_model_that_cannot_look_is_asked_for_logits():
    model, canvas, got = Chaotic(3), Canvas(((1,), (2,)), ((MASK,) * 4,)), []
    answer(model, [Ask((Query.whole(canvas),), lambda _, rows: got.append(rows), "search", Look())])
    (logits,) = Chaotic(3).predict([Query.whole(canvas)])
    assert torch.equal(got[0], Look()(logits))


@pytest.mark.parametrize("rule", ["low_confidence", "entropy", "margin"])
def test_a_greedy_fill_is_the_same_from_looks_and_from_logits(rule, tmp_path):
    model = load(checkpoint(tmp_path / "m", "llada"))

    class Plain:
        """The same model without the short cut."""

        def __init__(self):
            self.card, self.context, self.device = model.card, model.context, model.device
            self.encode, self.decode, self.predict = model.encode, model.decode, model.predict

    template = Template.around("the heat of the", " sea shore")
    short = Infiller(model, decoder=Denoise(rule)).fill(template)
    long = Infiller(Plain(), decoder=Denoise(rule)).fill(template)
    assert (short.ids, short.landscapes, short.forwards) == (long.ids, long.landscapes, long.forwards)
