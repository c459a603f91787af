"""Drawings of layouts: nodes, wires, and the longest wire."""

from itertools import pairwise

from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PatchCollection
from matplotlib.patches import Rectangle

from ..layout import Layout
from .diagram_figure import HIGHLIGHT

__all__ = ["draw_layout"]


def draw_layout(layout: Layout, axes: Axes) -> None:
    """Draw a layout: nodes filled, and the longest wire highlighted."""
    parts = [part for wire in layout.wires for part in pairwise(wire.points)]
    axes.add_collection(LineCollection(parts, colors="0.35", linewidths=0.4))
    squares = [Rectangle((x - 0.3, y - 0.3), side - 0.4, side - 0.4) for x, y, side in layout.nodes]
    axes.add_collection(PatchCollection(squares, facecolor="C0", edgecolor="none", zorder=2))
    axes.plot(*zip(*layout.longest.points), color=HIGHLIGHT, linewidth=1.4, zorder=3)
    axes.set_aspect("equal")
    axes.margins(0.02)
    axes.autoscale_view()
    axes.set_axis_off()
