"""Measures of a graph: nodes, links and distances, and those of Ginosar and Egozi (1989)."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from ...hdl.fabric.checks import check_number
from ...hdl.fabric.errors import InvalidValue
from ...hdl.graphs.graph import Graph
from .bisection import Bisection, bisection, joined_nodes, link_weights
from .bounds import Bounds
from .fan_out import FanOut, fan_out
from .spectrum import second_eigenvalue

__all__ = ["CommunicationMeasures", "GraphMeasures", "communication_measures", "graph_measures"]

_ENTRIES = 2**22
"""Distances that are computed at a time, to bound the memory."""


@dataclass(frozen=True)
class GraphMeasures:
    """What `graph_measures` finds. All numbers are exact; means are rounded to a float.

    Attributes
    ----------
    nodes, terminals, sinks : int
        How many there are. Terminals send, sinks receive: the same ones, where they are as many.
    links : int
        Two links in opposite directions count once.
    one_way_links : int
        Those of them that have only one direction.
    bus_links : int
        Those of them that only join a node and a bus. `LinkCounts` has a bus as one link.
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
    sinks: int
    links: int
    one_way_links: int
    bus_links: int
    channels: int
    least_degree: int
    mean_degree: float
    most_degree: int
    diameter: int
    mean_distance: float


def graph_measures(graph: Graph) -> GraphMeasures:
    """Measure a graph in links, whatever their latency.

    Parameters
    ----------
    graph : Graph
        The graph.

    Returns
    -------
    GraphMeasures
        All measures.

    Raises
    ------
    ValueError
        If there is no way between two terminals.

    Examples
    --------
    >>> import networkx
    >>> from multicube.hdl.graphs.conversion import from_networkx
    >>> from multicube.sim.measure.graph_measures import graph_measures
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
        sinks=len(graph.exit_homes),
        links=len(graph.edges),
        one_way_links=sum(back is None for _, back in graph.edges),
        bus_links=sum(graph.is_attachment(link) for link, _ in graph.edges),
        channels=sum(link.channels for link in links),
        least_degree=int(degrees.min()),
        mean_degree=len(links) / graph.nodes,
        most_degree=int(degrees.max()),
        diameter=diameter,
        mean_distance=total / (len(graph.homes) * len(graph.exit_homes)),
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


_MOST_NODES = 4096
"""Most nodes of a graph whose bisection width and fan-out time are looked for."""


@dataclass(frozen=True)
class CommunicationMeasures:
    """The measures of Ginosar and Egozi (1989), section 5.

    Attributes
    ----------
    graph : GraphMeasures
        Counts of nodes, links and distances.
    alpha : float
        The share of F in L, from 0 to 1.
    fan_out : FanOut
        F, with a broadcast.
    bisection : Bisection
        e, with one half.
    disconnectivity : Bounds
        D = N / e; N is the number of terminals.
    looseness : Bounds
        L = alpha F + (1 - alpha) D.
    connectivity : float
        C, the mean number of links that touch a node; those to its terminals do not count.
    cost_effectiveness : Bounds
        L C.
    cost : float
        Links per node.
    spectral_gap : float
        The second-smallest eigenvalue of the Laplacian. In a graph of equal degrees it is the
        difference of the two greatest eigenvalues of the adjacency matrix. A one-way link counts
        half.
    """

    graph: GraphMeasures
    alpha: float
    fan_out: FanOut
    bisection: Bisection
    disconnectivity: Bounds
    looseness: Bounds
    connectivity: float
    cost_effectiveness: Bounds
    cost: float
    spectral_gap: float

    def ranges(self) -> dict[str, tuple[float, float]]:
        """The bounds of d, F, D, L, C and LC."""
        return {
            "d": (self.graph.diameter, self.graph.diameter),
            "F": self.fan_out.time.range,
            "D": self.disconnectivity.range,
            "L": self.looseness.range,
            "C": (self.connectivity, self.connectivity),
            "LC": self.cost_effectiveness.range,
        }

    def at(self, alpha: float) -> "CommunicationMeasures":
        """The same with another alpha, from 0 to 1."""
        loose = _mixed(self.fan_out.time, self.disconnectivity, alpha)
        product = loose.times(self.connectivity)
        return replace(self, alpha=alpha, looseness=loose, cost_effectiveness=product)


def unsearched(graph: Graph) -> str | None:
    """Why F and e are not looked for; None if they are, or if e is, and only F not."""
    if graph.nodes > _MOST_NODES:
        return f"Nodes must be at most {_MOST_NODES} to look for F and e, not {graph.nodes}"
    sources, sinks = len(graph.homes), len(graph.exit_homes)
    if sources != sinks:
        return f"Sources must be as many as sinks to look for F and e, not {sources} and {sinks}"
    if len(set(joined_nodes(graph)[list(graph.homes)])) < 2:
        return "Terminals must be at two nodes at least to look for F and e, not at one"
    return None


def unspread(graph: Graph) -> str | None:
    """Why F is not looked for in a graph whose e is; None if it is."""
    if list(graph.homes) != list(graph.exit_homes):
        return "Packets of each terminal must enter and leave at one node to look for F"
    return None


def communication_measures(
    graph: Graph, alpha: float = 0.5, limit: float = 10.0, seed: int = 1
) -> CommunicationMeasures:
    """Measure a graph as Ginosar and Egozi do: each number is exact, or is between two bounds.

    Parameters
    ----------
    graph : Graph
        The graph.
    alpha : float
        The share of F in L, from 0 to 1.
    limit : float
        Seconds of processor time that fan-out time and bisection width may take, each. A busy
        machine gives the same results.
    seed : int
        For the heuristics.

    Returns
    -------
    CommunicationMeasures
        All measures.

    Raises
    ------
    TypeError, ValueError
        If a number is out of range, the graph has more than 4,096 nodes, terminals at one node
        only or not as many sources as sinks, a terminal's packets leave at another node than its
        own enter, or there is no way between two terminals.

    Examples
    --------
    >>> import networkx
    >>> from multicube.hdl.graphs.conversion import from_networkx
    >>> from multicube.sim.measure.graph_measures import communication_measures
    >>> found = communication_measures(from_networkx(networkx.hypercube_graph(4)))
    >>> found.fan_out.time.exact, found.bisection.width.exact, found.looseness.exact
    (4, 8, 3.0)
    """
    if not 0 <= check_number("Alpha", alpha) <= 1:
        raise InvalidValue(f"Alpha must be from 0 to 1, not {alpha}")
    if not check_number("Limit", limit) > 0:
        raise InvalidValue(f"Limit must be above 0 seconds, not {limit}")
    if why := unsearched(graph) or unspread(graph):
        raise InvalidValue(why)
    basic = graph_measures(graph)
    spread = fan_out(graph, limit, seed)
    halves = bisection(graph, limit, seed)
    apart = halves.width.below(len(graph.homes))
    loose = _mixed(spread.time, apart, alpha)
    connectivity = 2 * basic.links / basic.nodes
    return CommunicationMeasures(
        graph=basic,
        alpha=alpha,
        fan_out=spread,
        bisection=halves,
        disconnectivity=apart,
        looseness=loose,
        connectivity=connectivity,
        cost_effectiveness=loose.times(connectivity),
        cost=basic.links / basic.nodes,
        spectral_gap=second_eigenvalue(link_weights(graph)) / 2,
    )


def _mixed(fan_out: Bounds, disconnectivity: Bounds, alpha: float) -> Bounds:
    """L, whose bounds rest on those of both."""
    if alpha in (0, 1):
        return fan_out if alpha else disconnectivity
    pairs = (
        (getattr(fan_out, name), getattr(disconnectivity, name)) for name in ("lower", "upper")
    )
    lower, upper = (alpha * one + (1 - alpha) * other for one, other in pairs)
    return Bounds(
        lower,
        upper,
        f"F: {fan_out.lower_method}; D: {disconnectivity.lower_method}",
        f"F: {fan_out.upper_method}; D: {disconnectivity.upper_method}",
    )
