"""Distances and loads of links in a graph under local traffic, exactly."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from ...hdl.core.checks import check_limit
from ...hdl.topology.graph import Graph, Link

__all__ = ["LocalTraffic", "local_traffic"]

_MOST = 2048
"""Most nodes: a matrix of all pairs is computed."""


@dataclass(frozen=True)
class LocalTraffic:
    """What packets within a cluster, and to other clusters, find in a graph.

    Attributes
    ----------
    links : Sequence[Link]
    inside, outside : float
        Mean links on a shortest path between terminals of one cluster, each with itself included,
        and between those of different ones.
    inside_loads, outside_loads : np.ndarray
        Packets on each link, if every terminal sends one within its cluster, or one to another
        cluster, to each terminal there with the same probability and over each shortest path with
        the same probability.
    """

    links: Sequence[Link]
    inside: float
    outside: float
    inside_loads: np.ndarray
    outside_loads: np.ndarray

    def distance(self, alpha: float) -> float:
        """The mean distance, if packets stay in their cluster with probability alpha."""
        return alpha * self.inside + (1 - alpha) * self.outside

    def loads(self, alpha: float) -> np.ndarray:
        """Packets on each link, if every terminal sends one."""
        return alpha * self.inside_loads + (1 - alpha) * self.outside_loads

    def delay(self, alpha: float, arrival: float, services: np.ndarray) -> float:
        """The mean time that a packet takes, if each link is an M/M/1 queue, independent of the
        others: terminals send at a rate `arrival`, and links serve at rates `services`. Infinite if
        a link is saturated."""
        loads = arrival * self.loads(alpha)
        used = loads > 0
        if (loads[used] >= services[used]).any():
            return float("inf")
        waiting = loads[used] / (services[used] - loads[used])
        terminals = self.inside_loads.sum() / self.inside if self.inside else 1
        return float(waiting.sum() / (arrival * terminals))


def local_traffic(graph: Graph, cluster: int) -> LocalTraffic:
    """Distances and loads in a graph whose clusters are blocks of so many terminals.

    Raises
    ------
    ValueError
        If the graph has more than 2,048 nodes.
    """
    check_limit("Nodes", graph.nodes, _MOST)
    links = list(graph.links())
    start = np.array([link.node for link in links])
    end = np.array([link.peer for link in links])
    pairs = np.unique(np.stack([start, end]), axis=1)
    near = csr_array((np.ones(pairs.shape[1]), tuple(pairs)), shape=(graph.nodes,) * 2)
    away = dijkstra(near, unweighted=True).astype(int)
    paths = _path_counts(away, start, end)
    homes = np.array(graph.homes)
    block = np.arange(len(homes)) // cluster
    same = block[:, None] == block
    found = []
    for chosen in (same, ~same):
        demand = np.zeros(away.shape)
        each = chosen.sum(axis=1, keepdims=True)
        np.add.at(demand, np.ix_(homes, homes), chosen / np.maximum(each, 1))
        found.append((float((demand * away).sum() / len(homes)), demand))
    (inside, here), (outside, elsewhere) = found
    return LocalTraffic(
        links,
        inside,
        outside,
        _loads(away, paths, start, end, here),
        _loads(away, paths, start, end, elsewhere),
    )


def _path_counts(away: np.ndarray, start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """The number of shortest paths from each node (row) to each other one."""
    paths = np.eye(len(away))
    for distance in range(1, away.max() + 1):
        onward = (away[start] == distance) & (away[end] == distance - 1)
        np.add.at(paths, start, np.where(onward, paths[end], 0))
    return paths


def _loads(
    away: np.ndarray, paths: np.ndarray, start: np.ndarray, end: np.ndarray, demand: np.ndarray
) -> np.ndarray:
    """Packets on each link, if `demand` is sent from each node to each other one."""
    passing = demand.copy()
    loads = np.zeros(len(start))
    for distance in range(away.max(), 0, -1):
        onward = (away[start] == distance) & (away[end] == distance - 1)
        share = np.where(onward, passing[start] * paths[end] / paths[start], 0)
        np.add.at(passing, end, share)
        loads += share.sum(axis=1)
    return loads
