"""Counters and gauges in Prometheus's text format."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable

_HELP = {
    "calipers_requests_total": "HTTP requests answered, by route and status.",
    "calipers_request_seconds_total": "Time from a request's first byte to its answer, by route.",
    "calipers_fills_total": "Fills by how they ended: done, late (time was up), cached, cancelled, refused, failed.",
    "calipers_forwards_total": "Calls of the model.",
    "calipers_queries_total": "Canvases the model was asked about; more than one may share a forward.",
    "calipers_tokens_total": "Tokens of those canvases.",
    "calipers_model_seconds_total": "Time the model was at work.",
    "calipers_wasted_queries_total": "Of the queries, those of requests whose client went away before the end.",
    "calipers_wasted_seconds_total": "Of the model's time, their share of the forwards, by tokens.",
    "calipers_waiting": "Requests waiting for their turn.",
    "calipers_running": "Requests under way.",
}


class Metrics:
    """Counts that any thread may add to, and gauges that are asked when they are read."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: defaultdict[tuple[str, str], float] = defaultdict(float)
        self._gauges: dict[str, Callable[[], float]] = {}

    def add(self, name: str, value: float = 1, **labels: object) -> None:
        """Count up."""
        with self._lock:
            self._counts[name, ",".join(f'{key}="{label}"' for key, label in sorted(labels.items()))] += value

    def gauge(self, name: str, read: Callable[[], float]) -> None:
        """A value that is read when the metrics are."""
        self._gauges[name] = read

    def total(self, name: str, **labels: object) -> float:
        """The sum of a counter over all labels but those given."""
        wanted = {f'{key}="{label}"' for key, label in labels.items()}
        with self._lock:
            return sum(
                v for (known, given), v in self._counts.items() if known == name and wanted <= {*given.split(",")}
            )

    def text(self) -> str:
        """The exposition."""
        with self._lock:
            counts = sorted(self._counts.items())
        lines = []
        for name, what in _HELP.items():
            lines += [f"# HELP {name} {what}", f"# TYPE {name} {'gauge' if name in self._gauges else 'counter'}"]
            if name in self._gauges:
                lines.append(f"{name} {self._gauges[name]():g}")
            lines += [
                f"{name}{{{labels}}} {v:.10g}" if labels else f"{name} {v:.10g}"
                for (n, labels), v in counts
                if n == name
            ]
        return "\n".join(lines) + "\n"
