"""A landscape as a picture: Φ and B on the left axis, Φ/B on the right, the path and the choice."""

from __future__ import annotations

from pathlib import Path

from calipers.errors import ArgumentError, MissingExtra
from calipers.landscape import Landscape
from calipers.target import check_writable

FORMATS = (".png", ".svg", ".pdf")
_RED, _BLUE, _GREY = "#c0392b", "#1f5fa8", "#7f8c8d"


def check(path: Path) -> None:
    """Refuse a file name, a place or a missing matplotlib before any work is done."""
    if path.suffix.lower() not in FORMATS:
        raise ArgumentError(f"plot={str(path)!r} ends in none of {', '.join(FORMATS)}; name one of these.")
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise MissingExtra("Drawing a landscape", "plot") from None
    check_writable(path)


def draw(landscape: Landscape, path: Path, title: str = "") -> Path:
    """Write the picture; the format follows the file's ending."""
    check(path)
    if not landscape.probes:
        raise ArgumentError("This landscape has no probes (a fixed length is not probed); search to draw one.")
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    points = landscape.by_length
    lengths = [p.length for p in points]
    figure = Figure(figsize=(7.2, 3.8), layout="constrained")
    left = figure.subplots()
    right = left.twinx()
    left.plot(lengths, [p.confidence for p in points], "o-", color=_RED, ms=3.5, lw=1.2, label="Φ confidence")
    left.plot(lengths, [p.bias for p in points], "--", color=_GREY, lw=1.4, label="B bias")
    right.plot(lengths, [p.calibrated for p in points], "s-", color=_BLUE, ms=3.5, lw=1.6, label="Φ/B calibrated")
    chosen = landscape.peak
    if chosen is not None:
        right.axvline(chosen.length, color=_BLUE, lw=0.8, alpha=0.35)
        right.plot([chosen.length], [chosen.calibrated], "o", ms=12, mfc="none", mec=_BLUE, mew=1.6)
        right.annotate(
            f"L̂ = {chosen.length}",
            (chosen.length, chosen.calibrated),
            xytext=(9, 7),
            textcoords="offset points",
            color=_BLUE,
        )
    left.set_xlabel("length L (tokens)")
    left.set_ylabel("Φ, B", color=_RED)
    right.set_ylabel("Φ/B", color=_BLUE)
    left.set_ylim(0, 1.05)
    top = max(p.calibrated for p in points)
    right.set_ylim(0, top * 1.18)
    left.xaxis.set_major_locator(MaxNLocator(integer=True))
    for axes in (left, right):
        axes.spines["top"].set_visible(False)
    handles = [*left.get_lines(), right.get_lines()[0]]
    # Below the axes, where no curve can run under it.
    figure.legend(handles=handles, loc="outside lower center", ncols=3, frameon=False, fontsize=9)
    if title:
        left.set_title(title, fontsize=10, loc="left")
    figure.savefig(path, dpi=160)
    return path
