# amaranth: UnusedElaboratable=no
"""The special cells of an Extra Stage Cube: bypasses of stages, and the choice of the path.

All of these pass any kind of link that carries packets, both streams and circuits.
(Adams and Siegel 1982.)
"""

from collections.abc import Iterator

from amaranth.hdl import Cat, Module, Mux, ShapeLike, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ...graphs.address_codes import AddressCode
from ...graphs.tags import Routing, check_routing
from ...links.packet import Packet
from ...primitives.routing_tags import digit_difference, digit_sum, digits_of, forwarded

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


def widened(packet: Packet, digit_bits: int = 1) -> Packet:
    """The packet as it is inside an Extra Stage Cube, with one more digit in its tag."""
    return Packet(
        packet.members["tag"] + digit_bits,
        packet.members["payload"],
        broadcast=packet.broadcast,
        flits=packet.flits,
    )


class AvoidedLines(data.StructLayout):
    """As `graphs.plans.extra_stage.Configuration`: fields of the same names, as wide as a tag."""

    def __init__(self, width: int) -> None:
        super().__init__({"label": width, "care": width, "destination": width})


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
    reply : ShapeLike, optional
        As in `CircuitLink`.
    digit_bits : int
        Width of the digit of a tag that the stage uses.

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
        digit_bits: int = 1,
    ) -> None:
        self.packet = packet
        self.digit_bits = digit_bits
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
                around = forwarded(outer, self.digit_bits) if path == ("payload",) else outer
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
    """Passes a link combinationally, and changes its packets: their tags are wider on one side."""

    _enters = True
    """Whether that is the side of the output."""

    def __init__(
        self,
        packet: Packet,
        *,
        routing: Routing = "destination",
        code: AddressCode | None = None,
        link: type[wiring.Signature] = stream.Signature,
        reply: ShapeLike | None = None,
    ) -> None:
        self.packet = packet
        self.routing = routing
        self.code = AddressCode(2, packet.members["tag"]) if code is None else code
        check_routing(routing, *self.code.radices)
        packets = [packet, widened(packet, self.code.widths[0])]
        sides = packets if self._enters else reversed(packets)
        self._links = [link_signature(link, each, reply) for each in sides]
        super().__init__({**self._straps(), "i": In(self._links[0]), "o": Out(self._links[1])})

    def _straps(self) -> dict[str, wiring.Member]:
        """The members besides the links."""
        return {}

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
    avoid (see `graphs.plans.extra_stage.Configuration`); if `avoid` is constant, this takes n
    two-input gates and an AND. All words of packets of several flits may pass; `PathEnd` undoes the
    change. A packet with a broadcast mask takes the secondary path if any of its copies should.

    Parameters
    ----------
    packet : Packet
        The packet as the terminal sends it.
    routing : "destination", "xor" or "difference"
    code : AddressCode, optional
        The code of tags; by default binary digits. The lowest digit is that of the last stage.
    link, reply
        As in `Bypass`.

    Members
    -------
    address : In(width)
        Address of this terminal, in the order of a tag. Constant.
    bypass_extra, bypass_last : In(1)
        Not both 1.
    avoid : In(AvoidedLines(width))
        These three may change only while the network is empty.
    i : In(link(packet))
    o : Out(link(widened(packet, width of the lowest digit)))
    """

    def _straps(self) -> dict[str, wiring.Member]:
        width = self.code.width
        bypasses = {"bypass_extra": In(1), "bypass_last": In(1)}
        return {"address": In(width), **bypasses, "avoid": In(AvoidedLines(width))}

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self._pass(m)
        outer, inner, avoid = self.i.payload, self.o.payload, self.avoid
        radix, low = self.code.radices[0], self.code.widths[0]

        line = Signal.like(self.address)
        care = Signal.like(self.address)
        exchange = Signal(low)
        for j, (source, digit) in enumerate(zip(self.address, self._destination(outer.tag))):
            m.d.comb += line[j].eq(Mux(avoid.destination[j], digit, source))
        m.d.comb += care.eq(avoid.care)
        if self.packet.broadcast:
            m.d.comb += care.eq(avoid.care & ~(avoid.destination & outer.mask))
        own, last_digit = self.address[:low], outer.tag[:low]
        if self.routing == "destination":
            last_digit = digit_difference(last_digit, own, radix)
        m.d.comb += exchange.eq(
            _while(~self.bypass_extra, low)
            & Mux(self.bypass_last, last_digit, ~((line ^ avoid.label) & care).any())
        )

        for name in self.packet.members:
            if name not in ("tag", "mask"):
                m.d.comb += inner[name].eq(outer[name])
        if self.routing == "xor":
            m.d.comb += inner.tag.eq(Cat(outer.tag[:low] ^ exchange, outer.tag[low:], exchange))
        elif self.routing == "difference":
            last_digit = digit_difference(last_digit, exchange, radix)
            m.d.comb += inner.tag.eq(Cat(last_digit, outer.tag[low:], exchange))
        else:
            m.d.comb += inner.tag.eq(Cat(outer.tag, digit_sum(own, exchange, radix)))
        if self.packet.broadcast:
            copies = outer.mask[:low] & _while(self.bypass_last, low)
            m.d.comb += inner.mask.eq(Cat(outer.mask, copies))
        return m

    def _destination(self, tag: Value) -> list[Value]:
        """The bits of the address to which a tag leads, in the order of the tag."""
        if self.routing == "destination":
            return list(tag)
        if self.routing == "xor":
            return [bit ^ own for bit, own in zip(tag, self.address)]
        digits = zip(digits_of(tag, self.code), digits_of(self.address, self.code))
        sums = (digit_sum(*each, radix) for each, radix in zip(digits, self.code.radices))
        return list(Cat(sums))


class PathEnd(_Adapter):
    """Restores the original tag of packets that arrive through the Extra Stage Cube.

    Combinational: wires and, for XOR and difference tags, gates.

    Parameters
    ----------
    packet : Packet
        The packet as the terminal receives it.
    routing, code, link, reply
        As in `PathSelector`.

    Members
    -------
    i : In(link(widened(packet, width of the lowest digit)))
    o : Out(link(packet))
    """

    _enters = False

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self._pass(m)
        for name, port in ((name, self.o.payload[name]) for name in self.packet.members):
            m.d.comb += port.eq(self.i.payload[name])
        tag, low = self.i.payload.tag, self.code.widths[0]
        first, last = tag[-low:], tag[:low]
        if self.routing == "xor":
            m.d.comb += self.o.payload.tag[:low].eq(last ^ first)
        elif self.routing == "difference":
            m.d.comb += self.o.payload.tag[:low].eq(digit_sum(last, first, self.code.radices[0]))
        return m


def _while(condition: Value, width: int) -> Value:
    """All ones while a bit is 1."""
    return condition if width == 1 else condition.replicate(width)
