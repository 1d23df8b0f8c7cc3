"""The base tells as a causal model does: nothing sees what comes after it, and keeping keys changes nothing."""

import random

import pytest
import torch
from training.architecture import CONFIG, shape_of
from training.prompts import request
from training.tell import END, Causal, opening, openings, tell

from calipers.models.tokenizer import Tokenizer
from calipers.models.weights import random_weights


@pytest.fixture
def backbone():
    config = {
        **CONFIG, "num_hidden_layers": 2, "hidden_size": 64, "num_attention_heads": 4,
        "num_key_value_heads": 2, "intermediate_size": 64, "vocab_size": 200,
    }  # fmt: skip
    return random_weights(shape_of(config), "cpu", torch.float32, 3)


def test_one_token_at_a_time_says_what_all_at_once_says(backbone):
    ids = torch.randint(17, 200, (3, 9), generator=torch.Generator().manual_seed(0))
    causal = Causal(backbone, 3, 9)
    step = [causal.next(ids[:, :4])] + [causal.next(ids[:, at : at + 1]) for at in range(4, 9)]
    for at, logits in enumerate(step, 4):
        whole = Causal(backbone, 3, 9).next(ids[:, :at])
        assert torch.allclose(logits, whole, atol=1e-5)
    # A single token sees itself alone either way.
    assert torch.allclose(Causal(backbone, 3, 1).next(ids[:, :1]), backbone(ids[:, :1]), atol=1e-5)


def test_nothing_is_told_after_the_end_and_the_same_seed_tells_the_same(backbone):
    begun = torch.randint(17, 200, (40, 5), generator=torch.Generator().manual_seed(1))
    first, second = (tell(backbone, begun, 48, 5.0, 200, torch.Generator().manual_seed(7)) for _ in range(2))
    assert torch.equal(first, second)
    ended = [row.index(END) for row in first.tolist() if END in row]
    assert ended
    for row in first.tolist():
        if END in row:
            assert set(row[row.index(END) :]) == {END}


def test_openings_of_a_batch_have_one_length_and_are_requests(tokenizer_json):
    tokenizer = Tokenizer.from_json(tokenizer_json)
    batches = openings(tokenizer, 8, random.Random(0))
    for _ in range(5):
        batch = next(batches)
        assert len(batch) == 8
        assert len({len(one) for one in batch}) == 1
    lot = random.Random(1)
    asked = [request(lot) for _ in range(2000)]
    assert len(set(asked)) > 1500
    assert not any("{" in one or "  " in one or "\n" in one for one in asked)
    assert opening("Hi.", tokenizer) != opening("Ho.", tokenizer)
