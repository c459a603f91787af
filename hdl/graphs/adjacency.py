"""Graphs of routers that are given by their neighbours, with terminals spread over all of them."""

from collections.abc import Iterator, Sequence
from typing import Any

from ..fabric.parameter_fields import integer
from .graph import MOST_NODES, Link

__all__ = ["adjacent_links", "endpoint_count", "spread"]


def endpoint_count() -> Any:
    """The field for a number of terminals that are spread over routers."""
    return integer(
        "auto",
        "terminals; auto: half as many as links at each",
        least=2,
        most=MOST_NODES,
        choices=("auto",),
    )


def spread(terminals: int, nodes: int) -> list[int]:
    """The node of each terminal: as many at each node, but for one."""
    return [terminal * nodes // terminals for terminal in range(terminals)]


def adjacent_links(neighbours: Sequence[Sequence[int]]) -> Iterator[Link]:
    """A link from each node to each of its neighbours: port i leads to the i-th of them.

    Links are in both directions, and at most one joins two nodes.

    Examples
    --------
    >>> [link[:4] for link in adjacent_links([[1], [0, 2], [1]])]
    [(0, 0, 1, 0), (1, 0, 0, 0), (1, 1, 2, 0), (2, 0, 1, 1)]
    """
    ports = [{peer: port for port, peer in enumerate(peers)} for peers in neighbours]
    for node, peers in enumerate(neighbours):
        for port, peer in enumerate(peers):
            yield Link(node, port, peer, ports[peer][node])
