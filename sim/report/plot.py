"""Plots of measured curves, with the theory's beside them."""

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ...hdl.fabric.errors import InvalidValue
from ...hdl.support.output_file import output_format
from ..measure.comparison import Comparison, is_square, size_of
from ..measure.curve import Sweep
from ..measure.units import unit_name
from ..theory import predict
from ..workload.pattern import short_name
from .drawing import save_figure
from .formats import PICTURES

__all__ = ["comparison_figure", "draw_sweeps"]

_MARKERS = "osD^vPX*<>"
_LINES = ("-", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)))
"""Line styles of measured curves; they repeat after as many sweeps as have no common marker."""


def draw_sweeps(
    sweeps: Sequence[Sweep],
    path: str | os.PathLike[str],
    *,
    labels: Sequence[str] | None = None,
    title: str | None = None,
    per: str = "terminal",
    unit: str = "packets",
) -> None:
    """Draw latency and throughput against offered load, with one colour and marker per sweep.

    Measured latencies have their 99 % confidence intervals; the prediction, where a formula
    applies, is a thin dashed line. Saturated points are hollow, undecided ones grey. Those with
    latencies above the range of the picture are drawn at its upper edge.

    Parameters
    ----------
    sweeps : Sequence[Sweep]
        At least one.
    path : path-like
        Ends in .svg, .png or .pdf.
    labels : Sequence[str], optional
        Names of the sweeps in the legend; by default `measure.comparison.distinct_labels`.
    title : str, optional
    per : str
        What rates are divided by: terminal, wire or bisection (`measure.comparison.rate_factor`).
    unit : str
        What rates per terminal count: packets or flits.

    Raises
    ------
    ValueError
        If the name has another suffix, the folder does not exist, there is no such unit, or a
        network does not know what its rates are to be divided by.
    """
    output_format(path, PICTURES)
    save_figure(comparison_figure(Comparison(sweeps, labels or (), per, unit), title=title), path)


def comparison_figure(comparison: Comparison, *, title: str | None = None) -> Figure:
    """The figure of `draw_sweeps`."""
    sweeps, labels, factors = comparison.sweeps, comparison.labels, comparison.factors
    if not sweeps:
        raise InvalidValue("Sweeps must be given, at least one")
    rates = unit_name(comparison.per, comparison.unit, square=is_square(sweeps))
    figure = Figure(figsize=(11, 5), layout="constrained")
    latency, throughput = figure.subplots(1, 2)
    top = 1.15 * max(map(_highest, sweeps)) or 1.0
    handles: list[Line2D] = []
    theory = beyond = False
    for number, (sweep, name, factor) in enumerate(zip(sweeps, labels, factors)):
        look: dict[str, Any] = {
            "color": f"C{number % 10}",
            "marker": _MARKERS[number % len(_MARKERS)],
            "linestyle": _LINES[number % len(_LINES)],
            "linewidth": 1.2,
            "markersize": 5,
        }
        handles.append(Line2D([], [], label=name, **look))
        beyond |= _draw_measured(latency, throughput, sweep, factor, look, name, top)
        theory |= _draw_predicted(latency, throughput, sweep, factor, look["color"], name)

    end = max((p.offered_load * f for s, f in zip(sweeps, factors) for p in s.points), default=1)
    throughput.plot([0, end], [0, end], ":", color="grey", linewidth=1)
    latency.set(ylabel="mean latency (cycles)", ylim=(0, top))
    throughput.set(ylabel=f"throughput\n({rates})", ylim=(0, None))
    for axes in (latency, throughput):
        axes.set(xlabel=f"offered load\n({rates})", xlim=(0, 1.03 * end or 1))
        axes.grid(alpha=0.3)
    plain: dict[str, Any] = {"color": "0.3", "linestyle": "none"}
    if theory:
        handles.append(Line2D([], [], color="0.3", linestyle="--", linewidth=0.9, label="theory"))
    if any(point.saturated for sweep in sweeps for point in sweep.points):
        handles.append(Line2D([], [], marker="o", mfc="none", label="saturated", **plain))
    if any(point.saturated is None for sweep in sweeps for point in sweep.points):
        handles.append(Line2D([], [], marker="o", mfc=_UNDECIDED, label="undecided", **plain))
    if beyond:
        handles.append(Line2D([], [], marker=_BEYOND, label="latency beyond the range", **plain))
    handles.append(Line2D([], [], color="grey", linestyle=":", linewidth=1, label="offered load"))
    columns = 1 if max(map(len, labels)) > 60 else 2 if max(map(len, labels)) > 28 else 4
    figure.legend(handles=handles, loc="outside lower center", ncols=columns, fontsize="small")
    traffic = " and ".join(dict.fromkeys(short_name(sweep.traffic) for sweep in sweeps))
    figure.suptitle(title or _title(sweeps, traffic), fontsize="medium")
    return figure


_UNDECIDED = "0.8"
"""Colour inside a marker, if the window was too short to decide whether the point is saturated."""

_BEYOND = r"$\uparrow$"
"""Marker of a point above the range of the picture."""


def _title(sweeps: Sequence[Sweep], traffic: str) -> str:
    sizes = {size_of(sweep.network) for sweep in sweeps}
    return f"{traffic} traffic" + (f", {sizes.pop()}" if len(sizes) == 1 else "")


def _highest(sweep: Sweep) -> float:
    """The highest latency to be shown in full: of a point that is not saturated, if moderate."""
    means = [p.latency.mean for p in sweep.points if p.latency.mean is not None and not p.saturated]
    zero_load = sweep.zero_load_latency or 0
    return max(min(max(means, default=0), 12 * zero_load), 4 * zero_load)


def _draw_measured(
    latency: Axes,
    throughput: Axes,
    sweep: Sweep,
    factor: float,
    look: dict[str, Any],
    name: str,
    top: float,
) -> bool:
    """Draw the measured points; return whether a latency is above the range of the picture."""
    points = [point for point in sweep.points if point.latency.mean is not None]
    loads = [factor * point.offered_load for point in points]
    means = [mean for point in points if (mean := point.latency.mean) is not None]
    rates = [factor * point.throughput for point in points]
    line = {**look, "marker": ""}
    errors = [point.latency.ci99 or 0 for point in points]
    bars = latency.errorbar(loads, means, errors, capsize=2, label=f"{name}, measured", **line)
    for bar in bars[2]:
        bar.set_linestyle("-")
    throughput.plot(loads, rates, label=name, **line)
    beyond = False
    for point, load, mean, rate in zip(points, loads, means, rates):
        dot = {**look, "linestyle": "none", "zorder": 3}
        if point.saturated is not False:
            dot["markerfacecolor"] = "white" if point.saturated else _UNDECIDED
        throughput.plot([load], [rate], **dot)
        if mean <= top:
            latency.plot([load], [mean], **dot)
        else:
            beyond = True
            arrow = {**dot, "marker": _BEYOND, "markersize": 8, "clip_on": False}
            latency.plot([load], [top], **arrow)
    return beyond


def _draw_predicted(
    latency: Axes, throughput: Axes, sweep: Sweep, factor: float, colour: str, name: str
) -> bool:
    """Draw the prediction for uniform traffic, if there is one; return whether there is."""
    end = max((point.offered_load for point in sweep.points), default=0)
    grid = np.linspace(0, end, 200)
    theory = [predict(sweep.network, load, uniform=sweep.traffic == "uniform") for load in grid]
    latencies = [point["latency_mean"] for point in theory]
    throughputs = [point["throughput"] for point in theory]
    drawn = False
    for axes, curve, scale in ((latency, latencies, 1.0), (throughput, throughputs, factor)):
        values = [np.nan if value is None else value * scale for value in curve]
        if not np.all(np.isnan(values)):
            axes.plot(
                factor * grid, values, "--", color=colour, linewidth=0.9, label=f"{name}, theory"
            )
            drawn = True
    return drawn
