"""Perfect shuffles with links to the nearest neighbours (PSNN), or with exchange links (PSE)."""

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from ..fabric.parameter_fields import integer
from ..graphs.circle import circle_position
from ..graphs.graph import Graph, Link
from ..networks.family import GraphFamily, Group

__all__ = ["FAMILIES", "PerfectShuffle", "ShuffleExchange", "ShuffleNearestNeighbor"]


@dataclass(frozen=True)
class PerfectShuffle(Graph):
    """2^n nodes. Two-way links join each node i to its shuffle, which is i with its n bits rotated
    by one place to the left, and the subclass adds others (Ginosar and Egozi, 1989, 4.1.8).

    Two nodes have at most one link, and no node has one to itself (their assumption D). The
    shuffles of nodes 0 and N - 1 are these nodes themselves, so these have none. If n is even, the
    shuffle leads from 0101...01 to 1010...10 and back: one of these two links is left out. So is
    each further link between nodes that a shuffle link joins.

    Attributes
    ----------
    n : int
        From 2 to 16.
    """

    n: int = integer(4, "bits of an address: there are 2^n nodes", least=2, most=16, title="Bits n")

    port_names: ClassVar[tuple[str, ...]]
    """What each port of a node leads to."""

    @property
    def nodes(self) -> int:
        return 1 << self.n

    def shuffle(self, node: int) -> int:
        """A node with its bits rotated to the left."""
        return (node << 1 | node >> self.n - 1) & self.nodes - 1

    @abstractmethod
    def further(self) -> Iterator[tuple[int, int, int, int]]:
        """The links beside those of the shuffle: two nodes, each with the port that leads to the
        other."""

    @cached_property
    def _two_way(self) -> tuple[dict[frozenset[int], tuple[int, int, int, int]], int]:
        """The two-way links by the nodes that they join, and how many are left out."""
        shuffles = ((node, 0, self.shuffle(node), 1) for node in range(self.nodes))
        wanted = [*shuffles, *self.further()]
        found: dict[frozenset[int], tuple[int, int, int, int]] = {}
        for node, port, peer, back in wanted:
            if node != peer:
                found.setdefault(frozenset((node, peer)), (node, port, peer, back))
        return found, len(wanted) - len(found)

    @property
    def left_out(self) -> int:
        """Two-way links that are left out: from a node to itself, or second ones of two nodes."""
        return self._two_way[1]

    def links(self) -> Iterator[Link]:
        """Port 0 leads to the shuffle of a node, and port 1 to the node whose shuffle it is; where
        these are the same, only one of them exists."""
        for node, port, peer, back in self._two_way[0].values():
            yield Link(node, port, peer, back)
            yield Link(peer, back, node, port)

    def position(self, node: int) -> tuple[float, float]:
        return circle_position(node, self.nodes)

    def direction(self, link: Link) -> str:
        return self.port_names[link.port]


class ShuffleNearestNeighbor(PerfectShuffle):
    """PSNN: a perfect shuffle with a ring. Nodes i and i + 1 (modulo N) are linked too.

    Examples
    --------
    Of 8 shuffle links and 8 of the ring, 0 to 0, 7 to 7, and second ones of 1 and 2, and of 5 and
    6, are left out:

    >>> graph = ShuffleNearestNeighbor(3)
    >>> len(list(graph.links())) // 2, graph.left_out
    (12, 4)
    """

    port_names = ("shuffle", "unshuffle", "+1", "-1")

    def further(self) -> Iterator[tuple[int, int, int, int]]:
        return ((node, 2, (node + 1) % self.nodes, 3) for node in range(self.nodes))


class ShuffleExchange(PerfectShuffle):
    """PSE: a perfect shuffle in which nodes that differ in the last bit only are linked too.

    Examples
    --------
    >>> graph = ShuffleExchange(3)
    >>> len(list(graph.links())) // 2, graph.left_out
    (10, 2)
    """

    port_names = ("shuffle", "unshuffle", "exchange")

    def further(self) -> Iterator[tuple[int, int, int, int]]:
        return ((node, 2, node + 1, 2) for node in range(0, self.nodes, 2))


FAMILIES = (
    GraphFamily(
        "psnn",
        "perfect shuffle nearest neighbor: two-way shuffle links, and a two-way ring",
        ShuffleNearestNeighbor,
        Group.STATIC,
        example={"n": 3},
        aliases=("shuffle-nearest-neighbor",),
        papers=("stone",),
    ),
    GraphFamily(
        "pse",
        "perfect shuffle exchange: two-way shuffle links, and those of the last bit",
        ShuffleExchange,
        Group.STATIC,
        example={"n": 3},
        aliases=("shuffle-exchange",),
        papers=("stone",),
    ),
)
