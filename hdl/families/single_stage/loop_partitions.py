"""Independent subnetworks of a single-stage cube (Siegel et al., VIII-F).

If packets never change loops in some stages, the loops that differ in the bits of these stages are
separate: r stages leave 2^r subnetworks. Each has the loops whose r bits have some values. Where a
node has one terminal, those in these stages belong to two subnetworks, and to none of them then:
their packets only go back to themselves. So each subnetwork is a network of the same kind, of the
other stages.

The *mask* M of a subnetwork has a 1 for each stage in which packets may change loops. The network
interface of a member replaces the bits of other stages in the loop of every tag by those of its own
loop. A tag whose stage has a 0 in M, and one terminal at each node, is replaced by the sender's own
address; so is one of a stage that does not exist.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product

from ...fabric.checks import check_integer
from ...graphs.address_codes import AddressCode
from ...graphs.partitions import Partition, Subnetwork
from .single_stage_graph import SingleStageCube

__all__ = ["LoopPartition", "LoopSubnetwork"]


@dataclass(frozen=True)
class LoopSubnetwork(Subnetwork):
    """The terminals of those loops of a single-stage cube whose bits agree in some stages.

    Attributes
    ----------
    code : AddressCode
        That of a loop: m bits, one for each stage.
    mask : int
        1 for each stage in which packets may change loops.
    value : int
        The bits that its loops have in common; 0 in the other stages.
    plan : SingleStageCube
    """

    plan: SingleStageCube

    @property
    def size(self) -> int:
        return len(self.members)

    @property
    def members(self) -> list[int]:
        return [terminal for terminal in range(self.plan.ports) if terminal in self]

    def __contains__(self, terminal: int) -> bool:
        plan = self.plan
        if terminal not in range(plan.ports):
            return False
        stage = plan.stage(plan.homes[terminal])
        open_ = plan.terminals_of_node == 2 or self.mask >> stage & 1
        return bool(open_) and plan.loop(terminal) & ~self.mask == self.value


@dataclass(frozen=True)
class LoopPartition(Partition):
    """Disjoint subnetworks of a single-stage cube.

    Attributes
    ----------
    code : AddressCode
        m bits.
    subnetworks : tuple[LoopSubnetwork, ...]
    plan : SingleStageCube

    Examples
    --------
    >>> from multicube.hdl.families.single_stage.single_stage_graph import ManYo
    >>> for part in LoopPartition.closing(ManYo(3), [0]).subnetworks:
    ...     print(f"mask {part.mask:03b}, members", *map(part.plan.name, part.members))
    mask 110, members (1) 00 (1) 10 (2) 00 (2) 10
    mask 110, members (1) 01 (1) 11 (2) 01 (2) 11
    """

    plan: SingleStageCube

    @classmethod
    def undivided(cls, plan: SingleStageCube) -> "LoopPartition":
        """All terminals in one subnetwork."""
        code = AddressCode(2, plan.stages)
        return cls(code, (LoopSubnetwork(code, (1 << code.width) - 1, 0, plan),), plan)

    @classmethod
    def closing(cls, plan: SingleStageCube, stages: Iterable[int]) -> "LoopPartition":
        """The partition in which packets don't change loops in r stages: 2^r subnetworks.

        Raises
        ------
        ValueError
            If a stage does not exist.
        """
        closed = sorted({check_integer("Stage", each, 0, plan.stages - 1) for each in stages})
        mask = (1 << plan.stages) - 1 & ~sum(1 << stage for stage in closed)
        values = (
            sum(bit << stage for stage, bit in zip(closed, bits))
            for bits in product(range(2), repeat=len(closed))
        )
        code = AddressCode(2, plan.stages)
        return cls(code, tuple(LoopSubnetwork(code, mask, value, plan) for value in values), plan)

    def of(self, terminal: int) -> Subnetwork:
        """The subnetwork that contains a terminal; if none does, it alone."""
        terminal = check_integer("Terminal", terminal, 0, self.plan.ports - 1)
        for subnetwork in self.subnetworks:
            if terminal in subnetwork:
                return subnetwork
        return Subnetwork(AddressCode(2, (self.plan.ports - 1).bit_length()), 0, terminal)
