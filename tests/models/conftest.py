"""Parity checkpoints loaded once for all tests that only read them."""

from collections.abc import Callable, Iterator
from functools import cache

import pytest

from calipers.models import transformer
from calipers.models.load import load
from calipers.models.transformer import TransformerModel
from helpers import checkpoint


@pytest.fixture(autouse=True, scope="module")
def exact() -> Iterator[None]:
    """Forwards as wide as their longest row, so that tests can say what is batched; one test has the CPU's widths."""
    grains = dict(transformer._GRAIN)
    transformer._GRAIN.clear()
    yield
    transformer._GRAIN.update(grains)


@pytest.fixture(scope="session")
def parity(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], TransformerModel]:
    @cache
    def loaded(name: str) -> TransformerModel:
        return load(str(checkpoint(tmp_path_factory.mktemp(name), name)), device="cpu", dtype="float32")

    return loaded
