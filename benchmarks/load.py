"""The server under people typing, on the loopback: how long they wait, what is wasted, whether anything is dropped.

    python benchmarks/load.py                 1, 4 and 16 typists, budgets of 1000 and 500 ms and none; shared forwards
                                              against the same requests served one by one (--at-once 1)
    python benchmarks/load.py --soak 10       four typists for 10 minutes: is memory flat?
    python benchmarks/load.py --kill 3        SIGTERM at three random moments under load: is anything dropped?
    python benchmarks/load.py --render        only write --markdown anew from --json

With `--json FILE` each part is kept beside the others there, with what made it; with `--markdown FILE` the
tables between that file's `<!-- NAME -->` and `<!-- /NAME -->` are written anew from it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from calipers.provenance import commit, invocation, machine, versions
from loadtables import TABLES, rendered
from served import Served
from typist import Key, Tally, Typist, ask, body, bursts

WAYS = {"shared": (), "one by one": ("--at-once", "1")}
_SAMPLE = 1.0  # seconds between two looks at the server's memory


def quantile(values: Sequence[float], share: float) -> float:
    """The value that so large a share is at or below; 0 of none."""
    return sorted(values)[max(0, -(-len(values) * round(100 * share) // 100) - 1)] if values else 0.0


async def typing(
    server: Served, clients: int, within: int, seed: str, most: int, seconds: float
) -> tuple[Tally, float, dict[str, float]]:
    """Typists side by side: what became of their requests, how long it took, what the server counted meanwhile."""
    before = await asyncio.to_thread(server.quiet)
    over = asyncio.Event()
    typists = [Typist(server.port, f"{seed}/{number}", within, most, over) for number in range(clients)]
    started = time.perf_counter()
    timer = asyncio.get_running_loop().call_later(seconds, over.set)
    await asyncio.gather(*(one.run() for one in typists))
    took = time.perf_counter() - started
    timer.cancel()
    after = await asyncio.to_thread(server.quiet)
    tally = Tally()
    for one in typists:
        tally.waited += one.tally.waited
        tally.early += one.tally.early
        tally.left += one.tally.left
    return tally, took, {name: value - before.get(name, 0.0) for name, value in after.items()}


def summary(tally: Tally, took: float, counted: dict[str, float], within: int, margin: int) -> dict[str, Any]:
    """The figures of a row."""
    waits = [answer.seconds for answer in tally.waited if answer.status == 200]
    done = [answer for answer in tally.answers if answer.status == 200]
    model = counted.get("model_seconds_total", 0.0)
    queries = counted.get("queries_total", 0.0)
    forwards = counted.get("forwards_total", 0.0)
    kept = [seconds <= (within + margin) / 1000 for seconds in waits]
    return {
        "requests": len(tally.answers) + tally.left,
        "waited": len(tally.waited),
        "early": len(tally.early),
        "left": tally.left,
        "dropped": tally.dropped,
        "p50": quantile(waits, 0.5),
        "p95": quantile(waits, 0.95),
        "longest": max(waits, default=0.0),
        "kept": statistics.fmean(kept) if within and kept else None,
        "seconds": took,
        "completions_per_second": len(done) / took,
        "tokens_per_second": sum(answer.tokens for answer in done) / took,
        "forwards": forwards,
        "queries_per_forward": queries / max(1.0, forwards),
        "model_share": model / took,
        "wasted_model_share": counted.get("wasted_seconds_total", 0.0) / max(model, 1e-9),
        "wasted_query_share": counted.get("wasted_queries_total", 0.0) / max(queries, 1.0),
        "fills": {name[len('fills_total{end="') : -2]: n for name, n in counted.items() if name.startswith("fills_")},
    }


def load(args: argparse.Namespace) -> list[dict[str, Any]]:
    """A row a way, a number of typists and a budget; a server a way, the same typists on each."""
    rows = []
    for way, options in WAYS.items():
        with Served([*args.options, *options]) as server:
            asyncio.run(_warm(server))
            for clients in args.clients:
                for within in args.budgets:
                    seed = f"{args.seed}/{clients}/{within}"
                    tally, took, counted = asyncio.run(typing(server, clients, within, seed, args.bursts, args.seconds))
                    row = {"way": way, "clients": clients, "budget": within}
                    rows.append(row | summary(tally, took, counted, within, args.margin))
                    print(json.dumps(rows[-1]), file=sys.stderr, flush=True)
    return rows


async def _warm(server: Served) -> None:
    """A few completions before anything is timed."""
    for number, burst in zip(range(3), bursts("warm"), strict=False):
        await ask(server.port, body(burst.keys[-1], 1000 * (number % 2)))


def soak(args: argparse.Namespace) -> dict[str, Any]:
    """Memory over minutes of steady load: medians of the first and last quarter, and how it grows."""
    with Served(args.options) as server:
        loaded = server.rss()
        asyncio.run(_every_length(server, args.context))
        samples = asyncio.run(_soaked(server, args))
        code, _ = server.end()
    quarter = max(1, len(samples) // 4)
    first, last = (statistics.median(mib for _, mib in part) for part in (samples[:quarter], samples[-quarter:]))
    times, sizes = zip(*samples[quarter:], strict=True)
    slope = statistics.linear_regression(times, sizes).slope * 60 if len(set(times)) > 1 else 0.0
    return {
        "minutes": args.soak,
        "clients": args.soak_clients,
        "budget": args.budgets[0],
        "samples": len(samples),
        "loaded_mib": loaded,
        "first_quarter_mib": first,
        "last_quarter_mib": last,
        "slope_mib_per_minute": slope,
        "flat": last <= first * 1.02,
        "completions": args.completions,
        "dropped": args.dropped,
        "exit_code": code,
        "mib": [[round(seconds, 1), round(mib, 1)] for seconds, mib in samples[:: max(1, len(samples) // 60)]],
    }


async def _every_length(server: Served, context: int) -> None:
    """Ask once at every length: torch keeps what it compiled for each, which is memory used once and no leak."""
    for tokens in range(context):
        key = Key(0.0, "", "a " * tokens, "")
        await ask(server.port, body(key, 0).replace(b'"n_predict": 128', b'"n_predict": 1'))


async def _soaked(server: Served, args: argparse.Namespace) -> list[tuple[float, float]]:
    """(seconds, MiB), sampled while typists type."""
    samples: list[tuple[float, float]] = []
    started = time.perf_counter()

    async def look() -> None:
        while True:
            samples.append((time.perf_counter() - started, server.rss()))
            await asyncio.sleep(_SAMPLE)

    looking = asyncio.create_task(look())
    within = args.budgets[0]
    tally, _, _ = await typing(server, args.soak_clients, within, f"{args.seed}/soak", 0, 60 * args.soak)
    looking.cancel()
    args.completions = sum(answer.status == 200 for answer in tally.answers)
    args.dropped = tally.dropped
    return samples


def kill(args: argparse.Namespace) -> list[dict[str, Any]]:
    """A row a SIGTERM: what was under way is answered, what is new is turned away, the exit code is 0."""
    lot, rows = random.Random(f"{args.seed}/kill"), []
    for number in range(args.kill):
        moment = lot.uniform(5, 12)
        with Served(args.options) as server:
            asyncio.run(_warm(server))
            rows.append(asyncio.run(_killed(server, max(args.clients), f"{args.seed}/kill/{number}", moment)))
        print(json.dumps(rows[-1]), file=sys.stderr, flush=True)
    return rows


async def _killed(server: Served, clients: int, seed: str, moment: float) -> dict[str, Any]:
    over = asyncio.Event()
    # Without a budget, so that there is much to lose.
    typists = [Typist(server.port, f"{seed}/{number}", 0, 0, over) for number in range(clients)]
    typing = [asyncio.create_task(one.run()) for one in typists]
    await asyncio.sleep(moment)
    while not any(one.pending and not one.pending.done() for one in typists):
        await asyncio.sleep(0.01)
    seen = [len(one.tally.waited) for one in typists]
    under_way = [one for one in typists if one.pending is not None and not one.pending.done()]
    server.terminate()
    over.set()
    started = time.monotonic()
    content = body(next(bursts(seed)).keys[0], 0)
    turned_away: list[int] = []
    while server.process.poll() is None and time.monotonic() - started < 120:
        turned_away.append((await ask(server.port, content)).status)
        await asyncio.sleep(0.2)
    await asyncio.gather(*typing)
    answers = [answer for one, n in zip(typists, seen, strict=True) for answer in one.tally.waited[n:]]
    return {
        "clients": clients,
        "moment": moment,
        "under_way": len(under_way),
        "answered": sum(answer.status == 200 for answer in answers),
        # A key pressed while the signal is on its way is answered at the door: it was never accepted.
        "dropped": sum(answer.status != 200 and not answer.refused for answer in answers),
        "turned_away": turned_away.count(503) + sum(answer.refused for answer in answers),
        "late": turned_away.count(200),
        "exit_code": server.process.wait(30),
        "seconds": time.monotonic() - started,
    }


def keep(path: Path, part: str, rows: Any, args: argparse.Namespace) -> None:
    """Put a part beside the others of a file, with what made it."""
    known = json.loads(path.read_text()) if path.exists() else {}
    about = {
        "model": args.model,
        "serve": args.options,
        "seed": args.seed,
        "margin": args.margin,
        "commit": commit(),
        "command": invocation(),
        "machine": machine("cpu" if args.device in ("auto", "cpu") else args.device),
        "versions": versions(),
    }
    known[part] = {"about": about, "rows": rows}
    path.write_text(json.dumps(known, indent=1) + "\n")


def main() -> None:
    """Measure one part; keep it and draw its table if asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    part = parser.add_mutually_exclusive_group()
    part.add_argument("--soak", type=float, metavar="MINUTES", help="watch the memory for so long instead")
    part.add_argument("--kill", type=int, metavar="TIMES", help="end the server under load instead, so many times")
    part.add_argument("--render", action="store_true", help="measure nothing; write the tables anew")
    parser.add_argument("--model", default="calipers-135m", help="what is served (default calipers-135m)")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--context", type=int, default=256, help="tokens read (default 256, an editor's on a CPU)")
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 4, 16], help="typists (default 1 4 16)")
    parser.add_argument("--budgets", type=int, nargs="+", default=[1000, 500, 0], help="milliseconds; 0: none")
    parser.add_argument("--bursts", type=int, default=12, help="completions each typist waits for (default 12)")
    parser.add_argument("--seconds", type=float, default=180.0, help="no burst begins after so long (default 180)")
    parser.add_argument("--margin", type=int, default=200, help="milliseconds a budget may be missed by (default 200)")
    parser.add_argument("--soak-clients", type=int, default=4, help="typists of the soak (default 4)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, help="keep the figures here")
    parser.add_argument("--markdown", type=Path, help="write the tables into this file, from --json")
    args = parser.parse_args()
    if (args.render or args.markdown) and not args.json:
        parser.error("--markdown and --render need --json, which the tables are made from")
    args.options = ["--model", args.model, "--device", args.device, "--context", str(args.context)]
    if not args.render:
        name = "soak" if args.soak else "kill" if args.kill else "load"
        rows = {"load": load, "soak": soak, "kill": kill}[name](args)
        print(TABLES[name](rows))
        if args.json:
            keep(args.json, name, rows, args)
    if args.markdown:
        args.markdown.write_text(rendered(args.markdown.read_text(), json.loads(args.json.read_text())))


if __name__ == "__main__":
    main()
