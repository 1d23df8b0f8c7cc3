"""A package index (PEP 503) read for file names, addresses and digests: a URL, or a folder of files.

Files come straight from the index and not through `pip download`, for that runs the build code of every
source archive to learn its metadata; nothing that is fetched here is ever run.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import ssl
import urllib.error
import urllib.request
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urljoin

from training.corpus.manifest import normal

PYPI = "https://pypi.org/simple"
AGENT = "calipers-training/1 (corpus builder; one request at a time)"
_TIMEOUT = 60


@dataclass(frozen=True, slots=True)
class Link:
    """A file the index offers, and its sha256 if it says so."""

    file: str
    url: str
    sha256: str


class _Anchors(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.hrefs: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.hrefs += [value for name, value in attrs if tag == "a" and name == "href" and value]


def links(index: str, package: str) -> list[Link]:
    """The files of a package, in the order of the index; none if it does not know the package."""
    folder = Path(index)
    if folder.is_dir():
        return [
            Link(path.name, path.as_uri(), digest_of(path))
            for path in sorted(folder.iterdir())
            if path.is_file() and normal(path.name).startswith(normal(package) + "-")
        ]
    page = f"{index.rstrip('/')}/{normal(package)}/"
    try:
        with _open(page) as answer:
            text = answer.read().decode("utf-8", "replace")
    except urllib.error.HTTPError as failure:
        if failure.code == 404:
            return []
        raise
    anchors = _Anchors()
    anchors.feed(text)
    found = []
    for href in anchors.hrefs:
        url, fragment = urldefrag(urljoin(page, href))
        kind, _, digest = fragment.partition("=")
        found.append(Link(unquote(url.rpartition("/")[2]), url, digest if kind == "sha256" else ""))
    return found


def download(link: Link, to: Path) -> None:
    """Fetch a file whole or not at all."""
    part = to.with_name(to.name + ".part")
    with _open(link.url) as answer, part.open("wb") as file:
        shutil.copyfileobj(answer, file, 1 << 20)
    part.replace(to)


def digest_of(path: Path) -> str:
    """A file's sha256 in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _open(url: str):  # type: ignore[no-untyped-def]  # noqa: ANN202  (urllib's answers have no one type)
    # Behind a proxy with a certificate of its own, pip is told of it by PIP_CERT.
    context = ssl.create_default_context(cafile=os.environ.get("PIP_CERT") or None)
    request = urllib.request.Request(url, headers={"User-Agent": AGENT})
    return urllib.request.urlopen(request, timeout=_TIMEOUT, context=context)
