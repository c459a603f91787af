"""Figures 10 to 14 of Siegel et al.: MAN-YO and Lambda networks, their distances, and the routing
ring.
"""

import re
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...hdl.graphs.families.single_stage import Lambda, ManYo, SingleStageCube
from ...hdl.graphs.graph import Channel
from ...hdl.networks.graph_layout import graph_diagram
from ...hdl.networks.routed import RoutedNetwork
from ...hdl.networks.single_stage import LambdaNetwork, ManYoNetwork
from ..measure.result import Result
from ..report.drawing import HIGHLIGHT, diagram_figure
from ..run.simulation import whole_run
from ..workload.traffic import Trace, TracePacket
from .item import Column, Item, Options, PaperResult
from .siegel_structure import SOURCE

__all__ = ["ITEMS", "RingStep", "loop_resultant", "ring_steps"]

_DRAWN = 4
"""Stages of the networks that are drawn."""

_STAGES, _QUICK_STAGES = 8, 5
"""Stages of the networks whose distances are counted: 1,024 and 80 nodes."""


# --- Figures 10 and 11 -------------------------------------------------------------------------


def _printed_peer(graph: SingleStageCube, node: int, loop: int) -> str:
    """The node behind one of the outputs of a node, by the paper's rule (VIII-B).

    The printed stage of the node behind the last stage, 1, is read as 0.
    """
    stage, label = graph.stage(node), graph.name(node).split()[1]
    last = graph.stages - 1
    if stage == last:
        return f"(0) {loop}{label[:-1]}"
    place = last - 1 - stage
    return f"({stage + 1}) {label[:place]}{loop}{label[place + 1 :]}"


def _figure_10(options: Options) -> PaperResult:
    """The nodes, and where their links lead."""
    graph = ManYo(_DRAWN)
    rows = []
    for node in range(graph.nodes):
        peers = [graph.name(graph.link_of(Channel(node, port)).peer) for port in range(2)]
        printed = [_printed_peer(graph, node, bit) for bit in range(2)]
        row = {"stage": graph.stage(node), "node": graph.name(node)}
        rows.append(row | {"upper": peers[0], "lower": peers[1], "agrees": peers == printed})
    return PaperResult(
        columns=(
            Column("stage"),
            Column("node"),
            Column("upper", "upper output to"),
            Column("lower", "lower output to"),
            Column("agrees", "as in paper"),
        ),
        rows=rows,
        draw=lambda: diagram_figure(graph_diagram(graph), names=False),
        notes=(
            "In paper: the rule of VIII-B. The stage of the second node behind the last stage, "
            "printed as 1, is read as 0.",
            "A link that leaves at the right enters at the left, at the same height.",
        ),
    )


def _figure_11(options: Options) -> PaperResult:
    """The loops, and the nodes in each."""
    graph = ManYo(_DRAWN)
    rows = []
    for loop in range(1 << graph.stages):
        row: dict[str, Any] = {"loop": f"{loop:0{graph.stages}b}"}
        node = graph.node(0, loop)
        for stage in range(graph.stages):
            row[f"stage{stage}"] = graph.name(node)
            node = graph.link_of(Channel(node, loop >> stage & 1)).peer
        rows.append(row | {"closes": node == graph.node(0, loop)})
    return PaperResult(
        columns=(
            Column("loop"),
            *(Column(f"stage{stage}", f"stage {stage}") for stage in range(graph.stages)),
            Column("closes", "closes"),
        ),
        rows=rows,
        draw=lambda: diagram_figure(graph_diagram(graph)),
        notes=(
            "Loop l leaves the node of stage i by output l(i), and so stays on its lines. The "
            "address of a node is its stage, and the bits that its two loops have in common.",
        ),
    )


# --- Figures 12 and 13 -------------------------------------------------------------------------


def _one_to_all(network: RoutedNetwork, options: Options) -> Result:
    """Packets from processor 0 to all others, each when the one before has arrived."""
    (length, _), diameter = network.lengths, max(map(max, network.relation.graph.distances))
    others = enumerate(range(1, network.ports))
    packets = [TracePacket(number * (diameter + length), 0, to) for number, to in others]
    return whole_run(
        network,
        traffic=Trace("one to all", tuple(packets)),
        engine=options.engine,
        bins=2 * diameter + length + 1,
        progress=options.progress,
    )


def _distances(options: Options, *, network: type[RoutedNetwork]) -> PaperResult:
    """Distances from one processor to all others: of the graph, and by latencies of packets."""
    built = network(stages=_QUICK_STAGES if options.quick else _STAGES)
    graph = built.relation.graph
    distances = np.array(graph.distances).T  # from each processor
    shortest = distances[0]
    alike = bool((np.sort(distances) == np.sort(shortest)).all())
    result = _one_to_all(built, options)
    # A packet that never waits takes a cycle for each link, and one for each of its flits.
    fixed = built.lengths[0]
    rows = [
        {
            "distance": distance,
            "graph": int((shortest == distance).sum()),
            "measured": dict(enumerate(result.latency.histogram)).get(distance + fixed, 0),
        }
        for distance in range(1, distances.max() + 1)
    ]
    for row in rows:
        row["agrees"] = row["graph"] == row["measured"]
    whom = "all processors have" if alike else "not all processors have"
    return PaperResult(
        columns=(
            Column("distance"),
            Column("graph", "processors, graph", ","),
            Column("measured", "packets, RTL", ","),
            Column("agrees"),
        ),
        rows=rows,
        draw=lambda: _draw_distances(rows, f"{graph.nodes:,} nodes"),
        notes=(
            f"From processor (0) 0...0 to the {graph.nodes - 1:,} others; {whom} the same "
            "distances to others.",
            f"Mean {shortest[1:].mean():.4f}, greatest {shortest.max()}. RTL: latency less "
            f"{fixed}, of packets that are alone in the network.",
        ),
    )


def _draw_distances(rows: Sequence[dict[str, Any]], title: str) -> Figure:
    figure = Figure(figsize=(6.4, 4.2), layout="constrained")
    axes = figure.subplots()
    places = [row["distance"] for row in rows]
    heights = [row["graph"] for row in rows]
    bars = axes.bar(places, heights, color="#cfe2f3", edgecolor="black", label="graph")
    axes.bar_label(bars, fontsize="small", padding=3)
    axes.plot(places, [row["measured"] for row in rows], "C3o", markersize=4, label="RTL, latency")
    axes.set_xticks(places)
    axes.set(xlabel="distance (links)", ylabel="processors", title=title)
    axes.margins(y=0.1)
    axes.legend(fontsize="small")
    return figure


# --- Figure 14 ---------------------------------------------------------------------------------


class RingStep(NamedTuple):
    """A packet in a node of a Lambda network, as the routing ring shows it.

    Attributes
    ----------
    node : int
    loop : int
        The loop on which it goes on; in the last node, on which it came.
    resultant : str
        The `loop_resultant` of this loop.
    backward : bool or None
        The direction in which it goes on; None in the last node.
    """

    node: int
    loop: int
    resultant: str
    backward: bool | None


def loop_resultant(graph: Lambda, loop: int, destination: int) -> str:
    """The stages where a packet on a loop must change loops: bit m - 1 first; x for don't care."""
    place = graph.stages - 1 - graph.stage(destination)
    bits = f"{loop ^ graph.loop(destination):0{graph.stages}b}"
    return f"{bits[:place]}x{bits[place + 1 :]}"


def ring_steps(graph: Lambda, source: int, destination: int) -> Iterator[RingStep]:
    """The steps of a packet. In each node it changes loops first, if it must."""
    loop = graph.loops(source)[0]
    for channel in graph.path(source, destination):
        ends = channel.port < 0
        if not ends:
            loop = graph.loops(channel.node)[channel.port % 2]
        bits = loop_resultant(graph, loop, destination)
        yield RingStep(channel.node, loop, bits, None if ends else channel.port >= 2)


_EXAMPLE, _QUICK_EXAMPLE = (0b0011101, 4), (0b0110, 2)
"""A destination, as its label and its stage, to which a packet from (2) 0...0 turns twice."""


def _figure_14(options: Options) -> PaperResult:
    """A packet in the Lambda network on the routing ring."""
    built = LambdaNetwork(stages=_QUICK_STAGES if options.quick else _STAGES)
    graph = built.relation
    assert isinstance(graph, Lambda)
    label, stage = _QUICK_EXAMPLE if options.quick else _EXAMPLE
    source, destination = graph.node(2, 0), stage << graph.stages - 1 | label
    packet = Trace("figure", (TracePacket(0, source, destination),))
    result = whole_run(built, traffic=packet, engine=options.engine, bins=64)
    after = _crossed(result)
    steps = list(ring_steps(graph, source, destination))
    rows: list[dict[str, Any]] = []
    measured: str | None = graph.name(source)
    for number, step in enumerate(steps):
        rows.append(
            {
                "step": number,
                "node": graph.name(step.node),
                "measured": measured,
                "agrees": measured == graph.name(step.node),
                "loop": f"{step.loop:0{graph.stages}b}",
                "resultant": step.resultant,
                "direction": {None: "arrived", False: "forward", True: "back"}[step.backward],
            }
        )
        measured = after.get(measured or "")
    initial = loop_resultant(graph, graph.loops(source)[0], destination)
    return PaperResult(
        columns=(
            Column("step"),
            Column("node"),
            Column("measured", "node, RTL"),
            Column("agrees"),
            Column("loop", "loop it leaves on"),
            Column("resultant", "loop resultant"),
            Column("direction"),
        ),
        rows=rows,
        draw=lambda: _draw_ring(graph, steps, initial, graph.stage(destination)),
        notes=(
            f"From {graph.name(source)} to {graph.name(destination)} in {graph.nodes:,} nodes: "
            f"{len(steps) - 1} steps, {len(_legs(steps)) - 1} changes of direction. x is the don't "
            "care of the destination's stage.",
            f"On the source's upper loop the resultant is {initial}. Where its bit is 1, the "
            "packet changes loops before it goes on.",
        ),
    )


def _crossed(result: Result) -> dict[str, str]:
    """The links between nodes that packets crossed: where each led, by the name of its node."""
    used = [name for name, use in result.links.items() if use > 0]
    found = (re.match(r"node (\(\d+\) \d+) -> node (\(\d+\) \d+)", name) for name in used)
    return {match[1]: match[2] for match in found if match}


def _legs(steps: Sequence[RingStep]) -> list[tuple[bool, int]]:
    """The directions of a path, each with its number of steps."""
    ways = (step.backward for step in steps if step.backward is not None)
    return [(way, len(list(same))) for way, same in groupby(ways)]


def _draw_ring(graph: Lambda, steps: Sequence[RingStep], initial: str, goal: int) -> Figure:
    """The ring, stages clockwise from the top; the path outside, each leg further out."""
    figure = Figure(figsize=(6.4, 6.4), layout="constrained")
    axes = figure.subplots()
    turn = np.linspace(0, 2 * np.pi, 200)
    axes.plot(*_on_circle(1.0, turn), color="black", linewidth=0.8, zorder=1)
    start = graph.stage(steps[0].node)
    for stage, bit in enumerate(reversed(initial)):
        angle = 2 * np.pi * stage / graph.stages
        face = {start: "#cfe2f3", goal: "#f6d5d5"}.get(stage, "white")
        axes.text(
            *_on_circle(1.0, angle),
            bit,
            ha="center",
            va="center",
            fontsize=12,
            bbox={"boxstyle": "circle,pad=0.4", "facecolor": face, "edgecolor": "black"},
            zorder=3,
        )
        axes.text(*_on_circle(0.8, angle), str(stage), ha="center", va="center", color="0.35")
    pointers = {"current stage": start, "destination stage": goal}
    if start == goal:
        pointers = {"current and destination stage": start}
    for what, stage in pointers.items():
        angle = 2 * np.pi * stage / graph.stages
        axes.annotate(
            what,
            _on_circle(0.74, angle),
            _on_circle(0.38, angle),
            ha="center",
            va="center",
            arrowprops={"arrowstyle": "-|>", "color": "black"},
        )
    _draw_legs(axes, start, steps, graph.stages)
    axes.set_title(
        f"Loop resultant {initial}: {graph.name(steps[0].node)} to {graph.name(steps[-1].node)}",
        fontsize="medium",
    )
    axes.set_aspect("equal")
    axes.margins(0.05)
    axes.set_axis_off()
    return figure


def _draw_legs(axes: Axes, start: int, steps: Sequence[RingStep], stages: int) -> None:
    """The path, as one line, with an arrow at the end of each direction."""
    position, radius, points = float(start), 1.22, []
    for backward, count in _legs(steps):
        after = position + (-count if backward else count)
        angles = 2 * np.pi / stages * np.linspace(position, after, 16 * count + 1)
        arc = np.column_stack(_on_circle(radius, angles))
        points.append(arc)
        arrow = {"arrowstyle": "-|>", "color": HIGHLIGHT, "shrinkA": 0, "shrinkB": 0}
        axes.annotate("", arc[-1], arc[-2], arrowprops=arrow, zorder=4)
        position, radius = after, radius + 0.13
    if points:
        axes.plot(*np.concatenate(points).T, color=HIGHLIGHT, linewidth=2)
        axes.plot(*points[0][0], "o", color=HIGHLIGHT, markersize=5)


def _on_circle(radius: float, angle: Any) -> tuple[Any, Any]:
    """The point at an angle from the top, clockwise."""
    return radius * np.sin(angle), radius * np.cos(angle)


ITEMS = (
    Item("siegel-fig10", "Four-stage MAN-YO network", f"{SOURCE}, VIII-B", _figure_10),
    Item(
        "siegel-fig11",
        "Loops and addresses of a four-stage MAN-YO network",
        f"{SOURCE}, VIII-B",
        _figure_11,
    ),
    Item(
        "siegel-fig12",
        "Distances between the processors of a MAN-YO network",
        f"{SOURCE}, VIII-B",
        partial(_distances, network=ManYoNetwork),
    ),
    Item(
        "siegel-fig13",
        "Distances between the processors of a Lambda network",
        f"{SOURCE}, VIII-D",
        partial(_distances, network=LambdaNetwork),
    ),
    Item("siegel-fig14", "Routing ring of a Lambda network", f"{SOURCE}, VIII-D", _figure_14),
)
