"""Hierarchical networks: clusters of one network, joined by another (Dandamudi and Eager, 1990)."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from ...fabric.checks import check_integer
from ...fabric.errors import InvalidValue
from ...graphs.graph import Channel, Link
from ...graphs.routing.relation import Relation, RoutedGraph
from .down_channels import down_channels
from .nesting import Member, Nesting

__all__ = ["Hierarchical"]


class _Ports(NamedTuple):
    """The ports of a level: the first one of links, and the first one of attached terminals."""

    links: int
    terminals: int


class Hierarchical(RoutedGraph):
    """Clusters of a level-1 network, whose interface nodes are joined by level-2 networks, and so
    on (Dandamudi and Eager, section II-C).

    There are as many networks of a level as the networks above have terminals; at the top there is
    one. Networks of a level may be of several kinds, which take turns. The terminals are those of
    level 1, numbered network by network, and a *cluster* is a block of consecutive terminals. A
    terminal of a level-2 network is the interface node of a level-1 network: both are the same
    node, if the terminal is the only one at its node. A switch that has several terminals, as in a
    fat tree or a crossbar, is a node of its own, with a link to each of them and back. The same
    holds for the nodes of a bus or a multistage network, at any level, where packets enter at one
    node and leave at another.

    *Routing*: a packet goes up to the lowest level at which its source and its destination are in
    the same network, by way of the interface nodes, and then down. Within a network it takes the
    way that this network's own routing has.

    *Channels*: in each network, packets that stay in it or leave it upwards take the channels of
    the network's own routing. Packets that come down take them too, unless a packet that has come
    down could wait for one that goes up, perhaps through others. If it could, those that come down
    have channels of their own on each link, or a single one if their paths allow it
    (`down_channels`). Then nothing that goes down waits for anything that goes up, and the network
    is free of deadlock if the networks of its levels are.

    Parameters
    ----------
    levels : Sequence[Relation or Sequence[Relation]]
        The networks of all levels, lowest first: of each level one, or the kinds that take turns.
    interface : int
        The terminal of each network at whose node the interface is.
    replication : int
        Parallel links in the place of each link above level 1. Packets take any of them.
    intervals : Sequence[int]
        Cycles that links of each level need for a flit, lowest level first; the last number is that
        of all further levels.

    Raises
    ------
    TypeError, ValueError
        If a network has no such interface, packets of a level have an intermediate terminal, a
        level has more kinds than networks, or there are more than 65,536 nodes.

    Examples
    --------
    Two triangles, joined by two links in opposite directions:

    >>> from multicube.hdl.families.hyperx_graph import HyperX
    >>> pair = Hierarchical([HyperX(3, 1, 1), HyperX(2, 1, 1)])
    >>> pair.nodes, len(pair.edges)
    (6, 7)
    >>> [channel.node for channel in pair.path(1, 5)]
    [1, 0, 3, 5]

    A triangle and a square:

    >>> pair = Hierarchical([[HyperX(3, 1, 1), HyperX(2, 2, 1)], HyperX(2, 1, 1)])
    >>> [len(cluster) for cluster in pair.clusters]
    [3, 4]
    """

    def __init__(
        self,
        levels: Sequence[Relation | Sequence[Relation]],
        interface: int = 0,
        replication: int = 1,
        intervals: Sequence[int] = (1,),
    ) -> None:
        if not levels:
            raise InvalidValue("Levels must be at least 1, not 0")
        self.levels = tuple(
            (level,) if isinstance(level, Relation) else tuple(level) for level in levels
        )
        self.replication = check_integer("Replication", replication, 1, 64)
        self.interface = check_integer("Interface", interface, 0)
        if not 1 <= len(intervals) <= len(levels):
            raise InvalidValue(
                f"Intervals must be one for each level, at most {len(levels)}, not {len(intervals)}"
            )
        own = [check_integer("Interval", interval, 1, 64) for interval in intervals]
        self._intervals = own + own[-1:] * (len(levels) - len(own))
        for number, kinds in enumerate(self.levels, 1):
            if any(kind.phases is not None for kind in kinds):
                raise InvalidValue(
                    f"Level{number} must have a routing without intermediate terminals"
                )
        below = [kind.ports for kinds in self.levels[:-1] for kind in kinds]
        smallest = min(below, default=interface + 1)
        if interface >= smallest:
            raise InvalidValue(
                f"Interface must be a terminal of each network, from 0 to {smallest - 1}, "
                f"not {interface}"
            )
        self.nesting = Nesting(self.levels, self.interface)
        self._downs = [
            [down_channels(kind, self.interface) if i < len(levels) else 0 for kind in kinds]
            for i, kinds in enumerate(self.levels, 1)
        ]
        everywhere = [kind for kinds in self.levels for kind in kinds]
        self.ordered = replication == 1 and all(kind.ordered for kind in everywhere)
        self.looks_back = any(map(any, self._downs)) or any(kind.looks_back for kind in everywhere)

    def _down(self, i: int, cluster: int) -> int:
        """What `down_channels` says of a network of level i."""
        return self._downs[i][cluster % len(self.levels[i])]

    @cached_property
    def _ports(self) -> list[_Ports]:
        """The ports of each level, and where those of a further one would begin."""
        found, first = [], 0
        for i, kinds in enumerate(self.levels):
            copies = self._copies(i)
            links = (link for kind in kinds for link in kind.graph.links())
            width = 1 + max((max(link.port, link.peer_port) for link in links), default=-1)
            ports = _Ports(first, first + width * copies)
            attached = max(
                (
                    len(own[v])
                    for cluster in range(len(self.nesting.nodes[i]))
                    for v in self.nesting.switches(i, cluster)
                    for graph in (self.nesting.graph(i, cluster),)
                    for own in (graph.terminals, graph.exit_terminals)
                ),
                default=0,
            )
            found.append(ports)
            first = ports.terminals + attached * copies
        return [*found, _Ports(first, first)]

    def _copies(self, i: int) -> int:
        """Parallel links of a level."""
        return self.replication if i else 1

    # The graph.

    @property
    def nodes(self) -> int:
        return len(self.nesting.members)

    @property
    def clusters(self) -> Sequence[range]:
        """The terminals of each level-1 network."""
        return [range(*ends) for ends in pairwise(self.nesting.firsts[0])]

    @cached_property
    def homes(self) -> Sequence[int]:
        nodes = enumerate(self.nesting.nodes[0])
        return [
            own[home] for cluster, own in nodes for home in self.nesting.graph(0, cluster).homes
        ]

    @cached_property
    def exit_homes(self) -> Sequence[int]:
        nodes = enumerate(self.nesting.nodes[0])
        return [
            own[home]
            for cluster, own in nodes
            for home in self.nesting.graph(0, cluster).exit_homes
        ]

    def members(self, node: int) -> Sequence[Member]:
        """What a node is in the networks that it belongs to, lowest level first."""
        return self.nesting.members[node]

    def level(self, link: Link) -> int:
        """The level of a link, from 1."""
        return 1 + self._level(link.port)

    def name(self, node: int) -> str:
        level, cluster, own = self.nesting.members[node][0]
        name = self.nesting.graph(level, cluster).name(own)
        what = "cluster" if level == 0 else f"level-{level + 1} network"
        return f"{name} of {what} {cluster}"

    def position(self, node: int) -> tuple[float, float]:
        """The networks of a level are where the network above has its nodes."""
        return self._positions[node]

    @cached_property
    def _positions(self) -> list[tuple[float, float]]:
        return self.nesting.positions()

    def direction(self, link: Link) -> str:
        i = self._level(link.port)
        words = [f"level {i + 1}"]
        if link.port < self._ports[i].terminals:
            ports, copies = self._ports[i], self._copies(i)
            ends = [
                m
                for end in (link.node, link.peer)
                for m in self.nesting.members[end]
                if m.level == i
            ]
            own, copy = divmod(link.port - ports.links, copies)
            graph = self.nesting.graph(i, ends[0].cluster)
            about = graph.direction(graph.by_output[ends[0].node, own])
            words += [about] if about else []
            words += [f"link {copy}"] if copies > 1 else []
        return " ".join(words)

    def links(self) -> Sequence[Link]:
        return self._links

    @cached_property
    def _links(self) -> list[Link]:
        found = []
        for i, kinds in enumerate(self.levels):
            ports, copies = self._ports[i], self._copies(i)
            own = [list(kind.graph.links()) for kind in kinds]
            for cluster, numbers in enumerate(self.nesting.nodes[i]):
                graph = self.nesting.graph(i, cluster)
                for link in own[cluster % len(own)]:
                    found += [
                        Link(
                            numbers[link.node],
                            ports.links + link.port * copies + k,
                            numbers[link.peer],
                            ports.links + link.peer_port * copies + k,
                            self._lanes(i, cluster, link.channels),
                            link.latency,
                            self._intervals[i],
                        )
                        for k in range(copies)
                    ]
                pace = self._intervals[i]
                for switch in self.nesting.switches(i, cluster):
                    for place, terminal in enumerate(graph.exit_terminals[switch]):
                        below = self.nesting.below(i, cluster, terminal)
                        for k in range(copies):
                            here, there = ports.terminals + place * copies + k, ports.terminals + k
                            found.append(Link(numbers[switch], here, below, there, interval=pace))
                    for place, terminal in enumerate(graph.terminals[switch]):
                        below = self.nesting.below(i, cluster, terminal, leaves=True)
                        for k in range(copies):
                            here, there = ports.terminals + place * copies + k, ports.terminals + k
                            found.append(Link(below, there, numbers[switch], here, interval=pace))
        return found

    def _lanes(self, i: int, cluster: int, channels: int) -> int:
        """The channels of a link of a network: its own, and those for packets that come down."""
        down = self._down(i, cluster)
        return channels + (down if down != -1 else channels)

    # The routing.

    def _level(self, port: int) -> int:
        """The level of a link by its port."""
        return self._levels[port]

    @cached_property
    def _levels(self) -> list[int]:
        firsts = [ports.links for ports in self._ports]
        return [i for i, (own, after) in enumerate(pairwise(firsts)) for _ in range(own, after)]

    def route(self, node: int, came: Channel | None, destination: int) -> Iterator[Channel]:
        members = self.nesting.members[node]
        for at in members:
            first, after = self.nesting.starts[at.level + 1][at.cluster : at.cluster + 2]
            if first <= destination < after:
                number = bisect_right(self.nesting.starts[at.level], destination) - 1
                terminal = number - self.nesting.firsts[at.level][at.cluster]
                yield from self._within(at, came, terminal, node)
                return
        yield from self._within(members[-1], came, self.interface, node, up=True)

    def _within(
        self, at: Member, came: Channel | None, terminal: int, node: int, up: bool = False
    ) -> Iterator[Channel]:
        """The next channels to a terminal of the network that a node is in; from its node, those to
        the network above or, in one above level 1, to the attached network below."""
        i = at.level
        level, copies = self.nesting.network(i, at.cluster), self._copies(i)
        first, further = self._ports[i].links, self._down(i, at.cluster)
        before, down = self._last(at, came)
        arrived = True
        for channel in level.route(at.node, before, terminal):
            arrived = False
            channels = level.graph.by_output[at.node, channel.port].channels
            number = channel.number
            if down and further:
                number = channels + (number if further == -1 else 0)
            for k in range(copies):
                yield Channel(node, first + channel.port * copies + k, number)
        if arrived and up:
            for k in range(self.replication):
                yield Channel(node, self._ports[i + 1].terminals + k)
        elif arrived and i:
            place = level.graph.exit_terminals[at.node].index(terminal)
            for k in range(copies):
                yield Channel(node, self._ports[i].terminals + place * copies + k)

    def _last(self, at: Member, came: Channel | None) -> tuple[Channel | None, bool]:
        """The channel of the network that a node is in by which a header has come to the node, if
        it came by one; and whether it came into this network from above."""
        if came is None:
            return None, False
        i, ports = at.level, self._ports[at.level]
        if not ports.links <= came.port < ports.terminals:
            return None, came.port >= ports.terminals and self._level(came.port) > i
        port = (came.port - ports.links) // self._copies(i)
        (local,) = (m.node for m in self.nesting.members[came.node] if m.level == i)
        channels = self.nesting.graph(i, at.cluster).by_output[local, port].channels
        down = came.number >= channels
        number = came.number
        if down:
            number -= channels
        return Channel(local, port, number), down

    def is_escape(self, channel: Channel) -> bool:
        return channel not in self._others

    @cached_property
    def _others(self) -> frozenset[Channel]:
        """The channels that are no escape channels: those that are none in their own network."""
        found = set()
        for i, kinds in enumerate(self.levels):
            ports, copies = self._ports[i], self._copies(i)
            for kind, (level, down) in enumerate(zip(kinds, self._downs[i])):
                others = {
                    channel._replace(number=number)
                    for node in range(level.graph.nodes)
                    for channel in level.graph.leaving(node)
                    if not level.is_escape(channel)
                    for number in _numbers(level, channel, down)
                }
                for numbers in self.nesting.nodes[i][kind :: len(kinds)]:
                    found |= {
                        Channel(numbers[node], ports.links + port * copies + k, number)
                        for node, port, number in others
                        for k in range(copies)
                    }
        return frozenset(found)

    @cached_property
    def deadlock_free(self) -> bool:  # type: ignore[override]
        """Whether the networks of all levels are free of deadlock: then this one is, too."""
        return all(kind.deadlock() is None for kind in {k for kinds in self.levels for k in kinds})


def _numbers(level: Relation, channel: Channel, down: int) -> list[int]:
    """The numbers that a channel of a network has in the whole."""
    channels = level.graph.link_of(channel).channels
    return [channel.number, *([channels + channel.number] if down == -1 else [])]
