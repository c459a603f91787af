"""A graph as it is given, part by part, by a file or by a graph of networkx."""

from collections.abc import Hashable, Iterable, Mapping
from typing import Any

from ..fabric.checks import check_integer, check_kind, check_limit, nearest, shown
from ..fabric.errors import InvalidValue
from .graph import MOST_NODES, MOST_TERMINALS, Link
from .listed_graph import ListedGraph, check_name

__all__ = ["LINK_FIELDS", "NODE_FIELDS", "GraphDraft", "check_known", "link_attributes"]

LINK_FIELDS = ("channels", "latency", "interval")
_PORTS = ("port", "peer_port")
NODE_FIELDS = ("terminals", "exits", "name")
_DEFAULTS = ("node_default", "edge_default")

_FOR_PEOPLE = ("id", "name", "label", "title", "description", "desc", "comment", "note", "url")
_FOR_DRAWINGS = "x y z pos position latitude longitude color colour viz graphics"
_ZOO = """
access backbone classification commercial country creator customer datemodifier datemonth
dateobtained datetype dateyear developed geoextent geolocation hyperedge internal ix lastaccess
lastprocessed layer linklabel linknote linkspeed linkspeedraw linkspeedunits linktype network
networkdate provenance source sourcegitversion status testbed toolsetversion transit type version
"""
"""What the files of the Internet Topology Zoo say of networks besides their nodes and links."""

_DESCRIBING = frozenset((*_FOR_PEOPLE, *_FOR_DRAWINGS.split(), *_ZOO.split()))
"""Attributes that say nothing about a network."""


def link_attributes(link: Link) -> dict[str, int]:
    """The attributes from which a draft makes a link again."""
    return {name: getattr(link, name) for name in (*_PORTS, *LINK_FIELDS)}


def check_known(what: str, given: Iterable[object], known: Iterable[str]) -> None:
    """Raise InvalidValue if there is a name that is none of those known, and does not just describe
    something for people."""
    known = tuple(known)
    for name in given:
        if name in known or (isinstance(name, str) and name.lower() in _DESCRIBING):
            continue
        hint = nearest(name, known) or f": none of {', '.join(known)}"
        raise InvalidValue(f"{what} has an unknown attribute {shown(name)}{hint}")


class GraphDraft:
    """Nodes and links that are added one by one, each with the attributes that it was given.

    Attributes of a node are `terminals` (how many: 1 by default; or a list of their numbers),
    `exits` (a list of the terminals for which packets leave there, if they are others) and `name`;
    those of a link `channels`, `latency` and `interval` (1 by default), and if it leads one way
    `port` and `peer_port` (by default in the order of the links). Others are refused, unless they
    only describe something for people, such as `label` or `x`.

    Parameters
    ----------
    about : Mapping
        Attributes of the graph: `node_default` and `edge_default` have attributes of all nodes and
        links that have no others.

    Raises
    ------
    TypeError, ValueError
        If a part can't be understood, as all methods do.
    """

    def __init__(self, about: Mapping[str, Any] | None = None) -> None:
        about = {} if about is None else about
        check_known("Graph", about, _DEFAULTS)
        for name in _DEFAULTS:
            check_kind(f"Entry {name} of the graph", about.get(name, {}), Mapping, "attributes")
        self._node_default, self._link_default = (about.get(name, {}) for name in _DEFAULTS)
        self._numbers: dict[Hashable, int] = {}
        self._names: list[str] = []
        self._homes: dict[int, int] = {}
        self._exits: dict[int, int] = {}
        self._outputs: list[int] = []
        self._inputs: list[int] = []
        self._links: list[Link] = []

    def add_node(self, node: Hashable, given: Mapping[Any, Any]) -> None:
        """Add a node, by what links call it."""
        about = {**self._node_default, **given}
        name = about.get("name", node)
        if "name" in about and not isinstance(name, str | int):
            raise InvalidValue(f"Name of node {shown(node)} must be a text, not {shown(name)}")
        text = check_name(str(name))
        if node in self._numbers:
            raise InvalidValue(f"Node {text} must be given once, not twice")
        check_limit("Nodes", len(self._numbers) + 1, MOST_NODES)
        check_known(f"Node {text}", about, NODE_FIELDS)
        number = self._numbers[node] = len(self._names)
        self._names.append(text)
        self._outputs.append(0)
        self._inputs.append(0)
        own = about.get("terminals", 1)
        if isinstance(own, list | tuple):
            self._place(self._homes, own, number)
        else:
            count = check_integer(f"Terminals of node {text}", own, 0, MOST_TERMINALS)
            self._place(self._homes, range(len(self._homes), len(self._homes) + count), number)
        leaving = about.get("exits", ())
        check_kind(f"Exits of node {text}", leaving, list | tuple, "a list of terminals")
        self._place(self._exits, leaving, number)

    def place_terminals(self, homes: Iterable[Hashable]) -> None:
        """Place terminals at these nodes, in place of those that the nodes were given."""
        self._homes = {}
        for terminal, node in enumerate(homes):
            if node not in self._numbers:
                raise InvalidValue(
                    f"Terminal {terminal} must be at a node of the graph, not {shown(node)}"
                )
            self._homes[terminal] = self._numbers[node]

    def add_link(
        self, one: Hashable, other: Hashable, given: Mapping[Any, Any], *, one_way: bool
    ) -> None:
        """Add a link between two nodes, and one in the other direction too unless it is one-way."""
        for end in (one, other):
            if end not in self._numbers:
                raise InvalidValue(
                    f"Link {shown([one, other])} must join nodes of the graph, not {shown(end)}"
                )
        if one == other:
            raise InvalidValue(f"Link {shown([one, other])} must join two nodes")
        about = {**self._link_default, **given}
        ends = self._numbers[one], self._numbers[other]
        what = f"edge from {' to '.join(self._names[end] for end in ends)}"
        known = (*LINK_FIELDS, *_PORTS) if one_way else LINK_FIELDS
        check_known(what.capitalize() if not one_way else f"One-way {what}", about, known)
        for node, peer in (ends,) if one_way else (ends, ends[::-1]):
            values = {"port": self._outputs[node], "peer_port": self._inputs[peer], **about}
            fields = [
                check_integer(
                    f"{name.capitalize().replace('_', ' ')} of the {what}",
                    values.get(name, 1),
                    *Link.bounds(name),
                )
                for name in (*_PORTS, *LINK_FIELDS)
            ]
            self._links.append(Link(node, fields[0], peer, *fields[1:]))
            self._outputs[node] += 1
            self._inputs[peer] += 1

    def graph(self, metric: str = "hops") -> ListedGraph:
        """The graph, checked; `metric` as in `Graph`."""
        homes = self._in_order(self._homes)
        exits = self._in_order(self._homes | self._exits) if self._exits else None
        return ListedGraph(len(self._names), self._links, homes, self._names, exits, metric)

    def _place(self, homes: dict[int, int], terminals: Iterable[Any], node: int) -> None:
        for terminal in terminals:
            number = check_integer(f"Terminal of node {self._names[node]}", terminal, 0)
            if number in homes:
                one, other = self._names[homes[number]], self._names[node]
                raise InvalidValue(
                    f"Terminal {number} must be at one node, not at {one} and {other}"
                )
            homes[number] = node

    def _in_order(self, homes: Mapping[int, int]) -> list[int]:
        for terminal in range(len(homes)):
            if terminal not in homes:
                raise InvalidValue(f"Terminal {terminal} must be at a node, as all from 0 on")
        return [homes[terminal] for terminal in range(len(homes))]
