"""STATS.md: what the corpus holds and what was left out, written by the program that made it."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Mapping

from training.corpus.merge import Merged


def statistics(merged: Merged, texts: Mapping[str, Counter[str]], missing: int) -> str:
    """The page."""
    accepted = [one for one in merged.packages if one.licence]
    refused: Counter[str] = sum((one.refused for one in merged.packages), Counter[str]())
    licences = Counter[str]()
    of = {one.package: one.licence for one in accepted}
    for (package, _), (_, size) in merged.kept.items():
        licences[of[package]] += size
    lines = ["# Corpus", "", "Written by `python -m training.corpus`.", ""]
    lines += _table(("shard", "records", "bytes of text", "bytes packed"), [(n, *v) for n, v in merged.shards.items()])
    lines += [
        f"{len(accepted)} packages, {len(merged.packages) - len(accepted)} refused (REJECTED.csv), "
        f"{missing} not to be had.",
        "",
        "## Licences (bytes kept)",
        "",
        *(f"- {name}: {size / 1e6:.1f} MB" for name, size in licences.most_common(25)),
        "",
        "## Refused by the filters of single files",
        "",
        *(f"- {reason}: {count}" for reason, count in refused.most_common()),
        "",
        "## Twins dropped",
        "",
        *(f"- {kind}: {count}" for kind, count in merged.twins.most_common()),
        "",
    ]
    for name, counts in texts.items():
        lines += [f"## {name}", "", *(f"- {what}: {count}" for what, count in counts.most_common()), ""]
    return "\n".join(lines)


def rejected(merged: Merged) -> str:
    """A CSV of the packages whose licence refused them."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(("package", "version", "reason"))
    writer.writerows((one.package, one.version, one.why) for one in merged.packages if not one.licence)
    return out.getvalue()


def _table(head: tuple[str, ...], rows: list[tuple[object, ...]]) -> list[str]:
    lines = [head, ("---",) * len(head), *rows]
    return [*("| " + " | ".join(map(str, line)) + " |" for line in lines), ""]
