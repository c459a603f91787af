"""Stars: a node in the centre that all others are linked to."""

from collections.abc import Iterator
from dataclasses import dataclass

from ..fabric.parameter_fields import integer
from ..graphs.circle import circle_position
from ..graphs.graph import Channel, Link
from ..graphs.routing.relation import RoutedGraph
from ..networks.family import GraphFamily, Group

__all__ = ["FAMILIES", "Star"]


@dataclass(frozen=True)
class Star(RoutedGraph):
    """Node 0 is the centre, linked to each other node (Ginosar and Egozi, 1989, 4.1.5).

    The centre has a terminal too. There is one path between any two nodes, so one channel is
    enough.

    Attributes
    ----------
    nodes : int
        N, with the centre, from 2 to 256: the crossbar of the centre grows as N^2.
    """

    nodes: int = integer(16, "nodes with the centre, each with a terminal", least=2, most=256)

    deadlock_free = True
    looks_back = False

    @property
    def diameter(self) -> int:
        """Links on the longest path."""
        return min(2, self.nodes - 1)

    def links(self) -> Iterator[Link]:
        """Port i - 1 of the centre leads to node i, and port 0 of that one to the centre."""
        for node in range(1, self.nodes):
            yield Link(0, node - 1, node, 0)
            yield Link(node, 0, 0, node - 1)

    def position(self, node: int) -> tuple[float, float]:
        return circle_position(node - 1, self.nodes - 1) if node else (0.0, 0.0)

    def direction(self, link: Link) -> str:
        return "in" if link.node else "out"

    @property
    def bisection(self) -> int:
        """Each node of the half without the centre has its link in both directions."""
        return 2 * (self.nodes // 2)

    def route(self, node: int, came: Channel | None, destination: int) -> Iterator[Channel]:
        if node != destination:
            yield Channel(node, 0 if node else destination - 1)


FAMILIES = (
    GraphFamily(
        "star",
        "a node in the centre that all others are linked to",
        Star,
        Group.STATIC,
        example={"nodes": 5},
    ),
)
