"""Conversion of graphs to those of networkx, and back."""

import sys
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any, TypeGuard

from ..fabric.checks import check_integer, check_kind
from ..fabric.errors import InvalidValue
from .graph import Graph, Link, ListedGraph

if TYPE_CHECKING:  # it takes as long to import as all networks
    import networkx as nx

__all__ = ["from_networkx", "is_networkx", "to_networkx"]

_MOST_TERMINALS = 2**16
"""Most terminals at a node: no network has more."""


def is_networkx(given: Any) -> "TypeGuard[nx.Graph]":
    """Whether something is a graph of networkx, of any of its four kinds."""
    networkx = sys.modules.get("networkx")  # whoever has such a graph has imported it
    return networkx is not None and isinstance(given, networkx.Graph)


def to_networkx(graph: Graph) -> "nx.MultiDiGraph":
    """A directed multigraph with an edge for each link, in the order of `Graph.links`.

    The attributes of an edge are those of its link: `port`, `peer_port`, `channels` and `latency`.
    Nodes have `name`, and their list of `terminals`; and if packets leave at other nodes than they
    enter, the list of terminals for which they leave there, `exits`.
    """
    import networkx as nx

    found = nx.MultiDiGraph()
    one_way = list(graph.exit_homes) != list(graph.homes)
    for node, (own, leaving) in enumerate(zip(graph.terminals, graph.exit_terminals)):
        found.add_node(node, name=graph.name(node), terminals=list(own))
        if one_way:
            found.nodes[node]["exits"] = list(leaving)
    for link in graph.links():
        rest = {"peer_port": link.peer_port, "channels": link.channels, "latency": link.latency}
        found.add_edge(link.node, link.peer, port=link.port, **rest)
    return found


def from_networkx(given: "nx.Graph") -> ListedGraph:
    """The graph with the nodes and edges of one of networkx, of any of its four kinds.

    An edge of an undirected graph becomes a link in each direction. Edges may have the attributes
    `channels` and `latency` (1 by default), and `port` and `peer_port` if they are directed;
    otherwise ports are numbered in the order of the edges. A node may have the attribute
    `terminals`: how many it has (1 by default), or a list of their numbers.

    Nodes are numbered in their order in the graph; `ListedGraph.name` has what networkx calls them,
    or their attribute `name`.

    Raises
    ------
    TypeError, ValueError
        If an attribute is not an integer, or as `check_graph`.
    """
    import networkx as nx

    check_kind("Graph", given, nx.Graph, "a graph of networkx")
    number: dict[Hashable, int] = {node: index for index, node in enumerate(given)}
    outputs, inputs = [0] * len(number), [0] * len(number)
    links: list[Link] = []

    def add(node: int, peer: int, about: dict) -> None:
        what = f"of the edge from {names[node]} to {names[peer]}"
        port, peer_port = outputs[node], inputs[peer]
        if given.is_directed():
            port = check_integer(f"Port {what}", about.get("port", port), 0)
            peer_port = check_integer(f"Peer port {what}", about.get("peer_port", peer_port), 0)
        channels = check_integer(f"Channels {what}", about.get("channels", 1), 1)
        latency = check_integer(f"Latency {what}", about.get("latency", 1), 1)
        links.append(Link(node, port, peer, peer_port, channels, latency))
        outputs[node] += 1
        inputs[peer] += 1

    names = [str(about.get("name", node)) for node, about in given.nodes(data=True)]
    for one, other, about in given.edges(data=True):
        add(number[one], number[other], about)
        if not given.is_directed():
            add(number[other], number[one], about)
    return ListedGraph(len(number), links, _homes(given, names), names)


def _homes(given: "nx.Graph", names: list[str]) -> list[int]:
    """For each terminal, its node."""
    numbered: dict[int, int] = {}

    def place(terminal: int, node: int) -> None:
        if numbered.setdefault(terminal, node) != node:
            raise InvalidValue(
                f"Terminal {terminal} must be at one node, not at {names[numbered[terminal]]} "
                f"and {names[node]}"
            )

    for node, (_, about) in enumerate(given.nodes(data=True)):
        own = about.get("terminals", 1)
        if isinstance(own, list | tuple):
            for terminal in own:
                place(check_integer(f"Terminal of node {names[node]}", terminal, 0), node)
        else:
            count = check_integer(f"Terminals of node {names[node]}", own, 0, _MOST_TERMINALS)
            for _ in range(count):
                place(len(numbered), node)
    for terminal in range(len(numbered)):
        if terminal not in numbered:
            raise InvalidValue(f"Terminal {terminal} must be at a node, as all from 0 on")
    return [numbered[terminal] for terminal in range(len(numbered))]
