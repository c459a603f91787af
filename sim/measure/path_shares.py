"""Which links and nodes the packets between two terminals use, and what a broken one cuts off."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...hdl.graphs.graph import Channel
from ...hdl.graphs.routing.relation import Relation

__all__ = ["PathShares", "path_shares"]

_CERTAIN = 1 - 1e-9
"""A share that is 1, but for rounding."""


@dataclass(frozen=True, eq=False)
class PathShares:
    """The paths of a relation's packets, if each choice is taken equally often.

    Attributes
    ----------
    ends : list[tuple[int, int]]
        The links, by the node and the port that they leave. All channels of a link are one.
    links : np.ndarray
        Shape (links, terminals, terminals): the share of the packets of a source (second index) to
        a destination (third) that takes a link.
    nodes : np.ndarray
        Shape (nodes, terminals, terminals): the share that enters a node, also to leave for its
        terminal.
    """

    ends: list[tuple[int, int]]
    links: np.ndarray
    nodes: np.ndarray

    @cached_property
    def cut_by_links(self) -> np.ndarray:
        """For each link, the share of the pairs of different terminals whose paths all use it."""
        return _cut(self.links)

    @cached_property
    def cut_by_nodes(self) -> np.ndarray:
        """For each node, the share of the pairs of different terminals whose paths all use it."""
        return _cut(self.nodes)


def _cut(shares: np.ndarray) -> np.ndarray:
    ports = shares.shape[1]
    certain = (shares >= _CERTAIN) & ~np.eye(ports, dtype=bool)
    return certain.sum(axis=(1, 2)) / (ports * (ports - 1))


def path_shares(relation: Relation) -> PathShares:
    """Follow the packets between all terminals of a relation.

    Takes memory for (links + nodes) terminals^2 numbers.

    Examples
    --------
    In a one-way ring of 4 nodes a broken link cuts off half of the pairs:

    >>> from multicube.hdl.families.torus.torus_graph import Torus
    >>> path_shares(Torus(4, 1, directions=1)).cut_by_links.tolist()
    [0.5, 0.5, 0.5, 0.5]
    """
    graph = relation.graph
    ends = sorted(graph.by_output)
    shares = np.zeros((len(ends) + graph.nodes, relation.ports, relation.ports))
    number = {end: i for i, end in enumerate(ends)}
    for destination in range(relation.ports):
        headers = relation.headers(destination)
        for header in headers:
            found = _from_places(relation, header, number)
            for source, home in enumerate(graph.homes):
                shares[:, source, destination] += found[home, None] / len(headers)
    return PathShares(ends, shares[: len(ends)], shares[len(ends) :])


_Place = tuple[int, Channel | None]
"""A node, and the channel by which a header has come to it, if its choices depend on that."""


def _from_places(
    relation: Relation, header: int, number: Mapping[tuple[int, int], int]
) -> Mapping[_Place, np.ndarray]:
    """For each place where a header can be, the shares of links and then of nodes on its way."""
    graph, looks_back = relation.graph, relation.looks_back
    places = {
        (node, came if looks_back else None): nexts for node, came, nexts in relation.steps(header)
    }
    found: dict[_Place, np.ndarray] = {}

    def follow(node: int, came: Channel | None) -> np.ndarray:
        place = node, came if looks_back else None
        if place not in found:
            nexts = places[place]
            row = np.zeros(len(number) + graph.nodes)
            for channel in nexts:
                row += follow(graph.link_of(channel).peer, channel)
                row[number[channel.node, channel.port]] += 1
            row /= max(1, len(nexts))
            row[len(number) + node] += 1
            found[place] = row
        return found[place]

    for home in graph.homes:
        follow(home, None)
    return found
