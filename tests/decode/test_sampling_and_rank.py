"""What is drawn, from what, and who goes first."""

import math

import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from calipers.decode.rank import chosen, rank
from calipers.decode.sampling import draw, nucleus

# Far enough apart that no rounding makes two of them one.
rows = st.lists(st.integers(-6000, 6000), min_size=2, max_size=9, unique=True).map(lambda row: [n / 1000 for n in row])


def softmax(row):
    best = max(row)
    weights = [math.exp(x - best) for x in row]
    return [w / sum(weights) for w in weights]


def kept(logits):
    return [i for i, x in enumerate(logits.tolist()) if x > -math.inf]


def naive_nucleus(row, top_p):
    """Indices kept, by the definition: best first, until the mass in front exceeds p."""
    probabilities = softmax(row)
    before, stays = 0.0, []
    for i in sorted(range(len(row)), key=lambda i: -row[i]):
        assume(abs(before - top_p) > 1e-5)
        if before <= top_p:
            stays.append(i)
        before += probabilities[i]
    return sorted(stays)


@given(rows, st.floats(0.01, 1, exclude_max=True))
def test_the_nucleus_is_the_naive_one(row, top_p):
    logits = torch.tensor([row])
    stays = naive_nucleus(row, top_p)
    cut = nucleus(logits, top_p)[0]
    assert kept(cut) == stays
    assert all(cut[i] == logits[0, i] for i in stays)


def test_the_best_token_is_in_every_nucleus():
    assert kept(nucleus(torch.tensor([[0.0, 9.0, 1.0]]), 1e-9)[0]) == [1]


def test_every_row_has_its_own_nucleus():
    logits = torch.tensor([[9.0, 0.0, 0.0], [0.1, 0.2, 0.3]])
    assert [kept(row) for row in nucleus(logits, 0.6)] == [[0], [1, 2]]


@given(rows, st.integers(1, 12))
def test_top_k_keeps_the_k_best(row, top_k):
    _, logs = draw(torch.tensor([row]), 0.0, 1.0, top_k, None)
    best = sorted(range(len(row)), key=lambda i: -row[i])[:top_k]
    assert kept(logs[0]) == sorted(best)


@given(rows, st.floats(0.05, 1, exclude_max=True), st.integers(1, 5), st.sampled_from([0.5, 1.0, 2.0]))
def test_what_is_drawn_from_is_tempered_then_cut_to_the_nucleus_then_to_the_k_best(row, top_p, top_k, temperature):
    tempered = [x / temperature for x in row]
    best = sorted(range(len(row)), key=lambda i: -row[i])[:top_k]
    stays = [i for i in naive_nucleus(tempered, top_p) if i in best]
    tokens, logs = draw(torch.tensor([row]), temperature, top_p, top_k, torch.Generator().manual_seed(0))
    assert kept(logs[0]) == stays
    assert logs[0, stays].exp().tolist() == pytest.approx(softmax([tempered[i] for i in stays]), abs=1e-5)
    assert int(tokens[0]) in stays


@given(rows)
def test_without_temperature_the_best_token_is_taken(row):
    tokens, logs = draw(torch.tensor([row]), 0.0, 0.7, 3, None)
    assert int(tokens[0]) == row.index(max(row))
    assert float(logs.exp().sum()) == pytest.approx(1, abs=1e-5)


def test_tokens_are_drawn_as_often_as_they_are_probable():
    row, many = [1.0, 0.0, 2.0, -1.0, 1.5], 40_000
    tokens, logs = draw(torch.tensor([row]).repeat(many, 1), 0.7, 1.0, 3, torch.Generator().manual_seed(0))
    often = torch.bincount(tokens, minlength=len(row)) / many
    assert often.tolist() == pytest.approx(logs[0].exp().tolist(), abs=0.01)
    assert often[[1, 3]].tolist() == [0, 0]


def test_a_seed_draws_the_same_again():
    logits = torch.randn(50, 20, generator=torch.Generator().manual_seed(0))

    def drawn(seed):
        return draw(logits, 1.0, 1.0, 0, torch.Generator().manual_seed(seed))[0].tolist()

    assert drawn(1) == drawn(1)
    assert drawn(1) != drawn(2)


@given(rows, st.sampled_from([0.0, 100.0, 3000.0]), st.data())
def test_chosen_is_the_plain_probability_however_large_the_logits(row, shift, data):
    token = data.draw(st.integers(0, len(row) - 1))
    logits = torch.tensor([row]) + shift
    plain = softmax(logits[0].double().tolist())
    assert float(chosen(logits, torch.tensor([token]))[0]) == pytest.approx(plain[token], abs=1e-6)


def order(rule, logits, tokens=None, logs=None, seed=0):
    """Rows from first to last."""
    tokens = logits.argmax(-1) if tokens is None else tokens
    logs = logits.log_softmax(-1) if logs is None else logs
    return rank(rule, logits, tokens, logs, torch.Generator().manual_seed(seed)).argsort(descending=True).tolist()


def logits_of(*probabilities):
    return torch.tensor(probabilities).log()


# One best token in front of many small ones, two rivals, and a middling distribution.
THREE = logits_of(
    (0.50, 0.10, 0.10, 0.10, 0.10, 0.10), (0.49, 0.48, 0.01, 0.01, 0.005, 0.005), (0.6, 0.3, 0.1, 0, 0, 0)
)


@pytest.mark.parametrize(
    ("rule", "rows"), [("low_confidence", [2, 0, 1]), ("entropy", [1, 2, 0]), ("margin", [0, 2, 1])]
)
def test_each_rule_has_its_own_order(rule, rows):
    assert order(rule, THREE) == rows


def test_the_scores_are_what_their_names_say():
    p = torch.tensor([0.7, 0.2, 0.1])
    logits = p.log()[None]
    tokens, logs = torch.tensor([1]), logits.log_softmax(-1)
    assert float(rank("low_confidence", logits, tokens, logs, None)) == pytest.approx(0.2)
    assert float(rank("entropy", logits, tokens, logs, None)) == pytest.approx(float((p * p.log()).sum()))
    assert float(rank("margin", logits, tokens, logs, None)) == pytest.approx(0.5)


def test_low_confidence_ignores_how_the_token_was_drawn_and_entropy_and_margin_do_not():
    logits = logits_of((0.5, 0.4, 0.1), (0.6, 0.3, 0.1))
    tokens, logs = draw(logits, 0.5, 0.55, 0, torch.Generator().manual_seed(0))
    plain = logits.log_softmax(-1)
    by = {rule: rank(rule, logits, tokens, logs, None) for rule in ("low_confidence", "entropy", "margin")}
    assert by["low_confidence"].tolist() == pytest.approx([float(plain[r, t].exp()) for r, t in enumerate(tokens)])
    cut = logs.exp()
    assert by["margin"].tolist() == pytest.approx([float(r.topk(2).values.diff().abs()) for r in cut])
    assert by["entropy"].tolist() != pytest.approx(rank("entropy", logits, tokens, plain, None).tolist())


@settings(max_examples=50)
@given(rows, st.integers(0, 8))
def test_a_forbidden_token_makes_no_rank_a_nan(row, place):
    logits = torch.tensor([row])
    logits[0, place % len(row)] = -torch.inf
    tokens, logs = draw(logits, 0.0, 0.9, 0, None)
    for rule in ("low_confidence", "entropy", "margin"):
        assert math.isfinite(float(rank(rule, logits, tokens, logs, None)))


def test_certainty_has_no_entropy():
    logits = torch.tensor([[0.0, -torch.inf, -torch.inf]])
    logs = logits.log_softmax(-1)
    assert float(rank("entropy", logits, torch.tensor([0]), logs, None)) == 0
    assert float(rank("margin", logits, torch.tensor([0]), logs, None)) == 1


def test_random_order_is_the_seed_s():
    logits = torch.zeros(20, 3)
    assert order("random", logits, seed=1) == order("random", logits, seed=1)
    assert order("random", logits, seed=1) != order("random", logits, seed=2)


@given(rows, st.sampled_from([5e-324, 1e-300, 1e-40, 1e-20, 1e-9]), st.sampled_from([5e-324, 0.5, 1.0]), st.booleans())
def test_next_to_no_temperature_draws_the_best_token(row, temperature, top_p, forbidden):
    logits = torch.tensor([[*row, -math.inf if forbidden else min(row)]])
    tokens, logs = draw(logits, temperature, top_p, 0, torch.Generator().manual_seed(0))
    assert tokens.item() == row.index(max(row))
    assert not logs.isnan().any()
    assert logs.exp().sum() == pytest.approx(1)
