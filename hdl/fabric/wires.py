"""Names of the links of a fabric for people: `node 5 -> node 6, +x`."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from .fabric import Fabric, Path, Pin

__all__ = ["Lane", "Wire", "named_wires", "streams"]


class Lane(NamedTuple):
    """What an output tells of its link: the direction, and the number of its virtual channel.

    Channels of one link share its wires: they have the same ends and the same direction.
    """

    direction: str = ""
    channel: int = 0


class Wire(NamedTuple):
    """The wires that an output drives: the name of their link, and the channel that it sends on."""

    link: str
    channel: int = 0


def named_wires(
    fabric: Fabric,
    links: Iterable[tuple[Pin, Pin]],
    lane: Callable[[Pin], Lane],
    terminal: str = "terminal",
) -> dict[Pin, Wire]:
    """Name the wires of links, each given as its driver and its receiver.

    A name consists of the titles of both cells and the direction. Links that would have the same
    name are numbered. A link from a cell to itself, as at the edge of a mesh, carries nothing and
    is left out.

    Parameters
    ----------
    fabric : Fabric
        The fabric that has the cells. A pin of its boundary is a terminal.
    links : Iterable[tuple[Pin, Pin]]
    lane : Callable[[Pin], Lane]
        What a driver tells of its link.
    terminal : str
        What the terminals are called.

    Returns
    -------
    dict[Pin, Wire]
        By driver.
    """
    wires: dict[Pin, Wire] = {}
    for driver, receiver in links:
        if driver.cell != receiver.cell:
            direction, channel = lane(driver)
            begin, end = _title(fabric, driver, terminal), _title(fabric, receiver, terminal)
            ends = f"{begin} -> {end}"
            wires[driver] = Wire(f"{ends}, {direction}" if direction else ends, channel)
    alike = Counter(wires.values())
    numbers: Counter[Wire] = Counter()
    for driver, wire in wires.items() if len(alike) < len(wires) else ():
        if alike[wire] > 1:
            wires[driver] = Wire(f"{wire.link}, link {numbers[wire]}", wire.channel)
            numbers[wire] += 1
    return wires


def streams(fabric: Fabric, links: Iterable[tuple[Pin, Pin]]) -> Iterator[tuple[Pin, Pin]]:
    """The streams of links, each as its driver and its receiver.

    A link may have one in each direction, such as requests and replies.
    """
    known: dict[tuple, list[tuple[Path, bool]]] = {}
    for a, b in links:
        kind = (a.cell and id(fabric.cells[a.cell].type), a.path)
        if kind not in known:
            known[kind] = list(_streams_below(fabric, a))
        for below, forward in known[kind]:
            one, two = a, b
            if below:
                one, two = Pin(a.cell, a.path + below), Pin(b.cell, b.path + below)
            yield (one, two) if forward else (two, one)


def _streams_below(fabric: Fabric, pin: Pin) -> Iterator[tuple[Path, bool]]:
    """The streams of an interface: the rest of the path of each, and whether the pin sends it."""
    drives = {suffix: drives for suffix, (_, drives) in fabric.resolve(pin).items()}
    for suffix, forward in drives.items():
        if suffix[-1:] == ("valid",) and drives.get((*suffix[:-1], "ready")) is not forward:
            yield suffix[:-1], forward


def _title(fabric: Fabric, pin: Pin, terminal: str) -> str:
    return f"{terminal} {pin.path[1]}" if pin.cell is None else fabric.cells[pin.cell].title
