"""Spanning-bus hypercubes: nodes in n dimensions, with a bus, or a crossbar, along each line."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from ..fabric.parameter_fields import integer, word
from ..graphs.graph import Channel, Link
from ..graphs.routing.relation import RoutedGraph
from ..networks.family import GraphFamily, Group

__all__ = ["FAMILIES", "SpanningBusHypercube"]

_CLUSTERS = {
    "bus": "one flit per cycle in all, which an arbiter gives to one packet after the other",
    "crossbar": "one flit per cycle to each node",
}


class _Line(NamedTuple):
    """A bus or crossbar: the port of its members that leads to it, its number among those, its
    dimension, its first member, and which of its nodes is meant."""

    port: int
    number: int
    dimension: int
    member: int
    end: int


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
        return self.k**self.n + len(self._lines(0)) * self.k ** (self.n - 1) * self._ends

    @cached_property
    def homes(self) -> Sequence[int]:
        return range(self.k**self.n)

    def _digit(self, node: int, dimension: int) -> int:
        return node // self.k**dimension % self.k

    def _lines(self, node: int) -> Sequence[int]:
        """The dimension of the line that each port of a node leads to."""
        return range(self.n)

    def _channels(self, port: int) -> int:
        """The channels of the lines that this port of nodes leads to."""
        return 1

    def _first(self, node: int, port: int) -> int:
        """The first node of the bus or crossbar that a port of a node leads to."""
        step = self.k ** self._lines(node)[port]
        number = node // (self.k * step) * step + node % step
        return self.k**self.n + (port * self.k ** (self.n - 1) + number) * self._ends

    def _line(self, node: int) -> _Line:
        """The line that a node without terminal is in."""
        index, end = divmod(node - self.k**self.n, self._ends)
        port, number = divmod(index, self.k ** (self.n - 1))
        # But in dimension 0, this has the lowest digit of its members: all that `_lines` looks at.
        dimension = self._lines(number % self.k)[port]
        high, low = divmod(number, self.k**dimension)
        return _Line(port, number, dimension, high * self.k ** (dimension + 1) + low, end)

    def links(self) -> Iterator[Link]:
        """Ports of a node lead to its lines, port j of a line to member j."""
        for node in self.homes:
            for port, dimension in enumerate(self._lines(node)):
                first, member = self._first(node, port), self._digit(node, dimension)
                yield Link(node, port, first, member, self._channels(port))
                yield Link(first + self._ends - 1, member, node, port, self._channels(port))
        if self._ends == 2:
            for first in range(self.k**self.n, self.nodes, 2):
                yield Link(first, 0, first + 1, 0, self._channels(self._line(first).port))

    def position(self, node: int) -> tuple[float, float]:
        """Nodes in a grid, with the dimensions across and up in turn; a line beside its middle."""
        count = self.k**self.n
        if node < count:
            return self._place(node)
        line = self._line(node)
        dimension, first = line.dimension, line.member
        last = first + (self.k - 1) * self.k**dimension
        ends = zip(self._place(first), self._place(last))
        x, y = (sum(both) / 2 for both in ends)
        along = (line.end - 0.5) * (self._ends - 1)
        aside = 0.9 + 0.25 * dimension
        return (x + aside, y + 0.7 * along) if dimension % 2 else (x + 1.1 * along, y + aside)

    def _place(self, node: int) -> tuple[float, float]:
        ways = [0.0, 0.0]
        for dimension in range(self.n):
            pitch = 4.2 * (self.k + 1) ** (dimension // 2)
            ways[dimension % 2] += pitch * self._digit(node, dimension)
        return ways[0], ways[1]

    def is_attachment(self, link: Link) -> bool:
        return self.cluster == "bus" and self.direction(link) != "across"

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
        line = self._line(node)
        last = line.end == self._ends - 1
        yield Channel(node, self._digit(destination, line.dimension) if last else 0)

    def name(self, node: int) -> str:
        count = self.k**self.n
        if node < count:
            return str(node)
        line = self._line(node)
        what = ("arbiter", "receivers")[line.end] if self._ends == 2 else "crossbar"
        return f"{what} {line.port}.{line.number}"


FAMILIES = (
    GraphFamily(
        "spanning-bus-hypercube",
        "nodes in n dimensions, and a bus (or a crossbar) along each line",
        SpanningBusHypercube,
        Group.HYPERMESHES,
        example={"k": 3},
        papers=("wittie", "tanabe", "ould-khaoua", "dandamudi"),
    ),
)
