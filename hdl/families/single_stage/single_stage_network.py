# amaranth: UnusedElaboratable=no
"""Single-stage variants of the multistage cube (Siegel et al., VIII)."""

from functools import partial

from ...fabric.cell import CellType
from ...graphs.partitions import Partition
from ...networks.any_routing import AnyRoutingNetwork
from ...networks.family import Family, Group
from ...networks.network_records import Confinement
from .loop_partition_interface import LoopPartitionInterface
from .loop_partitions import LoopPartition
from .single_stage_graph import Lambda, LoopSwitching, ManYo, SingleStageCube
from .single_stage_router import SingleStageLogic

__all__ = ["FAMILIES", "LambdaNetwork", "LoopSwitchingNetwork", "ManYoNetwork"]


class _SingleStageNetwork(AnyRoutingNetwork):
    """A single-stage cube (`SingleStageCube`), whose own routing is gates."""

    def _logic(self) -> SingleStageLogic | None:
        plan = self._plan
        return None if plan is None else SingleStageLogic(plan)

    @property
    def _plan(self) -> SingleStageCube | None:
        """The description, if packets go its own way."""
        return self.routing if isinstance(self.routing, SingleStageCube) else None

    @property
    def undivided(self) -> Partition:
        plan = self._plan
        return super().undivided if plan is None else LoopPartition.undivided(plan)

    def confinement(self) -> Confinement:
        plan = self._plan
        if plan is None:
            return super().confinement()
        interface = CellType(
            LoopPartitionInterface, packet=self.packet, plan=plan, single=self._single
        )
        return self._confined(
            interface, plan.stages, partial(LoopPartitionInterface.position, plan)
        )


class ManYoNetwork(_SingleStageNetwork):
    """A MAN-YO network (`ManYo`): one-way links, and a terminal at each node."""

    description = ManYo
    family = "man-yo"


class LoopSwitchingNetwork(_SingleStageNetwork):
    """An LSSN (`LoopSwitching`): one-way links, and two terminals at each node."""

    description = LoopSwitching
    family = "lssn"


class LambdaNetwork(_SingleStageNetwork):
    """A Lambda network (`Lambda`): two-way links, and a terminal at each node."""

    description = Lambda
    family = "lambda"


FAMILIES = (
    Family(
        "man-yo",
        "a multistage cube closed to rings, a terminal at each node; one-way",
        ManYoNetwork,
        Group.SINGLE_STAGE,
        example={"stages": 3},
        aliases=("cbar", "hcsn"),
    ),
    Family(
        "lssn",
        "a multistage cube closed to rings, two terminals a node; one-way",
        LoopSwitchingNetwork,
        Group.SINGLE_STAGE,
        example={"stages": 2},
        aliases=("loop-structured-switching-network",),
    ),
    Family(
        "lambda",
        "a multistage cube closed to rings, a terminal at each node; two-way",
        LambdaNetwork,
        Group.SINGLE_STAGE,
        example={"stages": 3},
    ),
)
