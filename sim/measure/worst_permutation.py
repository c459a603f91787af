"""The permutation that loads a link most, for a routing without a choice."""

from collections import defaultdict

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from ...hdl.core.errors import InvalidValue
from ...hdl.routing.relation import Relation
from ...hdl.topology.graph import Link

__all__ = ["link_uses", "most_loaded_link", "worst_permutation"]


def link_uses(relation: Relation) -> NDArray[np.uint8]:
    """For each link that is used, by source and destination, whether the path takes it.

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


def worst_permutation(uses: NDArray[np.uint8]) -> list[int]:
    """A permutation that loads a link most (Towles and Dally, 2002), and then others of its links.

    Parameters
    ----------
    uses : (links, terminals, terminals) array
        As `link_uses` returns them.

    Returns
    -------
    list[int]
        The destination of each terminal. No permutation has a link on more of its paths.
    """
    rows = np.arange(uses.shape[1])

    def best(weights: NDArray[np.integer]) -> NDArray[np.int64]:
        return linear_sum_assignment(weights, maximize=True)[1]

    def loads(columns: NDArray[np.int64]) -> NDArray[np.int64]:
        return uses[:, rows, columns].sum(axis=1, dtype=np.int64)

    found = max(map(best, uses), key=lambda columns: loads(columns).max())
    # The sum of the squares of loads is convex: such steps only let it grow.
    while True:
        after = best(np.tensordot(loads(found), uses, axes=1))
        if (
            loads(after).max() < loads(found).max()
            or (loads(after) ** 2).sum() <= (loads(found) ** 2).sum()
        ):
            return found.tolist()
        found = after


def most_loaded_link(uses: NDArray[np.uint8], destinations: list[int]) -> int:
    """The paths of a permutation that take its most loaded link."""
    return int(uses[:, np.arange(len(destinations)), destinations].sum(axis=1).max())
