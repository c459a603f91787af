"""Independent subnetworks of one network (Siegel et al., III-D). Pure Python, without Amaranth.

A *subnetwork* is 2^s terminals whose addresses agree in n - s bits and take all values in the
others. Suppose that a packet from a member changes only the other bits of its source address, into
those of its destination. Then it goes to a member, and it shares no link with the packets of a
disjoint subnetwork. So any set of disjoint subnetworks is a *partition*.

The *mask* M of a subnetwork has a 1 in each address bit in which its members differ. The network
interface of a member replaces the tag that it is given by an *effective tag*: E = T AND M for XOR
and difference tags, E = D AND M OR S AND NOT M for destination tags. The *broadcast* mask is
replaced by its AND with M, so broadcasts stay inside, too.

In base b (III-E) the bits are those of the code of an address, and masks need care: D AND M OR S
AND NOT M must be a digit for all digits D and S. If b is a power of two it always is. Otherwise a
mask must fix a digit or leave it free (or, in base 6, fix what a digit is modulo 2, and the like).
With difference tags, M is all ones or all zeros in each digit; zeros at its end are possible, too.

Not all networks can be partitioned. In a ring, packets from terminal 0 to 2 take a link that leaves
terminal 1, and so do those from 1 to 3; `isolation.shared_channel` looks for such links. In a
multistage network, each stage must replace an address digit of the source by the *same* digit of
the destination. The cube, the omega network, the indirect cube and the flip network do. The
baseline and the butterfly do not: between their stages, the links of two subnetworks would be the
same.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import product
from math import prod
from typing import Self

from ..fabric.checks import check_field, check_integer, check_power_of_two
from ..fabric.errors import InvalidValue
from .address_codes import AddressCode
from .tags import Routing, TagScheme, address_tags, box_output, matching_digits

__all__ = ["Partition", "Subnetwork", "check_mask", "check_partitionable", "effective_tag"]


def check_partitionable(tags: TagScheme) -> None:
    """Raise ValueError if masks can't confine packets to subnetworks in every stage."""
    for s, (from_, to) in enumerate(zip(tags.source_digits, tags.destination_digits)):
        if from_ != to:
            raise InvalidValue(
                "Partitions need a wiring whose stages replace each digit of the source address "
                f"by the same digit of the destination; here stage {s} replaces digit {from_} by "
                f"digit {to}, so that subnetworks would share links"
            )


def check_mask(tags: TagScheme, mask: int) -> None:
    """Raise ValueError if effective tags do not confine packets to the subnetworks of a mask."""
    code = tags.code
    for position, (digit, radix) in enumerate(zip(code.unpack(mask), code.radices)):
        if not _confines(tags.routing, digit, radix):
            raise InvalidValue(
                f"Mask of a partition can't be {digit:0{code.widths[position]}b} in digit "
                f"{position} of radix {radix} with routing={tags.routing}"
            )


@cache
def _confines(routing: Routing, mask: int, radix: int) -> bool:
    """Whether all effective digits lead from a digit to one that agrees with it outside a mask."""
    if routing != "difference" and radix & (radix - 1) == 0:
        return True
    pairs = product(range(radix), repeat=2)
    reached = (
        (source, box_output(routing, _effective(routing, mask, source, digit), source, radix))
        for source, digit in pairs
    )
    return all(to < radix and (to ^ source) & ~mask == 0 for source, to in reached)


def _effective(routing: Routing, mask: int, source: int, tag: int) -> int:
    """The effective digit, or tag; `source` is in the order of the tag, too."""
    return tag & mask | (source & ~mask if routing == "destination" else 0)


def effective_tag(tags: TagScheme, mask: int, source: int, tag: int) -> int:
    """The tag E that leads from `source` to a member of its subnetwork, for any `tag`.

    Parameters
    ----------
    tags : TagScheme
    mask : int
        M of the subnetwork, in the order of address bits.
    source : int
        Address of the sending terminal.
    tag : int
        The tag to be sent. It is not changed if it leads to a member.

    Raises
    ------
    ValueError
        If the wiring can't be partitioned, or the mask does not fit the radix and the tags.
    """
    check_partitionable(tags)
    check_mask(tags, mask)
    allowed, own = tags.in_stage_order(mask), tags.in_stage_order(tags.code.encode(source))
    return _effective(tags.routing, allowed, own, tag)


@dataclass(frozen=True)
class Subnetwork:
    """All terminals whose addresses agree in some bits of their code.

    If all radices are powers of two these are 2^s of 2^n terminals that agree in n - s bits.

    Attributes
    ----------
    code : AddressCode
        The code of addresses; a number n stands for n bits.
    mask : int
        1 in each of the bits in which the members differ.
    value : int
        The members' common bits; 0 where they differ.

    Raises
    ------
    TypeError, ValueError
        If `code` is neither a code nor a positive integer, the numbers don't fit it, or overlap, or
        the mask does not divide the terminals into subnetworks of equal size.
    """

    code: AddressCode
    mask: int
    value: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "code", _code(self.code))
        most = (1 << self.bits) - 1
        check_field(self, "mask", "Mask", 0, most)
        check_field(self, "value", "Value", 0, most)
        if self.mask & self.value:
            raise InvalidValue(
                f"Value of a subnetwork must be 0 where its mask {self.mask:0{self.bits}b} is 1, "
                f"not {self.value:0{self.bits}b}"
            )
        check_mask(address_tags(self.code), self.mask)
        if not all(self._digits):
            raise InvalidValue(
                f"Value of a subnetwork must have digits below {_radices(self.code)}, "
                f"not {', '.join(map(str, reversed(self.code.unpack(self.value))))}"
            )

    @classmethod
    def of(cls, code: AddressCode | int, members: Iterable[int]) -> "Subnetwork":
        """The subnetwork with these members.

        Raises
        ------
        ValueError
            If there are none, one does not exist or is listed twice, or they are not all the
            terminals whose addresses agree in some bits.
        """
        code = _code(code)
        members = sorted(members)
        if not members:
            raise InvalidValue("A subnetwork must have at least one member, not none")
        for member in members:
            member = check_integer("Member", member, 0, code.count - 1)
        listed = ", ".join(map(str, members))
        if len(set(members)) != len(members):
            raise InvalidValue(f"Members of a subnetwork must be distinct, not {listed}")
        found = cls.joining(code, *members)
        if found.size != len(members):
            what = "bits" if code.is_plain else "digits"
            raise InvalidValue(
                "Members of a subnetwork must be all terminals whose addresses agree in some "
                f"{what}, not {listed}"
            )
        return found

    @classmethod
    def joining(cls, code: AddressCode | int, *members: int) -> "Subnetwork":
        """The smallest subnetwork that contains these terminals."""
        code = _code(code)
        codes = [code.encode(member) for member in members]
        differing = 0
        for each in codes:
            differing |= each ^ codes[0]
        mask = code.pack(
            [
                _least_mask(digit, radix, width)
                for digit, radix, width in zip(code.unpack(differing), code.radices, code.widths)
            ]
        )
        return cls(code, mask, codes[0] & ~mask)

    def __str__(self) -> str:
        return ", ".join(map(str, self.members))

    @property
    def bits(self) -> int:
        """Number of bits of an address."""
        return self.code.width

    @cached_property
    def _digits(self) -> list[list[int]]:
        """The values of each digit of the members, least significant first."""
        code = self.code
        return [
            matching_digits(value, mask, radix)
            for value, mask, radix in zip(
                code.unpack(self.value), code.unpack(self.mask), code.radices
            )
        ]

    @property
    def size(self) -> int:
        return prod(map(len, self._digits))

    @property
    def members(self) -> list[int]:
        """Addresses of the members, in order."""
        return sorted(map(self.code.join, product(*self._digits)))

    def __contains__(self, terminal: int) -> bool:
        if terminal not in range(self.code.count):
            return False
        return self.code.encode(terminal) & ~self.mask == self.value

    def overlaps(self, other: "Subnetwork") -> bool:
        """Whether two subnetworks have members in common."""
        return (self.value ^ other.value) & ~(self.mask | other.mask) == 0

    def common(self, other: "Subnetwork") -> "Subnetwork":
        """The members that two overlapping subnetworks share."""
        return Subnetwork(self.code, self.mask & other.mask, self.value | other.value)

    def parts(self, digit: int) -> list[Self]:
        """The members with each value of a digit of their addresses.

        Raises
        ------
        ValueError
            If all members have the same value.
        """
        name = _name_of(self.code)
        digit = check_integer(name.capitalize(), digit, 0, self.code.digits - 1)
        if len(self._digits[digit]) == 1:
            free = [str(j) for j, values in enumerate(self._digits) if len(values) > 1]
            raise InvalidValue(
                f"{name.capitalize()} that divides a subnetwork must be one in which its members "
                f"differ ({', '.join(free) or 'there is none'}), not {digit}"
            )
        place, width = self.code.places[digit], self.code.widths[digit]
        mask = self.mask & ~((1 << width) - 1 << place)
        fixed = self.value & ~((1 << width) - 1 << place)
        return [
            replace(self, mask=mask, value=fixed | value << place) for value in self._digits[digit]
        ]


@dataclass(frozen=True)
class Partition:
    """Disjoint subnetworks of a network.

    They need not contain all terminals; each other terminal is a subnetwork of size one.

    Attributes
    ----------
    code : AddressCode
        The code of addresses; a number n stands for n bits.
    subnetworks : tuple[Subnetwork, ...]
        The subnetworks, in any order.

    Raises
    ------
    ValueError
        If two subnetworks have a terminal in common, or one is of a network of another size.
    """

    code: AddressCode
    subnetworks: tuple[Subnetwork, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "code", _code(self.code))
        for index, subnetwork in enumerate(self.subnetworks):
            if subnetwork.code != self.code:
                raise InvalidValue(
                    f"Addresses of subnetwork {index} must have {_form(self.code)}, "
                    f"not {_form(subnetwork.code)}"
                )
            for earlier, other in enumerate(self.subnetworks[:index]):
                if subnetwork.overlaps(other):
                    shared = subnetwork.common(other).members[0]
                    raise InvalidValue(
                        f"Subnetworks {earlier} and {index} must be disjoint; "
                        f"both have terminal {shared}"
                    )

    @property
    def bits(self) -> int:
        """Number of bits of an address."""
        return self.code.width

    @classmethod
    def whole(cls, ports: AddressCode | int) -> "Partition":
        """All terminals in one subnetwork.

        Here and below, `ports` is the number of terminals, a power of two, or the code of their
        addresses.
        """
        code = _code_of(ports)
        return cls(code, (Subnetwork(code, (1 << code.width) - 1, 0),))

    @classmethod
    def of_members(cls, ports: AddressCode | int, groups: Iterable[Iterable[int]]) -> "Partition":
        """The partition into subnetworks with these members."""
        code = _code_of(ports)
        return cls(code, tuple(Subnetwork.of(code, members) for members in groups))

    @classmethod
    def of_digits(cls, ports: AddressCode | int, fixed: Iterable[Mapping[int, int]]) -> "Partition":
        """The partition into subnetworks whose members have these values in these address digits.

        Examples
        --------
        Figure 5: one subnetwork of eight, and two of four.

        >>> figure5 = Partition.of_digits(16, [{3: 0}, {3: 1, 2: 0}, {3: 1, 2: 1}])
        >>> [subnetwork.size for subnetwork in figure5.subnetworks]
        [8, 4, 4]

        In base 3, one subnetwork of three, and two single terminals.

        >>> base3 = Partition.of_digits(AddressCode(3, 2), [{1: 0}, {1: 1, 0: 0}, {1: 1, 0: 2}])
        >>> [subnetwork.members for subnetwork in base3.subnetworks]
        [[0, 1, 2], [3], [5]]
        """
        code = _code_of(ports)
        name = _name_of(code)
        subnetworks = []
        for values in fixed:
            mask, value = (1 << code.width) - 1, 0
            for digit, given in values.items():
                digit = check_integer(name.capitalize(), digit, 0, code.digits - 1)
                most = code.radices[digit] - 1
                given = check_integer(f"Value of {name} {digit}", given, 0, most)
                mask &= ~((1 << code.widths[digit]) - 1 << code.places[digit])
                value |= given << code.places[digit]
            subnetworks.append(Subnetwork(code, mask, value))
        return cls(code, tuple(subnetworks))

    of_bits = of_digits

    def divided(self, terminal: int, digit: int) -> Self:
        """The partition with the subnetwork of a terminal divided by a digit of addresses."""
        parts = self.of(terminal).parts(digit)
        others = [part for part in self.subnetworks if terminal not in part]
        return replace(self, subnetworks=(*others, *parts))

    def halved(self, terminal: int, bit: int) -> Self:
        """As `divided`, for addresses of bits."""
        return self.divided(terminal, bit)

    def of(self, terminal: int) -> Subnetwork:
        """The subnetwork that contains a terminal."""
        terminal = check_integer("Terminal", terminal, 0, self.code.count - 1)
        for subnetwork in self.subnetworks:
            if terminal in subnetwork:
                return subnetwork
        return Subnetwork(self.code, 0, self.code.encode(terminal))

    def mask(self, terminal: int) -> int:
        """M for the network interface of a terminal, in the order of address bits."""
        return self.of(terminal).mask


@cache
def _least_mask(differing: int, radix: int, width: int) -> int:
    """The smallest mask of a digit that contains `differing` and splits the radix evenly.

    There is one, because the AND of two masks that split the radix evenly splits it evenly too.
    """
    masks = (mask for mask in range(1 << width) if mask & differing == differing)
    return min((mask for mask in masks if _confines("destination", mask, radix)), key=int.bit_count)


def _code(code: AddressCode | int) -> AddressCode:
    """The code; a number stands for bits. The digits of a plain code are its bits."""
    if isinstance(code, AddressCode):
        return AddressCode(2, code.width) if code.is_plain else code
    return AddressCode(2, check_integer("Address bits", code, 1))


def _code_of(ports: AddressCode | int) -> AddressCode:
    """The code; a number stands for terminals with binary addresses."""
    if isinstance(ports, AddressCode):
        return _code(ports)
    ports = check_integer("Ports", ports, 2)
    check_power_of_two("Ports of a partitioned network", ports)
    return AddressCode(2, ports.bit_length() - 1)


def _name_of(code: AddressCode) -> str:
    """What a digit is called."""
    return "bit" if code.radix == 2 else "digit"


def _radices(code: AddressCode) -> str:
    return ", ".join(map(str, reversed(code.radices)))


def _form(code: AddressCode) -> str:
    """What the addresses of a code consist of."""
    return f"{code.digits} bits" if code.radix == 2 else f"digits of the radices {_radices(code)}"
