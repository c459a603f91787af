"""Relations whose tables can be replaced while the network runs."""

from collections.abc import Callable, Collection, Iterable, Mapping

from ...fabric.errors import InvalidValue
from ..altered_graph import RelinkedGraph
from ..graph import Channel, Graph, Link, Turn
from .relation import Relation

__all__ = ["Rewritable", "graph_without"]


def graph_without(graph: Graph, dead: Collection[tuple[int, int]]) -> Graph:
    """A graph without some of its links, and without those in the opposite direction.

    Parameters
    ----------
    graph : Graph
    dead : Collection[tuple[int, int]]
        The links, by the node and the port that they leave.
    """
    kept: list[Link] = []
    for ways in graph.edges:
        links = [link for link in ways if link is not None]
        if not any((link.node, link.port) in dead for link in links):
            kept += links
    return RelinkedGraph(graph, kept)


class Rewritable(Relation):
    """An algorithm for any graph, in routers whose tables can be replaced in a run.

    Routers then have wires for all turns, and each input has a table of its own (`rewritable`).

    Parameters
    ----------
    algorithm : Callable[[Graph], Relation]
        Such as `UpDown` or `Layered`.
    graph : Graph
        It gets as many channels as the algorithm needs.

    Raises
    ------
    ValueError
        If packets of the relation go by way of an intermediate terminal.
    """

    rewritable = True

    def __init__(self, algorithm: Callable[[Graph], Relation], graph: Graph) -> None:
        self.algorithm = algorithm
        self.inner = inner = algorithm(graph)
        if inner.phases is not None or not inner.ordered:
            raise InvalidValue("Tables to be rewritten must lead each packet along a single path")
        self.layers = inner.layers
        self.looks_back = inner.looks_back
        self.deadlock_free = inner.deadlock_free

    @property
    def graph(self) -> Graph:
        return self.inner.graph

    def route(self, node: int, came: Channel | None, destination: int) -> Iterable[Channel]:
        return self.inner.route(node, came, destination)

    def turns(self) -> Mapping[int, Collection[Turn]]:
        """All ways through each node."""
        return self.graph.all_turns()

    def carries(self, channel: Channel) -> bool:
        """With some tables, any channel."""
        return True

    def without(self, dead: Collection[tuple[int, int]]) -> "Rewritable":
        """As in `Relation`."""
        try:
            other = Rewritable(self.algorithm, graph_without(self.graph, dead))
        except InvalidValue as error:
            raise InvalidValue(f"Without the severed links: {error}") from None
        for link in other.graph.links():
            if link.channels > (most := self.graph.by_output[link.node, link.port].channels):
                raise InvalidValue(
                    f"Links have {most} channels; without the dead ones {link.channels} are needed"
                )
        return other
