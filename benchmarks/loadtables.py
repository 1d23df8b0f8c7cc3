"""What `load.py` measured, as tables for people."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

NOT_YET = "*To be measured.*"


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [heads, ["---" if n == 0 else "---:" for n in range(len(heads))], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.0f} %"


def load(rows: Sequence[Mapping[str, Any]]) -> str:
    """What typists feel, and what it costs, a line a scenario; shared and one by one side by side."""
    felt = ["typists · budget", "way", "waited for", "p50", "p95", "longest", "in budget", "dropped"]
    cost = ["typists · budget", "way", "completions/s", "tokens/s", "queries a forward", "model at work"]
    cost += ["hung up on", "of the model's time"]
    above, below = [], []
    for row in sorted(rows, key=lambda row: (row["clients"], -row["budget"] or -1e9)):
        budget = f"{row['budget']} ms" if row["budget"] else "none"
        name = [f"{row['clients']} · {budget}", row["way"]]
        seconds = [f"{row[key]:.2f} s" for key in ("p50", "p95", "longest")]
        above.append([*name, str(row["waited"]), *seconds, _percent(row["kept"]), str(row["dropped"])])
        rates = [f"{row['completions_per_second']:.2f}", f"{row['tokens_per_second']:.1f}"]
        rates += [f"{row['queries_per_forward']:.1f}", _percent(row["model_share"])]
        left = _percent(row["left"] / max(1, row["requests"]))
        below.append([*name, *rates, left, _percent(row["wasted_model_share"])])
    return f"{_table(felt, above)}\n\n{_table(cost, below)}"


def soak(row: Mapping[str, Any]) -> str:
    """Memory over time."""
    heads = ["minutes", "typists", "completions", "dropped", "as loaded"]
    heads += ["first quarter", "last quarter", "slope", "flat"]
    cells = [f"{row['minutes']:g}", str(row["clients"]), str(row["completions"]), str(row["dropped"])]
    cells += [
        f"{row['loaded_mib']:.0f} MiB",
        f"{row['first_quarter_mib']:.0f} MiB",
        f"{row['last_quarter_mib']:.0f} MiB",
    ]
    cells += [f"{row['slope_mib_per_minute']:+.2f} MiB/min", "yes" if row["flat"] else "**no**"]
    return _table(heads, [cells])


def kill(rows: Sequence[Mapping[str, Any]]) -> str:
    """What became of requests when the server was told to end."""
    heads = [
        "typists",
        "SIGTERM after",
        "under way",
        "answered",
        "dropped",
        "new ones told 503",
        "exit code",
        "ended in",
    ]
    return _table(
        heads,
        [
            [str(row["clients"]), f"{row['moment']:.1f} s", *(str(row[key]) for key in ("under_way", "answered"))]
            + [str(row[key]) for key in ("dropped", "turned_away", "exit_code")]
            + [f"{row['seconds']:.1f} s"]
            for row in rows
        ],
    )


TABLES: Mapping[str, Callable[[Any], str]] = {"load": load, "soak": soak, "kill": kill}


def rendered(text: str, known: Mapping[str, Any]) -> str:
    """A document whose parts between `<!-- NAME -->` and `<!-- /NAME -->` are what is known of them."""
    for name, table in TABLES.items():
        part = known.get(name)
        inside = f"{table(part['rows'])}\n\n{_made(part['about'])}" if part else NOT_YET
        text = re.sub(
            rf"(<!-- {name} -->\n).*?(\n<!-- /{name} -->)",
            lambda found, inside=inside: found[1] + inside + found[2],  # type: ignore[misc]
            text,
            flags=re.DOTALL,
        )
    return text


def _made(about: Mapping[str, Any]) -> str:
    """What a part was made by."""
    at, torch = about["commit"] or "no commit", about["versions"]["torch"]
    return f"`{about['command']}` at {at}, model {about['model']}, on {about['machine']}, torch {torch}."
