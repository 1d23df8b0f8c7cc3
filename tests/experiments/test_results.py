"""What docs/results/bench shows is what its records say, to the last digit, and needs no model."""

import sys
from pathlib import Path

import pytest

from calipers.cli import main

RESULTS = Path(__file__).parents[2] / "docs" / "results" / "bench"


# Of which run the records are: what was asked on a GPU, and what on two CPU cores.
GPU = dict.fromkeys(["table1", "table3", "table4", "table5", "table6", "table7", "beyond"], "runs")
CPU = dict.fromkeys(["figure1", "figure2a", "figure2b", "figure4", "table8", "table9"], "runs-cpu")


@pytest.mark.parametrize(("name", "runs"), [*GPU.items(), *CPU.items()])
def test_a_table_with_records_is_made_again_from_them_without_a_model(name, runs, tmp_path, monkeypatch):
    monkeypatch.setattr("calipers.cli.bench.build_model", lambda values: pytest.fail("the model was opened"))
    command = ["calipers", "reproduce", name, "--runs", str(RESULTS / runs), "-o", str(tmp_path), "-q"]
    monkeypatch.setattr(sys, "argv", command)
    with pytest.raises(SystemExit) as end:
        main()
    assert not end.value.code
    assert (tmp_path / f"{name}.csv").read_bytes() == (RESULTS / f"{name}.csv").read_bytes()
