"""Chordal rings: rings with one or two chords at each node."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import gcd, sqrt
from typing import Literal

from ..fabric.errors import InvalidValue
from ..fabric.parameter_fields import integer
from ..graphs.circle import circle_position
from ..graphs.graph import MOST_NODES, Channel, Graph, Link
from ..graphs.routing.relation import RoutedGraph
from ..networks.family import GraphFamily, Group

__all__ = ["FAMILIES", "ChordalRing", "RoutedChordalRing"]


@dataclass(frozen=True)
class ChordalRing(Graph):
    """A two-way ring whose nodes also have chords (Ginosar and Egozi, 1989, 4.1.7).

    With one chord, even nodes i are linked to i + a, and odd nodes i + 1 to (i + 1) - a. If a is
    odd, these are the same links, and each node has one (Arden and Lee, 1981). If a is even, they
    are not, and each node has two, as with two chords (but for a = N / 2, which leads to the same
    node on and back). With two chords, each node i is linked to i + a and to i - a.

    Attributes
    ----------
    nodes : int
        N: even and from 6 to 65,536 with one chord, from 5 to 65,536 with two.
    chords : int
        Chords of a node: 1 or 2.
    chord : int or "auto"
        a, the nodes that a chord leads on: from 2 to N / 2 with one chord, and to less than N / 2
        with two. (A longer one leads as far back.) By default the value nearest to the square root
        of N, the smaller one of two; with one chord the nearest odd value.

    Examples
    --------
    >>> ChordalRing(16, 1).chord, ChordalRing(16, 2).chord, ChordalRing(64, 1, 7).chord
    (3, 4, 7)
    """

    nodes: int = integer(16, "nodes, each with a terminal", least=5, most=MOST_NODES)
    chords: int = integer(1, "chords of a node", least=1, most=2)
    chord: int | Literal["auto"] = integer(
        "auto",
        "nodes that a chord spans; auto: about the square root of nodes",
        least=2,
        choices=("auto",),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.chords == 1 and (self.nodes % 2 or self.nodes < 6):
            raise InvalidValue(
                f"Nodes must be even and at least 6 with one chord at a node, not {self.nodes}"
            )
        if self.chord == "auto":
            root = sqrt(self.nodes)
            single = self.allowed[1::2] if self.chords == 1 else self.allowed
            chosen = min(single, key=lambda chord: abs(chord - root))
            object.__setattr__(self, "chord", chosen)
        elif self.chord not in self.allowed:
            raise InvalidValue(
                f"Chord must be from {self.allowed[0]} to {self.allowed[-1]} with "
                f"{self.nodes} nodes and chords={self.chords}, not {self.chord}"
            )

    @property
    def allowed(self) -> range:
        """The allowed lengths of a chord."""
        return range(2, self.nodes // 2 + 1 if self.chords == 1 else (self.nodes + 1) // 2)

    @property
    def both(self) -> bool:
        """Whether a chord leads on and another one back from each node."""
        return self.chords == 2 or (int(self.chord) % 2 == 0 and 2 * int(self.chord) < self.nodes)

    def links(self) -> Iterator[Link]:
        """Ports 0 and 1 lead one node on and back; port 2 by a chord, on if there are two; and port
        3 back by the other."""
        for node in range(self.nodes):
            for port, step in enumerate(self._steps(node)):
                peer = (node + step) % self.nodes
                back = [(step + other) % self.nodes for other in self._steps(peer)].index(0)
                yield Link(node, port, peer, back)

    def _steps(self, node: int) -> list[int]:
        """How far each port leads on."""
        chord = int(self.chord)
        if self.both:
            return [1, -1, chord, -chord]
        return [1, -1, -chord if node % 2 else chord]

    def position(self, node: int) -> tuple[float, float]:
        return circle_position(node, self.nodes)

    def direction(self, link: Link) -> str:
        step = self._steps(link.node)[link.port]
        return f"{step:+}" if link.port < 2 else f"chord {step:+}"

    def routed(self) -> Graph:
        return RoutedChordalRing(self.nodes, 2, self.chord) if self.both else self


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


FAMILIES = (
    GraphFamily(
        "chordal-ring",
        "a two-way ring with one chord at each node, or two",
        ChordalRing,
        Group.STATIC,
        example={"nodes": 8},
        papers=("arden-lee",),
    ),
)
