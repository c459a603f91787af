"""Hierarchical networks: clusters of one network, joined by another (Dandamudi and Eager, 1990)."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from math import prod
from typing import NamedTuple

from ...fabric.checks import check_integer, check_limit
from ...fabric.errors import InvalidValue
from ...graphs.circle import circle_position
from ...graphs.graph import Channel, Graph, Link
from ...graphs.routing.deadlock import dependencies, dependency_cycle
from ...graphs.routing.relation import Relation, RoutedGraph

__all__ = ["Hierarchical", "Member", "down_channels"]

_MOST = 2**16
"""Most nodes."""

_ROOM = 1.3
"""Distance between networks of a level in a drawing."""


class Member(NamedTuple):
    """What a node is in a network of one level: level (from 0), number of the network among those
    of this level, and node of it."""

    level: int
    cluster: int
    node: int


class _Ports(NamedTuple):
    """The ports of a level: the first one of links, and the first one of attached terminals."""

    links: int
    terminals: int


class Hierarchical(RoutedGraph):
    """Clusters of a level-1 network, whose interface nodes are joined by level-2 networks, and so
    on (Dandamudi and Eager, section II-C).

    There are as many networks of a level as the networks above have terminals; at the top there is
    one. Its terminals are those of level 1, numbered network by network: so a *cluster* is a block
    of consecutive terminals. A terminal of a level-2 network is the interface node of a level-1
    network: both are the same node, if the terminal is the only one at its node. (A switch that has
    several terminals, as in a fat tree or a crossbar, is a node of its own, with a link to each of
    them and back. So are the nodes of a bus or a multistage network, at any level, where packets
    enter at one node and leave at another.)

    *Routing*: a packet goes up to the lowest level at which its source and its destination are in
    the same network, by way of the interface nodes, and then down. Within a network it takes the
    way that this network's own routing has.

    *Channels*: in each network, packets that stay in it or leave it upwards take the channels of
    the network's own routing. So do packets that come down, unless a packet that has come down can
    wait for one that goes up (through others). If it can, those that come down have a channel of
    their own on each link; a single one, if their paths allow it (`down_channels`). So nothing that
    goes down waits for anything that goes up, and the network is free of deadlock if the networks
    of its levels are.

    Parameters
    ----------
    levels : Sequence[Relation]
        The networks of all levels, lowest first.
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
        If a network has no such interface, packets of a level have an intermediate terminal, or
        there are more than 65,536 nodes.

    Examples
    --------
    Two triangles, joined by two links in opposite directions:

    >>> from multicube.hdl.families.hyperx_graph import HyperX
    >>> pair = Hierarchical([HyperX(3, 1, 1), HyperX(2, 1, 1)])
    >>> pair.nodes, len(pair.edges)
    (6, 7)
    >>> [channel.node for channel in pair.path(1, 5)]
    [1, 0, 3, 5]
    """

    def __init__(
        self,
        levels: Sequence[Relation],
        interface: int = 0,
        replication: int = 1,
        intervals: Sequence[int] = (1,),
    ) -> None:
        if not levels:
            raise InvalidValue("Levels must be at least 1, not 0")
        self.levels = tuple(levels)
        self.replication = check_integer("Replication", replication, 1, 64)
        self.interface = check_integer("Interface", interface, 0)
        if not 1 <= len(intervals) <= len(levels):
            raise InvalidValue(
                f"Intervals must be one for each level, at most {len(levels)}, not {len(intervals)}"
            )
        own = [check_integer("Interval", interval, 1, 64) for interval in intervals]
        self._intervals = own + own[-1:] * (len(levels) - len(own))
        for number, level in enumerate(levels, 1):
            if level.phases is not None:
                raise InvalidValue(
                    f"Level{number} must have a routing without intermediate terminals"
                )
        smallest = min((level.ports for level in levels[:-1]), default=interface + 1)
        if interface >= smallest:
            raise InvalidValue(
                f"Interface must be a terminal of each network, from 0 to {smallest - 1}, "
                f"not {interface}"
            )
        # How many terminals of level 1 are in a network of each level, and one of level 0.
        self._sizes = [prod(level.ports for level in levels[:i]) for i in range(len(levels) + 1)]
        check_limit("Terminals", self._sizes[-1], _MOST)
        self._place_nodes()
        self._downs = [
            down_channels(level, self.interface) if i < len(levels) else 0
            for i, level in enumerate(levels, 1)
        ]
        self.ordered = replication == 1 and all(level.ordered for level in levels)
        self.looks_back = any(self._downs) or any(level.looks_back for level in levels)

    def _place_nodes(self) -> None:
        """Number the nodes: level 1 first."""
        self._members: list[list[Member]] = []
        self._nodes: list[list[list[int]]] = []
        for i, level in enumerate(self.levels):
            graph = level.graph
            copies = self._sizes[-1] // self._sizes[i + 1]
            check_limit("Nodes", len(self._members) + copies * graph.nodes, _MOST)
            self._nodes.append([])
            for cluster in range(copies):
                numbers = []
                for node in range(graph.nodes):
                    if self._is_interface(i, node):
                        number = self._below(i, cluster, graph.terminals[node][0])
                    else:
                        number = len(self._members)
                        self._members.append([])
                    self._members[number].append(Member(i, cluster, node))
                    numbers.append(number)
                self._nodes[i].append(numbers)

    def _is_interface(self, i: int, node: int) -> bool:
        """Whether a node of a network of level i is the interface node of a network below."""
        graph = self.levels[i].graph
        if i == 0 or len(graph.terminals[node]) != 1:
            return False
        below = self.levels[i - 1].graph
        two = below.homes[self.interface] != below.exit_homes[self.interface]
        return not two and graph.terminals[node] == graph.exit_terminals[node]

    def _below(self, i: int, cluster: int, terminal: int, leaves: bool = False) -> int:
        """The interface node that is a terminal of a network of level i: where packets enter the
        network below, or leave it."""
        graph = self.levels[i - 1].graph
        network = cluster * self.levels[i].ports + terminal
        homes = graph.exit_homes if leaves else graph.homes
        return self._nodes[i - 1][network][homes[self.interface]]

    @cached_property
    def _ports(self) -> list[_Ports]:
        """The ports of each level, and where those of a further one would begin."""
        found, first = [], 0
        for i, level in enumerate(self.levels):
            graph, copies = level.graph, self._copies(i)
            width = 1 + max((max(link.port, link.peer_port) for link in graph.links()), default=-1)
            ports = _Ports(first, first + width * copies)
            both = (graph.terminals, graph.exit_terminals)
            attached = max((len(own[v]) for own in both for v in self._switches(i)), default=0)
            found.append(ports)
            first = ports.terminals + attached * copies
        return [*found, _Ports(first, first)]

    def _copies(self, i: int) -> int:
        """Parallel links of a level."""
        return self.replication if i else 1

    def _switches(self, i: int) -> list[int]:
        """The nodes of a network above level 1 that are not interface nodes themselves."""
        if i == 0:
            return []
        return [v for v in range(self.levels[i].graph.nodes) if not self._is_interface(i, v)]

    # The graph.

    @property
    def nodes(self) -> int:
        return len(self._members)

    @property
    def cluster(self) -> int:
        """Terminals of a level-1 network."""
        return self.levels[0].ports

    @cached_property
    def homes(self) -> Sequence[int]:
        own = self.levels[0].graph.homes
        return [numbers[home] for numbers in self._nodes[0] for home in own]

    @cached_property
    def exit_homes(self) -> Sequence[int]:
        own = self.levels[0].graph.exit_homes
        return [numbers[home] for numbers in self._nodes[0] for home in own]

    def members(self, node: int) -> Sequence[Member]:
        """What a node is in the networks that it belongs to, lowest level first."""
        return self._members[node]

    def level(self, link: Link) -> int:
        """The level of a link, from 1."""
        return 1 + self._level(link.port)

    def name(self, node: int) -> str:
        level, cluster, own = self._members[node][0]
        name = self.levels[level].graph.name(own)
        what = "cluster" if level == 0 else f"level-{level + 1} network"
        return f"{name} of {what} {cluster}"

    def position(self, node: int) -> tuple[float, float]:
        """The networks of a level are where the network above has its nodes."""
        return self._positions[node]

    @cached_property
    def _positions(self) -> list[tuple[float, float]]:
        shapes = [_centred(level.graph) for level in self.levels]
        # How far apart nodes of a level are, so that what is at each has room.
        scales, size = [1.0], 0.0
        for shape in shapes:
            size += scales[-1] * max(max(along) - min(along) for along in zip(*shape))
            scales.append(size + _ROOM)
        places: list[tuple[float, float]] = []
        for at in self._members:
            level, cluster, node = at[0]
            x, y = (scales[level] * each for each in shapes[level][node])
            for i in range(level + 1, len(self.levels)):
                cluster, terminal = divmod(cluster, self.levels[i].ports)
                above = shapes[i][self.levels[i].graph.homes[terminal]]
                x, y = x + scales[i] * above[0], y + scales[i] * above[1]
            places.append((x, y))
        return places

    def direction(self, link: Link) -> str:
        i = self._level(link.port)
        words = [f"level {i + 1}"]
        if link.port < self._ports[i].terminals:
            ports, copies = self._ports[i], self._copies(i)
            ends = [m for end in (link.node, link.peer) for m in self._members[end] if m.level == i]
            own, copy = divmod(link.port - ports.links, copies)
            local = self.levels[i].graph.by_output[ends[0].node, own]
            words += [about] if (about := self.levels[i].graph.direction(local)) else []
            words += [f"link {copy}"] if copies > 1 else []
        return " ".join(words)

    def links(self) -> Sequence[Link]:
        return self._links

    @cached_property
    def _links(self) -> list[Link]:
        found = []
        for i, level in enumerate(self.levels):
            ports, copies = self._ports[i], self._copies(i)
            own = list(level.graph.links())
            for cluster, numbers in enumerate(self._nodes[i]):
                for link in own:
                    found += [
                        Link(
                            numbers[link.node],
                            ports.links + link.port * copies + k,
                            numbers[link.peer],
                            ports.links + link.peer_port * copies + k,
                            self._lanes(i, link.channels),
                            link.latency,
                            self._intervals[i],
                        )
                        for k in range(copies)
                    ]
                pace = self._intervals[i]
                for switch in self._switches(i):
                    for place, terminal in enumerate(level.graph.exit_terminals[switch]):
                        below = self._below(i, cluster, terminal)
                        for k in range(copies):
                            here, there = ports.terminals + place * copies + k, ports.terminals + k
                            found.append(Link(numbers[switch], here, below, there, interval=pace))
                    for place, terminal in enumerate(level.graph.terminals[switch]):
                        below = self._below(i, cluster, terminal, leaves=True)
                        for k in range(copies):
                            here, there = ports.terminals + place * copies + k, ports.terminals + k
                            found.append(Link(below, there, numbers[switch], here, interval=pace))
        return found

    def _lanes(self, i: int, channels: int) -> int:
        """The channels of a link of a level: its own, and those for packets that come down."""
        return channels + (self._downs[i] if self._downs[i] != -1 else channels)

    # The routing.

    def _level(self, port: int) -> int:
        """The level of a link by its port."""
        return self._levels[port]

    @cached_property
    def _levels(self) -> list[int]:
        firsts = [ports.links for ports in self._ports]
        return [i for i, (own, after) in enumerate(pairwise(firsts)) for _ in range(own, after)]

    def route(self, node: int, came: Channel | None, destination: int) -> Iterator[Channel]:
        members = self._members[node]
        for at in members:
            if at.cluster == destination // self._sizes[at.level + 1]:
                terminal = destination // self._sizes[at.level] % self.levels[at.level].ports
                yield from self._within(at, came, terminal, node)
                return
        yield from self._within(members[-1], came, self.interface, node, up=True)

    def _within(
        self, at: Member, came: Channel | None, terminal: int, node: int, up: bool = False
    ) -> Iterator[Channel]:
        """The next channels to a terminal of the network that a node is in; from its node, those to
        the network above or, in one above level 1, to the attached network below."""
        i = at.level
        level, copies = self.levels[i], self._copies(i)
        first = self._ports[i].links
        before, down = self._last(at, came)
        arrived = True
        for channel in level.route(at.node, before, terminal):
            arrived = False
            channels = level.graph.by_output[at.node, channel.port].channels
            number = channel.number
            if down and self._downs[i]:
                number = channels + (number if self._downs[i] == -1 else 0)
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
        (local,) = (m.node for m in self._members[came.node] if m.level == i)
        channels = self.levels[i].graph.by_output[local, port].channels
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
        for i, level in enumerate(self.levels):
            ports, copies = self._ports[i], self._copies(i)
            others = {
                channel._replace(number=number)
                for node in range(level.graph.nodes)
                for channel in level.graph.leaving(node)
                if not level.is_escape(channel)
                for number in self._numbers(i, channel)
            }
            for numbers in self._nodes[i]:
                found |= {
                    Channel(numbers[node], ports.links + port * copies + k, number)
                    for node, port, number in others
                    for k in range(copies)
                }
        return frozenset(found)

    def _numbers(self, i: int, channel: Channel) -> list[int]:
        """The numbers that a channel of a network has here."""
        if self._downs[i] != -1:
            return [channel.number]
        channels = self.levels[i].graph.link_of(channel).channels
        return [channel.number, channels + channel.number]

    @cached_property
    def deadlock_free(self) -> bool:  # type: ignore[override]
        """Whether the networks of all levels are free of deadlock: then this one is, too."""
        return all(level.deadlock() is None for level in set(self.levels))


_FROM, _TO = Channel(-1, 0), Channel(-1, 1)
"""Stand for the channels by which packets come down into a network, and leave it upwards."""


def _centred(graph: Graph) -> list[tuple[float, float]]:
    """The positions of nodes, or places on a circle, around the middle of all."""
    given = [graph.position(node) for node in range(graph.nodes)]
    places = [place or circle_position(node, graph.nodes) for node, place in enumerate(given)]
    x, y = ((max(along) + min(along)) / 2 for along in zip(*places))
    return [(across - x, up - y) for across, up in places]


def down_channels(level: Relation, interface: int) -> int:
    """How many further channels a link of a network needs for packets that come into it at its
    interface, so that they can't wait for packets that leave it there.

    Returns
    -------
    int
        0 if they can't wait for each other anyway: no path of dependencies leads from a channel
        that a packet takes from the interface to one that leads a packet to it. In a hypercube with
        e-cube routing the dimensions on such a path rise, so it never comes back to the interface.
        1 if the routing depends on the node and the destination alone, without a choice, and the
        paths from the interface have no cycle of dependencies. -1 for as many as there are.
    """
    graph = level.graph
    enters, leaves = graph.homes[interface], graph.exit_homes[interface]
    moves = []
    for terminal in range(level.ports):
        own: dict[Channel, list[Channel]] = {_TO: []}
        for node, came, nexts in level.steps(terminal):
            if came is not None:
                found = own.setdefault(came, [])
                found += nexts or ([_TO] if terminal == interface and node == leaves else [])
            elif node == enters and nexts:
                own[_FROM] = nexts
        moves.append(own)

    def is_escape(channel: Channel) -> bool:
        return channel.node < 0 or level.is_escape(channel)

    waits = dependencies(moves, is_escape)
    if not _leads(waits, _FROM, _TO):
        return 0
    if level.choice or level.looks_back:
        return -1
    down: dict[Channel, set[Channel]] = {}
    for terminal in range(level.ports):
        path = [channel._replace(number=0) for channel in level.path(interface, terminal)]
        for before, after in pairwise(path):
            down.setdefault(before, set()).add(after)
    return 1 if dependency_cycle(down) is None else -1


def _leads(waits: Mapping[Channel, Iterable[Channel]], start: Channel, end: Channel) -> bool:
    """Whether a path of dependencies leads from a channel to another one."""
    seen, waiting = {start}, [start]
    while waiting:
        for after in waits.get(waiting.pop(), ()):
            if after not in seen:
                seen.add(after)
                waiting.append(after)
    return end in seen
