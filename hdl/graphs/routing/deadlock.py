"""Deadlock in wormhole routing: cycles in the channel dependency graph.

Worms deadlock when they form a cycle in which each holds a channel (a link in one direction, or a
virtual channel of it) and waits for a channel that the next one holds. So a routing algorithm whose
channel dependency graph has no cycle is free of deadlock (Dally and Seitz, 1987).

Where headers have a choice of channels, it is enough that one of them is an *escape* channel, and
that the dependencies among the escape channels have no cycle. A worm that holds an escape channel
may wait for another one directly, or after it has crossed any number of other channels (Duato,
1993).
"""

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from graphlib import CycleError, TopologicalSorter
from typing import Protocol, TypeVar

from ...fabric.errors import InvalidValue

__all__ = ["WormNetwork", "deadlock_cycle", "dependencies", "dependency_cycle"]

Channel = TypeVar("Channel", bound=Hashable)


class WormNetwork(Protocol[Channel]):
    """The channels of a network, as `PacketNetwork` describes them.

    Attributes
    ----------
    sinks : int
        Number of terminals that receive.
    """

    sinks: int

    def moves(self, destination: int) -> Mapping[Channel, Collection[Channel]]:
        """For each channel that a header for a terminal may use, the channels that it may take
        next.

        None if the header has arrived.
        """

    def is_escape(self, channel: Channel) -> bool:
        """Whether a channel is an escape channel; all are if headers have no choice."""


def dependencies(
    moves: Iterable[Mapping[Channel, Collection[Channel]]],
    is_escape: Callable[[Channel], bool] = lambda channel: True,
) -> dict[Channel, set[Channel]]:
    """For each escape channel, the escape channels that a worm that holds it may wait for.

    Parameters
    ----------
    moves : Iterable[Mapping]
        For each destination, the result of `WormNetwork.moves`.
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
    """The first escape channels on all paths from a channel to one destination."""
    found = set(nexts[channel])
    others = [other for other in found if not is_escape(other)]
    while others:
        new = set(nexts[others.pop()]) - found
        found |= new
        others += [other for other in new if not is_escape(other)]
    return {other for other in found if is_escape(other)}


def dependency_cycle(waits: Mapping[Channel, Iterable[Channel]]) -> list[Channel] | None:
    """A cycle of channels, each of which may wait for the one before it, or None.

    The first channel is repeated at the end.

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
    """A cycle of channels on which worms may wait for each other, in the form of
    `dependency_cycle`.

    None if the network is free of deadlock, provided that its terminals accept all that arrives.

    Raises
    ------
    ValueError
        If a network that has escape channels does not let every header wait for one.
    """
    destinations = range(network.sinks)
    return dependency_cycle(dependencies(map(network.moves, destinations), network.is_escape))
