"""Hypertrees: binary trees in which each level also has links of a hypercube."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from ..fabric.parameter_fields import integer
from ..graphs.adjacency import adjacent_links
from ..graphs.graph import Graph, Link
from ..networks.family import GraphFamily, Group

__all__ = ["FAMILIES", "Hypertree"]


@dataclass(frozen=True)
class Hypertree(Graph):
    """2^n - 1 nodes in a binary tree of n levels; nodes of a level are also linked whose numbers
    differ in one bit (Goodman and Sequin, 1981; named by Ginosar and Egozi, 1989).

    As in the theory of graphs, the bit is the highest one that differs within a level: node 0 of
    the left half is linked with node 0 of the right half, and so on. (Goodman and Sequin choose the
    bit of each level by a table.) Node 0 is the root, and the children of node i are 2 i + 1 and
    2 i + 2. A node has 4 links at most.

    Attributes
    ----------
    levels : int
        n, from 2 to 16.
    """

    levels: int = integer(4, "levels n: there are 2^n - 1 nodes", least=2, most=16)

    @property
    def nodes(self) -> int:
        return (1 << self.levels) - 1

    @cached_property
    def neighbours(self) -> list[list[int]]:
        """The parent, the node of the other half of the level, and the children, if any."""
        found = []
        for node in range(self.nodes):
            half = self._half(node)
            peers = [(node - 1) // 2, (node + 1 ^ half) - 1] if node else []
            found.append(
                [each for each in (*peers, 2 * node + 1, 2 * node + 2) if each < self.nodes]
            )
        return found

    def _half(self, node: int) -> int:
        """The nodes of half a level, a power of two; 0 for that of the root."""
        return 1 << (node + 1).bit_length() - 2 if node else 0

    def links(self) -> Iterator[Link]:
        return adjacent_links(self.neighbours)

    def position(self, node: int) -> tuple[float, float]:
        """Levels below each other; a node is above the middle of its children."""
        first = max(2 * self._half(node), 1)
        across = (node + 1 - first + 0.5) / first
        width = 1 << self.levels - 1
        # A little aside, since a link of a level passes over the nodes between its ends.
        aside = 0.25 * (node % 2)
        return across * width, -first.bit_length() * max(1.0, width / 8) - aside

    def direction(self, link: Link) -> str:
        levels = [(node + 1).bit_length() for node in (link.node, link.peer)]
        return "across" if levels[0] == levels[1] else "up" if levels[1] < levels[0] else "down"


FAMILIES = (
    GraphFamily(
        "hypertree",
        "a binary tree whose levels are halves linked node by node; shortest paths in layers",
        Hypertree,
        Group.STATIC,
        example={"levels": 3},
        papers=("goodman-sequin", "ginosar"),
    ),
)
