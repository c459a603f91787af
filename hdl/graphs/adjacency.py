"""Links from lists of neighbours."""

from collections.abc import Iterator, Sequence

from .graph import Link

__all__ = ["adjacent_links"]


def adjacent_links(neighbours: Sequence[Sequence[int]]) -> Iterator[Link]:
    """A link from each node to each of its neighbours: port i leads to the i-th of them.

    Links are in both directions, and there is one at most between two nodes.

    Examples
    --------
    >>> [link[:4] for link in adjacent_links([[1], [0, 2], [1]])]
    [(0, 0, 1, 0), (1, 0, 0, 0), (1, 1, 2, 0), (2, 0, 1, 1)]
    """
    ports = [{peer: port for port, peer in enumerate(peers)} for peers in neighbours]
    for node, peers in enumerate(neighbours):
        for port, peer in enumerate(peers):
            yield Link(node, port, peer, ports[peer][node])
