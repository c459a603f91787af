# amaranth: UnusedElaboratable=no
"""Terminals that answer requests, and take a request only while they have room for its reply."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..fabric.cell import Cell, CellType
from ..fabric.checks import check_integer, shown
from ..fabric.errors import InvalidType, InvalidValue
from ..fabric.fabric import Fabric
from ..fabric.pins import Pin
from ..graphs.address_codes import AddressCode
from ..graphs.tags import TagScheme
from ..links.packet import Packet
from ..networks.packet_network import PacketNetwork
from ..primitives.arrival_queue import ArrivalQueue
from ..primitives.link_end import LinkEnd
from ..primitives.routing_tags import TagEncoder
from ..primitives.xoroshiro import Xoroshiro128
from .instruments import COUNT_BITS
from .sources import uniform_code

__all__ = ["ReplyBench", "ReplyingTerminal"]


class ReplyingTerminal(wiring.Component):
    """Sends requests to other terminals as fast as it can, and answers those that it gets.

    A request that arrives is taken only while fewer than `depth` replies wait. Replies that arrive
    are always taken. If requests and replies are of one class, they share an endpoint, and replies
    leave first; if not, requests are of class `reply[0]`, and replies of class `reply[1]`. Packets
    are one word. `o` depends on registers, and so does `i[*].ready`; that of a shared endpoint also
    depends on `i[0]`, unless it is `queued`.

    Parameters
    ----------
    packet : Packet
        Its payload is `ReplyingTerminal.payload`.
    tags : TagScheme
    classes : int
    reply : tuple[int, int]
    depth : int
    queued : bool
        Whether there is a queue of two packets behind a shared endpoint.

    Members
    -------
    address : In(width)
        The number of the terminal in the code of terminals: the code without a class. Constant.
    seed : In(128)
        Of its random numbers, not zero. Constant.
    send : In(1)
        Whether it makes new requests.
    i : In(stream.Signature(packet)).array(ends)
    o : Out(stream.Signature(packet)).array(ends)
    requested, answered, received : Out(32)
        Requests and replies that have been sent, and replies that came.
    """

    def __init__(
        self,
        packet: Packet,
        tags: TagScheme,
        *,
        classes: int = 1,
        reply: tuple[int, int] = (0, 0),
        depth: int,
        queued: bool = False,
    ) -> None:
        self.packet, self.tags = packet, tags
        self.queued = queued
        self.classes, self.reply = classes, reply
        self.depth = check_integer("Depth", depth, 1)
        self.class_bits = tags.code.widths[0] if classes > 1 else 0
        ends = len({*reply})
        ports = stream.Signature(packet)
        counter = Out(COUNT_BITS)
        super().__init__(
            {
                "address": In(tags.code.width - self.class_bits),
                "seed": In(128),
                "send": In(1),
                "i": In(ports).array(ends),
                "o": Out(ports).array(ends),
                **{"requested": counter, "answered": counter, "received": counter},
            }
        )

    @staticmethod
    def payload(tags: TagScheme) -> data.StructLayout:
        """What packets carry: the terminal that sent them, and whether they are replies."""
        return data.StructLayout({"source": tags.code.width, "reply": 1})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.queue = queue = ArrivalQueue(len(self.address), depth=self.depth)
        m.submodules.random = random = Xoroshiro128()
        m.d.comb += random.seed.eq(self.seed)

        arrived, back = self.i[0], self.i[-1]
        asks = Signal()
        shared = len(self.i) == 1
        if shared and self.queued:
            m.submodules.entry = entry = ArrivalQueue(self.packet, depth=2)
            wiring.connect(m, wiring.flipped(arrived), entry.i[0])
            arrived = back = entry.o
        m.d.comb += asks.eq(arrived.valid & ~arrived.payload.payload.reply)
        m.d.comb += [
            back.ready.eq(1),
            arrived.ready.eq(queue.i[0].ready | (~asks if shared else 0)),
            queue.i[0].valid.eq(asks),
            queue.i[0].payload.eq(arrived.payload.payload.source),
        ]
        came = back.valid & back.payload.payload.reply
        m.d.sync += self.received.eq(self.received + came)

        # The next request, which stays until it is taken.
        wanted = Signal()
        other = Signal.like(self.address)
        own_code: AddressCode = self.tags.code
        drawn = uniform_code(random.value[-40:], own_code)[self.class_bits :]
        taken = Signal()
        with m.If(~wanted | taken):
            m.d.sync += [
                wanted.eq(self.send & random.valid & (drawn != self.address)),
                other.eq(drawn),
            ]
        replies = queue.o.valid
        if len(self.o) == 2:
            self._offer(m, 0, wanted, other, Const(0, 1))
            self._offer(m, 1, replies, queue.o.payload, Const(1, 1))
            m.d.comb += [taken.eq(wanted & self.o[0].ready), queue.o.ready.eq(self.o[1].ready)]
        else:
            held = Signal()
            first = Signal()
            m.d.comb += first.eq(replies & ~held)
            where = Mux(first, queue.o.payload, other)
            self._offer(m, 0, replies | wanted, where, first)
            m.d.comb += [
                queue.o.ready.eq(first & self.o[0].ready),
                taken.eq(wanted & ~first & self.o[0].ready),
            ]
            m.d.sync += held.eq(wanted & ~first & ~self.o[0].ready)
        m.d.sync += [
            self.requested.eq(self.requested + taken),
            self.answered.eq(self.answered + (queue.o.valid & queue.o.ready)),
        ]
        return m

    def _offer(self, m: Module, end: int, valid: Value, other: Value, reply: Value) -> None:
        """Offer a packet to another terminal at an endpoint."""
        packet = self.o[end].payload
        own = Const(self.reply[end], self.class_bits)
        m.submodules[f"encoder_{end}"] = encoder = TagEncoder(self.tags)
        m.d.comb += [
            encoder.source.eq(Cat(own, self.address)),
            encoder.destination.eq(Cat(own, other)),
            packet.tag.eq(encoder.tag),
            packet.payload.source.eq(self.address),
            packet.payload.reply.eq(reply),
            self.o[end].valid.eq(valid),
        ]
        if self.packet.flits:
            m.d.comb += packet.last.eq(1)


class ReplyBench(Fabric):
    """A network with a `ReplyingTerminal` at each terminal: the cells `terminal_{t}`.

    Parameters
    ----------
    network : PacketNetwork
    reply : tuple[int, int]
        The classes of requests and of replies.
    depth : int
        Replies that wait at a terminal.
    seed : int

    Members
    -------
    send : In(1)

    Raises
    ------
    ValueError
        If the network has no such classes, or does not carry packets of one word.
    """

    def __init__(
        self, network: PacketNetwork, *, reply: tuple[int, int], depth: int, seed: int
    ) -> None:
        super().__init__({"send": In(1)})
        count = network.classes
        if not (isinstance(reply, tuple) and len(reply) == 2):
            raise InvalidType(f"Reply must be a pair of classes, not {shown(reply)}")
        for one in reply:
            check_integer("Class", one, 0, count - 1)
        plain = not (network.holds_links or network.consumes_tags or network.drops)
        if network.lengths[0] > 1 or not plain or network.broadcasts or network.groups:
            raise InvalidValue(
                "Replies need a network that carries packets of one flit, and drops none, "
                f"not {network}"
            )
        tags = network.tags
        packet = network.packet_of(ReplyingTerminal.payload(tags))
        terminals = network.place(self, packet)
        kind = CellType(
            ReplyingTerminal,
            packet=packet,
            tags=tags,
            classes=count,
            reply=reply,
            depth=depth,
            queued=network.transparent,
        )
        self.terminals = [f"terminal_{t}" for t in range(network.ports // count)]
        class_bits = tags.code.widths[0] if count > 1 else 0
        for t, name in enumerate(self.terminals):
            address = tags.code.encode(t * count) >> class_bits
            self.place(Cell(name, kind, {"address": address, "seed": (seed << 32) + t + 1}))
            self.link(Pin(None, ("send",)), Pin(name, ("send",)))
            for end, own in enumerate(dict.fromkeys(reply)):
                endpoint = t * count + own
                self.link(Pin(name, ("o", end)), terminals.inputs[endpoint])
                self.link(terminals.outputs[endpoint], Pin(name, ("i", end)))
        for endpoint in range(network.ports):
            if endpoint % count not in reply:
                idle = self.place(Cell(f"end_{endpoint}", CellType(LinkEnd, shape=packet))).name
                self.link(terminals.outputs[endpoint], Pin(idle, ("i",)))
                self.link(Pin(idle, ("o",)), terminals.inputs[endpoint])
