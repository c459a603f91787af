"""Networks divided at run time into independent subnetworks (Siegel et al., III-D)."""

from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from ..errors import InvalidType
from ..fabric import Cell, CellType, Fabric, FabricComponent, Pin
from ..interfaces.partition import PartitionInterface
from .network import PacketNetwork

__all__ = ["PartitionedNetwork"]


class PartitionedNetwork(FabricComponent):
    """A network in which no packet leaves the subnetwork of its sender, whatever tag it carries.

    In front of each input stands a `PartitionInterface`, the cell `partition_{terminal}`. They
    share one privileged port. Each write makes one subnetwork, of all terminals whose address
    agrees with `mask_member` where `mask` is 0; a partition of k subnetworks is made in k cycles.
    Terminals that no write is meant for keep their mask, so a partition is in force once all of
    them have been written (a single terminal with mask 0). Packets that entered the network, or
    were offered to it, before that are not stopped: let the network drain first.

    Parameters
    ----------
    network : PacketNetwork
        Any whose tags can be partitioned: cube, omega, indirect cube or flip of any switches.
        Behind an extra stage no packet leaves its subnetwork either, but links may be shared.

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
        If it can't be partitioned (`topology.partitions.check_partitionable`).
    """

    def __init__(self, network: PacketNetwork) -> None:
        if not isinstance(network, PacketNetwork):
            raise InvalidType(f"Network must be a packet-switching network, not {network!r}")
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
