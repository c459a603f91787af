"""Packets and their routing tags in hardware."""

from amaranth.hdl import Cat, Module, ShapeLike, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..core.errors import InvalidValue
from ..topology.tags import TagScheme

__all__ = [
    "Packet",
    "TagDecoder",
    "TagEncoder",
    "check_tag",
    "forwarded",
    "output_port",
    "requested_outputs",
]


class Packet(data.StructLayout):
    """One word of a link: the routing tag (low bits) and the payload.

    Without `flits` every word is a packet. With `flits` a packet has one or more words, called
    *flits*: the first is the header, and the last has `last` set. In the others the field `tag`
    carries data. The boxes rotate it like any tag, and it has its original value on arrival.

    With `length` a packet is one word, but stands for as many flits as its field `length` says: so
    many cycles a link is busy with it.

    Parameters
    ----------
    tag : int
        Width of the tag in bits.
    payload : ShapeLike
    broadcast : bool
        Add `mask`, as wide as the tag: a 1 means both values of this bit of the tag.
    flits : bool
        Add `last`.
    length : int
        Width of `length`, 0 for none. Not together with flits.

    Attributes
    ----------
    sized : bool
        Whether packets have different lengths.
    """

    def __init__(
        self,
        tag: int,
        payload: ShapeLike,
        *,
        broadcast: bool = False,
        flits: bool = False,
        length: int = 0,
    ) -> None:
        self.broadcast = broadcast
        self.flits = flits
        self.length = length
        self.sized = flits or length > 0
        super().__init__(
            {
                "tag": tag,
                **({"mask": tag} if broadcast else {}),
                "payload": payload,
                **({"last": 1} if flits else {}),
                **({"length": length} if length else {}),
            }
        )


def check_tag(packet: Packet, radix: int) -> None:
    """Raise ValueError if a packet's tag is narrower than the digit that a box reads."""
    digit_bits = (radix - 1).bit_length()
    tag_bits = packet.members["tag"]
    if tag_bits < digit_bits:
        raise InvalidValue(
            f"Tag of a packet must have at least {digit_bits} bits "
            f"for a switch of radix {radix}, not {tag_bits}"
        )


def output_port(tag: Value, digit_bits: int, routing: str, input_port: int) -> Value:
    """The output that a packet requests in a box: the top digit of its tag.

    An XOR digit is the difference between the output and the input at which the packet arrived.
    """
    digit = tag[len(tag) - digit_bits :]
    return digit ^ input_port if routing == "xor" else digit


def requested_outputs(packet: data.View, radix: int, routing: str, input_port: int) -> Value:
    """One bit per output of a box: whether a packet, or its header, requests this output.

    A packet without a broadcast mask requests one output; with m mask bits set for this box, it
    requests 2^m.
    """
    digit_bits = (radix - 1).bit_length()
    digit = output_port(packet.tag, digit_bits, routing, input_port)
    if not packet.shape().broadcast:
        return Cat(digit == j for j in range(radix))
    care = ~packet.mask[len(packet.mask) - digit_bits :]
    return Cat(((digit ^ j) & care) == 0 for j in range(radix))


def forwarded(packet: data.View, digit_bits: int) -> Value:
    """The packet as the next stage sees it: tag (and mask) rotated by the digit just used."""
    rotated = ("tag", "mask")
    return Cat(
        packet[name].rotate_left(digit_bits) if name in rotated else packet[name]
        for name in packet.shape().members
    )


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
        This terminal's own address, in the code of the scheme. Constant.
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

    A destination tag lets the terminal check that the packet is meant for it; an XOR tag lets it
    recover the source (Siegel et al., III-C).

    Parameters
    ----------
    scheme : TagScheme

    Members
    -------
    address : In(width)
        This terminal's own address, in the code of the scheme. Constant.
    tag : In(width)
    source : Out(width)
        Where the packet came from. XOR tags only.
    arrived : Out(1)
        1 if this terminal is the destination. Destination tags only.
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
