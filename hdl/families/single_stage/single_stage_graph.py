"""Single-stage variants of the multistage cube: MAN-YO, LSSN and Lambda (Siegel et al., VIII)."""

from abc import abstractmethod
from bisect import bisect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from itertools import product
from typing import ClassVar, NamedTuple

from ...fabric.parameter_fields import integer, word
from ...graphs.graph import Channel, Link, Turn
from ...graphs.routing.relation import RoutedGraph
from .routing_ring import RoutingRing, routing_ring

__all__ = ["LOOKUPS", "Lambda", "LoopSwitching", "ManYo", "SingleStageCube", "Way"]

LOOKUPS = {
    "logic": "the minimal sum of products",
    "table": "a table of 2 N rows in each router, for N nodes",
}
"""How a router of a Lambda network finds the direction of a packet."""


class Way(NamedTuple):
    """A direction between the stages, and the number of a channel."""

    backward: bool
    channel: int


class Sweep(NamedTuple):
    """Channels of consecutive links: the direction, the stage that the first link leaves, and the
    number of links."""

    backward: bool
    stage: int
    links: int


@dataclass(frozen=True)
class SingleStageCube(RoutedGraph):
    """A multistage cube of m stages of 2^(m-1) boxes whose outputs are its inputs: boxes are nodes.

    *Loops*: straight through the boxes, 2^m loops lead through all stages and back to the first.
    Loop l is a number of m bits. Loops that differ in bit i alone meet in a node of stage i, and
    there packets can change between them. So a node is named by its stage and by the bits that its
    two loops have in common: (i) l_{m-1} ... l_{i+1} l_{i-1} ... l_0. Node numbers have the stage
    on top, and this label of m - 1 bits below it.

    *Links* follow the loops: from stage i to stage i + 1, modulo m. Port b of a node in stage i is
    for the loop whose bit i is b, both as an output and as an input. With links in both directions,
    port 2 + b leads back along this loop, and a packet from ahead comes in by it.

    *Routing* is by destination tags: a packet leaves a node in stage j on the loop whose bit j is
    that of its destination. If its node has one terminal, a destination in stage i has a don't care
    in bit i: in stage i a packet stays on its loop. One that enters there takes the loop whose bit
    i tells whether bit i - 1 of the labels differs; so loops carry nearly the same load. A subclass
    chooses the direction (`backward`).

    *Channels* are buffer classes. All channels have an order, which is that of some `sweeps` over
    the stages in one direction: each names channels of the links that it passes, one after the
    other, and each channel of a link is named once, channel 0 first. A packet begins in channel 0
    and goes on to the first channel of the next link that is later in this order. So packets can't
    wait for each other in a cycle (Dally and Seitz, 1987).

    Attributes
    ----------
    stages : int
        m, from 2 to 10.
    channels : int or "auto"
        Most channels of a link; "auto" for one for each buffer class. With fewer, the last one is
        for all further classes too, and packets may wait for each other in a cycle.
    """

    stages: int = integer(
        4, "stages m: there are m 2^(m-1) nodes", least=2, most=10, title="Stages m"
    )
    _: KW_ONLY
    channels: int | str = integer(
        "auto",
        "virtual channels of each link; auto: as many as needed; fewer can deadlock",
        least=1,
        most=64,
        choices=("auto",),
    )

    two_way: ClassVar[bool] = False
    """Whether links lead in both directions."""
    terminals_of_node: ClassVar[int] = 1
    """Terminals at each node: one, or one of each loop."""

    same_router = True

    @property
    def deadlock_free(self) -> bool:  # type: ignore[override]
        return self.channels == "auto"

    # Addresses.

    @property
    def nodes(self) -> int:
        return self.stages << self.stages - 1

    def stage(self, node: int) -> int:
        """The stage of a node."""
        return node >> self.stages - 1

    def loops(self, node: int) -> tuple[int, int]:
        """The two loops through a node."""
        stage = self.stage(node)
        low, high = node & (1 << stage) - 1, self._label(node) >> stage
        first = high << stage + 1 | low
        return first, first | 1 << stage

    def node(self, stage: int, loop: int) -> int:
        """The node in which a loop passes a stage."""
        low, high = loop & (1 << stage) - 1, loop >> stage + 1
        return stage << self.stages - 1 | high << stage | low

    def terminal(self, stage: int, loop: int) -> int:
        """The terminal of a loop in a stage."""
        if self.terminals_of_node == 2:
            return stage << self.stages | loop
        return self.node(stage, loop)

    def _label(self, node: int) -> int:
        return node & (1 << self.stages - 1) - 1

    def name(self, node: int) -> str:
        """As in the paper: the stage in parentheses, and the bits that both loops have."""
        return f"({self.stage(node)}) {self._label(node):0{self.stages - 1}b}"

    def loop(self, terminal: int) -> int:
        """The loop of a terminal; if its node has one, the one of its two loops whose don't care is
        a copy of the bit below it (in stage 0, of the highest)."""
        if self.terminals_of_node == 2:
            return terminal & (1 << self.stages) - 1
        low, high = self.loops(terminal)
        return high if low >> self.below(self.stage(terminal)) & 1 else low

    def below(self, stage: int) -> int:
        """The stage behind a stage, whose bit is the one below its own."""
        return (stage or self.stages) - 1

    @cached_property
    def homes(self) -> Sequence[int]:
        if self.terminals_of_node == 1:
            return range(self.nodes)
        pairs = product(range(self.stages), range(1 << self.stages))
        return tuple(self.node(*pair) for pair in pairs)

    # Links.

    def links(self) -> Iterator[Link]:
        count = self.channels_per_link
        for stage, loop in product(range(self.stages), range(1 << self.stages)):
            ahead = (stage + 1) % self.stages
            here, there = self.node(stage, loop), self.node(ahead, loop)
            port, peer_port = loop >> stage & 1, loop >> ahead & 1
            yield Link(here, port, there, peer_port, count)
            if self.two_way:
                yield Link(there, 2 + peer_port, here, 2 + port, count)

    def position(self, node: int) -> tuple[float, float]:
        """Stages from left to right, as in Fig. 10; labels from top to bottom."""
        gap = max(2.0, (1 << self.stages - 1) / 2.5)
        return gap * self.stage(node), -float(self._label(node))

    def direction(self, link: Link) -> str:
        loop = f"loop {self._loop_of(link)}"
        return f"{('forward', 'back')[link.port // 2]} {loop}" if self.two_way else loop

    def around(self, link: Link) -> str:
        """The label of a loop, as in Fig. 11, where it goes from the last stage to the first."""
        ends = self.stage(link.node), self.stage(link.peer)
        forward, last = link.port < 2, (self.stages - 1, 0)
        return self._loop_of(link) if (ends if forward else ends[::-1]) == last else ""

    def _loop_of(self, link: Link) -> str:
        return f"{self.loops(link.node)[link.port % 2]:0{self.stages}b}"

    # Routing.

    @abstractmethod
    def backward(self, difference: int, resultant: int) -> bool:
        """The direction in which a packet goes on.

        Parameters
        ----------
        difference : int
            Steps forward to the stage of its destination.
        resultant : int
            The exclusive or of its loop and that of its destination; bit k is of the stage that is
            k steps ahead. Bit 0 does not matter.
        """

    @property
    def sweeps(self) -> Sequence[Sweep]:
        """The sweeps that order the channels, with channels enough for all packets."""
        return [Sweep(False, 0, self.stages)] * 3

    @cached_property
    def order(self) -> Mapping[tuple[int, bool], list[int]]:
        """For the links that leave a stage in a direction: the place of each of their channels."""
        found: dict[tuple[int, bool], list[int]] = {}
        place = 0
        for backward, first, links in self.sweeps:
            for step in range(links):
                stage = (first - step if backward else first + step) % self.stages
                found.setdefault((stage, backward), []).append(place)
                place += 1
        return found

    def next_channel(self, stage: int, came: Way | None, *, backward: bool) -> int:
        """The channel in which a packet leaves a stage."""
        if came is None:
            return 0
        behind = (stage + (1 if came.backward else -1)) % self.stages
        before = self.order[behind, came.backward][came.channel]
        next_ = bisect(self.order[stage, backward], before)
        return next_ if self.channels == "auto" else min(next_, int(self.channels) - 1)

    def route(self, node: int, came: Channel | None, destination: int) -> Iterator[Channel]:
        """The next channel of a packet in a node; none if it has arrived."""
        ring, stage, wanted = self.ring, self.stage(node), self.loop(destination)
        difference = (self.stage(self.homes[destination]) - stage) % self.stages
        resultant = ring.turned(wanted ^ self.loops(node)[0], stage)
        if difference or resultant & ~1:
            backward = self.backward(difference, resultant)
            way = None if came is None else Way(came.port >= 2, came.number)
            number = self.next_channel(stage, way, backward=backward)
            bit = wanted >> stage & 1
            if not difference and self.terminals_of_node == 1:
                differs = wanted ^ self.loops(node)[0]
                bit = differs >> self.below(stage) & 1
                if came is not None:
                    bit = self.link_of(came).peer_port & 1
            yield Channel(node, 2 * backward + bit, number)

    @property
    def ring(self) -> RoutingRing:
        """The stages as a ring."""
        return routing_ring(self.stages)

    @cached_property
    def channels_per_link(self) -> int:
        """Virtual channels of each link: one for each buffer class."""
        return 1 + max(way.channel for ways in self.passages for _, way in ways if way)

    @cached_property
    def passages(self) -> list[set[tuple[Way | None, Way | None]]]:
        """For each stage, how packets come to it and how they leave it; None for terminals.

        They are followed through stages and channels, from everywhere.
        """
        count = self.stages
        found: list[set[tuple[Way | None, Way | None]]] = [set() for _ in range(count)]
        waiting: list[tuple[int, int, int, Way | None]] = [
            (stage, difference, resultant, None)
            for stage, difference in product(range(count), repeat=2)
            for resultant in range(0, 1 << count, 2)
        ]
        seen = set(waiting)
        for stage, difference, resultant, came in waiting:
            if not difference and not resultant:
                found[stage].add((came, None))
                continue
            backward = self.backward(difference, resultant)
            way = Way(backward, self.next_channel(stage, came, backward=backward))
            found[stage].add((came, way))
            ahead = (stage + (-1 if backward else 1)) % count
            left, needed = self.ring.step(difference, resultant, backward=backward)
            # A don't care may differ on the loop that it stays on.
            for bits in {needed, needed | (1 << left if not difference else 0)}:
                after = ahead, left, bits, way
                if after not in seen:
                    seen.add(after)
                    waiting.append(after)
        return found

    def turns(self) -> Mapping[int, frozenset[Turn]]:
        """As `Relation.turns`. A packet turns back only on the other loop."""
        turns = [
            frozenset(
                Turn(
                    None if came is None else (2 * came.backward + entered, came.channel),
                    None if way is None else (2 * way.backward + left, way.channel),
                )
                for came, way in ways
                for entered, left in product(range(2), repeat=2)
                if came is None or way is None or came.backward == way.backward or entered != left
            )
            for ways in self.passages
        ]
        return {node: turns[self.stage(node)] for node in range(self.nodes)}


@dataclass(frozen=True)
class ManYo(SingleStageCube):
    """MAN-YO (also CBAR and HCSN): one-way links, and one terminal at each node (VIII-B).

    A packet goes forward. After at most m - 1 links it is on a loop of its destination, and after
    at most m - 1 more it is there.

    Examples
    --------
    >>> graph = ManYo(4)
    >>> [graph.name(channel.node) for channel in graph.path(0b01_000, 0b00_111)]
    ['(1) 000', '(2) 010', '(3) 110', '(0) 111']
    """

    def backward(self, difference: int, resultant: int) -> bool:
        return False

    @property
    def diameter(self) -> int:
        """Links on the longest path."""
        return 2 * self.stages - 2


@dataclass(frozen=True)
class LoopSwitching(ManYo):
    """LSSN, the loop structured switching network: one-way links, and one terminal of each loop at
    each node (VIII-C).

    So there are m 2^m terminals. The number of a terminal has the stage on top and all bits of the
    loop below it. A packet that comes on the other loop changes to its destination's in the last
    node.
    """

    terminals_of_node = 2


@dataclass(frozen=True)
class Lambda(SingleStageCube):
    """Lambda: two-way links, and one terminal at each node (VIII-D).

    Packets take shortest paths, with at most two turns: those of the routing ring
    (`routing_ring`).

    Attributes
    ----------
    stages : int
    lookup : "logic" or "table"
        How routers find the direction. Packets take the same paths with both.
    """

    lookup: str = word("logic", "how routers find the direction of a packet", LOOKUPS)

    two_way = True

    def backward(self, difference: int, resultant: int) -> bool:
        return self.ring.backward(difference, resultant)

    @property
    def sweeps(self) -> Sequence[Sweep]:
        """As in `SingleStageCube`: those of `_SWEEPS`, or whole ones in turn."""
        count = self.stages
        whole = (Sweep(False, 0, count), Sweep(True, count // 2, count)) * 3
        known = _SWEEPS.get(count)
        return whole if known is None else [Sweep(*each) for each in known]

    @property
    def diameter(self) -> int:
        """Links on the longest path."""
        return self.ring.diameter


_F, _B = False, True

_SWEEPS = {
    4: ((_B, 0, 3), (_F, 1, 4), (_B, 1, 2), (_F, 0, 4), (_B, 3, 3)),
    7: (*((_F, 0, 4), (_B, 0, 7), (_F, 4, 7), (_B, 0, 7), (_F, 4, 7), (_B, 0, 7), (_F, 4, 3)),),
    8: (*((_F, 0, 6), (_B, 0, 8), (_F, 6, 8), (_B, 1, 8), (_F, 6, 8), (_B, 4, 8), (_F, 6, 2)),),
    9: (*((_F, 0, 7), (_B, 1, 9), (_F, 7, 9), (_B, 1, 9), (_F, 7, 9), (_B, 4, 9), (_F, 7, 2)),),
    10: (
        *((_F, 6, 8), (_B, 5, 5), (_F, 4, 4), (_B, 0, 8)),
        *((_F, 8, 9), (_B, 2, 7), (_F, 7, 9), (_B, 5, 10)),
    ),
}
"""Sweeps of a Lambda network, found by random search: direction, first stage, and links. With these
one channel less is enough than with whole sweeps, whose first stages are the same in a direction.
"""
