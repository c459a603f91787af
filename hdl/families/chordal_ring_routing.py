"""Routing in chordal rings with two chords at each node."""

from collections.abc import Iterator
from functools import cached_property
from math import gcd

from ..fabric.errors import InvalidValue
from ..graphs.graph import Channel, Link
from ..graphs.routing.relation import RoutedGraph
from .chordal_ring_graph import ChordalRing

__all__ = ["RoutedChordalRing"]


class RoutedChordalRing(ChordalRing, RoutedGraph):
    """A chordal ring with two chords at each node, whose packets take shortest paths.

    *Routing*: a packet takes all its chords first, and then links of the ring. Of the shortest
    paths it takes one with the most chords. If chords on and back are equally good, packets at even
    nodes go on and those at odd nodes go back.

    *Channels*: chords form cycles of N / gcd(N, a) nodes. In one of these, and in the ring, a
    packet takes channel 1 of a link if it still has to pass the last link of the cycle, and channel
    0 otherwise (the dateline of Dally and Seitz, 1987). Chords never wait for chords after a link
    of the ring, so two channels are enough.

    Raises
    ------
    TypeError, ValueError
        As `ChordalRing`, or if `chords` is not 2.

    Examples
    --------
    >>> ring = RoutedChordalRing(16, 2, 4)
    >>> [ring.direction(ring.link_of(channel)) for channel in ring.path(0, 7)[:-1]]
    ['chord +4', 'chord +4', '-1']
    """

    deadlock_free = True
    looks_back = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.chords != 2:
            raise InvalidValue(f"Chords must be 2 for this routing, not {self.chords}")

    def links(self) -> Iterator[Link]:
        return (link._replace(channels=2) for link in super().links())

    @property
    def cycle(self) -> int:
        """Nodes of a cycle of chords."""
        return self.nodes // gcd(self.nodes, int(self.chord))

    @cached_property
    def _places(self) -> list[int]:
        """The position of each node in its cycle of chords."""
        found = [0] * self.nodes
        for place in range(self.cycle):
            for first in range(self.nodes // self.cycle):
                found[(first + place * int(self.chord)) % self.nodes] = place
        return found

    @cached_property
    def _ways(self) -> list[list[tuple[int, int]]]:
        """The chords and the links of the ring on the way, negative if back: from even and odd
        nodes, by how far on the destination is."""
        nodes, half = self.nodes, (self.nodes - 1) // 2

        def way(distance: int, sign: int) -> tuple[int, int]:
            ways = []
            for chords in range(-(self.cycle // 2), self.cycle // 2 + 1):
                steps = (distance - chords * int(self.chord) + half) % nodes - half
                ways.append((abs(chords) + abs(steps), -abs(chords), sign * chords, steps))
            *_, chords, steps = max(ways, key=lambda way: (-way[0], -way[1], way[2]))
            return sign * chords, steps

        return [[way(distance, sign) for distance in range(nodes)] for sign in (1, -1)]

    def route(self, node: int, came: Channel | None, destination: int) -> Iterator[Channel]:
        chords, steps = self._ways[node % 2][(destination - node) % self.nodes]
        if chords or steps:
            count, port = (chords, 2) if chords else (steps, 0)
            place, length = (self._places[node], self.cycle) if chords else (node, self.nodes)
            around = not 0 <= place + count < length
            yield Channel(node, port + (count < 0), int(around))
