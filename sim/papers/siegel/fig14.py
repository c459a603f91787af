"""Figure 14: the routing ring of a Lambda network, and the path of a packet on it."""

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ....hdl.families.single_stage.single_stage_graph import Lambda
from ....hdl.families.single_stage.single_stage_network import LambdaNetwork
from ...measure.result import Result
from ...report.diagram_figure import HIGHLIGHT
from ...run.simulation import whole_run
from ...workload.traffic import Trace, TracePacket
from ..item import Item, Options, Row
from . import SOURCE

__all__ = ["FIG14", "RingStep", "loop_resultant", "ring_steps"]

_STAGES, _QUICK_STAGES = 8, 5


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


def _example(options: Options) -> tuple[LambdaNetwork, Lambda, int, int]:
    """The network, its graph, and the ends of the path."""
    built = LambdaNetwork(stages=_QUICK_STAGES if options.quick else _STAGES)
    graph = built.relation
    assert isinstance(graph, Lambda)
    label, stage = _QUICK_EXAMPLE if options.quick else _EXAMPLE
    return built, graph, graph.node(2, 0), stage << graph.stages - 1 | label


def _rows(options: Options) -> Iterator[Row]:
    built, graph, source, destination = _example(options)
    packet = Trace("figure", (TracePacket(0, source, destination),))
    after = _crossed(whole_run(built, traffic=packet, engine=options.engine, bins=64))
    measured: str | None = graph.name(source)
    for number, step in enumerate(ring_steps(graph, source, destination)):
        name = graph.name(step.node)
        yield {
            "step": number,
            "node": name,
            "measured": measured,
            "agrees": measured == name,
            "loop": f"{step.loop:0{graph.stages}b}",
            "resultant": step.resultant,
            "direction": {None: "arrived", False: "forward", True: "back"}[step.backward],
            "quick": options.quick,
        }
        measured = after.get(measured or "")


def _notes(rows: Sequence[Row], options: Options) -> Iterator[str]:
    _, graph, source, destination = _example(options)
    steps = list(ring_steps(graph, source, destination))
    initial = loop_resultant(graph, graph.loops(source)[0], destination)
    yield (
        f"From {graph.name(source)} to {graph.name(destination)} in {graph.nodes:,} nodes: "
        f"{len(steps) - 1} steps, {len(_legs(steps)) - 1} changes of direction. x is the don't "
        "care of the destination's stage."
    )
    yield (
        f"On the source's upper loop the resultant is {initial}. Where its bit is 1, the "
        "packet changes loops before it goes on."
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


def _draw(rows: Sequence[Row]) -> Figure:
    """The ring of the example that the rows show."""
    _, graph, source, destination = _example(Options(quick=rows[0]["quick"]))
    initial = loop_resultant(graph, graph.loops(source)[0], destination)
    steps = list(ring_steps(graph, source, destination))
    return _draw_ring(graph, steps, initial, graph.stage(destination))


def _draw_ring(graph: Lambda, steps: Sequence[RingStep], initial: str, goal: int) -> Figure:
    """The ring, stages clockwise from the top; the path outside, each phase further out."""
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


FIG14 = Item(
    "siegel-fig14",
    "Routing ring of a Lambda network",
    f"{SOURCE}, VIII-D",
    columns="step | node | measured = node, RTL | agrees | loop = loop it leaves on"
    " | resultant = loop resultant | direction",
    rows=_rows,
    draw=_draw,
    notes=_notes,
    ignores=("cycles", "seed"),
)
