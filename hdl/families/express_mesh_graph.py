"""Meshes with express links (Dally's express cubes)."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from ..fabric.parameter_fields import integer
from ..graphs.graph import Channel, Link
from ..graphs.grid import grid_position
from ..graphs.routing.relation import RoutedGraph
from ..networks.family import GraphFamily, Group

__all__ = ["FAMILIES", "ExpressMesh"]


@dataclass(frozen=True)
class ExpressMesh(RoutedGraph):
    """A mesh of k^n nodes, with links that pass over nodes in between (Dally, 1991).

    In each dimension, positions 0, i, 2 i, ... are also linked with each other, where i is the
    interval. A packet corrects the digits of its address in order, the most significant first. It
    never moves away from its destination, and takes an express link wherever it can. So links wait
    only for those further on in the same direction, or of lower dimensions.

    Attributes
    ----------
    k, n : int
    interval : int
        Positions from an interchange to the next.
    latency : int
        Cycles of an express link.
    """

    k: int = integer(8, "nodes per dimension", least=2, most=256, title="Radix k")
    n: int = integer(2, "dimensions: there are k^n nodes", least=1, most=8, title="Dimensions n")
    interval: int = integer(4, "positions that an express link spans", least=2, most=128)
    latency: int = integer(1, "cycles of an express link", least=1, most=1024)

    deadlock_free = True

    @property
    def nodes(self) -> int:
        return self.k**self.n

    def links(self) -> Iterator[Link]:
        """Ports 4 i to 4 i + 3: up and down in dimension i, and the express links up and down."""
        for node, i, way in product(range(self.nodes), range(self.n), range(4)):
            here, step = node // self.k**i % self.k, self._step(way)
            if here + step in range(self.k) and here % abs(step) == 0:
                latency = self.latency if way > 1 else 1
                yield Link(node, 4 * i + way, node + step * self.k**i, 4 * i + way, latency=latency)

    def _step(self, way: int) -> int:
        """How far a link leads."""
        return (1, -1, self.interval, -self.interval)[way]

    def position(self, node: int) -> tuple[float, float]:
        digits = [node // self.k**i % self.k for i in range(self.n)]
        return grid_position(digits, [self.k] * self.n)

    def direction(self, link: Link) -> str:
        i, way = divmod(link.port, 4)
        axis = "xyz"[i] if i < 3 else f"dimension {i}"
        return f"{'+-'[way % 2]}{axis}{' express' if way > 1 else ''}"

    def route(self, node: int, came: Channel | None, destination: int) -> Iterator[Channel]:
        for i in reversed(range(self.n)):
            here, there = (place // self.k**i % self.k for place in (node, destination))
            if here != there:
                far = here % self.interval == 0 and abs(there - here) >= self.interval
                yield Channel(node, 4 * i + 2 * far + (there < here))
                return


FAMILIES = (
    GraphFamily(
        "express-mesh",
        "a mesh with express links over several nodes; dimensions in order",
        ExpressMesh,
        Group.TORI,
        example={"k": 4, "interval": 3},
        papers=("dally-express",),
    ),
)
