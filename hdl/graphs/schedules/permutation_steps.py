"""Permutations in communication steps: schedules by list scheduling, and lower bounds.

The rules of a step are those of `graphs.schedules.communication_steps`.
"""

import itertools
import random
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from heapq import heappop, heappush
from typing import NamedTuple

import networkx as nx

from ...fabric.checks import check_integer, check_seed
from ...fabric.errors import InvalidValue
from ..graph import Graph
from ..permutations import Permutation, check_permutation
from .communication_steps import Schedule, Transfer, successors

__all__ = ["StepBound", "StepRouter", "crossing_capacity"]

_STEEPNESS = 4
"""How steeply the cost of a link rises with the load of the link and its nodes."""

_ROUNDS = 3
"""How often each way is planned."""

_MEETING = 6
"""The cost of a link that is used as much as possible the other way, beside its other costs."""

_REUSED = 8
"""New ways are planned in each such number of tries."""

_GREED = 2
"""What the search for a way assumes of the links still to pass; an idle one costs 1."""

_Nexts = Callable[[int, int, int], list[int]]
"""For a message, its node and its destination: the nodes that it may go to next."""


class StepBound(NamedTuple):
    """A number of steps that a permutation needs at least, and why.

    Attributes
    ----------
    steps : int
    reason : str
        "distance", "exchange", "node", "cut" or "work".
    """

    steps: int
    reason: str


def crossing_capacity(graph: Graph, side: Collection[int]) -> int:
    """The most words that can pass between a set of nodes and all others in one step.

    Each node sends one word and receives one, so it uses two links at most. A set of links that no
    node has more than two of is paths and circles of links, which can all be used in one direction
    around. The capacity is therefore the size of the largest such set (a 2-matching), which is a
    maximum flow; with one-way links it is at most that. It is no more than the number of links.
    """
    inside = set(side)
    pairs = {
        (node, peer) if node in inside else (peer, node)
        for node, peers in enumerate(successors(graph))
        for peer in peers
        if (node in inside) != (peer in inside)
    }
    flow = nx.DiGraph()
    flow.add_nodes_from(("source", "sink"))
    for node, peer in pairs:
        flow.add_edge("source", node, capacity=2)
        flow.add_edge(node, peer, capacity=1)
        flow.add_edge(peer, "sink", capacity=2)
    return int(nx.maximum_flow_value(flow, "source", "sink"))


class StepRouter:
    """Finds schedules of permutations on a graph.

    Parameters
    ----------
    graph : Graph
    sides : Sequence[Collection[int]]
        Sets of nodes whose cuts are used as bounds, such as half of the nodes.

    Raises
    ------
    ValueError
        If there is no way between two nodes.
    """

    def __init__(self, graph: Graph, sides: Sequence[Collection[int]] = ()) -> None:
        self.graph = graph
        self.nodes = graph.nodes
        self.distances = graph.distances
        """For each destination, the distance of each node from it."""
        if any(max(row) >= self.nodes for row in self.distances if self.nodes > 1):
            raise InvalidValue("Graph must have a way from each node to every other")
        self._near = successors(graph)
        self._links = len(
            {frozenset((node, peer)) for node, peers in enumerate(self._near) for peer in peers}
        )
        self._cuts = [(frozenset(side), crossing_capacity(graph, side)) for side in sides]
        self._joints = list(self._cut_nodes())
        self._ahead: dict[tuple[int, int], list[int]] = {}

    def schedule(
        self, destinations: Permutation, *, tries: int = 8, seed: int = 1
    ) -> list[list[Transfer]]:
        """A schedule of the fewest steps that some tries of list scheduling find.

        In each step the messages with the longest way left choose first, and a message moves if
        both nodes are free. In every other try it moves along a way of its own, planned
        around busy nodes and links, not always a shortest one; in the others, by any shortest way,
        of several neighbours to the one with the fewest messages. The first tries have only this
        order; chance changes it more and more in later ones. The search ends if a schedule is as
        short as `bound`.

        Raises
        ------
        TypeError, ValueError
            If `destinations` is not a permutation of the nodes, or `tries` is less than 1.
        """
        check_permutation(destinations, self.nodes)
        tries = check_integer("Tries", tries, 1)
        seed = check_seed(seed)
        # A node that sends nothing keeps what it has.
        ends = [node if to is None else to for node, to in enumerate(destinations)]
        least = self.bound(destinations).steps
        random_ = random.Random(seed)
        best: list[list[Transfer]] | None = None
        for number in range(tries):
            nexts: _Nexts = self._toward
            if number % 2:
                if number % _REUSED == 1:
                    planned = _follow(self._planned(ends, random_))
                nexts = planned
            found = self._attempt(ends, nexts, number / tries, random_, best)
            if found is not None:
                best = found
            if best is not None and len(best) <= least:
                break
        assert best is not None  # The first try is not stopped.
        return best

    def bound(self, destinations: Permutation) -> StepBound:
        """Steps that every schedule of a permutation has at least; the largest of these bounds:

        - distance: of the two nodes that are farthest apart;
        - node: messages that must be sent, or received, by a node without which there is no way;
        - cut: messages that cross the cut of one of `sides`, by its `crossing_capacity`;
        - exchange: two steps if two nodes send to each other;
        - work: the sum of the distances, by the number of nodes or links, if those are fewer.
        """
        moving = [
            (node, to) for node, to in enumerate(destinations) if to is not None and to != node
        ]
        distances = [self.distances[to][node] for node, to in moving]
        bounds = [
            StepBound(max(distances, default=0), "distance"),
            StepBound(2 * any(destinations[to] == node for node, to in moving), "exchange"),
            StepBound(-(-sum(distances) // min(self.nodes, max(1, self._links))), "work"),
        ]
        for joint, part in self._joints:
            passing = sum(part[node] != part[to] and joint not in (node, to) for node, to in moving)
            own = any(joint in pair for pair in moving)
            bounds.append(StepBound(passing + own, "node"))
        for side, capacity in self._cuts:
            crossing = sum((node in side) != (to in side) for node, to in moving)
            bounds.append(StepBound(-(-crossing // capacity), "cut"))
        return max(bounds, key=lambda bound: bound.steps)

    def _cut_nodes(self) -> "list[tuple[int, list[int]]]":
        """The nodes without which others are apart, and for each the part of every node then."""
        whole = nx.Graph((node, peer) for node, peers in enumerate(self._near) for peer in peers)
        found = []
        for joint in nx.articulation_points(whole):
            part = [0] * self.nodes
            rest = whole.subgraph(node for node in whole if node != joint)
            for number, members in enumerate(nx.connected_components(rest), 1):
                for node in members:
                    part[node] = number
            found.append((joint, part))
        return found

    def _toward(self, message: int, node: int, to: int) -> list[int]:
        """The neighbours of a node that are on a shortest way."""
        key = node, to
        if key not in self._ahead:
            away = self.distances[to]
            self._ahead[key] = [peer for peer in self._near[node] if away[peer] < away[node]]
        return self._ahead[key]

    def _planned(self, destinations: Sequence[int], random_: random.Random) -> list[list[int]]:
        """A way for each message; one after the other is planned again, around the others."""
        order = [m for m, to in enumerate(destinations) if to != m]
        random_.shuffle(order)
        loads = _Loads(self.nodes, max(1, self.bound(destinations).steps))
        ways: list[list[int]] = [[] for _ in destinations]
        for message in order * _ROUNDS:
            loads.count(ways[message], -1)
            ways[message] = self._cheapest(message, destinations[message], loads)
            loads.count(ways[message], 1)
        return ways

    def _cheapest(self, node: int, to: int, loads: "_Loads") -> list[int]:
        """A cheap way between two nodes (A*, in a greedy form)."""
        away = self.distances[to]
        before = {node: -1}
        known = {node: 0.0}
        waiting = [(0.0, node)]
        done = set()
        while waiting[0][1] != to:
            _, here = heappop(waiting)
            if here in done:
                continue
            done.add(here)
            so_far = known[here] + loads.sending[here]
            for peer in self._near[here]:
                total = so_far + loads.receiving[peer] + loads.passing(here, peer)
                if peer not in known or total < known[peer]:
                    known[peer] = total
                    before[peer] = here
                    heappush(waiting, (total + _GREED * away[peer], peer))
        way = [to]
        while before[way[-1]] >= 0:
            way.append(before[way[-1]])
        return way[::-1]

    def _attempt(
        self,
        destinations: Sequence[int],
        nexts: _Nexts,
        noise: float,
        random_: random.Random,
        best: Schedule | None,
    ) -> list[list[Transfer]] | None:
        """One try; None if it would be no shorter than the best."""
        at = list(range(self.nodes))
        load = [1] * self.nodes
        waiting = [m for m, to in enumerate(destinations) if to != m]
        random_.shuffle(waiting)
        longest = max((self.distances[destinations[m]][m] for m in waiting), default=0)
        left = [
            self.distances[to][m] + random_.random() * noise * longest
            for m, to in enumerate(destinations)
        ]
        steps: list[list[Transfer]] = []
        while waiting:
            if best is not None and len(steps) + 1 >= len(best):
                return None
            waiting.sort(key=left.__getitem__, reverse=True)
            sends_to = [-1] * self.nodes
            receives = [False] * self.nodes
            step = []
            for message in waiting:
                node, to = at[message], destinations[message]
                if sends_to[node] >= 0:
                    continue
                chosen = -1
                for peer in nexts(message, node, to):
                    if receives[peer] or sends_to[peer] == node:
                        continue
                    if chosen < 0 or load[peer] < load[chosen]:
                        chosen = peer
                if chosen >= 0:
                    sends_to[node] = chosen
                    receives[chosen] = True
                    step.append(Transfer(node, chosen, message))
            for node, peer, message in step:
                to = destinations[message]
                at[message] = peer
                left[message] += self.distances[to][peer] - self.distances[to][node]
                load[node] -= 1
                load[peer] += peer != to
            waiting = [m for m in waiting if at[m] != destinations[m]]
            steps.append(step)
        return steps


class _Loads:
    """What planned ways ask of nodes and links, and the costs that follow."""

    def __init__(self, nodes: int, aim: int) -> None:
        self._aim = aim
        self.sending = [0.0] * nodes
        self.receiving = [0.0] * nodes
        self._sent, self._received = [0] * nodes, [0] * nodes
        self._passed: Counter[tuple[int, int]] = Counter()
        self._costs = [(load / aim) ** _STEEPNESS for load in range(2 * nodes + 2)]

    def passing(self, node: int, peer: int) -> float:
        """The cost of the link between two nodes; more if it is also used the other way."""
        back = self._passed[peer, node]
        return 1 + self._costs[self._passed[node, peer] + back + 1] + _MEETING * back / self._aim

    def count(self, way: Sequence[int], by: int) -> None:
        """Add or take away the links of a way."""
        for node, peer in itertools.pairwise(way):
            self._sent[node] += by
            self._received[peer] += by
            self._passed[node, peer] += by
            self.sending[node] = self._costs[self._sent[node] + 1]
            self.receiving[peer] = self._costs[self._received[peer] + 1]


def _follow(ways: list[list[int]]) -> _Nexts:
    """The only neighbour that a message goes to next, on its planned way."""
    following = [dict(zip(way, ([peer] for peer in way[1:]))) for way in ways]
    return lambda message, node, to: following[message][node]
