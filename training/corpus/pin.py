"""Names and versions to a pinned manifest: looks each file up in the index, once, one at a time.

    python -m training.corpus.pin WISHES.csv training/corpus/manifest.csv

WISHES has the columns package, version, licence and, if you like, download (sdist or wheel, which is
then preferred). What the index does not have is listed and left out.
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from training.corpus.index import PYPI, Link, links
from training.corpus.manifest import Release, normal, read_manifest, write_manifest

SOURCES = (".tar.gz", ".zip", ".tar.bz2", ".tgz")
# A wheel of one of these holds the same Python files as any other.
_TAGS = ("none-any", "manylinux", "linux", "macosx", "win")


def version_of(file: str, package: str) -> str:
    """The version in a file's name, as it stands there; empty if the name is of another package."""
    stem = file
    for end in (*SOURCES, ".whl"):
        stem = stem.removesuffix(end)
    # A name may have hyphens in a source archive, so it is matched from the left.
    cut = len(package)
    if normal(stem[:cut]) != package or stem[cut : cut + 1] != "-":
        return ""
    rest = stem[cut + 1 :]
    return rest.partition("-")[0] if file.endswith(".whl") else rest


def choose(found: Sequence[Link], package: str, version: str, prefer: str) -> Link | None:
    """The source archive (or the wheel, if preferred) of a version, else the other kind."""
    same = [link for link in found if version_of(link.file, package) == version and link.sha256]
    archives = [link for end in SOURCES for link in same if link.file.endswith(end)]
    wheels = [link for tag in _TAGS for link in same if link.file.endswith(".whl") and tag in link.file]
    order = [*wheels, *archives] if prefer == "wheel" else [*archives, *wheels]
    return order[0] if order else None


def main() -> None:
    """Pin what is not pinned yet; stopped, it goes on where it was."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("wishes", type=Path)
    parser.add_argument("manifest", type=Path)
    parser.add_argument("--index", default=PYPI)
    parser.add_argument("--pause", type=float, default=0.3, help="seconds between requests")
    args = parser.parse_args()
    done = read_manifest(args.manifest) if args.manifest.exists() else []
    have = {release.package for release in done}
    with args.wishes.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if normal(row["package"]) not in have]
    for number, row in enumerate(rows):
        name = normal(row["package"])
        link = choose(links(args.index, name), name, row["version"], row.get("download", "sdist"))
        if link is None:
            print(f"{name} {row['version']}: not in the index", file=sys.stderr, flush=True)
        else:
            done.append(Release(name, row["version"], link.file, link.sha256, row.get("licence", "")))
        if number % 50 == 49 or number == len(rows) - 1:
            write_manifest(args.manifest, done)
        time.sleep(args.pause)


if __name__ == "__main__":
    main()
