# amaranth: UnusedElaboratable=no
"""The ends of a circuit: packet streams on the terminal's side, circuit links on the other."""

from amaranth.hdl import Const, Module, ShapeLike, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..fabric.cell import Meter
from ..fabric.checks import check_delay
from ..graphs.tags import TagScheme
from ..links.circuit_link import CircuitLink
from ..links.packet import Packet
from ..primitives.random_bits import RandomBits
from ..primitives.routing_tags import TagDecoder

__all__ = ["CircuitInitiator", "CircuitResponder"]


class CircuitInitiator(wiring.Component):
    """Sets up a circuit for each packet, sends the packet through it, and releases it.

    The header (the first word) is on the link while the path is set up, and is then sent like all
    other words, one per cycle. Through n boxes without conflicts, the last of a packet's c words
    crosses n + c cycles after the packet was first offered. The request is deasserted in the next
    cycle, and asserted again in the one after it if there is another packet.

    The circuit of a packet with a broadcast mask is a tree; that takes no more time.

    When the request is rejected, it stays deasserted for 1 to `delay` cycles, all equally likely.
    Then the same packet is tried again; with a `delay` of 0 the packet is dropped instead.

    `o.request`, `.valid` and `.payload` depend combinationally on `i` (and registers), `i.ready` on
    `o.ready`, and the reply passes through.

    Parameters
    ----------
    packet : Packet
        Without flits every word is a packet and gets its own circuit.
    reply : ShapeLike, optional
        As in `CircuitLink`.
    delay : int
        Longest delay before another attempt, in cycles: a power of two, or 0.

    Members
    -------
    seed : In(32)
        Seed of the random delays (`RandomBits`); unused for a `delay` of 0 or 1. Constant.
    i : In(stream.Signature(packet))
    o : Out(CircuitLink(packet, reply))
    reply : Out(stream.Signature(reply))
        Only if `reply` is given: data from the destination.
    keep : In(1)
        Only if `reply` is given: while it is 1, the path is not released after the last word.
    rejected : Out(1)
        Only with a broadcast mask: the request is rejected in this cycle. One pulse per attempt.
    """

    def __init__(self, packet: Packet, reply: ShapeLike | None = None, *, delay: int) -> None:
        delay = check_delay(delay)
        self.packet = packet
        self.delay = delay
        self.two_way = reply is not None
        back = {"reply": Out(stream.Signature(reply)), "keep": In(1)} if self.two_way else {}
        # Several boxes can reject one attempt to set up a tree.
        counts = {"rejected": Out(1)} if packet.broadcast else {}
        self.meters = (Meter("dropped", "rejected", "pulses"),) if packet.broadcast else ()
        super().__init__(
            {
                "seed": In(32),
                "i": In(stream.Signature(packet)),
                "o": Out(CircuitLink(packet, reply)),
                **back,
                **counts,
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        link = self.o
        last = self.i.payload.last if self.packet.flits else Const(1)
        keep = self.keep if self.two_way else Const(0)
        pause = Signal(range(max(self.delay, 1) + 1))  # cycles before the next request

        if self.delay > 1:
            m.submodules.random = random = RandomBits(self.delay.bit_length() - 1)
            m.d.comb += random.seed.eq(self.seed)
            delay = random.value + 1
        else:
            delay = Const(self.delay)

        m.d.comb += link.payload.eq(self.i.payload)
        with m.FSM():
            with m.State("REQUEST"):
                with m.If(pause != 0):
                    m.d.sync += pause.eq(pause - 1)
                with m.Else():
                    m.d.comb += link.request.eq(self.i.valid)
                with m.If(link.request & link.grant):
                    m.next = "SEND"
                with m.Elif(link.request & link.reject):
                    m.d.sync += pause.eq(delay)
                    if not self.delay:
                        m.next = "DISCARD"
            with m.State("SEND"):
                m.d.comb += [
                    link.request.eq(1),
                    link.valid.eq(self.i.valid),
                    self.i.ready.eq(link.ready),
                ]
                with m.If(link.valid & link.ready & last):
                    m.d.sync += pause.eq(1)
                    m.next = "REQUEST"
                    with m.If(keep):
                        m.next = "KEEP"
            with m.State("KEEP"):
                m.d.comb += link.request.eq(1)
                with m.If(~keep):
                    m.next = "REQUEST"
            with m.State("DISCARD"):
                m.d.comb += self.i.ready.eq(1)
                with m.If(self.i.valid & last):
                    m.next = "REQUEST"
        if self.packet.broadcast:
            m.d.comb += self.rejected.eq(link.request & link.reject)
        if self.two_way:
            wiring.connect(m, wiring.flipped(self.reply), wiring.flipped(link.reply))
        return m


class CircuitResponder(wiring.Component):
    """Accepts the circuits whose destination is its terminal, and rejects others.

    `i.grant` and `.reject` depend combinationally on `i.request` and the header's tag; `o`,
    `i.ready` and the reply pass through while a circuit is accepted.

    Parameters
    ----------
    packet : Packet
    reply : ShapeLike, optional
        As in `CircuitLink`.
    tags : TagScheme
        With destination tags the address is checked, except for the bits in a broadcast mask. XOR
        tags do not contain it (they contain the source's address instead), so every circuit is
        accepted.
    reports : bool
        Whether a misdelivered request counts as a corrupted packet in the results of a run: for
        networks with parity whose sources do not repeat rejected requests.

    Members
    -------
    address : In(width)
        This terminal's address code. Constant.
    i : In(CircuitLink(packet, reply))
    o : Out(stream.Signature(packet))
    connected : Out(1)
        A circuit is set up. 0 in at least one cycle between two circuits.
    misdelivered : Out(1)
        A request with a tag for another address is rejected in this cycle. One pulse per attempt.
    reply : In(stream.Signature(reply))
        Only if `reply` is given: data for the source of the circuit. A word that is offered while
        there is no circuit waits for one.
    """

    def __init__(
        self,
        packet: Packet,
        reply: ShapeLike | None = None,
        *,
        tags: TagScheme,
        reports: bool = False,
    ) -> None:
        self.packet = packet
        self.tags = tags
        self.reports = reports
        self.meters = (Meter("corrupted", "misdelivered", "pulses"),) if reports else ()
        self.two_way = reply is not None
        super().__init__(
            {
                "address": In(tags.code.width),
                "i": In(CircuitLink(packet, reply)),
                "o": Out(stream.Signature(packet)),
                "connected": Out(1),
                "misdelivered": Out(1),
                **({"reply": In(stream.Signature(reply))} if self.two_way else {}),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        link = self.i
        arrived = Const(1)
        if self.tags.routing == "destination":
            masked = self.packet.broadcast
            m.submodules.decoder = decoder = TagDecoder(self.tags, broadcast=masked)
            m.d.comb += [decoder.address.eq(self.address), decoder.tag.eq(link.payload.tag)]
            if masked:
                m.d.comb += decoder.mask.eq(link.payload.mask)
            arrived = decoder.arrived

        accepted = Signal()
        m.d.sync += accepted.eq(link.grant)
        m.d.comb += [
            link.grant.eq(link.request & (accepted | arrived)),
            self.misdelivered.eq(link.request & ~accepted & ~arrived),
            link.reject.eq(self.misdelivered),
            self.connected.eq(accepted & link.request),
            self.o.payload.eq(link.payload),
            self.o.valid.eq(link.valid & self.connected),
            link.ready.eq(self.o.ready & self.connected),
        ]
        if self.two_way:
            m.d.comb += [
                link.reply.payload.eq(self.reply.payload),
                link.reply.valid.eq(self.reply.valid & self.connected),
                self.reply.ready.eq(link.reply.ready & self.connected),
            ]
        return m
