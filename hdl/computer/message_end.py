"""Between a node and a network of packets: words that cores send to each other."""

from amaranth.hdl import Module
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..graphs.tags import TagScheme
from ..links.message_ports import MessagePorts
from ..links.packet import Packet
from ..primitives.arrival_queue import ArrivalQueue
from ..terminals.remote_memory import address_packet

__all__ = ["MessageEnd", "message_payload"]

_ARRIVED = 16
"""Words that can have arrived before the core receives one."""


def message_payload() -> data.StructLayout:
    """What a packet carries: a word, and which core sent it."""
    return data.StructLayout({"sender": 16, "word": 32})


class MessageEnd(wiring.Component):
    """Sends each word as a packet, and keeps those that have arrived: 16 of them.

    A word is taken when the network takes it, in the same cycle.

    Parameters
    ----------
    packet : Packet
        Its payload is `message_payload()`.
    tags : TagScheme

    Members
    -------
    number : In(16)
        Which core this is. Constant.
    source : In(tags.source_code.width)
        Its address as a source. Constant.
    i : In(MessagePorts())
    o : Out(stream.Signature(packet))
        Into the network.
    back : In(stream.Signature(packet))
    """

    def __init__(self, *, packet: Packet, tags: TagScheme) -> None:
        self.packet = packet
        self.tags = tags
        super().__init__(
            {
                "number": In(16),
                "source": In(tags.source_code.width),
                "i": In(MessagePorts()),
                "o": Out(stream.Signature(packet)),
                "back": In(stream.Signature(packet)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        i, o = self.i, self.o
        address_packet(m, o, self.tags, self.source, i.destination)
        m.submodules.queue = queue = ArrivalQueue(self.packet, depth=_ARRIVED)
        wiring.connect(m, wiring.flipped(self.back), queue.i[0])
        m.d.comb += [
            o.valid.eq(i.sends),
            o.payload.payload.sender.eq(self.number),
            o.payload.payload.word.eq(i.sent),
            i.taken.eq(o.ready),
            i.arrived.eq(queue.o.valid),
            i.sender.eq(queue.o.payload.payload.sender),
            i.received.eq(queue.o.payload.payload.word),
            queue.o.ready.eq(i.takes),
        ]
        return m


class NoMessages(wiring.Component):
    """In the place of a `MessageEnd` where there is no network for messages: no word is taken.

    Members
    -------
    i : In(MessagePorts())
    """

    def __init__(self) -> None:
        super().__init__({"i": In(MessagePorts())})

    def elaborate(self, platform: object) -> Module:
        return Module()
