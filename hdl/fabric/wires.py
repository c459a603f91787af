"""Names of the links of a fabric for people: `node 5 -> node 6, +x`."""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np

from .fabric import Fabric
from .pins import Path, Pin, Pins

__all__ = ["Lane", "Streams", "Wire", "named_wires", "streams"]


class Lane(NamedTuple):
    """What an output states about its link.

    Channels of one link share its wires: they have the same ends and the same direction.

    Attributes
    ----------
    direction : str
        The direction in words, such as "+x"; empty if there is no name for it.
    channel : int
        The number of its virtual channel, from 0.
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
    name are numbered.

    Parameters
    ----------
    fabric : Fabric
        The fabric that has the cells. A pin of its boundary is a terminal.
    links : Iterable[tuple[Pin, Pin]]
        The channels of a link in their order, before those of the next link with these ends.
    lane : Callable[[Pin], Lane]
        What a driver states about its link.
    terminal : str
        What the terminals are called.

    Returns
    -------
    dict[Pin, Wire]
        By driver.
    """
    wires: dict[Pin, Wire] = {}
    numbers: dict[Pin, int] = {}
    latest: dict[str, tuple[int, int]] = {}
    cells = fabric.cells
    for driver, receiver in links:
        (cell, path), (other, to) = driver, receiver
        direction, channel = lane(driver)
        begin = f"{terminal} {path[1]}" if cell is None else cells[cell].title
        end = f"{terminal} {to[1]}" if other is None else cells[other].title
        name = f"{begin} -> {end}, {direction}" if direction else f"{begin} -> {end}"
        number, before = latest.get(name, (0, -1))
        number += channel <= before
        latest[name], numbers[driver] = (number, channel), number
        wires[driver] = Wire(name, channel)
    for driver, (name, channel) in wires.items():
        if latest[name][0]:
            wires[driver] = Wire(f"{name}, link {numbers[driver]}", channel)
    return wires


class Streams(NamedTuple):
    """Streams, by the pins that drive them and those that receive them."""

    drivers: Pins
    receivers: Pins

    def some(self, which: np.ndarray) -> "Streams":
        """Some of the streams, by their indices or by a flag for each."""
        return Streams(*(pins.some(which) for pins in self))

    def each(self) -> Iterator[tuple[Pin, Pin]]:
        """The driver and the receiver of one after the other."""
        return zip(*(pins.each() for pins in self))


def streams(fabric: Fabric, begin: int = 0, end: int | None = None) -> Streams:
    """The streams of adjacent links of a fabric, by default of all.

    A link may have one in each direction, such as requests and replies.
    """
    a, b = fabric.links.pins(begin, end)
    # Ends of one path are equal in all cells of a kind; of kind 0 each is by itself.
    kinds = fabric.drivers.kinds(a.cell).astype(np.int64)
    kinds = np.where(kinds > 0, kinds, -1 - a.cell) * len(a.paths) + a.path
    _, firsts, which = np.unique(kinds, return_index=True, return_inverse=True)
    numbers = [np.zeros(0, np.int64)]
    found = [(a.some(numbers[0]), a.some(numbers[0]))]
    groups = np.split(np.argsort(which, kind="stable"), np.cumsum(np.bincount(which))[:-1])
    for first, some in zip(firsts, groups):
        for below, forward in _streams_below(fabric, a.pin(first)):
            one, two = (fabric.drivers.numbered(each.some(some).below(below)) for each in (a, b))
            numbers.append(some)
            found.append((one, two) if forward else (two, one))
    order = np.argsort(np.concatenate(numbers), kind="stable")
    return Streams(*(Pins.joined(each).some(order) for each in zip(*found)))


def _streams_below(fabric: Fabric, pin: Pin) -> Iterator[tuple[Path, bool]]:
    """The streams of an interface: the rest of the path of each, and whether the pin sends it."""
    drives = {suffix: drives for suffix, (_, drives) in fabric.resolve(pin).items()}
    for suffix, forward in drives.items():
        if suffix[-1:] == ("valid",) and drives.get((*suffix[:-1], "ready")) is not forward:
            yield suffix[:-1], forward
