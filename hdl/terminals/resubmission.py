"""Network interfaces that resend packets dropped by an unbuffered network (Siegel et al., VI-B)."""

from amaranth.hdl import Const, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ..fabric.checks import check_integer, check_power_of_two
from ..links.packet import Packet
from ..links.verdict_link import VerdictLink
from ..primitives.arrival_queue import ArrivalQueue
from ..primitives.random_bits import RandomBits

__all__ = ["Acceptor", "Resubmitter"]


class Resubmitter(wiring.Component):
    """Connects a source to an unbuffered network, and sends every packet until it arrives.

    A dropped packet goes into a queue together with the time of its retry, 1 to `delay` cycles away
    with equal chances. Retries have priority over new packets and keep their order. A retry may
    have to wait for the one before it, but it is always sent at most `delay` cycles after its
    verdict. (Of two verdicts, the second comes at least one cycle later; so, by induction, the
    latest time for its retry is later by the same amount.) So the queue never overflows, and new
    packets wait only for retries.

    Combinational from `i` to `o`; `i.ready` comes from registers. If no packets are dropped,
    throughput is one packet per cycle. Packets of one flow may overtake each other.

    Parameters
    ----------
    packet : Packet
    stages : int
        Stages of the network, at least 1: the verdict comes 2 `stages` cycles after the packet.
    delay : int
        Longest delay in cycles, a power of two.

    Members
    -------
    i : In(stream.Signature(packet))
    o : Out(VerdictLink(packet))
        The network is always ready: `ready` is ignored.
    seed : In(32)
        Seed of the delays, as in `RandomBits`. Constant.
    """

    def __init__(self, packet: Packet, *, stages: int, delay: int) -> None:
        stages = check_integer("Stages", stages, 1)
        delay = check_integer("Delay", delay, 1)
        check_power_of_two("Delay", delay)
        self.packet = packet
        self.stages = stages
        self.delay = delay
        super().__init__(
            {"i": In(stream.Signature(packet)), "o": Out(VerdictLink(packet)), "seed": In(32)}
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()

        # The ring of sent packets has a row for each cycle between a packet and its verdict.
        trip = 2 * self.stages
        ring = Memory(
            shape=data.StructLayout({"packet": self.packet, "sent": 1}), depth=trip, init=[]
        )
        m.submodules.ring = ring
        now = ring.write_port()
        then = ring.read_port(domain="comb")
        last = now.addr == trip - 1
        written = Signal()
        m.d.sync += [now.addr.eq(Mux(last, 0, now.addr + 1)), written.eq(written | last)]
        m.d.comb += [
            now.en.eq(1),
            now.data.packet.eq(self.o.payload),
            now.data.sent.eq(self.o.valid),
            then.addr.eq(now.addr),
        ]

        # Times are modulo twice the longest delay: a time is past if it is less than half of that
        # ago.
        bits = self.delay.bit_length()
        clock = Signal(bits)
        elapsed = Signal(bits)
        draw = Const(0, 1)
        if self.delay > 1:
            m.submodules.random = random = RandomBits(bits - 1)
            m.d.comb += random.seed.eq(self.seed)
            draw = random.value
        queue = ArrivalQueue(
            data.StructLayout({"packet": self.packet, "due": bits}), depth=self.delay, refill=True
        )
        m.submodules.queue = queue
        arrival, head = queue.i[0], queue.o
        again = head.valid & ~elapsed[-1]
        m.d.sync += clock.eq(clock + 1)
        m.d.comb += [
            arrival.valid.eq(written & then.data.sent & ~self.o.accepted),
            arrival.payload.packet.eq(then.data.packet),
            arrival.payload.due.eq(clock + 1 + draw),
            elapsed.eq(clock - head.payload.due),
            head.ready.eq(again),
            self.i.ready.eq(~again),
            self.o.valid.eq(self.i.valid | again),
            self.o.payload.eq(Mux(again, head.payload.packet, self.i.payload)),
        ]
        return m


class Acceptor(wiring.Component):
    """The end of the last stage of a network with a reject signal: all packets here have arrived.

    It is wires only.

    Parameters
    ----------
    packet : Packet

    Members
    -------
    i : In(VerdictLink(packet))
    o : Out(stream.Signature(packet))
    """

    def __init__(self, packet: Packet) -> None:
        self.packet = packet
        super().__init__({"i": In(VerdictLink(packet)), "o": Out(stream.Signature(packet))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.comb += [
            self.o.valid.eq(self.i.valid),
            self.o.payload.eq(self.i.payload),
            self.i.ready.eq(self.o.ready),
            self.i.accepted.eq(self.i.valid),
        ]
        return m
