"""Small packages made for tests: wheels and source archives in a folder, and their manifest."""

import io
import tarfile
import zipfile
from pathlib import Path

from training.corpus.index import digest_of
from training.corpus.manifest import Release, write_manifest


def metadata(name, licence="MIT", version="1.0"):
    return (
        f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\nLicense: {licence}\n"
        "Classifier: Programming Language :: Python\n\nA package.\n"
    )


def wheel(folder: Path, name, files, licence="MIT"):
    path = folder / f"{name}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for inside, text in files.items():
            archive.writestr(inside, text)
        archive.writestr(f"{name}-1.0.dist-info/METADATA", metadata(name, licence))
    return path


def sdist(folder: Path, name, files, licence="MIT"):
    path = folder / f"{name}-1.0.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for inside, text in {**files, "PKG-INFO": metadata(name, licence)}.items():
            data = text.encode()
            info = tarfile.TarInfo(f"{name}-1.0/{inside}")
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return path


def pin(folder: Path, manifest: Path):
    releases = [
        Release(path.name.partition("-")[0], "1.0", path.name, digest_of(path), "MIT")
        for path in sorted(folder.iterdir())
    ]
    write_manifest(manifest, releases)
    return releases


def module(number):
    """A module that no filter refuses and no other number's is a twin of."""
    names = [f"{word}_{number}" for word in ("total", "longest", "merged", "sorted_by", "picked")]
    body = [f'"""Helpers number {number} of a package that only tests know."""\n\nfrom typing import List\n\n']
    for at, name in enumerate(names):
        key = f"{name}_{(number * 7919 + at * 104729) % 99991}"
        body.append(
            f"\ndef {name}(values: List[int], {key}: int = 3) -> int:\n"
            f'    """Adds up what is left of the values once {key} was taken off each of them.\n\n'
            f"    Values below {key} count as nothing.\n"
            '    """\n'
            "    result = 0\n"
            "    for value in values:\n"
            f"        if value > {key}:\n"
            f"            result += value - {key}\n"
            "    return result\n"
        )
    return "\n".join(body)
