"""Files with graphs: JSON, GraphML, and the lists of BookSim2's `anynet`."""

import json
import os
import warnings
from collections.abc import Hashable, Mapping
from io import BytesIO
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import networkx as nx

from ..fabric.checks import check_limit
from ..fabric.errors import InvalidValue, MulticubeError
from ..support.input_file import read_input
from .conversion import from_networkx
from .graph import ListedGraph

__all__ = ["read_graph"]

_MOST_NODES = 2**16


def read_graph(path: str | os.PathLike[str]) -> ListedGraph:
    """The graph in a file, whose form its name's ending tells.

    ".json": an object with these entries; so it may also be networkx's node-link form.

    - `nodes`: their number, or a list of names, or a list of objects with an `id`, and `terminals`
      if it is not one: how many, or a list of their numbers.
    - `links` (or `edges`): a list of pairs of nodes, or of objects with `source` and `target`, and
      `channels` and `latency` if these are not 1.
    - `directed`: true if links lead from source to target only.
    - `multigraph`: true if several links may join two nodes.
    - `terminals`: for each terminal its node, in place of those of the nodes.

    ".graphml": GraphML, where nodes and edges may have the same attributes.

    Any other: a list as of BookSim2's `anynet`. Each line names a router, and then what it is
    linked to: `router 0 node 0 router 1 15 router 2`. A number after a router is the latency of the
    link to it. A link back exists in any case; it takes one cycle if it is not listed. Nodes
    are the terminals here.

    Raises
    ------
    ValueError
        If the file can't be read, or is not as above; the message names the entry.
    """
    name = os.fspath(path)
    try:
        content = read_input(path)
        match Path(name).suffix.lower():
            case ".json":
                return _from_json(content)
            case ".graphml":
                return _from_graphml(content)
            case _:
                return _from_anynet(content.decode())
    except MulticubeError as error:
        raise type(error)(f"File {name}: {error}") from None
    except OSError as error:
        raise InvalidValue(f"File {name!r} can't be read: {error.strerror}") from None
    except RecursionError:
        raise InvalidValue(f"File {name!r} can't be read: it is nested too deeply") from None
    except (ValueError, UserWarning, ElementTree.ParseError, nx.NetworkXError) as error:
        raise InvalidValue(f"File {name!r} can't be read: {error}") from None


def _from_json(content: bytes) -> ListedGraph:
    given = json.loads(content)
    if not isinstance(given, dict):
        raise InvalidValue("Graph must be an object with nodes and links")
    several = bool(given.get("multigraph"))
    kinds = (nx.MultiGraph, nx.MultiDiGraph) if several else (nx.Graph, nx.DiGraph)
    graph = kinds[bool(given.get("directed"))]()
    nodes = given.get("nodes")
    if isinstance(nodes, int):
        check_limit("Nodes", nodes, _MOST_NODES)
    for node in range(nodes) if isinstance(nodes, int) else _list(given, "nodes"):
        about = dict(node) if isinstance(node, dict) else {"id": node}
        name = about.pop("id", None)
        if not isinstance(name, str | int):
            raise InvalidValue(f"Node must have a name or a number as its id, not {name!r}")
        if name in graph:
            raise InvalidValue(f"Node {name} must be given once, not twice")
        graph.add_node(name, **about)
    for link in _list(given, "edges" if "edges" in given else "links"):
        if isinstance(link, dict):
            about = {key: value for key, value in link.items() if key != "key"}
            ends = about.pop("source", None), about.pop("target", None)
        else:
            about, ends = {}, tuple(link) if isinstance(link, list) else ()
        _add_link(graph, ends, about, link)
    if "terminals" in given:
        _place_terminals(graph, dict(enumerate(_list(given, "terminals"))))
    return from_networkx(graph)


def _list(given: Mapping[str, Any], key: str) -> list:
    found = given.get(key)
    if not isinstance(found, list):
        raise InvalidValue(f"Entry {key} must be a list, not {found!r}")
    return found


def _add_link(graph: nx.Graph, ends: tuple, about: Mapping[str, Any], entry: object) -> None:
    if len(ends) != 2:
        raise InvalidValue(f"Link must have two ends, not {entry!r}")
    for end in ends:
        if not _is_node(graph, end):
            raise InvalidValue(f"Link {entry!r} must join nodes of the graph, not {end!r}")
    if ends[0] == ends[1]:
        raise InvalidValue(f"Link {entry!r} must join two nodes")
    if not graph.is_multigraph() and graph.has_edge(*ends):
        raise InvalidValue(f"Link from {ends[0]} to {ends[1]} must be given once, not twice")
    graph.add_edge(*ends, **about)


def _place_terminals(graph: nx.Graph, homes: Mapping[int, Any]) -> None:
    """Give nodes their terminals, whose nodes are given by their numbers."""
    own: dict[Hashable, list[int]] = {node: [] for node in graph}
    for terminal, home in homes.items():
        if not _is_node(graph, home):
            raise InvalidValue(f"Terminal {terminal} must be at a node of the graph, not {home!r}")
        own[home].append(terminal)
    nx.set_node_attributes(graph, own, "terminals")


def _is_node(graph: nx.Graph, name: object) -> bool:
    return isinstance(name, str | int) and name in graph


def _from_graphml(content: bytes) -> ListedGraph:
    try:
        nodes = ElementTree.fromstring(content).iterfind(".//{*}node")
    except LookupError as error:
        raise InvalidValue(f"It can't be decoded: {error}") from None
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)  # of what networkx leaves out, or guesses
        try:
            graph = nx.read_graphml(BytesIO(content))
        except KeyError as error:
            raise InvalidValue(f"GraphML has no {error}, such as a type of attributes") from None
    if unknown := set(graph) - {node.get("id") for node in nodes}:
        one = min(unknown)
        link = next(pair for pair in graph.edges() if one in pair)
        raise InvalidValue(f"Link {list(link)} must join nodes of the graph, not {one!r}")
    return from_networkx(graph)


def _from_anynet(content: str) -> ListedGraph:
    routers: dict[int, None] = {}
    latencies: dict[tuple[int, int], int] = {}
    homes: dict[int, int] = {}
    for number, line in enumerate(content.splitlines(), 1):
        where = f"Line {number}"
        entries = _anynet_entries(where, line)
        if not entries:
            continue
        (kind, head, latency), *rest = entries
        if kind != "router" or latency is not None:
            # BookSim2 also reads "node 0 router 1".
            if kind != "node" or [each for each, _, _ in rest] != ["router"]:
                raise InvalidValue(f"{where} must begin with a router, not {line.strip()!r}")
            rest = [("node", head, latency or rest[0][2])]
            head = entries[1][1]
        routers[head] = None
        for kind, name, latency in rest:
            if kind == "node":
                if latency not in (None, 1):
                    raise InvalidValue(f"{where}: node {name} must have latency 1, not {latency}")
                if homes.setdefault(name, head) != head:
                    raise InvalidValue(
                        f"{where}: node {name} must be at one router, not at {homes[name]} "
                        f"and {head}"
                    )
            else:
                routers[name] = None
                if head == name:
                    raise InvalidValue(f"{where}: link [{head}, {name}] must join two routers")
                if (head, name) in latencies:
                    raise InvalidValue(
                        f"{where}: link from router {head} to {name} must be given once, not twice"
                    )
                latencies[head, name] = 1 if latency is None else latency
    if sorted(homes) != list(range(len(homes))):
        missing = min(set(range(len(homes))) - homes.keys())
        raise InvalidValue(f"Node {missing} must be at a router, as all nodes from 0 on")
    graph = nx.DiGraph()
    graph.add_nodes_from(sorted(routers))
    for head, name in sorted({pair for a, b in latencies for pair in ((a, b), (b, a))}):
        graph.add_edge(head, name, latency=latencies.get((head, name), 1))
    _place_terminals(graph, homes)
    return from_networkx(graph)


def _anynet_entries(where: str, line: str) -> list[tuple[str, int, int | None]]:
    """The routers and nodes of a line, each with its number and the latency after it."""
    words = line.split()
    found: list[tuple[str, int, int | None]] = []
    at = 0
    while at < len(words):
        kind, number = words[at], words[at + 1] if at + 1 < len(words) else ""
        if kind not in ("router", "node") or not number.isdecimal():
            raise InvalidValue(
                f"{where} must be of words such as router 0 or node 0, not {kind!r} {number!r}"
            )
        at += 2
        latency = None
        if at < len(words) and words[at].isdecimal():
            latency = int(words[at])
            at += 1
        found.append((kind, int(number), latency))
    return found
