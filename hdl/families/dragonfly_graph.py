"""Dragonflies: groups of nodes, and as many links between any two groups."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import cos, pi, sin

from ..fabric.errors import InvalidValue
from ..fabric.parameter_fields import integer
from ..graphs.graph import Channel, Link
from ..graphs.routing.relation import RoutedGraph
from ..networks.family import GraphFamily, Group

__all__ = ["FAMILIES", "Dragonfly"]


@dataclass(frozen=True)
class Dragonfly(RoutedGraph):
    """Groups of a nodes, with h global links each, and local links to all of their group.

    After Kim, Dally, Scott and Abts (2008), with the palmtree arrangement of Camarero, Vallejo and
    Beivide (2014): global link j of node r leads from group G to group G - (h r + j + 1). With
    fewer than a h + 1 groups this continues in turn, and any two have a h / (groups - 1) links.

    A packet takes at most a local link, a global link, and a local link. The last one is taken by
    channel 1: so channels wait only for those that come later in this order. If several links lead
    to a group, it takes one of its own node, or else that of the destination's turn.

    Attributes
    ----------
    h, a, p : int
        Global links of a node, nodes of a group, and terminals of a node.
    latency : int
        Cycles of a global link.
    groups : int or "auto"
        By default a h + 1, which is the most; one more than a divisor of a h.
    """

    h: int = integer(2, "global links of a node", least=1, most=16)
    a: int | str = integer("auto", "nodes of a group: 2 h", least=2, most=64, choices=("auto",))
    p: int | str = integer("auto", "terminals of a node: h", least=1, most=64, choices=("auto",))
    latency: int = integer(1, "cycles of a global link", least=1, most=1024)
    groups: int | str = integer(
        "auto", "groups; auto: a h + 1, with one link between any two", least=2, choices=("auto",)
    )

    same_router = True
    deadlock_free = True

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, value in (("a", 2 * self.h), ("p", self.h)):
            if getattr(self, name) == "auto":
                object.__setattr__(self, name, value)
        links = int(self.a) * self.h
        if self.groups == "auto":
            object.__setattr__(self, "groups", links + 1)
        if links % self._others:
            raise InvalidValue(
                f"Groups must be one more than a divisor of a h={links}, not {self.groups}"
            )

    @property
    def _others(self) -> int:
        """Groups beside one's own."""
        return int(self.groups) - 1

    @property
    def nodes(self) -> int:
        return int(self.a) * int(self.groups)

    @cached_property
    def homes(self) -> Sequence[int]:
        return [terminal // int(self.p) for terminal in range(int(self.p) * self.nodes)]

    def position(self, node: int) -> tuple[float, float]:
        """The groups on a circle, and the nodes of a group on a small one."""
        group, own = divmod(node, int(self.a))
        small = 0.5 / sin(pi / int(self.a))
        large = (small + 0.8) / sin(pi / int(self.groups))
        about, turn = 2 * pi * group / int(self.groups), 2 * pi * own / int(self.a)
        return (
            large * cos(about) + small * cos(about + turn),
            large * sin(about) + small * sin(about + turn),
        )

    def links(self) -> Iterator[Link]:
        """Port s - 1 leads s nodes on in the group; the last h ports are global."""
        a, h = int(self.a), self.h
        for group, own in product(range(int(self.groups)), range(a)):
            node = a * group + own
            for step in range(1, a):
                yield Link(node, step - 1, a * group + (own + step) % a, step - 1, channels=2)
            for j in range(h):
                other = (group - (h * own + j) % self._others - 1) % int(self.groups)
                peer = a * other + a - 1 - own
                yield Link(node, a - 1 + j, peer, a - 1 + h - 1 - j, latency=self.latency)

    def route(self, node: int, came: Channel | None, destination: int) -> Iterator[Channel]:
        a = int(self.a)
        (group, own), (target, last) = divmod(node, a), divmod(destination // int(self.p), a)
        first = (group - target - 1) % int(self.groups)
        links = range(first, a * self.h, self._others) if group != target else ()
        gate, j = last, 0
        if links:
            near = [link for link in links if link // self.h == own]
            gate, j = divmod((near or links)[destination % len(near or links)], self.h)
        if own != gate:
            number = int(came is not None and came.port >= a - 1)
            yield Channel(node, (gate - own) % a - 1, number)
        elif group != target:
            yield Channel(node, a - 1 + j)


FAMILIES = (
    GraphFamily(
        "dragonfly",
        "groups of a nodes, and a link or several between any two groups",
        Dragonfly,
        Group.LARGE,
        example={"h": 1, "a": 3},
        papers=("kim-dragonfly",),
    ),
)
