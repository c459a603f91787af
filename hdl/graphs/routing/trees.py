"""Shortest paths to every terminal, spread over the links; and relations that follow them."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from heapq import heappop, heappush
from itertools import count
from typing import ClassVar

from ...fabric.errors import InvalidValue
from ..altered_graph import ChanneledGraph
from ..graph import Channel, Graph, Link
from .relation import Relation

__all__ = ["Place", "Tree", "TreeRelation", "spread_trees"]

Place = tuple[int, int]
"""A node, and the phase of a header in it."""

Tree = Mapping[Place, Link]
"""For one terminal, the link that a header takes from each place that has a way to it."""

_Step = tuple[int, Place]
"""The number of a link, and the place to which it leads."""

_Ways = Mapping[Place, list[_Step]]
"""The steps of all shortest paths to one node, by the place from which they lead, nearest first."""

_ROUNDS = 4
"""How often each tree is found; further rounds change the loads little."""


def spread_trees(
    graph: Graph, after: Callable[[int, Link], int | None] = lambda phase, link: 0, phases: int = 1
) -> list[Tree]:
    """For each terminal, a tree of shortest paths from all nodes, by `Graph.length`; no link has
    many more of them than others if that can be helped.

    The trees are found one by one. Among paths that are as short, a header takes the one that the
    packets of the other trees load least, if each terminal sends to each other one equally often
    (Hoefler, Schneider and Lumsdaine, 2009). After the last, all are found anew, given the others,
    three times.

    Parameters
    ----------
    graph : Graph
    after : Callable
        The phase of a header that takes a link in some phase; None if it must not take it. Headers
        start in phase 0.
    phases : int
        Number of phases.
    """
    links = sorted(graph.links())
    length = [graph.length(link) for link in links]
    onward: dict[Place, list[_Step]] = {}
    back: dict[Place, list[tuple[Place, int]]] = {}
    for number, link in enumerate(links):
        for phase in range(phases):
            then = after(phase, link)
            if then is not None:
                here, there = (link.node, phase), (link.peer, then)
                onward.setdefault(here, []).append((number, there))
                back.setdefault(there, []).append((here, length[number]))
    load = [0] * len(links)
    trees: list[Mapping[Place, _Step]] = [{} for _ in graph.homes]
    shares: list[Mapping[int, int]] = [{} for _ in graph.homes]
    ways: dict[int, _Ways] = {}
    for home in graph.exit_homes:
        if home not in ways:
            away = _distances([(home, phase) for phase in range(phases)], back)
            ways[home] = {
                place: [
                    (link, there)
                    for link, there in onward.get(place, ())
                    if far and away.get(there) == far - length[link]
                ]
                for place, far in away.items()
            }
    sources = [((node, 0), len(own)) for node, own in enumerate(graph.terminals)]
    for _ in range(_ROUNDS):
        for terminal, home in enumerate(graph.exit_homes):
            for number, packets in shares[terminal].items():
                load[number] -= packets
            tree = trees[terminal] = _tree(ways[home], load)
            shares[terminal] = _share(ways[home], tree, sources)
            for number, packets in shares[terminal].items():
                load[number] += packets
    return [{place: links[link] for place, (link, _) in tree.items()} for tree in trees]


def _tree(ways: _Ways, load: Sequence[int]) -> dict[Place, _Step]:
    """For each place the first step of the least loaded shortest path."""
    cost: dict[Place, int] = {}
    tree: dict[Place, _Step] = {}
    for place, steps in ways.items():
        cost[place] = 0
        if steps:
            cost[place], link, there = min(
                (load[link] + cost[there], link, there) for link, there in steps
            )
            tree[place] = link, there
    return tree


def _share(
    ways: _Ways, tree: Mapping[Place, _Step], sources: Iterable[tuple[Place, int]]
) -> dict[int, int]:
    """The packets on each link of a tree, if each terminal sends one."""
    passing = dict.fromkeys(ways, 0)
    for place, terminals in sources:
        if place in passing:
            passing[place] = terminals
    found: dict[int, int] = {}
    for place in reversed(list(ways)):
        if place in tree and passing[place]:
            link, there = tree[place]
            found[link] = found.get(link, 0) + passing[place]
            passing[there] += passing[place]
    return found


def _distances(
    ends: list[Place], back: Mapping[Place, list[tuple[Place, int]]]
) -> dict[Place, int]:
    """The shortest ways from places to any of these ends (Dijkstra, 1959); the nearest places come
    first, and those as near in the order in which they are met."""
    away: dict[Place, int] = {}
    met = count()
    waiting = [(0, next(met), end) for end in ends]
    while waiting:
        far, _, place = heappop(waiting)
        if place in away:
            continue
        away[place] = far
        for before, length in back.get(place, ()):
            if before not in away:
                heappush(waiting, (far + length, next(met), before))
    return away


class TreeRelation(Relation):
    """Packets follow a tree of links to their terminal, in one of several virtual layers.

    A layer has a channel of each link. If a link has more channels than there are layers, they are
    dealt to the layers in turn, and those of a layer to the terminals in turn. A packet stays in
    its layer.

    Parameters
    ----------
    graph : Graph
        Its links get as many channels as there are layers, if they have fewer.
    trees : Sequence[Tree]
        For each terminal.
    layers : int

    Attributes
    ----------
    layers : int
    trees : list[Tree]
    """

    needs: ClassVar[str] = ""
    """What a graph needs so that all terminals are reached, for messages."""

    def __init__(self, graph: Graph, trees: list[Tree], layers: int = 1) -> None:
        self.layers = layers
        self._graph = ChanneledGraph(graph, layers)
        self.trees = trees
        for node, own in enumerate(graph.terminals):
            for terminal, home in enumerate(graph.exit_homes):
                if own and node != home and (node, 0) not in trees[terminal]:
                    raise InvalidValue(
                        f"There is no way from node {graph.name(node)} to terminal {terminal}"
                        f"{self.needs}"
                    )

    @property
    def graph(self) -> Graph:
        return self._graph

    def route(self, node: int, came: Channel | None, destination: int) -> Iterator[Channel]:
        if node != self._graph.exit_homes[destination]:
            port = self.trees[destination][node, self.phase(came)].port
            if came is None:
                layer = self.first_layer(node, destination)
            else:
                layer = came.number % self.layers
            channels = self._graph.by_output[node, port].channels
            lanes = range(layer, channels, self.layers)
            yield Channel(node, port, lanes[destination % len(lanes)])

    def phase(self, came: Channel | None) -> int:
        """The phase of a header that came by a channel."""
        return 0

    def first_layer(self, node: int, destination: int) -> int:
        """The layer of a packet that starts in a node."""
        return 0
