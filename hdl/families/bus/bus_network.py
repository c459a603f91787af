# amaranth: UnusedElaboratable=no
"""A shared bus."""

from ...fabric.diagram import Node, Terminal
from ...fabric.layout import Layout
from ...fabric.pins import Pin
from ...networks.family import Family, Group
from ...networks.routed import RoutedNetwork
from .bus_graph import Bus
from .bus_router import BusLogic

__all__ = ["FAMILIES", "BusNetwork"]

_PITCH = 0.4
"""Distance between terminals in a drawing."""


class BusNetwork(RoutedNetwork):
    """N terminals on one bus, which an arbiter gives to one packet after the other (`Bus`).

    A packet waits in a queue at its terminal until the arbiter chooses it, and then crosses the bus
    to the queue of the receivers (`router_1`), from which its terminal takes it. An unblocked
    packet of c flits takes D_t + c cycles. The bus is never idle while a packet waits for it and
    the receivers' queue has room, and no cycle is lost between packets (with `depth` of at least
    2). So all terminals together get one flit per cycle at most, and each 1 / N of it at full load
    with the arbiters that are fair. A terminal that does not take its packet stops all others.

    Multiplexer, decoder and the fixed and round-robin arbiters grow as N log N. "least-recent" has
    a flip-flop for each pair of terminals. "random" takes at most 64 terminals.
    """

    description = Bus
    routing: Bus
    family = "bus"

    def _logic(self) -> BusLogic:
        return BusLogic(self.routing)

    @property
    def layout(self) -> Layout:
        """Two bars, as high as all terminals: the arbiter's at the left, and the receivers'."""
        high = self.ports * _PITCH
        nodes = [
            Node(f"node {name}", (f"router_{index}",), 3.0 * index, 0, 0.9, high, label=name)
            for index, name in enumerate(map(self.routing.name, range(2)))
        ]
        terminals = []
        for number in range(self.ports):
            y = high / 2 - (number + 0.5) * _PITCH
            ends = [(Pin(None, (way, number)),) for way in ("i", "o")]
            terminals.append(Terminal(number, -1.2, y, ends[0], str(number), "left"))
            terminals.append(Terminal(number, 4.2, y, ends[1], str(number), "right"))
        return Layout(nodes, terminals, unit=1.25)


FAMILIES = (
    Family(
        "bus", "a shared bus with an arbiter: one flit per cycle in all", BusNetwork, Group.CLOS
    ),
)
