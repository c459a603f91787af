"""X-trees: binary trees whose levels are rings."""

from collections.abc import Iterator
from dataclasses import dataclass

from ..fabric.parameter_fields import integer, word
from ..graphs.adjacency import adjacent_links
from ..graphs.graph import Graph, Link
from ..networks.family import GraphFamily, Group

__all__ = ["FAMILIES", "XTree"]


@dataclass(frozen=True)
class XTree(Graph):
    """2^n - 1 nodes in a binary tree of n levels, in which neighbours in a level are linked too,
    and the last with the first (Despain and Patterson, 1978; named by Ginosar and Egozi, 1989, 2).

    Node 0 is the root, and the children of node i are nodes 2 i + 1 and 2 i + 2. A node has its
    parent, two neighbours and two children, as far as they exist and are different: at most 5
    links. The diameter is 2 n - 4 (for n from 4 to 8, by search), and the bisection width 2 n - 2:
    between the left and the right half, with the root, there are two links in each level but the
    first two. With `ring=open` the last node of a level is not linked with the first (Leighton,
    1992).

    Attributes
    ----------
    levels : int
        n, from 2 to 16.
    ring : str
    """

    levels: int = integer(4, "levels n: there are 2^n - 1 nodes", least=2, most=16)
    ring: str = word(
        "full",
        "links within a level",
        {"full": "a ring: the last node is linked with the first", "open": "a row"},
    )

    @property
    def nodes(self) -> int:
        return (1 << self.levels) - 1

    def links(self) -> Iterator[Link]:
        """Ports lead to the parent, the neighbours before and behind, and the children, if any."""
        peers = [self._neighbours(node) for node in range(self.nodes)]
        return adjacent_links(peers)

    def _neighbours(self, node: int) -> list[int]:
        first = self._first(node)
        size, place = first + 1, node - first
        found = [(node - 1) // 2] if node else []
        for step in (-1, 1):
            if self.ring == "full" or place + step in range(size):
                found.append(first + (place + step) % size)
        found += [2 * node + 1, 2 * node + 2]
        return [peer for peer in dict.fromkeys(found) if peer != node and peer < self.nodes]

    def _first(self, node: int) -> int:
        """The first node of a level, which is one less than the number of its nodes."""
        return (1 << (node + 1).bit_length() - 1) - 1

    def position(self, node: int) -> tuple[float, float]:
        """Levels below each other; a node is above the middle of its children."""
        first = self._first(node)
        width = 1 << self.levels - 1
        across = (node - first + 0.5) / (first + 1)
        return across * width, -(first + 1).bit_length() * max(1.0, width / 8)

    def direction(self, link: Link) -> str:
        levels = [self._first(node) for node in (link.node, link.peer)]
        return "across" if levels[0] == levels[1] else "up" if levels[1] < levels[0] else "down"


FAMILIES = (
    GraphFamily(
        "x-tree",
        "a binary tree whose levels are rings; shortest paths in layers",
        XTree,
        Group.STATIC,
        example={"levels": 3},
        papers=("despain-x-tree", "ginosar", "dandamudi"),
    ),
)
