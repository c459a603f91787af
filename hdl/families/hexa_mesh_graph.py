"""Hexagonal meshes and folded tori of chiplets: HexaMesh, FoldedHexaTorus."""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise, product

from ..fabric.parameter_fields import integer
from ..graphs.graph import Graph, Link
from ..networks.family import GraphFamily, Group

__all__ = ["FAMILIES", "FoldedHexaTorus", "HexaMesh", "Hexagon"]


@dataclass(frozen=True)
class Hexagon(Graph):
    """1 + 3 r (r + 1) nodes in a hexagon of radius r, in lines of r + 1 to 2 r + 1 nodes in each of
    three directions; a subclass links the nodes of a line.

    Attributes
    ----------
    radius : int
        r, from 1 to 64.
    """

    radius: int = integer(2, "radius r: there are 1 + 3 r (r + 1) nodes", least=1, most=64)

    @property
    def nodes(self) -> int:
        return 1 + 3 * self.radius * (self.radius + 1)

    @cached_property
    def places(self) -> list[tuple[int, int, int]]:
        """The coordinates of each node, one for each direction; row by row."""
        reach = range(-self.radius, self.radius + 1)
        return [(y, x, x + y) for y, x in product(reach, repeat=2) if x + y in reach]

    @abstractmethod
    def steps(self, line: Sequence[int]) -> Iterator[tuple[int, int]]:
        """The pairs of nodes of a line that are linked, each in the order of the line."""

    def links(self) -> Iterator[Link]:
        """Ports 2 i and 2 i + 1 lead on and back in direction i."""
        for i, at in product(range(3), range(-self.radius, self.radius + 1)):
            line = [node for node, place in enumerate(self.places) if place[i] == at]
            for node, peer in self.steps(line):
                yield Link(node, 2 * i, peer, 2 * i + 1)
                yield Link(peer, 2 * i + 1, node, 2 * i)

    def position(self, node: int) -> tuple[float, float]:
        y, x, _ = self.places[node]
        return x + y / 2, round(-y * 0.75**0.5, 6)

    def direction(self, link: Link) -> str:
        return f"{'+-'[link.port % 2]}{'xyz'[link.port // 2]}"


class HexaMesh(Hexagon):
    """Neighbours in a line are linked (Iff et al., 2023, IV): 3, 4 or 6 links of a node, and
    diameter 2 r.

    The bisection width is 4 r + 1 (for r up to 3, by search): with N nodes about 4 sqrt(N / 3),
    against sqrt(N) in a square mesh.
    """

    def steps(self, line: Sequence[int]) -> Iterator[tuple[int, int]]:
        return pairwise(line)


class FoldedHexaTorus(Hexagon):
    """Each line is a folded ring (Iff et al., 2025): a node is linked with the next but one in each
    direction, and at both ends of the line the last two with each other.

    All nodes have six links. With r = 1 the lines of two nodes have two links. The diameter is
    r + 1 (for r up to 6) and the bisection width 8 r + 2 (for r up to 3), by search.
    """

    def steps(self, line: Sequence[int]) -> Iterator[tuple[int, int]]:
        ring = [*line[::2], *reversed(line[1::2])]
        return pairwise([*ring, ring[0]])


FAMILIES = (
    GraphFamily(
        "hexa-mesh",
        "a hexagon of nodes that are linked with up to six neighbours; shortest paths in layers",
        HexaMesh,
        Group.TORI,
        example={"radius": 2},
        aliases=("hexamesh",),
        papers=("iff-hexamesh",),
    ),
    GraphFamily(
        "folded-hexa-torus",
        "a hexagon of nodes whose lines are folded rings; shortest paths in layers",
        FoldedHexaTorus,
        Group.TORI,
        example={"radius": 2},
        papers=("iff-folded-hexa-torus",),
    ),
)
