"""Figures of diagrams: boxes, lines, and what is marked in them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from ...hdl.fabric.checks import check_integer, check_limit, check_several, shown
from ...hdl.fabric.diagram import Diagram
from ...hdl.fabric.errors import InvalidValue
from ...hdl.fabric.pins import Pin
from .diagram_drawing import BOX, HEAT, DiagramDrawing, hottest

__all__ = ["HIGHLIGHT", "Marks", "diagram_figure", "draw_box", "draw_diagram"]

HIGHLIGHT = "C3"
"""Colour of paths."""

_MOST_NODES = 2**13
"""Most nodes of a drawing: with more, they can't be distinguished."""

_LARGEST = 24.0
"""Largest width or height of a picture in inches."""

_LEGEND = 1.1
"""Width of a colour bar in inches."""


@dataclass(frozen=True)
class Marks:
    """What is highlighted in a drawing, and in which colour.

    Attributes
    ----------
    lines : Mapping[Pin, str]
        Lines, by a driver or a receiver.
    connections : Mapping[tuple[Pin, Pin], str]
        Connections inside boxes, by their input and output.
    outlines : Mapping[str, str]
        Outlines of nodes, by a cell.
    texts : Mapping[str, str]
        Text in nodes in place of their label, by a cell.
    """

    lines: Mapping[Pin, str] = field(default_factory=dict)
    connections: Mapping[tuple[Pin, Pin], str] = field(default_factory=dict)
    outlines: Mapping[str, str] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def paths(
        cls,
        diagram: Diagram,
        path: Callable[[int, int], Sequence[Pin]],
        pairs: Iterable[tuple[int, int]],
        colour: str = HIGHLIGHT,
    ) -> "Marks":
        """The paths between pairs of terminals, as (source, destination).

        Parameters
        ----------
        diagram : Diagram
        path : Callable[[int, int], Sequence[Pin]]
            The outputs of cells that packets pass between two terminals, such as `network.path`.
        pairs : Iterable[tuple[int, int]]
        colour : str

        Raises
        ------
        ValueError
            If there is no such terminal.
        """
        numbers = {
            way: {each.number for each in diagram.terminals if each.has(way, each.number)}
            for way in ("i", "o")
        }
        numbers["o"] = numbers["o"] or numbers["i"]
        lines: dict[Pin, str] = {}
        connections: dict[tuple[Pin, Pin], str] = {}
        outlines: dict[str, str] = {}
        for pair in check_several("Paths", pairs, "pairs of terminals"):
            if len(check_several("Path", pair, "two terminals")) != 2:
                raise InvalidValue(f"Path must be of two terminals, not {shown(pair)}")
            for terminal, way in zip(pair, ("i", "o")):
                check_integer("Address", terminal, 0, len(numbers[way]) - 1)
            trail = [diagram.lines[i] for i in diagram.trail(pair[0], path(*pair), pair[1])]
            lines |= dict.fromkeys((line.receivers[0] for line in trail), colour)
            passed = [line.target.index for line in trail if line.target.what == "node"]
            outlines |= {
                diagram.nodes[i].cells[0]: colour for i in passed if diagram.nodes[i].label
            }
            for before, after in pairwise(trail):
                if not diagram.nodes[before.target.index].label:
                    connections[before.receivers[0], after.drivers[0]] = colour
        return cls(lines, connections, outlines)

    @classmethod
    def links(cls, diagram: Diagram, drivers: Iterable[Pin], colour: str = HIGHLIGHT) -> "Marks":
        """Links, such as those of the tree of a group, and the nodes at their ends.

        Parameters
        ----------
        diagram : Diagram
        drivers : Iterable[Pin]
            What drives them.
        colour : str
        """
        chosen = set(drivers)
        lines = [line for line in diagram.lines if not chosen.isdisjoint(line.drivers)]
        ends = [
            end.index for line in lines for end in (line.source, line.target) if end.what == "node"
        ]
        return cls(
            dict.fromkeys((line.receivers[0] for line in lines), colour),
            outlines={diagram.nodes[index].cells[0]: colour for index in ends},
        )


def draw_box(
    axes: Axes,
    left: float,
    heights: Sequence[float],
    connections: Mapping[tuple[int, int], str] | None = None,
) -> None:
    """Draw a box one unit wide with its ports at `heights`, and connections by (input, output).

    Parameters
    ----------
    axes : Axes
        Where it is drawn.
    left : float
        Its left edge.
    heights : Sequence[float]
        The heights of its ports.
    connections : Mapping[tuple[int, int], str], optional
        The colour of each connection, by input and output.
    """
    bottom, top = min(heights) - 0.3, max(heights) + 0.3
    axes.add_patch(Rectangle((left, bottom), 1, top - bottom, facecolor=BOX, edgecolor="black"))
    for (input_, output), colour in (connections or {}).items():
        ends = heights[input_], heights[output]
        axes.plot([left, left + 1], ends, color=colour, linewidth=2.2, zorder=3)


def draw_diagram(
    diagram: Diagram,
    axes: Axes,
    marks: Marks | None = None,
    *,
    names: bool = True,
    heat: Mapping[str, float] | None = None,
    scale: float | None = None,
) -> None:
    """Draw a diagram, without labels that have no room.

    Two links in opposite directions are one line; others between nodes without ports have an arrow.
    If links differ in their virtual channels, lines show how many there are, unless it is one.

    Parameters
    ----------
    diagram : Diagram
        What is drawn.
    axes : Axes
        Where it is drawn.
    marks : Marks, optional
        What is emphasised.
    names : bool
        Whether there are labels.
    heat : Mapping[str, float], optional
        The use of links, by name. Each direction is a line of its own then, in the colour of its
        use; lines of which it is not known are grey.
    scale : float, optional
        Inches per unit of the diagram; by default `1 / diagram.unit`.
    """
    scale = scale or 1 / diagram.unit
    DiagramDrawing(diagram, axes, marks or Marks(), names, heat, scale).draw()


def diagram_figure(
    diagram: Diagram,
    marks: Marks | None = None,
    *,
    names: bool = True,
    heat: Mapping[str, float] | None = None,
    title: str = "",
) -> Figure:
    """A figure of the right size that holds one drawing; see `draw_diagram`.

    Parameters
    ----------
    diagram : Diagram
        What is drawn.
    marks : Marks, optional
        What is emphasised.
    names : bool
        Whether there are labels.
    heat : Mapping[str, float], optional
        The use of links, by name, which colours them.
    title : str
        The title; empty for none.

    Returns
    -------
    Figure
        The figure.

    Raises
    ------
    ValueError
        If there are more than 8,192 nodes.
    """
    check_limit("Nodes of a drawing", len(diagram.nodes), _MOST_NODES)
    left, bottom, right, top = _extent(diagram)
    wide, high = right - left, top - bottom
    scale = min(1 / diagram.unit, _LARGEST / max(wide, high))
    # Labels of terminals stand outside.
    edges = [0.15, 0.15, 0.15, 0.3 if title else 0.15]
    for each in diagram.terminals if names else ():
        if each.side != "below":
            side = 0 if each.side == "left" else 2
            edges[side] = max(edges[side], 0.25 + 0.075 * len(each.label))
    if any(line.cut for line in diagram.lines) and names:
        edges[0], edges[2] = 0.6, 0.6
    legend = _LEGEND if heat else 0.0
    width, height = scale * wide + edges[0] + edges[2], scale * high + edges[1] + edges[3]
    width = max(width, 0.3 + 0.055 * len(title))
    figure = Figure(figsize=(width + legend, height))
    axes = figure.add_axes((0, 0, width / (width + legend), 1))
    draw_diagram(diagram, axes, marks, names=names, heat=heat, scale=scale)
    spare = (width - scale * wide - edges[0] - edges[2]) / 2
    axes.set_xlim(left - (edges[0] + spare) / scale, right + (edges[2] + spare) / scale)
    axes.set_ylim(bottom - edges[1] / scale, top + edges[3] / scale)
    if title:
        middle = width / 2 / (width + legend)
        figure.text(
            middle, 1 - 0.06 / height, title, ha="center", va="top", fontsize=7, color="0.3"
        )
    if heat:
        tall = min(height - 0.3, 3.0)
        place = (
            width / (width + legend),
            0.5 - tall / 2 / height,
            0.12 / (width + legend),
            tall / height,
        )
        uses = ScalarMappable(Normalize(0, hottest(heat)), HEAT)
        bar = figure.colorbar(uses, cax=figure.add_axes(place))
        bar.set_label("use of a link (transfers per cycle)", fontsize=8)
        bar.ax.tick_params(labelsize=7)
    return figure


def _extent(diagram: Diagram) -> tuple[float, float, float, float]:
    """Left, bottom, right and top of everything but labels."""
    nodes, ends = diagram.nodes, diagram.terminals
    across = [(node.x - node.width / 2, node.x + node.width / 2) for node in nodes]
    up = [(node.y - node.height / 2, node.y + node.height / 2) for node in nodes]
    points = [point for line in diagram.lines for point in line.points]
    points += [(each.x, each.y) for each in ends]
    points += [(each.x, each.y + 0.35) for each in diagram.captions]
    xs = [x for pair in across for x in pair] + [x for x, _ in points]
    ys = [y for pair in up for y in pair] + [y for _, y in points]
    return min(xs), min(ys), max(xs), max(ys)
