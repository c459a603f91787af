"""Routing by tables that are given: for each node, the ports towards each terminal."""

from collections.abc import Iterator, Mapping, Sequence

from ...fabric.errors import InvalidValue
from ..graph import Channel, Graph
from .relation import Relation

__all__ = ["GivenRoutes"]


class GivenRoutes(Relation):
    """Packets take the ports that a table gives for their terminal: any channel of any of them.

    Nothing is known of deadlock: it is examined when a network is built.

    Parameters
    ----------
    graph : Graph
    routes : Mapping[int, Mapping[int, Sequence[int]]]
        For each node and terminal, the output ports. A node where packets for a terminal never come
        needs none for it.

    Raises
    ------
    ValueError
        If a node has no such port, there is no port for a terminal, or the terminal is at the node.
    """

    looks_back = False

    def __init__(self, graph: Graph, routes: Mapping[int, Mapping[int, Sequence[int]]]) -> None:
        self._graph = graph
        self._routes = routes
        for node, own in routes.items():
            ports = dict.fromkeys(channel.port for channel in graph.leaving(node))
            for terminal, taken in own.items():
                what = f"Route from node {graph.name(node)} to terminal {terminal}"
                if terminal not in range(len(graph.homes)):
                    raise InvalidValue(
                        f"{what} must lead to a terminal from 0 to {len(graph.homes) - 1}"
                    )
                for port in taken:
                    if port not in ports:
                        known = ", ".join(map(str, ports)) or "none"
                        raise InvalidValue(
                            f"{what} must take a port of the node ({known}), not {port}"
                        )
                if not taken:
                    raise InvalidValue(f"{what} must take a port")
                if node == graph.exit_homes[terminal]:
                    raise InvalidValue(f"{what} must be left out: the terminal is at this node")
        self.ordered = all(
            len(taken) == 1 and graph.by_output[node, taken[0]].channels == 1
            for node, own in routes.items()
            for taken in own.values()
        )

    @property
    def graph(self) -> Graph:
        return self._graph

    def route(self, node: int, came: Channel | None, destination: int) -> Iterator[Channel]:
        if node == self._graph.exit_homes[destination]:
            return
        ports = self._routes.get(node, {}).get(destination)
        if ports is None:
            raise InvalidValue(
                f"There is no route from node {self._graph.name(node)} to terminal {destination}"
            )
        for port in ports:
            for number in range(self._graph.by_output[node, port].channels):
                yield Channel(node, port, number)
