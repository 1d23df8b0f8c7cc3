"""Text to ids and back: `tokenizer.json` where it is, else built from vocab.json and merges.txt."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import tokenizers as hf
from tokenizers import AddedToken, decoders, normalizers, pre_tokenizers
from tokenizers.models import BPE

from calipers.errors import ModelError


class Tokenizer:
    """A thin cover over a `tokenizers.Tokenizer`.

    Nothing is added to a text, and a special token's name in a user's text is text: a file
    that mentions `<|mask|>` has no mask in it.
    """

    def __init__(self, inner: hf.Tokenizer) -> None:
        inner.encode_special_tokens = True
        inner.no_truncation()
        inner.no_padding()
        self._inner = inner
        self._special = frozenset(i for i, token in inner.get_added_tokens_decoder().items() if token.special)

    @classmethod
    def from_json(cls, text: str) -> Tokenizer:
        """From the contents of a tokenizer.json."""
        return cls(hf.Tokenizer.from_str(text))

    @classmethod
    def from_folder(cls, folder: Path, splits: str) -> Tokenizer:
        """From a checkpoint's files; `splits` is the family's pre-tokeniser pattern."""
        try:
            return cls._from_folder(folder, splits)
        except ModelError:
            raise
        except Exception as broken:  # tokenizers raises nothing narrower
            raise ModelError(
                f"The tokenizer files in {folder} cannot be read ({broken}); download them again."
            ) from None

    @classmethod
    def _from_folder(cls, folder: Path, splits: str) -> Tokenizer:
        if (folder / "tokenizer.json").is_file():
            return cls.from_json((folder / "tokenizer.json").read_text("utf-8"))
        vocab, merges = folder / "vocab.json", folder / "merges.txt"
        if not (vocab.is_file() and merges.is_file()):
            raise ModelError(
                f"{folder} has neither tokenizer.json nor vocab.json and merges.txt; "
                "download the checkpoint's tokenizer files."
            )
        if not splits:
            raise ModelError(
                f"{folder} has no tokenizer.json and its family has no known pre-tokeniser; add a tokenizer.json."
            )
        inner = hf.Tokenizer(BPE.from_file(str(vocab), str(merges)))
        inner.normalizer = normalizers.NFC()
        inner.pre_tokenizer = pre_tokenizers.Sequence(
            [
                pre_tokenizers.Split(hf.Regex(splits), "isolated"),
                pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
            ]
        )
        inner.decoder = decoders.ByteLevel()
        inner.add_tokens(_added_tokens(folder, len(inner.get_vocab())))
        return cls(inner)

    @property
    def special(self) -> frozenset[int]:
        """Ids of special tokens."""
        return self._special

    def unused(self, size: int) -> frozenset[int]:
        """Ids below `size` that stand for no token: rows a table was padded with."""
        return frozenset(i for i in range(size) if self._inner.id_to_token(i) is None)

    def encode(self, text: str) -> list[int]:
        """Ids of a text, nothing added."""
        return list(self._inner.encode(text, add_special_tokens=False).ids)

    def decode(self, ids: Iterable[int]) -> str:
        """Text of ids; special tokens give none."""
        return self._inner.decode(list(ids), skip_special_tokens=True)


def _added_tokens(folder: Path, known: int) -> list[AddedToken]:
    """The tokens beyond vocab.json, in the order of their ids, from tokenizer_config.json."""
    path = folder / "tokenizer_config.json"
    listed: dict[str, Any] = {}
    if path.is_file():
        listed = json.loads(path.read_text("utf-8")).get("added_tokens_decoder", {})
    added = sorted((int(i), entry) for i, entry in listed.items() if int(i) >= known)
    for place, (i, entry) in enumerate(added):
        if i != known + place:
            raise ModelError(
                f"{path}: added token {entry['content']!r} has id {i} where {known + place} comes next; "
                "the tokenizer files do not belong together."
            )
    flags = ("lstrip", "rstrip", "single_word", "normalized", "special")
    return [AddedToken(e["content"], **{f: bool(e.get(f, False)) for f in flags}) for _, e in added]
