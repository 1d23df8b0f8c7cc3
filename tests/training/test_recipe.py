"""The whole recipe, small: packages → corpus → training, stopped and killed → packed file → a filled hole → card."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from passages import PROSE, ROOT
from training.examples.shelf import is_held_out
from training.pieces import read_pieces
from wares import module, pin, sdist, wheel

pytestmark = pytest.mark.slow
TINY = ROOT / "training" / "runs" / "tiny.toml"


def call(*arguments, **more):
    return subprocess.run(
        [sys.executable, "-m", *map(str, arguments)], cwd=ROOT, check=True, capture_output=True, text=True, **more
    )


@pytest.fixture(scope="module")
def data(tmp_path_factory, tokenizer_json):
    """A corpus of a few packages, one of which is held out by its name."""
    folder = tmp_path_factory.mktemp("corpus")
    index = folder / "index"
    index.mkdir()
    held = next(f"held{n}" for n in range(10_000) if is_held_out(f"held{n}"))
    for at, name in enumerate(("one", "two", held)):
        files = {f"{name}/m{i}.py": module(1000 * at + i) for i in range(25)}
        files["docs/guide.rst"] = "\n\n".join(PROSE.replace("library", f"{name} {i}") for i in range(10))
        (sdist if at else wheel)(index, name, files)
    pin(index, folder / "m.csv")
    (folder / "he.jsonl").write_text("")
    call(
        "training.corpus", folder / "work", "--index", index, "--manifest", folder / "m.csv", "--pause", 0,
        "--humaneval", folder / "he.jsonl", "--workers", 1,
    )  # fmt: skip
    shards = folder / "work" / "shards"
    (shards / "tokenizer.json").write_text(tokenizer_json)
    return shards


def training(data, out, run=TINY):
    command = [sys.executable, "-m", "training.train", run, "--data", data, "--out", out, "--threads", "1"]
    return [str(part) for part in [*command, "--device", "cpu", "--cache", data.parent / "shelves"]]


def lines(out):
    path = out / "log.jsonl"
    text = path.read_text() if path.exists() else ""
    return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]


def begin(data, out, step):
    """A leg under way that has come to a step and has a checkpoint."""
    process = subprocess.Popen(training(data, out), cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    end = time.monotonic() + 900
    while time.monotonic() < end and process.poll() is None:
        there = (out / "checkpoint.pt").exists()
        if there and any(line.get("step", 0) >= step and "loss" in line for line in lines(out)):
            return process
        time.sleep(0.05)
    process.kill()
    raise AssertionError(f"step {step} was not reached: {lines(out)[-1:]}")


@pytest.fixture(scope="module")
def whole(data, tmp_path_factory):
    """A leg that nobody disturbed."""
    out = tmp_path_factory.mktemp("whole") / "tiny"
    subprocess.run(training(data, out), cwd=ROOT, check=True)
    return out


def test_a_leg_that_was_stopped_and_killed_ends_as_one_that_was_not(data, whole, tmp_path):
    out = tmp_path / "tiny"
    stopped = begin(data, out, 3)
    stopped.send_signal(signal.SIGTERM)
    assert stopped.wait(600) == 143
    killed = begin(data, out, 12)
    killed.kill()
    killed.wait()
    subprocess.run(training(data, out), cwd=ROOT, check=True)
    assert [line["event"] for line in lines(out) if "event" in line].count("resume") == 2
    for part in ("pieces", "pieces-mean"):
        one, other = read_pieces(whole / part), read_pieces(out / part)
        assert dict(one.about) == dict(other.about)
        assert all(torch.equal(tensor, other.tensors[name]) for name, tensor in one.tensors.items())


def test_the_loss_falls_and_is_told_by_kind(whole):
    steps = [line for line in lines(whole) if "loss" in line]
    assert steps[-1]["step"] == 24
    assert steps[-1]["loss"] < steps[0]["loss"] - 1
    assert {"line", "block", "random"} <= steps[-1]["kinds"].keys()
    assert not steps[0]["rounded"]
    assert steps[-1]["rounded"]
    summary = json.loads((whole / "summary.json").read_text())
    assert summary["held"]["last"]["code"]["loss"] < steps[0]["loss"]
    assert "rounded" not in summary["held"]


def test_a_finished_leg_is_not_trained_again(data, whole):
    before = (whole / "checkpoint.pt").stat().st_mtime_ns
    assert "finished" in subprocess.run(training(data, whole), cwd=ROOT, capture_output=True, text=True).stdout
    assert (whole / "checkpoint.pt").stat().st_mtime_ns == before


def test_another_leg_goes_on_from_pieces_and_from_a_checkpoint(data, whole, tmp_path):
    for kind, path in (("pieces", whole / "pieces"), ("checkpoint", whole / "checkpoint.pt")):
        run = tmp_path / f"next-{kind}.toml"
        extends = os.path.relpath(TINY, tmp_path)
        run.write_text(
            f'extends = "{extends}"\n[start]\nkind = "{kind}"\npath = "{path}"\n[schedule]\nsteps = 2\nwarmup = 1\n'
        )
        out = tmp_path / kind
        subprocess.run(training(data, out, run), cwd=ROOT, check=True)
        first, *_ = lines(out)
        summary = json.loads((out / "summary.json").read_text())
        assert first["next_batch"] == 24
        assert summary["next_batch"] == 26
        assert summary["earlier"] == json.loads((whole / "summary.json").read_text())["tokens"]
        fresh = next(line for line in lines(whole) if line.get("step") == 1)
        assert next(line for line in lines(out) if line.get("step") == 1)["loss"] < fresh["loss"] - 1


def test_the_packed_file_fills_a_hole_and_has_a_card(data, whole, tmp_path):
    packed = tmp_path / "tiny.safetensors"
    call(
        "training.quantise", "--weights", whole / "pieces-mean", "--out", packed,
        "--tokenizer", data / "tokenizer.json",
        "--bits", "v_proj=6", "--bits-embedding", 7, "--calibration", data / "code-00.jsonl.xz",
        "--calibration-windows", 8, "--threads", 1,
    )  # fmt: skip
    import calipers

    model = calipers.load(packed, device="cpu")
    fill = calipers.Infiller(model, search=calipers.HillClimb(init=2, patience=1, max_length=4)).fill(
        calipers.Template.parse("def f(x):\n<hole>    return x\n")
    )
    assert fill.length >= 1
    assert fill.text
    call("training.average", tmp_path / "mean", whole / "pieces", whole / "pieces-mean")
    assert read_pieces(tmp_path / "mean").tensors.keys() == read_pieces(whole / "pieces").tensors.keys()
    said = call(
        "training.card", "--packed", packed, "--legs", whole / "summary.json", "--corpus", data / "STATS.md"
    ).stdout
    for part in ("# calipers-135m", "Apache-2.0", "## Training", "| tiny |", "## Limits", "kWh", "Not evaluated yet"):
        assert part in said


def test_the_driver_trains_and_brings_the_pieces_home(data, tmp_path):
    stage, home = tmp_path / "stage", tmp_path / "home"
    (stage / "data").mkdir(parents=True)
    for file in data.iterdir():
        (stage / "data" / file.name).write_bytes(file.read_bytes())
    settings = {"STAGE": stage, "OUT": home, "PYTHON": sys.executable, "WAIT": "120", "TRAIN_OPTIONS": "--threads 1"}
    env = {**os.environ, **{key: str(value) for key, value in settings.items()}}
    said = ""
    for _ in range(15):
        done = subprocess.run(
            [ROOT / "training" / "h200.sh", "leg", "tiny"], cwd=ROOT, env=env, capture_output=True, text=True
        )
        said = done.stdout
        if "all home" in said:
            break
    assert "all home" in said, said
    found = read_pieces(home)
    assert found.about["step"] == 24
    assert (home / "records.tar.gz").stat().st_size < 1 << 20
    assert not _running(Path(stage / "queue.pid"))


def _running(pid: Path):
    try:
        os.kill(int(pid.read_text()), 0)
    except ProcessLookupError:
        return False
    return True
