"""The two ends of a path through rejecting wormhole switches (Siegel et al., VII-C)."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ..fabric.checks import check_delay, check_integer
from ..fabric.errors import InvalidValue
from ..links.packet import Packet
from ..links.rejecting_link import RejectingLink
from ..primitives.random_bits import RandomBits

__all__ = ["RetryInterface", "RetryReceiver"]


class RetryInterface(wiring.Component):
    """Sends packets into rejecting wormhole switches, and resends those that are rejected.

    A packet is written to a memory and sent from there one cycle later, while the rest of it still
    arrives: n stages deliver the last of c flits n + c cycles after the first was offered, one
    cycle more than the network alone. It stays in the memory until its path is closed. After a
    rejection it waits for 1 to `delay` cycles, at random, and is sent again. Meanwhile the next
    packet is accepted as far as there is room, and follows without a gap.

    A path must not be closed before the header has arrived, because a rejection could then not
    travel back. So if a packet has fewer than `stages` flits, a flit of *padding* closes the path,
    n - 1 cycles after the header.

    `o.payload`, `.valid` and `.close` depend only on registers and the memory, `i.ready` only on
    registers.

    Parameters
    ----------
    packet : Packet
        With flits.
    length_max : int
        Flits of the longest packet, at least 1. A longer one deadlocks.
    delay : int
        Longest delay before a packet is sent again, in cycles: a power of two. With 0 packets are
        not resent: rejected packets are dropped, and nothing is kept in memory for them.
    stages : int
        Switches on a path, at least 1.

    Members
    -------
    seed : In(32)
        Seed of the random delays; not zero. Constant. Only if `delay` is above 1.
    i : In(stream.Signature(packet))
    o : Out(RejectingLink(packet))
    """

    def __init__(self, packet: Packet, *, length_max: int, delay: int, stages: int) -> None:
        length_max = check_integer("Greatest length", length_max, 1)
        delay = check_delay(delay)
        stages = check_integer("Stages", stages, 1)
        if not packet.flits:
            raise InvalidValue("Packet must have flits")
        self.packet = packet
        self.length_max = length_max
        self.delay = delay
        self.stages = stages
        super().__init__(
            {
                **({"seed": In(32)} if delay > 1 else {}),
                "i": In(stream.Signature(packet)),
                "o": Out(RejectingLink(packet)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        link = self.o

        # A ring of flits: `base` is the first of the current packet, `next_` the next to be sent.
        # One place stays empty; there must be room for one flit more than a packet, so that the
        # next packet can follow it.
        places = 1 << ((self.length_max if self.delay else 1) + 1).bit_length()
        m.submodules.flits = flits = Memory(shape=self.packet, depth=places, init=[])
        write = flits.write_port()
        read = flits.read_port(domain="comb")
        end = Signal(range(places))
        next_ = Signal(range(places))
        base = Signal(range(places), name="base") if self.delay else next_
        after = Signal(range(places))
        stored = Signal()
        flit = read.data
        m.d.comb += [
            write.addr.eq(end),
            write.data.eq(self.i.payload),
            write.en.eq(self.i.valid & self.i.ready),
            self.i.ready.eq((base - end)[: len(end)] != 1),
            read.addr.eq(next_),
            stored.eq(next_ != end),
            after.eq(next_ + 1),
        ]
        with m.If(write.en):
            m.d.sync += end.eq(end + 1)

        # The fate of a packet is decided when its header has met the last switch.
        age = Signal(range(self.stages))
        decided = age == self.stages - 1
        padding = Signal()
        silent = Signal()
        sent = Signal()
        closed = Signal()
        m.d.comb += [
            link.payload.eq(flit),
            link.valid.eq(Mux(padding, decided, stored & ~silent)),
            link.close.eq((padding | flit.last) & decided),
            sent.eq(link.valid & link.ready & ~link.reject),
            closed.eq(sent & link.close),
        ]
        with m.If(closed | link.reject):
            m.d.sync += [age.eq(0), padding.eq(0)]
        with m.Else():
            with m.If(~decided & (sent | (age != 0))):
                m.d.sync += age.eq(age + 1)
            with m.If(sent & flit.last):
                m.d.sync += padding.eq(1)
        with m.If(sent & ~padding):
            m.d.sync += next_.eq(after)

        if self.delay:
            with m.If(closed):
                m.d.sync += base.eq(Mux(padding, next_, after))
            with m.If(link.reject):
                m.d.sync += next_.eq(base)
            self._wait(m, silent)
        else:
            m.d.sync += silent.eq(silent | (link.reject & ~padding))
            with m.If(silent & stored):
                m.d.sync += [next_.eq(after), silent.eq(~flit.last)]
        return m

    def _wait(self, m: Module, silent: Signal) -> None:
        """Send nothing for a random number of cycles after a rejection."""
        if self.delay == 1:
            return
        pause = Signal(range(self.delay))
        m.submodules.random = random = RandomBits(len(pause))
        m.d.comb += [random.seed.eq(self.seed), silent.eq(pause != 0)]
        with m.If(self.o.reject):
            m.d.sync += pause.eq(random.value)
        with m.Elif(silent):
            m.d.sync += pause.eq(pause - 1)


class RetryReceiver(wiring.Component):
    """Accepts packets from rejecting wormhole switches, and strips the padding. Combinational.

    It never has to undo anything: a header that arrives has passed all switches, so its packet
    can't be rejected any more.

    Parameters
    ----------
    packet : Packet
        With flits.

    Members
    -------
    i : In(RejectingLink(packet))
    o : Out(stream.Signature(packet))
    """

    rejects_none = True
    """Packets have met the last switch: what is put into this link must not reject them either."""

    def __init__(self, packet: Packet) -> None:
        if not packet.flits:
            raise InvalidValue("Packet must have flits")
        self.packet = packet
        super().__init__({"i": In(RejectingLink(packet)), "o": Out(stream.Signature(packet))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        padding = Signal()
        with m.If(self.i.valid & self.i.ready):
            m.d.sync += padding.eq((padding | self.i.payload.last) & ~self.i.close)
        m.d.comb += [
            self.o.payload.eq(self.i.payload),
            self.o.valid.eq(self.i.valid & ~padding),
            self.i.ready.eq(self.o.ready | padding),
        ]
        return m
