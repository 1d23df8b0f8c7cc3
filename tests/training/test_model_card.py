"""The card says what the records say, and nothing else."""

import pytest
from training.card import energy, evaluation, legs_table, sources_table
from training.compare import table

from calipers.bench.answer import Record
from calipers.bench.records import MANIFEST, Run

LEG = {
    "run": {
        "name": "leg-1", "start": {"kind": "base"}, "schedule": {"lr": 1e-3}, "rows": {"lengths": [256, 512]},
        "source": [
            {"name": "code", "weight": 3.0, "prose": False, "functions": False},
            {"name": "docs", "weight": 1.0, "prose": True, "functions": False},
        ],
    },
    "tokens": 2_000_000, "seconds": 3600.0, "machine": "a GPU", "held": {"last": {"code": {"loss": 2.5}}},
}  # fmt: skip


def test_energy_is_time_times_power():
    assert energy([LEG, LEG], 500.0) == (1.0, 2.0)
    assert energy([{**LEG, "watts": 300.0}], 500.0) == pytest.approx((0.3, 1.0))


def test_a_leg_is_a_row_and_sources_are_shares():
    assert legs_table([LEG])[-1] == "| leg-1 | base | 2.0 M | 60.0 | 0.001 | a GPU | code 2.500 |"
    assert sources_table(LEG)[-2:] == ["| code | 75% | modules |", "| docs | 25% | prose |"]


def test_the_mean_speaks_for_a_leg_that_has_one():
    leg = {**LEG, "held": {"last": {"code": {"loss": 2.5}}, "mean": {"code": {"loss": 2.25}}}}
    assert "code 2.250" in legs_table([leg])[-1]


def test_every_set_is_a_table_with_intervals(tmp_path):
    folder = tmp_path / "model@v1" / "stories" / "oracle"
    folder.mkdir(parents=True)
    (folder / MANIFEST).write_text('{"method": {"name": "oracle"}}')
    run = Run(folder)
    with run.open() as journal:
        for at in range(20):
            scores = {"bleu2": at / 20, "rouge_l": 0.5, "exact": 0.0}
            run.add(Record(f"t{at}", "x", 0, "a", 3, 3, 3, 0, 3, "oracle", 0, scores), journal)
    text = "\n".join(evaluation(tmp_path / "model@v1"))
    assert "stories, model@v1" in text
    assert "oracle" in text
    assert "47.5 [" in text
    assert evaluation(tmp_path / "nothing") == []


def test_runs_are_compared_with_the_first():
    def summary(name, loss):
        held = {"code": {"loss": loss, "kinds": {"line": [loss + 1, 5]}}, "docs": {}}
        return {"run": {"name": name}, "tokens": 4_000_000, "seconds": 10.0, "held": {"last": held}}

    lines = table([summary("a", 2.0), summary("b", 1.5)]).splitlines()
    assert lines[0] == "| run | M tokens | k tokens/s | code | code: line |"
    assert lines[2] == "| a | 4.0 | 400 | 2.0000 | 3.0000 |"
    assert lines[3] == "| b | 4.0 | 400 | -0.5000 | -0.5000 |"
