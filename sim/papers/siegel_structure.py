"""Figures 1, 2, 3 and 6 of Siegel et al.: the network, and the settings of its boxes.

Stages have the paper's numbers: stage i pairs the lines that differ in bit i, and a packet passes
stage n - 1 first.
"""

from collections.abc import Iterable
from functools import partial
from typing import Any

from matplotlib.figure import Figure

from ...hdl.boxes import BoxState
from ...hdl.fabric.fabric import Pin
from ...hdl.graphs.permutations import cyclic_shift
from ...hdl.graphs.plans.multistage import Hop, MultistagePlan, multistage_plan
from ...hdl.graphs.schedules.passes import settings, state_name
from ...hdl.networks import MultistageNetwork
from ...hdl.networks.stage_layout import plan_diagram, plan_path
from ..measure.result import Result
from ..report.drawing import HIGHLIGHT, Marks, diagram_figure, draw_box, draw_diagram
from ..run.simulation import whole_run
from ..workload.traffic import Trace, TracePacket
from .item import Column, Item, Options, PaperResult

__all__ = ["ITEMS", "SOURCE", "box_label", "stage_names"]

SOURCE = "Siegel et al. 1989"

_PORTS = 8


def stage_names(plan: MultistagePlan) -> list[str]:
    """The paper's numbers of the stages of a cube, in the order in which a packet passes them."""
    return [f"stage {stage.digit}" for stage in plan.stages]


def box_label(plan: MultistagePlan, stage: int, box: int) -> str:
    """The name of a box: the labels of its lines."""
    lines = (plan.line(stage, box, port) for port in range(plan.radices[stage]))
    return " ".join(_bits(plan, line) for line in lines)


def _bits(plan: MultistagePlan, number: int) -> str:
    return f"{number:0{plan.code.width}b}"


def _state_name(state: BoxState) -> str:
    return state.name.lower().replace("_", " ")


def _connections(state: BoxState) -> set[tuple[int, int]]:
    """The (input, output) pairs that a 2 x 2 box connects in a state."""
    return {(state.value & 1, 0), (~state.value >> 1 & 1, 1)}


def _state(used: Iterable[tuple[int, int]]) -> BoxState:
    """The state that makes these connections; for a single one, straight or exchange."""
    used = set(used)
    order = (
        *(BoxState.STRAIGHT, BoxState.EXCHANGE),
        *(BoxState.LOWER_BROADCAST, BoxState.UPPER_BROADCAST),
    )
    return next(state for state in order if used <= _connections(state))


def _settings(plan: MultistagePlan, hops: Iterable[Hop]) -> dict[tuple[int, int], BoxState]:
    """The states of the boxes, by (stage, box), that let packets take all these hops at once."""
    used: dict[tuple[int, int], set[tuple[int, int]]] = {}
    for hop in hops:
        used.setdefault((hop.stage, hop.box), set()).add((hop.input, hop.output))
    return {place: _state(connections) for place, connections in sorted(used.items())}


def _send(
    packets: Iterable[TracePacket], options: Options, **parameters: Any
) -> tuple[MultistageNetwork, Result]:
    """Send packets through the RTL of the network."""
    network = MultistageNetwork(_PORTS, depth=2, **parameters)
    trace = Trace("figure", tuple(packets))
    return network, whole_run(network, traffic=trace, engine=options.engine)


def _crossed(network: MultistageNetwork, result: Result) -> list[tuple[int, int, int]]:
    """The links that packets crossed, as (stage, box, output)."""
    plan = network.plan
    return [
        (s, box, port)
        for s in range(len(plan.stages))
        for box in range(plan.boxes)
        for port in range(plan.radix)
        if result.links[network.wires[Pin(f"box_{s}_{box}", ("o", port))].link] > 0
    ]


# --- Figure 1 ---------------------------------------------------------------------------------


def figure_1(options: Options) -> PaperResult:
    """The network and the states of its boxes."""
    plan = multistage_plan("cube", _PORTS)
    rows = [
        {
            "stage": stage.digit,
            "box": box,
            "upper": _bits(plan, plan.line(s, box, 0)),
            "lower": _bits(plan, plan.line(s, box, 1)),
        }
        for s, stage in enumerate(plan.stages)
        for box in range(plan.boxes)
    ]

    def draw() -> Figure:
        figure = Figure(figsize=(8.7, 6.8), layout="tight")
        network, states = figure.subplots(2, 1, height_ratios=(5, 1))
        draw_diagram(plan_diagram(plan, stage_names=stage_names(plan)), network)
        for column, state in enumerate(
            (
                *(BoxState.STRAIGHT, BoxState.EXCHANGE),
                *(BoxState.LOWER_BROADCAST, BoxState.UPPER_BROADCAST),
            )
        ):
            left = 3.4 * column
            inside = dict.fromkeys(_connections(state), HIGHLIGHT)
            draw_box(states, left, (0, -0.7), inside)
            for y in (0, -0.7):
                states.plot([left - 0.5, left], [y, y], color="black", linewidth=0.8)
                states.plot([left + 1, left + 1.5], [y, y], color="black", linewidth=0.8)
            states.text(left + 0.5, -1.5, _state_name(state), ha="center", fontsize=8)
        states.set_axis_off()
        states.set_aspect("equal")
        states.set_xlim(-1.5, 12.7)
        return figure

    return PaperResult(
        columns=(
            Column("stage"),
            Column("box"),
            Column("upper", "upper lines"),
            Column("lower", "lower lines"),
        ),
        rows=rows,
        draw=draw,
        notes=(
            "Each box can be set, on its own, to straight, exchange, lower or upper broadcast.",
            "The lines of a box of stage i differ in bit i of their labels only.",
        ),
    )


# --- Figure 2 ---------------------------------------------------------------------------------

_PUBLISHED_PATH = {
    "input": ("110", None),
    2: ("010", "exchange"),
    1: ("000", "exchange"),
    0: ("000", "straight"),
}
"""Line after each stage, and setting of the box, from the text of the paper."""


def figure_2(options: Options) -> PaperResult:
    """The path from 6 to 0: by the formula, on the RTL, and in the paper."""
    source, destination = 6, 0
    network, result = _send([TracePacket(0, source, destination)], options)
    plan = network.plan
    measured: dict[int | str, int] = {"input": source}
    for link in _crossed(network, result):
        measured[plan.stages[link[0]].digit] = plan.line(*link)
    rows: list[dict[str, Any]] = []
    before = source
    for place, line in measured.items():
        row: dict[str, Any] = {"after": place, "measured": _bits(plan, line)}
        if isinstance(place, str):
            row["predicted"] = _bits(plan, source)
        else:
            # The destination's bits from the top down to this stage's, and the source's below.
            low = (1 << place) - 1
            row["predicted"] = _bits(plan, destination & ~low | source & low)
            row["xor"] = (source ^ destination) >> place & 1
            row["destination"] = destination >> place & 1
            row["setting"] = "straight" if line == before else "exchange"
        row["published"], row["published_setting"] = _PUBLISHED_PATH[place]
        row["agrees"] = (
            row["measured"] == row["predicted"] == row["published"]
            and row.get("setting") == row["published_setting"]
        )
        rows.append(row)
        before = line
    diagram = plan_diagram(plan, stage_names=stage_names(plan))
    marks = Marks.paths(diagram, partial(plan_path, plan), [(source, destination)])
    return PaperResult(
        columns=(
            Column("after", "after stage"),
            Column("measured", "line, RTL"),
            Column("predicted", "formula"),
            Column("published", "in paper"),
            Column("xor", "XOR tag bit"),
            Column("destination", "dest. tag bit"),
            Column("setting", "box, RTL"),
            Column("published_setting", "in paper"),
            Column("agrees"),
        ),
        rows=rows,
        draw=lambda: diagram_figure(diagram, marks),
        notes=(
            "From input 6 to output 0: XOR tag 110, destination tag 000.",
            "The line after stage i is d(n-1) ... d(i) s(i-1) ... s(0).",
        ),
    )


# --- Figure 3 ---------------------------------------------------------------------------------


def broadcast_hops(plan: MultistagePlan, source: int, tag: int, mask: int) -> list[Hop]:
    """The boxes that a broadcast passes in a cube; where the mask is 1, it takes both outputs."""
    hops = []
    lines = {source}
    for s, stage in enumerate(plan.stages):
        reached = set()
        both = mask >> stage.digit & 1
        for line in sorted(lines):
            box, port = plan.port(s, line)
            for output in (0, 1) if both else (tag >> stage.digit & 1,):
                hops.append(Hop(s, box, port, output))
                reached.add(plan.line(s, box, output))
        lines = reached
    return hops


def figure_3(options: Options) -> PaperResult:
    """The broadcast from 0 to 4, 5, 6 and 7, by destination tag 100 and mask 011."""
    source, tag, mask = 0, 0b100, 0b011
    packet = TracePacket(0, source, tag, mask=mask)
    network, result = _send([packet], options, broadcast=1)
    plan = network.plan
    hops = broadcast_hops(plan, source, tag, mask)
    crossed = _crossed(network, result)
    rows = []
    for (s, box), state in _settings(plan, hops).items():
        i = plan.stages[s].digit
        outputs = [link for link in crossed if link[:2] == (s, box)]
        expected = [(*hop[:2], hop.output) for hop in hops if hop[:2] == (s, box)]
        rows.append(
            {
                "stage": i,
                "box": box_label(plan, s, box),
                "tag": tag >> i & 1,
                "mask": mask >> i & 1,
                "setting": _state_name(state),
                "measured": ", ".join(_bits(plan, plan.line(*link)) for link in outputs),
                "predicted": ", ".join(_bits(plan, plan.line(*link)) for link in expected),
            }
        )
    reached = [output for output, count in enumerate(result.terminals["delivered"]) if count]
    diagram = plan_diagram(plan, stage_names=stage_names(plan))
    marks = Marks.paths(diagram, partial(plan_path, plan), [(source, output) for output in reached])
    return PaperResult(
        columns=(
            Column("stage"),
            Column("box", "box of lines"),
            Column("tag", "tag bit"),
            Column("mask", "mask bit"),
            Column("setting"),
            Column("measured", "lines after it, RTL"),
            Column("predicted", "by tag and mask"),
        ),
        rows=rows,
        draw=lambda: diagram_figure(diagram, marks),
        notes=(
            f"Destination tag {_bits(plan, tag)}, broadcast mask {_bits(plan, mask)}, from input "
            f"{source}.",
            f"Outputs reached on the RTL: {', '.join(map(str, reached))}; published: 4, 5, 6, 7.",
        ),
    )


# --- Figure 6 ---------------------------------------------------------------------------------


def figure_6(options: Options) -> PaperResult:
    """The permutation j to j - 1 modulo N, passed at once."""
    permutation = cyclic_shift(_PORTS, -1)
    pairs = list(enumerate(permutation))
    network, result = _send((TracePacket(0, *pair) for pair in pairs), options)
    plan = network.plan
    crossed = _crossed(network, result)
    rows = [
        {
            "stage": plan.stages[s].digit,
            "box": box_label(plan, s, box),
            "setting": state_name(setting),
            "crossed": sum(link[:2] == (s, box) for link in crossed),
        }
        for s, column in enumerate(settings(plan, permutation))
        for box, setting in enumerate(column)
    ]
    diagram = plan_diagram(plan, stage_names=stage_names(plan))
    marks = Marks.paths(diagram, partial(plan_path, plan), pairs, "C0")
    return PaperResult(
        columns=(
            Column("stage"),
            Column("box", "box of lines"),
            Column("setting"),
            Column("crossed", "outputs used, RTL"),
        ),
        rows=rows,
        draw=lambda: diagram_figure(diagram, marks),
        notes=(
            f"RTL: {result.delivered} packets sent in one cycle, input j to output j - 1 modulo "
            f"{_PORTS}, all arrive; the slowest after {result.latency.max} cycles (no conflict: "
            f"{network.stages}).",
        ),
    )


ITEMS = (
    Item(
        "siegel-fig1",
        "The multistage cube for N = 8, and the four states of its boxes",
        f"{SOURCE}, III-A",
        figure_1,
    ),
    Item("siegel-fig2", "Path from input 6 to output 0", f"{SOURCE}, III-B and III-C", figure_2),
    Item(
        "siegel-fig3",
        "Broadcast from input 0 to outputs 4, 5, 6 and 7",
        f"{SOURCE}, III-B and III-C",
        figure_3,
    ),
    Item(
        "siegel-fig6",
        "Permutation of input j to output j - 1 modulo N, N = 8",
        f"{SOURCE}, V",
        figure_6,
    ),
)
