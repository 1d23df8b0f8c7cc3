"""The paper's figures, drawn from numbers that are given: nothing here measures anything.

    oracle_peak      Φ and Φ/B by L − L*, means with bands           (the paper's Fig. 2a)
    bias_fit         Φ(L) away from L*, its means, and B             (Fig. 2b)
    sensitivity      one hole filled at several lengths              (Fig. 1)
    lines_by_start   a score by the start, for several methods       (Table 2 as a picture)
    landscape        Φ, B and Φ/B over L with the oracle's length    (the appendix)

Each writes a PNG, SVG or PDF file and gives its path back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING

from calipers.bench.statistics import Interval
from calipers.errors import ArgumentError
from calipers.experiments.listing import Attempt, sensitivity
from calipers.landscape import Landscape
from calipers.plot import BLUE, GREEN, GREY, RED, bare, check, draw, write

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Attempt", "bias_fit", "landscape", "lines_by_start", "oracle_peak", "sensitivity"]

# Told apart by those who do not see colours too: each with its own mark.
_STYLES = ((GREY, "o"), (RED, "s"), (BLUE, "D"), ("#d68910", "^"), ("#7d3c98", "v"), ("#16807a", "P"))


def landscape(path: Path, landscape: Landscape, oracle_length: int | None = None, title: str = "") -> Path:
    """What one search saw, with the answer's own length as a green dotted line."""
    return draw(landscape, path, title, oracle_length)


def oracle_peak(
    path: Path, offsets: Sequence[int], raw: Sequence[Interval], calibrated: Sequence[Interval], title: str = ""
) -> Path:
    """Mean Φ (left axis) and Φ/B (right axis) at each offset L − L*, with their intervals as bands."""
    check(path, "bench")
    _same_length(offsets=offsets, raw=raw, calibrated=calibrated)
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.6, 3.6), layout="constrained")
    left = figure.subplots()
    right = left.twinx()
    handles = []
    for axes, means, color, mark, label in ((left, raw, RED, "o", "Φ"), (right, calibrated, BLUE, "s", "Φ/B")):
        handles += axes.plot(offsets, [m.mean for m in means], f"{mark}-", color=color, ms=3, lw=1.4, label=label)
        axes.fill_between(offsets, [m.low for m in means], [m.high for m in means], color=color, alpha=0.16, lw=0)
        axes.set_ylabel({"Φ": "mean confidence Φ", "Φ/B": "mean calibrated confidence Φ/B"}[label], color=color)
        axes.tick_params(axis="y", colors=color)
    left.axvline(0, color=GREEN, ls=":", lw=1.6, zorder=0)
    left.set_xlabel("L − L* (tokens from the oracle length)")
    left.margins(x=0.02)
    bare(left, right)
    figure.legend(handles=handles, loc="outside upper center", ncols=2, frameon=False, fontsize=9)
    if title:
        left.set_title(title, fontsize=10, loc="left")
    return write(figure, path)


def bias_fit(
    path: Path,
    points: Sequence[tuple[int, float]],
    means: Mapping[int, Interval],
    curves: Mapping[str, Callable[[int], float]],
    title: str = "",
) -> Path:
    """Single samples (L, Φ) lightly, the mean of each length with its interval, and each curve by its name."""
    check(path, "bench")
    if not means or not curves:
        raise ArgumentError(f"means has {len(means)} lengths, curves {len(curves)}; give at least one of each.")
    from matplotlib.figure import Figure
    from numpy.random import default_rng

    figure = Figure(figsize=(5.6, 3.6), layout="constrained")
    axes = figure.subplots()
    # Samples of one length would hide one another: each stands a little aside, always at the same place.
    aside = 2 ** default_rng(0).uniform(-0.09, 0.09, len(points))
    spread = [length * factor for (length, _), factor in zip(points, aside, strict=True)]
    axes.scatter(spread, [phi for _, phi in points], s=5, color=RED, alpha=0.16, lw=0, label="Φ of a task away from L*")
    lengths = sorted(means)
    _with_bars(axes, lengths, [means[n] for n in lengths], "o", RED, "mean Φ")
    every = range(lengths[0], lengths[-1] + 1)
    styles = cycle(((BLUE, "-"), (GREY, "--"), (GREEN, "-.")))
    for (name, curve), (color, style) in zip(curves.items(), styles, strict=False):
        axes.plot(every, [curve(n) for n in every], style, color=color, lw=1.8, label=name)
    # Lengths are probed by doubling and B falls fastest below 8: on a linear axis half of all points would
    # stand in the first twentieth of it.
    _doubling(axes, lengths)
    axes.set_xlabel("length L (tokens)")
    axes.set_ylabel("confidence Φ")
    axes.set_ylim(0, 1.05)
    handles, names = axes.get_legend_handles_labels()
    # What was measured comes first; the samples' mark is as dark as a crowd of them.
    order = sorted(range(len(names)), key=lambda at: names[at] in curves)
    legend = axes.legend(
        [handles[at] for at in order], [names[at] for at in order], frameon=False, fontsize=8.5, loc="upper right"
    )
    for handle in legend.legend_handles:
        if handle is not None:
            handle.set_alpha(1)
    return _titled(axes, title, path)


def lines_by_start(
    path: Path,
    starts: Sequence[int],
    methods: Mapping[str, Sequence[Interval | None]],
    ylabel: str = "Pass@1 (%)",
    bounds: Mapping[str, Interval] | None = None,
    title: str = "",
) -> Path:
    """A line a method over the starts, None where it was not run; `bounds` (the oracle) are level lines."""
    check(path, "bench")
    for name, scores in methods.items():
        _same_length(**{"starts": starts, f"methods[{name!r}]": scores})
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.6, 3.6), layout="constrained")
    axes = figure.subplots()
    for name, bound in (bounds or {}).items():
        axes.axhspan(bound.low, bound.high, color=GREEN, alpha=0.12, lw=0)
        axes.axhline(bound.mean, color=GREEN, ls=":", lw=1.6, label=name)
    for at, ((name, scores), (color, mark)) in enumerate(zip(methods.items(), cycle(_STYLES), strict=False)):
        # Intervals of two methods at one start stand side by side.
        aside = 2 ** (0.05 * (at - (len(methods) - 1) / 2))
        there = [(start * aside, m) for start, m in zip(starts, scores, strict=True) if m is not None]
        _with_bars(axes, [x for x, _ in there], [m for _, m in there], f"{mark}-", color, name)
    # Starts double, so they are evenly apart on a scale of doublings.
    _doubling(axes, starts)
    axes.set_xlabel("start L (tokens)")
    axes.set_ylabel(ylabel)
    axes.set_ylim(bottom=0)
    axes.grid(axis="y", color=GREY, alpha=0.25, lw=0.6)
    axes.legend(frameon=False, fontsize=8.5, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return _titled(axes, title, path)


def _with_bars(axes: Axes, x: Sequence[float], means: Sequence[Interval], form: str, color: str, label: str) -> None:
    error = [[m.mean - m.low for m in means], [m.high - m.mean for m in means]]
    middle = [m.mean for m in means]
    axes.errorbar(
        x,
        middle,
        error,
        fmt=form,
        color=color,
        label=label,
        ms=5,
        lw=1.6,
        capsize=2.5,
        elinewidth=1.1,
        zorder=3,
        clip_on=False,
    )


def _doubling(axes: Axes, lengths: Sequence[int]) -> None:
    """A scale on which doublings are evenly apart, with the lengths themselves as its ticks."""
    axes.set_xscale("log", base=2)
    axes.set_xticks(lengths, [str(n) for n in lengths])
    axes.minorticks_off()
    axes.tick_params(axis="x", labelsize=9 if len(lengths) < 8 else 8)
    axes.set_xlim(min(lengths) / 1.25, max(lengths) * 1.25)


def _titled(axes: Axes, title: str, path: Path) -> Path:
    axes.spines["right"].set_visible(False)
    bare(axes)
    if title:
        axes.set_title(title, fontsize=10, loc="left")
    figure = axes.get_figure(root=True)
    assert figure is not None
    return write(figure, path)


def _same_length(**arguments: Sequence[object]) -> None:
    sizes = {name: len(values) for name, values in arguments.items()}
    if len(set(sizes.values())) > 1 or not all(sizes.values()):
        said = ", ".join(f"{name} has {size}" for name, size in sizes.items())
        raise ArgumentError(f"{said}; give as many of each, and at least one.")
