"""Dragonflies: groups of nodes, and one link between any two groups."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import cos, pi, sin

from ..fabric.parameters import integer
from ..graphs.graph import Channel, Link
from ..graphs.routing.relation import RoutedGraph
from ..networks.family import GraphFamily, Group

__all__ = ["FAMILIES", "Dragonfly"]


@dataclass(frozen=True)
class Dragonfly(RoutedGraph):
    """a h + 1 groups of a nodes, with h global links each, and local links to all of their group.

    After Kim, Dally, Scott and Abts (2008), with the palmtree arrangement of Camarero, Vallejo and
    Beivide (2014): global link j of node r leads from group G to group G - (h r + j + 1).

    A packet takes at most a local link, a global link, and a local link. The last one is taken by
    channel 1: so channels wait only for those that come later in this order.

    Attributes
    ----------
    h, a, p : int
        Global links of a node, nodes of a group, and terminals of a node.
    latency : int
        Cycles of a global link.
    """

    h: int = integer(2, "global links of a node", least=1, most=16)
    a: int | str = integer("auto", "nodes of a group: 2 h", least=2, most=64, choices=("auto",))
    p: int | str = integer("auto", "terminals of a node: h", least=1, most=64, choices=("auto",))
    latency: int = integer(1, "cycles of a global link", least=1, most=1024)

    same_router = True
    deadlock_free = True

    def __post_init__(self) -> None:
        for name, value in (("a", 2 * self.h), ("p", self.h)):
            if getattr(self, name) == "auto":
                object.__setattr__(self, name, value)

    @property
    def groups(self) -> int:
        return int(self.a) * self.h + 1

    @property
    def nodes(self) -> int:
        return int(self.a) * self.groups

    @property
    def homes(self) -> Sequence[int]:
        return [terminal // int(self.p) for terminal in range(int(self.p) * self.nodes)]

    def position(self, node: int) -> tuple[float, float]:
        """The groups on a circle, and the nodes of a group on a small one."""
        group, own = divmod(node, int(self.a))
        small = 0.5 / sin(pi / int(self.a))
        large = (small + 0.8) / sin(pi / self.groups)
        about, turn = 2 * pi * group / self.groups, 2 * pi * own / int(self.a)
        return (
            large * cos(about) + small * cos(about + turn),
            large * sin(about) + small * sin(about + turn),
        )

    def links(self) -> Iterator[Link]:
        """Port s - 1 leads s nodes on in the group; the last h ports are global."""
        a, h = int(self.a), self.h
        for group, own in product(range(self.groups), range(a)):
            node = a * group + own
            for step in range(1, a):
                yield Link(node, step - 1, a * group + (own + step) % a, step - 1, channels=2)
            for j in range(h):
                peer = a * ((group - h * own - j - 1) % self.groups) + a - 1 - own
                yield Link(node, a - 1 + j, peer, a - 1 + h - 1 - j, latency=self.latency)

    def route(self, node: int, came: Channel | None, destination: int) -> Iterator[Channel]:
        a = int(self.a)
        (group, own), (target, last) = divmod(node, a), divmod(destination // int(self.p), a)
        gate, j = divmod((group - target - 1) % self.groups, self.h)
        gate = last if group == target else gate
        if own != gate:
            number = int(came is not None and came.port >= a - 1)
            yield Channel(node, (gate - own) % a - 1, number)
        elif group != target:
            yield Channel(node, a - 1 + j)


FAMILIES = (
    GraphFamily(
        "dragonfly",
        "groups of a nodes, and a link between any two groups",
        Dragonfly,
        Group.LARGE,
        example={"h": 1},
        papers=("kim-dragonfly",),
    ),
)
