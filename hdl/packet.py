"""Packets and their routing tags in hardware."""

from amaranth.hdl import Cat, Module, ShapeLike, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from .topology.tags import TagScheme

__all__ = ["Packet", "TagDecoder", "TagEncoder", "forwarded", "output_port"]


class Packet(data.StructLayout):
    """A single-flit packet: the routing tag (low bits), and what it carries.

    Parameters
    ----------
    tag : int
        Width of the tag in bits.
    payload : ShapeLike
    """

    def __init__(self, tag: int, payload: ShapeLike) -> None:
        super().__init__({"tag": tag, "payload": payload})


def output_port(tag: Value, digit_bits: int, routing: str, input_port: int) -> Value:
    """The output that a packet asks for in a box: the top digit of its tag.

    An XOR digit says how the output differs from the input that the packet came in by.
    """
    digit = tag[len(tag) - digit_bits :]
    return digit ^ input_port if routing == "xor" else digit


def forwarded(packet: data.View, digit_bits: int) -> Value:
    """The packet as the next stage shall see it: the tag rotated by the digit just used."""
    return Cat(packet.tag.rotate_left(digit_bits), packet.payload)


def _digits(code: Value, digit_bits: int) -> list[Value]:
    return [code[at : at + digit_bits] for at in range(0, len(code), digit_bits)]


class TagEncoder(wiring.Component):
    """Makes the tag of a packet from its destination. Combinational; wires and, for XOR, gates.

    Parameters
    ----------
    scheme : TagScheme

    Members
    -------
    source : In(width)
        This terminal's own address, in the scheme's code. Constant.
    destination : In(width)
    tag : Out(width)
    """

    def __init__(self, scheme: TagScheme) -> None:
        self.scheme = scheme
        width = scheme.code.width
        super().__init__({"source": In(width), "destination": In(width), "tag": Out(width)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        scheme = self.scheme
        source = _digits(self.source, scheme.code.digit_bits)
        destination = _digits(self.destination, scheme.code.digit_bits)
        stages = [destination[j] for j in scheme.destination_digits]
        if scheme.routing == "xor":
            stages = [digit ^ source[i] for digit, i in zip(stages, scheme.source_digits)]
        m.d.comb += self.tag.eq(Cat(reversed(stages)))
        return m


class TagDecoder(wiring.Component):
    """Reads the tag of a packet that has arrived. Combinational.

    A destination tag lets the terminal check that it is the right one; an XOR tag lets it recover
    the source (Siegel et al., III-C).

    Parameters
    ----------
    scheme : TagScheme

    Members
    -------
    address : In(width)
        This terminal's own address, in the scheme's code. Constant.
    tag : In(width)
    source : Out(width)
        Where the packet came from. XOR routing only.
    arrived : Out(1)
        1 if the packet was sent here. Destination routing only.
    """

    def __init__(self, scheme: TagScheme) -> None:
        self.scheme = scheme
        width = scheme.code.width
        result = {"source": Out(width)} if scheme.routing == "xor" else {"arrived": Out(1)}
        super().__init__({"address": In(width), "tag": In(width), **result})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        scheme = self.scheme
        address = _digits(self.address, scheme.code.digit_bits)
        stages = _digits(self.tag, scheme.code.digit_bits)[::-1]
        if scheme.routing == "xor":
            source = list(address)
            for digit, i, j in zip(stages, scheme.source_digits, scheme.destination_digits):
                source[i] = digit ^ address[j]
            m.d.comb += self.source.eq(Cat(source))
        else:
            expected = Cat(reversed([address[j] for j in scheme.destination_digits]))
            m.d.comb += self.arrived.eq(self.tag == expected)
        return m
