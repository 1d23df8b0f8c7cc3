"""A landscape as a picture in a file whose ending says what it is."""

import sys
import xml.etree.ElementTree as ElementTree

import pytest

from calipers import Landscape, Probe, Scripted, infill
from calipers.errors import ArgumentError, MissingExtra, TargetError
from calipers.plot import check

LANDSCAPE = Landscape((Probe(4, 0.8, 0.5, 1.6), Probe(5, 0.9, 0.45, 2.0), Probe(3, 0.7, 0.7, 1.0)), 5, "up: bound")
MAGIC = {".png": b"\x89PNG\r\n\x1a\n", ".pdf": b"%PDF-"}


@pytest.mark.parametrize("ending", [".png", ".pdf", ".PNG"])
def test_the_file_is_what_its_ending_says(tmp_path, ending):
    path = tmp_path / f"landscape{ending}"
    assert LANDSCAPE.plot(path) == path
    assert path.read_bytes().startswith(MAGIC[ending.lower()])


def test_a_drawing_has_three_curves_the_choice_and_the_title(tmp_path, monkeypatch):
    import matplotlib

    monkeypatch.setitem(matplotlib.rcParams, "svg.fonttype", "none")  # text as text
    path = LANDSCAPE.plot(str(tmp_path / "landscape.svg"), title="HumanEval/0/L3")
    drawing = path.read_text("utf-8")
    assert ElementTree.fromstring(drawing).tag.endswith("svg")
    for text in ("Φ confidence", "B bias", "Φ/B calibrated", "L̂ = 5", "HumanEval/0/L3"):
        assert text in drawing


def test_a_fill_draws_the_hole_that_is_named(tmp_path):
    fill = infill("a", "b", model=Scripted(["hello"]))
    assert fill.plot(tmp_path / "fill.svg").stat().st_size > 1000


def test_one_probe_is_enough(tmp_path):
    one = Landscape(LANDSCAPE.probes[:1], 4, "")
    assert one.plot(tmp_path / "one.png").is_file()


@pytest.mark.parametrize("name", ["landscape.gif", "landscape", "png", "landscape.png.txt"])
def test_other_endings_are_refused_with_those_that_work(tmp_path, name):
    with pytest.raises(ArgumentError, match=r"ends in none of \.png, \.svg, \.pdf; name one") as refused:
        LANDSCAPE.plot(tmp_path / name)
    assert name in str(refused.value)
    assert list(tmp_path.iterdir()) == []


def test_a_landscape_without_probes_is_refused(tmp_path):
    with pytest.raises(ArgumentError, match=r"no probes.*search to draw one"):
        Landscape((), 5, "fixed").plot(tmp_path / "landscape.png")


def test_a_folder_that_is_not_there_is_refused_before_any_work(tmp_path):
    with pytest.raises(TargetError, match="is no folder; make it first"):
        check(tmp_path / "absent" / "landscape.png")


def test_without_matplotlib_the_error_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for draw in (check, LANDSCAPE.plot):
        with pytest.raises(MissingExtra, match=r"pip install 'calipers\[plot\]'"):
            draw(tmp_path / "landscape.png")


def test_drawing_needs_no_screen_and_leaves_pyplot_alone(tmp_path):
    before = "matplotlib.pyplot" in sys.modules
    LANDSCAPE.plot(tmp_path / "landscape.png")
    assert ("matplotlib.pyplot" in sys.modules) == before
