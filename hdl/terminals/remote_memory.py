"""Requests to memory and replies as packets of one word: the ends of two networks of packets."""

from dataclasses import replace

from amaranth.hdl import Array, Cat, Module, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..fabric.errors import InvalidValue
from ..graphs.tags import TagScheme
from ..links.memory_link import MemoryLink, check_link
from ..links.packet import Packet
from ..primitives.arrival_queue import ArrivalQueue
from ..primitives.routing_tags import TagEncoder

__all__ = [
    "RemoteMemoryEnd",
    "RemoteProcessorEnd",
    "address_packet",
    "masked_link",
    "reply_payload",
    "request_payload",
]


def request_payload(link: MemoryLink) -> data.StructLayout:
    """What a request's packet carries: the request, and the processor's address as its sender."""
    return data.StructLayout({"sender": link.tag, "request": link.request_layout})


def reply_payload(link: MemoryLink) -> data.StructLayout:
    """What a reply's packet carries: the reply, whose tag is the memory module's address."""
    return link.reply_layout


def masked_link(link: MemoryLink) -> MemoryLink:
    """The link of a processor whose requests may be for several memory modules: above the address
    of one, its tags have a mask of the bits in which the addresses of the others differ."""
    return MemoryLink(
        tag=2 * link.tag,
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

    masks: bool = False

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
                self._side: self._flow(masked_link(link) if self.masks else link),
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

    With `masks` the network copies a request to several memory modules, and it is answered when all
    have replied, by the last reply.

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
    masks : bool
        Whether a request's tag has a mask, which is the broadcast mask of its packet.

    Members
    -------
    address : In(tags.code.width)
        The terminal's address as a destination. Constant.
    source : In(tags.source_code.width)
        Its address as a source. Constant.
    i : In(link), or In(masked_link(link))
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
        masks: bool = False,
    ) -> None:
        if masks and not sent.broadcast:
            raise InvalidValue("Packet must have a broadcast mask, for requests with masks")
        self.masks = masks
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
        if self.masks:
            more = self._more(m, arriving)
            m.d.comb += [
                reply.valid.eq(arriving.valid & ~more),
                arriving.ready.eq(reply.ready | (arriving.valid & more)),
            ]
        return m

    def _more(self, m: Module, arriving: stream.Interface) -> Value:
        """Set the mask of a request, and count its replies: whether more of them are to come."""
        request, identity = self.i.request, arriving.payload.payload.identity
        bits = self.link.tag
        mask = request.payload.tag[bits:]
        # A mask is in the order of the tag's digits, but is not a difference of two addresses.
        m.submodules.mask = encoder = TagEncoder(replace(self.tags, routing="destination"))
        m.d.comb += [
            encoder.source.eq(self.source),
            encoder.destination.eq(mask),
            self.o.payload.mask.eq(encoder.tag),
        ]
        left = Array(
            Signal(bits, name=f"left_{identity}") for identity in range(1 << self.link.identity)
        )
        count = sum(mask[at] for at in range(bits))
        with m.If(request.valid & request.ready):
            m.d.sync += left[request.payload.identity].eq((1 << count) - 1)
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
