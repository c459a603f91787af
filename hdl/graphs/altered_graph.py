"""Graphs that are others with other links, numbers of channels or lengths."""

from collections.abc import Iterable, Sequence

from ..fabric.checks import check_word
from .graph import METRICS, Graph, Link

__all__ = ["ChanneledGraph", "MeasuredGraph"]


class RelinkedGraph(Graph):
    """The nodes and terminals of a graph, with other links.

    Parameters
    ----------
    graph : Graph
    links : Iterable[Link]
    """

    def __init__(self, graph: Graph, links: Iterable[Link]) -> None:
        self._given = graph
        self._links = list(links)
        self.metric = graph.metric

    @property
    def nodes(self) -> int:
        return self._given.nodes

    def links(self) -> Sequence[Link]:
        return self._links

    @property
    def homes(self) -> Sequence[int]:
        return self._given.homes

    @property
    def exit_homes(self) -> Sequence[int]:
        return self._given.exit_homes

    def name(self, node: int) -> str:
        return self._given.name(node)

    def position(self, node: int) -> tuple[float, float] | None:
        return self._given.position(node)

    def way(self, link: Link) -> Sequence[tuple[float, float]]:
        return self._given.way(link)

    def direction(self, link: Link) -> str:
        return self._given.direction(link)

    def is_attachment(self, link: Link) -> bool:
        return self._given.is_attachment(link)


class ChanneledGraph(RelinkedGraph):
    """A graph with other numbers of channels: at least and at most so many on each link.

    Parameters
    ----------
    graph : Graph
        The graph whose links they are.
    least : int
        Fewest channels of a link.
    most : int or None
        Most channels; by default those of the link that has most, or `least` if that is more.
    """

    def __init__(self, graph: Graph, least: int, most: int | None = None) -> None:
        most = max(least, *(link.channels for link in graph.links()), 1) if most is None else most
        super().__init__(
            graph,
            (
                link._replace(channels=min(max(link.channels, least), most))
                for link in graph.links()
            ),
        )
        self.same_router = graph.same_router

    def around(self, link: Link) -> str:
        return self._given.around(link)

    @property
    def bisection(self) -> int | None:
        return self._given.bisection


class MeasuredGraph(ChanneledGraph):
    """A graph in which another `metric` makes a path short."""

    def __init__(self, graph: Graph, metric: str) -> None:
        super().__init__(graph, 1)
        check_word("Weight", metric, METRICS)
        self.metric = metric
