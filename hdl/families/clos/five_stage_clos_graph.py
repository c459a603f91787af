"""Clos networks of five stages: Clos networks in place of the middle boxes of another one."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise, product
from typing import Literal

from ...fabric.parameter_fields import integer, word
from ...graphs.graph import Channel, Link
from ...graphs.permutations import Permutation, check_permutation
from ...graphs.schedules.looping import BoxSettings, clos_settings
from .clos_graph import SPREADS, Clos, MiddlesGraph

__all__ = ["FiveStageClos"]


@dataclass(frozen=True)
class FiveStageClos(MiddlesGraph):
    """A Clos network of n^2 r terminals (Clos, 1953), whose m middle boxes of n r inputs are Clos
    networks of three stages with the same n, m and r.

    It passes every permutation if m >= n, and is strictly nonblocking if m >= 2 n - 1. With n = r =
    10 and m = 19 it has 146,300 crosspoints (Stanfill, 1987, 3.4).

    Attributes
    ----------
    spread : "any" or "fixed"
        As in `Clos`, in both levels.
    """

    n: int = integer(2, "terminals of an outer box", least=2, most=16, title="Terminals n of a box")
    m: int | Literal["auto"] = integer(
        "auto",
        "middle networks, and their middle boxes; auto: n, with which it passes every permutation",
        least=1,
        most=31,
        choices=("auto",),
        title="Middle networks m",
    )
    r: int = integer(2, "outer boxes of a middle network", least=2, most=16, title="Boxes r")
    spread: Literal["any", "fixed"] = word("any", "middles that a packet takes", SPREADS)

    @cached_property
    def inner(self) -> Clos:
        """A middle network."""
        return Clos(self.n, self.m, self.r, self.spread)

    @cached_property
    def columns(self) -> Sequence[range]:
        outer, middles = self.inner.ports, self.middles
        boxes = [outer, *(middles * len(column) for column in self.inner.columns), outer]
        return [range(*ends) for ends in pairwise(accumulate(boxes, initial=0))]

    @property
    def nodes(self) -> int:
        return self.columns[-1].stop

    @cached_property
    def homes(self) -> Sequence[int]:
        return [t // self.n for t in range(self.n * self.inner.ports)]

    @property
    def ordered(self) -> bool:  # type: ignore[override]
        return self.inner.ordered

    def _box(self, middle: int, node: int) -> int:
        """The node that a box of the middle network is here."""
        stage, place = self.inner.place_of(node)
        return self.columns[1 + stage][middle * len(self.inner.columns[stage]) + place]

    def links(self) -> Iterator[Link]:
        """Port p of an outer box leads to network p, or comes from it."""
        outer = enumerate(zip(self.columns[0], self.columns[-1]))
        for (x, (first, last)), p in product(outer, range(self.middles)):
            entry, exit_ = self.inner.homes[x], self.inner.exit_homes[x]
            yield Link(first, p, self._box(p, entry), x % self.n)
            yield Link(self._box(p, exit_), x % self.n, last, p)
        for p, link in product(range(self.middles), self.inner.links()):
            yield Link(self._box(p, link.node), link.port, self._box(p, link.peer), link.peer_port)

    def route(self, node: int, came: Channel | None, destination: int) -> Iterator[Channel]:
        stage, place = self.place_of(node)
        outer = destination // self.n
        if stage == 0:
            free = self.spread == "any"
            for port in range(self.middles) if free else (destination % self.middles,):
                yield Channel(node, port)
        elif stage < 3:
            own = self.inner.columns[stage - 1]
            for channel in self.inner.route(own[place % len(own)], None, outer):
                yield Channel(node, channel.port)
        elif stage == 3:
            yield Channel(node, outer % self.n)

    def settings(self, destinations: Permutation) -> BoxSettings:
        check_permutation(destinations, self.ports)
        first, middle, last = clos_settings(destinations, self.n, self.middles)
        inner: BoxSettings = [[], [], []]
        for box in middle:
            to: list[int | None] = [None] * len(box)
            for output, shown in enumerate(box):
                if shown is not None:
                    to[shown] = output
            for column, own in zip(inner, self.inner.settings(to)):
                column += own
        return [first, *inner, last]
