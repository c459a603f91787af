"""Which subnetworks a network keeps apart, if it does not keep all of them. Pure Python."""

from dataclasses import dataclass

from ..fabric.errors import InvalidValue
from .partitions import Partition, Subnetwork

__all__ = ["MaskRule"]


@dataclass(frozen=True)
class MaskRule:
    """Bits that a subnetwork must leave free if it contains certain addresses.

    An Extra Stage Cube that avoids a fault sends some packets on a secondary path, over lines whose
    labels are other addresses. If the mask of the packet's subnetwork has a 1 in the bits that
    change, these lines belong to the subnetwork; otherwise they belong to another one.

    Attributes
    ----------
    label, care : int
        The rule applies to subnetworks with an address that agrees with `label` where `care` is 1.
    free : int
        The bits in which the masks of these subnetworks must have a 1.

    Examples
    --------
    Addresses 4 and 5 of eight must stay together:

    >>> from multicube.hdl.graphs.partitions import Partition
    >>> rule = MaskRule(label=0b101, care=0b111, free=0b001)
    >>> rule.keeps(Partition.of_members(8, [[1, 3, 5, 7]]).subnetworks[0])
    False
    >>> rule.keeps(Partition.of_members(8, [[4, 5]]).subnetworks[0])
    True
    """

    label: int
    care: int
    free: int

    def keeps(self, subnetwork: Subnetwork) -> bool:
        """Whether all packets of a subnetwork stay on its lines."""
        applies = (subnetwork.value ^ self.label) & self.care & ~subnetwork.mask == 0
        return not applies or self.free & ~subnetwork.mask == 0

    def check(self, partition: Partition) -> None:
        """Raise ValueError if a subnetwork, or a terminal outside of all, is not kept apart."""
        for terminal in range(partition.code.count):
            subnetwork = partition.of(terminal)
            if not self.keeps(subnetwork):
                width = partition.bits
                raise InvalidValue(
                    f"Subnetwork of terminals {subnetwork} can't be kept apart: to avoid the "
                    f"fault, its packets leave its lines, unless its mask "
                    f"{subnetwork.mask:0{width}b} has the ones of {self.free:0{width}b}"
                )
