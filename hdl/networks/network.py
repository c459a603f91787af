"""What every network has in common."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple, Self

from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from ..fabric import Fabric, FabricComponent, Pin
from ..packet import Packet
from ..topology.tags import TagScheme

__all__ = ["Network", "Terminals"]


class Terminals(NamedTuple):
    """Where a network's terminals attach: a stream to send into and one to receive from each.

    `drops` are the outputs that tell of dropped packets, one pulse a packet, and `losses` those
    that tell their number. `corrupted` tell of packets that were found damaged and discarded.
    """

    inputs: list[Pin]
    outputs: list[Pin]
    drops: Sequence[Pin] = ()
    losses: Sequence[Pin] = ()
    corrupted: Sequence[Pin] = ()


class Network(FabricComponent, ABC):
    """A packet-switching network as a component: one input and one output stream a terminal.

    A subclass sets `parameters`, `ports`, `tags` and `packet`, and then calls this constructor.

    Attributes
    ----------
    family : str
        Name of the network in the catalogue.
    parameters : dict[str, Any]
        All arguments of the constructor, by name.
    ports : int
        Number of terminals.
    tags : TagScheme
        How a packet's tag follows from source and destination.
    packet : Packet
        Layout of a packet on every link.
    ordered : bool
        Whether packets of one flow (source and destination) keep their order.
    stages : int
        Switches on every path; the header of a packet that never waits takes as many cycles.
    lengths : tuple[int, int]
        Fewest and most flits of a packet.
    drops : bool
        Whether some packets may not arrive, by definition: it drops them, or finds them damaged.
    resubmits : bool
        Whether it sends dropped packets again, so that none is lost.

    Members
    -------
    i : In(stream.Signature(packet)).array(ports)
    o : Out(stream.Signature(packet)).array(ports)
    """

    family: str
    parameters: dict[str, Any]
    ports: int
    tags: TagScheme
    packet: Packet
    ordered: bool
    stages: int
    lengths: tuple[int, int] = (1, 1)
    drops: bool = False
    resubmits: bool = False

    def __init__(self) -> None:
        link = stream.Signature(self.packet)
        fabric = Fabric({"i": In(link).array(self.ports), "o": Out(link).array(self.ports)})
        terminals = self.place(fabric)
        for index, (entry, exit_) in enumerate(zip(terminals.inputs, terminals.outputs)):
            fabric.link(Pin(None, ("i", index)), entry)
            fabric.link(exit_, Pin(None, ("o", index)))
        super().__init__(fabric)

    @abstractmethod
    def place(self, fabric: Fabric) -> Terminals:
        """Add this network's cells and links to a fabric, and say where its terminals are."""

    @abstractmethod
    def path(self, source: int, destination: int) -> list[Pin]:
        """The outputs of cells that a packet passes between two terminals."""

    def altered(self, **parameters: Any) -> Self:
        """The same network with other values for some parameters."""
        return type(self)(**{**self.parameters, **parameters})
