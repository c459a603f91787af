"""Permutations that load the links of a network much."""

from collections import defaultdict
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ...hdl.fabric.errors import InvalidValue
from ...hdl.graphs.graph import Link
from ...hdl.graphs.routing.relation import Relation
from .assignment import best_permutation

__all__ = ["heavy_permutations", "link_uses", "most_loaded_link", "worst_permutation"]

_CLIMBS = 20
"""Most steps from a permutation to one that loads its links more."""

_Permutation = tuple[int, ...]


def link_uses(relation: Relation) -> NDArray[np.uint8]:
    """For each link that is used, by source and destination, whether the path takes it.

    `path_shares.path_shares` does the same for packets that have a choice of paths.

    Raises
    ------
    ValueError
        If packets have a choice of paths.
    """
    if relation.choice:
        raise InvalidValue("Packets must have no choice of paths, if links are to be counted")
    ports = relation.ports
    users: dict[Link, NDArray[np.uint8]] = defaultdict(lambda: np.zeros((ports, ports), np.uint8))
    for source in range(ports):
        for destination in range(ports):
            *path, _ = relation.path(source, destination)
            for channel in path:
                users[relation.graph.link_of(channel)][source, destination] = 1
    return np.array(list(users.values()))


def heavy_permutations(shares: NDArray[np.number], count: int) -> list[list[int]]:
    """Permutations that load a link most, and from there on others of their links.

    For each link, the permutation that loads it most is found by assignment (Towles and Dally,
    2002); those of the highest loads are taken. From each, the sum of the squares of the loads is
    increased, by assignment too: it is convex, so no such step lessens it.

    Parameters
    ----------
    shares : (links, terminals, terminals) array
        For each link, source and destination, the share of packets that use the link
        (`link_uses`, or `path_shares.PathShares.links`).
    count : int
        Links from whose permutations the search goes on.

    Returns
    -------
    list of list of int
        Destinations by source, without repetitions; none if there are no links.
    """
    found: dict[_Permutation, None] = {}
    for first in _heaviest(shares)[:count]:
        found |= dict.fromkeys(_climb(shares, first))
    return [list(one) for one in found]


def worst_permutation(shares: NDArray[np.number]) -> list[int]:
    """A permutation that loads a link most (Towles and Dally, 2002), and others of its links too.

    Parameters
    ----------
    shares : (links, terminals, terminals) array
        As in `heavy_permutations`, of at least one link.

    Returns
    -------
    list[int]
        The destination of each terminal. No permutation has a link on more of its paths.
    """
    (first, *_) = _heaviest(shares)
    found: list[_Permutation] = [*_climb(shares, first)][::-1]
    best = max(found, key=lambda one: _loads(shares, one).max())
    return list(best)


def most_loaded_link(uses: NDArray[np.uint8], destinations: list[int]) -> int:
    """The paths of a permutation that take its most loaded link."""
    return int(_loads(uses, tuple(destinations)).max())


def _heaviest(shares: NDArray[np.number]) -> list[_Permutation]:
    """For each link the permutation that loads it most, the highest loads first."""
    firsts = {tuple(best_permutation(uses)) for uses in shares}
    return sorted(firsts, key=lambda one: (-_loads(shares, one).max(), one))


def _loads(shares: NDArray[np.number], permutation: _Permutation) -> NDArray[np.float64]:
    used = shares[:, np.arange(shares.shape[1]), list(permutation)]
    return used.sum(axis=1, dtype=np.float64)


def _climb(shares: NDArray[np.number], first: _Permutation) -> Iterator[_Permutation]:
    yield first
    loads = _loads(shares, first)
    for _ in range(_CLIMBS):
        after = tuple(best_permutation(np.tensordot(loads, shares, axes=1)))
        before, loads = loads, _loads(shares, after)
        if (loads**2).sum() <= (before**2).sum() * (1 + 1e-9):
            return
        yield after
