"""Carved functions stand alone."""

import ast

from passages import CODE
from training.examples.functions import carve, free_names

MODULE = '''
import os
import numpy as np
from collections import Counter
from . import near

LIMIT = 3


def alone(path):
    """Counts of what is in a folder, by the ending of its name."""
    return Counter(os.path.splitext(name)[1] for name in os.listdir(path))


def bound(limit):
    """Uses a name of its module, so it cannot stand alone without it."""
    return min(limit, LIMIT) + near.most() + sum(range(limit)) + 1


def bare(limit):
    return sum(i * i for i in range(limit)) + sum(i for i in range(limit)) + len(str(limit)) + 12345


def test_bare():
    values = np.array([1, 2, 3])
    assert values.sum() == 6 and values.mean() == 2, "numbers that every reader can add up in the head"


def outer(values):
    """A function whose inner names are its own, match and walrus included."""
    def inner(x, *, y=1):
        return x + y
    if (n := len(values)) > 3:
        values = [inner(v) for v in values]
    match values:
        case [first, *rest]:
            return first, rest
        case {"a": a, **others}:
            return a, others
    return n
'''


def names(texts):
    return [ast.parse(text).body[-1].name for text in texts]


def test_what_stands_alone_is_carved_with_its_imports():
    found = list(carve(MODULE))
    assert names(found) == ["alone", "test_bare", "outer"]
    assert found[0].startswith("from collections import Counter\nimport os\n\n\ndef alone")
    assert found[1].startswith("import numpy as np\n")
    for text in found:
        compile(text, "carved", "exec")


def test_a_carved_function_runs():
    text = next(text for text in carve(CODE) if "def area" in text)
    space = {}
    exec(text, space)
    assert round(space["area"](1.0), 2) == 3.14


def test_nothing_is_carved_of_what_does_not_parse():
    assert list(carve("def f(:\n    pass")) == []
    assert list(carve("x = 1")) == []
    assert list(carve("def f():\n  '''" + "\x00" + "'''")) == []


def test_decorators_and_globals_are_needed_names():
    node = ast.parse("@cache\ndef f(a):\n    global seen\n    return a + g(seen)\n").body[0]
    assert free_names(node) == {"cache", "seen", "g"}
