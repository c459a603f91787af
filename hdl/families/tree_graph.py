"""Trees whose nodes are all processors."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from ..fabric.parameter_fields import integer
from ..graphs.graph import MOST_NODES, Channel, Link
from ..graphs.routing.relation import RoutedGraph
from ..networks.family import GraphFamily, Group

__all__ = ["FAMILIES", "Tree"]


@dataclass(frozen=True)
class Tree(RoutedGraph):
    """Any number of nodes, filled in level by level (Ginosar and Egozi, 1989, 4.1.6).

    Node 0 is the root. The children of node i are nodes b i + 1 to b i + b, as far as they exist.
    All nodes have a terminal, also the inner ones. There is one path between any two nodes, so one
    channel is enough.

    Attributes
    ----------
    nodes : int
        From 2 to 65,536.
    branching : int
        b, from 2 to 64.

    Examples
    --------
    >>> tree = Tree(7, 2)
    >>> tree.levels, [tree.level(node) for node in range(7)]
    (3, [0, 1, 1, 2, 2, 2, 2])
    """

    nodes: int = integer(15, "nodes, each with a terminal", least=2, most=MOST_NODES)
    # More children make a router too wide.
    branching: int = integer(2, "children of a node", least=2, most=64)

    deadlock_free = True
    looks_back = False

    def parent(self, node: int) -> int:
        """The node above another one, which is not the root."""
        return (node - 1) // self.branching

    def level(self, node: int) -> int:
        """Links from the root to a node."""
        level = 0
        while node:
            node, level = self.parent(node), level + 1
        return level

    @property
    def levels(self) -> int:
        """Number of levels: one more than the links from the root to the last node."""
        return self.level(self.nodes - 1) + 1

    @cached_property
    def sizes(self) -> list[int]:
        """For each node, the nodes of the subtree below it, with itself."""
        found = [1] * self.nodes
        for node in range(self.nodes - 1, 0, -1):
            found[self.parent(node)] += found[node]
        return found

    @property
    def diameter(self) -> int:
        """Links on the longest path: from the last node to the deepest one of another branch."""
        depth, top = self.levels - 1, self.nodes - 1
        while top > self.branching:
            top = self.parent(top)
        # If only the first branch of the root has nodes at the last level, the others end above it.
        return 2 * depth - (top == 1)

    def links(self) -> Iterator[Link]:
        """Port 0 leads to the parent, and port 1 + j to child j; that of the root is port j."""
        for node in range(1, self.nodes):
            parent = self.parent(node)
            port = self._port(parent, node)
            yield Link(node, 0, parent, port)
            yield Link(parent, port, node, 0)

    def _port(self, node: int, child: int) -> int:
        return (child - 1) % self.branching + (node > 0)

    def position(self, node: int) -> tuple[float, float]:
        """Levels below each other; a node is above the middle of its children."""
        level = self.level(node)
        first = (self.branching**level - 1) // (self.branching - 1)
        across = (node - first + 0.5) / self.branching**level
        width = self.branching ** (self.levels - 1)
        return across * width, -level * max(1.0, width / 8)

    def direction(self, link: Link) -> str:
        return "up" if link.peer < link.node else "down"

    @property
    def bisection(self) -> int | None:
        """One link in both directions if a subtree has half of the nodes, or else None."""
        halves = {self.nodes // 2, (self.nodes + 1) // 2}
        return None if halves.isdisjoint(self.sizes) else 2

    def route(self, node: int, came: Channel | None, destination: int) -> Iterator[Channel]:
        below = destination
        while below > node:
            child, below = below, self.parent(below)
        if below != node:
            yield Channel(node, 0)
        elif destination != node:
            yield Channel(node, self._port(node, child))


FAMILIES = (
    GraphFamily(
        "tree", "nodes in a tree, each with a terminal", Tree, Group.STATIC, example={"nodes": 7}
    ),
)
