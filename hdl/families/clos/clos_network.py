# amaranth: UnusedElaboratable=no
"""Clos and Benes networks whose boxes route packets themselves, with buffers."""

from collections.abc import Mapping, Sequence

from ...graphs.permutations import Permutation
from ...graphs.schedules.looping import BoxSettings
from ...networks.family import Family, Group
from ...networks.route_tables import table_memories
from ...networks.routed import RoutedNetwork
from .benes_graph import Benes
from .clos_graph import Clos
from .five_stage_clos_graph import FiveStageClos
from .rearrangeable_graph import RearrangeableGraph

__all__ = [
    "FAMILIES",
    "BenesNetwork",
    "ClosNetwork",
    "FiveStageClosNetwork",
    "RearrangeableNetwork",
]


class RearrangeableNetwork(RoutedNetwork):
    """A network of stages of `WormRouter` that passes every permutation if it is set centrally.

    Here packets route themselves: they take any way that is free, or one by their destination. An
    unblocked packet of c flits takes (s - 1) D_t + c cycles through s stages. What plain boxes
    would be set to is given by `rearranged`; `BoxControlledNetwork` is the network of such boxes.
    """

    routing: RearrangeableGraph
    rearrangeable = True

    def rearranged(self, destinations: Permutation) -> BoxSettings:
        return self.routing.settings(destinations)

    def tables_set(
        self, destinations: Permutation, settings: BoxSettings
    ) -> Mapping[str, Mapping[str, Sequence[int]]]:
        """Routing tables by which the packets of a permutation go as the boxes are set.

        Parameters
        ----------
        destinations : Permutation
            For each source the terminal that it sends to, or None.
        settings : BoxSettings
            For each box, the output of each of its inputs.

        Returns
        -------
        Mapping[str, Mapping[str, Sequence[int]]]
            By the name of a cell and of a memory in it: its words.

        Raises
        ------
        ValueError
            If the settings do not pass the permutation.
        """
        graph, shapes = self.routing, tuple(self.shapes)
        memories = table_memories(graph, shapes, self._weights).contents
        tables = [{name: [*rows] for name, rows in own.items()} for own in memories]
        for source, destination in enumerate(destinations):
            if destination is None:
                continue
            for node, _, port in graph.passages(source, destination, settings)[:-1]:
                exit_ = 1 << shapes[node].output((port, 0)) * self._weights
                for rows in tables[node].values():
                    rows[self.tags.tag(source, destination)] = exit_
        return {f"table_{node}": own for node, own in enumerate(tables)}


class ClosNetwork(RearrangeableNetwork):
    """A three-stage Clos network (`Clos`)."""

    description = Clos
    family = "clos"


class FiveStageClosNetwork(RearrangeableNetwork):
    """A Clos network of five stages (`FiveStageClos`)."""

    description = FiveStageClos
    family = "five-stage-clos"


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
        "five-stage-clos",
        "a Clos network whose middle boxes are Clos networks: by any free box",
        FiveStageClosNetwork,
        Group.CLOS,
        papers=("clos", "stanfill"),
    ),
    Family(
        "benes",
        "a Benes network of 2 log N - 1 stages of 2 x 2 boxes: any way through the first ones",
        BenesNetwork,
        Group.CLOS,
        papers=("benes",),
    ),
)
