"""Deadlock of worms: which channel waits for which, and whether any do so in a circle.

Worms deadlock when each of some worms holds a channel (a link in one direction, or a virtual
channel of it) and waits for one that the next holds, in a circle. So a routing by which no channel
can wait for another in a circle has no deadlock (Dally and Seitz, 1987).

Where headers have a choice, it is enough that each has an *escape* channel among those that it may
take, and that the escape channels have no circle among themselves. A worm that holds one may then
wait for another right behind it, or behind any number of other channels (Duato, 1993).
"""

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from graphlib import CycleError, TopologicalSorter
from typing import Protocol, TypeVar

from ..core.errors import InvalidValue

__all__ = ["WormNetwork", "deadlock_cycle", "dependencies", "dependency_cycle"]

Channel = TypeVar("Channel", bound=Hashable)


class WormNetwork(Protocol[Channel]):
    """What a network tells of its channels: `PacketNetwork` does.

    Attributes
    ----------
    ports : int
        Number of terminals.
    """

    ports: int

    def moves(self, destination: int) -> Mapping[Channel, Collection[Channel]]:
        """For each channel that a header for a terminal may come by: those that it may take next.

        None, if it has arrived.
        """

    def is_escape(self, channel: Channel) -> bool:
        """Whether a channel is an escape channel; where headers have no choice, all are."""


def dependencies(
    moves: Iterable[Mapping[Channel, Collection[Channel]]],
    is_escape: Callable[[Channel], bool] = lambda channel: True,
) -> dict[Channel, set[Channel]]:
    """The escape channels that a worm in each escape channel may wait for.

    Parameters
    ----------
    moves : Iterable[Mapping]
        For each destination, as `WormNetwork.moves`.
    is_escape : Callable
        As `WormNetwork.is_escape`.

    Raises
    ------
    ValueError
        If a header has channels to wait for, but none of them is an escape channel.
    """
    waits: dict[Channel, set[Channel]] = {}
    for nexts in moves:
        for channel, choices in nexts.items():
            if choices and not any(map(is_escape, choices)):
                raise InvalidValue(f"Channel {channel} leads to no escape channel")
            if is_escape(channel):
                waits.setdefault(channel, set()).update(_escapes(nexts, channel, is_escape))
    return waits


def _escapes(
    nexts: Mapping[Channel, Collection[Channel]],
    channel: Channel,
    is_escape: Callable[[Channel], bool],
) -> set[Channel]:
    """The escape channels that come first on any way from a channel to one destination."""
    found = set(nexts[channel])
    others = [other for other in found if not is_escape(other)]
    while others:
        new = set(nexts[others.pop()]) - found
        found |= new
        others += [other for other in new if not is_escape(other)]
    return {other for other in found if is_escape(other)}


def dependency_cycle(waits: Mapping[Channel, Iterable[Channel]]) -> list[Channel] | None:
    """Channels of which each may wait for the one before it, the first again at the end, if any.

    >>> dependency_cycle({"a": "b", "b": "c", "c": ""})
    >>> dependency_cycle({"a": "b", "b": "a"})
    ['a', 'b', 'a']
    """
    try:
        TopologicalSorter(waits).prepare()
    except CycleError as error:
        cycle: list[Channel] = error.args[1]
        return cycle
    return None


def deadlock_cycle(network: WormNetwork[Channel]) -> list[Channel] | None:
    """Channels on which worms may wait for each other in a circle, as `dependency_cycle` gives it.

    None: the network is free of deadlock, as long as its terminals take what arrives.

    Raises
    ------
    ValueError
        If a network that has escape channels does not let every header wait for one.
    """
    destinations = range(network.ports)
    return dependency_cycle(dependencies(map(network.moves, destinations), network.is_escape))
