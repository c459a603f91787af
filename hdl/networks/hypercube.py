# amaranth: UnusedElaboratable=no
"""Hypercubes of wormhole routers."""

from dataclasses import dataclass
from functools import partial

from amaranth.hdl import ShapeLike

from ..core.errors import InvalidValue
from ..core.fabric import Cell, CellType, Fabric, Pin, Scope
from ..core.parameters import Parameters, integer, payload_shape, word
from ..core.wires import Lane
from ..primitives.packet import Packet
from ..routers.hypercube_router import HypercubeRouter
from ..routing.hypercube import (
    HYPERCUBE_ROUTINGS,
    Channel,
    HypercubeRouting,
    channel_moves,
    dimension_path,
    next_channels,
)
from ..topology.tags import AddressCode, Routing, TagScheme
from .family import Family
from .flits import flit_queue, packet_length, parse_lengths, queue_refill
from .network import LinkCounts, PacketNetwork, Terminals

__all__ = ["FAMILIES", "HypercubeNetwork", "HypercubeParameters"]


@dataclass(frozen=True, eq=False)
class HypercubeParameters(Parameters):
    """The parameters of `HypercubeNetwork`.

    The routing algorithm "ecube" crosses the dimensions in order, lowest first; "pcube" crosses
    first all those from 1 to 0, then those from 0 to 1, each in any order; "adaptive" crosses all
    in any order, over two channels per link.
    """

    n: int = integer(
        4, "dimension of the hypercube: it has 2^n nodes", least=1, most=12, title="Dimension n"
    )
    routing: HypercubeRouting = word("ecube", "order of the dimensions", HYPERCUBE_ROUTINGS)
    depth: int = flit_queue()
    refill: str = queue_refill()
    payload: ShapeLike = payload_shape()
    length: int | str = packet_length()

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.refill == "yes" and self.routing != "ecube":
            raise InvalidValue(
                f"Refill must be no with routing={self.routing}, not 'yes': only ecube allows it"
            )


class HypercubeNetwork(PacketNetwork):
    """A hypercube of 2^n nodes, with a terminal and a wormhole router (`HypercubeRouter`) each.

    A packet for a terminal whose address differs from the source in h bits crosses h links and
    passes h + 1 routers. An unblocked packet of c flits takes h + c cycles, from the cycle in which
    its header is offered to the cycle in which its tail is taken. Under uniform traffic, in which a
    packet may be for its own terminal, h is n / 2 on average.

    No routing algorithm here can deadlock, provided that the terminals accept what arrives
    (`routing.hypercube`).

    Its arguments are those of `HypercubeParameters`. Only "ecube" keeps the order of packets. A
    queue of depth 1 has half the throughput without `refill`, which only "ecube" allows: with the
    others a combinational path could lead around a cycle of nodes.

    Attributes
    ----------
    n : int

    Members
    -------
    i : In(stream.Signature(packet)).array(ports)
    o : Out(stream.Signature(packet)).array(ports)

    Raises
    ------
    TypeError, ValueError
        If a field does not allow an argument, or arguments are not compatible.
    """

    parameters_type = HypercubeParameters
    parameters: HypercubeParameters
    family = "hypercube"
    flits = True
    isolates = True  # Shortest paths visit only members of subnetworks that contain both ends.

    def _set_up(self) -> None:
        given = self.parameters
        self.lengths = parse_lengths(given.length)
        self.n = n = given.n
        self.routing = given.routing
        self.ports = 1 << n
        self.stages = n + 1
        self.ordered = given.routing == "ecube"
        # The top digit of a tag is that of "stage" 0, so bit i of a tag is bit i of the address.
        digits = tuple(range(n))[::-1]
        kind: Routing = "xor" if given.routing == "ecube" else "destination"
        self.tags = TagScheme(kind, AddressCode(2, n), digits, digits)

    @property
    def link_counts(self) -> LinkCounts:
        return LinkCounts(self.ports * self.n, self.ports)

    def place(self, fabric: Fabric | Scope, packet: Packet | None = None) -> Terminals:
        router = CellType(
            HypercubeRouter,
            packet=packet or self.packet,
            dimension=self.n,
            depth=self.parameters.depth,
            routing=self.routing,
            refill=self.parameters.refill == "yes",
        )
        for node in range(self.ports):
            straps = {} if self.routing == "ecube" else {"address": node}
            fabric.place(Cell(f"router_{node}", router, straps, title=f"node {node}"))
        for node in range(self.ports):
            for i in range(self.n):
                here, there = f"router_{node}", f"router_{node ^ 1 << i}"
                fabric.link(Pin(here, ("o", i)), Pin(there, ("i", i)))
                if self.routing == "adaptive":
                    second = self.n + 1 + i
                    fabric.link(Pin(here, ("o", second)), Pin(there, ("i", second)))
                    fabric.link(Pin(here, ("empty", i)), Pin(there, ("vacant", i)))
        return Terminals(
            [Pin(f"router_{node}", ("i", self.n)) for node in range(self.ports)],
            [Pin(f"router_{node}", ("o", self.n)) for node in range(self.ports)],
        )

    def path(self, source: int, destination: int) -> list[Pin]:
        """As in `Network`; of several paths, the one that a packet takes if all are free."""
        node, pins = source, []
        channel = 1 if self.routing == "adaptive" else 0
        for i in dimension_path(self.routing, source, destination):
            pins.append(self._pin((node, i, channel)))
            node ^= 1 << i
        return [*pins, Pin(f"router_{node}", ("o", self.n))]

    def channels(self, source: int, destination: int) -> list[Pin]:
        """As in `PacketNetwork`: all links of the shortest paths that the algorithm allows."""
        nodes = {source}
        pins: list[Pin] = []
        while nodes:
            links = [
                link for node in nodes for link in next_channels(self.routing, node, destination)
            ]
            pins += map(self._pin, links)
            nodes = {node ^ 1 << dimension for node, dimension, _ in links}
        return [*pins, Pin(f"router_{destination}", ("o", self.n))]

    def moves(self, destination: int) -> dict[Pin, list[Pin]]:
        """As in `PacketNetwork`."""
        relation = partial(next_channels, self.routing)
        return {
            self._pin(channel): [self._pin(after) for after in choices]
            for channel, choices in channel_moves(self.n, relation, destination).items()
        }

    def is_escape(self, channel: Pin) -> bool:
        """As in `PacketNetwork`."""
        return int(channel.path[1]) <= self.n

    def lane(self, output: Pin) -> Lane:
        """As in `Network`."""
        channel, dimension = divmod(int(output.path[1]), self.n + 1)
        return Lane() if dimension == self.n else Lane(f"dimension {dimension}", channel)

    def _pin(self, channel: Channel) -> Pin:
        node, dimension, number = channel
        return Pin(f"router_{node}", ("o", dimension + number * (self.n + 1)))


FAMILIES = (
    Family(
        "hypercube",
        "wormhole routers in n dimensions; routing=ecube (dimensions in order), pcube or adaptive",
        HypercubeNetwork,
        example={"n": 3},
    ),
)
