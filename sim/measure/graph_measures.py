"""Measures of a graph: how many nodes and links it has, and how far its terminals are apart."""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from ...hdl.core.errors import InvalidValue
from ...hdl.topology.graph import Graph

__all__ = ["GraphMeasures", "graph_measures"]

_ENTRIES = 2**22
"""Distances that are computed at a time, to bound the memory."""


@dataclass(frozen=True)
class GraphMeasures:
    """What `graph_measures` finds. All numbers are exact; means are rounded to a float.

    Attributes
    ----------
    nodes, terminals : int
    links : int
        Two links in opposite directions count once.
    one_way_links : int
        Those of them that have only one direction.
    channels : int
        Virtual channels of all links, each direction counted.
    least_degree, mean_degree, most_degree : int, float, int
        Links that leave a node, without those to its terminals.
    diameter : int
        Links on a shortest path between the two terminals that are farthest apart.
    mean_distance : float
        Links on a shortest path, on average over all pairs of source and destination. As in uniform
        traffic a terminal is also a destination of its own, at distance 0.
    """

    nodes: int
    terminals: int
    links: int
    one_way_links: int
    channels: int
    least_degree: int
    mean_degree: float
    most_degree: int
    diameter: int
    mean_distance: float


def graph_measures(graph: Graph) -> GraphMeasures:
    """Measure a graph. Distances count links, whatever their latency.

    Raises
    ------
    ValueError
        If there is no way between two terminals.

    Examples
    --------
    >>> import networkx
    >>> from multicube.hdl.topology.conversion import from_networkx
    >>> petersen = graph_measures(from_networkx(networkx.petersen_graph()))
    >>> petersen.links, petersen.diameter, petersen.mean_distance
    (15, 2, 1.5)
    """
    links = list(graph.links())
    degrees = np.bincount([link.node for link in links], minlength=graph.nodes)
    diameter, total = _distances(graph)
    return GraphMeasures(
        nodes=graph.nodes,
        terminals=len(graph.homes),
        links=len(graph.edges),
        one_way_links=sum(back is None for _, back in graph.edges),
        channels=sum(link.channels for link in links),
        least_degree=int(degrees.min()),
        mean_degree=len(links) / graph.nodes,
        most_degree=int(degrees.max()),
        diameter=diameter,
        mean_distance=total / len(graph.homes) ** 2,
    )


def _distances(graph: Graph) -> tuple[int, int]:
    """The longest distance between terminals, and the sum over all pairs of them."""
    pairs = sorted({(link.node, link.peer) for link in graph.links()})
    ends = tuple(np.array(pairs, dtype=int).reshape(-1, 2).T)
    near = csr_array((np.ones(len(pairs)), ends), shape=(graph.nodes, graph.nodes))
    shares, exit_shares = (
        np.bincount(homes, minlength=graph.nodes) for homes in (graph.homes, graph.exit_homes)
    )
    starts, lasts = np.flatnonzero(shares), np.flatnonzero(exit_shares)
    longest = total = 0
    for some in np.array_split(starts, -(-len(starts) * graph.nodes // _ENTRIES)):
        found = dijkstra(near, indices=some, unweighted=True)[:, lasts]
        if not np.isfinite(found).all():
            source, end = np.argwhere(~np.isfinite(found))[0]
            names = graph.name(int(some[source])), graph.name(int(lasts[end]))
            raise InvalidValue(f"Terminals at node {names[0]} must have a way to node {names[1]}")
        away = found.astype(int)
        longest = max(longest, int(away.max()))
        total += int(shares[some] @ away @ exit_shares[lasts])
    return longest, total
