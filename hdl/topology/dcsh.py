"""The Distributed Crossbar Switch Hypermesh (DCSH) of Ould-Khaoua and Sotudeh, section II.

A *hypermesh*: k nodes whose addresses differ in one digit only are a *cluster*. In each of its n
clusters a node owns a channel, which all others of the cluster hear. There, the k - 1 channels of
the others meet at a multiplexer.

Messages cross the dimensions in order, the highest first (*restricted routing*). So a message that
holds a channel waits for channels of lower dimensions only, and no circle of messages can wait for
each other: there is no deadlock, without virtual channels.

Dimension i here, from 0 on, is the paper's i + 1; digit i of an address says where a node stands in
its cluster of dimension i.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from ..core.checks import check_field
from ..core.errors import InvalidValue
from .permutations import Permutation, check_permutation
from .tags import AddressCode, TagScheme, address_tags

__all__ = ["DCSH", "Crossing"]


class Crossing(NamedTuple):
    """One hop of a path: the channel of `owner` in a dimension, as `hearer` takes it up."""

    owner: int
    dimension: int
    hearer: int


@dataclass(frozen=True)
class DCSH:
    """k^n nodes in n dimensions.

    Seen from a node, the others of a cluster are numbered from 0 to k - 2 in the order of their
    digits, the node itself left out: these are their *slots*.

    Attributes
    ----------
    k : int
        Nodes of a cluster, at least 2.
    n : int
        Dimensions, at least 1.

    Raises
    ------
    TypeError, ValueError
        If a number is not as above.
    """

    k: int
    n: int

    def __post_init__(self) -> None:
        check_field(self, "k", "Cluster size k", 2)
        check_field(self, "n", "Dimensions n", 1)

    @property
    def nodes(self) -> int:
        return self.code.count

    @property
    def code(self) -> AddressCode:
        return AddressCode(self.k, self.n)

    def tags(self) -> TagScheme:
        """Tags that hold the destination's address itself."""
        return address_tags(self.code)

    def position(self, node: int, dimension: int) -> int:
        """Where a node stands in its cluster of a dimension: a digit of its address."""
        return node // self.k**dimension % self.k

    def cluster(self, node: int, dimension: int) -> list[int]:
        """The k nodes of a node's cluster in a dimension, itself included, by position."""
        step = self.k**dimension
        first = node - self.position(node, dimension) * step
        return [first + position * step for position in range(self.k)]

    def others(self, node: int, dimension: int) -> list[int]:
        """Those of them that hear the node's channel, by slot."""
        return [other for other in self.cluster(node, dimension) if other != node]

    def slot(self, node: int, dimension: int, other: int) -> int:
        """The slot of another node of a cluster, as seen from a node."""
        here, there = self.position(node, dimension), self.position(other, dimension)
        return there - (there > here)

    def channels(self) -> Iterator[tuple[int, int, list[int]]]:
        """All channels: their owner, their dimension, and who hears them."""
        for node in range(self.nodes):
            for dimension in range(self.n):
                yield node, dimension, self.others(node, dimension)

    def next_dimension(self, node: int, destination: int) -> int | None:
        """The dimension that a message in a node has to cross next; None if it has arrived."""
        here, there = self.code.split(node), self.code.split(destination)
        return next((i for i in reversed(range(self.n)) if here[i] != there[i]), None)

    def distance(self, source: int, destination: int) -> int:
        """Channels between two nodes: the digits in which their addresses differ."""
        return sum(a != b for a, b in zip(self.code.split(source), self.code.split(destination)))

    def path(self, source: int, destination: int) -> list[Crossing]:
        """The channels that a message crosses, one after the other."""
        hops: list[Crossing] = []
        node, there = source, self.code.split(destination)
        while (i := self.next_dimension(node, destination)) is not None:
            hearer = self.cluster(node, i)[there[i]]
            hops.append(Crossing(node, i, hearer))
            node = hearer
        return hops

    def emulate(self, destinations: Permutation, *, inverse: bool = False) -> list[list[Crossing]]:
        """Run a permutation in SIMD mode, as an omega network of k x k boxes does (section II).

        In each step all messages cross one dimension: in the place of the omega network's first
        stage the highest, of the inverse omega's the lowest. A node sends at most one message a
        step and receives at most one: each cluster makes a permutation, as the boxes of a stage do.
        A message that has the right digit stays where it is.

        Parameters
        ----------
        destinations : Permutation
            Of the nodes; None where one is silent.
        inverse : bool
            Lowest dimension first.

        Returns
        -------
        list of list of Crossing
            Of each of the n steps, the channels in use, none more than once.

        Raises
        ------
        ValueError
            If it is no permutation, or two messages would have to be in one node at a time: then
            the omega network does not pass it either.
        """
        check_permutation(destinations, self.nodes)
        goals = {x: self.code.split(to) for x, to in enumerate(destinations) if to is not None}
        places = {message: message for message in goals}
        order = range(self.n)
        steps = []
        for i in order if inverse else reversed(order):
            step: list[Crossing] = []
            arrived: dict[int, int] = {}
            for message, node in places.items():
                hearer = self.cluster(node, i)[goals[message][i]]
                if hearer in arrived:
                    raise InvalidValue(
                        f"Permutation does not pass: messages of {arrived[hearer]} and {message} "
                        f"meet in node {hearer} after dimension {i}"
                    )
                arrived[hearer] = message
                if hearer != node:
                    step.append(Crossing(node, i, hearer))
            places = {message: node for node, message in arrived.items()}
            steps.append(step)
        return steps
