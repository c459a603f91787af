"""The router of a DCSH node: from the multiplexers and terminal to the channels and terminal."""

from collections.abc import Sequence

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...fabric.checks import check_integer
from ...links.packet import Packet
from ...primitives.arrival_queue import ArrivalQueue
from ...primitives.round_robin import RoundRobin
from ...routers.worm_router import check_worms
from .dcsh_graph import DCSH

__all__ = ["DCSHRouter"]


class DCSHRouter(wiring.Component):
    """Routes worms through the dimensions in order, the highest first.

    Input i is the multiplexer of dimension i, output i is the node's own channel in it, and input
    and output n are the terminal. A header from dimension i leaves by the highest lower dimension
    in which the address of its destination differs from that of the node; if there is none, it has
    arrived. The tag is the address of the destination, and does not change.

    Only flits from the terminal are stored: they leave one cycle after they arrived, at the
    earliest. An output belongs to a worm until its tail has passed, and can take the next header in
    the cycle after it. Worms get an output in turn (`RoundRobin`).

    *With a broadcast mask* a packet is for all nodes whose address equals the tag outside the bits
    of the mask. One transfer on a channel takes it to other nodes of the cluster; copies go to
    lower dimensions and the terminal at the same time. Each node that receives it does the same for
    the dimensions below, so each destination gets one copy. All copies start in the same cycle. A
    header acquires its outputs from the highest dimension down, each only once all receivers have
    room for the whole packet, and keeps those that it has. So it waits only for resources of lower
    dimensions, and once it starts, nothing stops it. Hence broadcasts do not deadlock, provided
    that the queues of the multiplexers accept packets whole, and terminals accept what arrives.
    (Branching worms that held some channels while they waited for others halfway would deadlock.)

    `o[*].valid` and `.payload` depend combinationally on `i[*].valid` and `.payload`; `i[*].ready`
    depends on these and `o[*].ready`. With a broadcast mask `o[*].valid` depends on `o[*].ready`
    too, and `.payload` of an output on `.ready` of the outputs of higher dimensions.

    Parameters
    ----------
    packet : Packet
        With flits. Its tag holds the destination's digits.
    plan : DCSH
        The network, of k^n nodes.
    depth : int
        Flits that fit into the queue at the terminal, at least 1. Depth 1 has half the throughput
        without `refill`.
    refill : bool
        Whether a slot that is freed in a cycle can be filled in the same cycle.

    Members
    -------
    address : In(tag)
        Address of the node, in the tag's code. Constant.
    i : In(stream.Signature(packet)).array(n + 1)
    o : Out(stream.Signature(packet)).array(n + 1)
    """

    def __init__(self, packet: Packet, plan: DCSH, *, depth: int, refill: bool = False) -> None:
        check_worms(packet, plan.code.width, f"DCSH of {plan.k}^{plan.n} nodes")
        depth = check_integer("Depth", depth, 1)
        self.packet = packet
        self.n = plan.n
        self.digit_bits = plan.code.digit_bits
        self.depth = depth
        self.refill = refill
        link = stream.Signature(packet)
        super().__init__(
            {
                "address": In(plan.code.width),
                "i": In(link).array(plan.n + 1),
                "o": Out(link).array(plan.n + 1),
            }
        )

    def exits(self, i: int) -> list[int]:
        """The outputs that worms from an input can take, in the order of the dimensions."""
        return [*reversed(range(i)), self.n]

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.queue = queue = ArrivalQueue(self.packet, depth=self.depth, refill=self.refill)
        wiring.connect(m, wiring.flipped(self.i[self.n]), queue.i[0])
        heads = [*(self.i[dimension] for dimension in range(self.n)), queue.o]

        # Single signals, not vectors: the request for one output may depend on `ready` of another.
        turns = [(i, j) for i in range(self.n + 1) for j in self.exits(i)]
        requests = {turn: Signal(name="request_{}_{}".format(*turn)) for turn in turns}
        grants = {turn: Signal(name="grant_{}_{}".format(*turn)) for turn in turns}
        goes = [Signal(name=f"goes_{i}") for i in range(self.n + 1)]
        for j, output in enumerate(self.o):
            entries = [i for i in range(self.n + 1) if (i, j) in requests]
            m.submodules[f"arbiter_{j}"] = arbiter = RoundRobin(len(entries))
            m.d.comb += [
                arbiter.request.eq(Cat(requests[i, j] for i in entries)),
                arbiter.taken.eq(output.valid & output.ready & output.payload.last),
            ]
            with m.Switch(arbiter.grant):
                for index, i in enumerate(entries):
                    start = goes[i] if self.packet.broadcast else 1
                    with m.Case(index):
                        m.d.comb += [
                            grants[i, j].eq(requests[i, j]),
                            output.valid.eq(requests[i, j] & heads[i].valid & start),
                            output.payload.eq(heads[i].payload),
                        ]
        for i, head in enumerate(heads):
            # Once a worm has its outputs, it keeps them until the tail has left.
            exits = self.exits(i)
            bound = Signal(name=f"bound_{i}")
            kept = Signal(len(exits), name=f"kept_{i}")
            wanted = [Signal(name=f"wanted_{i}_{j}") for j in exits]
            clear: Value = Const(1)
            for x, (j, wish) in enumerate(zip(exits, self._wishes(head.payload, exits))):
                request = wanted[x] & (bound | clear) if self.packet.broadcast else wanted[x]
                served = Signal(name=f"served_{i}_{j}")
                m.d.comb += [
                    wanted[x].eq(Mux(bound, kept[x], head.valid & wish)),
                    requests[i, j].eq(request),
                    served.eq(clear & (~wanted[x] | grants[i, j] & self.o[j].ready)),
                ]
                clear = served
            m.d.comb += [goes[i].eq(clear), head.ready.eq(clear)]
            with m.If(head.valid & head.ready):
                m.d.sync += [bound.eq(~head.payload.last), kept.eq(Cat(wanted))]
        return m

    def _wishes(self, header: data.View, exits: Sequence[int]) -> list[Value]:
        """Which of the given outputs a header wants."""
        wishes: list[Value] = []
        here: Value = Const(1)
        for j in exits[:-1]:
            digit = slice(j * self.digit_bits, (j + 1) * self.digit_bits)
            differs = header.tag[digit] ^ self.address[digit]
            others = differs.any()
            if self.packet.broadcast:
                others = (differs | header.mask[digit]).any()
                differs &= ~header.mask[digit]
            wishes.append(here & others)
            here &= ~differs.any()
        return [*wishes, here]
