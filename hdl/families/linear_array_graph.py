"""Linear arrays: nodes in a row."""

from collections.abc import Iterator
from dataclasses import dataclass

from ..fabric.parameter_fields import integer
from ..graphs.graph import Channel, Link
from ..graphs.routing.relation import RoutedGraph
from ..networks.family import GraphFamily, Group

__all__ = ["FAMILIES", "LinearArray"]


@dataclass(frozen=True)
class LinearArray(RoutedGraph):
    """N nodes, each linked with the one before and the one behind it (Dandamudi and Eager, 1990,
    I-A; Ginosar and Egozi, 1989, 4.1.3): the mesh of one dimension.

    Inner nodes have 2 links. The diameter is N - 1, and the bisection one link in both directions.
    There is one path between any two nodes, so one channel is enough.

    Attributes
    ----------
    nodes : int
        N, from 2 to 4,096.
    """

    nodes: int = integer(8, "nodes, each with a terminal", least=2, most=4096)

    deadlock_free = True
    looks_back = False

    @property
    def diameter(self) -> int:
        """Links on the longest path."""
        return self.nodes - 1

    @property
    def bisection(self) -> int:
        """One link in both directions."""
        return 2

    def links(self) -> Iterator[Link]:
        """Port 0 leads on, and port 1 back."""
        for node in range(self.nodes - 1):
            yield Link(node, 0, node + 1, 1)
            yield Link(node + 1, 1, node, 0)

    def position(self, node: int) -> tuple[float, float]:
        return float(node), 0.0

    def direction(self, link: Link) -> str:
        return "+x" if link.port == 0 else "-x"

    def route(self, node: int, came: Channel | None, destination: int) -> Iterator[Channel]:
        if node != destination:
            yield Channel(node, int(destination < node))


FAMILIES = (
    GraphFamily(
        "linear-array",
        "nodes in a row",
        LinearArray,
        Group.STATIC,
        example={"nodes": 4},
        papers=("dandamudi", "ginosar"),
    ),
)
