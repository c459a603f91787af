"""Requests to memory and replies as packets of one word: the ends of two networks of packets."""

from amaranth.hdl import Module, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..graphs.tags import TagScheme
from ..links.memory_link import MemoryLink, check_link
from ..links.packet import Packet
from ..primitives.arrival_queue import ArrivalQueue
from ..primitives.routing_tags import TagEncoder

__all__ = [
    "RemoteMemoryEnd",
    "RemoteProcessorEnd",
    "address_packet",
    "reply_payload",
    "request_payload",
]


def request_payload(link: MemoryLink) -> data.StructLayout:
    """What a request's packet carries: the request, and the processor's address as its sender."""
    return data.StructLayout({"sender": link.tag, "request": link.request_layout})


def reply_payload(link: MemoryLink) -> data.StructLayout:
    """What a reply's packet carries: the reply, whose tag is the memory module's address."""
    return link.reply_layout


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
                self._side: self._flow(link),
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

    Members
    -------
    address : In(tags.code.width)
        The terminal's address as a destination. Constant.
    source : In(tags.source_code.width)
        Its address as a source. Constant.
    i : In(link)
    o : Out(stream.Signature(sent))
        Into one network.
    back : In(stream.Signature(received))
        From the other.
    """

    _side, _flow = "i", In

    def elaborate(self, platform: object) -> Module:
        m = Module()
        request, reply = self.i.request, self.i.reply
        address_packet(m, self.o, self.tags, self.source, request.payload.tag)
        arriving = self._arriving(m)
        m.d.comb += [
            self.o.valid.eq(request.valid),
            self.o.payload.payload.sender.eq(self.address),
            self.o.payload.payload.request.eq(request.payload),
            request.ready.eq(self.o.ready),
            reply.valid.eq(arriving.valid),
            reply.payload.eq(arriving.payload.payload),
            arriving.ready.eq(reply.ready),
        ]
        return m


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
