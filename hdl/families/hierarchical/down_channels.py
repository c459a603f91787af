"""How many channels links need for packets that come down into a network of a hierarchy."""

from collections.abc import Iterable, Mapping
from itertools import pairwise

from ...graphs.graph import Channel
from ...graphs.routing.deadlock import dependencies, dependency_cycle
from ...graphs.routing.relation import Relation

__all__ = ["down_channels"]

_FROM, _TO = Channel(-1, 0), Channel(-1, 1)
"""Stand for the channels by which packets come down into a network, and leave it upwards."""


def down_channels(level: Relation, interface: int) -> int:
    """How many further channels a link of a network needs for packets that come into it at its
    interface, so that they can't wait for packets that leave it there.

    Returns
    -------
    int
        0 if they can't wait for each other anyway: no path of dependencies leads from a channel
        that a packet takes from the interface to one that leads a packet to it. In a hypercube with
        e-cube routing the dimensions on such a path rise, so it never comes back to the interface.
        1 if the routing depends on the node and the destination alone, without a choice, and the
        paths from the interface have no cycle of dependencies. -1 for as many as there are.
    """
    graph = level.graph
    enters, leaves = graph.homes[interface], graph.exit_homes[interface]
    moves = []
    for terminal in range(level.ports):
        own: dict[Channel, list[Channel]] = {_TO: []}
        for node, came, nexts in level.steps(terminal):
            if came is not None:
                found = own.setdefault(came, [])
                found += nexts or ([_TO] if terminal == interface and node == leaves else [])
            elif node == enters and nexts:
                own[_FROM] = nexts
        moves.append(own)

    def is_escape(channel: Channel) -> bool:
        return channel.node < 0 or level.is_escape(channel)

    waits = dependencies(moves, is_escape)
    if not _leads(waits, _FROM, _TO):
        return 0
    if level.choice or level.looks_back:
        return -1
    down: dict[Channel, set[Channel]] = {}
    for terminal in range(level.ports):
        path = [channel._replace(number=0) for channel in level.path(interface, terminal)]
        for before, after in pairwise(path):
            down.setdefault(before, set()).add(after)
    return 1 if dependency_cycle(down) is None else -1


def _leads(waits: Mapping[Channel, Iterable[Channel]], start: Channel, end: Channel) -> bool:
    """Whether a path of dependencies leads from a channel to another one."""
    seen, waiting = {start}, [start]
    while waiting:
        for after in waits.get(waiting.pop(), ()):
            if after not in seen:
                seen.add(after)
                waiting.append(after)
    return end in seen
