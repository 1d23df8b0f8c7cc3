"""Step 1: the pinned files, one at a time with a pause, each against its digest."""

from __future__ import annotations

import sys
import time
import urllib.error
from collections.abc import Sequence
from pathlib import Path

from training.corpus.index import PYPI, digest_of, download, links
from training.corpus.manifest import Release

_TRIES = 3


def fetch(releases: Sequence[Release], folder: Path, index: str = PYPI, pause: float = 1.0) -> list[Release]:
    """Bring every release's file into `folder`; what is there stays. Returns those that could not be had."""
    folder.mkdir(parents=True, exist_ok=True)
    missing = []
    for number, release in enumerate(releases, 1):
        path = folder / release.file
        if path.exists():
            continue
        problem = _fetch_one(release, path, index, pause)
        if problem:
            missing.append(release)
        print(f"{number}/{len(releases)} {release.file} {problem or 'fetched'}", file=sys.stderr, flush=True)
        time.sleep(pause)
    return missing


def _fetch_one(release: Release, path: Path, index: str, pause: float) -> str:
    """Fetch one file; what went wrong, if something did."""
    problem = ""
    for attempt in range(_TRIES):
        time.sleep(attempt * 10 * pause)
        try:
            link = next((link for link in links(index, release.package) if link.file == release.file), None)
            if link is None:
                return "not in the index"
            new = path.with_name(path.name + ".new")
            download(link, new)
        except (urllib.error.URLError, TimeoutError, ConnectionError) as failure:
            problem = str(failure)
            continue
        if (found := digest_of(new)) != release.sha256:
            new.unlink()
            return f"its sha256 is {found}, not {release.sha256}"
        new.replace(path)
        return ""
    return problem
