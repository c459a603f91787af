"""Networks divided at run time into independent subnetworks (Siegel et al., III-D)."""

from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from ..core.errors import InvalidType, InvalidValue
from ..core.fabric import Cell, Fabric, FabricComponent, Pin
from .network import Network, PacketNetwork

__all__ = ["PartitionedNetwork"]


class PartitionedNetwork(FabricComponent):
    """A network in which no packet leaves the subnetwork of its sender, whatever tag it carries.

    A `PartitionInterface`, the cell `partition_{terminal}`, is at each input of the network. All
    share one privileged port. Each write makes one subnetwork, of all terminals whose address (in a
    single-stage cube: whose loop) agrees with `mask_member` where `mask` is 0; a partition of k
    subnetworks is made in k cycles. Terminals to which no write applies keep their mask, so a
    partition takes effect once all of them have been written (a single terminal has mask 0).
    Packets that entered the network, or were offered to it, before that are not stopped: let the
    network drain first.

    Parameters
    ----------
    network : PacketNetwork
        Any network whose tags can be partitioned, and in which disjoint subnetworks share no
        channel: cube, omega, indirect cube or flip with any switches, hypercubes, DCSH,
        single-stage cubes. With an extra stage, this holds while one of the stages is bypassed. For
        networks for which it is not known (`isolates`) all paths are examined, for up to 256
        terminals.

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
        In the order of address bits; in a single-stage cube, a bit for each stage.
    mask_write : In(1)

    Raises
    ------
    TypeError
        If `network` is not a network.
    ValueError
        If it can't be partitioned (`PacketNetwork.confinement`): subnetworks would share channels,
        or it has too many terminals to examine.
    """

    def __init__(self, network: PacketNetwork) -> None:
        if not isinstance(network, Network):
            raise InvalidType(f"Network must be a packet-switching network, not {network!r}")
        if not isinstance(network, PacketNetwork):
            raise InvalidValue(
                f"Partitions need a network that carries packets, not {network.family}"
            )
        confinement = network.confinement()
        self.network = network
        self.ports = network.ports
        self.tags = network.tags
        self.packet = network.packet
        link = stream.Signature(self.packet)
        width = confinement.mask_bits
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
            straps = {"address": confinement.address(index)}
            fabric.place(Cell(name, confinement.interface, straps))
            fabric.link(Pin(None, ("i", index)), Pin(name, ("i",)))
            fabric.link(Pin(name, ("o",)), entry)
            fabric.link(exit_, Pin(None, ("o", index)))
            for port in ("mask", "mask_member", "mask_write"):
                fabric.link(Pin(None, (port,)), Pin(name, (port,)))
        super().__init__(fabric)
