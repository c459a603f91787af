"""Figures 7 and 8 of Siegel et al.: dilated and replicated networks."""

from ...hdl.networks import MultistageNetwork
from ...hdl.topology import multistage_plan
from ..drawing import multistage_figure
from ..theory.multistage_cube import unbuffered_throughput
from .item import Column, Item, Options, PaperResult, deviation
from .siegel_bandwidth import measure_unbuffered
from .siegel_structure import SOURCE, stage_names

__all__ = ["ITEMS"]

_PORTS = 4
_FACTOR = 2


def _parts(network: MultistageNetwork) -> dict[str, int]:
    """What a network is made of, counted in its netlist.

    A box with a inputs and b outputs has a b crosspoints.
    """
    inputs: dict[str, int] = {}
    outputs: dict[str, int] = {}
    between = 0
    for driver, receiver in network.fabric.links:
        ends = [pin.cell is not None and pin.cell.startswith("box_") for pin in (driver, receiver)]
        if ends[0]:
            outputs[driver.cell] = outputs.get(driver.cell, 0) + 1
        if ends[1]:
            inputs[receiver.cell] = inputs.get(receiver.cell, 0) + 1
        between += all(ends)
    crosspoints = sum(count * outputs[cell] for cell, count in inputs.items())
    return {"boxes": len(inputs), "links": between, "crosspoints": crosspoints}


def _throughput(ports: int, dilation: int = 1, replication: int = 1) -> float | None:
    """What theory gives for 2 x 2 boxes at p = 1."""
    stages = ports.bit_length() - 1
    return 1 - (1 - unbuffered_throughput(1 / replication, 2, stages)) ** replication


def _compared(
    name: str, options: Options, draw_options: dict[str, int], **enhancement: int
) -> PaperResult:
    rows = []
    for ports in (_PORTS, 64):
        for kind, parameters in (("basic", {}), (name, enhancement)):
            network = MultistageNetwork(ports, switch="unbuffered", **parameters)
            predicted = _throughput(ports, **parameters)
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
            Column("links", "links between stages"),
            Column("crosspoints"),
            Column("measured", "throughput, RTL", ".4f"),
            Column("ci99", "± 99 %", ".4f"),
            Column("predicted", "formula", ".4f"),
            Column("deviation", format="+.2%"),
        ),
        rows=rows,
        draw=lambda: multistage_figure(plan, stage_names=stage_names(plan), **draw_options),
        notes=("Counted in the netlist; throughput in packets a terminal and cycle at p = 1.",),
    )


def figure_7(options: Options) -> PaperResult:
    """Two links in the place of each between stages."""
    return _compared("2-dilated", options, {"links": _FACTOR}, dilation=_FACTOR)


def figure_8(options: Options) -> PaperResult:
    """Two copies between the same terminals."""
    return _compared("2-replicated", options, {"copies": _FACTOR}, replication=_FACTOR)


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
