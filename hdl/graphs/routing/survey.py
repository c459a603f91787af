"""What follows from a routing relation when every header is followed everywhere."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from ...fabric.errors import InvalidValue
from ..graph import Channel, Turn
from .deadlock import dependencies, dependency_cycle

if TYPE_CHECKING:
    from .relation import Relation

__all__ = ["Survey", "survey"]


@dataclass(frozen=True)
class Survey:
    """What follows from a relation.

    Attributes
    ----------
    turns : Mapping[int, set[Turn]]
        For each node, the ways through it that a header can take.
    diameter : int
        Links on the longest path that a packet takes if all are free.
    cycle : Sequence[Channel] or None
        Channels on which worms may wait for each other in a cycle.
    """

    turns: Mapping[int, set[Turn]]
    diameter: int
    cycle: Sequence[Channel] | None


@lru_cache(maxsize=64)
def survey(relation: "Relation") -> Survey:
    """Follow the headers of packets between all terminals, whatever they choose.

    Raises
    ------
    ValueError
        If a header comes to a node that is not its destination and that it can't leave, if it
        takes a channel that does not exist, or if it can go in a circle.
    """
    turns: dict[int, set[Turn]] = {node: set() for node in range(relation.graph.nodes)}
    waits: dict[Channel, set[Channel]] = {}
    diameter = 0
    for destination in range(relation.ports):
        for header in relation.headers(destination):
            nexts = _follow(relation, header, destination, turns)
            diameter = max(diameter, _farthest(relation, nexts, destination))
            moves = {came: after for (_, came), after in nexts.items() if came is not None}
            for channel, after in dependencies([moves], relation.is_escape).items():
                waits.setdefault(channel, set()).update(after)
    return Survey(turns, diameter, dependency_cycle(waits))


_Place = tuple[int, Channel | None]
"""A node, and the channel by which a header has come to it."""


def _follow(
    relation: "Relation", header: int, destination: int, turns: Mapping[int, set[Turn]]
) -> dict[_Place, list[Channel]]:
    """The choices of a header at all places where it can be; adds to the turns."""
    graph = relation.graph
    found: dict[_Place, list[Channel]] = {}
    for node, came, nexts in relation.steps(header):
        found[node, came] = nexts
        entry = None if came is None else (graph.link_of(came).peer_port, came.number)
        for channel in nexts:
            turns[node].add(Turn(entry, (channel.port, channel.number)))
        if not nexts:
            if node != graph.exit_homes[destination]:
                here = f"node {graph.name(node)}"
                start = f"terminal {graph.terminals[node][0]} at {here}" if came is None else here
                raise InvalidValue(f"There is no way from {start} to terminal {destination}")
            turns[node].add(Turn(entry, None))
    return found


def _farthest(relation: "Relation", nexts: Mapping[_Place, list[Channel]], destination: int) -> int:
    """Links on the longest path from any terminal, if all are free."""
    graph = relation.graph
    left: dict[_Place, int] = {}
    for place, choices in nexts.items():
        trail: list[_Place] = []
        on_trail: set[_Place] = set()
        while choices and place not in left:
            if place in on_trail:
                raise InvalidValue(
                    f"Packet for terminal {destination} goes in a circle through node "
                    f"{graph.name(place[0])}"
                )
            trail.append(place)
            on_trail.add(place)
            place = (graph.link_of(choices[0]).peer, choices[0])
            choices = nexts[place]
        steps = left.get(place, 0)
        for before in reversed(trail):
            steps += 1
            left[before] = steps
    return max((left.get(place, 0) for place in nexts if place[1] is None), default=0)
