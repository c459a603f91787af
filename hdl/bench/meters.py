"""Placement of meters at the outputs of a network's cells that are to be counted."""

from collections.abc import Collection

from ..fabric.fabric import Cell, CellType, Fabric, Pin
from .instruments import EventMeter, LevelMeter

__all__ = ["place_meters"]


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
