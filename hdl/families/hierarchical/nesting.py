"""Which networks a hierarchy has at each level, and which nodes they share."""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate, chain
from math import inf
from typing import NamedTuple

from ...fabric.checks import check_limit
from ...fabric.errors import InvalidValue
from ...graphs.circle import circle_position
from ...graphs.graph import MOST_NODES, Graph
from ...graphs.routing.relation import Relation

__all__ = ["Member", "Nesting"]

Point = tuple[float, float]

_ROOM = 1.3
"""Distance between networks of a level in a drawing."""

_ROOM_BESIDE = 2.6
"""The same, if terminals are at the left and at the right of their nodes."""


class Member(NamedTuple):
    """What a node is in a network of one level: level (from 0), number of the network among those
    of this level, and node of it."""

    level: int
    cluster: int
    node: int


class Nesting:
    """The networks of all levels, their terminals, and the numbers of their nodes.

    There are as many networks of a level as those above have terminals, and one at the top.

    Parameters
    ----------
    levels : Sequence[Sequence[Relation]]
        The networks of each level, lowest first, which take turns.
    interface : int
        The terminal of each network at whose node the interface is.

    Attributes
    ----------
    firsts : list[list[int]]
        By level: the first terminal of each network, and how many terminals there are.
    starts : list[Sequence[int]]
        By level, from the terminals of level 1 on: the first of these in each network of the level
        below.
    members : list[list[Member]]
        By node: what it is in each network that it belongs to, lowest level first.
    nodes : list[list[list[int]]]
        By level and network: the numbers of its nodes.
    """

    def __init__(self, levels: Sequence[Sequence[Relation]], interface: int) -> None:
        self.levels = levels
        self.interface = interface
        self._count_terminals()
        self._place_nodes()

    def _count_terminals(self) -> None:
        """Find the first terminal of each network, of those of its level and of those of level 1;
        then how many there are."""
        networks, counts = 1, []
        for number, kinds in reversed([*enumerate(self.levels, 1)]):
            if not 1 <= len(kinds) <= networks:
                raise InvalidValue(
                    f"Level{number} must have from 1 to {networks} networks, which take turns, "
                    f"not {len(kinds)}"
                )
            counts.append(networks)
            turns, rest = divmod(networks, len(kinds))
            ports = [kind.ports for kind in kinds]
            networks = turns * sum(ports) + sum(ports[:rest])
        check_limit("Terminals", networks, MOST_NODES)
        self.firsts: list[list[int]] = []
        self.starts: list[Sequence[int]] = [range(networks + 1)]
        for i, count in enumerate(reversed(counts)):
            ports = [self.network(i, cluster).ports for cluster in range(count)]
            self.firsts.append([*accumulate(ports, initial=0)])
            self.starts.append([self.starts[-1][first] for first in self.firsts[-1]])

    def network(self, i: int, cluster: int) -> Relation:
        """A network of level i."""
        kinds = self.levels[i]
        return kinds[cluster % len(kinds)]

    def graph(self, i: int, cluster: int) -> Graph:
        """The graph of a network of level i."""
        return self.network(i, cluster).graph

    def _place_nodes(self) -> None:
        """Number the nodes: level 1 first."""
        self.members: list[list[Member]] = []
        self.nodes: list[list[list[int]]] = []
        for i, firsts in enumerate(self.firsts):
            self.nodes.append([])
            for cluster in range(len(firsts) - 1):
                graph, numbers = self.graph(i, cluster), []
                check_limit("Nodes", len(self.members) + graph.nodes, MOST_NODES)
                for node in range(graph.nodes):
                    if self.is_interface(i, cluster, node):
                        number = self.below(i, cluster, graph.terminals[node][0])
                    else:
                        number = len(self.members)
                        self.members.append([])
                    self.members[number].append(Member(i, cluster, node))
                    numbers.append(number)
                self.nodes[i].append(numbers)

    def is_interface(self, i: int, cluster: int, node: int) -> bool:
        """Whether a node of a network of level i is the interface node of a network below."""
        graph = self.graph(i, cluster)
        if i == 0 or len(graph.terminals[node]) != 1:
            return False
        below = self.graph(i - 1, self.firsts[i][cluster] + graph.terminals[node][0])
        two = below.homes[self.interface] != below.exit_homes[self.interface]
        return not two and graph.terminals[node] == graph.exit_terminals[node]

    def below(self, i: int, cluster: int, terminal: int, leaves: bool = False) -> int:
        """The interface node that is a terminal of a network of level i: where packets enter the
        network below, or leave it."""
        network = self.firsts[i][cluster] + terminal
        graph = self.graph(i - 1, network)
        homes = graph.exit_homes if leaves else graph.homes
        return self.nodes[i - 1][network][homes[self.interface]]

    def switches(self, i: int, cluster: int) -> list[int]:
        """The nodes of a network above level 1 that are not interface nodes themselves."""
        if i == 0:
            return []
        nodes = range(self.graph(i, cluster).nodes)
        return [node for node in nodes if not self.is_interface(i, cluster, node)]

    def above(self, i: int, number: int) -> tuple[int, int]:
        """The network of level i that a terminal of this level, or a network of the level below, is
        at, and its number there."""
        cluster = bisect_right(self.firsts[i], number) - 1
        return cluster, number - self.firsts[i][cluster]

    def positions(self) -> list[Point]:
        """Where each node is: the networks of a level are where the network above has its nodes."""
        shapes = [
            [_shape(kind.graph, i, self._apart(i, number)) for number, kind in enumerate(kinds)]
            for i, kinds in enumerate(self.levels)
        ]
        # How far apart nodes of a level are, so that what is at each has room.
        clusters = [kind.graph for kind in self.levels[0]]
        one_way = any(list(kind.homes) != list(kind.exit_homes) for kind in clusters)
        room = _ROOM_BESIDE if one_way else _ROOM
        scales, size = [1.0], 0.0
        for own in shapes:
            sides = (max(along) - min(along) for ends in own for along in zip(*chain(*ends)))
            size += scales[-1] * max(sides)
            scales.append(size + room)
        places: list[Point] = []
        for at in self.members:
            level, cluster, node = at[0]
            nodes, _ = shapes[level][cluster % len(shapes[level])]
            x, y = (scales[level] * each for each in nodes[node])
            for i in range(level + 1, len(self.levels)):
                cluster, terminal = self.above(i, cluster)
                _, terminals = shapes[i][cluster % len(shapes[i])]
                above = terminals[terminal]
                x, y = x + scales[i] * above[0], y + scales[i] * above[1]
            places.append((x, y))
        return places

    def _apart(self, i: int, kind: int) -> set[int]:
        """The nodes of a kind of network of level i that are not where the network below is."""
        clusters = range(kind, len(self.nodes[i]), len(self.levels[i]))
        return {node for cluster in clusters for node in self.switches(i, cluster)}


def _shape(graph: Graph, level: int, apart: set[int]) -> tuple[list[Point], list[Point]]:
    """The places of nodes, and of the networks below, one at each terminal; around the middle.

    A network is where packets enter its node. If that is `apart`, a network is above it, and
    several are above and below it.
    """
    given = [graph.position(node) for node in range(graph.nodes)]
    nodes = [place or circle_position(node, graph.nodes) for node, place in enumerate(given)]
    if most := max((len(graph.terminals[node]) for node in apart), default=0):
        scale = _stretch(nodes)
        nodes = [(scale * x, (most + 1) * scale * y) for x, y in nodes]
    terminals = [nodes[home] for home in graph.homes]
    for node in apart:
        (x, y), own = nodes[node], graph.terminals[node]
        for rank, terminal in enumerate(own):
            terminals[terminal] = x, y + rank - len(own) // 2 + (2 * rank >= len(own) - 1)
    switches = [nodes[node] for node in apart]
    # Nodes are wider than they are high; networks are not.
    scale = _stretch([(x, 2 * y) for x, y in nodes] if level == 0 else [*switches, *terminals])
    x, y = ((max(along) + min(along)) / 2 for along in zip(*nodes, *terminals))
    return _moved(nodes, x, y, scale), _moved(terminals, x, y, scale)


def _moved(places: Sequence[Point], x: float, y: float, scale: float) -> list[Point]:
    return [(scale * (across - x), scale * (up - y)) for across, up in places]


def _stretch(places: Sequence[Point]) -> float:
    """How many times further apart all must be for the closest ones to be apart enough.

    A user's graph may have nodes at the same place: these stay there.
    """
    from scipy.spatial import KDTree

    if len(places) == 1:
        return 1.0
    apart, _ = KDTree(places).query(places, k=2, p=inf)
    return max(1.0, 1 / (float(apart[:, 1].min()) or 1.0))
