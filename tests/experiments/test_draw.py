"""Figures in files: of the format named, the same bytes each time, with text that is text, and what they must show."""

import re
import sys
import xml.etree.ElementTree as ElementTree

import pytest

from calipers import Landscape, Probe
from calipers.bench.statistics import Interval
from calipers.bias import NONE, PAPER
from calipers.errors import ArgumentError, MissingExtra
from calipers.experiments import draw, paper
from calipers.experiments.draw import Attempt

CASE = Landscape(
    tuple(Probe(p.length, p.confidence, p.bias, p.calibrated) for p in paper.CASE_STUDY[4]), 10, "up: patience"
)
PREFIX = "for a in b:\n    for c in d:\n        if a != c:\n"
SUFFIX = "            if distance < $x$ & y:\n                return True\n    return False\n"
ATTEMPTS = [
    Attempt(4, "            distance =\n", False),
    Attempt(10, "            distance = abs(a - c)\n", True),
]


def around(mean, half=0.05):
    return Interval(mean, mean - half, mean + half, 100)


def oracle_peak(path):
    offsets = range(-3, 4)
    raw = [around(0.9 - 0.1 * abs(d)) for d in offsets]
    return draw.oracle_peak(path, offsets, raw, [m.times(2) for m in raw], title="a title")


def bias_fit(path):
    lengths = (1, 2, 4, 8, 16)
    points = [(n, PAPER(n) + 0.02 * k) for n in lengths for k in range(-3, 4)]
    means = {n: around(PAPER(n)) for n in lengths}
    return draw.bias_fit(path, points, means, {"own B": NONE, "the paper's B": PAPER}, title="a title")


def lines_by_start(path):
    methods = {"fixed": [around(20, 3), None, around(9, 2)], "CAL": [around(33, 3), around(33, 3), around(28, 3)]}
    return draw.lines_by_start(path, (4, 8, 16), methods, bounds={"oracle": around(45, 3)}, title="a title")


def landscape(path):
    return draw.landscape(path, CASE, 10, title="a title")


def sensitivity(path):
    return draw.sensitivity(path, ATTEMPTS, PREFIX, SUFFIX, title="a title")


FIGURES = (oracle_peak, bias_fit, lines_by_start, landscape, sensitivity)
SAYS = {
    oracle_peak: ("mean confidence Φ", "mean calibrated confidence Φ/B", "L − L* (tokens from the oracle length)"),
    bias_fit: ("own B", "the paper's B", "mean Φ", "length L (tokens)", "16"),
    lines_by_start: ("fixed", "CAL", "oracle", "Pass@1 (%)", "start L (tokens)"),
    landscape: ("L* = 10 oracle", "L̂ = 10", "Φ confidence", "B bias", "Φ/B calibrated"),
    sensitivity: ("L = 4", "L = 10", "✗ fails", "✓ passes", "distance = abs(a - c)", "if distance < $x$ & y:"),
}
MAGIC = {".png": b"\x89PNG\r\n\x1a\n", ".pdf": b"%PDF-", ".svg": b"<?xml"}


def texts(path):
    root = ElementTree.fromstring(path.read_text("utf-8"))
    return ["".join(each.itertext()) for each in root.iter("{http://www.w3.org/2000/svg}text")]


@pytest.mark.parametrize("figure", FIGURES)
@pytest.mark.parametrize("ending", MAGIC)
def test_the_file_is_what_its_ending_says_and_its_path_comes_back(tmp_path, figure, ending):
    path = tmp_path / f"figure{ending}"
    assert figure(path) == path
    assert path.read_bytes().startswith(MAGIC[ending])


@pytest.mark.parametrize("figure", FIGURES)
@pytest.mark.parametrize("ending", MAGIC)
def test_the_same_figure_is_the_same_bytes_and_has_no_date(tmp_path, figure, ending):
    one, other = (figure(tmp_path / f"{n}{ending}").read_bytes() for n in "ab")
    assert one == other
    assert b"CreationDate" not in one
    assert b"<dc:date>" not in one


@pytest.mark.parametrize("figure", FIGURES)
def test_what_is_written_in_it_can_be_searched(tmp_path, figure):
    found = texts(figure(tmp_path / "figure.svg"))
    assert "a title" in found
    assert [text for text in SAYS[figure] if text not in found] == []


@pytest.mark.parametrize("figure", FIGURES)
@pytest.mark.parametrize("name", ["figure.gif", "figure"])
def test_other_endings_are_refused_with_those_that_work(tmp_path, figure, name):
    with pytest.raises(ArgumentError, match=r"ends in none of \.png, \.svg, \.pdf; name one"):
        figure(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("figure", FIGURES)
def test_without_matplotlib_the_error_says_what_to_install(tmp_path, monkeypatch, figure):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtra, match=r"pip install 'calipers\[(bench|plot)\]'"):
        figure(tmp_path / "figure.png")


def curves(path, color):
    """The corners of every line of a colour."""
    paths = [p for p in ElementTree.parse(path).iter("{http://www.w3.org/2000/svg}path") if p.get("style")]
    return [re.findall(r"[ML] ([\d.]+) ([\d.]+)", p.get("d")) for p in paths if f"stroke: {color}" in p.get("style")]


def test_an_oracle_is_a_green_line_only_where_it_is_known(tmp_path):
    with_it, without = tmp_path / "a.svg", tmp_path / "b.svg"
    draw.landscape(with_it, CASE, 10)
    draw.landscape(without, CASE)
    assert curves(with_it, draw.GREEN)
    assert not curves(without, draw.GREEN)
    assert "L* = 10 oracle" not in texts(without)


def test_an_oracle_and_a_choice_apart_are_both_told(tmp_path):
    found = texts(draw.landscape(tmp_path / "a.svg", CASE, 8))
    assert "L* = 8 oracle" in found
    assert "L̂ = 10" in found


def test_doublings_are_evenly_apart(tmp_path):
    lines_by_start(tmp_path / "a.svg")
    longest = max(curves(tmp_path / "a.svg", draw.RED), key=len)
    x = [float(x) for x, _ in longest]
    assert x[1] - x[0] == pytest.approx(x[2] - x[1], abs=0.01)


def test_a_start_that_was_not_run_is_left_out(tmp_path):
    lines_by_start(tmp_path / "a.svg")
    fixed = max(curves(tmp_path / "a.svg", draw.GREY), key=len)
    assert len(fixed) == 2


def test_a_listing_sets_the_fill_apart_from_the_lines_around_it(tmp_path):
    path = draw.sensitivity(tmp_path / "a.svg", ATTEMPTS, PREFIX, SUFFIX)
    drawn = path.read_text("utf-8")
    found = texts(path)
    assert found.count("if a != c:") == 2
    assert "for a in b:" not in found  # two lines of context, not three
    assert "return False" not in found
    for text, color in (("distance =", draw.RED), ("distance = abs(a - c)", draw.GREEN), ("if a != c:", draw.GREY)):
        style = re.search(rf'<text style="([^"]*)"[^>]*>{re.escape(text)}</text>', drawn)[1]
        assert color in style
        assert "monospace" in style or "Mono" in style


def test_a_fill_inside_a_line_is_told_from_the_rest_of_it(tmp_path):
    found = texts(draw.sensitivity(tmp_path / "a.svg", [Attempt(3, "sum(x)", True)], "total = ", " + 1\n"))
    assert found[-3:] == ["total =", "sum(x)", "+ 1"]


def test_a_long_line_goes_on_below_and_loses_nothing(tmp_path):
    fill = "sum(" + " + ".join(f"value_{n}" for n in range(40)) + ")"
    found = texts(draw.sensitivity(tmp_path / "a.svg", [Attempt(64, fill, False)], "total = ", "\n"))
    pieces = [text for text in found if "value" in text or text.startswith(("sum(", "_"))]
    assert found.count("↪") == len(pieces) - 1 >= 3
    assert "".join(pieces).replace(" ", "") == fill.replace(" ", "")


def test_code_stays_inside_its_panel(tmp_path):
    from matplotlib.image import imread

    attempts = [Attempt(30, "x" * 96, True)]
    picture = imread(draw.sensitivity(tmp_path / "a.png", attempts))
    # The outermost columns of the page are blank: white, whatever the height.
    assert (picture[:, -4:, :3] > 0.99).all()


def test_a_fill_of_nothing_shows_what_is_around_it(tmp_path):
    found = texts(draw.sensitivity(tmp_path / "a.svg", [Attempt(1, "", False)], "a = 1\n", "b = 2\n"))
    assert {"L = 1", "a = 1", "b = 2"} <= set(found)


@pytest.mark.parametrize(
    ("call", "says", "remedy"),
    [
        (lambda path: draw.sensitivity(path, []), "rows has no attempt", "give one"),
        (lambda path: draw.oracle_peak(path, [0, 1], [around(1)], [around(1)] * 2), "raw has 1", "as many of each"),
        (lambda path: draw.oracle_peak(path, [], [], []), "offsets has 0", "at least one"),
        (lambda path: draw.bias_fit(path, [], {}, {"B": PAPER}), "means has 0 lengths", "at least one of each"),
        (lambda path: draw.lines_by_start(path, (4, 8), {"cal": [around(1)]}), "methods['cal'] has 1", "as many"),
        (lambda path: draw.landscape(path, Landscape((), 5, "fixed")), "no probes", "search to draw one"),
    ],
)
def test_what_cannot_be_drawn_is_refused_and_nothing_is_written(tmp_path, call, says, remedy):
    with pytest.raises(ArgumentError) as refused:
        call(tmp_path / "figure.png")
    assert says in str(refused.value)
    assert remedy in str(refused.value)
    assert list(tmp_path.iterdir()) == []
