"""The router of a deflection network: two rings that cross, and no queue."""

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...fabric.cell import Meter
from ...fabric.checks import check_integer
from ...fabric.errors import InvalidValue
from ...links.packet import Packet

__all__ = ["DeflectionRouter"]


class DeflectionRouter(wiring.Component):
    """A node of a torus of one-way rings: a box of 2 x 2 that is straight or crossed, and no queue.

    A packet takes the *first ring* (dimension 1) to the position of its destination there, then
    turns to the *second ring* (dimension 0), and leaves from it. In each cycle one packet comes
    over each ring. Where nothing comes over the first ring, the terminal may send one in its place.
    What comes from there turns if its position is right, whatever comes over the second ring: this
    is then *deflected* to the first ring, whose place is free. So one bit sets the box. The rule is
    that of HopliteRT (Wasly, Pellizzoni, Kapre, 2017).

    What turns, or goes straight on in the second ring, leaves for the terminal if its other
    position is right too and the terminal's register has room. If not, it goes on around the ring.

    *Nothing is lost*: at most two packets come in, and each goes to another one of two links or to
    the terminal. No packet ever waits in the network, so deadlock is not possible.

    *Delivery is guaranteed* if terminals take packets in the cycle in which they are offered. A
    deflected packet goes once around the first ring, back to this node, and then turns for sure. In
    the node to which it turns it can't be deflected, so it is deflected at most once in each of the
    nodes behind that. Over a links of the first ring and b of the second it takes at most
    a + b (k_1 + 1) + 2 cycles, where k_1 is the size of the first ring.

    If a terminal refuses packets at times, they go around until they find its register free. From
    any state all packets arrive once nothing more is sent and each terminal takes what it is
    offered. But while others are sent to the same terminal, they may come before a packet any
    number of times. Nor is there a bound on the time until a packet may enter: others can keep the
    first ring full, and do so for ever only if packets are sent for ever.

    A packet over h links takes h + 2 cycles if it is not deflected. Each output can carry a packet
    per cycle. What leaves for the second ring and the terminal comes from registers, what leaves
    for the first ring passes one multiplexer behind them. `i.ready` is the inverse of
    `i_link[1].valid`.

    Parameters
    ----------
    packet : Packet
        Its tag holds the positions of the destination: in dimension 0 in the low `digit` bits, in
        dimension 1 in the `digit` bits above them.
    digit : int
        Width of a position in bits, at least 1.

    Attributes
    ----------
    wire : data.StructLayout
        What links carry: `packet`, and two bits that the last router has found out, to save time
        here. `right`: the packet's position in dimension 0 is that of this node. `turns`: so is its
        position in dimension 1; only of the first ring's packets, since in the second it always is.

    Members
    -------
    address : In(2 * digit)
        The positions of this node, as in a tag. Constant.
    beyond : In(2 * digit)
        The positions, in each dimension, of the next node. Constant, and other than `address`.
    i : In(stream.Signature(packet))
        From the terminal.
    o : Out(stream.Signature(packet))
        To the terminal.
    i_link, o_link : In, Out(stream.Signature(wire)).array(2)
        The links of the two rings, by dimension. They have no back-pressure: `ready` is always 1,
        and is ignored.
    deflected : Out(1)
        A packet is deflected in this cycle.
    missed : Out(1)
        A packet in this node is for its terminal, but can't leave in this cycle: the terminal has
        not taken the last one.

    Raises
    ------
    ValueError
        If packets have several flits or masks.
    """

    def __init__(self, packet: Packet, *, digit: int) -> None:
        self.packet = packet
        self.digit = check_integer("Digit", digit, 1)
        tag = packet.members["tag"]
        if tag != 2 * digit:
            raise InvalidValue(
                f"Tag of a packet must have {2 * digit} bits with digit={digit}, not {tag}"
            )
        if packet.sized or packet.broadcast:
            raise InvalidValue("Packets of a deflection router must be single flits, without masks")
        self.wire = data.StructLayout({"packet": packet, "right": 1, "turns": 1})
        self.meters = (
            Meter("deflected", "deflected", "pulses"),
            Meter("missed", "missed", "pulses"),
        )
        link = stream.Signature(packet)
        wire = stream.Signature(self.wire)
        super().__init__(
            {
                "address": In(2 * digit),
                "beyond": In(2 * digit),
                "i": In(link),
                "o": Out(link),
                "i_link": In(wire).array(2),
                "o_link": Out(wire).array(2),
                "deflected": Out(1),
                "missed": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        second, first = self.i_link
        to_second, to_first = self.o_link
        here, beyond = (
            [address.word_select(dimension, self.digit) for dimension in range(2)]
            for address in (self.address, self.beyond)
        )

        def positions(packet: Any, node: Sequence[Value]) -> list[Value]:
            """Whether each position of the destination is that of a node."""
            return [packet.tag.word_select(i, self.digit) == node[i] for i in range(2)]

        # What came over the first ring, or from the terminal in its place.
        layout = data.StructLayout({"packet": self.packet, "right": 1})
        comes = Signal()
        turns = Signal()
        came = Signal(layout)
        right, turning = positions(self.i.payload, here)
        m.d.comb += self.i.ready.eq(~first.valid)
        m.d.sync += [
            comes.eq(first.valid | self.i.valid),
            came.packet.eq(Mux(first.valid, first.payload.packet, self.i.payload)),
            came.right.eq(Mux(first.valid, first.payload.right, right)),
            turns.eq(Mux(first.valid, first.payload.turns, self.i.valid & turning)),
        ]
        onward = Signal(self.packet)
        arrives = Signal()
        room = Signal()
        coming, going = positions(came.packet, beyond), positions(second.payload.packet, beyond)
        m.d.comb += [
            to_first.valid.eq(Mux(turns, second.valid, comes)),
            to_first.payload.packet.eq(Mux(turns, second.payload.packet, came.packet)),
            to_first.payload.right.eq(Mux(turns, second.payload.right, came.right)),
            # What is deflected does not turn in the next node: its position is that of this one.
            to_first.payload.turns.eq(coming[1]),
            onward.eq(Mux(turns, came.packet, second.payload.packet)),
            arrives.eq(Mux(turns, came.right, second.valid & second.payload.right)),
            room.eq(~self.o.valid | self.o.ready),
            self.deflected.eq(turns & second.valid),
            self.missed.eq(arrives & ~room),
            *(link.ready.eq(1) for link in self.i_link),
        ]
        m.d.sync += to_second.valid.eq((turns | second.valid) & ~(arrives & room))
        with m.If(turns | second.valid):  # else old payloads would go around the ring for ever
            m.d.sync += [
                to_second.payload.packet.eq(onward),
                to_second.payload.right.eq(Mux(turns, coming[0], going[0])),
            ]
        with m.If(room):
            m.d.sync += [self.o.valid.eq(arrives), self.o.payload.eq(onward)]
        return m
