"""Multistage networks as graphs: their boxes are nodes."""

from bisect import bisect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise, product

from ..graph import Channel, Link
from ..routing.relation import RoutedGraph
from .multistage import MultistagePlan

__all__ = ["MultistageGraph"]


@dataclass(frozen=True)
class MultistageGraph(RoutedGraph):
    """The boxes of a plan, and the links between its stages: for measures.

    The boxes are numbered stage by stage. Ports of links are those of the boxes. Packets enter at
    the first stage, leave at the last, and take the only path.

    Examples
    --------
    >>> from multicube.hdl.graphs.plans.named_plans import multistage_plan
    >>> omega = MultistageGraph(multistage_plan("omega", 8))
    >>> omega.nodes, len(omega.by_output), omega.path(0, 3)[0]
    (12, 16, Channel(node=0, port=0, number=0))
    """

    plan: MultistagePlan

    deadlock_free = True
    looks_back = False

    @cached_property
    def _first(self) -> list[int]:
        """The number of the first box of each stage, and of the node that would follow."""
        return list(accumulate(self.plan.columns, initial=0))

    @property
    def nodes(self) -> int:
        return self._first[-1]

    @cached_property
    def homes(self) -> Sequence[int]:
        plan = self.plan
        return [plan.port(0, plan.relabel(0, line))[0] for line in range(plan.sources)]

    @cached_property
    def exit_homes(self) -> Sequence[int]:
        plan = self.plan
        last = self._first[-2]
        return [last + plan.path(0, terminal)[-1].box for terminal in range(plan.sinks)]

    def _stage(self, node: int) -> int:
        return bisect(self._first, node) - 1

    def name(self, node: int) -> str:
        stage = self._stage(node)
        return f"{node - self._first[stage]} of stage {stage}"

    def links(self) -> Iterator[Link]:
        plan = self.plan
        for stage, (first, after) in enumerate(pairwise(self._first[:-1])):
            for box, port in product(range(plan.columns[stage]), range(plan.outputs[stage])):
                line = plan.relabel(stage + 1, plan.line(stage, box, port))
                peer, peer_port = plan.port(stage + 1, line)
                yield Link(first + box, port, after + peer, peer_port)

    def route(self, node: int, came: Channel | None, destination: int) -> Iterator[Channel]:
        stage = self._stage(node)
        if stage < len(self.plan.stages) - 1:
            yield Channel(node, self.plan.path(0, destination)[stage].output)
