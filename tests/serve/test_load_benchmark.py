"""The load test's own parts: typists that hang on their seed, sums that are right, tables of what was measured."""

import importlib
import json
import subprocess
import sys
from itertools import islice
from pathlib import Path

import pytest

from helpers import checkpoint

ROOT = Path(__file__).parents[2]
SCRIPTS = ROOT / "benchmarks"


@pytest.fixture
def part(monkeypatch):
    """A module of the script's."""
    monkeypatch.syspath_prepend(SCRIPTS)
    return importlib.import_module


def test_what_a_typist_does_hangs_on_the_seed_alone(part):
    bursts = part("typist").bursts
    once, again, other = ([*islice(bursts(seed), 20)] for seed in ("a", "a", "b"))
    assert once == again != other


def test_each_key_adds_a_character_and_leaves_what_is_right_of_it(part):
    for burst in islice(part("typist").bursts("x"), 200):
        first, *others = burst.keys
        for before, after in zip(burst.keys, others, strict=False):
            assert after.line[:-1] == before.line
            assert (after.above, after.below) == (before.above, before.below)
        assert first.line.strip()
        assert "\n" not in burst.keys[-1].line
        assert all(0 < key.after < 2 for key in burst.keys)
    right = [burst.keys[0].below.split("\n")[0] for burst in islice(part("typist").bursts("x"), 200)]
    assert 30 < sum(map(bool, right)) < 110  # a third is within a line


def test_a_quantile_is_a_value_that_was_there(part):
    quantile = part("load").quantile
    assert [quantile([3, 1, 2, 4], share) for share in (0.25, 0.5, 0.95, 1.0)] == [1, 2, 4, 4]
    assert (quantile([7], 0.5), quantile([], 0.5)) == (7, 0.0)


def test_the_sums_of_a_row(part):
    typist = part("typist")
    answers = [typist.Answer(200, seconds, 4) for seconds in (0.4, 0.6, 1.3)]
    tally = typist.Tally([*answers, typist.Answer(503, 0.1)], [typist.Answer(200, 0.2, 4)], left=5)
    counted = {"model_seconds_total": 5.0, "wasted_seconds_total": 1.0, "queries_total": 12.0, "forwards_total": 6.0}
    row = part("load").summary(tally, 8.0, counted, within=1000, margin=200)
    assert (row["requests"], row["dropped"]) == (10, 1)
    assert (row["p50"], row["p95"], row["longest"]) == (0.6, 1.3, 1.3)
    assert row["kept"] == pytest.approx(2 / 3)
    assert (row["completions_per_second"], row["tokens_per_second"]) == (0.5, 2.0)
    assert (row["queries_per_forward"], row["model_share"], row["wasted_model_share"]) == (2.0, 0.625, 0.2)


def test_the_page_of_results_is_what_its_figures_make_it(part):
    page, figures = ROOT / "docs/results/serve.md", ROOT / "docs/results/serve.json"
    known = json.loads(figures.read_text()) if figures.exists() else {}
    assert part("loadtables").rendered(page.read_text(), known) == page.read_text()


@pytest.mark.slow
def test_it_measures_soaks_and_kills(tmp_path):
    folder = checkpoint(tmp_path / "tiny")
    figures, page = tmp_path / "serve.json", tmp_path / "serve.md"
    page.write_text((ROOT / "docs/results/serve.md").read_text())

    def run(*arguments):
        keep = ["--json", figures, "--markdown", page, "--model", folder, "--clients", 3]
        command = [sys.executable, SCRIPTS / "load.py", *keep, *arguments]
        return subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=300, check=True).stdout

    run("--budgets", 1000, "--bursts", 1)
    run("--soak", 0.1, "--budgets", 1000)
    run("--kill", 1)
    known = json.loads(figures.read_text())
    assert set(known) == {"load", "soak", "kill"}
    assert [row["way"] for row in known["load"]["rows"]] == ["shared", "one by one"]
    assert all(row["dropped"] == 0 and row["waited"] == 3 for row in known["load"]["rows"])
    assert known["soak"]["rows"]["completions"] > 0
    (killed,) = known["kill"]["rows"]
    assert (killed["dropped"], killed["exit_code"]) == (0, 0)
    assert killed["under_way"] > 0
    assert killed["answered"] + killed["turned_away"] >= killed["under_way"]
    assert "To be measured" not in page.read_text()
    drawn = page.read_text()
    run("--render")
    assert page.read_text() == drawn
