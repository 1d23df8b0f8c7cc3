"""Schemathesis against `calipers serve` with the bundled model: bodies that fit the description and that do not.

    python benchmarks/fuzz.py -o docs/results/fuzz.md
    python benchmarks/fuzz.py --examples 20

The answers are counted by the server itself (its /metrics), by route and status; one of 500 or more, or an answer
that is not as described, fails the run. Short contexts, holes and budgets make the real model quick enough to be
asked often.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

from calipers.provenance import commit, invocation, machine
from served import Served

_QUICK = (
    "--context",
    "64",
    "--max-length",
    "4",
    "--init",
    "2",
    "--patience",
    "1",
    "--within-ms",
    "200",
    "--cache",
    "0",
)
_CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"


def counted(metrics: str) -> dict[str, Counter[str]]:
    """Answers by route and status."""
    found: dict[str, Counter[str]] = {}
    for labels, value in re.findall(r"^calipers_requests_total\{(.*)\} (\S+)$", metrics, re.MULTILINE):
        pairs = dict(re.findall(r'(\w+)="([^"]*)"', labels))
        found.setdefault(pairs["route"], Counter())[pairs["status"]] += int(float(value))
    return found


def table(routes: dict[str, Counter[str]]) -> str:
    """A row a route, a column a status."""
    statuses = sorted({status for counts in routes.values() for status in counts})
    lines = [f"| route | {' | '.join(statuses)} |", f"|---|{'---:|' * len(statuses)}"]
    lines += [
        f"| `{route}` | {' | '.join(str(counts[s]) for s in statuses)} |" for route, counts in sorted(routes.items())
    ]
    return "\n".join(lines)


def main() -> int:
    """Fuzz, and say what was answered."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--examples", type=int, default=200, help="bodies a route, phase and mode")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("-o", "--output", type=Path, help="write the report here too")
    args = parser.parse_args()
    with Served(_QUICK) as server:
        command = [sys.executable, "-m", "schemathesis.cli", "run", f"http://127.0.0.1:{server.port}/openapi.json"]
        command += ["--checks", _CHECKS, "--max-examples", str(args.examples), "--seed", str(args.seed), "--no-color"]
        command += ["--continue-on-failure", "--suppress-health-check", "all", "--warnings", "off", "--phases"]
        command += ["examples,coverage,fuzzing"]
        before = counted(server.get("/metrics"))  # of waiting for it to be up
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        after = counted(server.get("/metrics"))
        alive = '"ok"' in server.get("/health")
    routes = {route: counts - before.get(route, Counter()) for route, counts in after.items()}
    worst = max(int(status) for counts in routes.values() for status in counts)
    asked = sum(sum(counts.values()) for counts in routes.values())
    summary = "\n".join(run.stdout.splitlines()[-25:])
    text = f"""# Fuzzing the server

Schemathesis on the server's own OpenAPI description, the bundled model behind it: bodies that fit the description,
bodies that do not, and those at its edges. Checked of every answer: no server error, a status and a content type that
are described, a body of the described form. The statuses are the server's own count.

{table(routes)}

{asked} requests; highest status {worst}; afterwards the server was {"well" if alive else "NOT well"}.

```text
{summary}
```

Machine {machine("cpu")}, commit {commit()}, `python benchmarks/{invocation()}`.
"""
    print(text)
    if args.output:
        args.output.write_text(text, "utf-8")
    return 0 if run.returncode == 0 and worst < 500 and alive else 1


if __name__ == "__main__":
    sys.exit(main())
