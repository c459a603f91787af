"""The base class of networks that carry packets."""

from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, zip_longest

from amaranth.hdl import ShapeLike
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from ..fabric.cell import CellType
from ..fabric.errors import InvalidValue
from ..fabric.fabric import Fabric, Scope
from ..fabric.pins import Pin
from ..graphs.address_codes import AddressCode, MixedCode
from ..graphs.isolation import check_isolated
from ..graphs.mask_rule import MaskRule
from ..graphs.partitions import Partition, check_partitionable
from ..graphs.routing.group_tree import Kind
from ..graphs.tags import TagScheme
from ..links.packet import Packet
from ..terminals.partition import PartitionInterface
from .channel_model import ChannelModel
from .group_tables import Missing
from .network import Network
from .network_records import Confinement, Terminals

__all__ = ["PacketNetwork"]


@dataclass
class _Routers:
    """The paths of a network, as the cells that packets pass."""

    ports: int
    network: "PacketNetwork"

    def channels(self, source: int, destination: int) -> Iterable[str | None]:
        return {pin.cell for pin in self.network.channels(source, destination)}


class PacketNetwork(Network):
    """A network that carries packets: each source has one stream into it, each sink one out of it.

    The header of a packet that never waits takes one cycle per switch on its path.

    Attributes
    ----------
    tags : TagScheme
        How a packet's tag is computed from source and destination.
    packet : Packet
        Layout of a packet on every link.
    flits : bool
        Whether packets have several flits.
    groups : int
        Entries of the routers' tables of groups; 0 if packets are for one terminal each.
    holds_links : bool
        Whether a packet is one word, and holds a link for as many cycles as its length says.
    consumes_tags : bool
        Whether a packet's tag is used up on its path: at an output it is only the output's address.
    isolates : bool
        Whether packets of disjoint subnetworks are known never to share a channel, for any size
        (`graphs.partitions`), if their tags can be partitioned and `mask_rule` keeps them apart.
        If not, `channels` is examined.
    path_is_fixed : bool
        Whether an unblocked packet takes `path` in whichever cycle it starts.
    recovers : bool
        Whether it ends deadlocks by discarding packets, which it sends again. Then every packet
        that arrives is acknowledged by one of one flit, back to its source.
    combine : str
        The operation that merges the payloads of packets to the same terminal, or "none".
    transparent : bool
        Whether an output may depend combinationally on an input, or wait for its own `ready`.

    Members
    -------
    i : In(stream.Signature(packet)).array(sources)
    o : Out(stream.Signature(packet)).array(sinks)
    """

    tags: TagScheme
    flits: bool = False
    groups: int = 0
    holds_links: bool = False
    consumes_tags: bool = False
    isolates: bool = False
    path_is_fixed: bool = True
    recovers: bool = False
    combine: str = "none"
    transparent: bool = False

    def _joined(self) -> Fabric:
        link = stream.Signature(self.packet)
        fabric = Fabric({"i": In(link).array(self.sources), "o": Out(link).array(self.sinks)})
        for index, (entry, exit_) in enumerate(zip_longest(*self.place(fabric))):
            if entry is not None:
                fabric.link(Pin(None, ("i", index)), entry)
            if exit_ is not None:
                fabric.link(exit_, Pin(None, ("o", index)))
        return fabric

    @property
    def code(self) -> AddressCode:
        return self.tags.code

    @property
    def terminal_code(self) -> AddressCode:
        """The code of terminals, whose endpoints of several classes differ in one more digit."""
        return self.code if self.classes == 1 else MixedCode.of(self.code.radices[1:])

    @property
    def packet(self) -> Packet:
        """Layout of a packet on every link."""
        return self.packet_of(self.parameters["payload"])

    def packet_of(self, payload: ShapeLike) -> Packet:
        """The layout of a packet with another payload, which can be passed to `place`.

        Parameters
        ----------
        payload : ShapeLike
            The payload.

        Returns
        -------
        Packet
            The layout.
        """
        length = self.lengths[1].bit_length() if self.holds_links else 0
        return Packet(
            self.tags.code.width,
            payload,
            broadcast=self.broadcasts,
            flits=self.flits,
            length=length,
            groups=self.groups > 0,
        )

    @property
    def sphere(self) -> int:
        """Default number of terminals in a sphere of locality.

        These are the terminals whose addresses differ only in the lowest digit.
        """
        return self.tags.code.radices[0]

    @property
    def mask_rule(self) -> MaskRule | None:
        """Which subnetworks are kept apart, if not all are; None also if that is not known."""
        return None

    def confinement(self) -> Confinement:
        check_partitionable(self.tags)
        if self.classes > 1:
            raise InvalidValue(
                f"Classes must be 1 if the network is partitioned, not {self.classes}"
            )
        if self.groups not in (0, addresses := 1 << self.tags.code.width):
            raise InvalidValue(
                f"Group entries must be 0 or {addresses}, one for each address, if the network is "
                f"partitioned, not {self.groups}"
            )
        if not self.isolates:
            check_isolated(self, self.tags.code)
            if self.groups:  # A router merges one group at a time.
                check_isolated(_Routers(self.ports, self), self.tags.code)
        interface = CellType(
            PartitionInterface, packet=self.packet, tags=self.tags, single=self._single
        )
        return self._confined(interface, self.tags.code.width, self.tags.code.encode)

    @property
    def _single(self) -> bool:
        """Whether each flit is a packet."""
        return self.packet.flits and self.lengths[1] == 1

    def _confined(
        self, interface: CellType, mask_bits: int, address: Callable[[int], int]
    ) -> Confinement:
        link = stream.Signature(self.packet)
        return Confinement(interface, link, mask_bits, address, self.place, self.mask_rule)

    @abstractmethod
    def place(self, fabric: Fabric | Scope, packet: Packet | None = None) -> Terminals:
        """Add this network's cells and links to a fabric.

        Parameters
        ----------
        fabric : Fabric or Scope
            The fabric.
        packet : Packet, optional
            What its links carry: a result of `packet_of`; by default its own layout.

        Returns
        -------
        Terminals
            For each source the pin that it sends to, and for each sink the pin that it gets packets
            from.
        """

    def group_tables(
        self, groups: Mapping[int, tuple[int, Iterable[int]]], partition: Partition | None = None
    ) -> Mapping[str, Mapping[str, Sequence[int]]]:
        """The tables of groups: memories by cell and name, whole.

        As a network is built, the root of group g is terminal g, and all terminals are members.
        They may be written into a network in which no packet of these groups is.

        Parameters
        ----------
        groups : Mapping[int, tuple[int, Iterable[int]]]
            By the number of a group, its root and its members (`graphs.routing.group_tree`).
        partition : Partition, optional
            Subnetworks, in which groups stay: the number of a group is the address of a terminal of
            its subnetwork.

        Returns
        -------
        Mapping[str, Mapping[str, Sequence[int]]]
            By the name of a cell and of a memory in it: its words.

        Raises
        ------
        TypeError, ValueError
            If it has no such groups, there is no such tree, or it leaves its subnetwork.
        """
        raise InvalidValue(
            f"Network must have group_entries=1 or more, which {self.family!r} has not"
        )

    def group_cycle(
        self, groups: Mapping[int, tuple[int, Iterable[int]]], kinds: Collection[Kind]
    ) -> list[str] | None:
        """Channels on which packets of groups, and those for one terminal, may wait for each other
        in a cycle.

        See `graphs.routing.group_deadlock`.

        Parameters
        ----------
        groups : Mapping[int, tuple[int, Iterable[int]]]
            By the number of a group, its root and its members.
        kinds : Collection[Kind]
            The kinds of the groups' packets, if these have a way.

        Returns
        -------
        list[str] or None
            The channels in words, each waiting for the next; None if they can't deadlock.

        Raises
        ------
        TypeError, ValueError
            If it has no such groups, or there is no such tree.
        """
        raise self._no_groups

    def group_refusal(self, kind: Kind, root: int, members: Iterable[int]) -> str | None:
        """Why packets of a kind have no way in a group; None if they have.

        Parameters
        ----------
        kind : Kind
            Of a packet for the group.
        root : int
            The root of the group.
        members : Iterable[int]
            Its members.

        Returns
        -------
        str or None
            A message.

        Raises
        ------
        TypeError, ValueError
            If it is not of routers, or there is no tree for an all-reduce.
        """
        raise self._no_groups

    def group_pins(self, root: int, members: Iterable[int]) -> tuple[list[Pin], list[Pin]]:
        """The drivers of the links on which the packets of a group are copied, and merged: of
        diagrams' lines, with the ports `i` of the terminals that send.

        Parameters
        ----------
        root : int
            The root of the group.
        members : Iterable[int]
            Its members.

        Returns
        -------
        tuple[list[Pin], list[Pin]]
            Those of a multicast from the root to all, and those of values from all to the root.

        Raises
        ------
        TypeError, ValueError
            If it is not of routers, or there is no such tree.
        """
        raise self._no_groups

    def group_total(
        self, root: int, words: Mapping[int, int], perform: Callable[[int, int], int]
    ) -> int:
        """What routers make of one word of each member of a group, in their order.

        Parameters
        ----------
        root : int
            The root of the group.
        words : Mapping[int, int]
            By member.
        perform : Callable[[int, int], int]
            Merges two words.

        Returns
        -------
        int
            The word at the root.

        Raises
        ------
        TypeError, ValueError
            If it is not of routers, or there is no such tree.
        """
        raise self._no_groups

    @property
    def _no_groups(self) -> InvalidValue:
        return InvalidValue(f"Network must be of routers to have groups, not {self.family!r}")

    def missing(self, signal: Callable[[str, str], int]) -> Sequence[Missing]:
        """The children for which packets of groups have waited for `patience` cycles.

        Parameters
        ----------
        signal : Callable[[str, str], int]
            Reads a signal: the name of its cell, and its own.

        Returns
        -------
        Sequence[Missing]
            The children that have sent nothing; none where packets are not merged.
        """
        return []

    def channels(self, source: int, destination: int) -> Iterable[Pin]:
        """The outputs of cells on all paths of packets between two terminals.

        They are those of `path`, unless headers have a choice.

        Parameters
        ----------
        source : int
            The terminal that sends.
        destination : int
            The terminal that receives.

        Returns
        -------
        Iterable[Pin]
            The outputs, each once or more.

        Raises
        ------
        ValueError
            If any wire that is free may be on a path, since blocked packets are deflected.
        """
        return self.path(source, destination)

    @property
    def channel_model(self) -> ChannelModel:
        """What the time of its packets depends on, for bounds on their latency.

        Raises
        ------
        ValueError
            If it is not made of queues whose arbiters are fair.
        """
        raise InvalidValue(
            "Latency has a bound only in networks of queues with fair arbiters, "
            f"not in {self.family}"
        )

    def starts(self, source: int, destination: int) -> Collection[Pin]:
        """The channels that a header may take first: that of `path`, unless it has a choice.

        Parameters
        ----------
        source, destination : int
            Terminals.

        Returns
        -------
        Collection[Pin]
            The outputs that drive them.
        """
        return self._alternatives(self.path(source, destination)[0])

    def moves(self, destination: int) -> Mapping[Pin, Collection[Pin]]:
        moves: dict[Pin, set[Pin]] = {}
        for source in range(self.sources):
            ways = [self._alternatives(pin) for pin in self.path(source, destination)]
            for before, after in pairwise(ways):
                for pin in before:
                    moves.setdefault(pin, set()).update(after)
            for pin in ways[-1]:
                moves.setdefault(pin, set())
        return moves

    def _alternatives(self, channel: Pin) -> Collection[Pin]:
        """The channels that a packet may take where its path has this one."""
        return (channel,)
