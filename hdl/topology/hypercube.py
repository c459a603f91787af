"""The binary n-cube: nodes whose numbers differ in one bit are neighbours (Stanfill, 3.10, 4.2).

It is a *static* topology: its nodes are the terminals' own, unlike the boxes of a multistage
network. Each node may have several processors.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from ..core.checks import check_field
from ..core.errors import InvalidValue
from .tags import AddressCode, TagScheme, address_tags

__all__ = ["Hypercube"]


@dataclass(frozen=True)
class Hypercube:
    """2^n nodes with n wires each, and processors at every node.

    Terminal x is processor x mod P of node x div P, P being the number of processors of a node.

    Attributes
    ----------
    dimensions : int
        n, at least 1.
    processors : int
        Of each node: a power of two, at least 1.

    Raises
    ------
    TypeError, ValueError
        If a number is not as above.
    """

    dimensions: int
    processors: int = 1

    def __post_init__(self) -> None:
        check_field(self, "dimensions", "Dimensions", 1)
        check_field(self, "processors", "Processors", 1)
        if self.processors & self.processors - 1:
            raise InvalidValue(f"Processors must be a power of two, not {self.processors}")

    @property
    def nodes(self) -> int:
        return 1 << self.dimensions

    @property
    def terminals(self) -> int:
        return self.nodes * self.processors

    @property
    def code(self) -> AddressCode:
        """Of the terminals: the number of the node above that of the processor."""
        return AddressCode(2, self.dimensions + self.processor_bits)

    @property
    def processor_bits(self) -> int:
        """Width in bits of the number of a processor in its node."""
        return self.processors.bit_length() - 1

    def place(self, terminal: int) -> tuple[int, int]:
        """The node of a terminal, and which of its processors it is."""
        return divmod(terminal, self.processors)

    def neighbour(self, node: int, dimension: int) -> int:
        """The node at the other end of a wire."""
        return node ^ 1 << dimension

    def wires(self) -> Iterator[tuple[int, int, int]]:
        """All wires, each direction by itself: node, dimension, and the node it leads to."""
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
        """Tags that hold the destination's address itself."""
        return address_tags(self.code)
