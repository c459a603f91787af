"""Three-stage Clos networks."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Literal

from ...fabric.parameter_fields import integer, word
from ...graphs.graph import Channel, Link
from ...graphs.permutations import Permutation, check_permutation
from ...graphs.schedules.looping import BoxSettings, clos_settings
from .rearrangeable_graph import RearrangeableGraph

__all__ = ["SPREADS", "Clos", "MiddlesGraph"]

SPREADS = {"any": "all, whichever is free", "fixed": "one, by the destination: keeps the order"}
"""The links that a packet may take where all lead to its destination."""


class MiddlesGraph(RearrangeableGraph):
    """A network whose first boxes, of n terminals, are each linked once to each of its m middles:
    boxes, or networks. If m is "auto", it becomes n."""

    n: int
    m: int | Literal["auto"]

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.m == "auto":
            object.__setattr__(self, "m", self.n)

    @property
    def middles(self) -> int:
        """m, the number of middles."""
        assert self.m != "auto"
        return self.m


@dataclass(frozen=True)
class Clos(MiddlesGraph):
    """A three-stage Clos network (Clos, 1953): n r terminals, r boxes of n x m, m of r x r, and r
    of m x n.

    Each box is linked once to each box of the next stage. A packet takes any middle box, and from
    there the only way. Set centrally, it passes every permutation if m >= n (rearrangeable:
    Slepian, Duguid); it connects any idle terminals, whatever is connected already, if
    m >= 2 n - 1 (strictly nonblocking: Clos).

    Attributes
    ----------
    spread : "any" or "fixed"
        Whether a packet takes any free middle box, or that with the number of its destination,
        modulo m.
    """

    n: int = integer(4, "terminals of an outer box", least=2, most=64, title="Terminals n of a box")
    m: int | Literal["auto"] = integer(
        "auto",
        "middle boxes; auto: n, with which it passes every permutation",
        least=1,
        most=128,
        choices=("auto",),
        title="Middle boxes m",
    )
    r: int = integer(4, "boxes of the first and last stage", least=2, most=128, title="Boxes r")
    spread: Literal["any", "fixed"] = word("any", "middle boxes that a packet takes", SPREADS)

    @property
    def columns(self) -> Sequence[range]:
        middle, last = self.r, self.r + self.middles
        return range(middle), range(middle, last), range(last, last + self.r)

    @property
    def nodes(self) -> int:
        return 2 * self.r + self.middles

    @cached_property
    def homes(self) -> Sequence[int]:
        return [t // self.n for t in range(self.n * self.r)]

    @property
    def ordered(self) -> bool:  # type: ignore[override]
        return self.spread == "fixed" or self.m == 1

    def links(self) -> Iterator[Link]:
        """Port p leads to box p of the next stage, and port p of an input comes from box p."""
        first, middle, last = self.columns
        for outer, inner in product(range(self.r), range(self.middles)):
            yield Link(first[outer], inner, middle[inner], outer)
            yield Link(middle[inner], outer, last[outer], inner)

    def route(self, node: int, came: Channel | None, destination: int) -> Iterator[Channel]:
        first, middle, _ = self.columns
        if node in first:
            fixed = destination % self.middles
            for box in range(self.middles) if self.spread == "any" else (fixed,):
                yield Channel(node, box)
        elif node in middle:
            yield Channel(node, destination // self.n)

    def settings(self, destinations: Permutation) -> BoxSettings:
        check_permutation(destinations, self.ports)
        return clos_settings(destinations, self.n, self.middles)
