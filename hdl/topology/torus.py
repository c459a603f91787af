"""k-ary n-cubes: tori, meshes and unidirectional rings, and dimension-order routing in them.

After Ould-Khaoua and Sotudeh, III. Their dimensions n to 1 are dimensions n - 1 to 0 here.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from ..core.checks import check_field
from ..core.errors import InvalidValue
from .tags import AddressCode, TagScheme, address_tags

__all__ = ["Hop", "Torus"]


class Hop(NamedTuple):
    """A channel that leaves a node: its dimension, direction (`way`: 0 up, 1 down) and number."""

    dimension: int
    way: int
    channel: int

    @property
    def direction(self) -> str:
        """The direction as text: `+x`, `-y`, `+z`; from the fourth dimension on `-dimension 3`."""
        axis = "xyz"[self.dimension] if self.dimension < 3 else f"dimension {self.dimension}"
        return f"{'+-'[self.way]}{axis}"


@dataclass(frozen=True)
class Torus:
    """k^n nodes, of which two are neighbours if one digit of their addresses differs by one.

    With `wrap`, digits 0 and k - 1 are neighbours too. Direction 0 is up: to the neighbour with the
    greater digit, or from k - 1 to 0. Direction 1 is down. It does not exist if `directions` is 1,
    or in a 2-ary torus, where both directions would lead to the same neighbour.

    *Routing*: a packet corrects the digits of its address in order, the most significant first,
    each in the shorter direction. If both directions are equally long (k even), packets in even
    positions go up and those in odd positions go down, so that both directions carry the same load.

    *Channels*: a packet takes channel 1 of a link if its remaining path in this dimension,
    including this link, uses the wrap-around link, and channel 0 otherwise. This is the dateline
    rule of Dally and Seitz (1987) as a function of position and destination alone. In a ring,
    channels 1 depend on each other only up to the wrap-around link; channel 1 of that link depends
    on channels 0; and channels 0 depend on each other only up to the link before it. So the
    dependencies have no cycle.

    Attributes
    ----------
    k : int
        Positions in a dimension, at least 2.
    n : int
        Dimensions, at least 1.
    wrap : bool
        Whether there are wrap-around links: a torus if True, a mesh if False.
    directions : int
        Directions of the links: 2, or 1 for a unidirectional ring, which needs `wrap`.
    channels : int
        Virtual channels per link: 2, or 1. With 1 all packets take channel 0, and worms in a ring
        can deadlock. Without `wrap` it is 1.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as above.
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
        """Number of directions of a node's links in each dimension."""
        return 1 if self.wrap and self.k == 2 else self.directions

    @property
    def links(self) -> int:
        """Links between nodes, each in one direction, whatever its channels."""
        return self.n * self.ways * (self.k if self.wrap else self.k - 1) * self.k ** (self.n - 1)

    @property
    def bisection(self) -> int | None:
        """Links between two halves of the nodes; None for odd k.

        Each row of the highest dimension is cut in two places, without wrap-around links in one.
        """
        if self.k % 2:
            return None
        return (2 if self.wrap else 1) * self.ways * self.k ** (self.n - 1)

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

    def carries(self, node: int, hop: Hop) -> bool:
        """Whether any packet takes this channel of a node."""
        here = self.code.split(node)[hop.dimension]
        taken = (self._way(here, there) for there in range(self.k) if there != here)
        return (hop.way, hop.channel) in {
            (way, int(around and self.channels > 1)) for way, around in taken
        }

    def beyond(self, node: int, hop: Hop) -> int:
        """The node that a channel leads to; the channel must not leave the edge of a mesh."""
        neighbour = self.neighbour(node, hop.dimension, hop.way)
        assert neighbour is not None, f"{hop} of node {node} leads off the edge of the mesh"
        return neighbour

    def route(self, node: int, destination: int) -> Hop | None:
        """The next channel for a header in a node; None if it has arrived."""
        here, there = self.code.split(node), self.code.split(destination)
        for dimension in reversed(range(self.n)):
            if here[dimension] != there[dimension]:
                way, around = self._way(here[dimension], there[dimension])
                return Hop(dimension, way, int(around and self.channels > 1))
        return None

    def _way(self, here: int, there: int) -> tuple[int, bool]:
        """The direction from one position to another, and whether it uses the wrap-around link."""
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
        """The channels on the path of a packet, each with the node that it leaves."""
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
        """Tags that hold the address of the destination."""
        return address_tags(self.code)
