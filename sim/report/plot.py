"""Plots of measured curves, with the theory's beside them."""

import os
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...hdl.core.output_file import output_format
from ..measure.curve import Sweep
from ..measure.result import Result
from ..theory import predict
from ..workload.pattern import short_name
from .drawing import save_figure
from .save import PICTURES

__all__ = ["draw_sweeps"]


def draw_sweeps(
    sweeps: Sequence[Sweep],
    path: str | os.PathLike[str],
    *,
    labels: Sequence[str] | None = None,
    title: str | None = None,
) -> None:
    """Draw latency and throughput against offered load, with one colour per sweep.

    Measured latencies are dots with their 99 % confidence intervals; the prediction, where a
    formula applies, is a dashed line. Saturated points are hollow.

    Parameters
    ----------
    sweeps : Sequence[Sweep]
    path : path-like
        Ends in .svg, .png or .pdf.
    labels : Sequence[str], optional
        Labels of the sweeps; their parameters if not given.
    title : str, optional

    Raises
    ------
    ValueError
        If the name has another suffix, or the folder does not exist.
    """
    output_format(path, PICTURES)
    figure = Figure(figsize=(11, 4.8), layout="constrained")
    latency, throughput = figure.subplots(1, 2)
    labels = labels or [_label(sweep) for sweep in sweeps]
    highest = 0.0
    for number, (sweep, label) in enumerate(zip(sweeps, labels)):
        colour = f"C{number}"
        points = [point for point in sweep.points if point.latency.mean is not None]
        loads = [point.offered_load for point in points]
        means = [mean for point in points if (mean := point.latency.mean) is not None]
        latency.errorbar(
            loads,
            means,
            [point.latency.ci99 or 0 for point in points],
            color=colour,
            fmt="-",
            linewidth=1,
            capsize=2,
            label=f"{label}, measured",
        )
        _dots(latency, points, means, colour)
        rates = [point.throughput for point in points]
        throughput.plot(loads, rates, "-", color=colour, linewidth=1, label=label)
        _dots(throughput, points, rates, colour)

        uniform = sweep.traffic == "uniform"
        grid = np.linspace(0, max(loads, default=0), 200)
        theory = [predict(sweep.network, p, uniform=uniform) for p in grid]
        for axes, curve in (
            (latency, [point["latency_mean"] for point in theory]),
            (throughput, [point["throughput"] for point in theory]),
        ):
            if any(value is not None for value in curve):
                shown = [np.nan if value is None else value for value in curve]
                axes.plot(grid, shown, "--", color=colour, linewidth=1, label=f"{label}, theory")
        steady = [mean for point, mean in zip(points, means) if not point.saturated]
        zero_load = sweep.zero_load_latency or 0
        highest = max(highest, min(max(steady, default=0), 12 * zero_load), 4 * zero_load)

    end = max((point.offered_load for sweep in sweeps for point in sweep.points), default=1)
    throughput.plot([0, end], [0, end], ":", color="grey", linewidth=1, label="offered load")
    latency.set(ylabel="mean latency (cycles)", ylim=(0, highest * 1.15 or 1))
    throughput.set(ylabel="throughput (packets per terminal per cycle)", ylim=(0, None))
    for axes in (latency, throughput):
        axes.set(xlabel="offered load (packets per terminal per cycle)", xlim=(0, None))
        axes.grid(alpha=0.3)
        axes.legend(fontsize="small")
    default = f"{short_name(sweeps[0].traffic)} traffic (hollow: saturated)"
    figure.suptitle(title or default, fontsize="medium")
    save_figure(figure, path)


def _dots(axes: Axes, points: Sequence[Result], values: Sequence[float], colour: str) -> None:
    loads = [point.offered_load for point in points]
    faces = ["none" if point.saturated else colour for point in points]
    axes.scatter(loads, values, s=22, facecolors=faces, edgecolors=colour, zorder=3)


def _label(sweep: Sweep) -> str:
    words = sweep.network.chosen
    names = ("ports", "radix", "switch", "depth")
    shown = " ".join(f"{name}={words[name]}" for name in names if name in words)
    return f"{sweep.network.family} {shown}"
