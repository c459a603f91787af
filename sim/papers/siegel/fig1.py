"""Figure 1: the multistage cube for N = 8, and the four states of its boxes.

Stages have the paper's numbers: stage i pairs the lines that differ in bit i, and a packet passes
stage n - 1 first. Figures 2, 3 and 6 show this network with packets.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from matplotlib.figure import Figure

from ....hdl.boxes import BoxState
from ....hdl.fabric.pins import Pin
from ....hdl.families.multistage.multistage_network import MultistageNetwork
from ....hdl.graphs.plans.multistage import Hop, MultistagePlan
from ....hdl.graphs.plans.named_plans import multistage_plan
from ....hdl.networks.plan_diagram import plan_diagram, plan_path
from ...measure.result import Result
from ...report.diagram_figure import HIGHLIGHT, Marks, diagram_figure, draw_box, draw_diagram
from ...run.simulation import whole_run
from ...workload.traffic import Trace, TracePacket
from ..item import Item, Options, Row
from . import SOURCE

__all__ = [
    "FIG1",
    "PORTS",
    "STATES",
    "bits",
    "box_label",
    "box_state_name",
    "connections_of",
    "crossed_links",
    "draw_paths",
    "sent",
    "stage_names",
    "states_of",
]

PORTS = 8

STATES = (
    *(BoxState.STRAIGHT, BoxState.EXCHANGE),
    *(BoxState.LOWER_BROADCAST, BoxState.UPPER_BROADCAST),
)
"""The states of a box, as the paper lists them."""


def _state(used: Iterable[tuple[int, int]]) -> BoxState:
    """The state that makes these connections; for a single one, straight or exchange."""
    used = set(used)
    return next(state for state in STATES if used <= connections_of(state))


def stage_names(plan: MultistagePlan) -> list[str]:
    """The paper's numbers of the stages of a cube, in the order in which a packet passes them."""
    return [f"stage {stage.digit}" for stage in plan.stages]


def box_label(plan: MultistagePlan, stage: int, box: int) -> str:
    """The name of a box: the labels of its lines."""
    lines = (plan.line(stage, box, port) for port in range(plan.radices[stage]))
    return " ".join(bits(plan, line) for line in lines)


def bits(plan: MultistagePlan, number: int) -> str:
    """The label of a line."""
    return f"{number:0{plan.code.width}b}"


def box_state_name(state: BoxState) -> str:
    """The name of a state in words."""
    return state.name.lower().replace("_", " ")


def connections_of(state: BoxState) -> set[tuple[int, int]]:
    """The (input, output) pairs that a 2 x 2 box connects in a state."""
    return {(state.value & 1, 0), (~state.value >> 1 & 1, 1)}


def states_of(plan: MultistagePlan, hops: Iterable[Hop]) -> dict[tuple[int, int], BoxState]:
    """The states of the boxes, by (stage, box), that let packets take all these hops at once."""
    used: dict[tuple[int, int], set[tuple[int, int]]] = {}
    for hop in hops:
        used.setdefault((hop.stage, hop.box), set()).add((hop.input, hop.output))
    return {place: _state(connections) for place, connections in sorted(used.items())}


def sent(
    packets: Iterable[TracePacket], options: Options, **parameters: Any
) -> tuple[MultistageNetwork, Result]:
    """Send packets through the RTL of the network."""
    network = MultistageNetwork(PORTS, depth=2, **parameters)
    trace = Trace("figure", tuple(packets))
    return network, whole_run(network, traffic=trace, engine=options.engine)


def crossed_links(network: MultistageNetwork, result: Result) -> list[tuple[int, int, int]]:
    """The links that packets crossed, as (stage, box, output)."""
    plan = network.plan
    return [
        (s, box, port)
        for s in range(len(plan.stages))
        for box in range(plan.boxes)
        for port in range(plan.radix)
        if result.links[network.wires[Pin(f"box_{s}_{box}", ("o", port))].link] > 0
    ]


def draw_paths(pairs: Iterable[tuple[int, int]], colour: str = HIGHLIGHT) -> Figure:
    """The cube, with the paths between these terminals."""
    plan = multistage_plan("cube", PORTS)
    diagram = plan_diagram(plan, stage_names=stage_names(plan))
    return diagram_figure(diagram, Marks.paths(diagram, partial(plan_path, plan), pairs, colour))


def _rows(options: Options) -> Iterator[Row]:
    plan = multistage_plan("cube", PORTS)
    for s, stage in enumerate(plan.stages):
        for box in range(plan.boxes):
            upper, lower = (bits(plan, plan.line(s, box, port)) for port in (0, 1))
            yield {"stage": stage.digit, "box": box, "upper": upper, "lower": lower}


def _draw(rows: Sequence[Row]) -> Figure:
    plan = multistage_plan("cube", PORTS)
    figure = Figure(figsize=(8.7, 6.8), layout="tight")
    network, states = figure.subplots(2, 1, height_ratios=(5, 1))
    draw_diagram(plan_diagram(plan, stage_names=stage_names(plan)), network)
    for column, state in enumerate(STATES):
        left = 3.4 * column
        inside = dict.fromkeys(connections_of(state), HIGHLIGHT)
        draw_box(states, left, (0, -0.7), inside)
        for y in (0, -0.7):
            states.plot([left - 0.5, left], [y, y], color="black", linewidth=0.8)
            states.plot([left + 1, left + 1.5], [y, y], color="black", linewidth=0.8)
        states.text(left + 0.5, -1.5, box_state_name(state), ha="center", fontsize=8)
    states.set_axis_off()
    states.set_aspect("equal")
    states.set_xlim(-1.5, 12.7)
    return figure


FIG1 = Item(
    "siegel-fig1",
    "The multistage cube for N = 8, and the four states of its boxes",
    f"{SOURCE}, III-A",
    columns="stage | box | upper = upper lines | lower = lower lines",
    rows=_rows,
    draw=_draw,
    notes=(
        "Each box can be set, on its own, to straight, exchange, lower or upper broadcast.",
        "The lines of a box of stage i differ in bit i of their labels only.",
    ),
    ignores=("cycles", "engine", "seed"),
)
