"""The links of a DCSH cluster: channels that all its nodes receive, and multiplexers where they
meet.

A cluster of k nodes is a *distributed crossbar switch* (Ould-Khaoua and Sotudeh, section II): its
demultiplexers are of class `ClusterChannel`, one per node, its multiplexers `ClusterMultiplexer`.
"""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ...fabric.checks import check_integer
from ...fabric.errors import InvalidValue
from ...links.packet import Packet
from ...primitives.round_robin import RoundRobin
from ...routers.worm_router import check_worms
from ...switch.entry import InputQueue, decided
from .dcsh_graph import DCSH

__all__ = ["ClusterChannel", "ClusterMultiplexer"]


class ClusterChannel(wiring.Component):
    """The channel that a node owns in one of its clusters; the k - 1 other nodes receive it.

    It has wires, but no storage for flits. A header names the receiver of a worm; the flits behind
    it go there too. `o_valid[s]` tells receiver s (its *slot*, see `DCSH`) that the flit is for it,
    and `o_ready[s]` says that it can take the flit. With a broadcast mask a worm may be for several
    receivers: each flit goes to all of them in the same cycle, when all can take it.

    `o_payload` and `o_valid` depend combinationally on `i`, and with a broadcast mask `o_valid` on
    `o_ready` too; `i.ready` depends on `i` and `o_ready`, and without
    masks is 0 while `i.valid` is.

    Parameters
    ----------
    packet : Packet
        With flits. Its tag holds the destination's digits of all dimensions.
    plan : DCSH
        The network, of k^n nodes.

    Members
    -------
    dimension : In(range(n))
        Dimension of the cluster: the digit of the tag that it reads. Constant.
    position : In(range(k))
        Position of the owner in the cluster. Constant.
    i : In(stream.Signature(packet))
    o_payload : Out(packet)
    o_valid, o_ready : Out(1).array(k - 1), In(1).array(k - 1)
    """

    def __init__(self, packet: Packet, plan: DCSH) -> None:
        check_worms(packet, plan.code.width, f"DCSH of {plan.k}^{plan.n} nodes")
        self.packet = packet
        self.plan = plan
        super().__init__(
            {
                "dimension": In(range(plan.n)),
                "position": In(range(plan.k)),
                "i": In(stream.Signature(packet)),
                "o_payload": Out(packet),
                "o_valid": Out(1).array(plan.k - 1),
                "o_ready": In(1).array(plan.k - 1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        flit = self.i.payload
        # One bit per receiver: the receivers that the worm is for, according to its header.
        following = Signal()
        kept = Signal(self.plan.k - 1)
        addressed = Signal(self.plan.k - 1)
        m.d.comb += addressed.eq(Mux(following, kept, self._addressed(flit)))
        with m.If(self.i.valid & self.i.ready):
            m.d.sync += [following.eq(~flit.last), kept.eq(addressed)]

        # With masks the router offers a flit only once all its outputs are ready.
        offered = 1 if self.packet.broadcast else self.i.valid
        together = self.i.ready if self.packet.broadcast else 1
        m.d.comb += [
            self.i.ready.eq(offered & ((addressed & ~Cat(self.o_ready)) == 0)),
            self.o_payload.eq(flit),
            *(
                valid.eq(self.i.valid & addressed[slot] & together)
                for slot, valid in enumerate(self.o_valid)
            ),
        ]
        return m

    def _addressed(self, header: Value) -> Value:
        """The receivers that a header names, one bit each, by slot."""

        def digit(code: Value) -> Value:
            return code.word_select(self.dimension, self.plan.code.digit_bits)

        care = ~digit(header.mask) if self.packet.broadcast else ~0
        members = Cat(((digit(header.tag) ^ member) & care) == 0 for member in range(self.plan.k))
        # The slots of the members above the owner are one less than their positions.
        return Cat(
            Mux(self.position > slot, members[slot], members[slot + 1])
            for slot in range(self.plan.k - 1)
        )


class ClusterMultiplexer(wiring.Component):
    """The multiplexer where the k - 1 other channels of a cluster meet: one worm passes at a time.

    There is a queue at each input. A header spends `decision` cycles at the head of its queue
    before it can leave, even while other worms pass. So it leaves `decision` cycles after it
    arrived, if nothing blocks it. The flits behind it follow without a gap. Worms pass in turn
    (`RoundRobin`), and no cycle is lost between them.

    With `length` a header enters only while its queue has room for this number of flits, and all
    flits behind it are then accepted at once: no packet ever stops halfway.

    `o.valid` and `.payload` depend only on registers and memories, and so does `i[*].ready`; hence
    queues of depth 1 have half the throughput. With `refill` they have all of it, and `i[*].ready`
    depends on `o.ready`.

    Parameters
    ----------
    packet : Packet
        With flits.
    inputs : int
        k - 1, at least 1.
    depth : int
        Flits that fit into each queue, at least 1.
    decision : int
        Decision time in cycles, at least 1.
    length : int or None
        Flits of the longest packet, from 1 to `depth`, if packets are accepted whole.
    refill : bool
        Whether a slot that is freed in a cycle can be filled in the same cycle. Not with `length`.

    Members
    -------
    i : In(stream.Signature(packet)).array(inputs)
    o : Out(stream.Signature(packet))
    """

    def __init__(
        self,
        packet: Packet,
        *,
        inputs: int,
        depth: int,
        decision: int = 1,
        length: int | None = None,
        refill: bool = False,
    ) -> None:
        inputs = check_integer("Inputs", inputs, 1)
        decision = check_integer("Decision time", decision, 1)
        self.entry = InputQueue(depth, refill, 1 if length is None else length)
        if refill and length is not None:
            raise InvalidValue("Refill must be off if packets are accepted whole")
        if not packet.flits:
            raise InvalidValue("Packet must have flits")
        self.packet = packet
        self.inputs = inputs
        self.depth = depth
        self.decision = decision
        self.length = length
        self.refill = refill
        link = stream.Signature(packet)
        super().__init__({"i": In(link).array(inputs), "o": Out(link)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.arbiter = arbiter = RoundRobin(self.inputs)
        # A worm passes from its header to its tail. Meanwhile the arbiter chooses the next one.
        passing = Signal()
        kept = Signal(range(self.inputs))
        chosen = Signal(range(self.inputs))
        m.d.comb += chosen.eq(Mux(passing, kept, arbiter.grant))
        with m.If(self.o.valid & self.o.ready):
            m.d.sync += [passing.eq(~self.o.payload.last), kept.eq(chosen)]
            m.d.comb += arbiter.taken.eq(~passing)

        heads = []
        for number, source in enumerate(self.i):
            queue, arrival = self.entry.place(m, f"{number}", self.packet, source, flits=True)
            m.d.comb += arrival.payload.eq(source.payload)
            heads.append(queue.o)
        for number, head in enumerate(heads):
            ready = decided(m, f"{number}", head, self.decision)
            waiting = head.valid & ~(passing & (kept == number))
            m.d.comb += arbiter.request[number].eq(waiting & ready)
            with m.If(chosen == number):
                m.d.comb += [
                    self.o.valid.eq(head.valid & (ready | passing)),
                    head.ready.eq(self.o.ready & (ready | passing)),
                ]
        with m.Switch(chosen):
            for number, head in enumerate(heads):
                with m.Case(number):
                    m.d.comb += self.o.payload.eq(head.payload)
        return m
