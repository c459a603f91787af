"""What all sources of packets have in common."""

from dataclasses import replace

from amaranth.hdl import Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ..graphs.address_codes import AddressCode
from ..graphs.tags import TagScheme
from ..links.packet import Packet
from ..primitives.routing_tags import TagEncoder, digits_of
from .instruments import COUNT_BITS
from .stamp import STAMP_SUM_BITS

__all__ = ["Order", "Sender", "attach_sender", "masked_count", "source_members"]


class Order(data.StructLayout):
    """A packet to be sent: when it was generated, its destination, and its length.

    `mask` exists if packets have a broadcast mask (here in the order of the address), `length` if
    they are `sized`, `message` and `word` if the stamp has them. The word is that of the next flit.
    """

    def __init__(self, packet: Packet, code: AddressCode) -> None:
        stamp = packet["payload"].shape
        length = stamp["length"].width if packet.flits else packet.length
        super().__init__(
            {
                "birth": stamp.time,
                "destination": code.width,
                **({"mask": code.width} if packet.broadcast else {}),
                **({"length": length} if packet.sized else {}),
                **{
                    name: stamp[name].width for name in ("message", "word") if name in stamp.members
                },
            }
        )


class Sender(wiring.Component):
    """Turns orders into stamped packets and offers them to the network, one at a time.

    Combinational from `i` to `o`; throughput is one flit per cycle. While `open` is 0 no new packet
    is offered, but an offered packet stays until it is taken, with all its flits. Each flit after
    the header carries its number (the header's is 0) in the field `tag`, and the same payload.

    Parameters
    ----------
    packet : Packet
        Its payload is a `Stamp`.
    tags : TagScheme

    Members
    -------
    address : In(width)
        Address code of this terminal. Constant.
    now : In(32)
        Number of this cycle.
    open, measure : In(1)
    i : In(stream.Signature(Order(packet, tags.code)))
    o : Out(stream.Signature(packet))
    injected : Out(32)
        Number of packets whose header the network has taken.
    entered : Out(32)
        Number of these taken while `measure` was 1.
    pending : Out(1)
        A packet was offered in the last cycle, and was not taken.
    copies : Out(32 + width)
        Broadcast only: total number of destinations of the injected packets.
    stamp_sum : Out(64)
        Only if flows are not followed: sum of the stamps of the injected packets.
    """

    def __init__(self, packet: Packet, tags: TagScheme) -> None:
        self.packet = packet
        self.tags = tags
        super().__init__(
            {**source_members(packet, tags), "i": In(stream.Signature(Order(packet, tags.code)))}
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        order, stamp = self.i.payload, self.o.payload.payload

        m.submodules.encoder = encoder = TagEncoder(self.tags)
        m.d.comb += [
            encoder.source.eq(self.address),
            encoder.destination.eq(order.destination),
            self.o.payload.tag.eq(encoder.tag),
        ]

        header = tail = Const(1)
        if self.packet.flits:
            index = Signal.like(order.length)
            header = index == 0
            tail = index == order.length - 1
            with m.If(~header):
                m.d.comb += self.o.payload.tag.eq(index)
            with m.If(self.o.valid & self.o.ready):
                m.d.sync += index.eq(Mux(tail, 0, index + 1))
            m.d.comb += [self.o.payload.last.eq(tail), stamp.length.eq(order.length)]
        elif self.packet.sized:
            m.d.comb += self.o.payload.length.eq(order.length)

        taken = Signal()
        m.d.comb += [
            self.o.valid.eq(self.i.valid & (self.open | self.pending | ~header)),
            taken.eq(self.o.valid & self.o.ready & header),
            self.i.ready.eq(self.o.valid & self.o.ready & tail),
        ]
        m.d.sync += [
            self.pending.eq(self.o.valid & ~self.o.ready),
            self.injected.eq(self.injected + taken),
            self.entered.eq(self.entered + (taken & self.measure)),
        ]
        if self.packet.broadcast:
            self._broadcast(m, order, taken)

        if stamp.shape().followed:
            flow = Const(0, 1) if self.packet.broadcast else order.destination
            self._number(m, stamp, flow)
        else:
            with m.If(taken):
                m.d.sync += self.stamp_sum.eq(self.stamp_sum + stamp.shape().identity(stamp))

        m.d.comb += [stamp.source.eq(self.address), stamp.birth.eq(order.birth)]
        if "offered" in stamp.shape().members:
            offered = Signal.like(stamp.offered)
            with m.If(~self.o.valid | self.i.ready):
                m.d.sync += offered.eq(self.now + 1)
            m.d.comb += stamp.offered.eq(offered)
        if "destination" in stamp.shape().members:
            m.d.comb += stamp.destination.eq(order.destination)
        for name in ("message", "word"):
            if name in stamp.shape().members:
                m.d.comb += stamp[name].eq(order[name])
        return m

    def _number(self, m: Module, stamp: data.View, flow: Value) -> None:
        """Give a packet its number in its flow, or (broadcast) among those of this source."""
        m.submodules.flows = flows = Memory(
            shape=stamp.sequence.shape(), depth=1 << len(flow), init=[]
        )
        count = flows.read_port(domain="comb")
        recount = flows.write_port()
        m.d.comb += [
            count.addr.eq(flow),
            recount.addr.eq(flow),
            recount.data.eq(count.data + 1),
            recount.en.eq(self.i.ready),
            stamp.sequence.eq(count.data),
        ]

    def _broadcast(self, m: Module, order: data.View, taken: Value) -> None:
        """Send the mask in the order of the stages, and count the copies that it requests."""
        m.submodules.mask_encoder = encoder = TagEncoder(replace(self.tags, routing="destination"))
        m.d.comb += [encoder.destination.eq(order.mask), self.o.payload.mask.eq(encoder.tag)]
        copies = masked_count(self.tags.tag_code, self.o.payload.tag, self.o.payload.mask)
        with m.If(taken):
            m.d.sync += self.copies.eq(self.copies + copies)


def source_members(packet: Packet, tags: TagScheme) -> dict[str, wiring.Member]:
    """The members that all sources have: those of a `Sender` but for `i`."""
    return {
        **({"copies": Out(COUNT_BITS + tags.code.width)} if packet.broadcast else {}),
        **({} if packet["payload"].shape.followed else {"stamp_sum": Out(STAMP_SUM_BITS)}),
        "address": In(tags.source_code.width),
        "now": In(32),
        "open": In(1),
        "measure": In(1),
        "o": Out(stream.Signature(packet)),
        "injected": Out(COUNT_BITS),
        "entered": Out(COUNT_BITS),
        "pending": Out(1),
    }


def attach_sender(m: Module, source: wiring.Component) -> Sender:
    """Add a sender to a source, and connect the members that all sources have."""
    m.submodules.sender = sender = Sender(source.packet, source.tags)
    for name in ("address", "now", "open", "measure"):
        m.d.comb += getattr(sender, name).eq(getattr(source, name))
    for name in (
        "injected",
        "entered",
        "pending",
        *(name for name in ("copies", "stamp_sum") if name in source.signature.members),
    ):
        m.d.comb += getattr(source, name).eq(getattr(sender, name))
    wiring.connect(m, wiring.flipped(source.o), sender.o)
    return sender


def masked_count(code: AddressCode, tag: Value, mask: Value) -> Value:
    """The number of codes that equal a tag outside the bits of a mask."""
    if code.is_plain:
        return 1 << sum(mask)
    count: Value = Const(1)
    for digit, free, radix in zip(digits_of(tag, code), digits_of(mask, code), code.radices):
        count *= sum(((digit ^ other) & ~free) == 0 for other in range(radix))
    return count
