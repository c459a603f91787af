"""All shortest paths in any graph, without regard to deadlock."""

from collections.abc import Iterator
from math import lcm

from ..core.errors import InvalidValue
from ..topology.graph import Channel, Graph
from .relation import Relation

__all__ = ["Minimal"]


class Minimal(Relation):
    """Packets may take any shortest path, over any channel of its links.

    Nothing keeps worms from waiting for each other in a cycle: see `Adaptive` for that. It is for
    trees and other graphs in which they can't; or for stored and forwarded packets, if the queues
    never become full.

    Parameters
    ----------
    graph : Graph

    Raises
    ------
    ValueError
        If there is no way between two terminals.
    """

    ordered = False
    looks_back = False

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        for node in sorted(set(graph.homes)):
            for terminal, home in enumerate(graph.homes):
                if graph.distances[home][node] == graph.nodes:
                    raise InvalidValue(
                        f"There is no way from node {graph.name(node)} to terminal {terminal}"
                    )
        self._lanes = lcm(*(link.channels for link in graph.links()))

    @property
    def graph(self) -> Graph:
        return self._graph

    def route(self, node: int, came: Channel | None, destination: int) -> Iterator[Channel]:
        away = self._graph.distances[self._graph.homes[destination]]
        for channel in self._graph.leaving(node):
            if away[self._graph.link_of(channel).peer] < away[node]:
                yield channel

    def weight(self, channel: Channel, destination: int) -> int:
        """As in `Relation`: the number of shortest paths that begin with its link, shared out among
        the channels of the link."""
        link = self._graph.link_of(channel)
        paths = self._graph.path_counts[self._graph.homes[destination]][link.peer]
        return paths * self._lanes // link.channels
