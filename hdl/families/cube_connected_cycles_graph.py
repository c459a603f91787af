"""Cube-connected cycles: a hypercube with a ring of nodes at each corner."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import pi, sin

from ..fabric.parameter_fields import integer
from ..graphs.circle import circle_position
from ..graphs.graph import Graph, Link
from ..graphs.grid import cube_position
from ..networks.family import GraphFamily, Group

__all__ = ["FAMILIES", "CubeConnectedCycles"]

_UP, _DOWN, _ACROSS = 0, 1, 2
"""The ports of a node."""


@dataclass(frozen=True)
class CubeConnectedCycles(Graph):
    """n 2^n nodes of three links each (Preparata and Vuillemin, 1981): node n w + p is at position
    p of the ring at corner w.

    Port 0 leads to position p + 1 of the ring, port 1 to position p - 1, and port 2 across, to the
    corner whose bit p differs. With n = 2 the rings have two nodes, with two links between them.

    Attributes
    ----------
    dimension : int
        n.
    """

    dimension: int = integer(
        3, "dimension n of the hypercube: there are n 2^n nodes", least=2, most=12
    )

    same_router = True

    @property
    def nodes(self) -> int:
        return self.dimension << self.dimension

    def name(self, node: int) -> str:
        corner, position = divmod(node, self.dimension)
        return f"{position} of ring {corner}"

    def position(self, node: int) -> tuple[float, float]:
        """A hypercube, with a ring at each corner."""
        corner, position = divmod(node, self.dimension)
        x, y = circle_position(position, self.dimension)
        apart = 1.5 + 1 / sin(pi / self.dimension)
        across, up = cube_position(corner, self.dimension)
        return apart * across + x, apart * up + y

    def direction(self, link: Link) -> str:
        return ("up", "down", "across")[link.port]

    def links(self) -> Iterator[Link]:
        n = self.dimension
        for node in range(self.nodes):
            corner, position = divmod(node, n)
            yield Link(node, _UP, n * corner + (position + 1) % n, _DOWN)
            yield Link(node, _DOWN, n * corner + (position - 1) % n, _UP)
            yield Link(node, _ACROSS, n * (corner ^ 1 << position) + position, _ACROSS)


FAMILIES = (
    GraphFamily(
        "cube-connected-cycles",
        "a hypercube with a ring of n nodes at each corner; shortest paths in layers",
        CubeConnectedCycles,
        Group.LARGE,
        example={"dimension": 3},
        aliases=("ccc",),
        papers=("preparata", "dandamudi"),
    ),
)
