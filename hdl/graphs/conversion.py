"""Conversion of graphs to those of networkx, and back."""

import sys
from typing import TYPE_CHECKING, Any, TypeGuard

from ..fabric.checks import check_kind
from .draft import GraphDraft, link_attributes
from .graph import Graph
from .listed_graph import ListedGraph

if TYPE_CHECKING:  # it takes as long to import as all networks
    import networkx as nx

__all__ = ["from_networkx", "is_networkx", "to_networkx"]


def is_networkx(given: Any) -> "TypeGuard[nx.Graph]":
    """Whether something is a graph of networkx, of any of its four kinds.

    Parameters
    ----------
    given : Any
        Anything.

    Returns
    -------
    bool
        True if networkx is loaded and this is one of its graphs.

    Examples
    --------
    >>> import networkx
    >>> from multicube.hdl.graphs.conversion import is_networkx
    >>> is_networkx(networkx.petersen_graph()), is_networkx("petersen")
    (True, False)
    """
    networkx = sys.modules.get("networkx")  # whoever has such a graph has imported it
    return networkx is not None and isinstance(given, networkx.Graph)


def to_networkx(graph: Graph) -> "nx.MultiDiGraph":
    """A directed multigraph with an edge for each link, in the order of `Graph.links`.

    The attributes of an edge are those of its link: `port`, `peer_port`, `channels`, `latency` and
    `interval`. Nodes have `name`, and their list of `terminals`; and if packets leave at other
    nodes than they enter, the list of terminals for which they leave there, `exits`.

    Parameters
    ----------
    graph : Graph
        The graph here.

    Returns
    -------
    nx.MultiDiGraph
        The graph of networkx.

    Examples
    --------
    >>> from multicube import build
    >>> from multicube.hdl.graphs.conversion import to_networkx
    >>> to_networkx(build("ring", k=5, n=1).relation.graph).number_of_edges()
    5
    """
    import networkx as nx

    found = nx.MultiDiGraph()
    one_way = list(graph.exit_homes) != list(graph.homes)
    for node, (own, leaving) in enumerate(zip(graph.terminals, graph.exit_terminals)):
        found.add_node(node, name=graph.name(node), terminals=list(own))
        if one_way:
            found.nodes[node]["exits"] = list(leaving)
    for link in graph.links():
        found.add_edge(link.node, link.peer, **link_attributes(link))
    return found


def from_networkx(given: "nx.Graph") -> ListedGraph:
    """The graph with the nodes and edges of one of networkx, of any of its four kinds.

    An edge of an undirected graph becomes a link in each direction. `GraphDraft` says which
    attributes there are; so `from_networkx(to_networkx(graph))` has the links of `graph`. Edges in
    a file that networkx has read have the defaults of this file.

    Nodes are numbered in their order in the graph; `ListedGraph.name` has what networkx calls them,
    or their attribute `name`.

    Parameters
    ----------
    given : nx.Graph
        The graph of networkx.

    Returns
    -------
    ListedGraph
        The graph here.

    Raises
    ------
    TypeError, ValueError
        If an attribute is unknown or not an integer, an edge joins a node to itself, or as
        `check_graph`.

    Examples
    --------
    >>> import networkx
    >>> from multicube.hdl.graphs.conversion import from_networkx
    >>> from_networkx(networkx.petersen_graph()).nodes
    10
    """
    import networkx as nx

    check_kind("Graph", given, nx.Graph, "a graph of networkx")
    draft = GraphDraft(given.graph)
    for node, about in given.nodes(data=True):
        draft.add_node(node, about)
    for one, other, about in given.edges(data=True):
        draft.add_link(one, other, about, one_way=given.is_directed())
    return draft.graph()
