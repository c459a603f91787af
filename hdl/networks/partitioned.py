"""Networks divided at run time into independent subnetworks (Siegel et al., III-D)."""

from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from ..core.errors import InvalidType, InvalidValue
from ..core.fabric import Cell, CellType, Fabric, FabricComponent, Pin
from ..routing.partitions import check_partitionable, shared_channel
from ..terminals.partition import PartitionInterface
from .network import Network, PacketNetwork

__all__ = ["PartitionedNetwork"]

_MOST_CHECKED = 256
"""Largest number of terminals for which all paths are examined."""


class PartitionedNetwork(FabricComponent):
    """A network in which no packet leaves the subnetwork of its sender, whatever tag it carries.

    A `PartitionInterface`, the cell `partition_{terminal}`, is at each input of the network. All
    share one privileged port. Each write makes one subnetwork, of all terminals whose address
    agrees with `mask_member` where `mask` is 0; a partition of k subnetworks is made in k cycles.
    Terminals to which no write applies keep their mask, so a partition takes effect once all of
    them have been written (a single terminal has mask 0). Packets that entered the network, or were
    offered to it, before that are not stopped: let the network drain first.

    Parameters
    ----------
    network : PacketNetwork
        Any network whose tags can be partitioned, and in which disjoint subnetworks share no
        channel: cube, omega, indirect cube or flip with any switches, hypercubes, DCSH. With an
        extra stage, this holds while one of the stages is bypassed. For networks for which it is
        not known (`isolates`) all paths are examined, for up to 256 terminals.

    Attributes
    ----------
    network : PacketNetwork
    ports : int
    tags : TagScheme
    packet : Packet

    Members
    -------
    i : In(stream.Signature(packet)).array(ports)
    o : Out(stream.Signature(packet)).array(ports)
    mask, mask_member : In(width)
        In the order of address bits.
    mask_write : In(1)

    Raises
    ------
    TypeError
        If `network` is not a network.
    ValueError
        If it can't be partitioned (`routing.partitions.check_partitionable`), or subnetworks would
        share channels, or it has too many terminals to examine.
    """

    def __init__(self, network: PacketNetwork) -> None:
        if not isinstance(network, Network):
            raise InvalidType(f"Network must be a packet-switching network, not {network!r}")
        if not isinstance(network, PacketNetwork):
            raise InvalidValue(
                f"Partitions need a network that carries packets, not {network.family}"
            )
        check_partitionable(network.tags)
        if not network.isolates:
            _check_channels(network)
        self.network = network
        self.ports = network.ports
        self.tags = network.tags
        self.packet = network.packet
        interface = CellType(PartitionInterface, packet=self.packet, tags=self.tags)
        link = stream.Signature(self.packet)
        width = self.tags.code.width
        fabric = Fabric(
            {
                "i": In(link).array(self.ports),
                "o": Out(link).array(self.ports),
                "mask": In(width),
                "mask_member": In(width),
                "mask_write": In(1),
            }
        )
        terminals = network.place(fabric)
        for index, (entry, exit_) in enumerate(zip(terminals.inputs, terminals.outputs)):
            name = f"partition_{index}"
            straps = {"address": self.tags.code.encode(index)}
            fabric.place(Cell(name, interface, straps))
            fabric.link(Pin(None, ("i", index)), Pin(name, ("i",)))
            fabric.link(Pin(name, ("o",)), entry)
            fabric.link(exit_, Pin(None, ("o", index)))
            for port in ("mask", "mask_member", "mask_write"):
                fabric.link(Pin(None, (port,)), Pin(name, (port,)))
        super().__init__(fabric)


def _check_channels(network: PacketNetwork) -> None:
    """Raise ValueError if subnetworks of a network would share a channel, or might."""
    if network.ports > _MOST_CHECKED:
        raise InvalidValue(
            f"Partitions of this network can be checked for up to {_MOST_CHECKED} terminals, "
            f"not {network.ports}"
        )
    shared = shared_channel(network, network.tags.code)
    if shared is not None:
        one, other = shared.subnetworks
        raise InvalidValue(
            f"Partitions need subnetworks that share no channel; here those of terminals {one} and "
            f"of {other} would share {shared.channel}"
        )
