"""Trees of meshes: binary trees whose nodes are meshes, the smaller the further down."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from ..fabric.checks import check_power_of_two
from ..fabric.parameter_fields import integer
from ..graphs.adjacency import adjacent_links
from ..graphs.graph import Graph, Link
from ..networks.family import GraphFamily, Group

__all__ = ["FAMILIES", "TreeOfMeshes"]


@dataclass(frozen=True)
class TreeOfMeshes(Graph):
    """A complete binary tree of 2 log2 n + 1 levels, with a mesh in each node and as many links in
    place of each edge as the mesh below is wide (Leighton, 1983; named by Ginosar and Egozi, 1989).

    The root is an n x n mesh, its sons are n / 2 x n meshes, theirs n / 2 x n / 2, and so on, until
    there are n^2 meshes of one node, which have the terminals. The left column of a mesh is linked
    with the upper row of its left son, the right one with that of the right son. Each level has n^2
    nodes.

    Attributes
    ----------
    n : int
        A power of two, from 2 to 32.
    """

    n: int = integer(4, "side of the root, a power of two", least=2, most=32, title="Side n")

    def __post_init__(self) -> None:
        super().__post_init__()
        check_power_of_two("Side n", self.n)

    @property
    def levels(self) -> int:
        return 2 * self.n.bit_length() - 1

    @property
    def nodes(self) -> int:
        return self.levels * self.n**2

    @cached_property
    def homes(self) -> Sequence[int]:
        return range(self.nodes - self.n**2, self.nodes)

    def _size(self, level: int) -> tuple[int, int]:
        """The rows and columns of the meshes of a level."""
        return self.n >> (level + 1) // 2, self.n >> level // 2

    def _node(self, level: int, mesh: int, row: int, column: int) -> int:
        rows, columns = self._size(level)
        return level * self.n**2 + (mesh * rows + row) * columns + column

    def _place(self, node: int) -> tuple[int, int, int, int]:
        """The level, the mesh there, and the row and column in it."""
        level, rest = divmod(node, self.n**2)
        rows, columns = self._size(level)
        mesh, place = divmod(rest, rows * columns)
        return level, mesh, *divmod(place, columns)

    @cached_property
    def neighbours(self) -> list[list[int]]:
        found: list[list[int]] = [[] for _ in range(self.nodes)]
        for node in range(self.nodes):
            level, mesh, row, column = self._place(node)
            rows, columns = self._size(level)
            peers = []
            if row + 1 < rows:
                peers.append(node + columns)
            if column + 1 < columns:
                peers.append(node + 1)
            if level + 1 < self.levels:
                sides = {0: 2 * mesh, columns - 1: 2 * mesh + 1}
                if column in sides:
                    peers.append(self._node(level + 1, sides[column], 0, row))
            for peer in peers:
                found[node].append(peer)
                found[peer].append(node)
        return found

    def links(self) -> Iterator[Link]:
        return adjacent_links(self.neighbours)

    def name(self, node: int) -> str:
        return ".".join(map(str, self._place(node)))

    def position(self, node: int) -> tuple[float, float]:
        """Levels below each other, all equally wide."""
        level, mesh, row, column = self._place(node)
        columns = self._size(level)[1]
        across = (mesh * columns + column + 0.5) / (columns << level)
        above = sum(self._size(each)[0] + 1 for each in range(level))
        return 1.5 * across * self.n**2, -2.0 * (above + row)

    def direction(self, link: Link) -> str:
        here, there = self._place(link.node), self._place(link.peer)
        if here[0] != there[0]:
            return "down" if there > here else "up"
        return "+-"[there < here] + ("row" if here[2] == there[2] else "column")


FAMILIES = (
    GraphFamily(
        "tree-of-meshes",
        "a binary tree of meshes, with terminals at its leaves; shortest paths in layers",
        TreeOfMeshes,
        Group.STATIC,
        example={"n": 2},
        papers=("leighton", "ginosar"),
    ),
)
