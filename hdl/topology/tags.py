"""Routing tags: the part of a packet's header that sets the boxes on its path (Siegel et al.,
III-C).

An address or tag is written in base-b digits of `digit_bits` bits each, the most significant digit
on top; for b a power of two that is the plain binary number. A tag holds one digit per stage,
*in the order of the stages*: a box reads the top digit and rotates it to the bottom. So no box
needs to know its stage, and the tag has its original value when the packet arrives.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Literal

from ..core.errors import InvalidValue

__all__ = [
    "ROUTINGS",
    "AddressCode",
    "MixedCode",
    "TagScheme",
    "address_tags",
    "check_broadcast",
    "check_routing",
]

Routing = Literal["destination", "xor"]
ROUTINGS: tuple[Routing, ...] = ("destination", "xor")


def check_routing(routing: object, radix: int) -> None:
    """Raise ValueError if the tag scheme does not exist, or does not fit the radix."""
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
    def radices(self) -> tuple[int, ...]:
        """The radix of each digit, least significant first."""
        return (self.radix,) * self.digits

    @property
    def count(self) -> int:
        """Number of addresses: the product of the radices."""
        return prod(self.radices)

    @property
    def is_plain(self) -> bool:
        """Whether the code of an address is the address itself."""
        return set(self.radices) == {1 << self.digit_bits}

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
            If the address does not exist.
        """
        if address not in range(self.count):
            raise InvalidValue(f"Address must be from 0 to {self.count - 1}, not {address}")
        digits = []
        for radix in self.radices:
            address, digit = divmod(address, radix)
            digits.append(digit)
        return digits

    def join(self, digits: Sequence[int]) -> int:
        """The address with these digits, least significant first."""
        address = 0
        for digit, radix in zip(reversed(digits), reversed(self.radices)):
            address = address * radix + digit
        return address

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

        A block is `size` consecutive addresses, the first of which is a multiple of `size`.

        Raises
        ------
        ValueError
            If a block does not consist of all addresses that agree in some bits: its size must be a
            power of the radix, times a power of two that divides the radix.
        """
        digits = 0
        while size > 0 and self.radix ** (digits + 1) <= size and digits < self.digits:
            digits += 1
        part, rest = divmod(size, self.radix**digits)
        whole = rest == 0 and part.bit_count() == 1
        if size not in range(1, self.count + 1) or not whole or self.radix % part:
            raise InvalidValue(
                f"Size of a block must be a power of {self.radix}, times a power of two that "
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
class MixedCode(AddressCode):
    """How an address is written whose digits have different radices.

    All digits have the width of the widest.

    Attributes
    ----------
    radix : int
        The greatest radix.
    digits : int
    sizes : tuple[int, ...]
        The radix of each digit, least significant first.
    """

    sizes: tuple[int, ...]

    @classmethod
    def of(cls, sizes: Sequence[int]) -> AddressCode:
        """The code of digits with these radices; a plain one if they are equal."""
        if len(set(sizes)) == 1:
            return AddressCode(sizes[0], len(sizes))
        return cls(max(sizes), len(sizes), tuple(sizes))

    @property
    def radices(self) -> tuple[int, ...]:
        return self.sizes

    def block_mask(self, size: int) -> int:
        raise InvalidValue("Blocks of addresses need digits of equal radices")


@dataclass(frozen=True)
class TagScheme:
    """How the tags of a network are computed from source and destination, and back.

    On a path, stage s (0 is the first that a packet meets) is entered at the box port named by
    source digit `source_digits[s]` and left at the box port named by destination digit
    `destination_digits[s]`. The *destination* tag holds the latter; the *XOR* tag holds the
    exclusive or of the two, where 0 means straight.

    Attributes
    ----------
    routing : "destination" or "xor"
    code : AddressCode
        Code of the terminals' addresses; tags are written in the same code.
    source_digits, destination_digits : tuple[int, ...]
        Position of the digit that each stage uses; 0 is the least significant.

    Raises
    ------
    ValueError
        If the tag scheme does not exist, or is XOR and the radix is not a power of two.
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
        """The destination of a packet with this tag."""
        stages = self.code.unpack(tag)[::-1]
        from_ = self.code.split(source)
        to = [0] * self.code.digits
        for digit, i, j in zip(stages, self.source_digits, self.destination_digits):
            to[j] = digit ^ from_[i] if self.routing == "xor" else digit
        return self.code.join(to)

    def source(self, tag: int, destination: int) -> int | None:
        """The source of a packet with this XOR tag; None for a destination tag."""
        if self.routing != "xor":
            return None
        stages = self.code.unpack(tag)[::-1]
        to = self.code.split(destination)
        from_ = [0] * self.code.digits
        for digit, i, j in zip(stages, self.source_digits, self.destination_digits):
            from_[i] = digit ^ to[j]
        return self.code.join(from_)

    def in_stage_order(self, code: int) -> int:
        """A code of destination digits rearranged as a tag: the top digit for stage 0."""
        digits = self.code.unpack(code)
        return self.code.pack([digits[j] for j in reversed(self.destination_digits)])

    def broadcast(self, source: int, outputs: Iterable[int]) -> tuple[int, int]:
        """The tag and the broadcast mask that send one packet to all of the given outputs.

        A 1 in the mask means both values of this bit, so the outputs must be all those whose
        addresses agree in some bits. Where the mask is 1, the tag is 0. The boxes could also reach
        sets of outputs that no mask describes (Siegel et al., III-C).

        Raises
        ------
        ValueError
            If no mask describes these outputs, or the radix is not a power of two.
        """
        check_broadcast(self.code.radix)
        wanted = {self.code.encode(output) for output in outputs}
        if not wanted:
            raise InvalidValue("A broadcast must have at least one output, not none")
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
        """The destinations of the copies of a packet with this tag and broadcast mask, in order.

        Raises
        ------
        ValueError
            If the radix is not a power of two.
        """
        check_broadcast(self.code.radix)
        tags = [tag & ~mask]
        for position in range(self.code.width):
            if mask >> position & 1:
                tags += [other | 1 << position for other in tags]
        return sorted(self.destination(each, source) for each in tags)


def address_tags(code: AddressCode) -> TagScheme:
    """Tags that hold the address of the destination, the most significant digit on top."""
    digits = tuple(reversed(range(code.digits)))
    return TagScheme("destination", code, digits, digits)
