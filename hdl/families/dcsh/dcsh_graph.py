"""The Distributed Crossbar Switch Hypermesh (DCSH) of Ould-Khaoua and Sotudeh, section II.

In a *hypermesh*, k nodes whose addresses differ in one digit only form a *cluster*. A node belongs
to n clusters and owns a channel in each, which all other nodes of the cluster receive. Each node
has a multiplexer per cluster, where the k - 1 channels of the other nodes meet.

Messages cross the dimensions in order, the highest first (*restricted routing*). So a message that
holds a channel waits only for channels of lower dimensions, and the channel dependencies have no
cycle: there is no deadlock, even without virtual channels.

Dimension i here, from 0 on, is the paper's i + 1; digit i of an address is the position of a node
in its cluster of dimension i.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from ...fabric.checks import check_field
from ...fabric.errors import InvalidValue
from ...graphs.address_codes import AddressCode
from ...graphs.permutations import Permutation, check_permutation
from ...graphs.tags import TagScheme, address_tags

__all__ = ["DCSH", "Crossing"]


class Crossing(NamedTuple):
    """One hop of a path: the channel of `owner` in a dimension, as received by `receiver`."""

    owner: int
    dimension: int
    receiver: int


@dataclass(frozen=True)
class DCSH:
    """k^n nodes in n dimensions.

    A node numbers the other nodes of a cluster from 0 to k - 2 in the order of their digits; these
    numbers are their *slots*.

    Attributes
    ----------
    k : int
        Nodes per cluster, at least 2.
    n : int
        Dimensions, at least 1.
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
        """Tags that hold the address of the destination."""
        return address_tags(self.code)

    def position(self, node: int, dimension: int) -> int:
        """The position of a node in its cluster of a dimension: a digit of its address."""
        return node // self.k**dimension % self.k

    def cluster(self, node: int, dimension: int) -> list[int]:
        """All k nodes of a node's cluster in a dimension, by position."""
        step = self.k**dimension
        first = node - self.position(node, dimension) * step
        return [first + position * step for position in range(self.k)]

    def others(self, node: int, dimension: int) -> list[int]:
        """The other nodes of a node's cluster, which receive its channel, by slot."""
        return [other for other in self.cluster(node, dimension) if other != node]

    def slot(self, node: int, dimension: int, other: int) -> int:
        """The slot of another node of a cluster, as seen by a node."""
        here, there = self.position(node, dimension), self.position(other, dimension)
        return there - (there > here)

    def channels(self) -> Iterator[tuple[int, int, list[int]]]:
        """All channels: the owner, the dimension, and the receiving nodes."""
        for node in range(self.nodes):
            for dimension in range(self.n):
                yield node, dimension, self.others(node, dimension)

    def next_dimension(self, node: int, destination: int) -> int | None:
        """The next dimension for a message in a node to cross; None if it has arrived."""
        here, there = self.code.split(node), self.code.split(destination)
        return next((i for i in reversed(range(self.n)) if here[i] != there[i]), None)

    def distance(self, source: int, destination: int) -> int:
        """Channels between two nodes: the number of digits in which their addresses differ."""
        return sum(a != b for a, b in zip(self.code.split(source), self.code.split(destination)))

    def path(self, source: int, destination: int) -> list[Crossing]:
        """The channels that a message crosses, in order."""
        hops: list[Crossing] = []
        node, there = source, self.code.split(destination)
        while (i := self.next_dimension(node, destination)) is not None:
            receiver = self.cluster(node, i)[there[i]]
            hops.append(Crossing(node, i, receiver))
            node = receiver
        return hops

    def emulate(self, destinations: Permutation, *, inverse: bool = False) -> list[list[Crossing]]:
        """Run a permutation in SIMD mode, as an omega network of k x k boxes does (section II).

        In each step all messages cross one dimension: the highest for the first stage of the omega
        network, the lowest for that of the inverse omega. A node sends at most one message per step
        and receives at most one: each cluster performs a permutation, as do the boxes of a stage.
        A message whose digit is already right stays where it is.

        Parameters
        ----------
        destinations : Permutation
            Of the nodes; None for a node that sends nothing.
        inverse : bool
            Lowest dimension first.

        Returns
        -------
        list of list of Crossing
            For each of the n steps, the channels in use, each at most once.

        Raises
        ------
        ValueError
            If it is not a permutation, or two messages would have to be in one node at the same
            time; the omega network does not pass such a permutation either.
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
                receiver = self.cluster(node, i)[goals[message][i]]
                if receiver in arrived:
                    raise InvalidValue(
                        f"Permutation does not pass: messages of {arrived[receiver]} and {message} "
                        f"meet in node {receiver} after dimension {i}"
                    )
                arrived[receiver] = message
                if receiver != node:
                    step.append(Crossing(node, i, receiver))
            places = {message: node for node, message in arrived.items()}
            steps.append(step)
        return steps
