"""The cards that ship with calipers, and the table a card is read from."""

from dataclasses import asdict
from importlib import resources

import pytest

from calipers.bias import Bias, find_bias
from calipers.decode import Denoise
from calipers.errors import ModelError
from calipers.models.card import DEFAULT, Card, cards, find_card
from calipers.models.load import FAMILIES

each = pytest.mark.parametrize("card", cards().values(), ids=lambda card: card.name)


def test_every_card_file_is_a_card_of_its_own_name():
    files = [f.name for f in resources.files("calipers.models").joinpath("cards").iterdir()]
    assert sorted(f"{name}.toml" for name in cards()) == sorted(files)
    assert len({card.id for card in cards().values()}) == len(files)


def test_the_published_checkpoints_and_the_bundled_one_have_cards():
    assert DEFAULT in cards()
    assert {card.id for card in cards().values()} >= {
        "GSAI-ML/LLaDA-8B-Base",
        "GSAI-ML/LLaDA-8B-Instruct",
        "GSAI-ML/LLaDA-1.5",
        "Dream-org/Dream-v0-Base-7B",
        "Dream-org/Dream-Coder-v0-Base-7B",
        "apple/DiffuCoder-7B-Base",
        "Dream-org/DreamOn-v0-7B",
    }


@each
def test_every_field_of_a_card_makes_sense(card):
    family = FAMILIES[card.family]
    assert card.licence != "unknown"
    assert card.source
    assert card.revision
    assert card.context >= 0
    assert 0 < card.top_p <= 1
    assert card.opens in (("always", "bare") if family.shift else ("always", "bare", "never"))
    assert isinstance(card.closes, bool)
    assert all(isinstance(i, int) and i >= 0 for i in card.forbidden)
    assert (card.expand_id is None) == (card.delete_id is None)
    assert card.expand_id is None or card.expand_id not in card.forbidden
    assert card.id.count("/") == (0 if card.file else 1)
    Denoise(rank=card.rank, top_p=card.top_p)
    assert isinstance(find_bias(card.bias), Bias)


@each
def test_a_mask_never_comes_out_of_a_published_checkpoint(card):
    if card.family != "calipers":
        assert {"llada": 126336, "Dream": 151666}[card.family] in card.forbidden


def test_the_dream_family_shares_an_id_that_only_dreamon_lets_out():
    assert 151667 in cards()["diffucoder-7b"].forbidden
    assert cards()["dreamon-7b"].expand_id == 151667
    assert cards()["dreamon-7b"].delete_id == 151643


@each
def test_a_card_is_found_by_name_and_by_hub_id_in_any_case(card):
    for name in (card.name, card.id, card.name.upper(), card.id.lower()):
        assert find_card(name) == card


def test_no_card_is_found_by_another_name():
    assert find_card("llada-9b") is None
    assert find_card("") is None


@each
def test_a_card_reads_back_from_its_own_values(card):
    values = {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(card).items()}
    assert Card.read(values, "here") == card


def test_an_unknown_key_is_named_with_the_known_ones():
    with pytest.raises(ModelError, match=r"Card mine.toml has unknown key\(s\) \['maks_id'\]; known: .*'bos_id'"):
        Card.read({"name": "a", "id": "b", "family": "llada", "maks_id": 3}, "mine.toml")


@pytest.mark.parametrize("missing", ["name", "id", "family"])
def test_a_missing_key_is_named(missing):
    values = {"name": "a", "id": "b", "family": "llada"}
    del values[missing]
    with pytest.raises(ModelError, match=rf"Card mine.toml lacks \['{missing}'\]; add them"):
        Card.read(values, "mine.toml")
