"""Meshes of trees: a grid of leaves, with a binary tree over each row and each column."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

from ..fabric.checks import check_power_of_two
from ..fabric.parameter_fields import integer
from ..graphs.graph import Channel, Link
from ..graphs.routing.relation import RoutedGraph
from ..networks.family import GraphFamily, Group

__all__ = ["FAMILIES", "MeshOfTrees"]


@dataclass(frozen=True)
class MeshOfTrees(RoutedGraph):
    """n^2 leaves with a terminal each, and 2 n (n - 1) nodes above them, in a tree over each row
    and each column (Leighton, 1983; named by Ginosar and Egozi, 1989, 4).

    Leaves and roots have 2 links, others 3. The diameter is 4 log2 n, and the bisection width n
    (Leighton, 1992, 1.1). A packet goes through the tree of its row to the column of its
    destination, and through the tree of that column; this is a shortest path, and one channel is
    enough.

    Attributes
    ----------
    n : int
        A power of two, from 2 to 128.
    """

    n: int = integer(4, "leaves of a row, a power of two", least=2, most=128, title="Leaves n")

    deadlock_free = True
    looks_back = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_power_of_two("Leaves n", self.n)

    @property
    def nodes(self) -> int:
        return 3 * self.n**2 - 2 * self.n

    @cached_property
    def homes(self) -> Sequence[int]:
        return range(self.n**2)

    def _node(self, tree: int, place: int) -> int:
        """Node `place` of a tree: 1 is the root, 2 i and 2 i + 1 are below i, and n + j is leaf j.

        Trees 0 to n - 1 are the rows, n to 2 n - 1 the columns.
        """
        if place < self.n:
            return self.n**2 + tree * (self.n - 1) + place - 1
        leaf = place - self.n
        return tree * self.n + leaf if tree < self.n else leaf * self.n + tree - self.n

    def links(self) -> Iterator[Link]:
        """Ports of a leaf lead up in its row and in its column, others to both children, and up."""
        for tree, place in product(range(2 * self.n), range(2, 2 * self.n)):
            node, above = self._node(tree, place), self._node(tree, place // 2)
            up = 2 if place < self.n else tree // self.n
            yield Link(node, up, above, place % 2)
            yield Link(above, place % 2, node, up)

    def position(self, node: int) -> tuple[float, float]:
        """Trees of rows above their leaves, those of columns on the left of theirs."""
        if node < self.n**2:
            return 3.0 * (node % self.n), -3.0 * (node // self.n)
        tree, place = divmod(node - self.n**2, self.n - 1)
        level = (place + 1).bit_length() - 1
        share = self.n / (1 << level)
        along = 3 * ((place + 1 - (1 << level) + 0.5) * share - 0.5)
        aside = round(0.8 * (1 - level / (self.n.bit_length() - 1)), 6)
        leaves = 3.0 * (tree % self.n)
        return (along, aside - leaves) if tree < self.n else (leaves - aside, -along)

    def direction(self, link: Link) -> str:
        return "up" if link.peer > link.node and link.peer >= self.n**2 else "down"

    def route(self, node: int, came: Channel | None, destination: int) -> Iterator[Channel]:
        row, column = divmod(destination, self.n)
        if node < self.n**2:
            if node != destination:
                yield Channel(node, int(node % self.n == column))
            return
        tree, place = divmod(node - self.n**2, self.n - 1)
        below = self.n + (column if tree < self.n else row)
        while below // 2 > place + 1:
            below //= 2
        yield Channel(node, below % 2 if below // 2 == place + 1 else 2)


FAMILIES = (
    GraphFamily(
        "mesh-of-trees",
        "a grid of leaves with a binary tree over each row and each column; first the row",
        MeshOfTrees,
        Group.STATIC,
        example={"n": 4},
        papers=("leighton", "ginosar"),
    ),
)
