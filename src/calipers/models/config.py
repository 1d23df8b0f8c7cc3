"""A checkpoint's own `config.json`, read with errors that say what is missing and where."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from calipers.errors import ModelError


@dataclass(frozen=True, slots=True)
class Config:
    """The values, and the place they come from (for messages)."""

    values: Mapping[str, Any]
    where: str

    @classmethod
    def read(cls, path: Path) -> Config:
        """Parse a config.json."""
        try:
            values = json.loads(path.read_text("utf-8"))
        except FileNotFoundError:
            raise ModelError(
                f"{path.parent} has no config.json, so it is no checkpoint; name a folder that has one."
            ) from None
        except (json.JSONDecodeError, UnicodeDecodeError) as broken:
            raise ModelError(f"{path} is not JSON ({broken}); download it again.") from None
        if not isinstance(values, dict):
            raise ModelError(f"{path} holds no table of values; download it again.")
        return cls(values, str(path))

    def need(self, key: str) -> Any:
        """A value that must be there."""
        value = self.values.get(key)
        if value is None:
            raise ModelError(
                f"{self.where} has no '{key}', which this family needs; "
                "add it from the model's page or download the checkpoint again."
            )
        return value

    def integer(self, key: str) -> int:
        """A whole number that must be there."""
        value = self.need(key)
        if not isinstance(value, int) or isinstance(value, bool):
            raise ModelError(f"{self.where}: '{key}' is {value!r}, not a whole number; correct it.")
        return value

    def size(self, key: str) -> int:
        """A whole number above 0 that must be there."""
        value = self.integer(key)
        if value < 1:
            raise ModelError(f"{self.where}: '{key}' is {value}, which is no size; correct it.")
        return value

    def number(self, key: str) -> float:
        """A number that must be there."""
        value = self.need(key)
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise ModelError(f"{self.where}: '{key}' is {value!r}, not a number; correct it.")
        return float(value)

    def must_be(self, key: str, *allowed: object) -> None:
        """Refuse a switch this code has no other setting for (absent counts as the first allowed)."""
        value = self.values.get(key, allowed[0])
        if value not in allowed:
            raise ModelError(
                f"{self.where}: '{key}' is {value!r}, and calipers computes only {list(allowed)}; "
                "this is another architecture than the published one."
            )
