"""Drawings of networks. Here: multistage ones, as boxes and lines, some of them highlighted."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from ...hdl.core.checks import check_integer, check_kind
from ...hdl.core.errors import InvalidValue
from ...hdl.core.output_file import output_format, whole_file
from ...hdl.networks import Network
from ...hdl.networks.naming import takes_names
from ...hdl.routing.relation import Relation
from ...hdl.topology import AddressCode, MultistagePlan
from ...hdl.topology.graph import Link
from .formats import PICTURES
from .graph_drawing import graph_figure

__all__ = [
    "HIGHLIGHT",
    "Marks",
    "draw",
    "draw_box",
    "draw_multistage",
    "multistage_figure",
    "save_figure",
]

HIGHLIGHT = "C3"
"""Colour of paths."""

STEP = 3.0
"""Distance between stages, in units of the distance between lines."""

_PORTS = 0.7
"""Distance between the ports of a box."""

_MOST_PORTS = 128
"""Most terminals in a drawing: with more, its lines can't be told apart."""

_COPIES = ("black", "C0", "C1", "C2")
"""Colours of the lines of several copies."""


@dataclass(frozen=True)
class Marks:
    """What is highlighted in a drawing: colours of lines, and of connections inside boxes.

    Attributes
    ----------
    lines : dict[tuple[int, int], str]
        Colours by (column, label). The lines between stages s - 1 and s are column s, labelled as
        they leave stage s - 1. Column 0 has the inputs, column n the outputs.
    connections : dict[tuple[int, int, int, int], str]
        Colours by (stage, box, input, output).
    faces : dict[tuple[int, int], str]
        Colours by (stage, box).
    texts : dict[tuple[int, int], str]
        Text written into boxes, by (stage, box).
    """

    lines: Mapping[tuple[int, int], str] = field(default_factory=dict)
    connections: Mapping[tuple[int, int, int, int], str] = field(default_factory=dict)
    faces: Mapping[tuple[int, int], str] = field(default_factory=dict)
    texts: Mapping[tuple[int, int], str] = field(default_factory=dict)

    @classmethod
    def paths(
        cls, plan: MultistagePlan, pairs: Iterable[tuple[int, int]], colour: str = HIGHLIGHT
    ) -> "Marks":
        """The paths between pairs of terminals, as (source, destination).

        Raises
        ------
        ValueError
            If there is no such terminal.
        """
        lines: dict[tuple[int, int], str] = {}
        connections: dict[tuple[int, int, int, int], str] = {}
        for source, destination in pairs:
            lines[0, source] = colour
            for hop in plan.path(source, destination):
                connections[hop] = colour
                lines[hop.stage + 1, plan.line(hop.stage, hop.box, hop.output)] = colour
        return cls(lines, connections)


def draw_box(
    axes: Axes,
    left: float,
    heights: Sequence[float],
    exits: Sequence[float] | None = None,
    *,
    connections: Mapping[tuple[int, int], str] | None = None,
    face: str = "0.94",
    text: str = "",
) -> None:
    """Draw a box one unit wide with its inputs at `heights`, and connections by (input, output).

    Its outputs are at `exits`, by default at the same heights.
    """
    exits = heights if exits is None else exits
    bottom, top = min(*heights, *exits) - 0.3, max(*heights, *exits) + 0.3
    axes.add_patch(Rectangle((left, bottom), 1, top - bottom, facecolor=face, edgecolor="black"))
    for (input_, output), colour in (connections or {}).items():
        ends = heights[input_], exits[output]
        axes.plot([left, left + 1], ends, color=colour, linewidth=2.2, zorder=3)
    if text:
        axes.text(left + 0.5, (bottom + top) / 2, text, ha="center", va="center", fontsize=10)


def most_lines(plan: MultistagePlan) -> int:
    """The number of lines where they are most."""
    return max(code.count for code in (plan.source_code, *plan.leaving))


def _digits(code: AddressCode, label: int) -> str:
    """The digits of a label, the most significant first."""
    return "".join(map(str, reversed(code.split(label))))


def draw_multistage(
    plan: MultistagePlan,
    axes: Axes,
    marks: Marks | None = None,
    *,
    links: int = 1,
    copies: int = 1,
    stage_names: Sequence[str] | None = None,
) -> None:
    """Draw a plan: inputs on the left, outputs on the right.

    Each line is labelled, in digits of the radices of the plan.

    Parameters
    ----------
    plan : MultistagePlan
    axes : Axes
    marks : Marks, optional
    links : int
        Links drawn for each line between two stages: the d of a d-dilated network.
    copies : int
        Copies of the network between the same terminals: the d of a d-replicated one.
    stage_names : Sequence[str], optional
        In the order in which a packet meets them; "stage 0", "stage 1", ... if not given.
    """
    marks = marks or Marks()
    end = (len(plan.stages) + 1) * STEP
    # Copies are drawn below each other; the terminals spread over the height of all of them.
    codes = [plan.source_code, *plan.leaving]
    lines = most_lines(plan)
    tall = lines * copies + (copies - 1)
    sources, sinks = (
        [-(line + 0.5) * tall / count + 0.5 for line in range(count)]
        for count in (plan.sources, plan.sinks)
    )

    def wire(
        column: int, label: int, x0: float, y0: float, x1: float, y1: float, plain: str
    ) -> None:
        colour = marks.lines.get((column, label))
        width = 0.8 if colour is None else 2.2
        parallel = links if 0 < column < len(plan.stages) else 1
        for link in range(parallel):
            shift = (link - (parallel - 1) / 2) * 0.14
            ends = [y0 + shift, y1 + shift]
            axes.plot(
                [x0, x1], ends, color=colour or plain, linewidth=width, zorder=1 + bool(colour)
            )
        if column:
            # The label is on the side that the line turns away from.
            away = (0.08 + (parallel - 1) * 0.07) * (-1 if y1 > y0 + 0.5 else 1)
            side = "top" if away < 0 else "bottom"
            text = axes.text(
                x0 + 0.08,
                y0 + away,
                _digits(codes[column], label),
                fontsize=6.5,
                color="0.35",
                va=side,
            )
            # Other lines may cross there: the label is drawn in front of them.
            text.set(zorder=2.5, bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.3})

    for line, y in enumerate(sources):
        axes.text(
            -0.15, y, f"{line}  {_digits(codes[0], line)}", ha="right", va="center", fontsize=8
        )
    for line, y in enumerate(sinks):
        axes.text(end + 0.15, y, f"{_digits(plan.code, line)}  {line}", va="center", fontsize=8)
    for s in range(len(plan.stages)):
        text = stage_names[s] if stage_names else f"stage {s}"
        axes.text((s + 1) * STEP, 0.8, text, ha="center", fontsize=8)

    for copy in range(copies):
        first = -copy * (lines + 1)
        plain = _COPIES[copy % len(_COPIES)]

        def heights(stage: int, box: int, first: float = first) -> tuple[list[float], list[float]]:
            """Those of the inputs and of the outputs of a box."""
            sides = plan.radices[stage], plan.outputs[stage]
            room = lines / plan.columns[stage]
            middle = first - (box + 0.5) * room + 0.5
            left, right = (
                [middle - (port - (count - 1) / 2) * _PORTS for port in range(count)]
                for count in sides
            )
            return left, right

        starts = [(0.0, y) for y in sources]
        for s, radix in enumerate(plan.radices):
            left = (s + 1) * STEP - 0.5
            for line, (x, y) in enumerate(starts):
                box, port = plan.port(s, plan.relabel(s, line))
                wire(s, line, x, y, left, heights(s, box)[0][port], plain)
            starts = [(0.0, 0.0)] * plan.leaving[s].count
            for box in range(plan.columns[s]):
                inside = {
                    (input_, output): marks.connections[s, box, input_, output]
                    for input_ in range(radix)
                    for output in range(plan.outputs[s])
                    if (s, box, input_, output) in marks.connections
                }
                draw_box(
                    axes,
                    left,
                    *heights(s, box),
                    connections=inside,
                    face=marks.faces.get((s, box), "0.94"),
                    text=marks.texts.get((s, box), ""),
                )
                for port, y in enumerate(heights(s, box)[1]):
                    starts[plan.line(s, box, port)] = (left + 1, y)
        for label, (x, y) in enumerate(starts):
            output = plan.relabel(len(plan.stages), label)
            wire(len(plan.stages), label, x, y, end, sinks[output], plain)
    axes.set_axis_off()
    axes.set_aspect("equal")


def multistage_figure(
    plan: MultistagePlan, marks: Marks | None = None, *, copies: int = 1, **options: Any
) -> Figure:
    """A figure of the right size that holds one drawing; see `draw_multistage`."""
    width = 2 + (len(plan.stages) + 1) * STEP
    height = most_lines(plan) * copies + copies + 0.5
    figure = Figure(figsize=(0.62 * width, 0.55 * height), layout="tight")
    draw_multistage(plan, figure.subplots(), marks, copies=copies, **options)
    return figure


@takes_names()
def draw(
    network: Network,
    /,
    path: str | os.PathLike[str],
    *,
    paths: Iterable[tuple[int, int]] = (),
    **parameters: Any,
) -> None:
    """Draw the wiring plan of a multistage network, or a network of nodes and links.

    Parameters
    ----------
    network : Network or str
        `draw("cube", "cube8.svg", ports=8)` and `draw("cube ports=8", "cube8.svg")` build it first.
    path : path-like
        Picture to write: .svg, .png or .pdf; `-` writes an SVG to standard output.
    paths : Iterable[tuple[int, int]]
        Pairs of terminals (source, destination) whose paths are highlighted.
    **parameters
        Of the network, if its name is given.

    Raises
    ------
    TypeError, ValueError
        If the network is of neither kind, a wiring plan has more than 128 terminals or a graph more
        than 1,000 nodes, there is no such terminal, or the file can't be written.
    """
    check_kind("Network", network, Network, "a network")
    output_format(path, PICTURES)
    plan = network.wiring_plan
    if plan is None:
        if network.relation is None:
            raise InvalidValue(
                "Only multistage networks and networks of nodes and links can be drawn, "
                f"not {network.family!r}"
            )
        graph = network.relation.graph
        save_figure(graph_figure(graph, _path_links(network.relation, paths)), path)
        return
    if most_lines(plan) > _MOST_PORTS:
        raise InvalidValue(
            f"Ports of a drawing must be at most {_MOST_PORTS}, not {most_lines(plan)}"
        )
    save_figure(multistage_figure(plan, Marks.paths(plan, paths)), path)


def _path_links(
    relation: Relation, pairs: Iterable[tuple[int, int]], colour: str = HIGHLIGHT
) -> dict[Link, str]:
    """The links between pairs of terminals, as (source, destination), highlighted."""
    marks: dict[Link, str] = {}
    for pair in pairs:
        for terminal in pair:
            check_integer("Address", terminal, 0, relation.ports - 1)
        marks |= {relation.graph.link_of(each): colour for each in relation.path(*pair)[:-1]}
    return marks


def save_figure(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write a figure to a file (.svg, .png, .pdf), completely or not at all; `-` writes an SVG.

    Equal figures give equal files.

    Raises
    ------
    ValueError
        If the name has another suffix, or the file can't be written.
    """
    kind = output_format(path, PICTURES)
    metadata = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(kind, {})
    with whole_file(path) as file, matplotlib.rc_context({"svg.hashsalt": "multicube"}):
        figure.savefig(file, dpi=130, format=kind.removeprefix("."), metadata=metadata)
