"""Networks divided at run time into independent subnetworks (Siegel et al., III-D)."""

from amaranth.lib.wiring import In, Out

from ..fabric.cell import Cell, CellType
from ..fabric.checks import shown
from ..fabric.errors import InvalidType
from ..fabric.fabric import Fabric
from ..fabric.fabric_component import FabricComponent
from ..fabric.pins import Pin
from ..terminals.mask_guard import MaskGuard
from .network import Network
from .packet_network import PacketNetwork

__all__ = ["PartitionedNetwork"]


class PartitionedNetwork(FabricComponent):
    """A network in which nothing leaves the subnetwork of its sender, whatever its tag.

    A `PartitionInterface`, the cell `partition_{terminal}`, is at each input of the network. All
    share one privileged port. Each write makes one subnetwork, of all terminals whose address (in a
    single-stage cube: whose loop) agrees with `mask_member` where `mask` is 0; a partition of k
    subnetworks is made in k cycles. Terminals to which no write applies keep their mask, so a
    partition takes effect once all of them have been written (a single terminal has mask 0).
    Packets that entered the network, or were offered to it, before that are not stopped: let the
    network drain first.

    In a network with memory, a subnetwork is some processors and the memory modules of the same
    numbers. No request reaches other modules.

    An Extra Stage Cube with both outer stages in use keeps only some subnetworks apart (`rule`). It
    has a `MaskGuard`, the cell `mask_guard`, which refuses to write the masks of the others.

    Parameters
    ----------
    network : Network
        Any network whose tags can be partitioned, and in which disjoint subnetworks share no
        channel: cube, omega, indirect cube or flip with any switches, also of combining boxes,
        hypercubes, DCSH, single-stage cubes. For networks for which it is not known (`isolates`)
        all paths are examined, for up to 256 terminals.

    Attributes
    ----------
    network : Network
        The network inside.
    ports : int
        Number of terminals.
    link : wiring.Signature
        The link of a terminal to the network.
    rule : MaskRule or None
        Which subnetworks are kept apart; None if all are.
    tags : TagScheme
        How tags are computed; only if the network carries packets.
    packet : Packet
        Layout of a packet; only if the network carries packets.

    Members
    -------
    i : In(link).array(ports)
    o : Out(link).array(ports)
        Not in a network with memory, whose replies come back on `i`.
    mask, mask_member : In(width)
        In the order of address bits; in a single-stage cube, a bit for each stage.
    mask_write : In(1)
    mask_refused : Out(1)
        Only if there is a rule: `mask_write` is 1 for a subnetwork that is not kept apart, and
        changes no mask.

    Raises
    ------
    TypeError
        If `network` is not a network.
    ValueError
        If it can't be partitioned (`Network.confinement`): subnetworks would share channels, or it
        has too many terminals to examine.

    Examples
    --------
    >>> from multicube import build
    >>> from multicube.hdl import PartitionedNetwork
    >>> PartitionedNetwork(build("cube", ports=8)).ports
    8
    """

    def __init__(self, network: Network) -> None:
        if not isinstance(network, Network):
            raise InvalidType(f"Network must be a packet-switching network, not {shown(network)}")
        confinement = network.confinement()
        self.network = network
        self.ports = network.ports
        self.link = link = confinement.link
        self.rule = confinement.rule
        if isinstance(network, PacketNetwork):
            self.tags = network.tags
            self.packet = network.packet
        width = confinement.mask_bits
        members = {"i": In(link).array(self.ports)}
        if not network.has_memory:
            members["o"] = Out(link).array(self.ports)
        fabric = Fabric(
            {
                **members,
                "mask": In(width),
                "mask_member": In(width),
                "mask_write": In(1),
                **({} if self.rule is None else {"mask_refused": Out(1)}),
            }
        )
        masks = {port: Pin(None, (port,)) for port in ("mask", "mask_member", "mask_write")}
        if self.rule is not None:
            guard = fabric.place(
                Cell("mask_guard", CellType(MaskGuard, width=width, rule=self.rule))
            )
            for port, pin in masks.items():
                fabric.link(pin, Pin(guard.name, (port,)))
            fabric.link(Pin(guard.name, ("refused",)), Pin(None, ("mask_refused",)))
            masks["mask_write"] = Pin(guard.name, ("write",))
        inputs, outputs = confinement.place(fabric)
        for index, entry in enumerate(inputs):
            name = f"partition_{index}"
            straps = {"address": confinement.address(index)}
            fabric.place(Cell(name, confinement.interface, straps))
            fabric.link(Pin(None, ("i", index)), Pin(name, ("i",)))
            fabric.link(Pin(name, ("o",)), entry)
            for port, pin in masks.items():
                fabric.link(pin, Pin(name, (port,)))
        for index, exit_ in enumerate(outputs):
            fabric.link(exit_, Pin(None, ("o", index)))
        super().__init__(fabric)
