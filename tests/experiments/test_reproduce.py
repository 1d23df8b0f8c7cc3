"""`calipers reproduce`, whole: every table and figure, made by a small real checkpoint of one of the paper's families.

Its answers make no sense, so what is tested is that a figure is what the records say, that it stands beside the
paper's own, and that what was asked once is never asked again.
"""

import csv
import io
import json
import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import fmean

import pytest
import torch

from calipers.bench.sets import open_set
from calipers.cli import main
from calipers.experiments import NAMES, experiment, paper
from helpers import checkpoint

LIMIT = 1


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    """So small a model is slower on two, and far slower where they are busy."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a checkpoint, a text set, and the runs all tests of this file share."""
    folder = tmp_path_factory.mktemp("reproduce")
    checkpoint(folder / "tiny", config={"max_sequence_length": 640})
    lot = random.Random(0)
    words = ["The", "old", "house", "stood", "quietly", "over", "seven", "rivers", "and", "nobody", "came"]
    texts = [{"text": " ".join(lot.choice(words) for _ in range(60)) + "."} for _ in range(4)]
    for name in ("stories", "abstracts", "reviews"):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(text) + "\n" for text in texts))
    return folder


Reproduce = Callable[..., tuple[int, str, str]]


@pytest.fixture
def reproduce(place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Reproduce:
    """Run the command in this process; gives exit code and both streams."""

    def call(name: str, *more: str, model: Path | None = None) -> tuple[int, str, str]:
        given = ["--model", str(model or place / "tiny"), "--card", "llada-8b-base", "--dtype", "float32"]
        given += ["--runs", str(place / "runs"), "--limit", str(LIMIT), "-q", *more]
        monkeypatch.setattr(sys, "argv", ["calipers", "reproduce", name, *given])
        capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            main()
        out, err = capsys.readouterr()
        return int(end.value.code or 0), out, err

    return call


def data(place: Path) -> list[str]:
    return [word for name in ("stories", "abstracts", "reviews") for word in ("--data", f"{name}={place / name}.jsonl")]


def rows(path: Path) -> list[dict[str, str]]:
    """The first table of a CSV file."""
    return list(csv.DictReader(io.StringIO(path.read_text().split("\n\n")[0])))


def records(place: Path, task_set: str, method: str) -> list[dict]:
    (folder,) = (place / "runs").glob(f"tiny@local-*/{task_set}/{method}")
    asked = {task.id for task in open_set(task_set).limit(LIMIT).tasks}  # other tables have asked for others
    lines = map(json.loads, (folder / "records.jsonl").read_text().splitlines())
    return [line for line in lines if line["id"] in asked]


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_every_table_and_figure_is_made_and_made_again_without_the_model(place, reproduce, name, tmp_path, monkeypatch):
    first, again = tmp_path / "first", tmp_path / "again"
    code, out, err = reproduce(name, *data(place), "-o", str(first))
    assert code == 0, err
    assert experiment(name).TITLE in " ".join(out.split())
    drawn = {".svg", ".png"} if hasattr(experiment(name), "figure") else set()
    assert {path.suffix for path in first.iterdir()} == {".md", ".tex", ".csv"} | drawn
    assert "Made by `calipers reproduce" in (first / f"{name}.md").read_text()
    monkeypatch.setattr("calipers.cli.bench.build_model", lambda values: pytest.fail("the model was opened"))
    code, out, err = reproduce(name, *data(place), "-o", str(again))
    assert code == 0, err
    for path in first.iterdir():
        if path.suffix not in (".md", ".tex"):  # those name the folder they were written to
            assert (again / path.name).read_bytes() == path.read_bytes(), path.name


@pytest.mark.slow
def test_a_figure_is_the_mean_of_the_records_and_stands_beside_the_paper_s(place, reproduce, tmp_path):
    assert reproduce("table2", "-o", str(tmp_path))[0] == 0
    found = rows(tmp_path / "table2.csv")
    assert [row["section"] for row in found] == ["Single-line infilling"] * 3 + ["Multi-line infilling"] * 3
    for row, method in zip(found, (paper.FIXED, paper.DAEDAL, paper.CAL) * 2, strict=True):
        part = paper.SINGLE if row["section"].startswith("Single") else paper.MULTI
        for start in paper.CODE_STARTS:
            kept = records(place, f"humaneval-{part}", f"{method}-{start}")
            assert len(kept) == LIMIT
            assert float(row[f"L = {start} Pass@1"]) == pytest.approx(100 * fmean(r["scores"]["pass"] for r in kept))
            assert float(row[f"L = {start} Pass@1 beside"]) == paper.passed(paper.LLADA, part, method, start)
            if method == paper.CAL:
                assert float(row[f"L = {start} Stps."]) == pytest.approx(fmean(r["probes"] for r in kept))


def test_a_search_finds_what_the_search_over_the_table_s_landscape_finds(place, reproduce, tmp_path):
    assert reproduce("figure4", "-o", str(tmp_path))[0] == 0
    assert reproduce("table9", "-o", str(tmp_path))[0] == 0
    drawn = {int(row["L"]): float(row["Φ/B"]) for row in rows(tmp_path / "figure4.csv")}
    walked = rows(tmp_path / "table9.csv")  # from the same start
    assert sorted(drawn) == sorted(int(row["probe"].strip("→ ").split()[2]) for row in walked)
    (best,) = (row for row in walked if row["probe"].startswith("→"))
    assert float(best["Φ/B"]) == max(drawn.values())


def test_texts_that_are_not_at_hand_are_left_out_and_what_is_lacking_is_named(place, reproduce, tmp_path):
    code, out, err = reproduce("table3", "--runs", str(tmp_path / "none"))
    assert code != 0
    assert "--data stories=FILE" in " ".join(err.split())
    code, out, _ = reproduce("table3", "--runs", str(tmp_path / "some"), *data(place)[:2])
    assert code == 0
    assert "abstracts is left out" in out
    assert "reviews is left out" in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--data", "stories"], "give SET=FILE"),
        (["--data", "poems=x"], "is of no set"),
        (["--data", "stories=not-there.csv"], "is no file"),
        (["--limit", "0"], "--limit"),
    ],
)
def test_what_cannot_be_made_is_said_before_anything_is_asked(reproduce, words, message, tmp_path):
    code, _, err = reproduce("table3", "--runs", str(tmp_path / "runs"), *words)
    assert code != 0
    assert message in " ".join(err.split())
    assert not (tmp_path / "runs").exists()
