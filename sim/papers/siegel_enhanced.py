"""Figures 7 and 8 of Siegel et al.: dilated and replicated networks."""

from collections.abc import Callable
from typing import Any

from ...hdl.fabric.fabric import Pin
from ...hdl.graphs.plans.multistage import multistage_plan
from ...hdl.networks import MultistageNetwork
from ...hdl.networks.stage_layout import plan_diagram
from ..report.drawing import diagram_figure
from ..theory.multistage_cube import dilated_throughput, replicated_throughput
from .item import Column, Item, Options, PaperResult, deviation
from .siegel_bandwidth import measure_unbuffered
from .siegel_structure import SOURCE, stage_names

__all__ = ["ITEMS"]

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


def _compared(
    options: Options,
    name: str,
    enhancement: dict[str, Any],
    throughput: Callable[[float, int, int, int], float],
    picture: dict[str, Any],
    notes: tuple[str, ...],
) -> PaperResult:
    """The enhanced network beside the basic one, at the figure's size and at a larger one.

    `throughput` is the formula, a function of p, k, the number of stages, and the number of links
    or copies.
    """
    rows = []
    for ports in (_PORTS, _LARGER):
        for kind, factor in (("basic", 1), (name, _FACTOR)):
            parameters = enhancement if factor > 1 else {}
            network = MultistageNetwork(ports, switch="unbuffered", **parameters)
            predicted = throughput(1, network.radix, network.stages, factor)
            result = measure_unbuffered(ports, 2, [1.0], options, **parameters)[0]
            rows.append(
                {"network": kind, "ports": ports}
                | _parts(network)
                | {
                    "measured": result.throughput,
                    "ci99": result.throughput_ci99,
                    "predicted": predicted,
                    "deviation": deviation(result.throughput, predicted),
                }
            )
    plan = multistage_plan("cube", _PORTS)
    return PaperResult(
        columns=(
            Column("network"),
            Column("ports", "N"),
            Column("boxes"),
            Column("links"),
            Column("crosspoints"),
            Column("measured", "throughput, RTL", ".4f"),
            Column("ci99", "± 99 %", ".4f"),
            Column("predicted", "formula", ".4f"),
            Column("deviation", format="+.2%"),
        ),
        rows=rows,
        draw=lambda: diagram_figure(plan_diagram(plan, stage_names=stage_names(plan), **picture)),
        notes=(
            "Parts are counted in the netlist. Throughput: packets per terminal per cycle, p = 1.",
            *notes,
        ),
    )


def figure_7(options: Options) -> PaperResult:
    """Two links in place of each link between stages."""
    return _compared(
        options,
        f"{_FACTOR}-dilated",
        {"dilation": _FACTOR},
        dilated_throughput,
        {"links": _FACTOR},
        ("A terminal sends and accepts one packet per cycle, so its links are single.",),
    )


def figure_8(options: Options) -> PaperResult:
    """Two copies between the same terminals."""
    return _compared(
        options,
        f"{_FACTOR}-replicated",
        {"replication": _FACTOR},
        replicated_throughput,
        {"copies": _FACTOR},
        (
            "The formula assumes that the copies are independent. But a source that sends into one "
            "does not send",
            "into the other, so there are fewer conflicts: for N = 4 exactly 663/1024 = 0.6475.",
        ),
    )


ITEMS = (
    Item(
        "siegel-fig7",
        "Two-dilation of the multistage cube for N = 4",
        f"{SOURCE}, VI-A and VI-B",
        figure_7,
    ),
    Item(
        "siegel-fig8",
        "Two-replication of the multistage cube for N = 4",
        f"{SOURCE}, VI-A and VI-B",
        figure_8,
    ),
)
