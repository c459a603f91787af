"""Up*/down* routing, as in Autonet (Schroeder et al., 1991)."""

from functools import cached_property

from ..graph import Channel, Graph, Link
from .trees import TreeRelation, spread_trees

__all__ = ["UpDown"]


class UpDown(TreeRelation):
    """Packets go up any number of links, and then down any number, and never up again.

    Nodes are numbered by their distance to a root, and then by their number in the graph. A link is
    up if it leads to a lower node of this order. So a worm that waits for a link up holds links
    from higher nodes, and one that waits for a link down holds links from lower nodes or links up:
    no cycle. Paths are the shortest of these, and spread over the links.

    The root is a node with the least sum of distances to all others. Links must come in pairs, one
    in each direction: otherwise some terminals may not be reached.

    Parameters
    ----------
    graph : Graph

    Attributes
    ----------
    root : int
    """

    deadlock_free = True
    needs = " that goes first up and then down; routing=up-down needs links in both directions"

    def __init__(self, graph: Graph) -> None:
        self._given = graph
        super().__init__(graph, spread_trees(graph, self._after, phases=2))

    def _after(self, phase: int, link: Link) -> int | None:
        if self._is_up(link):
            return None if phase else 0
        return 1

    def _is_up(self, link: Link) -> bool:
        return self._order[link.peer] < self._order[link.node]

    @cached_property
    def _distances(self) -> list[list[int]]:
        """The number of links from each node to each other, whichever way they lead."""
        neighbours: list[set[int]] = [set() for _ in range(self._given.nodes)]
        for link in self._given.links():
            neighbours[link.node].add(link.peer)
            neighbours[link.peer].add(link.node)
        return [_distances(neighbours, node) for node in range(self._given.nodes)]

    @cached_property
    def root(self) -> int:
        return min(range(self._given.nodes), key=lambda node: sum(self._distances[node]))

    @cached_property
    def _order(self) -> list[tuple[int, int]]:
        return [(far, node) for node, far in enumerate(self._distances[self.root])]

    def phase(self, came: Channel | None) -> int:
        return int(came is not None and not self._is_up(self.graph.link_of(came)))


def _distances(neighbours: list[set[int]], start: int) -> list[int]:
    """Those of all nodes to one; the number of nodes for those without a way."""
    found = {start: 0}
    waiting = [start]
    for node in waiting:
        for other in neighbours[node] - found.keys():
            found[other] = found[node] + 1
            waiting.append(other)
    return [found.get(node, len(neighbours)) for node in range(len(neighbours))]
