"""Distances and loads of links in a graph under local traffic, exactly."""

from functools import cached_property

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from ...hdl.fabric.checks import check_limit
from ...hdl.graphs.graph import Graph, Link

__all__ = ["LocalTraffic", "converging_loads"]

_MOST = 2048
"""Most nodes: a matrix of all pairs is computed."""


class LocalTraffic:
    """What packets within a cluster, and to other clusters, find in a graph.

    Each terminal sends to all terminals of its cluster, itself included, or to all others, with the
    same probability, and over each shortest path with the same probability.

    Parameters
    ----------
    graph : Graph
    cluster : int
        Terminals of a cluster; a cluster is a block of them.

    Attributes
    ----------
    links : Sequence[Link]
    inside, outside : float
        Mean links on a shortest path between terminals of one cluster, and of different ones.

    Raises
    ------
    ValueError
        If the graph has more than 2,048 nodes.
    """

    def __init__(self, graph: Graph, cluster: int) -> None:
        check_limit("Nodes", graph.nodes, _MOST)
        self._nodes = np.arange(graph.nodes)
        self.links, self._start, self._end, self._away = _distances(graph, self._nodes)
        homes = np.array(graph.homes)
        self._terminals = len(homes)
        block = np.arange(len(homes)) // cluster
        same = block[:, None] == block
        self._demands = []
        for chosen in (same, ~same):
            demand = np.zeros(self._away.shape)
            each = np.maximum(chosen.sum(axis=1, keepdims=True), 1)
            np.add.at(demand, np.ix_(homes, homes), chosen / each)
            self._demands.append(demand)
        self.inside, self.outside = (
            float((demand * self._away).sum() / len(homes)) for demand in self._demands
        )

    def distance(self, alpha: float) -> float:
        """The mean distance, if packets stay in their cluster with probability alpha."""
        return alpha * self.inside + (1 - alpha) * self.outside

    @cached_property
    def _loads(self) -> tuple[np.ndarray, np.ndarray]:
        paths = _path_counts(self._away, self._start, self._end, self._nodes)
        here, elsewhere = self._demands
        return (
            _loads(self._away, paths, self._start, self._end, here),
            _loads(self._away, paths, self._start, self._end, elsewhere),
        )

    def loads(self, alpha: float) -> np.ndarray:
        """Packets on each link, if every terminal sends one."""
        inside, outside = self._loads
        return alpha * inside + (1 - alpha) * outside

    def delay(self, alpha: float, arrival: float, services: np.ndarray) -> float:
        """The mean time that a packet takes, if each link is an M/M/1 queue, independent of the
        others: terminals send at a rate `arrival`, and links serve at rates `services`. Infinite if
        a link is saturated."""
        loads = arrival * self.loads(alpha)
        used = loads > 1e-12
        if (loads[used] >= services[used]).any():
            return float("inf")
        waiting = loads[used] / (services[used] - loads[used])
        return float(waiting.sum() / (arrival * self._terminals))


def converging_loads(graph: Graph, node: int) -> np.ndarray:
    """Packets on each link, if each node sends one to a certain node, over each shortest path with
    the same probability."""
    ends = np.array([node])
    _, start, end, away = _distances(graph, ends)
    paths = _path_counts(away, start, end, ends)
    return _loads(away, paths, start, end, np.ones(away.shape))


def _distances(
    graph: Graph, ends: np.ndarray
) -> tuple[list[Link], np.ndarray, np.ndarray, np.ndarray]:
    """The links, their starts and ends, and the distances from each node (row) to some."""
    links = list(graph.links())
    start = np.array([link.node for link in links])
    end = np.array([link.peer for link in links])
    pairs = np.unique(np.stack([end, start]), axis=1)
    back = csr_array((np.ones(pairs.shape[1]), tuple(pairs)), shape=(graph.nodes,) * 2)
    away = dijkstra(back, indices=ends, unweighted=True).T.astype(int)
    return links, start, end, away


def _path_counts(
    away: np.ndarray, start: np.ndarray, end: np.ndarray, ends: np.ndarray
) -> np.ndarray:
    """The number of shortest paths from each node (row) to some."""
    paths = np.zeros(away.shape)
    paths[ends, np.arange(len(ends))] = 1
    for distance in range(1, away.max() + 1):
        onward = (away[start] == distance) & (away[end] == distance - 1)
        paths += _sums(start, len(away)) @ np.where(onward, paths[end], 0)
    return paths


def _sums(nodes: np.ndarray, count: int) -> csr_array:
    """Adds up rows of links by one of their nodes."""
    places = np.arange(len(nodes))
    return csr_array((np.ones(len(nodes)), (nodes, places)), shape=(count, len(nodes)))


def _loads(
    away: np.ndarray, paths: np.ndarray, start: np.ndarray, end: np.ndarray, demand: np.ndarray
) -> np.ndarray:
    """Packets on each link, if `demand` is sent from each node to each other one."""
    passing = demand.copy()
    loads = np.zeros(len(start))
    for distance in range(away.max(), 0, -1):
        onward = (away[start] == distance) & (away[end] == distance - 1)
        share = np.where(onward, passing[start] * paths[end] / paths[start], 0)
        passing += _sums(end, len(away)) @ share
        loads += share.sum(axis=1)
    return loads
