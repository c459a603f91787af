"""Megaflies, or Dragonflies+: groups of leaves and spines, and a link between any two groups."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

from ..fabric.parameter_fields import integer
from ..graphs.graph import Channel, Link
from ..graphs.routing.relation import RoutedGraph
from ..networks.family import GraphFamily, Group

__all__ = ["FAMILIES", "Megafly"]


@dataclass(frozen=True)
class Megafly(RoutedGraph):
    """a h + 1 groups of a leaves and a spines: each leaf is linked with all spines of its group,
    and has p terminals; each spine has h global links (Flajslik et al., 2018; Shpiner et al., 2017,
    call it Dragonfly+).

    There are 2 a (a h + 1) routers, of degree a and a + h, and one global link between any two
    groups, placed as in a dragonfly. A packet goes up to a spine, by a global link, and down:
    terminals are at most 3 links apart. Links wait for later ones only, so one channel is enough.
    Half of the groups have (a h + 1)^2 / 4 links to the others, if their number is even.

    Attributes
    ----------
    h, a, p : int
        Global links of a spine, leaves and spines of a group, and terminals of a leaf.
    latency : int
        Cycles of a global link.
    """

    h: int = integer(2, "global links of a spine", least=1, most=32)
    a: int | str = integer(
        "auto", "leaves of a group, and spines: h", least=1, most=64, choices=("auto",)
    )
    p: int | str = integer("auto", "terminals of a leaf: h", least=1, most=64, choices=("auto",))
    latency: int = integer(1, "cycles of a global link", least=1, most=1024)

    deadlock_free = True
    looks_back = False

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("a", "p"):
            if getattr(self, name) == "auto":
                object.__setattr__(self, name, self.h)

    @property
    def groups(self) -> int:
        return int(self.a) * self.h + 1

    @property
    def nodes(self) -> int:
        """Node 2 a G + i is leaf i of group G, and node 2 a G + a + i is spine i."""
        return 2 * int(self.a) * self.groups

    @cached_property
    def homes(self) -> Sequence[int]:
        a, p = int(self.a), int(self.p)
        return [t // (a * p) * 2 * a + t // p % a for t in range(a * p * self.groups)]

    def links(self) -> Iterator[Link]:
        """Port i of a leaf leads to spine i, port i of a spine to leaf i, the last h to groups."""
        a, h = int(self.a), self.h
        for first, (leaf, spine) in product(
            range(0, self.nodes, 2 * a), product(range(a), repeat=2)
        ):
            yield Link(first + leaf, spine, first + a + spine, leaf)
            yield Link(first + a + spine, leaf, first + leaf, spine)
        for group, spine, j in product(range(self.groups), range(a), range(h)):
            other = (group - h * spine - j - 1) % self.groups
            ends = 2 * a * group + a + spine, 2 * a * other + 2 * a - 1 - spine
            yield Link(ends[0], a + j, ends[1], a + h - 1 - j, latency=self.latency)

    def position(self, node: int) -> tuple[float, float]:
        """Groups side by side, the spines above the leaves."""
        group, own = divmod(node, 2 * int(self.a))
        return group * (int(self.a) + 0.5) + own % int(self.a), 1.5 * (own // int(self.a))

    def direction(self, link: Link) -> str:
        half = int(self.a)
        ends = [node // half % 2 for node in (link.node, link.peer)]
        return "global" if ends == [1, 1] else "up" if ends[1] else "down"

    def route(self, node: int, came: Channel | None, destination: int) -> Iterator[Channel]:
        a, target = int(self.a), self.homes[destination]
        (group, own), (there, leaf) = divmod(node, 2 * a), divmod(target, 2 * a)
        gate, j = divmod((group - there - 1) % self.groups, self.h)
        if own >= a:
            yield Channel(node, leaf if group == there else a + j)
        elif node != target:
            yield Channel(node, leaf if group == there else gate)


FAMILIES = (
    GraphFamily(
        "megafly",
        "groups of leaves and spines, and a link between any two groups",
        Megafly,
        Group.LARGE,
        example={"h": 1, "a": 2},
        aliases=("dragonfly-plus",),
        papers=("flajslik-megafly", "shpiner-dragonfly-plus"),
    ),
)
