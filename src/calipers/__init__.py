"""calipers measures a gap before it fills it: length-adaptive infilling with masked diffusion models.

    >>> import calipers
    >>> fill = calipers.infill("def add(a, b):\\n", "\\nprint(add(1, 2))\\n")
    >>> fill.text, fill.length

Nothing here imports torch until a model is loaded.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from calipers.bias import Bias, find_bias
    from calipers.canvas import MASK, Canvas
    from calipers.decode import Daedal, Denoise, DreamOn, LrDllm
    from calipers.empty import Emptiness
    from calipers.errors import CalipersError, CalipersWarning
    from calipers.fill import Fill
    from calipers.infiller import Infiller, Step, infill
    from calipers.landscape import Landscape, Probe
    from calipers.models.base import MaskModel, Query
    from calipers.models.card import Card, cards
    from calipers.models.guidance import Guided
    from calipers.models.load import load
    from calipers.models.scripted import Scripted
    from calipers.search import Exhaustive, Fixed, Found, HillClimb, Regression, find, oracle
    from calipers.template import Template

_HOMES = {
    "calipers.bias": ("Bias", "find_bias"),
    "calipers.canvas": ("MASK", "Canvas"),
    "calipers.decode": ("Daedal", "Denoise", "DreamOn", "LrDllm"),
    "calipers.empty": ("Emptiness",),
    "calipers.errors": ("CalipersError", "CalipersWarning"),
    "calipers.fill": ("Fill",),
    "calipers.infiller": ("Infiller", "Step", "infill"),
    "calipers.landscape": ("Landscape", "Probe"),
    "calipers.models.base": ("MaskModel", "Query"),
    "calipers.models.card": ("Card", "cards"),
    "calipers.models.guidance": ("Guided",),
    "calipers.models.load": ("load",),
    "calipers.models.scripted": ("Scripted",),
    "calipers.search": ("Exhaustive", "Fixed", "Found", "HillClimb", "Regression", "find", "oracle"),
    "calipers.template": ("Template",),
}
_WHERE = {name: home for home, names in _HOMES.items() for name in names}
__all__ = [
    "MASK",
    "Bias",
    "CalipersError",
    "CalipersWarning",
    "Canvas",
    "Card",
    "Daedal",
    "Denoise",
    "DreamOn",
    "Emptiness",
    "Exhaustive",
    "Fill",
    "Fixed",
    "Found",
    "Guided",
    "HillClimb",
    "Infiller",
    "Landscape",
    "LrDllm",
    "MaskModel",
    "Probe",
    "Query",
    "Regression",
    "Scripted",
    "Step",
    "Template",
    "cards",
    "find",
    "find_bias",
    "infill",
    "load",
    "oracle",
]


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'calipers' has no attribute {name!r}")
    value = getattr(import_module(_WHERE[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
