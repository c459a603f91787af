"""Kautz and de Bruijn graphs: nodes are words, and links shift letters in."""

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise, product

from ..fabric.parameter_fields import integer
from ..graphs.graph import Channel, Link
from ..graphs.routing.relation import RoutedGraph
from ..networks.family import GraphFamily, Group

__all__ = ["FAMILIES", "DeBruijn", "Kautz", "ShiftGraph"]

_Word = tuple[int, ...]


@dataclass(frozen=True)
class ShiftGraph(RoutedGraph):
    """Words of n letters. One-way links to other words add a letter and remove the first.

    A packet goes the shortest way: if the last o letters here are the first o of the destination, o
    as large as possible, its letter o is the next. It takes channel o, which grows with each link.
    """

    d: int = integer(2, "links that leave a node", least=2, most=16, title="Degree d")
    n: int = integer(3, "letters of a word: the diameter", least=2, most=12, title="Letters n")

    deadlock_free = True

    @property
    @abstractmethod
    def words(self) -> list[_Word]:
        """The words of all nodes."""

    @cached_property
    def _numbers(self) -> dict[_Word, int]:
        return {word: number for number, word in enumerate(self.words)}

    def name(self, node: int) -> str:
        return ".".join(map(str, self.words[node]))

    def links(self) -> Iterator[Link]:
        """A port's number is the letter that comes in; that of the peer's, the one removed."""
        for (word, number), letter in product(self._numbers.items(), range(self.d + 1)):
            peer = self._numbers.get((*word[1:], letter), number)
            if peer != number:
                yield Link(number, letter, peer, word[0], channels=self.n)

    def route(self, node: int, came: Channel | None, destination: int) -> Iterator[Channel]:
        here, there = self.words[node], self.words[destination]
        o = next(o for o in range(self.n, -1, -1) if here[self.n - o :] == there[:o])
        if o < self.n:
            yield Channel(node, there[o], o)


class Kautz(ShiftGraph):
    """The Kautz graph: words over d + 1 letters, none twice in a row."""

    @property
    def nodes(self) -> int:
        return (self.d + 1) * self.d ** (self.n - 1)

    @cached_property
    def words(self) -> list[_Word]:
        words = product(range(self.d + 1), repeat=self.n)
        return [word for word in words if all(a != b for a, b in pairwise(word))]


class DeBruijn(ShiftGraph):
    """The de Bruijn graph: all d^n words over d letters."""

    @property
    def nodes(self) -> int:
        return self.d**self.n

    @cached_property
    def words(self) -> list[_Word]:
        return list(product(range(self.d), repeat=self.n))


FAMILIES = (
    GraphFamily(
        "kautz",
        "a Kautz graph of degree d and diameter n; shortest paths",
        Kautz,
        Group.LARGE,
        papers=("kautz",),
    ),
    GraphFamily(
        "de-bruijn",
        "a de Bruijn graph of d^n nodes; shortest paths",
        DeBruijn,
        Group.LARGE,
        papers=("de-bruijn",),
    ),
)
