"""The fan-out time of a graph: the steps of a broadcast from the worst source.

In a step each node that has the message may send it over one of its links (Ginosar and Egozi 1989,
section 3 and 5.2). Sources, and the nodes to be reached, are those that have terminals; others only
pass the message on. For trees the least number of steps follows from the parts of the tree (Slater,
Cockayne and Hedetniemi, 1981); otherwise it is searched.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...hdl.fabric.checks import check_seed
from ...hdl.graphs.graph import Graph
from .bounds import Bounds
from .broadcast_search import Step, Wires, by_ports, greedy, least_steps, search
from .symmetry import equivalent_nodes

__all__ = ["FanOut", "Step", "fan_out", "tree_times", "wires_of"]

_TRIES = 30
"""Greedy broadcasts from each source."""
_PAIRED = 16
"""Most ports of nodes of which all pairs are tried."""


@dataclass(frozen=True)
class FanOut:
    """The fan-out time of a graph.

    Attributes
    ----------
    time : Bounds
        In steps.
    source : int
        The node from which the broadcast takes most steps, as far as known.
    steps : list[list[tuple[int, int]]]
        A broadcast from it in as many steps as the upper bound: the (sender, receiver) pairs of
        each step. A node receives once, and after that sends to at most one node in a step.
    sources : int
        Sources that had to be looked at; of equivalent nodes only one is.
    """

    time: Bounds
    source: int
    steps: list[Step]
    sources: int


def wires_of(graph: Graph) -> Wires:
    """The links of a graph as a broadcast sees them."""
    to: list[list[int]] = [[] for _ in range(graph.nodes)]
    for link in sorted(graph.links()):
        if link.peer != link.node and link.peer not in to[link.node]:
            to[link.node].append(link.peer)
    goal = sum(1 << home for home in set(graph.homes))
    return Wires(tuple(map(tuple, to)), goal)


def fan_out(graph: Graph, limit: float = 10.0, seed: int = 1) -> FanOut:
    """The fan-out time of a graph, with a broadcast from the worst source.

    Parameters
    ----------
    graph : Graph
        There must be a way between any two terminals.
    limit : float
        Seconds of processor time that it may take, about.
    seed : int
        For the heuristics.

    Examples
    --------
    >>> import networkx
    >>> from multicube.hdl.graphs.conversion import from_networkx
    >>> found = fan_out(from_networkx(networkx.path_graph(3)))
    >>> found.time.exact, found.source, found.steps
    (2, 0, [[(0, 1)], [(1, 2)]])
    """
    check_seed(seed)
    wires = wires_of(graph)
    random = np.random.default_rng(seed)
    end = time.thread_time() + limit
    if _is_tree(wires):
        times = tree_times(wires.to)
        source = max(range(len(times)), key=times.__getitem__)
        steps = greedy(wires, source, random)
        return FanOut(Bounds(times[source], len(steps), "tree", "tree"), source, steps, len(times))
    goal = [wires.goal >> node & 1 for node in range(len(wires.to))]
    classes = equivalent_nodes(wires.to, goal, time.thread_time() + limit / 5)
    sources = [nodes[0] for nodes in classes if goal[nodes[0]]]
    return _searched(wires, sources, random, end)


@dataclass
class _Known:
    """What is known of a source: at least so many steps, and a broadcast."""

    lower: int
    steps: list[Step]
    lower_method: str = "distance and growth"
    upper_method: str = ""

    @property
    def open(self) -> bool:
        return self.lower < len(self.steps)


def _searched(
    wires: Wires, sources: Sequence[int], random: np.random.Generator, end: float
) -> FanOut:
    lowers = {s: least_steps(wires, 1 << s, len(wires.to)) for s in sources}
    known: dict[int, _Known] = {}
    first = time.thread_time()
    for source in sorted(sources, key=lambda s: -lowers[s]):
        # Only sources that may need more steps than all others matter.
        enough = max(lowers.values())
        late = known and time.thread_time() > first + (end - first) / 2
        best = _neighbours(wires, source, known) if late else None
        if best is None:
            best = _heuristic(wires, source, enough, random, 1 if late else _TRIES)
        known[source] = _Known(lowers[source], best[0], upper_method=best[1])
    while True:
        upper = max(len(each.steps) for each in known.values())
        worst = [s for s in known if len(known[s].steps) == upper]
        left = end - time.thread_time()
        if max(each.lower for each in known.values()) == upper or left <= 0:
            break
        share = left / (2 * len(worst))
        improved = False
        for source in worst:
            stop = min(end, time.thread_time() + share)
            found = search(wires, source, upper - 1, stop, random)
            if found is False:
                known[source].lower, known[source].lower_method = upper, "search"
                break
            if found is not True:
                known[source].steps, known[source].upper_method = found, "search"
                improved = True
        else:
            if not improved and time.thread_time() > end - 0.05:
                break
    return _result(known)


def _result(known: dict[int, _Known]) -> FanOut:
    lower = max(known.values(), key=lambda each: each.lower)
    source = max(known, key=lambda s: (len(known[s].steps), known[s].lower))
    steps = known[source].steps
    bounds = Bounds(lower.lower, len(steps), lower.lower_method, known[source].upper_method)
    return FanOut(bounds, source, steps, len(known))


def _heuristic(
    wires: Wires, source: int, enough: int, random: np.random.Generator, tries: int
) -> tuple[list[Step], str]:
    """The shortest broadcast of some tries, or the first that is short enough; and its method."""
    best = by_ports(wires, source), "one port in a step"
    if len(best[0]) > enough and max(map(len, wires.to)) <= _PAIRED:
        steps = by_ports(wires, source, together=2)
        if len(steps) < len(best[0]):
            best = steps, "two ports in a step"
    for _ in range(tries):
        if len(best[0]) <= enough:
            break
        steps = greedy(wires, source, random)
        if len(steps) < len(best[0]):
            best = steps, "most urgent first"
    return best


def _neighbours(
    wires: Wires, source: int, known: dict[int, _Known]
) -> tuple[list[Step], str] | None:
    """The broadcast that begins with a step to a neighbour whose broadcast is known."""
    near = [node for node in wires.to[source] if node in known]
    if not near:
        return None
    peer = min(near, key=lambda node: len(known[node].steps))
    rest = ([pair for pair in step if pair[1] != source] for step in known[peer].steps)
    return [[(source, peer)], *(step for step in rest if step)], "a neighbour's broadcast"


def _is_tree(wires: Wires) -> bool:
    links = sum(map(len, wires.to))
    two_way = all(node in wires.to[peer] for node, peers in enumerate(wires.to) for peer in peers)
    every = wires.goal == (1 << len(wires.to)) - 1
    return every and two_way and links == 2 * (len(wires.to) - 1)


def tree_times(to: Sequence[Sequence[int]]) -> list[int]:
    """For each node of a tree, the least steps of a broadcast from it.

    A node first informs the neighbour whose part of the tree needs most steps, then the next one,
    and so on: with needs n_1 >= n_2 >= ..., it needs the greatest of i + n_i.

    Examples
    --------
    A star of three leaves:

    >>> tree_times([[1, 2, 3], [0], [0], [0]])
    [3, 3, 3, 3]
    """
    order, before = [0], {0: -1}
    for node in order:
        for peer in to[node]:
            if peer not in before:
                before[peer] = node
                order.append(peer)
    down = [0] * len(to)  # the steps that a node needs for those that are farther from node 0
    for node in reversed(order):
        down[node] = _longest([down[peer] for peer in to[node] if peer != before[node]])
    found = [0] * len(to)
    up = [0] * len(to)  # the steps that the node before needs for all but this one's part
    for node in order:
        peers = [*to[node]]
        needs = [up[node] if peer == before[node] else down[peer] for peer in peers]
        found[node] = _longest(needs)
        ranked = sorted(range(len(peers)), key=lambda i: -needs[i])
        # The greatest of i + n_i without one neighbour: those before it keep their turn.
        after = [0] * (len(ranked) + 1)
        for turn in reversed(range(len(ranked))):
            after[turn] = max(after[turn + 1], turn + needs[ranked[turn]])
        ahead = 0
        for turn, index in enumerate(ranked):
            if peers[index] != before[node]:
                up[peers[index]] = max(ahead, after[turn + 1])
            ahead = max(ahead, turn + 1 + needs[index])
    return found


def _longest(needs: list[int]) -> int:
    return max((i + need for i, need in enumerate(sorted(needs, reverse=True), 1)), default=0)
