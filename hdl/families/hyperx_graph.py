"""Flattened butterflies and HyperX: nodes that are all linked with each other in each dimension."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Literal

from ..fabric.parameter_fields import integer
from ..graphs.graph import Channel, Link
from ..graphs.grid import grid_position
from ..graphs.routing.relation import RoutedGraph
from ..networks.family import GraphFamily, Group

__all__ = ["FAMILIES", "HyperX"]


@dataclass(frozen=True)
class HyperX(RoutedGraph):
    """k^n nodes; two are neighbours if their addresses differ in one digit (Ahn et al., 2009).

    With k terminals at each node it is a flattened butterfly, the k-ary (n+1)-flat (Kim, Dally and
    Abts, 2007). A packet corrects the digits in order, the most significant first, each over one
    link. So links wait only for links of lower dimensions, and one channel is enough.

    Attributes
    ----------
    k, n : int
    terminals_per_node : int or "auto"
        By default k.
    """

    k: int = integer(4, "nodes per dimension", least=2, most=64, title="Radix k")
    n: int = integer(2, "dimensions: there are k^n nodes", least=1, most=12, title="Dimensions n")
    terminals_per_node: int | Literal["auto"] = integer(
        "auto",
        "terminals at a node; auto: k, a flattened butterfly",
        least=1,
        most=64,
        choices=("auto",),
    )

    same_router = True
    deadlock_free = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.terminals_per_node == "auto":
            object.__setattr__(self, "terminals_per_node", self.k)

    @property
    def nodes(self) -> int:
        return self.k**self.n

    @cached_property
    def homes(self) -> Sequence[int]:
        share = int(self.terminals_per_node)
        return [terminal // share for terminal in range(share * self.nodes)]

    def links(self) -> Iterator[Link]:
        """Port (k - 1) i + s - 1 leads s positions on in dimension i."""
        for node, i, step in product(range(self.nodes), range(self.n), range(1, self.k)):
            here = node // self.k**i % self.k
            peer = node + ((here + step) % self.k - here) * self.k**i
            port = (self.k - 1) * i + step - 1
            yield Link(node, port, peer, port)

    def position(self, node: int) -> tuple[float, float]:
        digits = [node // self.k**i % self.k for i in range(self.n)]
        return grid_position(digits, [self.k] * self.n)

    def direction(self, link: Link) -> str:
        i, step = divmod(link.port, self.k - 1)
        return f"dimension {i} +{step + 1}"

    def route(self, node: int, came: Channel | None, destination: int) -> Iterator[Channel]:
        target = destination // int(self.terminals_per_node)
        for i in reversed(range(self.n)):
            if step := (target // self.k**i - node // self.k**i) % self.k:
                yield Channel(node, (self.k - 1) * i + step - 1)
                return


FAMILIES = (
    GraphFamily(
        "hyperx",
        "nodes that are all linked in each of n dimensions; dimensions in order",
        HyperX,
        Group.LARGE,
        example={"k": 4, "n": 2, "terminals_per_node": 1},
        aliases=("flattened-butterfly",),
        papers=("ahn", "kim-butterfly"),
    ),
)
