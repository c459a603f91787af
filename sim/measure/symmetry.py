"""Equivalent nodes of a graph: those that an automorphism takes to each other."""

import time
from collections.abc import Sequence
from math import inf

import numpy as np
from numpy.typing import NDArray

__all__ = ["equivalent_nodes"]

_Numbers = NDArray[np.int64]


def equivalent_nodes(
    to: Sequence[Sequence[int]], colours: Sequence[int], end: float = inf
) -> list[list[int]]:
    """Classes of nodes, each of which some automorphism takes to any other of its class.

    Each automorphism is found by refinement of colours and then checked, so no class is too large.
    Classes can be smaller than those of all automorphisms, as no choice is taken back.

    Parameters
    ----------
    to : Sequence[Sequence[int]]
        For each node, those to which a link leads.
    colours : Sequence[int]
        An automorphism keeps the colour of each node.
    end : float
        When to stop the search, by `time.thread_time`.

    Examples
    --------
    A path of four nodes:

    >>> equivalent_nodes([[1], [0, 2], [1, 3], [2]], [0, 0, 0, 0])
    [[0, 3], [1, 2]]
    """
    graph = _Colouring(to)
    first = graph.refined(np.array(colours))
    chief = [*range(len(to))]

    def found(node: int) -> int:
        while chief[node] != node:
            node = chief[node]
        return node

    for node in range(len(to)):
        if found(node) != node:
            continue
        candidates = (n for n in range(node) if found(n) == n and first[n] == first[node])
        for other in candidates:
            image = None if time.thread_time() > end else graph.automorphism(first, other, node)
            if image is not None:
                for one, two in enumerate(image):
                    low, high = sorted((found(one), found(two)))
                    chief[high] = low
                break
    classes: dict[int, list[int]] = {}
    for node in range(len(to)):
        classes.setdefault(found(node), []).append(node)
    return [*classes.values()]


class _Colouring:
    """Refines the colours of nodes by those of their neighbours, in one copy of a graph or two."""

    def __init__(self, to: Sequence[Sequence[int]]) -> None:
        self._count = len(to)
        self._tails = np.repeat(np.arange(len(to)), [len(peers) for peers in to])
        self._heads = np.array([peer for peers in to for peer in peers], dtype=np.int64)
        self._links = np.sort(self._tails * len(to) + self._heads)
        self._random = np.random.default_rng(1)
        # Sums of random numbers tell sets of colours apart; the check would notice a mistake.
        self._marks = self._random.integers(1, 2**62, 4 * len(to) + 4, np.int64)

    def refined(self, colours: _Numbers) -> _Numbers:
        """Colours from 0 up that neighbours' colours split no further; several copies in a row."""
        now = np.unique(colours, return_inverse=True)[1].reshape(-1)
        while True:
            rows = [now]
            marks = self._marks[now].reshape(-1, self._count)
            for ends, others in ((self._tails, self._heads), (self._heads, self._tails)):
                sums = np.zeros_like(marks)
                for copy, mark in zip(sums, marks):
                    np.add.at(copy, ends, mark[others])
                rows.append(sums.reshape(-1))
            finer = np.unique(np.stack(rows), axis=1, return_inverse=True)[1].reshape(-1)
            if finer.max() == now.max():
                return finer
            now = finer

    def automorphism(self, colours: _Numbers, node: int, image: int) -> list[int] | None:
        """The images of all nodes under an automorphism that takes a node to another; None if the
        choices made lead to none."""
        count = self._count
        pair = np.concatenate([colours, colours])
        while True:
            pair[node] = pair[count + image] = pair.max() + 1
            pair = self.refined(pair)
            ones, others = pair[:count], pair[count:]
            order = self._random.permutation(count)
            sources = np.argsort(ones, kind="stable")
            images = order[np.argsort(others[order], kind="stable")]
            if not np.array_equal(ones[sources], others[images]):
                return None
            found = np.empty(count, np.int64)
            found[sources] = images
            mapped = np.sort(found[self._tails] * count + found[self._heads])
            if np.array_equal(mapped, self._links):
                return found.tolist()
            wide = np.flatnonzero(np.bincount(ones)[ones] > 1)
            if not len(wide):
                return None
            node = int(wide[0])
            image = int(found[node])
