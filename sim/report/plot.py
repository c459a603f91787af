"""Plots of measured curves, with the theory's beside them."""

from collections.abc import Sequence
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ...hdl.fabric.checks import check_kind, check_word
from ...hdl.fabric.errors import InvalidValue
from ..measure.comparison import Comparison, is_square, size_of
from ..measure.curve import Sweep
from ..measure.result import Result
from ..measure.units import unit_name
from ..theory import predict
from ..workload.pattern import short_name
from .look import Look

__all__ = ["comparison_figure", "plot", "sweep_plot"]

_MARKERS = "osD^vPX*<>"
_LINES = ("-", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)))
"""Line styles of measured curves; they repeat after as many sweeps as have no common marker."""


def comparison_figure(comparison: Comparison, look: Look | None = None) -> Figure:
    """A figure of latency and throughput against offered load.

    Measured latencies have their 99 % confidence intervals; the prediction, where a formula
    applies, is a thin dashed line. Saturated points are hollow, undecided ones grey. Those with
    latencies above the range of the picture are drawn at its upper edge; intervals end there. The
    legend says what of this occurs.
    """
    look = Look() if look is None else look
    check_kind("Look", look, Look, "a Look")
    if not comparison.sweeps:
        raise InvalidValue("Sweeps must be given, at least one")
    with look.applied():
        figure = Figure(figsize=look.inches, layout="constrained")
        latency, throughput = figure.subplots(*((2, 1) if look.stacked else (1, 2)))
        handles = _draw_panel(comparison, latency, "latency")
        handles |= _draw_panel(comparison, throughput, "throughput")
        lines = [Line2D([], [], **about) for about in handles.values()]
        letters = 0.833 * matplotlib.rcParams["font.size"] / 72  # inches of an em of the legend
        widest = letters * (0.5 * max(map(len, handles)) + 4.8)
        columns = max(1, min(4, int(look.inches[0] / widest)))
        figure.legend(handles=lines, loc="outside lower center", ncols=columns, fontsize="small")
        title = _title(comparison.sweeps) if look.title is None else look.title
        if title:
            figure.suptitle(title, fontsize="medium")
    return figure


def plot(
    comparison: Comparison,
    ax: Axes | None = None,
    *,
    of: str | None = None,
    title: str | None = None,
    size: tuple[float, float] | None = None,
    width: str | None = None,
    style: str | None = None,
) -> Figure:
    """What `Comparison.plot` does."""
    if ax is None:
        if of is not None:
            raise InvalidValue("Of must not be given without axes: a new figure shows both")
        return comparison_figure(comparison, Look(title, size, width, style))
    check_kind("Axes", ax, Axes, "axes of matplotlib")
    for name, value in {"Size": size, "Width": width, "Style": style}.items():
        if value is not None:
            raise InvalidValue(f"{name} must not be given with axes: it is that of a new figure")
    of = "latency" if of is None else of
    check_word("Of", of, _PANELS)
    _draw_panel(comparison, ax, of)
    if title is not None:
        ax.set_title(title)
    figure = ax.get_figure(root=True)
    assert figure is not None
    return figure


def sweep_plot(sweep: Sweep, ax: Axes | None = None, **options: Any) -> Figure:
    """What `Sweep.plot` does."""
    return plot(Comparison([sweep]), ax, **options)


_PANELS = ("latency", "throughput")


def _draw_panel(comparison: Comparison, axes: Axes, of: str) -> dict[str, dict[str, Any]]:
    """Draw one of `_PANELS`; return what a legend has to say of it, by the texts in it."""
    sweeps, factors = comparison.sweeps, comparison.factors
    rates = unit_name(comparison.per, comparison.unit, square=is_square(sweeps))
    top = 1.15 * max(map(_highest, sweeps), default=0) or 1.0
    curves: dict[str, dict[str, Any]] = {}
    notes: set[str] = set()
    for number, (sweep, name, factor) in enumerate(zip(sweeps, comparison.labels, factors)):
        look: dict[str, Any] = {
            "color": f"C{number % 10}",
            "marker": _MARKERS[number % len(_MARKERS)],
            "linestyle": _LINES[number % len(_LINES)],
        }
        curves[name] = {"label": name, **look}
        if of == "latency":
            notes |= _draw_latency(axes, sweep, factor, look, name, top)
        else:
            _draw_throughput(axes, sweep, factor, look, name)
        if _draw_predicted(axes, of, sweep, factor, look["color"], name):
            notes.add("theory")
        notes |= {_STATES[point.saturated] for point in sweep.points}
    end = max((p.offered_load * f for s, f in zip(sweeps, factors) for p in s.points), default=1)
    if of == "latency":
        axes.set(ylabel="mean latency (cycles)", ylim=(0, top))
    else:
        axes.plot([0, end], [0, end], ":", color="grey", linewidth=1, label="offered load")
        axes.set(ylabel=f"throughput\n({rates})", ylim=(0, None))
        notes.add("offered load")
    axes.set(xlabel=f"offered load\n({rates})", xlim=(0, 1.03 * end or 1))
    axes.grid(alpha=0.3)
    return curves | {text: {"label": text, **_NOTES[text]} for text in _NOTES if text in notes}


_UNDECIDED = "0.8"
"""Colour inside a marker, if the window was too short to decide whether the point is saturated."""

_BEYOND = r"$\uparrow$"
"""Marker of a point above the range of the picture."""


_PLAIN: dict[str, Any] = {"color": "0.3", "linestyle": "none"}

_STATES = {True: "saturated", None: "undecided", False: ""}

_NOTES: dict[str, dict[str, Any]] = {
    "theory": {"color": "0.3", "linestyle": "--", "linewidth": 0.9},
    "saturated": {"marker": "o", "mfc": "none", **_PLAIN},
    "undecided": {"marker": "o", "mfc": _UNDECIDED, **_PLAIN},
    "latency beyond the range": {"marker": _BEYOND, **_PLAIN},
    "interval cut off": {"marker": "|", **_PLAIN},
    "offered load": {"color": "grey", "linestyle": ":", "linewidth": 1},
}
"""What a legend says besides the names of the curves, in this order, and how it looks."""


def _title(sweeps: Sequence[Sweep]) -> str:
    traffic = " and ".join(dict.fromkeys(short_name(sweep.traffic) for sweep in sweeps))
    sizes = {size_of(sweep.network) for sweep in sweeps}
    return f"{traffic} traffic" + (f", {sizes.pop()}" if len(sizes) == 1 else "")


def _highest(sweep: Sweep) -> float:
    """The highest latency to be shown in full: of a point that is not saturated, if moderate."""
    means = [p.latency.mean for p in sweep.points if p.latency.mean is not None and not p.saturated]
    zero_load = sweep.zero_load_latency or 0
    return max(min(max(means, default=0), 12 * zero_load), 4 * zero_load)


def _dot(point: Result, look: dict[str, Any]) -> dict[str, Any]:
    """How a point looks."""
    dot = {**look, "linestyle": "none", "zorder": 3}
    if point.saturated is not False:
        dot["markerfacecolor"] = "white" if point.saturated else _UNDECIDED
    return dot


def _draw_latency(
    axes: Axes, sweep: Sweep, factor: float, look: dict[str, Any], name: str, top: float
) -> set[str]:
    """Draw the measured latencies; return what of it a legend has to explain."""
    notes = set()
    dots: list[tuple[float, float, dict[str, Any]]] = []
    loads, means, below, above = [], [], [], []
    for point in sweep.points:
        load, mean = factor * point.offered_load, point.latency.mean
        if mean is None:
            continue
        interval = point.latency.ci99 or 0
        if mean > top:  # its interval would say nothing
            notes.add("latency beyond the range")
            arrow = {"marker": _BEYOND, "markersize": 8, "clip_on": False}
            dots.append((load, top, {**_dot(point, look), **arrow}))
            interval = 0
        else:
            dots.append((load, mean, _dot(point, look)))
            if mean + interval > top or interval > mean:
                notes.add("interval cut off")
        loads.append(load)
        means.append(mean)
        below.append(min(interval, mean))
        above.append(max(0, min(interval, top - mean)))
    line = {**look, "marker": ""}
    bars = axes.errorbar(loads, means, [below, above], capsize=2, label=name, **line)
    for bar in bars[2]:
        bar.set_linestyle("-")
    for x, y, dot in dots:
        axes.plot([x], [y], **dot)
    return notes


def _draw_throughput(
    axes: Axes, sweep: Sweep, factor: float, look: dict[str, Any], name: str
) -> None:
    points = [point for point in sweep.points if point.latency.mean is not None]
    places = [(factor * point.offered_load, factor * point.throughput) for point in points]
    axes.plot(*(zip(*places) if places else ((), ())), label=name, **{**look, "marker": ""})
    for point, (load, rate) in zip(points, places):
        axes.plot([load], [rate], **_dot(point, look))


def _draw_predicted(
    axes: Axes, of: str, sweep: Sweep, factor: float, colour: str, name: str
) -> bool:
    """Draw the prediction up to the last point that has one; return whether there is one."""
    key, scale = ("latency_mean", 1.0) if of == "latency" else ("throughput", factor)
    loads = [point.offered_load for point in sweep.points if point.predicted[key] is not None]
    if not loads:
        return False
    grid = np.linspace(0, max(loads), 200)
    theory: list[Any] = [predict(sweep.network, load, uniform=True).get(key) for load in grid]
    values = [np.nan if value is None else value * scale for value in theory]
    axes.plot(factor * grid, values, "--", color=colour, linewidth=0.9, label=f"{name}, theory")
    return True
