"""Fat trees: the k-ary n-trees."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Literal

from ...fabric.parameter_fields import integer, word
from ...graphs.address_codes import AddressCode
from ...graphs.graph import Channel, End, Link, Turn
from ...graphs.routing.relation import RoutedGraph
from ...graphs.tags import TagScheme, address_tags

__all__ = ["FatTree"]


@dataclass(frozen=True)
class FatTree(RoutedGraph):
    """A k-ary n-tree (Petrini and Vanneschi, 1997): k^n terminals below n levels of switches.

    Each level has k^(n-1) switches, and level 0 has the terminals, k at a switch. A switch of level
    l has k links up, to those of level l + 1 whose numbers differ in digit l only.

    A packet goes up until its destination is below, and then down. Links down never wait for links
    up, so one channel is enough.

    Attributes
    ----------
    ascent : "any" or "fixed"
        Whether a packet takes any free link up, or at level l that of its destination's digit l.
    """

    k: int = integer(4, "links down of a switch, and up", least=2, most=64, title="Arity k")
    n: int = integer(2, "levels: there are k^n terminals", least=1, most=12, title="Levels n")
    ascent: Literal["any", "fixed"] = word(
        "any",
        "links up that a packet takes",
        {"any": "all, whichever is free", "fixed": "one, by the destination: keeps the order"},
    )

    deadlock_free = True
    equal_choices = True

    @property
    def width(self) -> int:
        """Switches of a level."""
        return self.k ** (self.n - 1)

    @property
    def nodes(self) -> int:
        return self.n * self.width

    @cached_property
    def homes(self) -> Sequence[int]:
        return [t // self.k for t in range(self.k**self.n)]

    @property
    def ordered(self) -> bool:  # type: ignore[override]
        return self.ascent == "fixed" or self.n == 1

    def name(self, node: int) -> str:
        level, number = divmod(node, self.width)
        return f"{number} of level {level}"

    def position(self, node: int) -> tuple[float, float]:
        """Levels above each other; higher ones if there are more switches."""
        level, number = divmod(node, self.width)
        return float(number), level * max(1.0, self.width / 4)

    def links(self) -> Iterator[Link]:
        """Ports 0 to k - 1 lead down, to the switch with this digit; the others up."""
        for level, number, up in product(range(self.n - 1), range(self.width), range(self.k)):
            low, high = level * self.width + number, (level + 1) * self.width
            digit = number // self.k**level % self.k
            parent = high + number + (up - digit) * self.k**level
            yield Link(low, self.k + up, parent, digit)
            yield Link(parent, digit, low, self.k + up)

    def route(self, node: int, came: Channel | None, destination: int) -> Iterator[Channel]:
        level, number = divmod(node, self.width)
        target = destination // self.k
        if number // self.k**level != target // self.k**level:
            fixed = destination // self.k**level % self.k
            ups = range(self.k) if self.ascent == "any" else [fixed]
            yield from (Channel(node, self.k + up) for up in ups)
        elif level:
            yield Channel(node, target // self.k ** (level - 1) % self.k)

    @property
    def tags(self) -> TagScheme:
        """Tags that hold the destination, digit by digit."""
        return address_tags(AddressCode(self.k, self.n))

    @property
    def diameter(self) -> int:
        """As `Relation.diameter`: up to the top, and down."""
        return 2 * (self.n - 1)

    def carries(self, channel: Channel) -> bool:
        """As in `Relation`: packets take every channel."""
        return True

    def turns(self) -> Mapping[int, frozenset[Turn]]:
        """As `Relation.turns`: from below up, or to another switch below; from above down, and if
        the way up is fixed, by the digit that was that of the way up."""
        found: dict[int, frozenset[Turn]] = {}
        for level in range(self.n):
            downs: list[End | None] = [(i, 0) for i in range(self.k)] if level else [None]
            ups = [(self.k + i, 0) for i in range(self.k if level < self.n - 1 else 0)]
            made = {Turn(None, None)} if level == 0 else set()
            made |= {Turn(came, to) for came, to in product(downs, ups)}
            made |= {Turn(came, to) for came, to in product(downs, downs) if came != to}
            for came, to in product(ups, downs):
                if self.ascent == "any" or to is None or came[0] == self.k + to[0]:
                    made.add(Turn(came, to))
            first = level * self.width
            found |= dict.fromkeys(range(first, first + self.width), frozenset(made))
        return found
