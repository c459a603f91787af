"""Spanning-bus hypercubes: nodes in n dimensions, with a bus, or a crossbar, along each line."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from ..fabric.parameters import integer, word
from ..graphs.graph import Channel, Link
from ..graphs.routing.relation import RoutedGraph
from ..networks.family import GraphFamily, Group

__all__ = ["FAMILIES", "SpanningBusHypercube"]

_CLUSTERS = {
    "bus": "one flit per cycle in all, which an arbiter gives to one packet after the other",
    "crossbar": "one flit per cycle to each node",
}


@dataclass(frozen=True)
class SpanningBusHypercube(RoutedGraph):
    """k^n nodes with a terminal each; the k nodes whose addresses differ in one digit share a bus,
    or a crossbar (the hypermeshes of Ould-Khaoua and Sotudeh, II, after Wittie, 1981, and the
    base-m n-cube of Tanabe et al., 1991).

    A bus is two nodes, as in `Bus`: an arbiter and the receivers behind it. A crossbar is one. A
    packet takes the lines of the dimensions in which source and destination differ, the highest
    first, so no packet waits for one of a higher dimension, and one channel is enough.

    Attributes
    ----------
    k, n : int
    cluster : str
        What joins the nodes of a line.
    """

    k: int = integer(4, "nodes of a line", least=2, most=64, title="Line k")
    n: int = integer(2, "dimensions", least=1, most=8, title="Dimensions n")
    cluster: str = word("bus", "what joins the nodes of a line", _CLUSTERS)

    deadlock_free = True
    looks_back = False

    @cached_property
    def _ends(self) -> int:
        """Nodes that a line has besides those with terminals."""
        return 2 if self.cluster == "bus" else 1

    @property
    def nodes(self) -> int:
        return self.k**self.n + self.n * self.k ** (self.n - 1) * self._ends

    @cached_property
    def homes(self) -> Sequence[int]:
        return range(self.k**self.n)

    def _digit(self, node: int, dimension: int) -> int:
        return node // self.k**dimension % self.k

    def _line(self, node: int, dimension: int) -> int:
        """The first node of the bus or crossbar of a dimension that a node is at."""
        high, low = divmod(node, self.k ** (dimension + 1))
        number = high * self.k**dimension + low % self.k**dimension
        lines = self.k ** (self.n - 1)
        return self.k**self.n + (dimension * lines + number) * self._ends

    def links(self) -> Iterator[Link]:
        """Port i of a node leads to the line of dimension i, port j of that to member j."""
        for node in self.homes:
            for dimension in range(self.n):
                first, member = self._line(node, dimension), self._digit(node, dimension)
                yield Link(node, dimension, first, member)
                yield Link(first + self._ends - 1, member, node, dimension)
        if self._ends == 2:
            for first in range(self.k**self.n, self.nodes, 2):
                yield Link(first, 0, first + 1, 0)

    def position(self, node: int) -> tuple[float, float]:
        """Nodes in a grid, with the dimensions across and up in turn; a line beside its middle."""
        count = self.k**self.n
        if node < count:
            return self._place(node)
        line, end = divmod(node - count, self._ends)
        dimension, number = divmod(line, self.k ** (self.n - 1))
        high, low = divmod(number, self.k**dimension)
        step = self.k**dimension
        first, last = (high * self.k * step + low + j * step for j in (0, self.k - 1))
        ends = zip(self._place(first), self._place(last))
        x, y = (sum(both) / 2 for both in ends)
        along = (end - 0.5) * (self._ends - 1)
        aside = 0.9 + 0.25 * dimension
        return (x + aside, y + 0.7 * along) if dimension % 2 else (x + 1.1 * along, y + aside)

    def _place(self, node: int) -> tuple[float, float]:
        ways = [0.0, 0.0]
        for dimension in range(self.n):
            pitch = 4.2 * (self.k + 1) ** (dimension // 2)
            ways[dimension % 2] += pitch * self._digit(node, dimension)
        return ways[0], ways[1]

    def direction(self, link: Link) -> str:
        if link.node >= self.k**self.n <= link.peer:
            return "across"
        return "to a line" if link.peer >= self.k**self.n else "from a line"

    def route(self, node: int, came: Channel | None, destination: int) -> Iterator[Channel]:
        count = self.k**self.n
        if node < count:
            for dimension in reversed(range(self.n)):
                if self._digit(node, dimension) != self._digit(destination, dimension):
                    yield Channel(node, dimension)
                    return
            return
        line, end = divmod(node - count, self._ends)
        if end < self._ends - 1:
            yield Channel(node, 0)
        else:
            yield Channel(node, self._digit(destination, line // self.k ** (self.n - 1)))

    def name(self, node: int) -> str:
        count = self.k**self.n
        if node < count:
            return str(node)
        line, end = divmod(node - count, self._ends)
        dimension, number = divmod(line, self.k ** (self.n - 1))
        what = ("arbiter", "receivers")[end] if self._ends == 2 else "crossbar"
        return f"{what} {dimension}.{number}"


FAMILIES = (
    GraphFamily(
        "spanning-bus-hypercube",
        "nodes in n dimensions, and a bus (or a crossbar) along each line",
        SpanningBusHypercube,
        Group.HYPERMESHES,
        example={"k": 2},
        papers=("wittie", "tanabe", "ould-khaoua", "dandamudi"),
    ),
)
