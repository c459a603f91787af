"""Routing tags in hardware: made from destinations, read by switches, checked at the end."""

from amaranth.hdl import Cat, Module, Mux, Value, ValueLike
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..fabric.checks import MOST_RADIX, check_integer, check_limit
from ..fabric.errors import InvalidValue
from ..graphs.address_codes import AddressCode
from ..graphs.tags import Routing, TagScheme, tag_digit

__all__ = [
    "TagDecoder",
    "TagEncoder",
    "check_outputs",
    "digit_difference",
    "digit_sum",
    "digits_of",
    "forwarded",
    "output_port",
    "requested_outputs",
]


def check_outputs(inputs: int, outputs: int | None, routing: Routing) -> int:
    """The number of outputs of a box, by default that of its inputs.

    Parameters
    ----------
    inputs : int
        Number of inputs.
    outputs : int or None
        Number of outputs, if it is given.
    routing : "destination", "xor" or "difference"
        The tag scheme.

    Returns
    -------
    int
        The number of outputs.

    Raises
    ------
    TypeError, ValueError
        If it is not an integer of at least 2, or differs from that of the inputs and tags tell the
        output relative to the input.
    """
    if outputs is None:
        return inputs
    outputs = check_integer("Outputs", outputs, 2)
    check_limit("Outputs", outputs, MOST_RADIX)
    if outputs != inputs and routing != "destination":
        raise InvalidValue(
            f"Routing must be destination in a box of {inputs} inputs and {outputs} outputs, "
            f"not {routing}"
        )
    return outputs


def digit_sum(one: Value, other: ValueLike, radix: int) -> Value:
    """The sum of two digits modulo the radix.

    Parameters
    ----------
    one, other : Value, ValueLike
        Two digits.
    radix : int
        How many digits there are.

    Returns
    -------
    Value
        The digit.
    """
    if radix == 2:
        return one ^ other
    total = one + other
    bits = (radix - 1).bit_length()
    return (total if radix == 1 << bits else Mux(total >= radix, total - radix, total))[:bits]


def digit_difference(one: Value, other: ValueLike, radix: int) -> Value:
    """The difference of two digits modulo the radix.

    Parameters
    ----------
    one : Value
        A digit.
    other : ValueLike
        The digit that is subtracted.
    radix : int
        How many digits there are.

    Returns
    -------
    Value
        The digit.
    """
    if radix == 2:
        return one ^ other
    bits = (radix - 1).bit_length()
    if radix == 1 << bits:
        return (one - other)[:bits]
    return Mux(one >= other, one - other, one - other + radix)[:bits]


def output_port(tag: Value, radix: int, routing: Routing, input_port: int) -> Value:
    """The output that a packet requests in a box: the top digit of its tag.

    An XOR or difference digit is relative to the input at which the packet arrived.

    Parameters
    ----------
    tag : Value
        The tag.
    radix : int
        Outputs of the box.
    routing : "destination", "xor" or "difference"
        The tag scheme.
    input_port : int
        The input at which the packet is.

    Returns
    -------
    Value
        The number of the output.
    """
    digit = tag[len(tag) - (radix - 1).bit_length() :]
    if routing == "difference":
        return digit_sum(digit, input_port, radix)
    return digit ^ input_port if routing == "xor" else digit


def requested_outputs(packet: data.View, radix: int, routing: Routing, input_port: int) -> Value:
    """One bit per output of a box: whether a packet, or its header, requests this output.

    A packet without a broadcast mask requests one output. With a mask it requests all those for
    which the digit of its tag would differ only in bits in which the mask is 1.

    Parameters
    ----------
    packet : data.View
        The packet.
    radix : int
        Outputs of the box.
    routing : "destination", "xor" or "difference"
        The tag scheme.
    input_port : int
        The input at which the packet is.

    Returns
    -------
    Value
        A bit for each output.
    """
    digit = output_port(packet.tag, radix, routing, input_port)
    if not packet.shape().broadcast:
        return Cat(digit == j for j in range(radix))
    place = len(packet.mask) - (radix - 1).bit_length()
    care = ~packet.mask[place:]
    if routing != "difference":
        return Cat(((digit ^ j) & care) == 0 for j in range(radix))
    wanted = (tag_digit(routing, input_port, j, radix) for j in range(radix))
    return Cat(((packet.tag[place:] ^ other) & care) == 0 for other in wanted)


def forwarded(packet: data.View, digit_bits: int) -> Value:
    """The packet as the next stage sees it: tag (and mask) rotated by the digit just used.

    Parameters
    ----------
    packet : data.View
        The packet as it came.
    digit_bits : int
        Bits of the digit.

    Returns
    -------
    Value
        The packet to send.
    """
    rotated = ("tag", "mask")
    return Cat(
        packet[name].rotate_left(digit_bits) if name in rotated else packet[name]
        for name in packet.shape().members
    )


def digits_of(value: Value, code: AddressCode) -> list[Value]:
    """The digits of an address in a code, least significant first.

    Parameters
    ----------
    value : Value
        The address.
    code : AddressCode
        How its digits are written in bits.

    Returns
    -------
    list[Value]
        A value for each digit.
    """
    return [value[place : place + width] for place, width in zip(code.places, code.widths)]


class TagEncoder(wiring.Component):
    """Makes the tag of a packet from its destination. Combinational; wires and, for XOR
    and difference tags, gates.

    Parameters
    ----------
    scheme : TagScheme
        How tags are computed.

    Members
    -------
    source : In(width)
        This terminal's own address, in the scheme's code of sources. Constant.
    destination : In(width)
        The terminal that the packet is for, in the scheme's code.
    tag : Out(width)
        The tag with which the packet leaves.
    """

    def __init__(self, scheme: TagScheme) -> None:
        self.scheme = scheme
        width = scheme.code.width
        source = In(scheme.source_code.width)
        super().__init__({"source": source, "destination": In(width), "tag": Out(width)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        scheme = self.scheme
        source = digits_of(self.source, scheme.source_code)
        destination = digits_of(self.destination, scheme.code)
        stages = [destination[j] for j in scheme.destination_digits]
        if scheme.routing == "xor":
            stages = [digit ^ source[i] for digit, i in zip(stages, scheme.source_digits)]
        elif scheme.routing == "difference":
            radices = reversed(scheme.tag_code.radices)
            stages = [
                digit_difference(digit, source[i], radix)
                for digit, i, radix in zip(stages, scheme.source_digits, radices)
            ]
        m.d.comb += self.tag.eq(Cat(reversed(stages)))
        return m


class TagDecoder(wiring.Component):
    """Reads the tag of a packet that has arrived. Combinational.

    A destination tag lets the terminal check that the packet is meant for it; an XOR or difference
    tag lets it recover the source (Siegel et al., III-C).

    Parameters
    ----------
    scheme : TagScheme
        How tags are computed.
    broadcast : bool
        Whether packets have a broadcast mask.

    Members
    -------
    address : In(width)
        This terminal's own address, in the code of the scheme. Constant.
    tag : In(width)
        The tag as it has arrived.
    mask : In(width)
        Destination tags with a mask only.
    source : Out(width)
        Where the packet came from. XOR and difference tags only.
    arrived : Out(1)
        1 if this terminal is the destination, or one of them. Destination tags only.
    """

    def __init__(self, scheme: TagScheme, *, broadcast: bool = False) -> None:
        self.scheme = scheme
        self.broadcast = broadcast
        width = scheme.code.width
        checks = scheme.routing == "destination"
        result = {"arrived": Out(1)} if checks else {"source": Out(scheme.source_code.width)}
        mask = {"mask": In(width)} if checks and broadcast else {}
        super().__init__({"address": In(width), "tag": In(width), **mask, **result})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        scheme = self.scheme
        address = digits_of(self.address, scheme.code)
        stages = digits_of(self.tag, scheme.tag_code)[::-1]
        if scheme.routing != "destination":
            source = list(address)
            radices = scheme.code.radices
            for digit, i, j in zip(stages, scheme.source_digits, scheme.destination_digits):
                xor = scheme.routing == "xor"
                source[i] = (
                    digit ^ address[j] if xor else digit_difference(address[j], digit, radices[j])
                )
            m.d.comb += self.source.eq(Cat(source))
        else:
            expected = Cat(reversed([address[j] for j in scheme.destination_digits]))
            arrived = self.tag == expected
            if self.broadcast:
                arrived = ((self.tag ^ expected) & ~self.mask) == 0
            m.d.comb += self.arrived.eq(arrived)
        return m
