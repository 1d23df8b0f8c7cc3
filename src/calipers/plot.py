"""A landscape as a picture: Φ and B on the left axis, Φ/B on the right, the path and the choice.

And what every figure of calipers shares: the colours, a file checked before and written the same
each time.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from calipers.errors import ArgumentError, MissingExtra
from calipers.landscape import Landscape
from calipers.target import check_writable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = (".png", ".svg", ".pdf")
# Raw confidence is red, what B makes of it blue, the answer's own length green; grey is everything else.
RED, BLUE, GREEN, GREY = "#c0392b", "#1f5fa8", "#2e8b57", "#7f8c8d"


def check(path: Path, extra: str = "plot") -> None:
    """Refuse a file name, a place or a missing matplotlib before any work is done."""
    if path.suffix.lower() not in FORMATS:
        raise ArgumentError(f"plot={str(path)!r} ends in none of {', '.join(FORMATS)}; name one of these.")
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise MissingExtra("Drawing", extra) from None
    check_writable(path)


def bare(*axes: Axes) -> None:
    """Take away the frame's upper side, which bounds nothing."""
    for each in axes:
        each.spines["top"].set_visible(False)


def write(figure: Figure, path: Path) -> Path:
    """Save in the format of the file's ending: text stays text, and the same figure gives the same bytes."""
    import matplotlib

    # A date would make every drawing another file.
    undated = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(path.suffix.lower(), {})
    with matplotlib.rc_context(
        {
            "svg.fonttype": "none",
            "svg.hashsalt": "calipers",
            "pdf.fonttype": 42,
            # Hinted letters are rounded to whole pixels, and a line of them is then longer than it was laid out.
            "text.hinting": "none",
        }
    ):
        figure.savefig(path, dpi=160, metadata=undated)
    return path


def draw(landscape: Landscape, path: Path, title: str = "", oracle_length: int | None = None) -> Path:
    """Write the picture; `oracle_length`, where it is known, is a green dotted line."""
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
    left.plot(lengths, [p.confidence for p in points], "o-", color=RED, ms=3.5, lw=1.2, label="Φ confidence")
    left.plot(lengths, [p.bias for p in points], "--", color=BLUE, lw=1.2, label="B bias")
    right.plot(lengths, [p.calibrated for p in points], "s-", color=BLUE, ms=3.5, lw=1.6, label="Φ/B calibrated")
    handles = [*left.get_lines(), *right.get_lines()]
    if oracle_length is not None:
        label = f"L* = {oracle_length} oracle"
        handles.append(right.axvline(oracle_length, color=GREEN, ls=":", lw=2.0, zorder=1, label=label))
    chosen = landscape.peak
    if chosen is not None:
        if chosen.length != oracle_length:
            right.axvline(chosen.length, color=BLUE, lw=0.8, alpha=0.35)
        right.plot([chosen.length], [chosen.calibrated], "o", ms=12, mfc="none", mec=BLUE, mew=1.6)
        right.annotate(
            f"L̂ = {chosen.length}",
            (chosen.length, chosen.calibrated),
            xytext=(9, 7),
            textcoords="offset points",
            color=BLUE,
            bbox={"fc": "white", "ec": "none", "pad": 0.8, "alpha": 0.75},
        )
    left.set_xlabel("length L (tokens)")
    left.set_ylabel("Φ, B", color=RED)
    right.set_ylabel("Φ/B", color=BLUE)
    left.set_ylim(0, 1.05)
    top = max(p.calibrated for p in points)
    right.set_ylim(0, top * 1.18)
    left.xaxis.set_major_locator(MaxNLocator(integer=True))
    bare(left, right)
    # Below the axes, where no curve can run under it.
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles), frameon=False, fontsize=9)
    if title:
        left.set_title(title, fontsize=10, loc="left")
    return write(figure, path)
