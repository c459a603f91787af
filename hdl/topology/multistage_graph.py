"""Multistage networks as graphs: their boxes are nodes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..routing.relation import RoutedGraph
from .graph import Channel, Link
from .multistage import MultistagePlan

__all__ = ["MultistageGraph"]


@dataclass(frozen=True)
class MultistageGraph(RoutedGraph):
    """The boxes of a plan, and the links between its stages: for measures.

    Box x of stage s is node s B + x, where B is the number of boxes of a stage. Ports of links are
    those of the boxes. Packets enter at the first stage, leave at the last, and take the only path.

    Examples
    --------
    >>> from multicube.hdl.topology.multistage import multistage_plan
    >>> omega = MultistageGraph(multistage_plan("omega", 8))
    >>> omega.nodes, len(omega.by_output), omega.path(0, 3)[0]
    (12, 16, Channel(node=0, port=0, number=0))
    """

    plan: MultistagePlan

    deadlock_free = True
    looks_back = False

    @property
    def nodes(self) -> int:
        return len(self.plan.stages) * self.plan.boxes

    @property
    def homes(self) -> Sequence[int]:
        plan = self.plan
        entry = plan.stages[0].entry
        return [plan.port(0, plan.relabel(line, entry))[0] for line in range(plan.ports)]

    @property
    def exit_homes(self) -> Sequence[int]:
        plan = self.plan
        last = (len(plan.stages) - 1) * plan.boxes
        return [last + plan.path(0, terminal)[-1].box for terminal in range(plan.ports)]

    def name(self, node: int) -> str:
        stage, box = divmod(node, self.plan.boxes)
        return f"{box} of stage {stage}"

    def links(self) -> Iterator[Link]:
        plan = self.plan
        for stage in range(len(plan.stages) - 1):
            for line in range(plan.ports):
                box, port = plan.port(stage, line)
                after = plan.relabel(line, plan.stages[stage + 1].entry)
                peer, peer_port = plan.port(stage + 1, after)
                first = stage * plan.boxes
                yield Link(first + box, port, first + plan.boxes + peer, peer_port)

    def route(self, node: int, came: Channel | None, destination: int) -> Iterator[Channel]:
        stage = node // self.plan.boxes
        if stage < len(self.plan.stages) - 1:
            yield Channel(node, self.plan.path(0, destination)[stage].output)
