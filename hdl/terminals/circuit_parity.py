# amaranth: UnusedElaboratable=no
"""Parity on every word of a circuit: a packet is passed on when all its words have been checked."""

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ..fabric.cell import Meter
from ..fabric.checks import check_integer
from ..fabric.errors import InvalidValue
from ..links.packet import Packet
from .parity import Granularity, parity_of, protected

__all__ = ["CircuitParityChecker"]


class CircuitParityChecker(wiring.Component):
    """Passes the packets whose words all have the right parity; reports and discards the others.

    A circuit carries one packet. Its words are stored until the last has been found good, and then
    sent, one per cycle; the first of c words is shown in the cycle after the last arrived, so a
    checked packet is c cycles late. After a wrong word the rest of the circuit is discarded.
    `corrupted` reports it when the circuit is released, once per packet. A packet is also discarded
    if it has no end, or more than `length` words.

    Packets are told apart by the circuits, not by their last words: damage to that bit is found
    like any other, and does not spread to the next packet.

    `i.ready` and `o` come from registers and the memory; `corrupted` depends on `connected`.

    Parameters
    ----------
    packet : Packet
        With flits.
    parity : "packet" or "byte"
        As in `ParityGenerator`; "packet" stands for the whole word.
    length : int
        Most words of a packet, at least 2.

    Members
    -------
    connected : In(1)
        A circuit is set up: 0 in at least one cycle between two circuits (`CircuitResponder`).
    i : In(stream.Signature(protected(packet, parity)))
    o : Out(stream.Signature(packet))
    corrupted : Out(1)
        A damaged packet is discarded in this cycle.
    """

    meters = (Meter("corrupted", "corrupted", "pulses"),)

    def __init__(self, packet: Packet, *, parity: Granularity = "packet", length: int) -> None:
        if not packet.flits:
            raise InvalidValue("Packet must have flits")
        self.packet = packet
        self.parity = parity
        self.length = check_integer("Length", length, 2)
        super().__init__(
            {
                "connected": In(1),
                "i": In(stream.Signature(protected(packet, parity))),
                "o": Out(stream.Signature(packet)),
                "corrupted": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        rows = self.length
        m.submodules.words = words = Memory(shape=self.packet, depth=rows, init=[])
        write = words.write_port()
        read = words.read_port(domain="comb")
        start, end, head = (Signal(range(rows), name=name) for name in ("start", "end", "head"))
        # Words that have been checked together with their packet's last, and those before.
        good = Signal(range(rows + 1))
        pending = Signal(range(rows + 1))
        bad = Signal()
        before = Signal()

        arrived = self.i.payload
        for name in self.packet.members:
            port = arrived.payload.payload if name == "payload" else arrived[name]
            m.d.comb += write.data[name].eq(port)
        accepted = Signal()
        sound = Signal()
        complete = Signal()
        released = Signal()
        room = good + pending != rows
        right = parity_of(arrived, Value.cast(arrived.payload.payload), self.parity)
        taken = self.o.valid & self.o.ready
        m.d.comb += [
            # A packet that fills the memory alone is too long. It is discarded, like a wrong one.
            self.i.ready.eq(room | bad | (good == 0)),
            accepted.eq(self.i.valid & self.i.ready),
            sound.eq((right == arrived.payload.parity) & ~bad & room),
            complete.eq(accepted & sound & arrived.last),
            write.addr.eq(end),
            write.en.eq(accepted & sound),
            read.addr.eq(head),
            self.o.payload.eq(read.data),
            self.o.valid.eq(good != 0),
            released.eq(before & ~self.connected),
            self.corrupted.eq(released & (bad | (pending != 0))),
        ]

        def following(row: Signal) -> Value:
            return row + 1 if rows == 1 << len(row) else Mux(row == rows - 1, 0, row + 1)

        m.d.sync += [
            before.eq(self.connected),
            good.eq(good + Mux(complete, pending + 1, 0) - taken),
        ]
        with m.If(taken):
            m.d.sync += head.eq(following(head))
        with m.If(accepted):
            with m.If(complete):
                m.d.sync += [pending.eq(0), end.eq(following(end)), start.eq(following(end))]
            with m.Elif(sound):
                m.d.sync += [pending.eq(pending + 1), end.eq(following(end))]
            with m.Else():
                m.d.sync += [bad.eq(1), pending.eq(0), end.eq(start)]
        with m.Elif(released):
            m.d.sync += [bad.eq(0), pending.eq(0), end.eq(start)]
        return m
