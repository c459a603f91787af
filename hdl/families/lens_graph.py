"""Lens networks: Lambda networks whose links are buses of three nodes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from ..fabric.parameter_fields import integer
from ..graphs.graph import Graph, Link
from ..networks.family import GraphFamily, Group
from .single_stage.single_stage_graph import ManYo

__all__ = ["FAMILIES", "Lens"]


@dataclass(frozen=True)
class Lens(Graph):
    """m 2^(m-1) nodes with a terminal each, and as many buses (Finkel and Solomon, 1981; Siegel et
    al., VIII-D).

    Siegel et al. say that it is similar to the Lambda network, with buses, typically of three
    nodes, in the place of all links; not which nodes share one. Here a node shares one with the two
    that its links ahead lead to. So each node is at three buses: its own, and those of the two
    nodes behind it. A bus is two nodes, as in `Bus`: an arbiter and the receivers behind it.

    Attributes
    ----------
    stages : int
    """

    stages: int = integer(
        3, "stages m: there are m 2^(m-1) nodes and buses", least=2, most=8, title="Stages m"
    )

    @cached_property
    def _ahead(self) -> ManYo:
        """The links from each node to the next stage."""
        return ManYo(self.stages)

    @property
    def nodes(self) -> int:
        return 3 * self._ahead.nodes

    @cached_property
    def homes(self) -> Sequence[int]:
        return range(self._ahead.nodes)

    def _bus(self, node: int) -> int:
        """The arbiter of a node's own bus; the receivers follow it."""
        return self._ahead.nodes + 2 * node

    def links(self) -> Iterator[Link]:
        """Port 0 of a node is for its own bus, ports 1 and 2 are for those of the nodes behind; of
        a bus, port 0 is for its own node, ports 1 and 2 are for those ahead."""
        own = [(node, 0, node, 0) for node in self.homes]
        others = [(v, 1 + port, w, 1 + back) for v, port, w, back, *_ in self._ahead.links()]
        for node, port, member, back in own + others:
            yield Link(member, back, self._bus(node), port)
            yield Link(self._bus(node) + 1, port, member, back)
        for node in self.homes:
            yield Link(self._bus(node), 0, self._bus(node) + 1, 0)

    def position(self, node: int) -> tuple[float, float]:
        """As a Lambda network is drawn, with the bus of a node on its right."""
        of, end = divmod(node - len(self.homes), 2) if node >= len(self.homes) else (node, -1)
        x, y = self._ahead.position(of)
        return 2 * x + 1.2 * (end + 1), y

    def is_attachment(self, link: Link) -> bool:
        return self.direction(link) != "across"

    def direction(self, link: Link) -> str:
        if link.node < len(self.homes):
            return "to a bus"
        return "from a bus" if link.peer < len(self.homes) else "across"

    def name(self, node: int) -> str:
        if node < len(self.homes):
            return self._ahead.name(node)
        of, end = divmod(node - len(self.homes), 2)
        return f"{('arbiter', 'receivers')[end]} of {self._ahead.name(of)}"


FAMILIES = (
    GraphFamily(
        "lens",
        "a Lambda network whose links are buses: a node shares one with the two ahead of it",
        Lens,
        Group.SINGLE_STAGE,
        example={"stages": 2},
        papers=("finkel-solomon", "ginosar"),
    ),
)
