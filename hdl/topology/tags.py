"""Routing tags: what a packet's header says to the boxes it passes (Siegel et al., III-C).

An address or tag is written in base-b digits, `digit_bits` wide each, the most significant digit
on top: for b a power of two that is the binary number itself. A tag holds one digit a stage,
*in the order of the stages*: a box reads the top digit and rotates it to the bottom, so that no
box needs to know its stage, and the whole tag is back in place when the packet arrives.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from ..core.errors import InvalidValue

__all__ = [
    "ROUTINGS",
    "AddressCode",
    "TagScheme",
    "address_tags",
    "check_broadcast",
    "check_routing",
]

Routing = Literal["destination", "xor"]
ROUTINGS: tuple[Routing, ...] = ("destination", "xor")


def check_routing(routing: object, radix: int) -> None:
    """Raise ValueError if there is no such routing, or it does not fit the radix."""
    if routing not in ROUTINGS:
        raise InvalidValue(f"Routing must be {' or '.join(ROUTINGS)}, not {routing!r}")
    if routing == "xor" and radix & (radix - 1):
        raise InvalidValue(f"XOR tags need a radix that is a power of two, not {radix}")


def check_broadcast(radix: int) -> None:
    """Raise ValueError if broadcast masks do not fit the radix."""
    if radix & (radix - 1):
        raise InvalidValue(f"Broadcast masks need a radix that is a power of two, not {radix}")


@dataclass(frozen=True)
class AddressCode:
    """How an address of `digits` base-`radix` digits is written in bits.

    Attributes
    ----------
    radix, digits : int
    """

    radix: int
    digits: int

    @property
    def count(self) -> int:
        """Number of addresses, radix to the power of digits."""
        return self.radix**self.digits

    @property
    def digit_bits(self) -> int:
        """Width of one digit in bits."""
        return (self.radix - 1).bit_length()

    @property
    def width(self) -> int:
        """Width of a whole code in bits."""
        return self.digits * self.digit_bits

    def split(self, address: int) -> list[int]:
        """The digits of an address, least significant first.

        Raises
        ------
        ValueError
            If there is no such address.
        """
        if address not in range(self.count):
            raise InvalidValue(f"Address must be from 0 to {self.count - 1}, not {address}")
        return [address // self.radix**position % self.radix for position in range(self.digits)]

    def join(self, digits: Sequence[int]) -> int:
        """The address with these digits, least significant first."""
        return sum(digit * self.radix**position for position, digit in enumerate(digits))

    def pack(self, digits: Sequence[int]) -> int:
        """The code of digits, least significant first."""
        bits = self.digit_bits
        return sum(digit << position * bits for position, digit in enumerate(digits))

    def unpack(self, code: int) -> list[int]:
        """The digits of a code, least significant first."""
        mask = (1 << self.digit_bits) - 1
        return [code >> position * self.digit_bits & mask for position in range(self.digits)]

    def block_mask(self, size: int) -> int:
        """The bits of a code in which the addresses of a block differ.

        A block is `size` addresses in succession, the first a multiple of `size`.

        Raises
        ------
        ValueError
            If a block is not all addresses that agree outside of some bits: its size must be a
            power of the radix, times a power of two that divides the radix.
        """
        digits = 0
        while size > 0 and self.radix ** (digits + 1) <= size and digits < self.digits:
            digits += 1
        part, rest = divmod(size, self.radix**digits)
        whole = rest == 0 and part.bit_count() == 1
        if size not in range(1, self.count + 1) or not whole or self.radix % part:
            raise InvalidValue(
                f"Block of terminals must be of a power of {self.radix}, times a power of two that "
                f"divides {self.radix}, up to {self.count}, not {size}"
            )
        return (1 << digits * self.digit_bits + part.bit_length() - 1) - 1

    def encode(self, address: int) -> int:
        """The code of an address."""
        return self.pack(self.split(address))

    def decode(self, code: int) -> int:
        """The address of a code."""
        return self.join(self.unpack(code))


@dataclass(frozen=True)
class TagScheme:
    """How a network's tags follow from source and destination, and back.

    Stage s of a path (0 is the first that a packet meets) enters its box at the port named by
    source digit `source_digits[s]` and must leave it at the port named by destination digit
    `destination_digits[s]`. The *destination* tag holds the latter; the *XOR* tag holds the two
    exclusive-ored, 0 meaning straight.

    Attributes
    ----------
    routing : "destination" or "xor"
    code : AddressCode
        Of the terminals' addresses; tags are written in the same code.
    source_digits, destination_digits : tuple[int, ...]
        Position of the digit that each stage uses, 0 being the least significant.

    Raises
    ------
    ValueError
        If there is no such routing, or for XOR tags in a radix that is no power of two.
    """

    routing: Routing
    code: AddressCode
    source_digits: tuple[int, ...]
    destination_digits: tuple[int, ...]

    def __post_init__(self) -> None:
        check_routing(self.routing, self.code.radix)

    def tag(self, source: int, destination: int) -> int:
        """The tag of a packet between two addresses, as it enters the first stage."""
        from_, to = self.code.split(source), self.code.split(destination)
        if self.routing == "xor":
            stages = [from_[i] ^ to[j] for i, j in zip(self.source_digits, self.destination_digits)]
        else:
            stages = [to[j] for j in self.destination_digits]
        return self.code.pack(stages[::-1])

    def destination(self, tag: int, source: int) -> int:
        """Where a packet with this tag goes."""
        stages = self.code.unpack(tag)[::-1]
        from_ = self.code.split(source)
        to = [0] * self.code.digits
        for digit, i, j in zip(stages, self.source_digits, self.destination_digits):
            to[j] = digit ^ from_[i] if self.routing == "xor" else digit
        return self.code.join(to)

    def source(self, tag: int, destination: int) -> int | None:
        """Where a packet with this XOR tag came from; None for a destination tag."""
        if self.routing != "xor":
            return None
        stages = self.code.unpack(tag)[::-1]
        to = self.code.split(destination)
        from_ = [0] * self.code.digits
        for digit, i, j in zip(stages, self.source_digits, self.destination_digits):
            from_[i] = digit ^ to[j]
        return self.code.join(from_)

    def in_stage_order(self, code: int) -> int:
        """A code of destination digits as the digits of a tag: the top one for stage 0."""
        digits = self.code.unpack(code)
        return self.code.pack([digits[j] for j in reversed(self.destination_digits)])

    def broadcast(self, source: int, outputs: Iterable[int]) -> tuple[int, int]:
        """The tag and the broadcast mask that send one packet to all of some outputs.

        A 1 in the mask means both values of this bit, so the outputs must be all those whose
        addresses agree in some bits. Where the mask is 1, the tag is 0. Not every set of outputs
        that boxes could reach is of this kind (Siegel et al., III-C).

        Raises
        ------
        ValueError
            If no mask says these outputs, or the radix is no power of two.
        """
        check_broadcast(self.code.radix)
        wanted = {self.code.encode(output) for output in outputs}
        if not wanted:
            raise InvalidValue("Outputs of a broadcast must be at least one, not none")
        first = min(wanted)
        varying = 0
        for output in wanted:
            varying |= output ^ first
        if len(wanted) != 1 << varying.bit_count():
            raise InvalidValue(
                f"Outputs of a broadcast must be all that agree in some address bits, "
                f"not {', '.join(map(str, sorted(wanted)))}"
            )
        mask = self.in_stage_order(varying)
        return self.tag(source, first) & ~mask, mask

    def destinations(self, tag: int, mask: int, source: int) -> list[int]:
        """Where the copies of a packet with this tag and this broadcast mask go, in order.

        Raises
        ------
        ValueError
            If the radix is no power of two.
        """
        check_broadcast(self.code.radix)
        tags = [tag & ~mask]
        for position in range(self.code.width):
            if mask >> position & 1:
                tags += [other | 1 << position for other in tags]
        return sorted(self.destination(each, source) for each in tags)


def address_tags(code: AddressCode) -> TagScheme:
    """Tags that hold the destination's address itself, the most significant digit on top."""
    digits = tuple(reversed(range(code.digits)))
    return TagScheme("destination", code, digits, digits)
