"""The pinned list of packages: name, version, file, sha256 and licence of each.

Kept small for the repository: a digest is written in base64, and a file that is called
NAME-VERSION.tar.gz is left blank.
"""

from __future__ import annotations

import base64
import csv
import io
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

PINNED = Path(__file__).parent / "manifest.csv"
COLUMNS = ("package", "version", "file", "sha256", "licence")


@dataclass(frozen=True, slots=True)
class Release:
    """One file of one package.

    file      its name in the index: a wheel or a source archive
    sha256    in hex
    licence   as found when it was pinned; the licence filter decides anew from the file itself
    """

    package: str
    version: str
    file: str
    sha256: str
    licence: str = ""


def normal(name: str) -> str:
    """A package's name as the index spells it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def read_manifest(path: Path = PINNED) -> list[Release]:
    """Every pinned release, in order; a package twice is an error."""
    releases: list[Release] = []
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            try:
                digest = base64.b64decode(row["sha256"] + "=", validate=True).hex()
                name, version = normal(row["package"]), row["version"]
                releases.append(
                    Release(name, version, row["file"] or _usual(name, version), digest, row.get("licence") or "")
                )
            except (KeyError, TypeError, ValueError) as broken:
                raise ValueError(f"{path}: row {row} is no release ({broken}); pin it again.") from None
    seen: set[str] = set()
    for release in releases:
        if release.package in seen:
            raise ValueError(f"{path} names {release.package} twice; keep one.")
        seen.add(release.package)
    return releases


def write_manifest(path: Path, releases: Iterable[Release]) -> None:
    """Write releases in the form `read_manifest` reads."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for r in releases:
        digest = base64.b64encode(bytes.fromhex(r.sha256)).decode().rstrip("=")
        file = "" if r.file == _usual(r.package, r.version) else r.file
        writer.writerow((r.package, r.version, file, digest, r.licence))
    path.write_text(out.getvalue(), encoding="utf-8")


def only(releases: Sequence[Release], names: Sequence[str]) -> list[Release]:
    """Those of the given names (all if none are given); an unknown name is an error."""
    wanted = {normal(name) for name in names}
    if unknown := wanted - {release.package for release in releases}:
        raise ValueError(f"not in the manifest: {', '.join(sorted(unknown))}")
    return [release for release in releases if not wanted or release.package in wanted]


def _usual(package: str, version: str) -> str:
    return f"{package.replace('-', '_')}-{version}.tar.gz"
