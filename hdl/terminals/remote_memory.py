"""Requests to memory and replies as packets of one word: the ends of two networks of packets."""

from dataclasses import replace

from amaranth.hdl import Array, Cat, Const, Module, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..fabric.errors import InvalidValue
from ..graphs.routing.group_tree import Kind
from ..graphs.tags import TagScheme
from ..links.memory_link import MemoryLink, check_link
from ..links.packet import Packet
from ..primitives.arrival_queue import ArrivalQueue
from ..primitives.routing_tags import TagEncoder

__all__ = [
    "RemoteMemoryEnd",
    "RemoteProcessorEnd",
    "address_packet",
    "copied_link",
    "reply_payload",
    "request_payload",
]


def request_payload(link: MemoryLink) -> data.StructLayout:
    """What a request's packet carries: the request, and the processor's address as its sender."""
    return data.StructLayout({"sender": link.tag, "request": link.request_layout})


def reply_payload(link: MemoryLink) -> data.StructLayout:
    """What a reply's packet carries: the reply, whose tag is the memory module's address."""
    return link.reply_layout


def copied_link(link: MemoryLink, packet: Packet) -> MemoryLink:
    """The link of a processor whose requests the network may copy to several memory modules.

    Above the address of one its tags say which others. If packets have broadcast masks, that is a
    mask of the bits in which their addresses differ; if they may be for groups, it is the number of
    the group's members less one, 0 if the request is for no group, and above that its number.
    """
    return MemoryLink(
        tag=link.tag * (2 if packet.broadcast else 3),
        identity=link.identity,
        address=link.address,
        width=link.width,
        operations=link.operations,
    )


def address_packet(
    m: Module, o: stream.Interface, tags: TagScheme, source: Value, destination: Value
) -> None:
    """Set all of a packet of one word but its payload."""
    m.submodules.encoder = encoder = TagEncoder(tags)
    packet = o.payload
    layout: Packet = packet.shape()
    m.d.comb += [
        encoder.source.eq(source),
        encoder.destination.eq(destination),
        packet.tag.eq(encoder.tag),
    ]
    if layout.flits:
        m.d.comb += packet.last.eq(1)
    if layout.length:
        m.d.comb += packet.length.eq(1)


class _End(wiring.Component):
    """What both ends have in common: a packet each way, and the address of the terminal."""

    copies: bool = False

    def __init__(
        self, link: MemoryLink, sent: Packet, received: Packet, tags: TagScheme, queued: bool
    ) -> None:
        check_link(link)
        self.link = link
        self.tags = tags
        self.queued = queued
        self.sent = sent
        self.received = received
        super().__init__(
            {
                "address": In(tags.code.width),
                "source": In(tags.source_code.width),
                self._side: self._flow(copied_link(link, sent) if self.copies else link),
                "o": Out(stream.Signature(sent)),
                "back": In(stream.Signature(received)),
            }
        )

    def _arriving(self, m: Module) -> stream.Interface:
        """The packets that arrive; from a queue, if the network's outputs need one."""
        if not self.queued:
            return self.back
        m.submodules.queue = queue = ArrivalQueue(self.received, depth=2)
        wiring.connect(m, wiring.flipped(self.back), queue.i[0])
        return queue.o


class RemoteProcessorEnd(_End):
    """Sends a processor's requests as packets, and takes its replies. Combinational.

    With `copies` the network copies a request to several memory modules, and it is answered when
    all have replied, by the last reply. Copies for a group may take other paths than requests for
    one module, or for another group, and must not overtake them: those wait for all replies.

    Parameters
    ----------
    link : MemoryLink
        Its tags are addresses of memory modules in the code of `tags`.
    sent, received : Packet
        Packets of requests and replies (`request_payload`, `reply_payload`), of one word each.
    tags : TagScheme
        The tags of both networks.
    queued : bool
        Whether a queue of two replies, which takes one cycle, is behind the network.
    copies : bool
        Whether a request's tag says which memory modules get copies (`copied_link`).

    Members
    -------
    address : In(tags.code.width)
        The terminal's address as a destination. Constant.
    source : In(tags.source_code.width)
        Its address as a source. Constant.
    i : In(link), or In(copied_link(link, sent))
    o : Out(stream.Signature(sent))
        Into one network.
    back : In(stream.Signature(received))
        From the other.
    """

    _side, _flow = "i", In

    def __init__(
        self,
        link: MemoryLink,
        sent: Packet,
        received: Packet,
        tags: TagScheme,
        queued: bool,
        copies: bool = False,
    ) -> None:
        if copies and not (sent.broadcast or sent.groups):
            raise InvalidValue("Packet must have a broadcast mask or groups, for copies")
        self.copies = copies
        super().__init__(link, sent, received, tags, queued)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        request, reply = self.i.request, self.i.reply
        tag = request.payload.tag[: self.link.tag]
        address_packet(m, self.o, self.tags, self.source, tag)
        arriving = self._arriving(m)
        asked = Value.cast(request.payload)[len(request.payload.tag) :]
        answer = arriving.payload.payload
        m.d.comb += [
            self.o.valid.eq(request.valid),
            self.o.payload.payload.sender.eq(self.address),
            Value.cast(self.o.payload.payload.request).eq(Cat(tag, asked)),
            request.ready.eq(self.o.ready),
            reply.valid.eq(arriving.valid),
            reply.payload.tag.eq(answer.tag),
            reply.payload.identity.eq(answer.identity),
            reply.payload.value.eq(answer.value),
            arriving.ready.eq(reply.ready),
        ]
        if self.copies:
            others = self._masked(m) if self.sent.broadcast else self._grouped(m)
            more = self._more(m, arriving, others)
            m.d.comb += [
                reply.valid.eq(arriving.valid & ~more),
                arriving.ready.eq(reply.ready | (arriving.valid & more)),
            ]
        return m

    def _masked(self, m: Module) -> Value:
        """Set the mask of a request; how many other modules it names."""
        bits = self.link.tag
        mask = self.i.request.payload.tag[bits:]
        # A mask is in the order of the tag's digits, but is not a difference of two addresses.
        m.submodules.mask = encoder = TagEncoder(replace(self.tags, routing="destination"))
        m.d.comb += [
            encoder.source.eq(self.source),
            encoder.destination.eq(mask),
            self.o.payload.mask.eq(encoder.tag),
        ]
        return (Const(1) << sum(mask[at] for at in range(bits))) - 1

    def _grouped(self, m: Module) -> Value:
        """Set the group of a request, and let it wait for those that go another way; how many
        others are in the group."""
        request, reply, bits = self.i.request, self.i.reply, self.link.tag
        copies = request.payload.tag[bits:]
        others, group = copies[:bits], copies[bits:]
        several = Signal()  # named, so that Verilog reads no bit of the payload for another one
        m.d.comb += several.eq(others != 0)
        with m.If(several):
            m.d.comb += [self.o.payload.kind.eq(Kind.MULTICAST), self.o.payload.tag.eq(group)]
        way = Signal(len(copies))
        under_way = Signal(self.link.identity + 1)
        sent, answered = request.valid & request.ready, reply.valid & reply.ready
        m.d.sync += under_way.eq(under_way + sent - answered)
        with m.If(sent):
            m.d.sync += way.eq(copies)
        with m.If((under_way != 0) & (way != copies)):
            m.d.comb += [self.o.valid.eq(0), request.ready.eq(0)]
        return others

    def _more(self, m: Module, arriving: stream.Interface, others: Value) -> Value:
        """Count the replies of a request: whether more of them are to come.

        From when it is offered: some copies may leave, and be answered, before it is taken.
        """
        request, identity = self.i.request, arriving.payload.payload.identity
        offered = Signal()
        m.d.sync += offered.eq(self.o.valid & ~self.o.ready)
        left = Array(
            Signal(self.link.tag, name=f"left_{identity}")
            for identity in range(1 << self.link.identity)
        )
        with m.If(self.o.valid & ~offered):
            m.d.sync += left[request.payload.identity].eq(others)
        with m.If(arriving.valid & (left[identity] != 0)):
            m.d.sync += left[identity].eq(left[identity] - 1)
        return left[identity] != 0


class RemoteMemoryEnd(_End):
    """Passes requests to a memory module, and sends its replies as packets. Combinational.

    At the memory module, the tag of a request and its reply is the address of the processor.

    Parameters
    ----------
    link, sent, received, tags, queued
        As in `RemoteProcessorEnd`; this end sends replies, and receives requests.

    Members
    -------
    address, source
        As in `RemoteProcessorEnd`.
    memory : Out(link)
    o : Out(stream.Signature(sent))
        Into one network.
    back : In(stream.Signature(received))
        From the other.
    """

    _side, _flow = "memory", Out

    def elaborate(self, platform: object) -> Module:
        m = Module()
        request, reply = self.memory.request, self.memory.reply
        address_packet(m, self.o, self.tags, self.source, reply.payload.tag)
        arriving = self._arriving(m)
        m.d.comb += [
            request.valid.eq(arriving.valid),
            request.payload.eq(arriving.payload.payload.request),
            request.payload.tag.eq(arriving.payload.payload.sender),
            arriving.ready.eq(request.ready),
            self.o.valid.eq(reply.valid),
            self.o.payload.payload.eq(reply.payload),
            self.o.payload.payload.tag.eq(self.address),
            reply.ready.eq(self.o.ready),
        ]
        return m
