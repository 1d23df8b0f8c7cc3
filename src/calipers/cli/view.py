"""What is drawn on a terminal: landscapes, and a text being denoised."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from typing import TYPE_CHECKING

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from calipers.canvas import MASK
from calipers.landscape import Landscape, Probe

if TYPE_CHECKING:
    from calipers.infiller import Step
    from calipers.models.base import MaskModel

_BAR = 28
_LINES = 4  # of context on each side of a live view


def landscape_table(probes: Sequence[Probe], chosen: int | None, title: str | None = None) -> Table:
    """Φ, B and Φ/B a length, with a bar for Φ/B; the chosen length stands out."""
    table = Table(title=title, title_justify="left", box=None, pad_edge=False, header_style="dim")
    for name in ("length", "Φ confidence", "B bias", "Φ/B calibrated"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    points = sorted({p.length: p for p in probes}.values(), key=lambda p: p.length)
    top = max((p.calibrated for p in points), default=1.0) or 1.0
    for p in points:
        best = p.length == chosen
        table.add_row(
            f"{'→ ' if best else ''}{p.length}",
            f"{p.confidence:.3f}",
            f"{p.bias:.3f}",
            f"{p.calibrated:.3f}",
            Text(bar(p.calibrated / top), style="green" if best else "blue"),
            style="bold" if best else "",
        )
    return table


def bar(share: float) -> str:
    """A bar of eighths of a character."""
    eighths = round(max(0.0, min(1.0, share)) * _BAR * 8)
    part: str = ("", *"▏▎▍▌▋▊▉")[eighths % 8]
    return "█" * (eighths // 8) + part


def hole_text(model: MaskModel, ids: Sequence[int]) -> Text:
    """A hole as it stands: text where there are tokens, shade where there are masks."""
    text = Text()
    for masked, run in groupby(ids, key=lambda i: i == MASK):
        held = list(run)
        text.append("░" * len(held) if masked else model.decode(held), style="dim" if masked else "bold green")
    return text


def step_view(step: Step, model: MaskModel, texts: Sequence[str]) -> Group | Text:
    """One moment of a fill: the landscape while it is measured, the text while it is denoised."""
    if step.stage == "search":
        best = max(step.probes, key=lambda p: p.calibrated, default=None)
        return Group(Text("measuring …", style="dim"), landscape_table(step.probes, best.length if best else None))
    view = Text("\n".join(texts[0].split("\n")[-_LINES:]), style="dim")
    for ids, after in zip(step.canvas.holes, texts[1:], strict=True):
        view.append_text(hole_text(model, ids))
        view.append("\n".join(after.split("\n")[:_LINES]), style="dim")
    return view


class Viewer:
    """Shows steps on a terminal; on anything else, nothing."""

    def __init__(self, live: Live | None) -> None:
        self._live = live

    def show(self, step: Step, model: MaskModel, texts: Sequence[str]) -> None:
        """Draw one step."""
        if self._live is not None:
            self._live.update(step_view(step, model, texts), refresh=True)


@contextmanager
def viewer(on: bool) -> Iterator[Viewer]:
    """A live view on standard error if that is a terminal, gone again at the end."""
    console = Console(stderr=True)
    if not (on and console.is_terminal):
        yield Viewer(None)
        return
    with Live(console=console, auto_refresh=False, transient=True, vertical_overflow="crop") as live:
        yield Viewer(live)


def print_landscapes(landscapes: Sequence[Landscape], model: str, bias: str) -> None:
    """Each landscape as a table on standard output."""
    console = Console(highlight=False)
    for number, landscape in enumerate(landscapes, 1):
        name = f"hole {number}: " if len(landscapes) > 1 else ""
        console.print(landscape_table(landscape.probes, landscape.length))
        console.print(f"{name}length {landscape.length} ({landscape.stop}) · {model} · bias {bias}", style="dim")
