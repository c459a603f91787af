# amaranth: UnusedElaboratable=no
"""Clos and Benes networks whose boxes route packets themselves, with buffers."""

from ...graphs.permutations import Permutation
from ...graphs.schedules.looping import BoxSettings
from ...networks.family import Family, Group
from ...networks.routed import RoutedNetwork
from .benes_graph import Benes
from .clos_graph import Clos
from .rearrangeable_graph import RearrangeableGraph

__all__ = ["FAMILIES", "BenesNetwork", "ClosNetwork", "RearrangeableNetwork"]


class RearrangeableNetwork(RoutedNetwork):
    """A network of stages of `WormRouter` that passes every permutation if it is set centrally.

    Here packets route themselves: they take any way that is free, or one by their destination. An
    unblocked packet of c flits takes (s - 1) D_t + c cycles through s stages. What plain boxes
    would be set to is told by `rearranged`; `BoxControlledNetwork` is the network of such boxes.
    """

    relation: RearrangeableGraph
    rearrangeable = True

    def rearranged(self, destinations: Permutation) -> BoxSettings:
        """As in `Network`."""
        return self.relation.settings(destinations)


class ClosNetwork(RearrangeableNetwork):
    """A three-stage Clos network (`Clos`)."""

    description = Clos
    family = "clos"


class BenesNetwork(RearrangeableNetwork):
    """A Benes network (`Benes`)."""

    description = Benes
    family = "benes"


FAMILIES = (
    Family(
        "clos",
        "a Clos network of three stages: by any free middle box",
        ClosNetwork,
        Group.CLOS,
        example={"n": 2, "r": 4},
        papers=("clos",),
    ),
    Family(
        "benes",
        "a Benes network of 2 log N - 1 stages of 2 x 2 boxes: any way through the first ones",
        BenesNetwork,
        Group.CLOS,
        papers=("benes",),
    ),
)
