"""A shared bus."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from ...fabric.parameter_fields import integer
from ...graphs.graph import Channel, Link
from ...graphs.routing.relation import RoutedGraph

__all__ = ["Bus"]


@dataclass(frozen=True)
class Bus(RoutedGraph):
    """A shared bus: one link that the packets of all terminals take in turn.

    Packets enter at node 0, which has the arbiter, and leave at node 1, from which the bus leads to
    all terminals. So the terminals together get at most one flit per cycle: 1 / N packets per
    terminal per cycle, if packets have one flit.
    """

    ports: int = integer(8, "terminals", least=2, most=1024)

    nodes = 2
    deadlock_free = True
    looks_back = False

    @cached_property
    def homes(self) -> Sequence[int]:
        return [0] * self.ports

    @cached_property
    def exit_homes(self) -> Sequence[int]:
        return [1] * self.ports

    @property
    def bisection(self) -> int:
        return 1

    def name(self, node: int) -> str:
        return ("arbiter", "receivers")[node]

    def position(self, node: int) -> tuple[float, float]:
        return 2.0 * node, 0.0

    def links(self) -> Iterator[Link]:
        yield Link(0, 0, 1, 0)

    def route(self, node: int, came: Channel | None, destination: int) -> Iterator[Channel]:
        if node == 0:
            yield Channel(0, 0)
