"""The bisection width of a graph: exactly, or between a proved bound and a bisection found.

The width e is the least number of links whose removal parts the graph into two halves with
floor(T / 2) and ceil(T / 2) of its T terminals (Ginosar and Egozi 1989, 5.3); nodes without
terminals may be on either side, and two nodes that a terminal sends from and receives at are on
one. A link in both directions counts once, and a one-way link half: the paper's one-way ring has
e = 1 (A.3.2). If nodes with several terminals allow no such halves, the halves differ as little as
they can.

Upper bounds are bisections: by Kernighan and Lin's heuristic from seeded starts, some of them along
eigenvectors of the Laplacian. Lower bounds are the eigenvalue's (Fiedler, 1973) and that of flows
(`measure.flows`). A search (`measure.bisection_search`) closes what is left between them.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil, gcd, inf

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from ...hdl.fabric.checks import check_seed
from ...hdl.graphs.graph import Graph
from .bisection_search import EigenvalueBound, least_cut
from .bounds import Bounds
from .flows import congestion
from .spectrum import lowest_modes

__all__ = ["Bisection", "bisection", "joined_nodes", "link_weights"]

_STARTS = 60
"""Starts of Kernighan and Lin's heuristic."""
_EASE = 1e-7
"""Bounds are rounded up to integers only beyond this, so that rounding errors don't raise them."""
_DENSE = 1024
"""Most nodes of graphs for which dense matrices are used."""

Weights = NDArray[np.int64]


@dataclass(frozen=True)
class Bisection:
    """The bisection width of a graph.

    Attributes
    ----------
    width : Bounds
        In links.
    side : frozenset[int]
        The nodes of one half, in a bisection with as many links as the upper bound; empty if only
        the search found it, which doesn't keep the halves.
    """

    width: Bounds
    side: frozenset[int]


def bisection(graph: Graph, limit: float = 10.0, seed: int = 1) -> Bisection:
    """The bisection width of a graph.

    Parameters
    ----------
    graph : Graph
        With terminals that can be on two sides: `joined_nodes` are not the same for all.
    limit : float
        Seconds of processor time that heuristics, flows and search may take together. A few
        seconds are added in graphs of about 1,000 nodes.
    seed : int
        For the starts of the heuristics.

    Examples
    --------
    >>> import networkx
    >>> from multicube.hdl.graphs.conversion import from_networkx
    >>> bisection(from_networkx(networkx.petersen_graph())).width.exact
    5
    """
    check_seed(seed)
    begin = time.thread_time()
    parts = _Cut.of(graph)
    small = len(parts.weights) <= _DENSE
    least, lower = parts.spectral()
    if small:
        # Flows over all shortest paths are quick; better ones take time, so the cut comes first.
        least, lower = max((least, lower), parts.by_flows(0, least), key=lambda bound: bound[0])
    cut, side, upper = parts.kernighan_lin(least, limit / 4, seed)
    if least < cut and small:
        flows = parts.by_flows(limit / 8, cut)
        least, lower = max((least, lower), flows, key=lambda bound: bound[0])
    if least < cut and small:
        below = cut - parts.step + 1
        found = least_cut(parts.weights, parts.shares, parts.small, below, begin + limit, seed)
        if found is not None:
            if found < below:
                cut, side, upper = found, frozenset(), "search"
            least, lower = cut, "search"
    nodes = np.flatnonzero(np.isin(joined_nodes(graph), list(side)))
    return Bisection(Bounds(_links(least), _links(cut), lower, upper), frozenset(nodes.tolist()))


def _links(directions: int) -> float:
    """Links of a cut, from their directions; an integer if it is one."""
    return directions // 2 if directions % 2 == 0 else directions / 2


def joined_nodes(graph: Graph) -> NDArray[np.intp]:
    """For each node, the number of its group: the nodes that terminals keep on one side with it."""
    ends = np.array([graph.homes, graph.exit_homes])
    joins = coo_array((np.ones(ends.shape[1]), ends), shape=(graph.nodes, graph.nodes))
    return connected_components(joins, directed=False)[1]


def link_weights(graph: Graph) -> Weights:
    """For any two groups of joined nodes, the directions of links between them: 2 for a link in
    both."""
    groups = joined_nodes(graph)
    weights = np.zeros((int(groups.max()) + 1,) * 2, np.int64)
    for link in graph.links():
        one, other = groups[link.node], groups[link.peer]
        if one != other:
            weights[one, other] += 1
            weights[other, one] += 1
    return weights


@dataclass(frozen=True)
class _Cut:
    """What is to be cut: links are counted in directions, two for a link in both. A group of joined
    nodes is one node.

    Attributes
    ----------
    weights : (nodes, nodes) array
        Directions of links between two nodes.
    shares : (nodes,) array
        Terminals of each node.
    small : int
        Terminals of the smaller half.
    step, offset : int
        All cuts have `offset` plus a multiple of `step` directions.
    """

    weights: Weights
    shares: Weights
    small: int
    step: int
    offset: int

    @classmethod
    def of(cls, graph: Graph) -> "_Cut":
        groups = joined_nodes(graph)
        weights = link_weights(graph)
        count = len(weights)
        ways = groups[[(link.node, link.peer) for link in graph.links()]].T
        leave, come = (np.bincount(ends, minlength=count) for ends in ways)
        balanced = np.array_equal(leave, come)
        shares = np.bincount(groups[list(graph.homes)], minlength=count).astype(np.int64)
        sums = {0}
        for share in shares.tolist():
            sums |= {one + share for one in sums} if share else set()
        half = len(graph.homes) // 2
        small = max(one for one in sums if one <= half)
        # If every node has as many links in as out, as many cross a cut either way.
        step = gcd(2 if balanced else 1, gcd(*np.unique(weights).tolist()))
        # Links of nodes on a side: twice those inside, and those of the cut.
        offset = 0
        parities = {total // step % 2 for total in weights.sum(axis=1).tolist()}
        alone = shares.min() == shares.max() == 1
        if parities == {0} or (len(parities) == 1 and alone):
            offset = step * (parities.pop() * small % 2)
            step *= 2
        return cls(weights, shares, small, step, offset)

    def rounded(self, bound: float) -> int:
        """The least possible number of directions that is not below a bound."""
        return self.offset + self.step * ceil((bound - self.offset - _EASE) / self.step)

    def spectral(self) -> tuple[int, str]:
        """The bound of the second eigenvalue."""
        small = np.array(self.small)
        bound = EigenvalueBound.of(self.weights, self.shares)
        return self.rounded(float(bound(small, self.shares.sum() - small))), "eigenvalue"

    def by_flows(self, limit: float, cut: int) -> tuple[int, str]:
        """The bound of flows, improved for so many seconds or until a cut is proved the least."""
        demand = self.small * (int(self.shares.sum()) - self.small)
        # Capacities are directions, and the flow between two terminals counts once each way. If no
        # cut can have fewer, any flow proves it.
        fewer = cut - self.step / 2
        enough = demand / fewer if fewer > 0 else inf
        busiest = congestion(self.weights, self.shares, limit, enough)
        return self.rounded(demand / busiest), "flows"

    def kernighan_lin(
        self, enough: int, limit: float, seed: int
    ) -> tuple[int, frozenset[int], str]:
        """The least cut that the heuristic finds, or the first that is small enough: directions,
        one side, and the method. The starts along eigenvectors are made whatever the limit."""
        random = np.random.default_rng(seed)
        best, least = self._improved(self._filled(np.arange(len(self.weights))), random)
        end = time.thread_time() + limit
        for start, order in enumerate(self._orders(random)):
            if least <= enough or (start > 1 and time.thread_time() > end):
                break
            if order is None:  # from the best cut, with a fifth of the nodes in other places
                order = np.argsort(best, kind="stable")
                some = random.choice(len(order), -(-len(order) // 5), replace=False)
                order[some] = order[random.permutation(some)]
            sides, cut = self._improved(self._filled(order), random)
            if cut < least:
                best, least = sides, cut
        return least, frozenset(np.flatnonzero(best < 0).tolist()), "Kernighan-Lin"

    def _orders(self, random: np.random.Generator) -> Iterator[NDArray[np.intp] | None]:
        """Orders of the nodes to start from: the first ones are to be on one side."""
        _, vectors = lowest_modes(self.weights, 3)
        for vector in vectors.T[1:]:
            yield np.argsort(vector, kind="stable")
        for start in range(_STARTS):
            yield random.permutation(len(self.weights)) if start % 3 == 0 else None

    def _filled(self, order: NDArray[np.intp]) -> NDArray[np.int64]:
        """The side of each node, -1 or 1: the first in an order are on side -1 where possible."""
        reach = [1]  # bit s: the last nodes can have s terminals on a side
        for node in order[::-1]:
            reach.append(reach[-1] | reach[-1] << int(self.shares[node]))
        sides = np.ones(len(order), np.int64)
        missing = self.small
        for node, rest in zip(order, reach[-2::-1]):
            share = int(self.shares[node])
            if share <= missing and rest >> missing - share & 1 and (share or missing):
                sides[node] = -1
                missing -= share
        return sides

    def _improved(
        self, sides: NDArray[np.int64], random: np.random.Generator
    ) -> tuple[NDArray[np.int64], int]:
        """A local optimum of Kernighan and Lin's steps, and its directions."""
        weights = self.weights
        while True:
            trial, gains, changes = sides.copy(), [], []
            # By how much the cut shrinks if a node changes sides.
            gain = -(weights @ trial) * trial
            free = np.ones(len(sides), bool)
            while change := self._best_change(trial, gain, free, random):
                gains.append(change[0])
                changes.append(change[1])
                for node in change[1]:
                    gain += 2 * weights[node] * trial * trial[node]
                    gain[node] = -gain[node]
                    trial[node] = -trial[node]
                    free[node] = False
            total = np.cumsum(gains) if gains else np.zeros(1)
            last = int(total.argmax())
            if total[last] <= 0:
                return sides, int((weights.sum() - sides @ weights @ sides) // 4)
            for nodes in changes[: last + 1]:
                sides[nodes] *= -1

    def _best_change(
        self,
        sides: NDArray[np.int64],
        gain: NDArray[np.int64],
        free: NDArray[np.bool_],
        random: np.random.Generator,
    ) -> tuple[int, list[int]] | None:
        """The gain of a change that keeps the halves, and its nodes: two that swap sides, or one
        without terminals."""
        found: tuple[int, list[int]] | None = None
        for share in self.kinds:
            own = free & (self.shares == share)
            one, other = np.flatnonzero(own & (sides < 0)), np.flatnonzero(own & (sides > 0))
            if share == 0:
                either = np.flatnonzero(own)
                if len(either):
                    node = _one_of_most(gain[either], random)
                    if found is None or gain[either[node]] > found[0]:
                        found = int(gain[either[node]]), [int(either[node])]
            elif len(one) and len(other):
                one = one[gain[one] == gain[one].max()]
                both = gain[one][:, None] + gain[other] - 2 * self.weights[np.ix_(one, other)]
                row, column = divmod(_one_of_most(both.ravel(), random), len(other))
                if found is None or both[row, column] > found[0]:
                    found = int(both[row, column]), [int(one[row]), int(other[column])]
        return found

    @property
    def kinds(self) -> list[int]:
        """The numbers of terminals that nodes have."""
        return np.unique(self.shares).tolist()


def _one_of_most(values: NDArray[np.int64], random: np.random.Generator) -> int:
    """The index of a greatest value, drawn at random."""
    return int(random.choice(np.flatnonzero(values == values.max())))
