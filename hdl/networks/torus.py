# amaranth: UnusedElaboratable=no
"""Tori, meshes and unidirectional rings of wormhole routers."""

from dataclasses import dataclass
from typing import Literal

from amaranth.hdl import ShapeLike

from ..core.errors import InvalidValue
from ..core.fabric import Cell, CellType, Fabric, Pin, Scope
from ..core.parameters import Parameters, fixed, integer, payload_shape
from ..core.wires import Lane
from ..primitives.link_end import LinkEnd
from ..primitives.packet import Packet
from ..routers.torus_router import TorusRouter
from ..topology.torus import Hop, Torus
from .family import Family
from .flits import decision_time, flit_queue, packet_length, parse_lengths, queue_refill
from .network import LinkCounts, PacketNetwork, Terminals

__all__ = ["FAMILIES", "TorusNetwork", "TorusParameters"]

_MOST_NODES = 2**16


@dataclass(frozen=True, eq=False)
class TorusParameters(Parameters):
    """The parameters of `TorusNetwork`: at most 65,536 nodes.

    `channels` "auto" is 2 in a torus and 1 in a mesh; `directions` is 1 in a unidirectional torus.
    `decision` is D_t.
    """

    k: int = integer(4, "nodes per dimension", least=2, title="Radix k")
    n: int = integer(2, "dimensions: it has k^n terminals", least=1, title="Dimensions n")
    wrap: bool = fixed(True, "whether there are wrap-around links: a torus, or a mesh")
    directions: int = fixed(2, "directions of links, 2 or 1")
    channels: int | Literal["auto"] = integer(
        "auto",
        "virtual channels per link; a torus with one can deadlock",
        least=1,
        most=2,
        choices=("auto",),
    )
    decision: int = decision_time("cycles that a router takes to forward a header")
    depth: int = flit_queue()
    refill: str = queue_refill()
    payload: ShapeLike = payload_shape()
    length: int | str = packet_length()

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.channels == "auto":
            self._resolve(channels=2 if self.wrap else 1)
        if self.n > _MOST_NODES.bit_length() or self.k**self.n > _MOST_NODES:
            raise InvalidValue(f"Nodes k^n must be at most {_MOST_NODES}, not {self.k}^{self.n}")
        if self.refill == "yes" and self.wrap and self.channels == 1:
            raise InvalidValue("Refill must be no in a torus with one channel per link, not 'yes'")


class TorusNetwork(PacketNetwork):
    """A torus, mesh or ring of k^n nodes: a terminal and a wormhole router (`TorusRouter`) each.

    Dimensions are crossed in order, the highest first, each in the shorter direction (`Torus`). A
    packet over h links passes h + 1 routers. An unblocked packet of c flits takes h D_t + c cycles,
    from the cycle in which its header is offered to the cycle in which its tail is taken: equation
    (3) of Ould-Khaoua and Sotudeh. Under uniform traffic, in which a packet may be for its own
    terminal, the mean h is n k / 4 in a torus with even k, n (k - 1/k) / 4 with odd k,
    n (k - 1/k) / 3 in a mesh, and n (k - 1) / 2 in a unidirectional ring.

    With two channels per link packets can't deadlock, provided that the terminals accept what
    arrives (`routing.deadlock`); a mesh needs only one. The node of address x is the cell
    `router_{x}`. At the edge of a mesh a node's link leads back to the node itself, and is not
    used.

    Its arguments are those of `TorusParameters`. With only one channel, worms in a torus can
    deadlock, which the test bench detects. A queue of depth 1 has half the throughput without
    `refill`. With it, channels that no packet takes lead to a `LinkEnd`, `end_{x}_{p}` for output p
    of node x; so no combinational path leads around a ring.

    Attributes
    ----------
    plan : Torus
    router : CellType

    Members
    -------
    i : In(stream.Signature(packet)).array(ports)
    o : Out(stream.Signature(packet)).array(ports)

    Raises
    ------
    TypeError, ValueError
        If a field does not allow an argument, or arguments are not compatible.
    """

    parameters_type = TorusParameters
    parameters: TorusParameters
    ordered = True
    flits = True

    def _set_up(self) -> None:
        given = self.parameters
        assert given.channels != "auto"  # resolved by the record
        self.plan = Torus(given.k, given.n, given.wrap, given.directions, given.channels)
        self.lengths = parse_lengths(given.length)
        self.family = "mesh" if not given.wrap else "torus" if given.directions == 2 else "ring"
        self.ports = self.plan.nodes
        self.stages = self.plan.diameter + 1
        self.zero_load_cycles = self.plan.diameter * given.decision + 1
        self.isolates = given.k == 2  # It is then a hypercube.
        self.tags = self.plan.tags()
        self.router = self._router(self.packet)
        self._hops = self.plan.hops()
        self._ports = {hop: port for port, hop in enumerate(self._hops)}

    def _router(self, packet: Packet) -> CellType:
        given = self.parameters
        return CellType(
            TorusRouter,
            packet=packet,
            plan=self.plan,
            depth=given.depth,
            decision=given.decision,
            refill=given.refill == "yes",
        )

    @property
    def link_counts(self) -> LinkCounts:
        return LinkCounts(self.plan.links, self.plan.bisection)

    @property
    def sphere(self) -> int:
        """Eight nodes of a row, as in the paper's figures; the row if k is not a multiple of 8."""
        k = self.plan.k
        return 8 if k % 8 == 0 else k

    def place(self, fabric: Fabric | Scope, packet: Packet | None = None) -> Terminals:
        router = self.router if packet is None else self._router(packet)
        end = CellType(LinkEnd, shape=packet or self.packet)
        ends = self.parameters.refill == "yes"
        terminal = len(self._ports)
        for node in range(self.ports):
            straps = {"address": self.tags.code.encode(node)}
            fabric.place(Cell(f"router_{node}", router, straps, title=f"node {node}"))
        for node in range(self.ports):
            for hop, port in self._ports.items():
                beyond = self.plan.neighbour(node, hop.dimension, hop.way)
                # At an edge, a link leads back: the output that would leave there drives the input
                # there.
                way = hop.way if beyond is not None else 1 - hop.way
                receiver = node if beyond is None else beyond
                entry = self._ports[hop._replace(way=way)]
                leaves, enters = (
                    Pin(f"router_{node}", ("o", port)),
                    Pin(f"router_{receiver}", ("i", entry)),
                )
                if ends and not self.plan.carries(node, hop):
                    name = f"end_{node}_{port}"
                    fabric.place(Cell(name, end))
                    fabric.link(leaves, Pin(name, ("i",)))
                    fabric.link(Pin(name, ("o",)), enters)
                else:
                    fabric.link(leaves, enters)
        return Terminals(
            [Pin(f"router_{node}", ("i", terminal)) for node in range(self.ports)],
            [Pin(f"router_{node}", ("o", terminal)) for node in range(self.ports)],
        )

    def path(self, source: int, destination: int) -> list[Pin]:
        """As in `Network`."""
        pins = [self._pin(node, hop) for node, hop in self.plan.path(source, destination)]
        return [*pins, self._pin(destination, None)]

    def moves(self, destination: int) -> dict[Pin, list[Pin]]:
        """As in `PacketNetwork`, but without following each path to its end."""
        hops = [self.plan.route(node, destination) for node in range(self.ports)]
        pins = list(map(self._pin, range(self.ports), hops))
        return {
            pin: [] if hop is None else [pins[self.plan.beyond(node, hop)]]
            for node, (pin, hop) in enumerate(zip(pins, hops))
        }

    def lane(self, output: Pin) -> Lane:
        """As in `Network`."""
        if not str(output.cell).startswith("router"):
            return Lane()
        port = int(output.path[1])
        if port == len(self._hops):
            return Lane()
        hop = self._hops[port]
        return Lane(hop.direction, hop.channel)

    def _pin(self, node: int, hop: Hop | None) -> Pin:
        """The output for a channel, or (None) for the terminal."""
        return Pin(f"router_{node}", ("o", len(self._ports) if hop is None else self._ports[hop]))


FAMILIES = (
    Family(
        "torus",
        "wormhole routers in n rings each, with links in both directions; dimensions in order",
        TorusNetwork,
        example={"k": 3},
    ),
    Family("mesh", "a torus without wrap-around links", TorusNetwork, {"wrap": False}, {"k": 3}),
    Family(
        "ring",
        "a torus of unidirectional rings (n=1: a single ring)",
        TorusNetwork,
        {"directions": 1},
        {"k": 3},
    ),
)
