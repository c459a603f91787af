"""Figures 3 and 4: two measures of nine networks each, computed, and by their printed orders."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator
from matplotlib.transforms import Bbox

from ...theory.static_networks import NETWORKS
from ..item import Item, Options, Row
from ..panels import plain_numbers
from . import SOURCE
from .nine_networks import NINE, nine

__all__ = ["FIG3", "FIG4"]


def _rows(across: str, up: str, options: Options) -> Iterator[Row]:
    dimensions = 2 if options.quick else 3
    for each, name in zip(nine(dimensions, options), NINE):
        ranges = each.found.ranges()
        row: Row = {"network": name, "nodes": each.size.nodes}
        for place, measure in (("x", across), ("y", up)):
            row[f"{place}_order"] = NETWORKS[name].orders[measure]
            row[f"{place}_value"] = NETWORKS[name].growth(measure, each.size)
            row[f"{place}_lower"], row[f"{place}_upper"] = ranges[measure]
        yield row


def _draw(across: str, up: str, rows: Sequence[Row]) -> Figure:
    figure = Figure(figsize=(7.6, 5.6), layout="constrained")
    axes = figure.subplots()
    places: list[tuple[float, float]] = []
    for index, row in enumerate(rows):
        colour = f"C{index}"
        x = [row["x_lower"], row["x_upper"]]
        y = [row["y_lower"], row["y_upper"]]
        middle = sum(x) / 2, sum(y) / 2
        axes.plot(x, [middle[1]] * 2, color=colour)
        axes.plot([middle[0]] * 2, y, color=colour)
        order = row["x_value"], row["y_value"]
        axes.plot(*zip(middle, order), ":", color=colour, linewidth=0.8)
        axes.plot(*order, "s", markerfacecolor="white", color=colour, markersize=6)
        axes.plot(*middle, "o", color=colour, markersize=6)
        places.append(middle)
    axes.set(xscale="log", yscale="log", xlabel=across, ylabel=up)
    axes.set_title(f"N = {rows[0]['nodes']}: computed (dots), and the printed orders (squares)")
    axes.margins(0.12)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    plain_numbers(axes.xaxis, axes.yaxis)
    axes.grid(alpha=0.3)
    figure.draw_without_rendering()  # So that it is known how large all is.
    bars = [
        axes.transData.transform(
            [(row["x_lower"], row["y_lower"]), (row["x_upper"], row["y_upper"])]
        )
        for row in rows
    ]
    _label(axes, [row["network"] for row in rows], places, bars)
    return figure


_OFFSETS = [(x, y) for y in (5, -14, 17, -26, 29, -38) for x in (7, -7)]
"""Where a name may stand, in points from its dot; left of it if x is negative."""


def _label(
    axes: Axes, names: Sequence[str], places: Sequence[tuple[float, float]], bars: Sequence[Any]
) -> None:
    """Write the name of each dot beside it, where it touches no other name, dot, bar or edge.

    `bars` are the ends of the bars through the dots, in pixels.
    """
    taken = [Bbox(ends).padded(5) for ends in bars]
    for number, (name, place) in enumerate(zip(names, places)):
        for x, y in _OFFSETS:
            text = axes.annotate(
                name,
                place,
                (x, y),
                textcoords="offset points",
                ha="left" if x > 0 else "right",
                color=f"C{number}",
                fontsize=9,
            )
            box = text.get_window_extent()
            inside = axes.bbox.x0 < box.x0 and box.x1 < axes.bbox.x1
            if inside and not any(box.overlaps(other) for other in taken):
                break
            if (x, y) != _OFFSETS[-1]:
                text.remove()
        taken.append(box)


def _plane(number: int, title: str, across: str, up: str) -> Item:
    columns = "".join(
        f" | {place}_order = order of {measure} | {place}_value = its value : .5g"
        f" | {place}_lower = {measure}, at least : .5g | {place}_upper = at most : .5g"
        for place, measure in (("x", across), ("y", up))
    )
    return Item(
        f"ginosar-fig{number}",
        title,
        f"{SOURCE}, Fig. {number}",
        columns=f"network | nodes = N{columns}",
        rows=partial(_rows, across, up),
        draw=partial(_draw, across, up),
        notes=(
            "The paper's figure has orders on its axes and no numbers. Computed: from the graph.",
            "Star and tree: the paper cuts a node for D; here links are cut, as its definition "
            "says. So the star is as good as the hypercube in D.",
        ),
        ignores=("cycles", "engine"),
    )


FIG3 = _plane(3, "Disconnectivity and fan-out time of nine networks", "F", "D")
FIG4 = _plane(4, "Looseness and links of nine networks", "C", "L")
