"""Tori, meshes and unidirectional rings, and dimension-order routing in them.

After Ould-Khaoua and Sotudeh, III. Their dimensions n to 1 are dimensions n - 1 to 0 here.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Literal, NamedTuple

from ...fabric.checks import check_field
from ...fabric.errors import InvalidValue
from ...fabric.numerals import is_natural
from ...fabric.parameter_fields import fixed, integer
from ...graphs.address_codes import AddressCode, MixedCode
from ...graphs.circle import circle_position
from ...graphs.graph import MOST_NODES, Channel, End, Link, Turn
from ...graphs.grid import grid_position, wrap_around
from ...graphs.routing.relation import RoutedGraph
from ...graphs.tags import TagScheme, address_tags

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
class Torus(RoutedGraph):
    """Nodes of which two are neighbours if one digit of their addresses differs by one.

    There are k^n nodes, at most 65,536; or the dimensions have different sizes, such as `k="8x4x2"`
    with dimension 0, the least significant digit, first. With `wrap`, the first and the last
    position are neighbours too. Direction 0 is up: to the neighbour with the greater digit, or from
    the last position to 0. Direction 1 is down. It does not exist if `directions` is 1, or in a
    dimension of two positions, where both directions would lead to the same neighbour.

    *Routing*: a packet corrects the digits of its address in order, the most significant first,
    each in the shorter direction. If both directions are equally long (k even), packets in even
    positions go up and those in odd positions go down, so that both directions carry the same load.

    *Channels*: a packet takes channel 1 of a link if its remaining path in this dimension,
    including this link, uses the wrap-around link, and channel 0 otherwise. This is the dateline
    rule of Dally and Seitz (1987) as a function of position and destination alone. In a ring,
    channels 1 depend on each other only up to the wrap-around link; channel 1 of that link depends
    on channels 0; and channels 0 depend on each other only up to the link before it. So the
    dependencies have no cycle. With more channels, the upper half has the place of channel 1, and
    the rest that of channel 0; a packet takes any of them. Without `wrap` it takes any.

    Attributes
    ----------
    k : int or str
        Positions in a dimension, at least 2; or the sizes of the dimensions.
    n : int or "auto"
        Dimensions, at least 1; by default 2, or as many as there are sizes.
    wrap : bool
        Whether there are wrap-around links: a torus if True, a mesh if False.
    directions : int
        Directions of the links: 2, or 1 for a unidirectional ring, which needs `wrap`.
    channels : int or "auto"
        Virtual channels per link, from 1 to 16; by default 2 with wrap-around links, else 1. With
        1, all packets take channel 0, and worms in a ring can deadlock.
    latency : int
        Cycles of a link.
    """

    k: int | str = integer(
        4, "nodes per dimension, or sizes of each", least=2, form="AxBxC", title="Radix k"
    )
    n: int | Literal["auto"] = integer(
        "auto", "dimensions; auto: 2, or as in k", least=1, choices=("auto",), title="Dimensions n"
    )
    wrap: bool = fixed(True, "whether there are wrap-around links: a torus, or a mesh")
    directions: int = fixed(2, "directions of links, 2 or 1")
    channels: int | Literal["auto"] = integer(
        "auto",
        "virtual channels per link; a torus with one can deadlock",
        least=1,
        most=16,
        choices=("auto",),
    )
    latency: int = integer(1, "cycles of a link", least=1, most=1024)

    looks_back = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.n == "auto":
            count = self.k.count("x") + 1 if isinstance(self.k, str) else 2
            object.__setattr__(self, "n", count)
        if self.channels == "auto":
            object.__setattr__(self, "channels", 2 if self.wrap else 1)
        check_field(self, "directions", "Directions", 1, 2)
        if not self.wrap and self.directions != 2:
            raise InvalidValue(
                f"Directions must be 2 without wrap-around links, not {self.directions}"
            )
        if int(self.n) > MOST_NODES.bit_length() or prod(self.sizes) > MOST_NODES:
            given = self.k if isinstance(self.k, str) else f"{self.k}^{self.n}"
            raise InvalidValue(f"Nodes k^n must be at most {MOST_NODES}, not {given}")

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Positions in each dimension."""
        if not isinstance(self.k, str):
            return (self.k,) * int(self.n)
        words = self.k.split("x")
        if not all(is_natural(word) and int(word) >= 2 for word in words):
            raise InvalidValue(
                f"Radix k must be a number of at least 2, or several such as 8x4x2, not {self.k!r}"
            )
        if len(words) != self.n:
            raise InvalidValue(f"Dimensions n must be {len(words)} with k={self.k}, not {self.n}")
        return tuple(map(int, words))

    @property
    def nodes(self) -> int:
        return prod(self.sizes)

    @cached_property
    def code(self) -> AddressCode:
        return MixedCode.of(self.sizes, aligned=True)

    @property
    def tags(self) -> TagScheme:
        """Tags that hold the address of the destination."""
        return address_tags(self.code)

    def ways(self, dimension: int) -> int:
        """Number of directions of a node's links in a dimension."""
        return 1 if self.wrap and self.sizes[dimension] == 2 else self.directions

    def reach(self, dimension: int) -> int:
        """Links on the longest path in a dimension."""
        size = self.sizes[dimension]
        return size // 2 if self.wrap and self.directions == 2 else size - 1

    @property
    def bisection(self) -> int | None:
        """Links between two halves of the nodes; None if the longest dimension has odd size.

        Each row of this dimension is cut in two places, without wrap-around links in one.
        """
        size = max(self.sizes)
        if size % 2:
            return None
        ways = self.ways(self.sizes.index(size))
        return (2 if self.wrap else 1) * ways * self.nodes // size

    @property
    def diameter(self) -> int:
        """Links on the longest path."""
        return sum(map(self.reach, range(len(self.sizes))))

    @cached_property
    def sides(self) -> list[tuple[int, int]]:
        """For each port, its dimension and direction.

        A packet that arrives by an input and goes on in the same direction leaves by the output of
        the same number.
        """
        return [(i, way) for i in range(len(self.sizes)) for way in range(self.ways(i))]

    def hop(self, channel: Channel) -> Hop:
        """The dimension, direction and number of a channel."""
        return Hop(*self.sides[channel.port], channel.number)

    def neighbour(self, node: int, dimension: int, way: int) -> int | None:
        """The node at the other end of a link; None at the edge of a mesh."""
        digits = [*self._digits[node]]
        position = digits[dimension] + (-1 if way else 1)
        if not self.wrap and position not in range(self.sizes[dimension]):
            return None
        digits[dimension] = position % self.sizes[dimension]
        return self.code.join(digits)

    def links(self) -> Iterator[Link]:
        for node in range(self.nodes):
            for port, side in enumerate(self.sides):
                peer = self.neighbour(node, *side)
                if peer is not None:
                    yield Link(node, port, peer, port, int(self.channels), self.latency)

    def position(self, node: int) -> tuple[float, float]:
        """A grid, or a circle."""
        if self.wrap and self.n == 1:
            return circle_position(node, self.nodes)
        return grid_position(self._digits[node], self.sizes)

    def way(self, link: Link) -> list[tuple[float, float]]:
        """Wrap-around links lead beside their row."""
        ends = [(self._digits[end], self.position(end)) for end in (link.node, link.peer)]
        dimension = self.sides[link.port][0]
        (_, first), (_, last) = sorted(ends, key=lambda end: end[0][dimension])
        apart = abs(ends[0][0][dimension] - ends[1][0][dimension])
        if apart == 1 or self.n == 1:
            return []
        corners = wrap_around(first, last) if self.n == 2 else wrap_around(first, last, (0.4, 0.27))
        return corners if ends[0][1] == last else corners[::-1]

    def direction(self, link: Link) -> str:
        return Hop(*self.sides[link.port], 0).direction

    def lanes(self, around: bool) -> range:
        """The channels for packets that still have to use the wrap-around link, or for others."""
        count = int(self.channels)
        if not self.wrap or count == 1:
            return range(count)
        return range((count + 1) // 2, count) if around else range((count + 1) // 2)

    @property
    def ordered(self) -> bool:  # type: ignore[override]
        """Whether a packet never has a choice of channels."""
        return len(self.lanes(False)) == 1

    @property
    def deadlock_free(self) -> bool:  # type: ignore[override]
        """Whether there are two channels where a ring needs them.

        A ring in which no path with two links meets another such path at both ends needs only one.
        """
        return not self.wrap or self.channels != 1 or max(self.sizes) <= 2 * self.directions

    def route(self, node: int, came: Channel | None, destination: int) -> Iterator[Channel]:
        """The next channels of a header in a node; none if it has arrived."""
        here, there = self._digits[node], self._digits[destination]
        for dimension in reversed(range(len(here))):
            if here[dimension] != there[dimension]:
                way, around = self._way(dimension, here[dimension], there[dimension])
                port = self.sides.index((dimension, way))
                yield from (Channel(node, port, number) for number in self.lanes(around))
                return

    @cached_property
    def _digits(self) -> list[list[int]]:
        """The digits of each node's address."""
        return list(map(self.code.split, range(self.nodes)))

    def _way(self, dimension: int, here: int, there: int) -> tuple[int, bool]:
        """The direction from one position to another, and whether it uses the wrap-around link."""
        upward, size = there > here, self.sizes[dimension]
        if not self.wrap:
            around = False
        elif self.ways(dimension) == 1:
            around = not upward
        else:
            twice = 2 * abs(there - here)
            around = twice > size or (twice == size and upward == bool(here % 2))
        return int(upward == around), around

    def carries(self, channel: Channel) -> bool:
        """As in `Relation`."""
        dimension, way, number = self.hop(channel)
        here = self._digits[channel.node][dimension]
        for there in range(self.sizes[dimension]):
            towards, around = self._way(dimension, here, there)
            if there != here and towards == way and number in self.lanes(around):
                return True
        return False

    def turns(self) -> Mapping[int, frozenset[Turn]]:
        """As `Relation.turns`, and the same for all nodes.

        A header turns from a higher dimension to a lower one, or goes on in the same direction,
        though never from channel 0 to 1.
        """
        ends = [(port, c) for port in range(len(self.sides)) for c in range(int(self.channels))]
        turns = {Turn(None, None), *(Turn(None, end) for end in ends)}
        for came in ends:
            turns.add(Turn(came, None))
            turns |= {Turn(came, end) for end in ends if self._leads(came, end)}
        return dict.fromkeys(range(self.nodes), frozenset(turns))

    def _leads(self, came: End, to: End) -> bool:
        dimension, way = self.sides[came[0]]
        if self.sides[to[0]] != (dimension, way):
            return dimension > self.sides[to[0]][0]
        size, reach = self.sizes[dimension], self.reach(dimension)
        wraps = [number not in self.lanes(False) for _, number in (came, to)]
        if wraps == [True, False]:
            # In a ring of 4, two links over the wrap-around link end behind it.
            return reach > 2 or (reach == 2 and size % 2 == 1)
        return reach > 1 and wraps != [False, True]

    def distance(self, source: int, destination: int) -> int:
        """Links on the shortest path."""
        total = 0
        digits = zip(self.code.split(source), self.code.split(destination), self.sizes)
        for here, there, size in digits:
            up = (there - here) % size
            if not self.wrap:
                total += abs(there - here)
            else:
                total += up if self.directions == 1 else min(up, size - up)
        return total
