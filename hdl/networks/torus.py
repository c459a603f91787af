# amaranth: UnusedElaboratable=no
"""Tori, meshes and uni-directional rings of wormhole routers."""

from typing import Literal

from amaranth.hdl import ShapeLike

from ..checks import check_decision, check_payload, check_queue
from ..fabric import Cell, CellType, Fabric, Pin
from ..packet import Packet
from ..switches.torus_router import TorusRouter
from ..topology.torus import Hop, Torus
from .network import PacketNetwork, Terminals
from .switching import parse_lengths

__all__ = ["TorusNetwork"]

_MOST_NODES = 2**16


class TorusNetwork(PacketNetwork):
    """A torus, mesh or ring of k^n nodes: a terminal and a wormhole router (`TorusRouter`) each.

    Dimensions are crossed in order, the highest first, each the shortest way (`Torus`). A packet
    over h links passes h + 1 routers. Unhindered, one of c flits takes h D_t + c cycles, from the
    cycle in which its header is offered to that in which its tail is taken: equation (3) of
    Ould-Khaoua and Sotudeh. Uniform traffic, in which a packet may be for its own terminal, has a
    mean h of n k / 4 in a torus with even k, n (k - 1/k) / 4 with odd k, n (k - 1/k) / 3 in a mesh,
    and n (k - 1) / 2 in a uni-directional ring.

    With two channels a link no packets deadlock, as long as the terminals take what arrives
    (`topology.deadlock`); a mesh needs but one. The node of address x is the cell `router_{x}`. At
    the edge of a mesh a node's link leads back to the node itself, and is not used.

    Parameters
    ----------
    k : int
        Nodes in a dimension, at least 2.
    n : int
        Dimensions, at least 1; at most 65,536 nodes.
    wrap : bool
        Whether there are wrap-around links: a torus, or a mesh.
    directions : int
        Of links: 2, or 1 in a uni-directional torus.
    channels : int or "auto"
        Virtual channels a link, 1 or 2. "auto" is 2 in a torus, 1 in a mesh. With one only, worms
        can deadlock in a torus: the bench sees it.
    decision : int
        Cycles that a router needs to send a header on, D_t, from 1 to 1,024.
    depth : int
        Flits that fit into each queue of a router, from 1 to 65,536. A queue of depth 1 has half
        the throughput.
    payload : ShapeLike
        Shape of the payload, or its width in bits, from 1 to 4,096.
    length : int or str
        Flits of a packet, or "LOW:HIGH".

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
        If a parameter is not as above.
    """

    ordered = True

    def __init__(
        self,
        k: int = 4,
        n: int = 2,
        *,
        wrap: bool = True,
        directions: int = 2,
        channels: int | Literal["auto"] = "auto",
        decision: int = 1,
        depth: int = 4,
        payload: ShapeLike = 16,
        length: int | str = 1,
    ) -> None:
        self.plan = Torus(
            k, n, wrap, directions, (2 if wrap else 1) if channels == "auto" else channels
        )
        if n > _MOST_NODES.bit_length() or self.plan.nodes > _MOST_NODES:
            raise ValueError(f"Nodes k^n must be at most {_MOST_NODES}, not {k}^{n}")
        check_decision(decision)
        check_queue(depth)
        check_payload(payload)
        self.lengths = parse_lengths(length)
        self.parameters = {
            "k": k,
            "n": n,
            "wrap": wrap,
            "directions": directions,
            "channels": self.plan.channels,
            "decision": decision,
            "depth": depth,
            "payload": payload,
            "length": length,
        }
        self.family = "mesh" if not wrap else "torus" if directions == 2 else "ring"
        self.ports = self.plan.nodes
        self.stages = self.plan.diameter + 1
        self.isolates = k == 2  # Then it is a hypercube.
        self.tags = self.plan.tags()
        self.packet = Packet(self.tags.code.width, payload, flits=True)
        self.router = CellType(
            TorusRouter, packet=self.packet, plan=self.plan, depth=depth, decision=decision
        )
        self._ports = {hop: port for port, hop in enumerate(self.plan.hops())}
        super().__init__()

    @property
    def zero_load_cycles(self) -> int:
        return self.plan.diameter * self.parameters["decision"] + 1

    @property
    def sphere(self) -> int:
        """Eight nodes of a row, as in the paper's figures; the row if it is not made of eights."""
        k = self.plan.k
        return 8 if k % 8 == 0 else k

    def place(self, fabric: Fabric) -> Terminals:
        terminal = len(self._ports)
        for node in range(self.ports):
            straps = {"address": self.tags.code.encode(node)}
            fabric.place(Cell(f"router_{node}", self.router, straps))
        for node in range(self.ports):
            for hop, port in self._ports.items():
                beyond = self.plan.neighbour(node, hop.dimension, hop.way)
                # At an edge a link turns round: what would leave by it comes in from there.
                way = hop.way if beyond is not None else 1 - hop.way
                receiver = node if beyond is None else beyond
                entry = self._ports[hop._replace(way=way)]
                fabric.link(
                    Pin(f"router_{node}", ("o", port)), Pin(f"router_{receiver}", ("i", entry))
                )
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

    def _pin(self, node: int, hop: Hop | None) -> Pin:
        """The output of a channel, or (None) of the terminal."""
        return Pin(f"router_{node}", ("o", len(self._ports) if hop is None else self._ports[hop]))
