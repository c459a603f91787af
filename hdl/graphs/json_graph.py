"""Graphs in JSON: a form of its own, and networkx's node-link form."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from ..fabric.checks import check_integer, check_kind, shown
from ..fabric.errors import InvalidValue
from ..fabric.numerals import is_natural
from ..support.input_file import given_once
from .draft import GraphDraft, check_known
from .graph import MOST_NODES
from .listed_graph import ListedGraph
from .routing.given_routes import GivenRoutes

__all__ = ["read_json"]

_ENTRIES = ("nodes", "links", "edges", "directed", "multigraph", "terminals", "graph", "routes")


def read_json(text: str) -> ListedGraph | GivenRoutes:
    """The graph in a JSON object with these entries; so it may also be in networkx's form.

    - `nodes`: their number, or a list of names, or a list of objects with an `id` and further
      attributes of nodes.
    - `links` (or `edges`): a list of pairs of nodes, or of objects with `source` and `target` and
      further attributes of links.
    - `directed`: true if links lead from source to target only.
    - `multigraph`: true if several links may join two nodes; those of the same two nodes then have
      different entries `key`, or none.
    - `terminals`: for each terminal its node, in place of those of the nodes.
    - `graph`: an object with attributes of the graph.
    - `routes`: an object with a routing table for each node, by its `id`: an object that has, for
      each terminal, the output port that packets take to it, or a list of ports of which they may
      take any. Ports are those of the links, by default in the order of the links. Then it is no
      graph, but a relation.

    `GraphDraft` says which attributes there are.

    Raises
    ------
    ValueError
        If a name is twice in one object.
    """
    try:
        given = json.loads(text, object_pairs_hook=given_once, parse_constant=_no_number)
    except InvalidValue:
        raise
    except ValueError as error:  # with its line and column
        raise InvalidValue(f"It is no JSON: {error}") from None
    if not isinstance(given, dict):
        raise InvalidValue("Graph must be an object with nodes and links")
    check_known("Object of the graph", given, _ENTRIES)
    about = given.get("graph", {})
    check_kind("Entry graph", about, dict, "an object")
    draft = GraphDraft(about)
    one_way, several = (_flag(given, name) for name in ("directed", "multigraph"))
    ids: list[str] = []
    for node in _nodes(given):
        about = dict(node) if isinstance(node, dict) else {"id": node}
        name = about.pop("id", None)
        if not _is_name(name):
            raise InvalidValue(
                f"Node must have a name or a number as its id, not {shown(name)}: {shown(node)}"
            )
        draft.add_node(name, about)
        ids.append(str(name))
    keys: dict[object, set[object]] = {}
    for link in _links(given):
        one, other, about = _parts(link)
        ends = (one, other) if one_way else frozenset((one, other))
        others = keys.setdefault(ends, set())
        if others and not several:
            raise InvalidValue(f"Link from {one} to {other} must be given once, not twice")
        key = about.pop("key", None)
        if isinstance(key, list | dict) or (key is not None and (key in others or not several)):
            raise InvalidValue(
                f"Link {shown(link)} must have a key of its own, in a multigraph, not {shown(key)}"
            )
        others.add(object() if key is None else key)
        draft.add_link(one, other, about, one_way=one_way)
    if "terminals" in given:
        homes = _list(given, "terminals")
        for terminal, home in enumerate(homes):
            if not _is_name(home):
                raise InvalidValue(
                    f"Terminal {terminal} must be at a node of the graph, not {shown(home)}"
                )
        draft.place_terminals(homes)
    graph = draft.graph()
    return GivenRoutes(graph, _routes(given, ids)) if "routes" in given else graph


def _routes(given: Mapping[str, Any], ids: Sequence[str]) -> dict[int, dict[int, list[int]]]:
    """The ports towards each terminal, for each node."""
    tables = given["routes"]
    check_kind("Entry routes", tables, dict, "an object with a table for each node")
    nodes = {text: node for node, text in enumerate(ids)}
    if len(nodes) < len(ids):
        raise InvalidValue("Nodes must have ids that differ as texts, if there are routes")
    found: dict[int, dict[int, list[int]]] = {}
    for name, table in tables.items():
        if name not in nodes:
            raise InvalidValue(f"Routes must be of nodes of the graph, not of {shown(name)}")
        check_kind(f"Routes of node {name}", table, dict, "an object with ports for each terminal")
        own = found[nodes[name]] = {}
        for terminal, ports in table.items():
            if not is_natural(terminal):
                raise InvalidValue(
                    f"Routes of node {name} must be to terminals by their numbers, not to "
                    f"{shown(terminal)}"
                )
            what = f"Port from node {name} to terminal {terminal}"
            several = ports if isinstance(ports, list) else [ports]
            if int(terminal) in own:
                raise InvalidValue(
                    f"Routes of node {name} to terminal {int(terminal)} are given twice"
                )
            own[int(terminal)] = [check_integer(what, port, 0) for port in several]
    return found


def _no_number(name: str) -> NoReturn:
    raise InvalidValue(f"Number must be finite, not {name}")


def _flag(given: Mapping[str, Any], name: str) -> bool:
    value = given.get(name, False)
    check_kind(f"Entry {name}", value, bool, "true or false")
    return value


def _is_name(given: object) -> bool:
    """Whether it may be what a node is called; `true` and 1.0 are not that of node 1."""
    return isinstance(given, str | int) and not isinstance(given, bool)


def _list(given: Mapping[str, Any], name: str) -> list[Any]:
    found = given.get(name)
    if not isinstance(found, list):
        raise InvalidValue(f"Entry {name} must be a list, not {shown(found)}")
    return found


def _nodes(given: Mapping[str, Any]) -> list[Any] | range:
    nodes = given.get("nodes")
    if isinstance(nodes, int):
        return range(check_integer("Nodes", nodes, 1, MOST_NODES))
    return _list(given, "nodes")


def _links(given: Mapping[str, Any]) -> list[Any]:
    if "edges" in given and "links" in given:
        raise InvalidValue("Links must be in one entry, not in both links and edges")
    return _list(given, "edges" if "edges" in given else "links")


def _parts(link: object) -> tuple[Any, Any, dict[str, Any]]:
    """The two ends of a link, and its attributes."""
    if isinstance(link, dict):
        about = dict(link)
        ends = [about.pop(name, None) for name in ("source", "target") if name in about]
    else:
        about, ends = {}, link if isinstance(link, list) else []
    if len(ends) != 2:
        raise InvalidValue(f"Link must have two ends, not {shown(link)}")
    for end in ends:
        if not _is_name(end):
            raise InvalidValue(f"Link {shown(link)} must join nodes of the graph, not {shown(end)}")
    return ends[0], ends[1], about
