"""Figures 7 and 8: dilated and replicated networks."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal

from matplotlib.figure import Figure

from ....hdl.fabric.pins import Pin
from ....hdl.families.multistage.multistage_network import MultistageNetwork
from ....hdl.graphs.plans.named_plans import multistage_plan
from ....hdl.networks.plan_diagram import plan_diagram
from ...report.diagram_figure import diagram_figure
from ...theory.unbuffered_bandwidth import dilated_throughput, replicated_throughput
from ..item import Item, Options, Row, throughput_row
from . import SOURCE
from .fig1 import stage_names
from .fig9 import measure_unbuffered

__all__ = ["FIG7", "FIG8"]

_PORTS = 4
_LARGER = 64
_FACTOR = 2


def _box(pin: Pin) -> str | None:
    """The box that a pin belongs to, if any."""
    return pin.cell if pin.cell is not None and pin.cell.startswith("box_") else None


def _parts(network: MultistageNetwork) -> dict[str, int]:
    """The parts of a network, counted in its netlist.

    A box with a inputs and b outputs has a x b crosspoints.
    """
    inputs: dict[str, int] = {}
    outputs: dict[str, int] = {}
    between = 0
    for driver, receiver in network.fabric.links:
        source, target = _box(driver), _box(receiver)
        if source is not None:
            outputs[source] = outputs.get(source, 0) + 1
        if target is not None:
            inputs[target] = inputs.get(target, 0) + 1
        between += source is not None and target is not None
    crosspoints = sum(count * outputs[cell] for cell, count in inputs.items())
    return {"boxes": len(inputs), "links": between, "crosspoints": crosspoints}


def _enhanced(
    number: int,
    word: Literal["dilation", "replication"],
    throughput: Callable[[float, int, int, int], float],
    picture: Mapping[str, Any],
    *notes: str,
) -> Item:
    """The enhanced network beside the basic one, at the figure's size and at a larger one.

    `throughput` is the formula, a function of p, k, the number of stages, and the number of links
    or copies.
    """
    name = {"dilation": "dilated", "replication": "replicated"}[word]

    def rows(options: Options) -> Iterator[Row]:
        for ports in (_PORTS, _LARGER):
            for kind, factor in (("basic", 1), (f"{_FACTOR}-{name}", _FACTOR)):
                parameters: dict[str, Any] = {word: factor} if factor > 1 else {}
                network = MultistageNetwork(ports, switch="unbuffered", **parameters)
                (result,) = measure_unbuffered(ports, 2, [1.0], options, **parameters)
                predicted = throughput(1, network.radix, network.stages, factor)
                row = {"network": kind, "ports": ports}
                yield row | _parts(network) | throughput_row(result, predicted)

    def draw(rows: Sequence[Row]) -> Figure:
        plan = multistage_plan("cube", _PORTS)
        return diagram_figure(plan_diagram(plan, stage_names=stage_names(plan), **picture))

    return Item(
        f"siegel-fig{number}",
        f"Two-{word} of the multistage cube for N = 4",
        f"{SOURCE}, VI-A and VI-B",
        columns="network | ports = N | boxes | links | crosspoints"
        " | measured = throughput, RTL : .4f | ci99 = ± 99 % : .4f"
        " | predicted = formula : .4f | deviation : +.2%",
        rows=rows,
        draw=draw,
        notes=(
            "Parts are counted in the netlist. Throughput: packets per terminal per cycle, p = 1.",
            *notes,
        ),
    )


FIG7 = _enhanced(
    7,
    "dilation",
    dilated_throughput,
    {"links": _FACTOR},
    "A terminal sends and accepts one packet per cycle, so its links are single.",
)
FIG8 = _enhanced(
    8,
    "replication",
    replicated_throughput,
    {"copies": _FACTOR},
    "The formula assumes that the copies are independent. But a source that sends into one "
    "does not send",
    "into the other, so there are fewer conflicts: for N = 4 exactly 663/1024 = 0.6475.",
)
