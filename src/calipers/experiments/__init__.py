"""The paper's tables and figures, each a file: what records it needs, and how they are shown."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

# Every name that `calipers reproduce` takes, and what it is.
NAMES = {
    "table1": "fixed lengths and the oracle's",
    "table2": "fixed, DAEDAL and CAL from four starts, single- and multi-line",
    "table3": "text: stories, abstracts, reviews",
    "table4": "CAL with and without its bias",
    "table5": "DAEDAL's low-confidence threshold",
    "table6": "CAL's patience and step, code",
    "table7": "CAL's patience and step, stories",
    "table8": "the case study's task",
    "table9": "the case study's searches, probe by probe",
    "figure1": "one hole at three lengths",
    "figure2a": "the oracle peak",
    "figure2b": "the fit of the bias",
    "figure4": "the case study's landscape",
    "beyond": "LR-DLLM and all other searches side by side",
}


def experiment(name: str) -> ModuleType:
    """The module of an experiment."""
    return import_module(f"calipers.experiments.{name}")
