"""Measured curves of `docs/data/curves`: read, and drawn with what theory predicts."""

import csv
from pathlib import Path
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from multicube.hdl.networks.family import Family
from multicube.sim.theory import predict

__all__ = ["Curve", "Point", "draw_curve", "read_curve"]


class Point(NamedTuple):
    """One load: packets per terminal per cycle, and cycles."""

    load: float
    throughput: float
    latency: float
    interval: float
    saturated: bool


class Curve(NamedTuple):
    """A sweep.

    Attributes
    ----------
    network : str
        The parameters as words.
    points : tuple[Point, ...]
        By rising load.
    saturation : float or None
        Where saturation begins: half way between the highest load that is carried and the lowest
        that is not.
    """

    network: str
    points: tuple[Point, ...]
    saturation: float | None


def read_curve(path: Path) -> Curve:
    """The sweep of a table that `multicube sweep` wrote; loads without a latency are left out."""
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    points = tuple(
        Point(
            float(row["offered_load"]),
            float(row["throughput"]),
            float(row["latency_mean"]),
            float(row["latency_ci99"] or 0),
            row["saturated"] == "True",
        )
        for row in sorted(rows, key=lambda row: float(row["offered_load"]))
        if row["latency_mean"]
    )
    first = min((point.load for point in points if point.saturated), default=None)
    carried = max((point.load for point in points if not point.saturated), default=0.0)
    saturation = None if first is None else (min(first, carried) + first) / 2
    return Curve(rows[0]["parameters"], points, saturation)


def draw_curve(
    family: Family, curve: Curve, rival: Curve | None = None, rival_name: str = ""
) -> Figure:
    """Latency and throughput by load: measured points, a dashed line by formula, and a rival."""
    figure = Figure(figsize=(9, 3.6), layout="constrained")
    latency, throughput = figure.subplots(1, 2)
    network = family.build(**family.example)
    top = max(point.load for point in curve.points)
    loads = np.linspace(0, top, 200)[1:]
    predicted = [predict(network, float(load), uniform=True) for load in loads]
    for axes, key in ((latency, "latency_mean"), (throughput, "throughput")):
        line = [each[key] for each in predicted]  # type: ignore[literal-required]
        if any(value is not None for value in line):
            known = [np.nan if value is None else value for value in line]
            axes.plot(loads, known, "--", color="C1", label="formula", zorder=1)
    for saturated in (False, True):
        chosen = [point for point in curve.points if point.saturated == saturated]
        if not chosen:
            continue
        style = {"fmt": "o", "markersize": 4, "color": "C0", "capsize": 2}
        style |= {"markerfacecolor": "white"} if saturated else {"label": "measured"}
        x = [point.load for point in chosen]
        bars = [point.interval for point in chosen]
        latency.errorbar(x, [point.latency for point in chosen], bars, **style)
        throughput.errorbar(x, [point.throughput for point in chosen], **style)
    x = [point.load for point in curve.points]
    for axes, y in (
        (latency, [point.latency for point in curve.points]),
        (throughput, [point.throughput for point in curve.points]),
    ):
        axes.plot(x, y, color="C0", alpha=0.5, linewidth=1, zorder=1)
    if rival is not None:
        x = [point.load for point in rival.points]
        for axes, y in (
            (latency, [point.latency for point in rival.points]),
            (throughput, [point.throughput for point in rival.points]),
        ):
            axes.plot(x, y, color="0.6", linewidth=1.5, label=rival_name, zorder=0)
    lowest = min(point.latency for point in curve.points)
    latency.set_ylim(0, 6 * lowest)
    throughput.plot([0, top], [0, top], ":", color="gray", linewidth=1, label="load", zorder=0)
    _label(latency, "mean latency, cycles")
    _label(throughput, "throughput, packets per terminal per cycle")
    return figure


def _label(axes: Axes, what: str) -> None:
    axes.set_xlabel("load, packets per terminal per cycle")
    axes.set_ylabel(what)
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
