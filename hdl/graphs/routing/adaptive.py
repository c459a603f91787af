"""Minimal adaptive routing in any graph, with escape layers (Duato, 1993)."""

from collections.abc import Iterator

from ..altered_graph import ChanneledGraph
from ..graph import Channel, Graph
from .layered import Layered
from .relation import Relation

__all__ = ["Adaptive"]


class Adaptive(Relation):
    """Any shortest path, over adaptive channels; and the path of `Layered` from each node, over
    escape channels.

    The first channels of a link are escape channels, one for each layer; the others, at least one,
    are adaptive. A header may take an adaptive channel of any link on a shortest path, or the
    escape channel of the path that `Layered` has from its node. Once it has taken an escape channel
    it stays in this layer (Silla and Duato, 2000). So worms on escape channels wait for escape
    channels of their layer only, which have no cycle.

    Parameters
    ----------
    graph : Graph

    Attributes
    ----------
    layers : int
        Number of escape layers.
    """

    ordered = False
    deadlock_free = True

    def __init__(self, graph: Graph) -> None:
        self._escape = Layered(ChanneledGraph(graph, 1, 1), range(graph.nodes))
        self.layers = self._escape.layers
        self._graph = ChanneledGraph(graph, self.layers + 1)

    @property
    def graph(self) -> Graph:
        return self._graph

    def is_escape(self, channel: Channel) -> bool:
        return channel.number < self.layers

    def weight(self, channel: Channel, destination: int) -> int:
        """As in `Relation`: the number of shortest paths that begin with the link of an adaptive
        channel."""
        if self.is_escape(channel):
            return 1
        home = self._graph.exit_homes[destination]
        return self._graph.path_counts[home][self._graph.link_of(channel).peer]

    def route(self, node: int, came: Channel | None, destination: int) -> Iterator[Channel]:
        if came is not None and self.is_escape(came):
            yield from self._escape.route(node, came, destination)
            return
        yield from self._escape.route(node, None, destination)
        away = self._graph.distances[self._graph.exit_homes[destination]]
        for channel in self._graph.leaving(node):
            peer = self._graph.link_of(channel).peer
            if not self.is_escape(channel) and away[peer] < away[node]:
                yield channel
