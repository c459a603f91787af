# amaranth: UnusedElaboratable=no
"""The Distributed Crossbar Switch Hypermesh (Ould-Khaoua and Sotudeh)."""

from dataclasses import dataclass

from amaranth.hdl import ShapeLike

from ...fabric.cell import Cell, CellType
from ...fabric.checks import shown
from ...fabric.errors import InvalidValue
from ...fabric.fabric import Fabric, Scope
from ...fabric.layout import Layout
from ...fabric.parameter_fields import integer
from ...fabric.parameters import Parameters
from ...fabric.payload_shape import payload_shape
from ...fabric.pins import Pin
from ...links.packet import Packet
from ...networks.family import Family, Group
from ...networks.flits import decision_time, flit_queue, packet_length, parse_lengths, queue_refill
from ...networks.network_records import LinkCounts, Terminals, Theory
from ...networks.packet_network import PacketNetwork
from ...switch.rules import check_room
from .dcsh_graph import DCSH
from .dcsh_layout import hypermesh_layout
from .dcsh_multiplexer import ClusterChannel, ClusterMultiplexer
from .dcsh_router import DCSHRouter

__all__ = ["FAMILIES", "DCSHNetwork", "DCSHParameters"]

_MOST_QUEUES = 2**19


@dataclass(frozen=True, eq=False)
class DCSHParameters(Parameters):
    """The parameters of `DCSHNetwork`: there are n (k - 1) k^n queues, at most 524,288.

    With `broadcast` every packet carries a mask beside its tag. It is for all nodes whose address
    code equals the tag outside the bits of the mask; if all bits of a digit are 1, for all k
    positions. `depth` must then be at least the length of the longest packet.
    """

    k: int = integer(4, "nodes per cluster", least=2, title="Cluster size k")
    n: int = integer(2, "dimensions: there are k^n terminals", least=1, title="Dimensions n")
    decision: int = decision_time("cycles that a header takes in each multiplexer")
    depth: int = flit_queue()
    refill: str = queue_refill()
    payload: ShapeLike = payload_shape()
    length: int | str = packet_length()
    broadcast: int = integer(0, "1: packets carry a broadcast mask", least=0, most=1)

    def __post_init__(self) -> None:
        super().__post_init__()
        k, n = self.k, self.n
        if n > _MOST_QUEUES.bit_length() or n * (k - 1) * k**n > _MOST_QUEUES:
            raise InvalidValue(
                f"Queues n (k - 1) k^n must be at most {_MOST_QUEUES}, "
                f"not with k={shown(k)} and n={shown(n)}"
            )
        if self.broadcast and self.refill == "yes":
            raise InvalidValue("Refill must be no with broadcast=1, not 'yes'")
        if self.broadcast:
            check_room(self.depth, parse_lengths(self.length)[1], "with broadcast=1")


class DCSHNetwork(PacketNetwork):
    """A distributed crossbar switch hypermesh: k^n nodes, which own a channel in each of their
    clusters.

    All other nodes of the cluster receive the channel. Node v is the cell `router_{v}`
    (`DCSHRouter`) and, for each dimension i, the channel that it owns, `channel_{v}_{i}`
    (`ClusterChannel`), and the multiplexer of the channels that it receives, `multiplexer_{v}_{i}`
    (`ClusterMultiplexer`).

    Switching is wormhole, in the order of the dimensions, highest first. A packet for a node whose
    address differs in d digits crosses d channels. An unblocked packet of B flits takes d D + B
    cycles, where D is the decision time, from the cycle in which its header is offered to the cycle
    in which its tail is taken. That is the paper's zero-load latency, eq. (3): D for each switching
    element that the header reaches (a multiplexer), and B for the flits, the first of which
    includes the exit from the source. (With queues of depth 1, flits follow each other only every
    other cycle, unless there is `refill`.)

    It can't deadlock (`dcsh_graph`; for broadcasts see `DCSHRouter`), provided that the
    terminals accept what arrives.

    Attributes
    ----------
    plan : DCSH
        The nodes, clusters and channels.

    Members
    -------
    i : In(stream.Signature(packet)).array(ports)
    o : Out(stream.Signature(packet)).array(ports)
    """

    parameters_type = DCSHParameters
    parameters: DCSHParameters
    family = "dcsh"
    isolates = True  # As in a hypercube.
    ordered = True
    flits = True

    def _set_up(self) -> None:
        given = self.parameters
        self.plan = DCSH(given.k, given.n)
        self.lengths = parse_lengths(given.length)
        self.ports = self.plan.nodes
        self.stages = 2 * given.n + 1
        self.zero_load_cycles = given.n * given.decision + 1
        self.tags = self.plan.tags()
        self.broadcasts = bool(given.broadcast)
        self.transparent = self.broadcasts  # All copies of a flit leave in the same cycle.

    @property
    def theory(self) -> Theory | None:
        shortest, longest = self.lengths
        if shortest != longest:
            return None
        given = self.parameters
        size = {"k": given.k, "n": given.n, "decision": given.decision, "depth": given.depth}
        full_rate = given.depth > 1 or given.refill == "yes"
        return Theory("dcsh", {**size, "length": longest, "full_rate": full_rate})

    @property
    def link_counts(self) -> LinkCounts:
        """A channel is one link, whatever the number of nodes that receive it.

        Of the highest dimension each channel leads across the middle: k^2 for n = 2, eq. (27).
        """
        bisection = None if self.plan.k % 2 else self.ports
        return LinkCounts(self.ports * self.plan.n, bisection)

    def place(self, fabric: Fabric | Scope, packet: Packet | None = None) -> Terminals:
        packet = packet or self.packet
        plan = self.plan
        size = {"depth": self.parameters.depth, "refill": self.parameters.refill == "yes"}
        router = CellType(DCSHRouter, packet=packet, plan=plan, **size)
        channel = CellType(ClusterChannel, packet=packet, plan=plan)
        multiplexer = CellType(
            ClusterMultiplexer,
            packet=packet,
            inputs=plan.k - 1,
            **size,
            decision=self.parameters.decision,
            length=self.lengths[1] if self.broadcasts else None,
        )
        for node in range(plan.nodes):
            straps = {"address": plan.code.encode(node)}
            fabric.place(Cell(f"router_{node}", router, straps, title=f"node {node}"))
            for i in range(plan.n):
                straps = {"dimension": i, "position": plan.position(node, i)}
                title = f"channel of dimension {i}"
                fabric.place(Cell(f"channel_{node}_{i}", channel, straps, title=title))
                title = f"multiplexer of dimension {i}"
                fabric.place(Cell(f"multiplexer_{node}_{i}", multiplexer, title=title))
                fabric.link(Pin(f"router_{node}", ("o", i)), Pin(f"channel_{node}_{i}", ("i",)))
                fabric.link(Pin(f"multiplexer_{node}_{i}", ("o",)), Pin(f"router_{node}", ("i", i)))
        for owner, i, receivers in plan.channels():
            for slot, receiver in enumerate(receivers):
                entry = ("i", plan.slot(receiver, i, owner))
                for end, member in (
                    (("o_payload",), "payload"),
                    (("o_valid", slot), "valid"),
                    (("o_ready", slot), "ready"),
                ):
                    there = Pin(f"multiplexer_{receiver}_{i}", (*entry, member))
                    fabric.link(Pin(f"channel_{owner}_{i}", end), there)
        return Terminals(
            [Pin(f"router_{node}", ("i", plan.n)) for node in range(plan.nodes)],
            [Pin(f"router_{node}", ("o", plan.n)) for node in range(plan.nodes)],
        )

    def joins_switches(self, output: Pin) -> bool:
        # A channel is one link: where its owner sends.
        return str(output.cell).startswith("router_")

    @property
    def layout(self) -> Layout:
        return hypermesh_layout(self.plan)

    def _path(self, source: int, destination: int) -> list[Pin]:
        pins = []
        for owner, i, receiver in self.plan.path(source, destination):
            pins += [Pin(f"router_{owner}", ("o", i)), Pin(f"multiplexer_{receiver}_{i}", ("o",))]
        return [*pins, Pin(f"router_{destination}", ("o", self.plan.n))]


FAMILIES = (
    Family(
        "dcsh",
        "hypermesh: each node owns a channel in each of its clusters; all others there receive it",
        DCSHNetwork,
        Group.HYPERMESHES,
        example={"k": 3},
        aliases=("hypermesh",),
    ),
)
