"""Placement of meters at the outputs of a network's cells that are to be counted, and at links."""

from collections.abc import Collection, Sequence

from ..fabric.fabric import Cell, CellType, Fabric, Path, Pin, Pins
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


def meter_links(
    fabric: Fabric, links: Sequence[tuple[Pin, Pin]], measure: Pin
) -> list[tuple[str, list[Pin]]]:
    """Add a meter to the links that leave each cell, given as driver and receiver of a stream.

    Parameters
    ----------
    fabric : Fabric
    links : Sequence[tuple[Pin, Pin]]
    measure : Pin
        The driver of `measure` of all meters.

    Returns
    -------
    list
        The name of each meter, `meter_{cell}`, and the drivers of its links.
    """
    leaving: dict[str | None, list[tuple[Pin, Pin]]] = {}
    for driver, receiver in links:
        leaving.setdefault(driver.cell, []).append((driver, receiver))
    types = {count: CellType(LinkMeter, links=count) for count in set(map(len, leaving.values()))}
    placed: list[tuple[str, list[Pin]]] = []
    drivers: list[str | None] = []
    outputs: list[Path] = []
    meters: list[str | None] = []
    inputs: list[Path] = []
    counted = [(("valid", index), ("ready", index)) for index in range(max(types, default=0))]
    for cell, pairs in leaving.items():
        meter = fabric.place(Cell(f"meter_{cell}", types[len(pairs)])).name
        for (driver, receiver), ports in zip(pairs, counted):
            drivers += (driver.cell, receiver.cell)
            outputs += ((*driver.path, "valid"), (*receiver.path, "ready"))
            inputs += ports
        meters += [meter] * (2 * len(pairs))
        placed.append((meter, [driver for driver, _ in pairs]))
    fabric.link_all(Pins(drivers, outputs), Pins(meters, inputs))
    names = [name for name, _ in placed]
    always = Pins.alike([measure.cell] * len(names), measure.path)
    fabric.link_all(always, Pins.alike(names, ("measure",)))
    return placed
