"""Completely connected networks: a link between any two nodes."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from ..fabric.parameter_fields import integer
from ..graphs.circle import circle_position
from ..graphs.graph import Channel, Link
from ..graphs.routing.relation import RoutedGraph
from ..networks.family import GraphFamily, Group

__all__ = ["FAMILIES", "Complete"]


@dataclass(frozen=True)
class Complete(RoutedGraph):
    """N nodes, and a link from each to each other one (Ginosar and Egozi, 1989, 4.1.1).

    A packet takes one link, and one channel is enough.

    Attributes
    ----------
    nodes : int
        N, from 2 to 256: the number of queues grows as N^2.
    """

    nodes: int = integer(16, "nodes, each with a terminal", least=2, most=256)

    same_router = True
    deadlock_free = True
    looks_back = False

    @property
    def diameter(self) -> int:
        """Links on the longest path."""
        return 1

    def links(self) -> Iterator[Link]:
        """Port s - 1 leads s nodes on."""
        for node, step in product(range(self.nodes), range(1, self.nodes)):
            yield Link(node, step - 1, (node + step) % self.nodes, self.nodes - step - 1)

    def position(self, node: int) -> tuple[float, float]:
        return circle_position(node, self.nodes)

    def direction(self, link: Link) -> str:
        return f"+{link.port + 1}"

    @property
    def bisection(self) -> int:
        """Each node of one half is linked to each of the other."""
        return 2 * (self.nodes // 2) * ((self.nodes + 1) // 2)

    def route(self, node: int, came: Channel | None, destination: int) -> Iterator[Channel]:
        if node != destination:
            yield Channel(node, (destination - node) % self.nodes - 1)


FAMILIES = (
    GraphFamily(
        "complete",
        "a link between any two nodes",
        Complete,
        Group.STATIC,
        example={"nodes": 4},
        aliases=("completely-connected", "ccn"),
    ),
)
