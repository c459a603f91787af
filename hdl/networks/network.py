"""What all networks have in common, and what those that carry packets do."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, Self

from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from ..fabric import Fabric, FabricComponent, Pin
from ..packet import Packet
from ..topology.multistage import MultistagePlan
from ..topology.tags import TagScheme

__all__ = ["Network", "PacketNetwork", "Terminals"]


class Terminals(NamedTuple):
    """Where a network's terminals attach: a stream to send into and one to receive from each.

    `drops` are the outputs that tell of dropped packets, one pulse a packet, and `losses` those
    that tell their number. `corrupted` tell of packets that were found damaged and discarded.
    Where nodes route by what is free, `crossings` tell the number of packets that leave a node over
    wires in a cycle, `referrals` that of those sent away from their destination, `levels` how many
    the node stores, and `combined` how many vanish because they are combined with others.
    """

    inputs: list[Pin]
    outputs: list[Pin]
    drops: Sequence[Pin] = ()
    losses: Sequence[Pin] = ()
    corrupted: Sequence[Pin] = ()
    crossings: Sequence[Pin] = ()
    referrals: Sequence[Pin] = ()
    levels: Sequence[Pin] = ()
    combined: Sequence[Pin] = ()


class Network(FabricComponent, ABC):
    """A network as a component, with as many terminals as it has ports.

    Attributes
    ----------
    family : str
        Name of the network in the catalogue.
    parameters : dict[str, Any]
        All arguments of the constructor, by name.
    ports : int
        Number of terminals.
    ordered : bool
        Whether packets of one flow (source and destination) keep their order.
    stages : int
        Switches on every path; in a network with paths of several lengths, on the longest.
    zero_load_cycles : int
        Most cycles that a header needs to pass them if it never waits (where boxes combine: if
        each took one cycle).
    lengths : tuple[int, int]
        Fewest and most cycles that a packet occupies a link: its flits, if each takes one.
    drops : bool
        Whether some packets may not arrive, by definition: it drops them, or finds them damaged.
    resubmits : bool
        Whether it sends dropped packets again, so that none is lost.
    broadcasts : bool
        Whether a packet may be for several terminals.
    wiring_plan : MultistagePlan or None
        What a drawing of it shows, if it is a multistage network.
    """

    family: str
    parameters: dict[str, Any]
    ports: int
    ordered: bool
    stages: int
    lengths: tuple[int, int] = (1, 1)
    drops: bool = False
    resubmits: bool = False
    broadcasts: bool = False
    wiring_plan: MultistagePlan | None = None

    @property
    def zero_load_cycles(self) -> int:
        return self.stages

    def altered(self, **parameters: Any) -> Self:
        """The same network with other values for some parameters."""
        return type(self)(**{**self.parameters, **parameters})


class PacketNetwork(Network):
    """A network that carries packets: one input and one output stream a terminal.

    The header of a packet that never waits takes a cycle for each switch that it passes. A subclass
    sets `parameters`, `ports`, `tags` and `packet`, and then calls this constructor.

    Attributes
    ----------
    tags : TagScheme
        How a packet's tag follows from source and destination.
    packet : Packet
        Layout of a packet on every link.
    consumes_tags : bool
        Whether a packet's tag is used up on its way: at an output it only says where that is.
    combine : str
        By what operation on their payloads packets to the same terminal become one, or "none".
    transparent : bool
        Whether an output may show in a cycle what an input does in it, or wait for its own `ready`.
    isolates : bool
        Whether it is known of every size that packets of disjoint subnetworks never share a channel
        (`topology.partitions`), as far as their tags can be partitioned. If not, `channels` tells.
    punctual : bool
        Whether a packet that nothing hinders takes `path` in whichever cycle it comes.

    Members
    -------
    i : In(stream.Signature(packet)).array(ports)
    o : Out(stream.Signature(packet)).array(ports)
    """

    tags: TagScheme
    packet: Packet
    consumes_tags: bool = False
    combine: str = "none"
    transparent: bool = False
    isolates: bool = False
    punctual: bool = True

    def __init__(self) -> None:
        super().__init__(self._joined)

    def _joined(self) -> Fabric:
        """The network between its own inputs and outputs."""
        link = stream.Signature(self.packet)
        fabric = Fabric({"i": In(link).array(self.ports), "o": Out(link).array(self.ports)})
        terminals = self.place(fabric)
        for index, (entry, exit_) in enumerate(zip(terminals.inputs, terminals.outputs)):
            fabric.link(Pin(None, ("i", index)), entry)
            fabric.link(exit_, Pin(None, ("o", index)))
        return fabric

    @property
    def sphere(self) -> int:
        """Terminals of a sphere of locality, if traffic does not say how many.

        Those whose addresses differ in the lowest digit only.
        """
        return self.tags.code.radix

    @property
    def broadcasts(self) -> bool:
        return self.packet.broadcast

    @abstractmethod
    def place(self, fabric: Fabric) -> Terminals:
        """Add this network's cells and links to a fabric, and say where its terminals are."""

    @abstractmethod
    def path(self, source: int, destination: int) -> list[Pin]:
        """The outputs of cells that a packet passes between two terminals.

        Without those of interfaces at the terminals, such as one that sends packets again.
        """

    def channels(self, source: int, destination: int) -> Iterable[Pin]:
        """All outputs of cells that packets between two terminals may pass, on whichever path.

        They are those of `path`, unless headers have a choice.
        """
        return self.path(source, destination)

    def moves(self, destination: int) -> Mapping[Pin, Collection[Pin]]:
        """The channels of a network whose packets wait for each other, as `topology.deadlock` asks.

        For each output that a header for a terminal may come by: those that it may take next. They
        are those of `path`, unless headers have a choice.
        """
        moves: dict[Pin, set[Pin]] = {}
        for source in range(self.ports):
            pins = self.path(source, destination)
            for before, after in pairwise(pins):
                moves.setdefault(before, set()).add(after)
            moves.setdefault(pins[-1], set())
        return moves

    def is_escape(self, channel: Pin) -> bool:
        """Whether a header may always wait for this channel: not all are, if it has a choice."""
        return True
