"""The training package is not installed: it is imported from the checkout."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))


@pytest.fixture(scope="session")
def tokenizer_json() -> str:
    """The bundled model's tokenizer."""
    from calipers.models import files
    from calipers.models.card import DEFAULT, cards
    from calipers.models.packed import read_packed

    return read_packed(files.bundled(cards()[DEFAULT])).tokenizer_json


@pytest.fixture(scope="session")
def encode(tokenizer_json):
    from calipers.models.tokenizer import Tokenizer

    return Tokenizer.from_json(tokenizer_json).encode
