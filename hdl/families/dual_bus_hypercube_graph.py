"""Dual-bus hypercubes: spanning-bus hypercubes of which each node keeps two buses."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..fabric.errors import InvalidValue
from ..fabric.parameter_fields import integer
from ..graphs.graph import Channel
from ..networks.family import GraphFamily, Group
from .spanning_bus_hypercube_graph import SpanningBusHypercube

__all__ = ["FAMILIES", "DualBusHypercube"]


@dataclass(frozen=True)
class DualBusHypercube(SpanningBusHypercube):
    """k^n nodes that share two buses each, of k nodes (Wittie, 1981; Dandamudi and Eager, 1990,
    II-A).

    All nodes have a bus of dimension 0. The other one is of dimension 1 + x mod (n - 1), where x is
    the digit 0 of the node's address: so there are buses of all dimensions if k >= n - 1. Which two
    buses a node has, neither the paper nor the abstract of its source says; this choice treats the
    dimensions alike, and its diameter is 2 (n - 1) buses.

    A packet corrects the highest digit first. If its node has no bus of that dimension, it goes by
    a bus of dimension 0 to one that has, in a channel with the number of the dimension. The order
    of dimensions makes it free of deadlock; it takes at most 2 n - 1 buses (`routing=layered`: the
    fewest).

    Attributes
    ----------
    k, n : int
    cluster : str
        As in `SpanningBusHypercube`.
    """

    n: int = integer(3, "dimensions", least=2, most=8, title="Dimensions n")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.k < self.n - 1:
            raise InvalidValue(f"Line k must be at least n - 1 = {self.n - 1}, not {self.k}")

    def _lines(self, node: int) -> Sequence[int]:
        return 0, 1 + node % self.k % (self.n - 1)

    def _channels(self, port: int) -> int:
        return 1 if port else self.n

    def _highest(self, node: int, destination: int) -> int:
        """The highest dimension in which they differ; 0 if there is none."""
        differ = (i for i in range(self.n) if self._digit(node, i) != self._digit(destination, i))
        return max(differ, default=0)

    def route(self, node: int, came: Channel | None, destination: int) -> Iterator[Channel]:
        if node < self.k**self.n:
            wanted = self._highest(node, destination)
            if wanted and self._lines(node)[1] == wanted:
                yield Channel(node, 1)
            elif node != destination:
                yield Channel(node, 0, wanted)
            return
        line = self._line(node)
        if line.port:
            yield from super().route(node, came, destination)
            return
        wanted, member = self._highest(line.member, destination), self._digit(destination, 0)
        if wanted:  # a member with a bus of that dimension: the destination's digit, or the next
            while self._lines(member)[1] != wanted:
                member = (member + 1) % self.k
        yield Channel(node, member if line.end == self._ends - 1 else 0, wanted)


FAMILIES = (
    GraphFamily(
        "dual-bus-hypercube",
        "a spanning-bus hypercube of which each node keeps two buses",
        DualBusHypercube,
        Group.HYPERMESHES,
        example={"k": 2},
        papers=("wittie", "dandamudi"),
    ),
)
