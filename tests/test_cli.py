"""The command as its user meets it: a small real checkpoint in most tests, the bundled model in the slow ones."""

import gzip
import json
import os
import pty
import select
import shutil
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

import calipers
from calipers.cli import main
from calipers.errors import CalipersError
from helpers import checkpoint

Run = Callable[..., "Result"]
COMMAND = [sys.executable, "-c", "from calipers.cli import main; main()"]


@dataclass
class Result:
    """What a run left: exit code and both streams."""

    code: int
    out: str
    err: str


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint of random weights: what it fills in makes no sense, but always the same one."""
    return checkpoint(tmp_path_factory.mktemp("cli") / "tiny")


@pytest.fixture
def run(folder: Path, capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run the command in this process, with the small model."""

    def call(*arguments: str, model: str | None = None, stdin: bytes | None = None) -> Result:
        # float32, so that what is compared does not hang on the rounding of a batch.
        given = [arguments[0], "--model", model or str(folder), *arguments[1:]]
        if arguments[0] in ("fill", "probe", "fit") and not {"--dtype", "--help"} & set(arguments):
            given += ["--dtype", "float32"]
        known = arguments[0] in ("fill", "probe", "fit")
        monkeypatch.setattr(sys, "argv", ["calipers", *(given if known else arguments)])
        if stdin is not None:
            reader, writer = os.pipe()
            os.write(writer, stdin)
            os.close(writer)
            monkeypatch.setattr(sys, "stdin", os.fdopen(reader))
        capfdbinary.readouterr()
        with pytest.raises(SystemExit) as end:
            main()
        out, err = capfdbinary.readouterr()
        return Result(int(end.value.code or 0), out.decode(), err.decode())

    return call


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "code.py"
    path.write_bytes(b"one\r\n\ttwo <hole> end\r\nthree")
    return path


def test_nothing_but_the_hole_changes(run: Run, file: Path) -> None:
    before, after = file.read_bytes().decode().split("<hole>")
    result = run("fill", str(file), "--max-length", "12")
    assert result.code == 0
    assert result.out.startswith(before)
    assert result.out.endswith(after)
    assert len(result.out) > len(before + after)


def test_every_way_out_holds_the_same_fill(run: Run, file: Path, tmp_path: Path) -> None:
    whole = run("fill", str(file)).out
    as_json = json.loads(run("fill", str(file), "--json").out)
    assert as_json["whole"] == whole
    assert run("fill", str(file), "--only").out == as_json["texts"][0]
    assert run("fill", str(file), "-o", str(tmp_path / "out")).out == ""
    assert (tmp_path / "out").read_bytes().decode() == whole
    run("fill", str(file), "--only", "-o", str(tmp_path / "out"))
    assert (tmp_path / "out").read_text() == as_json["texts"][0]
    prefix, suffix = file.read_bytes().decode().split("<hole>")
    assert run("fill", "--prefix", prefix, "--suffix", suffix).out == whole
    assert run("fill", "-", stdin=file.read_bytes()).out == whole
    run("fill", str(file), "--in-place")
    assert file.read_bytes().decode() == whole


def test_json_is_a_fill_of_the_library(run: Run, file: Path, folder: Path) -> None:
    fill = calipers.Fill.from_json(run("fill", str(file), "--json").out)
    infiller = calipers.Infiller(calipers.load(str(folder), dtype="float32"))
    alone = infiller.fill(calipers.Template.parse(file.read_bytes().decode()))
    assert (fill.texts, fill.lengths, fill.landscapes) == (alone.texts, alone.lengths, alone.landscapes)


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_a_diff_applies_with_git(run: Run, file: Path) -> None:
    whole = run("fill", str(file)).out
    diff = run("fill", str(file), "--diff").out
    (file.parent / "fill.diff").write_bytes(diff.encode())
    # The diff names the file from the root; outside a repository git applies it to the folder it runs in.
    subprocess.run(["git", "apply", str(file.parent / "fill.diff")], cwd="/", check=True)
    assert file.read_bytes().decode() == whole


def test_places_in_a_file(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "lines.txt"
    path.write_text("first\nsecond\nthird\n")
    assert run("fill", f"{path}:2", "--length", "2").out.endswith("second\nthird\n")
    out = run("fill", f"{path}:2:4", "--length", "2").out
    assert out.startswith("first\nsec")
    assert out.endswith("ond\nthird\n")
    out = run("fill", f"{path}:2-3", "--length", "2").out
    assert out.startswith("first\n")
    assert "second" not in out
    assert "third" not in out


def test_several_holes_and_their_lengths(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "two.txt"
    path.write_text("a <hole> b <hole> c")
    fill = json.loads(run("fill", str(path), "--length", "3", "--length", "5", "--json").out)
    assert fill["lengths"] == [3, 5]
    assert json.loads(run("fill", str(path), "--length", "4", "--json").out)["lengths"] == [4, 4]
    assert run("fill", str(path), "--length", "1", "--length", "2", "--length", "3").code == 2
    assert json.loads(run("fill", str(path), "--json", "--max-length", "10").out)["passes"] >= 1


def test_empty_prefix_suffix_and_both(run: Run) -> None:
    for prefix, suffix in (("", "after"), ("before", ""), ("", "")):
        result = run("fill", "--prefix", prefix, "--suffix", suffix, "--length", "3")
        assert result.code == 0
        assert result.out.startswith(prefix)
        assert result.out.endswith(suffix)


def test_decoders_and_sampling_are_reachable(run: Run) -> None:
    text = ("fill", "--prefix", "a", "--suffix", "b", "--init", "4", "--max-length", "8")
    assert json.loads(run(*text, "--decoder", "daedal", "--json").out)["lengths"][0] <= 8
    drawn = [run(*text, "--temperature", "1", "--seed", seed).out for seed in ("1", "1", "2")]
    assert drawn[0] == drawn[1] != drawn[2]
    fewer = json.loads(run(*text, "--length", "8", "--tokens-per-step", "4", "--json").out)
    assert fewer["forwards"] == 2
    assert run(*text, "--guidance", "1.5").code == 0
    dreamon = run(*text, "--decoder", "dreamon")
    assert dreamon.code == 2
    assert "dreamon-7b" in dreamon.err


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("--prefix", "a", "--init", "65"), 2, "init=65 is above max_length=64"),
        (("--prefix", "a", "--patience", "0"), 2, "patience=0 must be at least 1"),
        (("--prefix", "a", "--temperature", "-1"), 2, "temperature=-1.0"),
        (("--prefix", "a", "--steps", "2", "--tokens-per-step", "2"), 2, "give one"),
        (("--prefix", "a", "--bias", "nowhere.json"), 6, "calipers fit"),
        (("--prefix", "a", "--device", "abacus"), 2, "abacus"),
        (("--prefix", "a", "--dtype", "int3"), 2, "bfloat16 or float32"),
        (("--prefix", "a", "--diff"), 2, "needs a file"),
        (("--prefix", "a", "--json", "--only"), 2, "give one"),
        (("--prefix", "a", "--plot", "x.gif"), 2, ".svg"),
        (("--prefix", "a", "--no-such-option"), 2, "No such option"),
        (("--prefix", "a", "--threshold", "2"), 2, "threshold=2.0"),
        (("--prefix", "a", "--decoder", "daedal", "--steps", "3"), 2, "does not take --steps"),
        (("--prefix", "a" * 600, "--refuse-long"), 5, "shorten it"),
        (("--prefix", "a", "--context", "20"), 5, "lower max_length"),
        (("/no/such/file",), 3, "is not there"),
        (("/tmp",), 3, "is a folder"),
        (("x", "--prefix", "a"), 2, "give one of them"),
        (("--prefix", "a", "--seed", "99999999999999999999"), 2, "less than 2**63"),
        (("--prefix", "a", "--decoder", "daedal", "--temperature", "1"), 2, "does not take --temperature"),
        (("--prefix", "a", "--low", "0.2"), 2, "does not take --low"),
        (("--prefix", "a", "--search", "exhaustive", "--init", "4"), 2, "belong to --search climb"),
        (("--prefix", "a", "--search", "regression", "--patience", "4"), 2, "regression scores every length"),
        (("--prefix", "a", "--search", "regression", "--step", "2"), 2, "--step belongs to"),
        (("--prefix", "a", "--search", "regression", "--max-length", "3"), 2, "max_length=3"),
        (("--prefix", "a", "--card", "nobody"), 2, "card='nobody' is not known"),
        (("--prefix", "a", "-o", "/tmp/x", "-i"), 2, "where the fill goes"),
    ],
)
def test_misuse_is_refused_with_a_remedy(run: Run, arguments: tuple[str, ...], code: int, said: str) -> None:
    result = run("fill", *arguments)
    assert result.code == code, result.err
    assert said in result.err
    assert "Traceback" not in result.err
    assert result.out == ""


def test_a_model_that_is_not_there_is_refused(run: Run) -> None:
    result = run("fill", "--prefix", "a", model="./nowhere")
    assert result.code == 4
    assert "calipers models" in result.err


def test_a_long_text_is_cropped_and_said_so(run: Run) -> None:
    result = run("fill", "--prefix", "x" * 600, "--suffix", "y", "--length", "2")
    assert result.code == 0
    assert "far left" in result.err
    assert result.out.startswith("x" * 600)


def test_markers(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_text("no hole here")
    missing = run("fill", str(path))
    assert missing.code == 3
    assert "'<hole>' is not in the text" in missing.err
    path.write_text("a @@ b <hole>")
    assert run("fill", str(path), "--marker", "@@", "--length", "1").out.endswith(" b <hole>")
    path.write_text("<hole> and <hole>")
    twice = run("probe", str(path))
    assert twice.code == 3
    assert "2 times where 1 is meant" in twice.err


def test_files_that_cannot_be_used(run: Run, tmp_path: Path) -> None:
    latin = tmp_path / "latin"
    latin.write_bytes(b"caf\xe9 <hole>")
    result = run("fill", str(latin))
    assert result.code == 3
    assert "not UTF-8" in result.err
    assert "iconv" in result.err
    locked = tmp_path / "locked"
    locked.write_text("a <hole>")
    locked.chmod(stat.S_IRUSR)
    result = run("fill", str(locked), "-i")
    assert result.code == 3
    assert "read-only" in result.err
    assert locked.read_text() == "a <hole>"
    assert run("fill", "-", stdin=b"\xff<hole>").code == 3


def test_in_place_keeps_the_mode_and_leaves_no_scraps(run: Run, file: Path) -> None:
    file.chmod(0o751)
    run("fill", str(file), "-i", "--length", "2")
    assert stat.S_IMODE(file.stat().st_mode) == 0o751
    assert [p.name for p in file.parent.iterdir()] == [file.name]


def test_probe_prints_what_it_draws(run: Run, file: Path, tmp_path: Path) -> None:
    picture = tmp_path / "landscape.svg"
    result = run("probe", str(file), "--max-length", "9", "--plot", str(picture))
    assert result.code == 0
    assert picture.read_text().lstrip().startswith("<?xml")
    landscape = json.loads(run("probe", str(file), "--max-length", "9", "--json").out)
    assert [p["length"] for p in landscape["probes"]] == list(range(1, 10))
    for p in landscape["probes"]:
        assert f"{p['confidence']:.3f}" in result.out
    assert f"→ {landscape['length']}" in result.out
    assert landscape["length"] == max(landscape["probes"], key=lambda p: p["calibrated"])["length"]


def test_a_small_max_length_needs_no_other_option(run: Run, file: Path) -> None:
    assert json.loads(run("fill", str(file), "--max-length", "3", "--json").out)["lengths"][0] <= 3
    probes = json.loads(run("probe", str(file), "--max-length", "3", "--json").out)["probes"]
    assert [p["length"] for p in probes] == [1, 2, 3]
    assert calipers.infill("a", "b", model=calipers.Scripted(["xyz"]), max_length=2).length == 2


def exit_codes(error: type[CalipersError] = CalipersError) -> set[int]:
    return {error.exit_code}.union(*map(exit_codes, error.__subclasses__()))


def test_every_exit_code_is_documented(run: Run) -> None:
    table = run("--help").out.partition("Exit codes:")[2]
    assert exit_codes() == set(range(1, 8))
    assert {int(word) for word in table.split() if word.isdigit()} >= exit_codes() | {0, 130}


def test_models_says_where_files_are(run: Run) -> None:
    listed = run("models").out
    for card in calipers.cards().values():
        assert card.id in listed
        assert card.licence in listed
    bundled = next(line for line in listed.splitlines() if line.startswith("calipers-135m\t"))
    assert Path(bundled.split("\t")[-1]).is_file()
    assert "not downloaded" in listed
    assert "forbidden" in run("models", "dreamon-7b").out
    assert json.loads(run("models", "--json").out)
    assert run("models", "nobody").code == 4


def tasks_file(path: Path, count: int = 14) -> Path:
    lines = [{"id": f"t{i}", "prefix": f"x{i} = ", "suffix": ";\n", "answer": "y" * (1 + 3 * i)} for i in range(count)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_a_fit_is_saved_with_its_provenance_and_used(run: Run, folder: Path, tmp_path: Path) -> None:
    tasks, out = tasks_file(tmp_path / "tasks.jsonl"), tmp_path / "own.json"
    result = run("fit", str(tasks), "-o", str(out))
    assert result.code == 0, result.err
    bias = calipers.Bias.read(out)
    assert bias.samples == tuple(f"t{i}" for i in range(14))
    assert (bias.model, bias.revision, bias.window) == (str(folder), "local", 4)
    assert bias.made_with["command"].startswith("calipers fit")
    fill = json.loads(run("fill", "--prefix", "a", "--bias", str(out), "--json").out)
    assert fill["made_with"]["bias"] == "own"
    assert fill["notes"] == []
    probe = fill["landscapes"][0]["probes"][0]
    assert probe["bias"] == pytest.approx(bias(probe["length"]))


def test_a_bias_of_another_model_is_used_with_a_note(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "foreign.json"
    calipers.Bias(0.5, 1.0, 0.3, 0.1, 0.2, name="foreign", model="somebody/else", revision="1").save(out)
    result = run("fill", "--prefix", "a", "--bias", str(out), "--length", "1")
    assert result.code == 0
    assert "fitted on somebody/else" in result.err


def test_an_interrupted_fit_goes_on_where_it_was(run: Run, tmp_path: Path) -> None:
    tasks = tasks_file(tmp_path / "tasks.jsonl")
    whole, halves = tmp_path / "whole.json", tmp_path / "halves.json"
    run("fit", str(tasks), "-o", str(whole))
    store = tmp_path / "whole.json.samples.jsonl"
    lines = store.read_text().splitlines(keepends=True)
    # As kill -9 leaves it: some samples done, the next one torn.
    (tmp_path / "halves.json.samples.jsonl").write_text("".join(lines[:6]) + lines[6][:20])
    result = run("fit", str(tasks), "-o", str(halves))
    assert "5 of 14 tasks are measured already" in result.err
    again = (tmp_path / "halves.json.samples.jsonl").read_text().splitlines()[1:]
    once, twice = ({s["id"]: s for s in map(json.loads, some)} for some in (lines[1:], again))
    assert len(again) == len(twice) == 14
    for name, sample in once.items():
        # Other neighbours in a batch, other rounding.
        assert twice[name]["confidence"] == pytest.approx(sample["confidence"], abs=1e-5)
    one, two = calipers.Bias.read(whole), calipers.Bias.read(halves)
    assert [two(n) for n in (1, 8, 64)] == pytest.approx([one(n) for n in (1, 8, 64)], abs=1e-4)


def test_other_tasks_of_the_same_ids_are_measured_anew(run: Run, tmp_path: Path) -> None:
    tasks, out = tasks_file(tmp_path / "tasks.jsonl"), tmp_path / "b.json"
    run("fit", str(tasks), "-o", str(out))
    first = calipers.Bias.read(out)
    tasks.write_text(tasks.read_text().replace("x1 = ", "something else = "))
    assert "13 of 14 tasks are measured already" in run("fit", str(tasks), "-o", str(out)).err
    assert calipers.Bias.read(out).data != first.data  # the file's digest


def test_a_damaged_store_and_a_torn_archive_are_said_to_be_so(run: Run, tmp_path: Path) -> None:
    tasks, out = tasks_file(tmp_path / "tasks.jsonl"), tmp_path / "b.json"
    (tmp_path / "b.json.samples.jsonl").write_text("nonsense\n")
    damaged = run("fit", str(tasks), "-o", str(out))
    assert damaged.code == 6
    assert "remove it to measure anew" in damaged.err
    torn = tmp_path / "torn.jsonl.gz"
    torn.write_bytes(gzip.compress(tasks.read_bytes())[:-20])
    assert run("fit", str(torn), "-o", str(tmp_path / "c.json")).code == 3


def test_samples_of_other_lengths_are_not_mixed(run: Run, tmp_path: Path) -> None:
    tasks, out = tasks_file(tmp_path / "tasks.jsonl"), tmp_path / "b.json"
    run("fit", str(tasks), "-o", str(out))
    result = run("fit", str(tasks), "-o", str(out), "--lengths", "1,2,3,9,12,20,30")
    assert result.code == 6
    assert "remove the file" in result.err


@pytest.mark.parametrize(
    ("content", "said"),
    [("", "has no tasks"), ("{", "line 1 is not JSON"), ('{"prefix": "a", "suffix": "b"}', "'answer'")],
)
def test_broken_task_files_are_refused(run: Run, tmp_path: Path, content: str, said: str) -> None:
    tasks = tmp_path / "tasks.jsonl"
    tasks.write_text(content)
    result = run("fit", str(tasks), "-o", str(tmp_path / "b.json"))
    assert result.code == 3
    assert said in result.err


def test_help_of_every_command_names_defaults(run: Run) -> None:
    assert "Exit codes" in run("--help").out
    for name in ("fill", "probe", "fit"):
        text = " ".join(run(name, "--help").out.split())
        assert "[default: " in text
        assert "tokens" in text


def test_import_and_help_stay_quick_because_torch_waits() -> None:
    code = (
        "import sys; sys.argv = ['calipers', '--help']\n"
        "from calipers.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "slow = {'torch', 'numpy', 'scipy', 'rich', 'tokenizers', 'huggingface_hub', 'matplotlib'}\n"
        "heavy = slow & set(sys.modules)\n"
        "sys.exit(f'imported: {heavy}' if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def on_terminal(*arguments: str) -> tuple[bytes, bytes]:
    """Run with standard error on a terminal; what came on the terminal, and standard output."""
    ours, theirs = pty.openpty()
    env = os.environ | {"TERM": "xterm-256color", "COLUMNS": "100", "LINES": "40"}
    process = subprocess.Popen(
        [*COMMAND, *arguments], stdout=subprocess.PIPE, stderr=theirs, stdin=subprocess.DEVNULL, env=env
    )
    os.close(theirs)
    seen = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # the terminal closes with its last writer
            break
        if not part:
            break
        seen += part
    out = process.stdout.read() if process.stdout else b""
    process.wait(timeout=60)
    os.close(ours)
    return seen, out


def test_a_terminal_sees_the_denoising_and_a_pipe_does_not(folder: Path) -> None:
    text = ("fill", "--model", str(folder), "--prefix", "a", "--suffix", "b", "--length", "6")
    seen, out = on_terminal(*text)
    assert "░".encode() in seen
    assert b"\x1b[" not in out
    plain = subprocess.run([*COMMAND, *text], capture_output=True, check=True)
    assert plain.stdout == out
    assert b"\x1b[" not in plain.stderr
    assert "░".encode() not in plain.stderr


@pytest.mark.slow
def test_ctrl_c_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "long.py"
    path.write_text("x = 1\n" * 150 + "<hole>" + "y = 2\n" * 100)
    before = path.read_bytes()
    process = subprocess.Popen(
        [*COMMAND, "fill", str(path), "-i", "--search", "exhaustive"], stderr=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stderr is not None
    # Give it time to be in the middle of its work; it would take a minute.
    deadline = time.monotonic() + 8
    while time.monotonic() < deadline and process.poll() is None:
        select.select([], [], [], 0.2)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert b"interrupted" in err
    assert b"Traceback" not in err
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["long.py"]


def test_a_reader_that_goes_away_gets_no_traceback() -> None:
    process = subprocess.Popen([*COMMAND, "models"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    assert process.stderr.read() == b""
    process.wait(timeout=60)
