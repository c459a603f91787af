"""Permutations that load the links of a network much."""

from collections.abc import Iterator

import numpy as np
from scipy.optimize import linear_sum_assignment

__all__ = ["heavy_permutations"]

_CLIMBS = 20
"""Most steps from a permutation to one that loads its links more."""


def heavy_permutations(shares: np.ndarray, count: int) -> list[list[int]]:
    """Permutations that load a link most, and from there on others of their links.

    For each link, the permutation that loads it most is found by assignment (Towles and Dally,
    2002); those of the highest loads are taken. From each, the sum of the squares of the loads is
    increased, by assignment too: it is convex, so no such step lessens it.

    Parameters
    ----------
    shares : np.ndarray
        For each link, source and destination, the share of packets that use the link
        (`path_shares.PathShares.links`).
    count : int
        Links from whose permutations the search goes on.

    Returns
    -------
    list of list of int
        Destinations by source, without repetitions; none if there are no links.
    """
    firsts = {tuple(_assigned(uses).tolist()): 0.0 for uses in shares}
    for first in firsts:
        firsts[first] = float(_loads(shares, first).max())
    found: dict[tuple[int, ...], None] = {}
    for first in sorted(firsts, key=lambda one: (-firsts[one], one))[:count]:
        found |= dict.fromkeys(_climb(shares, first))
    return [list(one) for one in found]


def _assigned(weights: np.ndarray) -> np.ndarray:
    return linear_sum_assignment(weights, maximize=True)[1]


def _loads(shares: np.ndarray, permutation: tuple[int, ...]) -> np.ndarray:
    return shares[:, np.arange(shares.shape[1]), permutation].sum(axis=1)


def _climb(shares: np.ndarray, first: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    yield first
    loads = _loads(shares, first)
    for _ in range(_CLIMBS):
        after = tuple(_assigned(np.tensordot(loads, shares, axes=1)).tolist())
        before, loads = loads, _loads(shares, after)
        if (loads**2).sum() <= (before**2).sum() * (1 + 1e-9):
            return
        yield after
