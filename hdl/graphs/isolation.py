"""Whether disjoint subnetworks of a network are independent: no channel is shared."""

from collections.abc import Hashable, Iterable
from itertools import product
from typing import Generic, NamedTuple, Protocol, TypeVar

from ..fabric.errors import InvalidValue
from .address_codes import AddressCode
from .partitions import Partition, Subnetwork

__all__ = ["Paths", "SharedChannel", "check_isolated", "shared_channel"]

_MOST_CHECKED = 256
"""Largest number of terminals for which all paths are examined."""

Channel = TypeVar("Channel", bound=Hashable)
_Taken = TypeVar("_Taken", bound=Hashable, covariant=True)


class Paths(Protocol[_Taken]):
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


def shared_channel(
    network: Paths[Channel], code: AddressCode | None = None
) -> SharedChannel[Channel] | None:
    """A channel that two disjoint subnetworks share, or None if every partition is independent.

    Subnetworks are those of the code of addresses, by default of binary numbers. The run time is
    proportional to the number of pairs of terminals.

    Raises
    ------
    ValueError
        If the number of terminals is not a power of two, and there is no code, or the network does
        not list its channels.

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
    code = Partition.whole(network.ports if code is None else code).code
    users: dict[Channel, list[Subnetwork]] = {}
    common: dict[Channel, Subnetwork] = {}
    for source, destination in product(range(network.ports), repeat=2):
        # Every subnetwork that contains both ends contains these, too.
        user = Subnetwork.joining(code, source, destination)
        for channel in network.channels(source, destination):
            # If any two of some subnetworks overlap, all of them have a member in common.
            if not user.overlaps(common.setdefault(channel, user)):
                other = next(one for one in users[channel] if not one.overlaps(user))
                return SharedChannel(channel, (other, user))
            users.setdefault(channel, []).append(user)
            common[channel] = user.common(common[channel])
    return None


def check_isolated(network: Paths[Channel], code: AddressCode | None = None) -> None:
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
    shared = shared_channel(network, code)
    if shared is not None:
        one, other = shared.subnetworks
        raise InvalidValue(
            f"Partitions need subnetworks that share no channel; here those of terminals {one} and "
            f"of {other} would share {shared.channel}"
        )
