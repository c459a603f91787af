"""Graphs in GML, GEXF and Graphviz's DOT, which other libraries parse; and lists of edges."""

import ast
import io
import re
import warnings
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout
from typing import Any
from xml.etree import ElementTree

from ..fabric.checks import shown
from ..fabric.errors import InvalidValue, MulticubeError
from .conversion import from_networkx
from .draft import GraphDraft
from .graph import ListedGraph

__all__ = ["read_dot", "read_edge_list", "read_gexf", "read_gml"]

_INTEGER = re.compile("[+-]?[0-9]{1,18}")

_END = re.compile(r'"(?:[^"\\]|\\.)*"|[^":]+')
"""The name of a node where an edge ends; a port and a compass point may follow."""

_NO_EDGE = re.compile(
    r'"(?:[^"\\]|\\.)*"|/\*.*?\*/|//[^\n]*|^\#[^\n]*|<[^>]*>', re.DOTALL | re.MULTILINE
)
"""Texts and comments in DOT."""

_GRAPHVIZ = """
arrowhead arrowsize arrowtail bb bgcolor center cluster color colorscheme concentrate constraint
decorate dir dpi edgetooltip fillcolor fixedsize fontcolor fontname fontsize forcelabels group
headclip headlabel headport height href image k label labelangle labeldistance labelfontsize
labelfontcolor labelloc labeljust landscape layout len lhead lp ltail margin maxiter minlen mode
model nodesep nojustify normalize ordering orientation outputorder overlap pack packmode pad page
pagedir pencolor penwidth peripheries pin pos quantum rank rankdir ranksep ratio regular root rotate
samehead sametail sep shape sides size splines start style stylesheet tailclip taillabel tailport
target tooltip truecolor url viewport width xlabel xlp
"""
"""Attributes of Graphviz that say how a graph is drawn."""


def read_gml(text: str) -> ListedGraph:
    """The graph in a file in GML, as networkx reads it; nodes are known by their `id`.

    Raises
    ------
    TypeError, ValueError
        If it is no GML, or as `from_networkx`.
    """
    import networkx as nx

    for value in re.findall(r"\bdirected\s+(\S+)", re.sub('"[^"]*"', '""', text)):
        if value not in ("0", "1"):
            raise InvalidValue(f"Entry directed must be 0 or 1, not {value}")
    return from_networkx(_parsed("GML", nx.parse_gml, text, label="id"))


def read_gexf(content: bytes) -> ListedGraph:
    """The graph in a file in GEXF, as networkx reads it; nodes are known by their `id`.

    Raises
    ------
    TypeError, ValueError
        If it is no GEXF, if it declares entities, or as `from_networkx`.
    """
    import networkx as nx

    if b"<!DOCTYPE" in content.replace(b"\0", b""):  # in UTF-16, too
        raise InvalidValue("A document type (DOCTYPE), which may declare entities, is not allowed")
    for each in _parsed("GEXF", ElementTree.fromstring, content).iter():
        kind = each.get("type", "undirected")
        if each.tag.endswith("}edge") and kind not in ("directed", "undirected", "mutual"):
            raise InvalidValue(
                f"Type of an edge must be directed, undirected or mutual, not {shown(kind)}"
            )
        if {"start", "end"} & set(each.keys()):
            raise InvalidValue("A graph in GEXF must not change in time (start, end)")
    found = _parsed("GEXF", nx.read_gexf, io.BytesIO(content))
    found.graph.pop("mode", None)  # whether it changes in time: it does not
    for _, _, about in found.edges(data=True):
        about.pop("id", None)
    return from_networkx(found)


def read_edge_list(text: str) -> ListedGraph:
    """The graph in a list of edges: two names of nodes in each line, and perhaps attributes.

    As networkx writes it: `a b` or `a b {'latency': 3}`; `#` begins a comment. Each edge is given
    once. Nodes are numbered in the order of their first edge.

    Raises
    ------
    TypeError, ValueError
        If it is not so; the message names the line.
    """
    edges: list[tuple[int, str, str, dict[str, Any]]] = []
    nodes: dict[str, None] = {}
    pairs: set[frozenset[str]] = set()
    for number, line in enumerate(re.split("\r\n|\n|\r", text), 1):
        words = line.partition("#")[0].split(None, 2)
        if not words:
            continue
        if len(words) == 1:
            raise InvalidValue(f"Line {number} must hold two nodes, not {shown(line.strip())}")
        about: Any = {}
        if len(words) == 3:
            try:
                about = ast.literal_eval(words[2])
            except (ValueError, SyntaxError, MemoryError):
                about = None
            if not isinstance(about, dict):
                raise InvalidValue(
                    f"Line {number} must end with attributes such as {{'latency': 3}}, not "
                    f"{shown(words[2].strip())}"
                )
        ends = frozenset(words[:2])
        if ends in pairs:
            raise InvalidValue(
                f"Line {number}: edge from {words[0]} to {words[1]} must be given once, not twice"
            )
        pairs.add(ends)
        nodes |= dict.fromkeys(words[:2])
        edges.append((number, words[0], words[1], about))
    draft = GraphDraft()
    for node in nodes:
        draft.add_node(node, {})
    for number, one, other, about in edges:
        try:
            draft.add_link(one, other, about, one_way=False)
        except MulticubeError as error:
            raise type(error)(f"Line {number}: {error}") from None
    return draft.graph()


def read_dot(text: str) -> ListedGraph:
    """The graph in a file of Graphviz's DOT language, as pydot reads it.

    What only says how it is drawn is left out. There are no subgraphs.

    Raises
    ------
    MulticubeError
        If pydot is not installed.
    TypeError, ValueError
        If it is not so.
    """
    try:
        import pydot
    except ImportError:
        raise MulticubeError("pydot is not installed: pip install 'multicube[graphs]'") from None
    graphs = _parsed("DOT", pydot.graph_from_dot_data, text)
    if not graphs or len(graphs) != 1:
        raise InvalidValue(f"It must hold one graph in DOT, not {len(graphs or ())}")
    (graph,) = graphs
    if graph.get_subgraphs():
        raise InvalidValue("A graph in DOT must have no subgraphs")
    one_way = graph.get_type() == "digraph"
    wrong = "--" if one_way else "->"
    if wrong in _NO_EDGE.sub("", text):
        raise InvalidValue(f"A {graph.get_type()} in DOT must have no edge {wrong}")
    defaults: dict[str, dict[str, Any]] = {"node": {}, "edge": {}, "graph": {}}
    draft_nodes: dict[str, dict[str, Any]] = {}
    for node in graph.get_nodes():
        name = _unquoted(node.get_name())
        if node.get_name() in defaults:
            defaults[node.get_name()] |= _attributes(node)
        elif name.strip("\\nr"):  # pydot takes the end of a line for a node
            draft_nodes.setdefault(name, {}).update(_attributes(node))
    for edge in graph.get_edges():
        for end in (edge.get_source(), edge.get_destination()):
            draft_nodes.setdefault(_node(end), {})
    names = {"node": "node_default", "edge": "edge_default"}
    about = _attributes(graph) | defaults["graph"]
    draft = GraphDraft(about | {names[kind]: defaults[kind] for kind in names})
    for name, given in draft_nodes.items():
        draft.add_node(name, given)
    pairs: set[Any] = set()
    for edge in graph.get_edges():
        ends = _node(edge.get_source()), _node(edge.get_destination())
        pair = ends if one_way else frozenset(ends)
        if graph.get_strict() and pair in pairs:
            raise InvalidValue(
                f"Edge from {ends[0]} to {ends[1]} must be given once in a strict graph, not twice"
            )
        pairs.add(pair)
        draft.add_link(*ends, _attributes(edge), one_way=one_way)
    return draft.graph()


def _node(end: Any) -> str:
    """The name of a node at which an edge ends, without its port and compass point."""
    if not isinstance(end, str):
        raise InvalidValue("A graph in DOT must have no subgraphs")
    found = _END.match(end)
    return _unquoted(found[0] if found else end)


def _unquoted(text: str) -> str:
    return text[1:-1] if text.startswith('"') and text.endswith('"') else text


def _attributes(part: Any) -> dict[str, Any]:
    """The attributes of a part of a graph of pydot that say something about a network."""
    given: Mapping[str, Any] = part.get_attributes()
    found = {name: _unquoted(str(value)) for name, value in given.items()}
    return {
        name: int(value) if _INTEGER.fullmatch(value) else value
        for name, value in found.items()
        if name.lower() not in _GRAPHVIZ.split()
    }


def _parsed(form: str, parse: Callable[..., Any], *given: Any, **options: Any) -> Any:
    """What a parser of another library makes of a file; whatever it raises, the file is wrong."""
    try:
        # pydot prints what it does not understand; and networkx warns of what it uses.
        with warnings.catch_warnings(action="ignore"), redirect_stdout(io.StringIO()):
            return parse(*given, **options)
    except (RecursionError, MemoryError):
        raise
    except Exception as error:
        said = str(error).strip().splitlines() or [type(error).__name__]
        raise InvalidValue(f"It is no {form}: {said[0]}") from None
