"""The package as a whole: what importing it costs, and that what it names is there."""

import importlib
import json

import pytest

import calipers
from helpers import python

HEAVY = ("torch", "scipy", "numpy", "matplotlib", "huggingface_hub", "safetensors", "tokenizers")


def loaded_by(code):
    """Which of the heavy packages a fresh interpreter has after running this."""
    return json.loads(python(f"import json, sys\n{code}\nprint(json.dumps([m for m in {HEAVY} if m in sys.modules]))"))


def test_importing_the_package_loads_nothing_heavy():
    assert loaded_by("import calipers") == []


def test_searching_needs_no_numerics():
    assert loaded_by("import calipers; calipers.find(calipers.HillClimb(), lambda ls: [-l for l in ls])") == []


def test_everything_but_a_model_is_there_without_torch():
    code = """
import calipers
for name in calipers.__all__:
    if name != "load":
        getattr(calipers, name)
calipers.Template.around("a", "b"), calipers.Denoise(), calipers.Daedal(), calipers.find_bias("paper")
"""
    assert loaded_by(code) == []


@pytest.mark.parametrize("name", calipers.__all__)
def test_every_public_name_is_there(name):
    assert getattr(calipers, name) is not None
    assert name in dir(calipers)


def test_public_names_are_each_named_once_and_have_a_home():
    assert sorted(set(calipers.__all__)) == sorted(calipers.__all__)
    assert set(calipers.__all__) == set(calipers._WHERE)


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="'calipers' has no attribute 'infil'"):
        calipers.infil  # noqa: B018


def test_infill_is_a_function_whatever_else_is_imported():
    importlib.import_module("calipers.infiller")
    fill = calipers.infill("hello ", "!", model=calipers.Scripted(["world"]))
    assert fill.whole == "hello world!"


def test_no_public_name_is_hidden_by_a_module_of_its_name():
    assert (
        python("""
import importlib, pkgutil, calipers
for module in pkgutil.iter_modules(calipers.__path__):
    if not module.ispkg:
        importlib.import_module(f"calipers.{module.name}")
print([name for name in calipers.__all__ if type(getattr(calipers, name)).__name__ == "module"])
""")
        == "[]\n"
    )


@pytest.mark.parametrize(("given", "found"), [("", "1000"), ("7", "7")])
def test_the_command_s_threads_spin_briefly_unless_told_otherwise(given, found):
    code = """
import os, sys
from calipers.cli import main
os.environ.pop("GOMP_SPINCOUNT", None)
if sys.argv[1]:
    os.environ["GOMP_SPINCOUNT"] = sys.argv[1]
sys.argv = ["calipers", "--version"]
try:
    main()
except SystemExit:
    print(os.environ["GOMP_SPINCOUNT"], "torch" in sys.modules)
"""
    # Once torch is loaded it would have no effect.
    assert python(code, given).split()[-2:] == [found, "False"]
