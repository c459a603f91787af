"""k-ary n-cubes: tori, meshes and uni-directional rings, and the way of a worm through them.

After Ould-Khaoua and Sotudeh, III. Their dimensions n to 1 are n - 1 to 0 here.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from ..core.checks import check_field
from ..core.errors import InvalidValue
from .tags import AddressCode, TagScheme, address_tags

__all__ = ["Hop", "Torus"]


class Hop(NamedTuple):
    """A channel that leaves a node: its dimension, its way (0 up, 1 down), and its number."""

    dimension: int
    way: int
    channel: int


@dataclass(frozen=True)
class Torus:
    """k^n nodes, of which two are neighbours if one digit of their addresses differs by one.

    With `wrap`, 0 and k - 1 differ by one too. Way 0 leads up: to the neighbour with the greater
    digit, or from k - 1 to 0. Way 1 leads down; with one direction there is none, nor with two in a
    2-ary torus, where both would lead to the same neighbour.

    *Routing*: the digits are set right one after the other, the most significant first, and each
    the shortest way. If both ways are equally long (k even), headers in even positions go up and
    those in odd ones down, so that both carry the same. *Channels*: a header takes channel 1 of a
    link if the rest of its way in this dimension leads over the wrap-around link, that link
    included, and 0 otherwise (the dateline rule of Dally and Seitz, 1987, as a function of position
    and destination alone). So in a ring channels 1 wait for each other up to the wrap-around link
    only, that one waits for channels 0, and these wait for each other up to the last before the
    wrap-around link: no circle.

    Attributes
    ----------
    k : int
        Positions in a dimension, at least 2.
    n : int
        Dimensions, at least 1.
    wrap : bool
        Whether there are wrap-around links: a torus, else a mesh.
    directions : int
        Of links, 2 or 1: a uni-directional ring, with `wrap` only.
    channels : int
        Virtual channels of a link: 2, or 1, with which all take channel 0 and worms can deadlock
        in a ring. Without `wrap` it is 1.

    Raises
    ------
    TypeError, ValueError
        If a number is not as above.
    """

    k: int
    n: int
    wrap: bool = True
    directions: int = 2
    channels: int = 2

    def __post_init__(self) -> None:
        check_field(self, "k", "Radix k", 2)
        check_field(self, "n", "Dimensions n", 1)
        check_field(self, "directions", "Directions", 1, 2)
        check_field(self, "channels", "Channels", 1, 2)
        if not self.wrap:
            for what, value, only in (
                ("Directions", self.directions, 2),
                ("Channels", self.channels, 1),
            ):
                if value != only:
                    raise InvalidValue(
                        f"{what} must be {only} without wrap-around links, not {value}"
                    )

    @property
    def nodes(self) -> int:
        return self.k**self.n

    @cached_property
    def code(self) -> AddressCode:
        return AddressCode(self.k, self.n)

    @property
    def ways(self) -> int:
        """In how many ways a node's links lead in each dimension."""
        return 1 if self.wrap and self.k == 2 else self.directions

    @property
    def reach(self) -> int:
        """Links on the longest path in one dimension."""
        return self.k // 2 if self.wrap and self.directions == 2 else self.k - 1

    @property
    def diameter(self) -> int:
        """Links on the longest path."""
        return self.n * self.reach

    def hops(self) -> list[Hop]:
        """The channels that leave a node."""
        return [
            Hop(dimension, way, channel)
            for dimension in range(self.n)
            for way in range(self.ways)
            for channel in range(self.channels)
        ]

    def neighbour(self, node: int, dimension: int, way: int) -> int | None:
        """The node at the other end of a link; None at the edge of a mesh."""
        digits = self.code.split(node)
        position = digits[dimension] + (-1 if way else 1)
        if not self.wrap and position not in range(self.k):
            return None
        digits[dimension] = position % self.k
        return self.code.join(digits)

    def beyond(self, node: int, hop: Hop) -> int:
        """The node that a channel leads to, not at the edge of a mesh."""
        neighbour = self.neighbour(node, hop.dimension, hop.way)
        assert neighbour is not None, f"{hop} of node {node} leads off the edge of the mesh"
        return neighbour

    def route(self, node: int, destination: int) -> Hop | None:
        """The channel that a header in a node takes next; None if it has arrived."""
        here, there = self.code.split(node), self.code.split(destination)
        for dimension in reversed(range(self.n)):
            if here[dimension] != there[dimension]:
                way, around = self._way(here[dimension], there[dimension])
                return Hop(dimension, way, int(around and self.channels > 1))
        return None

    def _way(self, here: int, there: int) -> tuple[int, bool]:
        """The way from one position to another, and whether it leads over the wrap-around link."""
        upward = there > here
        if not self.wrap:
            around = False
        elif self.ways == 1:
            around = not upward
        else:
            twice = 2 * abs(there - here)
            around = twice > self.k or (twice == self.k and upward == bool(here % 2))
        return int(upward == around), around

    def path(self, source: int, destination: int) -> list[tuple[int, Hop]]:
        """The channels that a packet passes, each with the node that it leaves."""
        node, hops = source, []
        while hop := self.route(node, destination):
            hops.append((node, hop))
            node = self.beyond(node, hop)
        return hops

    def distance(self, source: int, destination: int) -> int:
        """Links on the shortest path."""
        total = 0
        for here, there in zip(self.code.split(source), self.code.split(destination)):
            up = (there - here) % self.k
            if not self.wrap:
                total += abs(there - here)
            else:
                total += up if self.directions == 1 else min(up, self.k - up)
        return total

    def tags(self) -> TagScheme:
        """Tags that hold the destination's address itself."""
        return address_tags(self.code)
