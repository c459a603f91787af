"""Graphs that are given as lists of links, and what every graph must be."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from ..fabric.checks import check_integer, check_kind, check_limit, check_several, check_word, shown
from ..fabric.errors import InvalidValue
from .graph import LINK_BOUNDS, METRICS, MOST_NODES, MOST_TERMINALS, Graph, Link

__all__ = ["ListedGraph", "check_graph", "check_name"]


_UNPRINTABLE = re.compile(
    "[\x00-\x1f\x7f-\x9f\N{LINE SEPARATOR}\N{PARAGRAPH SEPARATOR}\ud800-\udfff\ufffe\uffff]"
)
"""What can't stand in a drawing, a page or a line of a message."""


class ListedGraph(Graph):
    """A graph given as a list of links.

    Parameters
    ----------
    nodes : int
        Number of nodes.
    links : Iterable[Link]
        Each in one direction.
    homes : Sequence[int] or None
        For each terminal, its node; by default each node has one.
    names : Sequence[str]
        Names of the nodes; by default their numbers.
    exit_homes : Sequence[int] or None
        For each terminal, the node where packets for it leave; by default its node.
    metric : str
        As in `Graph`.

    Raises
    ------
    ValueError
        As `check_graph`.

    Examples
    --------
    Two nodes with a link in each direction:

    >>> pair = ListedGraph(2, [Link(0, 0, 1, 0), Link(1, 0, 0, 0)])
    >>> pair.leaving(0), pair.exits[1]
    ([Channel(node=0, port=0, number=0)], Channel(node=1, port=-1, number=0))
    """

    def __init__(
        self,
        nodes: int,
        links: Iterable[Link],
        homes: Sequence[int] | None = None,
        names: Sequence[str] = (),
        exit_homes: Sequence[int] | None = None,
        metric: str = "hops",
    ) -> None:
        self.metric = metric
        self._nodes = check_integer("Nodes", nodes, 1, MOST_NODES)
        self._links = tuple(check_several("Links", links, "links"))
        self._homes: Sequence[int] = range(self._nodes)
        if homes is not None:
            self._homes = tuple(check_several("Homes", homes, "nodes"))
        self._exit_homes = self._homes
        if exit_homes is not None:
            self._exit_homes = tuple(check_several("Homes", exit_homes, "nodes"))
        self._names = tuple(check_several("Names", names, "texts"))
        if self._names and len(self._names) != nodes:
            raise InvalidValue(f"Names must be of {nodes} nodes, not of {len(self._names)}")
        for name in self._names:
            check_name(name)
        check_graph(self)

    @property
    def nodes(self) -> int:
        return self._nodes

    def links(self) -> Sequence[Link]:
        return self._links

    @property
    def homes(self) -> Sequence[int]:
        return self._homes

    @property
    def exit_homes(self) -> Sequence[int]:
        return self._exit_homes

    def name(self, node: int) -> str:
        return self._names[node] if self._names else str(node)


def check_name(name: str) -> str:
    """Check the name of a node, and return it.

    Parameters
    ----------
    name : str
        The name.

    Returns
    -------
    str
        It, unchanged.

    Raises
    ------
    TypeError, ValueError
        If it is no text, or holds what can't be shown, such as control characters.

    Examples
    --------
    >>> from multicube.hdl.graphs.listed_graph import check_name
    >>> check_name("hub 3")
    'hub 3'
    """
    check_kind("Name of a node", name, str, "a text")
    if _UNPRINTABLE.search(name):
        raise InvalidValue(f"Name of a node must be printable, not {shown(name)}")
    return name


def check_graph(graph: Graph, most_terminals: int = MOST_TERMINALS) -> None:
    """Check that links and terminals are of existing nodes, that no port is used twice, and that
    nothing is more than hardware could be made of.

    Parameters
    ----------
    graph : Graph
        The graph.
    most_terminals : int
        Most terminals of a node.

    Raises
    ------
    TypeError, ValueError
        If not. The message names the entry.
    """
    check_word("Metric", graph.metric, METRICS)
    nodes = range(check_integer("Nodes", graph.nodes, 1, MOST_NODES))
    used: dict[tuple[str, int, int], Link] = {}
    for link in check_several("Links", graph.links(), "links"):
        check_kind("Link", link, Link, "a Link")
        for node in (link.node, link.peer):
            if type(node) is not int:
                check_integer("Node of a link", node, 0)
            if node not in nodes:
                raise InvalidValue(
                    f"Link from node {link.node} to node {link.peer} must join nodes "
                    f"from 0 to {nodes[-1]}, not {node}"
                )
        for name, (least, most) in LINK_BOUNDS.items():
            value = getattr(link, name)
            if type(value) is not int or not least <= value <= most:
                words = name.capitalize().replace("_", " ")
                about = f"{words} of the link from node {link.node} to node {link.peer}"
                check_integer(about, value, least, most)
        for side, node, port in (
            ("Output", link.node, link.port),
            ("Input", link.peer, link.peer_port),
        ):
            other = used.get((side, node, port))
            if other is not None:
                raise InvalidValue(
                    f"{side} {port} of node {node} must have one link, not two: "
                    f"{other.node} to {other.peer} and {link.node} to {link.peer}"
                )
            used[side, node, port] = link
    homes, exit_homes = (
        check_several("Homes", each, "nodes") for each in (graph.homes, graph.exit_homes)
    )
    if len(homes) < 2:
        raise InvalidValue(f"Terminals must be at least 2, not {len(homes)}")
    check_limit("Terminals", len(homes), MOST_NODES)
    if len(exit_homes) != len(homes):
        raise InvalidValue(
            f"Terminals must have {len(homes)} nodes to leave at, not {len(exit_homes)}"
        )
    for each in (homes, exit_homes):
        for terminal, home in enumerate(each):
            if type(home) is not int:
                check_integer(f"Node of terminal {terminal}", home, 0)
            if home not in nodes:
                raise InvalidValue(
                    f"Terminal {terminal} must be at a node from 0 to {nodes[-1]}, not {home}"
                )
        for node, count in Counter(each).items():
            check_limit(f"Terminals of node {graph.name(node)}", count, most_terminals)
