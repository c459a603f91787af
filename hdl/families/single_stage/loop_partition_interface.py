"""The network interface that keeps a terminal of a single-stage cube inside its partition."""

from amaranth.hdl import Cat, Mux, Value
from amaranth.lib import wiring

from ...fabric.errors import InvalidValue
from ...links.packet import Packet
from ...terminals.partition import PartitionInterface, interface_members
from .single_stage_graph import SingleStageCube

__all__ = ["LoopPartitionInterface"]


class LoopPartitionInterface(PartitionInterface):
    """Sends effective tags, so that no packet changes loops in a stage that is closed to it.

    Everything else is as in `PartitionInterface`. What it sends for each tag is said in
    `loop_partitions`. M has a bit for each stage.

    Parameters
    ----------
    packet : Packet
    plan : SingleStageCube
    single : bool
        As in `PartitionInterface`.

    Members
    -------
    i : In(stream.Signature(packet))
    o : Out(stream.Signature(packet))
    address : In(width of `position`)
        As `position`. Constant.
    mask : In(m)
        1 for each stage in which packets of the subnetwork may change loops.
    mask_member : In(m)
        A loop of the subnetwork.
    mask_write : In(1)
        It applies to all terminals whose loop agrees with `mask_member` where `mask` is 0. Where a
        node has one terminal, that is either of its loops.
    in_force : Out(m)

    Raises
    ------
    ValueError
        If the tags of the network are not as wide as the packet's.
    """

    def __init__(self, packet: Packet, plan: SingleStageCube, *, single: bool = False) -> None:
        width = (plan.ports - 1).bit_length()
        if packet.members["tag"] != width:
            raise InvalidValue(
                f"Tag of a packet must have {width} bits for these addresses, "
                f"not {packet.members['tag']}"
            )
        if packet.broadcast:
            raise InvalidValue("Packet must not have a broadcast mask in a single-stage cube")
        self.packet, self.plan, self.single = packet, plan, single
        count = plan.stages
        members = interface_members(packet, width + 2 * count, count)
        wiring.Component.__init__(self, members)

    @staticmethod
    def position(plan: SingleStageCube, terminal: int) -> int:
        """What the interface of a terminal needs: its number in the lowest bits, then m bits of
        which that of its stage is 1, and its loop on top."""
        width = (plan.ports - 1).bit_length()
        stage = plan.stage(plan.homes[terminal])
        return terminal | (1 << stage | plan.loop(terminal) << plan.stages) << width

    def effective_tag(self, tag: Value) -> Value:
        count, single = self.plan.stages, self.plan.terminals_of_node == 1
        own, mask = self.address[: len(tag)], self.in_force
        wanted, label = tag[-self.plan.ring.difference_bits :], tag[: count - single]
        among = Cat(wanted == stage for stage in range(count))
        if single:
            # Above the bit of the destination's stage, bits of its loop are one place lower.
            lower, upper = (label & mask[at:] | self._loop[at:] & ~mask[at:] for at in range(2))
            label = Cat(Mux(wanted > i, lower[i], upper[i]) for i in range(count - 1))
            goes = (among & mask).any() & (self._among & mask).any()
        else:
            label = label & mask | self._loop & ~mask
            goes = among.any()
        return Mux(goes, Cat(label, wanted), own)

    @property
    def is_written(self) -> Value:
        differs = (self._loop ^ self.mask_member) & ~self.mask
        if self.plan.terminals_of_node == 1:
            differs &= ~self._among
        return differs == 0

    @property
    def _among(self) -> Value:
        """A bit for each stage: a 1 for that of the terminal."""
        return self.address[-2 * self.plan.stages : -self.plan.stages]

    @property
    def _loop(self) -> Value:
        return self.address[-self.plan.stages :]
