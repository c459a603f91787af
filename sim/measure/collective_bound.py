"""The fewest cycles in which a network can perform a collective, whatever the algorithm.

The bound follows from what a network can't do, with copies and reductions in its switches or
without: a terminal sends and receives at most one flit per cycle, a link carries at most one, and a
header takes at least d(s, t) cycles from terminal s to terminal t: the links of a shortest path, in
their latencies, and the delivery. So a vector of N flits that s has and t needs takes at least
d(s, t) + N cycles, from the first in which it is offered to the end of the last in which it
arrives.

- *broadcast, reduce*: all members need the root's vector, or the root needs one that depends on
  each: the largest d between the root and a member, and N.
- *allreduce, barrier*: each member's result depends on the last word of each other: the largest d
  of all pairs, and N (of a barrier 1).
- *gather, scatter*: different words of N flits each pass the root's one link. For any D, k members
  with d >= D make k N flits that pass it in different cycles, and the first of them takes D cycles:
  D + k N. The largest of these counts.
- *alltoall*: as a scatter and a gather at each member. Besides, the members on one side of a cut
  have a b N flits for those on the other, so these take as many cycles as its links, which are the
  maximum flow from one side to the other, need for them, and one more; tried are the halves and
  quarters of the group in its order, in both directions. And all flits together need N times the
  sum of all distances in links, which all links of the network share.

Of a group of more than 4,096 members not all pairs are looked at: d is the largest of all members
to and from 16 that are far apart. That is a bound, too, if not always the best.

A barrier by a counter in memory takes as long as the request of the member that comes last: to the
memory, and back with the reply.
"""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import maximum_flow, shortest_path

from ...hdl.graphs.graph import Graph
from ...hdl.networks.memory_network import MemoryNetwork
from ...hdl.networks.packet_network import PacketNetwork

__all__ = ["collective_bound", "header_cycles", "middle", "request_cycles"]

Cycles = NDArray[np.int64]

_MOST_PAIRS = 2**24
"""Pairs of members whose distances are all looked at."""

_LANDMARKS = 16
"""Members that stand for all of a larger group."""


def collective_bound(
    network: PacketNetwork, kind: str, members: Sequence[int], root: int, words: int
) -> int:
    """The fewest cycles of a collective of a group of terminals; `words` is N above."""
    if kind == "broadcast":
        return int(header_cycles(network, [root], members).max()) + words
    if kind == "reduce":
        return int(header_cycles(network, members, [root]).max()) + words
    if kind in ("allreduce", "barrier"):
        return int(_distances(network, members).max()) + words
    apart = header_cycles(network, members, members)
    at = list(members).index(root)
    if kind == "scatter":
        return _through_one_link(np.delete(apart[at], at), words)
    if kind == "gather":
        return _through_one_link(np.delete(apart[:, at], at), words)
    bounds = [
        _through_one_link(np.delete(line, number), words)
        for table in (apart, apart.T)
        for number, line in enumerate(table)
    ]
    if network.relation is not None:
        bounds += _shared_links(network.relation.graph, members, words)
    return max(bounds)


def header_cycles(
    network: PacketNetwork, sources: Sequence[int], destinations: Sequence[int]
) -> Cycles:
    """The fewest cycles of a header from some terminals to others; 0 from one to itself.

    If neither a graph nor the boxes of a multistage network give the distance, it is 1, or 0 if
    packets pass the network within a cycle.
    """
    apart = np.zeros((len(sources), len(destinations)), int)
    if network.relation is not None:
        graph = network.relation.graph
        enter = [graph.homes[source] for source in sources]
        leave = [graph.exit_homes[destination] for destination in destinations]
        apart = _latencies(graph, enter, leave) + 1
    elif network.transparent:
        pass
    elif network.wiring_plan is not None:
        for one, source in enumerate(sources):
            for other, to in enumerate(destinations):
                apart[one, other] = min(len(network.path(source, to)), network.zero_load_cycles)
    else:
        apart += 1
    apart[np.equal.outer(sources, destinations)] = 0
    return apart


def middle(network: PacketNetwork, members: Sequence[int]) -> int:
    """The member whose farthest other member is the nearest; of several, that with the least sum of
    all distances, and of these the first. In a large group, by its distances to a few members."""
    both = _distances(network, members)
    return members[int(np.lexsort((both.sum(1), both.max(1)))[0])]


def _distances(network: PacketNetwork, members: Sequence[int]) -> Cycles:
    """The larger of both distances between each member and all others, or of a large group and some
    that are far apart: each the farthest from what is the middle as seen from those before."""
    if len(members) ** 2 <= _MOST_PAIRS:
        apart = header_cycles(network, members, members)
        return np.maximum(apart, apart.T)
    middle, found = 0, np.zeros((len(members), 0), np.int64)
    for _ in range(_LANDMARKS):
        away = _both_ways(network, members, members[middle])
        away = _both_ways(network, members, members[int(away.argmax())])
        found = np.column_stack([found, away])
        middle = int(np.lexsort((found.sum(1), found.max(1)))[0])
    return found


def _both_ways(network: PacketNetwork, members: Sequence[int], one: int) -> Cycles:
    """The larger of both distances between each member and one of them."""
    return np.maximum(
        header_cycles(network, members, [one])[:, 0], header_cycles(network, [one], members)[0]
    )


def request_cycles(network: MemoryNetwork) -> int:
    """The fewest cycles of a request to memory and of its reply: one for each box, both ways."""
    return 2 * network.zero_load_cycles + 2


def _latencies(graph: Graph, enter: Sequence[int], leave: Sequence[int]) -> Cycles:
    """The least sum of latencies from some nodes to others; 0 if there is no way."""
    table = _neighbours(graph)
    if len(leave) < len(enter):
        away = shortest_path(table.T, indices=leave)[:, enter].T
    else:
        away = shortest_path(table, indices=enter)[:, leave]
    return np.where(np.isfinite(away), away, 0).astype(int)


@lru_cache(maxsize=1)
def _neighbours(graph: Graph) -> csr_array:
    """The least latency of the links from one node to another."""
    best: dict[tuple[int, int], int] = {}
    for link in graph.links():
        ends = link.node, link.peer
        best[ends] = min(link.latency, best.get(ends, link.latency))
    size = graph.nodes, graph.nodes
    return coo_array(([*best.values()], tuple(zip(*best)) or ([], [])), size).tocsr()


def _through_one_link(apart: Cycles, words: int) -> int:
    """For words of members at these distances, which pass one link, flit by flit."""
    ordered = np.sort(apart)[::-1]
    return max(int(away) + number * words for number, away in enumerate(ordered, 1))


def _shared_links(graph: Graph, members: Sequence[int], words: int) -> list[int]:
    """The bounds of an all-to-all exchange by cuts, and by all links together."""
    homes = [graph.homes[member] for member in members]
    exits = [graph.exit_homes[member] for member in members]
    hops = np.array(graph.distances).T[np.ix_(homes, exits)]
    np.fill_diagonal(hops, 0)
    links = sum(link.node != link.peer for link in graph.links())
    bounds = [-(-int(hops.sum()) * words // links)] if links else []
    count = len(members)
    for parts in (2, 4):
        for part in range(parts):
            side = range(part * count // parts, (part + 1) * count // parts)
            inside = [number in side for number in range(count)]
            for first in (True, False):
                sources = [home for home, here in zip(homes, inside) if here is first]
                sinks = [home for home, here in zip(exits, inside) if here is not first]
                if flow := _flow(graph, sources, sinks):
                    bounds.append(-(-len(sources) * len(sinks) * words // flow) + 1)
    return bounds


def _flow(graph: Graph, sources: Sequence[int], sinks: Sequence[int]) -> int:
    """The most flits per cycle from terminals at these nodes to terminals at those."""
    begin, end = graph.nodes, graph.nodes + 1
    pairs = [(link.node, link.peer) for link in graph.links() if link.node != link.peer]
    pairs += [(begin, node) for node in sources] + [(node, end) for node in sinks]
    rows, columns = zip(*pairs)
    ones = np.ones(len(pairs), np.int32)
    # Entries of equal places add up: parallel links, and terminals of one node.
    capacities = coo_array((ones, (rows, columns)), shape=(end + 1, end + 1)).tocsr()
    return int(maximum_flow(capacities, begin, end).flow_value)
