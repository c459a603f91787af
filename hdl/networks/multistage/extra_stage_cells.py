# amaranth: UnusedElaboratable=no
"""The special cells of an Extra Stage Cube: bypasses of stages, and the choice of the path.

All of these pass any kind of link that carries packets, both streams and circuits.
(Adams and Siegel 1982.)
"""

from collections.abc import Iterator

from amaranth.hdl import Cat, Module, Mux, ShapeLike, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...primitives.packet import Packet, forwarded
from ...topology.tags import Routing, check_routing

__all__ = [
    "AvoidedLines",
    "Bypass",
    "PathEnd",
    "PathSelector",
    "link_leaves",
    "link_signature",
    "widened",
]


def link_signature(
    link: type[wiring.Signature], packet: Packet, reply: ShapeLike | None = None
) -> wiring.Signature:
    """The signature of a link of a kind, such as `stream.Signature`, that carries these packets."""
    return link(packet) if reply is None else link(packet, reply)


def link_leaves(
    signature: wiring.Signature, link: wiring.PureInterface
) -> Iterator[tuple[tuple, wiring.Flow, Value]]:
    """Path, direction as seen by the sender, and port of each leaf of a link."""
    for path, member, port in signature.flatten(link):
        yield path, member.flow, port


def widened(packet: Packet) -> Packet:
    """The packet as it is inside an Extra Stage Cube, with one more digit in its tag."""
    return Packet(
        packet.members["tag"] + 1,
        packet.members["payload"],
        broadcast=packet.broadcast,
        flits=packet.flits,
    )


class AvoidedLines(data.StructLayout):
    """The fields of the same names in `topology.extra_stage.Configuration`."""

    def __init__(self, digits: int) -> None:
        super().__init__({"label": digits, "care": digits, "destination": digits})


class Bypass(wiring.Component):
    """Leads a line through a stage or around it: a demultiplexer before it, a multiplexer behind
    it.

    Combinational. Around the stage, a packet's tag is rotated as the stage would have done. The
    unused side sees an idle link. `bypass` may change only while the network is empty.

    Parameters
    ----------
    link : type[wiring.Signature]
        Kind of link: `stream.Signature` or `CircuitLink`.
    packet : Packet
        With a tag of binary digits.
    reply : ShapeLike, optional
        As in `CircuitLink`.

    Members
    -------
    bypass : In(1)
    i : In(link(packet))
    entry : Out(link(packet))
        To the input of a box of the stage.
    exit : In(link(packet))
        From the output of the box with the same label.
    o : Out(link(packet))
    """

    def __init__(
        self,
        packet: Packet,
        *,
        link: type[wiring.Signature] = stream.Signature,
        reply: ShapeLike | None = None,
    ) -> None:
        self.packet = packet
        self.link = link_signature(link, packet, reply)
        super().__init__(
            {
                "bypass": In(1),
                "i": In(self.link),
                "entry": Out(self.link),
                "exit": In(self.link),
                "o": Out(self.link),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        ends = (self.i, self.entry, self.exit, self.o)
        for (path, flow, outer), (_, _, entry), (_, _, exit_), (_, _, inner) in zip(
            *(link_leaves(self.link, end) for end in ends)
        ):
            if flow == Out:
                around = forwarded(outer, 1) if path == ("payload",) else outer
                m.d.comb += [
                    entry.eq(_unless(self.bypass, outer, path)),
                    inner.eq(Mux(self.bypass, around, exit_)),
                ]
            else:
                m.d.comb += [
                    exit_.eq(_unless(self.bypass, inner, path)),
                    outer.eq(Mux(self.bypass, inner, entry)),
                ]
        return m


def _unless(off: Value, port: Value, path: tuple) -> Value:
    """The port while a side is in use, else 0. Payloads need no gates: nothing is valid then."""
    return port if path[-1] == "payload" else port & ~off


class _Adapter(wiring.Component):
    """Passes a link combinationally, and changes its packets."""

    def __init__(
        self,
        outer: Packet,
        inner: Packet,
        link: type[wiring.Signature],
        reply: ShapeLike | None,
        **members: wiring.Member,
    ) -> None:
        self._links = [link_signature(link, packet, reply) for packet in (outer, inner)]
        super().__init__({**members, "i": In(self._links[0]), "o": Out(self._links[1])})

    def _pass(self, m: Module) -> None:
        """Connect everything except the packet itself."""
        for (path, flow, outer), (_, _, inner) in zip(
            link_leaves(self._links[0], self.i), link_leaves(self._links[1], self.o)
        ):
            if path != ("payload",):
                m.d.comb += inner.eq(outer) if flow == Out else outer.eq(inner)


class PathSelector(_Adapter):
    """Replaces the tag of a source's packets for the Extra Stage Cube, and so chooses their path.

    Combinational. It compares the line that the packet's primary path would use with the lines to
    avoid (see `topology.extra_stage.Configuration`); if `avoid` is constant, this takes n two-input
    gates and an AND. All words of packets of several flits may pass; `PathEnd` undoes the change.
    A packet with a broadcast mask takes the secondary path if any of its copies should.

    Parameters
    ----------
    packet : Packet
        The packet as the terminal sends it, with a tag of n binary digits.
    routing : "destination" or "xor"
    link, reply
        As in `Bypass`.

    Members
    -------
    address : In(n)
        Number of this terminal. Constant.
    bypass_extra, bypass_last : In(1)
        Not both 1.
    avoid : In(AvoidedLines(n))
        These three may change only while the network is empty.
    i : In(link(packet))
    o : Out(link(widened(packet)))
    """

    def __init__(
        self,
        packet: Packet,
        *,
        routing: Routing = "destination",
        link: type[wiring.Signature] = stream.Signature,
        reply: ShapeLike | None = None,
    ) -> None:
        check_routing(routing, 2)
        self.packet = packet
        self.routing = routing
        digits = packet.members["tag"]
        super().__init__(
            packet,
            widened(packet),
            link,
            reply,
            address=In(digits),
            bypass_extra=In(1),
            bypass_last=In(1),
            avoid=In(AvoidedLines(digits)),
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self._pass(m)
        outer, inner, avoid = self.i.payload, self.o.payload, self.avoid
        xor = self.routing == "xor"

        line = Signal.like(self.address)
        care = Signal.like(self.address)
        exchange = Signal()
        for j, source in enumerate(self.address):
            digit = outer.tag[j] ^ source if xor else outer.tag[j]
            m.d.comb += line[j].eq(Mux(avoid.destination[j], digit, source))
        m.d.comb += care.eq(avoid.care)
        if self.packet.broadcast:
            m.d.comb += care.eq(avoid.care & ~(avoid.destination & outer.mask))
        last_digit = outer.tag[0] if xor else outer.tag[0] ^ self.address[0]
        m.d.comb += exchange.eq(
            ~self.bypass_extra
            & Mux(self.bypass_last, last_digit, ~((line ^ avoid.label) & care).any())
        )

        for name in self.packet.members:
            if name not in ("tag", "mask"):
                m.d.comb += inner[name].eq(outer[name])
        if xor:
            m.d.comb += inner.tag.eq(Cat(outer.tag[0] ^ exchange, outer.tag[1:], exchange))
        else:
            m.d.comb += inner.tag.eq(Cat(outer.tag, self.address[0] ^ exchange))
        if self.packet.broadcast:
            m.d.comb += inner.mask.eq(Cat(outer.mask, outer.mask[0] & self.bypass_last))
        return m


class PathEnd(_Adapter):
    """Restores the original tag of packets that arrive through the Extra Stage Cube.

    Combinational: wires and, for XOR tags, one gate.

    Parameters
    ----------
    packet : Packet
        The packet as the terminal receives it.
    routing, link, reply
        As in `PathSelector`.

    Members
    -------
    i : In(link(widened(packet)))
    o : Out(link(packet))
    """

    def __init__(
        self,
        packet: Packet,
        *,
        routing: Routing = "destination",
        link: type[wiring.Signature] = stream.Signature,
        reply: ShapeLike | None = None,
    ) -> None:
        check_routing(routing, 2)
        self.packet = packet
        self.routing = routing
        super().__init__(widened(packet), packet, link, reply)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self._pass(m)
        for name, port in ((name, self.o.payload[name]) for name in self.packet.members):
            m.d.comb += port.eq(self.i.payload[name])
        if self.routing == "xor":
            tag = self.i.payload.tag
            m.d.comb += self.o.payload.tag[0].eq(tag[0] ^ tag[-1])
        return m
