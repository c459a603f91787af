# amaranth: UnusedElaboratable=no
"""The Distributed Crossbar Switch Hypermesh (Ould-Khaoua and Sotudeh)."""

from amaranth.hdl import ShapeLike

from ..checks import check_decision, check_integer, check_payload, check_queue
from ..errors import InvalidValue
from ..fabric import Cell, CellType, Fabric, Pin
from ..packet import Packet
from ..switches.cluster import ClusterChannel, ClusterMultiplexer
from ..switches.dcsh_router import DCSHRouter
from ..topology.dcsh import DCSH
from .network import PacketNetwork, Terminals
from .switching import parse_lengths

__all__ = ["DCSHNetwork"]

_MOST_QUEUES = 2**19


class DCSHNetwork(PacketNetwork):
    """k^n nodes with a terminal each; in a cluster every node owns a channel that all others hear.

    Node v is the cell `router_{v}` (`DCSHRouter`) and, for each dimension i, the channel that it
    owns, `channel_{v}_{i}` (`ClusterChannel`), and the multiplexer of those that it hears,
    `multiplexer_{v}_{i}` (`ClusterMultiplexer`).

    Switching is wormhole, in the order of the dimensions, highest first. A packet for a node whose
    address differs in d digits crosses d channels. Unhindered, one of B flits takes d D + B cycles,
    D being the decision time, from the cycle in which its header is offered to that in which its
    tail is taken. That is the paper's zero-load latency, eq. (3): D for each switching element that
    the header comes to (a multiplexer), and B for the flits, the first of which includes the way
    out of the source. (With queues of depth 1 flits follow each other in every other cycle only.)

    It can't deadlock (`topology.dcsh`; for broadcasts see `DCSHRouter`), as long as the terminals
    take what arrives.

    Parameters
    ----------
    k : int
        Nodes of a cluster, at least 2.
    n : int
        Dimensions, at least 1. There are n (k - 1) k^n queues, at most 524,288.
    decision : int
        Decision time in cycles, from 1 to 1,024.
    depth : int
        Flits that fit into each queue, from 1 to 65,536.
    payload : ShapeLike
        Shape of the payload, or its width in bits, from 1 to 4,096.
    length : int or str
        Flits of a packet, or "LOW:HIGH".
    broadcast : int
        1 to give every packet a broadcast mask beside its tag: it is for all nodes whose address
        code is the tag but for the bits of the mask, of a digit for all k positions if they are all
        1. `depth` must then be at least the length of the longest packet.

    Attributes
    ----------
    plan : DCSH

    Members
    -------
    i : In(stream.Signature(packet)).array(ports)
    o : Out(stream.Signature(packet)).array(ports)

    Raises
    ------
    TypeError, ValueError
        If a parameter is not as above.
    """

    family = "dcsh"
    ordered = True

    def __init__(
        self,
        k: int = 4,
        n: int = 2,
        *,
        decision: int = 1,
        depth: int = 4,
        payload: ShapeLike = 16,
        length: int | str = 1,
        broadcast: int = 0,
    ) -> None:
        self.plan = DCSH(k, n)
        if n > _MOST_QUEUES.bit_length() or n * (k - 1) * k**n > _MOST_QUEUES:
            raise InvalidValue(
                f"Queues n (k - 1) k^n must be at most {_MOST_QUEUES}, not with k={k} and n={n}"
            )
        k, n = self.plan.k, self.plan.n
        decision = check_decision(decision)
        depth = check_queue(depth)
        payload = check_payload(payload)
        self.lengths = parse_lengths(length)
        broadcast = check_integer("Broadcast", broadcast, 0, 1)
        if broadcast and depth < self.lengths[1]:
            raise InvalidValue(
                f"Depth must be at least the length of {self.lengths[1]} flits "
                f"with broadcast=1, not {depth}"
            )
        self.parameters = {
            "k": k,
            "n": n,
            "decision": decision,
            "depth": depth,
            "payload": payload,
            "length": length if isinstance(length, str) else self.lengths[0],
            "broadcast": broadcast,
        }
        self.ports = self.plan.nodes
        self.stages = n * decision + 1
        self.tags = self.plan.tags()
        self.transparent = bool(broadcast)  # All copies of a flit leave in the same cycle.
        self.packet = Packet(self.tags.code.width, payload, broadcast=bool(broadcast), flits=True)
        super().__init__()

    def place(self, fabric: Fabric) -> Terminals:
        plan, depth = self.plan, self.parameters["depth"]
        router = CellType(DCSHRouter, packet=self.packet, plan=plan, depth=depth)
        channel = CellType(ClusterChannel, packet=self.packet, plan=plan)
        multiplexer = CellType(
            ClusterMultiplexer,
            packet=self.packet,
            inputs=plan.k - 1,
            depth=depth,
            decision=self.parameters["decision"],
            length=self.lengths[1] if self.packet.broadcast else None,
        )
        for node in range(plan.nodes):
            fabric.place(Cell(f"router_{node}", router, {"address": plan.code.encode(node)}))
            for i in range(plan.n):
                straps = {"dimension": i, "position": plan.position(node, i)}
                fabric.place(Cell(f"channel_{node}_{i}", channel, straps))
                fabric.place(Cell(f"multiplexer_{node}_{i}", multiplexer))
                fabric.link(Pin(f"router_{node}", ("o", i)), Pin(f"channel_{node}_{i}", ("i",)))
                fabric.link(Pin(f"multiplexer_{node}_{i}", ("o",)), Pin(f"router_{node}", ("i", i)))
        for owner, i, hearers in plan.channels():
            for slot, hearer in enumerate(hearers):
                entry = ("i", plan.slot(hearer, i, owner))
                for end, member in (
                    (("o_payload",), "payload"),
                    (("o_valid", slot), "valid"),
                    (("o_ready", slot), "ready"),
                ):
                    there = Pin(f"multiplexer_{hearer}_{i}", (*entry, member))
                    fabric.link(Pin(f"channel_{owner}_{i}", end), there)
        return Terminals(
            [Pin(f"router_{node}", ("i", plan.n)) for node in range(plan.nodes)],
            [Pin(f"router_{node}", ("o", plan.n)) for node in range(plan.nodes)],
        )

    def path(self, source: int, destination: int) -> list[Pin]:
        pins = []
        for owner, i, hearer in self.plan.path(source, destination):
            pins += [Pin(f"router_{owner}", ("o", i)), Pin(f"multiplexer_{hearer}_{i}", ("o",))]
        return [*pins, Pin(f"router_{destination}", ("o", self.plan.n))]
