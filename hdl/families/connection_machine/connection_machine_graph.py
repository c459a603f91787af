"""The binary n-cube: nodes whose numbers differ in one bit are neighbours (Stanfill, 3.10, 4.2).

It is a *static* topology: the terminals are at its nodes, unlike in a multistage network, where
they are at the edge. Each node may have several processors.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from ...fabric.checks import check_field, check_power_of_two
from ...graphs.address_codes import AddressCode
from ...graphs.tags import TagScheme, address_tags

__all__ = ["Hypercube"]


@dataclass(frozen=True)
class Hypercube:
    """2^n nodes with n wires each, and one or more processors at every node.

    Terminal x is processor x mod P of node x div P, where P is the number of processors per node.

    Attributes
    ----------
    dimensions : int
        n, at least 1.
    processors : int
        Processors per node: a power of two, at least 1.
    """

    dimensions: int
    processors: int = 1

    def __post_init__(self) -> None:
        check_field(self, "dimensions", "Dimensions", 1)
        check_field(self, "processors", "Processors", 1)
        check_power_of_two("Processors", self.processors)

    @property
    def nodes(self) -> int:
        return 1 << self.dimensions

    @property
    def terminals(self) -> int:
        return self.nodes * self.processors

    @property
    def code(self) -> AddressCode:
        """The code of terminal addresses: the node number above the processor number."""
        return AddressCode(2, self.dimensions + self.processor_bits)

    @property
    def processor_bits(self) -> int:
        """Width in bits of a processor's number in its node."""
        return self.processors.bit_length() - 1

    def place(self, terminal: int) -> tuple[int, int]:
        """The node of a terminal, and the number of its processor there."""
        return divmod(terminal, self.processors)

    def neighbour(self, node: int, dimension: int) -> int:
        """The node at the other end of a wire."""
        return node ^ 1 << dimension

    def wires(self) -> Iterator[tuple[int, int, int]]:
        """All wires, each direction separately: node, dimension, and the node at the other end."""
        for node in range(self.nodes):
            for dimension in range(self.dimensions):
                yield node, dimension, self.neighbour(node, dimension)

    def distance(self, source: int, destination: int) -> int:
        """Wires on a shortest path between two terminals: the ones in their relative address."""
        return (self.place(source)[0] ^ self.place(destination)[0]).bit_count()

    def path(self, source: int, destination: int) -> list[tuple[int, int]]:
        """One shortest path between two terminals, lowest dimension first: nodes and dimensions."""
        node, goal = self.place(source)[0], self.place(destination)[0]
        hops = []
        for dimension in range(self.dimensions):
            if (node ^ goal) >> dimension & 1:
                hops.append((node, dimension))
                node = self.neighbour(node, dimension)
        return hops

    def tags(self) -> TagScheme:
        """Tags that hold the address of the destination."""
        return address_tags(self.code)
