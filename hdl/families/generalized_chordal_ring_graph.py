"""Generalised chordal rings: rings with any number of chords, which repeat along the ring."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from re import fullmatch

from ..fabric.errors import InvalidValue
from ..fabric.parameter_fields import integer, text
from ..graphs.adjacency import adjacent_links
from ..graphs.circle import circle_position
from ..graphs.graph import Graph, Link
from ..networks.family import GraphFamily, Group

__all__ = ["FAMILIES", "GeneralizedChordalRing"]


@dataclass(frozen=True)
class GeneralizedChordalRing(Graph):
    """A ring of N nodes with chords of any lengths, which depend on the node's number modulo a
    period (Doty, 1984; named by Ginosar and Egozi, 1989, 4).

    `chords=A,B` links each node i with i + A and i + B. `chords=A/B/0` does so by turns: nodes 0,
    3, 6, ... have a chord to i + A, nodes 1, 4, 7, ... one to i + B, and the others none of their
    own. All chords lead both ways. With one list it is a circulant graph; with `A/0` and A odd it
    is the chordal ring of Arden and Lee (1981). There is no formula for diameter and bisection:
    they follow from the chords, and Doty searched for those of the least diameter.

    Attributes
    ----------
    nodes : int
        N, from 3 to 4,096.
    chords : str
        Lists separated by "/", as many as the period, which divides N; in each, chords by commas.

    Examples
    --------
    >>> ring = GeneralizedChordalRing(8, "3/0")
    >>> [ring.neighbours[node] for node in range(2)]
    [[1, 3, 7], [0, 2, 6]]
    """

    nodes: int = integer(16, "nodes N", least=3, most=4096)
    chords: str = text("4,6", "how far chords lead; by turns, A,B/C has a period of two", "A,B/C")

    def __post_init__(self) -> None:
        super().__post_init__()
        if not fullmatch(r"-?[0-9]{1,4}([,/]-?[0-9]{1,4})*", self.chords):
            raise InvalidValue(f"Chords must be numbers such as 4,7 or 5/-5, not {self.chords!r}")
        if self.nodes % len(self.lists):
            raise InvalidValue(
                f"Chords must have a period that divides nodes={self.nodes}, not {len(self.lists)}"
            )
        for chord in (each for one in self.lists for each in one):
            if chord and chord % self.nodes in (0, 1, self.nodes - 1):
                raise InvalidValue(f"Chords must lead beyond the neighbours in a ring, not {chord}")

    @cached_property
    def lists(self) -> list[list[int]]:
        """The chords by the number of a node modulo the period; 0 stands for none."""
        return [[int(each) for each in one.split(",")] for one in self.chords.split("/")]

    @cached_property
    def neighbours(self) -> list[list[int]]:
        """The nodes that each is linked with."""
        found: list[set[int]] = [set() for _ in range(self.nodes)]
        for node in range(self.nodes):
            for step in (1, *self.lists[node % len(self.lists)]):
                peer = (node + step) % self.nodes
                if peer != node:
                    found[node].add(peer)
                    found[peer].add(node)
        return [sorted(peers) for peers in found]

    def links(self) -> Iterator[Link]:
        return adjacent_links(self.neighbours)

    def position(self, node: int) -> tuple[float, float]:
        return circle_position(node, self.nodes)

    def direction(self, link: Link) -> str:
        ahead = (link.peer - link.node) % self.nodes
        return f"+{ahead}" if 2 * ahead <= self.nodes else f"-{self.nodes - ahead}"


FAMILIES = (
    GraphFamily(
        "generalized-chordal-ring",
        "a ring with any chords, which repeat along it; shortest paths in layers",
        GeneralizedChordalRing,
        Group.STATIC,
        example={"nodes": 8, "chords": "3/0"},
        papers=("doty", "ginosar"),
    ),
)
