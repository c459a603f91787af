"""Independent subnetworks of one network (Siegel et al., III-D). Pure Python, without Amaranth.

A *subnetwork* is 2^s terminals whose addresses agree in n - s bits and take all values in the
others. Suppose that a packet from a member changes only the other bits of its source address, into
those of its destination. Then it goes to a member, and it shares no link with the packets of a
disjoint subnetwork. So any set of disjoint subnetworks is a *partition*.

The *mask* M of a subnetwork has a 1 in each address bit in which its members differ. The network
interface of a member replaces the tag that it is given by an *effective tag*: E = T AND M for XOR
tags, E = D AND M OR S AND NOT M for destination tags. The *broadcast* mask is replaced by its AND
with M, so broadcasts stay inside, too.

Not all networks can be partitioned. In a ring, packets from terminal 0 to 2 take a link that leaves
terminal 1, and so do those from 1 to 3; `shared_channel` looks for such links. In a multistage
network, each stage must replace an address bit of the source by the *same* bit of the destination.
The cube, the omega network, the indirect cube and the flip network do. The baseline and the
butterfly do not: between their stages, the links of two subnetworks would be the same.
"""

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Generic, NamedTuple, Protocol, Self, TypeVar

from ..core.checks import check_field, check_integer
from ..core.errors import InvalidValue
from ..topology.tags import TagScheme

__all__ = [
    "Partition",
    "RoutedNetwork",
    "SharedChannel",
    "Subnetwork",
    "check_isolated",
    "check_partitionable",
    "effective_tag",
    "shared_channel",
]

_MOST_CHECKED = 256
"""Largest number of terminals for which all paths are examined."""

Channel = TypeVar("Channel", bound=Hashable)
_Taken = TypeVar("_Taken", bound=Hashable, covariant=True)


def check_partitionable(tags: TagScheme) -> None:
    """Raise ValueError if masks can't confine packets to subnetworks in every stage."""
    radix = tags.code.radix
    if not tags.code.is_plain:
        raise InvalidValue(f"Partitions need a radix that is a power of two, not {radix}")
    for s, (from_, to) in enumerate(zip(tags.source_digits, tags.destination_digits)):
        if from_ != to:
            raise InvalidValue(
                "Partitions need a wiring whose stages replace each digit of the source address "
                f"by the same digit of the destination; here stage {s} replaces digit {from_} by "
                f"digit {to}, so that subnetworks would share links"
            )


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
        If the wiring can't be partitioned.
    """
    check_partitionable(tags)
    allowed = tags.in_stage_order(mask)
    if tags.routing == "xor":
        return tag & allowed
    return tag & allowed | tags.in_stage_order(source) & ~allowed


@dataclass(frozen=True)
class Subnetwork:
    """2^s of 2^n terminals: all those whose addresses agree in n - s bits.

    Attributes
    ----------
    bits : int
        n, the number of bits of an address.
    mask : int
        1 in each of the s bits in which the members differ.
    value : int
        The members' common bits; 0 where they differ.

    Raises
    ------
    TypeError, ValueError
        If `bits` is not a positive integer, or the numbers don't fit it, or overlap.
    """

    bits: int
    mask: int
    value: int

    def __post_init__(self) -> None:
        check_field(self, "bits", "Address bits", 1)
        check_field(self, "mask", "Mask", 0, (1 << self.bits) - 1)
        check_field(self, "value", "Value", 0, (1 << self.bits) - 1)
        if self.mask & self.value:
            raise InvalidValue(
                f"Value of a subnetwork must be 0 where its mask {self.mask:0{self.bits}b} is 1, "
                f"not {self.value:0{self.bits}b}"
            )

    @classmethod
    def of(cls, bits: int, members: Iterable[int]) -> "Subnetwork":
        """The subnetwork with these members.

        Raises
        ------
        ValueError
            If there are none, one does not exist or is listed twice, or they are not all the
            terminals whose addresses agree in some bits.
        """
        members = sorted(members)
        if not members:
            raise InvalidValue("A subnetwork must have at least one member, not none")
        for member in members:
            member = check_integer("Member", member, 0, (1 << bits) - 1)
        listed = ", ".join(map(str, members))
        if len(set(members)) != len(members):
            raise InvalidValue(f"Members of a subnetwork must be distinct, not {listed}")
        if len(members) & (len(members) - 1):
            raise InvalidValue(
                f"Size of a subnetwork must be a power of two, not {len(members)} ({listed})"
            )
        mask = 0
        for member in members:
            mask |= member ^ members[0]
        if len(members) != 1 << mask.bit_count():
            fixed = bits - len(members).bit_length() + 1
            raise InvalidValue(
                f"Members of a subnetwork of size {len(members)} must agree in {fixed} address "
                f"bits, not in {bits - mask.bit_count()} ({listed})"
            )
        return cls(bits, mask, members[0])

    @classmethod
    def joining(cls, bits: int, one: int, other: int) -> "Subnetwork":
        """The smallest subnetwork that contains both terminals."""
        return cls(bits, one ^ other, one & other)

    def __str__(self) -> str:
        return ", ".join(map(str, self.members))

    @property
    def size(self) -> int:
        return 1 << self.mask.bit_count()

    @property
    def members(self) -> list[int]:
        """Addresses of the members, in order."""
        members = [self.value]
        for bit in range(self.bits):
            if self.mask >> bit & 1:
                members += [member | 1 << bit for member in members]
        return members

    def __contains__(self, terminal: int) -> bool:
        return terminal in range(1 << self.bits) and (terminal & ~self.mask) == self.value

    def overlaps(self, other: "Subnetwork") -> bool:
        """Whether two subnetworks have members in common."""
        return (self.value ^ other.value) & ~(self.mask | other.mask) == 0

    def common(self, other: "Subnetwork") -> "Subnetwork":
        """The members that two overlapping subnetworks share."""
        return Subnetwork(self.bits, self.mask & other.mask, self.value | other.value)

    def halves(self, bit: int) -> tuple[Self, Self]:
        """The members with a 0 in this address bit, and those with a 1.

        Raises
        ------
        ValueError
            If the members do not differ in this bit.
        """
        bit = check_integer("Bit", bit, 0, self.bits - 1)
        if not self.mask >> bit & 1:
            free = [str(b) for b in range(self.bits) if self.mask >> b & 1]
            raise InvalidValue(
                f"Bit that halves a subnetwork must be one in which its members differ "
                f"({', '.join(free) or 'there is none'}), not {bit}"
            )
        mask = self.mask & ~(1 << bit)
        return replace(self, mask=mask), replace(self, mask=mask, value=self.value | 1 << bit)


@dataclass(frozen=True)
class Partition:
    """Disjoint subnetworks of a network of 2^n terminals.

    They need not contain all terminals; each other terminal is a subnetwork of size one.

    Attributes
    ----------
    bits : int
        n, the number of bits of an address.
    subnetworks : tuple[Subnetwork, ...]

    Raises
    ------
    ValueError
        If two subnetworks have a terminal in common, or one is of a network of another size.
    """

    bits: int
    subnetworks: tuple[Subnetwork, ...]

    def __post_init__(self) -> None:
        check_field(self, "bits", "Address bits", 1)
        for index, subnetwork in enumerate(self.subnetworks):
            if subnetwork.bits != self.bits:
                raise InvalidValue(
                    f"Addresses of subnetwork {index} must have {self.bits} bits, "
                    f"not {subnetwork.bits}"
                )
            for earlier, other in enumerate(self.subnetworks[:index]):
                if subnetwork.overlaps(other):
                    raise InvalidValue(
                        f"Subnetworks {earlier} and {index} must be disjoint; "
                        f"both have terminal {subnetwork.value | other.value}"
                    )

    @classmethod
    def whole(cls, ports: int) -> "Partition":
        """All terminals in one subnetwork."""
        bits = _bits(ports)
        return cls(bits, (Subnetwork(bits, ports - 1, 0),))

    @classmethod
    def of_members(cls, ports: int, groups: Iterable[Iterable[int]]) -> "Partition":
        """The partition into subnetworks with these members."""
        bits = _bits(ports)
        return cls(bits, tuple(Subnetwork.of(bits, members) for members in groups))

    @classmethod
    def of_bits(cls, ports: int, fixed: Iterable[Mapping[int, int]]) -> "Partition":
        """The partition into subnetworks whose members have these values in these address bits.

        Examples
        --------
        Figure 5: one subnetwork of eight, and two of four.

        >>> figure5 = Partition.of_bits(16, [{3: 0}, {3: 1, 2: 0}, {3: 1, 2: 1}])
        >>> [subnetwork.size for subnetwork in figure5.subnetworks]
        [8, 4, 4]
        """
        bits = _bits(ports)
        subnetworks = []
        for values in fixed:
            mask, value = ports - 1, 0
            for bit, digit in values.items():
                bit = check_integer("Bit", bit, 0, bits - 1)
                check_integer(f"Value of bit {bit}", digit, 0, 1)
                mask &= ~(1 << bit)
                value |= digit << bit
            subnetworks.append(Subnetwork(bits, mask, value))
        return cls(bits, tuple(subnetworks))

    def halved(self, terminal: int, bit: int) -> Self:
        """The partition with the subnetwork of a terminal halved by an address bit."""
        halves = self.of(terminal).halves(bit)
        others = [part for part in self.subnetworks if terminal not in part]
        return replace(self, subnetworks=(*others, *halves))

    def of(self, terminal: int) -> Subnetwork:
        """The subnetwork that contains a terminal."""
        terminal = check_integer("Terminal", terminal, 0, (1 << self.bits) - 1)
        for subnetwork in self.subnetworks:
            if terminal in subnetwork:
                return subnetwork
        return Subnetwork(self.bits, 0, terminal)

    def mask(self, terminal: int) -> int:
        """M for the network interface of a terminal, in the order of address bits."""
        return self.of(terminal).mask


class RoutedNetwork(Protocol[_Taken]):
    """The paths of a network, as `PacketNetwork` describes them.

    Attributes
    ----------
    ports : int
        Number of terminals.
    """

    ports: int

    def channels(self, source: int, destination: int) -> Iterable[_Taken]:
        """All channels that packets between two terminals may take."""


class SharedChannel(NamedTuple, Generic[Channel]):
    """A channel that packets of two disjoint subnetworks may take."""

    channel: Channel
    subnetworks: tuple[Subnetwork, Subnetwork]


def shared_channel(network: RoutedNetwork[Channel]) -> SharedChannel[Channel] | None:
    """A channel that two disjoint subnetworks share, or None if every partition is independent.

    The run time is proportional to the number of pairs of terminals.

    Raises
    ------
    ValueError
        If the number of terminals is not a power of two, or the network does not list its channels.

    Examples
    --------
    Terminals on a bus, each of which hears all others:

    >>> class Bus:
    ...     ports = 4
    ...
    ...     def channels(self, source, destination):
    ...         return ["bus"] if source != destination else []
    >>> channel, (one, other) = shared_channel(Bus())
    >>> channel, str(one), str(other)
    ('bus', '0, 2', '1, 3')
    """
    bits = _bits(network.ports)
    users: dict[Channel, list[Subnetwork]] = {}
    common: dict[Channel, Subnetwork] = {}
    for source, destination in product(range(network.ports), repeat=2):
        # Every subnetwork that contains both ends contains these, too.
        user = Subnetwork.joining(bits, source, destination)
        for channel in network.channels(source, destination):
            # If any two of some subnetworks overlap, all of them have a member in common.
            if not user.overlaps(common.setdefault(channel, user)):
                other = next(one for one in users[channel] if not one.overlaps(user))
                return SharedChannel(channel, (other, user))
            users.setdefault(channel, []).append(user)
            common[channel] = user.common(common[channel])
    return None


def check_isolated(network: RoutedNetwork[Channel]) -> None:
    """Check that disjoint subnetworks of a network share no channel.

    Raises
    ------
    ValueError
        If they would, or there are too many terminals to examine all paths.
    """
    if network.ports > _MOST_CHECKED:
        raise InvalidValue(
            f"Partitions of this network can be checked for up to {_MOST_CHECKED} terminals, "
            f"not {network.ports}"
        )
    shared = shared_channel(network)
    if shared is not None:
        one, other = shared.subnetworks
        raise InvalidValue(
            f"Partitions need subnetworks that share no channel; here those of terminals {one} and "
            f"of {other} would share {shared.channel}"
        )


def _bits(ports: int) -> int:
    """n, where N = 2^n is the number of terminals."""
    ports = check_integer("Ports", ports, 2)
    if ports & (ports - 1):
        raise InvalidValue(f"Ports of a partitioned network must be a power of two, not {ports}")
    return ports.bit_length() - 1
