"""Placement of meters at the outputs of a network's cells that are to be counted, and at links."""

from collections.abc import Collection

import numpy as np

from ..fabric.cell import Cell, CellType
from ..fabric.fabric import Fabric
from ..fabric.pins import Pin, Pins
from ..fabric.wires import Streams
from .instruments import EventMeter, LevelMeter, LinkMeter

__all__ = ["meter_links", "place_meters"]


def place_meters(
    fabric: Fabric, measure: Pin, only: Collection[str] | None = None
) -> dict[str, dict[str, str]]:
    """Add a meter to each output that a cell of the fabric declares in its `meters`.

    The meter of output `port` of a cell is `meter_{cell}_{port}`.

    Parameters
    ----------
    fabric : Fabric
    measure : Pin
        The driver of `measure` of all meters.
    only : Collection[str], optional
        Statistics to count; all by default.

    Returns
    -------
    dict
        By statistic and by the name of the cell: the name of the meter.
    """
    placed: dict[str, dict[str, str]] = {}
    # Sharing one object for equal types also shares what is cached about their ports.
    types: dict[tuple[str, int], CellType] = {}
    for statistic, outputs in fabric.metered().items():
        if only is not None and statistic not in only:
            continue
        for pin, declared in outputs:
            width = fabric.cells[str(pin.cell)].type.leaves[pin.path].width
            if not width:
                continue  # a router to which nothing leads
            level = declared.kind == "level"
            if (declared.kind, width) not in types:
                types[declared.kind, width] = (
                    CellType(LevelMeter, width=width)
                    if level
                    else CellType(EventMeter, width=width, number=declared.kind == "number")
                )
            type_, port = types[declared.kind, width], "level" if level else "events"
            meter = fabric.place(Cell(f"meter_{pin.cell}_{declared.port}", type_))
            fabric.link(measure, Pin(meter.name, ("measure",)))
            fabric.link(pin, Pin(meter.name, (port,)))
            placed.setdefault(statistic, {})[str(pin.cell)] = meter.name
    return placed


def meter_links(fabric: Fabric, streams: Streams, measure: Pin) -> list[tuple[str, list[Pin]]]:
    """Add a meter to the streams that leave each cell.

    Parameters
    ----------
    fabric : Fabric
    streams : Streams
    measure : Pin
        The driver of `measure` of all meters.

    Returns
    -------
    list
        The name of each meter, `meter_{cell}`, and the drivers of its links.
    """
    cells = streams.drivers.cell
    _, firsts, which, counts = np.unique(cells, True, True, True)
    # Meters in the order of the first links of their cells, and links in the order of their meters.
    order = np.argsort(firsts)
    firsts, counts = firsts[order], counts[order]
    streams = streams.some(np.argsort(np.argsort(order)[which], kind="stable"))
    types = {count: CellType(LinkMeter, links=count) for count in set(counts.tolist())}
    names = [f"meter_{streams.drivers.cells[cell]}" for cell in cells[firsts].tolist()]
    fabric.place_all([Cell(name, types[count]) for name, count in zip(names, counts.tolist())])
    ends = np.cumsum(counts)
    meter = np.repeat(np.arange(len(names)), counts)
    number = np.arange(len(meter)) - (ends - counts)[meter]
    for pins, port in zip(streams, ("valid", "ready")):
        ports = [(port, index) for index in range(max(types, default=0))]
        fabric.link_all(pins.below((port,)), Pins(names, ports, meter, number))
    fabric.link_all(Pins.same(measure, len(names)), Pins.of_each(names, ("measure",)))
    outputs = [*streams.drivers.each()]
    return [
        (name, outputs[end - count : end])
        for name, end, count in zip(names, ends.tolist(), counts.tolist())
    ]
