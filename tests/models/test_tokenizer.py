"""Text to ids and back, from tokenizer.json or from vocab.json and merges.txt."""

import json
import unicodedata

import pytest
import tokenizers as hf
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import AddedToken, decoders, models, normalizers, pre_tokenizers, processors, trainers

from calipers.errors import ModelError
from calipers.models.dream import DREAM
from calipers.models.load import load
from calipers.models.tokenizer import Tokenizer
from helpers import EOS, MASK_ID, SPECIAL, byte_tokenizer, checkpoint

# As Qwen2 publishes it.
PATTERN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
CORPUS = [
    "def add(a, b):\n    return a + b\n\n\nprint(add(1, 2))\n",
    "It's what they'd say, and WE'LL see: x = 2024;  y = 3.14159\r\n\tif not done:\n        pass",
    *["'Say", "'REd"] * 9,
    "Grüße aus Köln, 你好世界, привет мир 🙂🙂 naïve café",
] * 5
TEXTS = [
    "",
    " ",
    "\n",
    "def add(a, b):\n    return a + b\n",
    "It's 2024, they'LL   see\r\n\r\n\t x",
    "'Say 'REd 'say 'red",
    "1234567890 12.50",
    "你好 🙂👩‍👩‍👧 e\u0301 \u00a0 \u200b \x00",
    "trailing   ",
    "\n\n    indented\n",
]
ADDED = [("<|endoftext|>", True), ("<|im_end|>", True), ("<tool_call>", False), ("<|mask|>", True)]


def entry(content, special):
    """As tokenizer_config.json lists an added token."""
    flags = dict.fromkeys(("lstrip", "normalized", "rstrip", "single_word"), False)
    return {"content": content, **flags, "special": special}


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """The same tokenizer twice: as one tokenizer.json, and as vocab.json, merges.txt and a list of added tokens."""
    whole, parts = tmp_path_factory.mktemp("whole"), tmp_path_factory.mktemp("parts")
    inner = hf.Tokenizer(models.BPE())
    # Trained on uncut text, it has merges across every boundary, so that where text is cut can be seen in the ids.
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    inner.train_from_iterator(CORPUS, trainers.BpeTrainer(vocab_size=400, initial_alphabet=alphabet))
    inner.normalizer = normalizers.NFC()
    inner.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(hf.Regex(PATTERN), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    inner.decoder = decoders.ByteLevel()
    inner.model.save(str(parts))
    first = inner.get_vocab_size()
    inner.add_tokens([AddedToken(content, special=special, normalized=False) for content, special in ADDED])
    inner.save(str(whole / "tokenizer.json"))
    listed = {str(first + i): entry(*added) for i, added in enumerate(ADDED)}
    listed = dict(reversed(listed.items())) | {"5": entry("one of vocab.json", True)}
    (parts / "tokenizer_config.json").write_text(json.dumps({"added_tokens_decoder": listed}))
    return whole, parts


@pytest.fixture(scope="module")
def both(folders):
    return [Tokenizer.from_folder(folder, DREAM.splits) for folder in folders]


@pytest.mark.parametrize("text", TEXTS)
def test_vocab_and_merges_give_the_same_ids_as_tokenizer_json(both, text):
    whole, parts = both
    assert parts.encode(text) == whole.encode(text)


@given(text=st.text(max_size=60))
def test_vocab_and_merges_give_the_same_ids_for_any_text(both, text):
    whole, parts = both
    assert parts.encode(text) == whole.encode(text)


@given(text=st.text(max_size=60))
def test_any_text_comes_back_up_to_its_normal_form(both, text):
    for tokenizer in both:
        assert tokenizer.decode(tokenizer.encode(text)) == unicodedata.normalize("NFC", text)


@given(text=st.text(max_size=60))
def test_a_tokenizer_without_a_normal_form_gives_every_text_back(text):
    tokenizer = Tokenizer.from_json(byte_tokenizer().to_str())
    assert tokenizer.decode(tokenizer.encode(text)) == text


def test_merges_are_used(both):
    for tokenizer in both:
        assert len(tokenizer.encode("return")) < len("return")


@pytest.mark.parametrize("number", ["7", "2024", "1234567890"])
def test_digits_stand_alone(both, number):
    for tokenizer in both:
        assert [tokenizer.decode([i]) for i in tokenizer.encode(number)] == list(number)


def test_the_pieces_of_one_character_decode_together(both):
    ids = both[1].encode("🦔")
    assert len(ids) > 1
    assert both[1].decode(ids) == "🦔"


def test_added_tokens_have_the_ids_they_are_listed_with(folders, both):
    listed = json.loads((folders[1] / "tokenizer_config.json").read_text())["added_tokens_decoder"]
    special = {int(i) for i, e in listed.items() if e["special"] and int(i) > 5}
    assert len(special) == 3
    assert both[0].special == both[1].special == special


@pytest.mark.parametrize("name", [content for content, special in ADDED if special])
def test_a_special_tokens_name_in_a_text_is_text(both, name):
    for tokenizer in both:
        for text in (name, f"a {name}b", f"{name}{name}\n"):
            ids = tokenizer.encode(text)
            assert not tokenizer.special & set(ids)
            assert tokenizer.decode(ids) == text


def test_a_parity_checkpoints_special_names_are_text_too(tmp_path):
    model = load(str(checkpoint(tmp_path)), device="cpu", dtype="float32")
    for name, number in SPECIAL.items():
        assert number not in model.encode(f"x{name}y")
        assert model.decode(model.encode(f"x{name}y")) == f"x{name}y"


def test_an_ordinary_added_token_is_one_id_and_decodes_to_its_name(both):
    for tokenizer in both:
        ids = tokenizer.encode("<tool_call>")
        assert len(ids) == 1
        assert tokenizer.decode(ids) == "<tool_call>"


def test_special_ids_decode_to_nothing():
    tokenizer = Tokenizer.from_json(byte_tokenizer().to_str())
    ids = tokenizer.encode("ab")
    assert tokenizer.decode([EOS, *ids, MASK_ID]) == "ab"


def test_nothing_is_added_cut_off_or_padded_whatever_the_file_asks_for():
    inner = byte_tokenizer()
    plain = Tokenizer.from_json(inner.to_str())
    inner.post_processor = processors.TemplateProcessing(
        single="<bos> $A <eos>", special_tokens=[("<bos>", 2), ("<eos>", 1)]
    )
    inner.enable_truncation(3)
    inner.enable_padding(length=50)
    busy = Tokenizer.from_json(inner.to_str())
    for text in TEXTS:
        assert busy.encode(text) == plain.encode(text)


def test_unused_are_the_ids_without_a_token():
    tokenizer = Tokenizer.from_json(byte_tokenizer().to_str())
    assert tokenizer.unused(300) == frozenset()
    assert tokenizer.unused(320) == frozenset(range(300, 320))


def copy(folders, tmp_path, **changes):
    """The files of the folder of parts, some replaced or (None) left out."""
    for file in folders[1].iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    for name, text in changes.items():
        file = tmp_path / name.replace("__", ".")
        if text is None:
            file.unlink()
        else:
            file.write_text(text)
    return tmp_path


def test_no_added_tokens_are_none(folders, tmp_path):
    tokenizer = Tokenizer.from_folder(copy(folders, tmp_path, tokenizer_config__json=None), DREAM.splits)
    assert tokenizer.special == frozenset()


@pytest.mark.parametrize("missing", ["vocab__json", "merges__txt"])
def test_missing_files_are_named(folders, tmp_path, missing):
    with pytest.raises(ModelError, match=r"neither tokenizer.json nor vocab.json and merges.txt; download"):
        Tokenizer.from_folder(copy(folders, tmp_path, **{missing: None}), DREAM.splits)


@pytest.mark.parametrize(
    "broken",
    [{"vocab__json": "{"}, {"merges__txt": "a b c d"}, {"tokenizer_config__json": "{"}, {"tokenizer__json": "{}"}],
)
def test_broken_files_are_named(folders, tmp_path, broken):
    with pytest.raises(ModelError) as failure:
        Tokenizer.from_folder(copy(folders, tmp_path, **broken), DREAM.splits)
    assert str(tmp_path) in str(failure.value)
    assert "download them again" in str(failure.value)


def test_a_gap_between_added_ids_is_an_error(folders, tmp_path):
    listed = {"402": entry("<|late|>", True)}
    config = json.dumps({"added_tokens_decoder": listed})
    with pytest.raises(ModelError, match=r"'<\|late\|>' has id 402 where \d+ comes next; .*do not belong together"):
        Tokenizer.from_folder(copy(folders, tmp_path, tokenizer_config__json=config), DREAM.splits)


def test_a_family_without_a_pattern_needs_a_tokenizer_json(folders, tmp_path):
    with pytest.raises(ModelError, match=r"no known pre-tokeniser; add a tokenizer.json"):
        Tokenizer.from_folder(copy(folders, tmp_path), "")
