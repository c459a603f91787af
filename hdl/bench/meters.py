"""Placement of meters at the outputs of a network's cells that are to be counted."""

from collections.abc import Collection

from ..core.fabric import Cell, CellType, Fabric, Pin
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
    types: dict[CellType, CellType] = {}
    for statistic, outputs in fabric.metered().items():
        if only is not None and statistic not in only:
            continue
        for pin, declared in outputs:
            width = fabric.resolve(pin)[()][0].width
            if declared.kind == "level":
                type_, port = CellType(LevelMeter, width=width), "level"
            else:
                number = declared.kind == "number"
                type_, port = CellType(EventMeter, width=width, number=number), "events"
            # Sharing one object for equal types also shares what is cached about their ports.
            type_ = types.setdefault(type_, type_)
            meter = fabric.place(Cell(f"meter_{pin.cell}_{declared.port}", type_))
            fabric.link(measure, Pin(meter.name, ("measure",)))
            fabric.link(pin, Pin(meter.name, (port,)))
            placed.setdefault(statistic, {})[str(pin.cell)] = meter.name
    return placed
