"""The least cut into given halves: a search over the cuts of a growing part of the graph.

The nodes are placed on either side one after the other. Two partial cuts are alike if the nodes
that still have unplaced neighbours, the *frontier*, are on the same sides, and as many terminals
are on each; only one with the fewest links is kept. So the number of partial cuts depends on the
widest frontier more than on the number of nodes. A partial cut is dropped if it can't lead to fewer
links than a known cut: the links still to come are at least those of the eigenvalue bound of the
unplaced part, plus, for each unplaced node, the lesser of its links to the frontier's two sides.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.typing import NDArray

from .spectrum import second_eigenvalue

__all__ = ["EigenvalueBound", "least_cut"]

Weights = NDArray[np.int64]

_SLOTS = 46
"""Most nodes in the frontier: a partial cut is a word with a bit for each of them, and 18 bits that
count the terminals on the side of ones."""
_MOST_STATES = 2**24
"""Partial cuts that are kept at a time, to bound the memory."""
_EASE = 1e-7
"""Bounds are rounded up only beyond this, so that rounding errors don't raise them."""
_ORDERS = 30
"""Starts from which an order of the nodes is tried."""
_EVERY = 48
"""The eigenvalue bound is found for about so many of the growing parts."""


@dataclass(frozen=True)
class EigenvalueBound:
    """A lower bound on cuts: eigenvalue times |A| |B| / nodes (Fiedler, 1973).

    Attributes
    ----------
    eigenvalue : float
        The second-smallest one of the Laplacian.
    nodes : int
    most : int
        Terminals of the node that has most.
    """

    eigenvalue: float
    nodes: int
    most: int

    @classmethod
    def of(cls, weights: Weights, shares: Weights) -> "EigenvalueBound":
        """The bound for a graph with some links between any two nodes, and terminals of each."""
        most = max(1, int(shares.max(initial=1)))
        return cls(second_eigenvalue(weights), len(weights), most)

    def __call__(self, one: NDArray[np.int64], other: NDArray[np.int64]) -> NDArray[np.float64]:
        """The least links between sides with so many terminals."""
        if self.nodes < 2:
            return np.zeros(np.shape(one))
        # Terminals need nodes; of the possible sizes of a side, the extreme ones have least links.
        least = -(-one // self.most)
        most = self.nodes - -(-other // self.most)
        product = np.minimum(least * (self.nodes - least), most * (self.nodes - most))
        return self.eigenvalue * product / self.nodes


def least_cut(
    weights: Weights, shares: Weights, small: int, below: int, end: float, seed: int
) -> int | None:
    """The least links of a cut, if they are fewer than `below`; otherwise `below`.

    Parameters
    ----------
    weights : (nodes, nodes) array
        Symmetric: links between two nodes.
    shares : (nodes,) array
        Terminals of each node.
    small : int
        Terminals on one of the sides.
    below : int
    end : float
        When to give up, by `time.thread_time`.
    seed : int
        For the orders of the nodes that are tried.

    Returns
    -------
    int or None
        None if it gave up: it is too late, or there are too many partial cuts.
    """
    total = int(shares.sum())
    neighbours = [np.flatnonzero(row).tolist() for row in weights]
    order = _order(neighbours, np.random.default_rng(seed), end)
    if order is None or total >= 1 << 64 - _SLOTS:
        return None
    goals = np.array(sorted({small, total - small}))
    stride = max(1, len(order) // _EVERY)
    unit = np.uint64(1)
    keys, cuts = np.zeros(1, np.uint64), np.zeros(1, np.int32)
    slots: dict[int, int] = {}
    free = [*range(_SLOTS)]
    placed: set[int] = set()
    for position, node in enumerate(order):
        if not free:
            return None
        slot = free.pop()
        links = [
            (np.uint64(slots[n]), int(weights[node, n])) for n in neighbours[node] if n in slots
        ]
        ones = _sum(keys, links)
        step = (unit << np.uint64(slot)) + np.uint64(int(shares[node]) << _SLOTS)
        if position or len(goals) > 1:
            cuts = np.concatenate([cuts + ones, cuts + sum(w for _, w in links) - ones])
            keys = np.concatenate([keys, keys + step])
        else:
            keys = keys + step  # the halves are alike, so the first node may be on either side
        slots[node] = slot
        placed.add(node)
        kept = 2**64 - 1
        for gone in [n for n in slots if all(other in placed for other in neighbours[n])]:
            free.append(slots.pop(gone))
            kept &= ~(1 << free[-1])
        keys &= np.uint64(kept)

        rest = order[position + 1 :]
        bound = None
        if rest and position % stride == 0 and len(keys) > 64:
            bound = EigenvalueBound.of(weights[np.ix_(rest, rest)], shares[rest])
        come = _to_come(keys, goals, int(shares[rest].sum()), bound)
        good = cuts + come < below
        keys, cuts, come = keys[good], cuts[good], come[good]
        if rest:
            good = cuts + come + _forced(keys, weights, neighbours, slots, placed) < below
            keys, cuts = keys[good], cuts[good]
        if not len(keys):
            return below
        keys, cuts = _distinct(keys, cuts)
        if len(keys) > _MOST_STATES or time.thread_time() > end:
            return None
    return int(cuts.min())


def _sum(keys: NDArray[np.uint64], links: Sequence[tuple[np.uint64, int]]) -> NDArray[np.int32]:
    """For each partial cut, the links to the frontier nodes in some slots that are on side one."""
    found = np.zeros(len(keys), np.int32)
    for slot, weight in links:
        found += weight * (keys >> slot & np.uint64(1)).astype(np.int32)
    return found


def _to_come(
    keys: NDArray[np.uint64], goals: Weights, rest: int, bound: EigenvalueBound | None
) -> NDArray[np.float64]:
    """For each partial cut, a lower bound on the links between unplaced nodes; or infinity if no
    half has as many terminals as it should."""
    counts = (keys >> np.uint64(_SLOTS)).astype(np.int64)
    found = np.full(len(keys), inf)
    for goal in goals:
        missing = goal - counts
        possible = (missing >= 0) & (missing <= rest)
        links = (
            np.zeros(len(keys))
            if bound is None
            else np.ceil(bound(missing, rest - missing) - _EASE)
        )
        found = np.where(possible, np.minimum(found, links), found)
    return found


def _forced(
    keys: NDArray[np.uint64],
    weights: Weights,
    neighbours: Sequence[Sequence[int]],
    slots: dict[int, int],
    placed: set[int],
) -> NDArray[np.int32]:
    """For each partial cut, a lower bound on the links between the frontier and unplaced nodes."""
    found = np.zeros(len(keys), np.int32)
    for node in {other for n in slots for other in neighbours[n] if other not in placed}:
        links = [
            (np.uint64(slots[n]), int(weights[node, n])) for n in neighbours[node] if n in slots
        ]
        if len(links) > 1:
            ones = _sum(keys, links)
            found += np.minimum(ones, sum(weight for _, weight in links) - ones)
    return found


def _distinct(
    keys: NDArray[np.uint64], cuts: NDArray[np.int32]
) -> tuple[NDArray[np.uint64], NDArray[np.int32]]:
    """Each key once, with the least of its cuts."""
    order = np.argsort(keys, kind="stable")
    keys, cuts = keys[order], cuts[order]
    first = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]]))
    return keys[first], np.minimum.reduceat(cuts, first)


def _order(
    neighbours: Sequence[Sequence[int]], random: np.random.Generator, end: float
) -> list[int] | None:
    """An order of the nodes with narrow frontiers: the next node is one that widens it least."""
    best, least = None, inf
    for start in random.permutation(len(neighbours))[:_ORDERS]:
        order, cost = _order_from(neighbours, int(start), least)
        if cost < least:
            best, least = order, cost
        if time.thread_time() > end:
            break
    return best


def _order_from(
    neighbours: Sequence[Sequence[int]], start: int, most: float
) -> tuple[list[int], float]:
    """An order from one start, and its cost: the sum of 2^width over all frontiers. It ends early
    if the cost is no longer below `most`."""
    left = [len(others) for others in neighbours]
    when: dict[int, int] = {}

    def widens(node: int) -> tuple[int, int, int]:
        known = [other for other in neighbours[node] if other in when]
        done = sum(left[other] == 1 for other in known)
        opens = len(known) < len(neighbours[node])
        oldest = min((when[other] for other in known), default=0)
        return opens - done, -len(known), oldest

    candidates = {start}
    width, cost = 0, 0.0
    while len(when) < len(neighbours) and cost < most:
        if not candidates:
            candidates = {next(n for n in range(len(neighbours)) if n not in when)}
        node = min(candidates, key=widens)
        width += widens(node)[0]
        when[node] = len(when)
        candidates.discard(node)
        for other in neighbours[node]:
            left[other] -= 1
            if other not in when:
                candidates.add(other)
        cost += 2.0**width
    return [*when], cost
