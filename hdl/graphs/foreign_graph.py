"""Graphs in GML, GEXF and Graphviz's DOT, which other libraries parse; and lists of edges."""

import ast
import io
import re
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from contextlib import redirect_stdout
from typing import Any
from xml.etree import ElementTree

from ..fabric.checks import shown
from ..fabric.errors import InvalidValue, MulticubeError
from ..support.input_file import text_lines
from .conversion import from_networkx
from .draft import LINK_FIELDS, NODE_FIELDS, GraphDraft, check_known
from .listed_graph import ListedGraph

__all__ = ["read_dot", "read_edge_list", "read_gexf", "read_gml"]

_INTEGER = re.compile("[+-]?[0-9]{1,18}")

_END = re.compile(r'"(?:[^"\\]|\\.)*"|[^":]+')
"""The name of a node where an edge ends; a port and a compass point may follow."""

_NO_EDGE = re.compile(
    r'"(?:[^"\\]|\\.)*"|/\*.*?\*/|//[^\n]*|^\#[^\n]*|<(?:[^<>]|<[^<>]*>)*>',
    re.DOTALL | re.MULTILINE,
)
"""Texts, those of HTML with its tags, and comments in DOT."""

_LINE_ENDS = ('"\\n"', '"\\r\\n"')
"""Ends of lines, which pydot takes for nodes."""

_BESIDE_GML = ("graph", "creator", "version", "comment", "date", "label")
"""What may be in a file in GML."""

_IN_GEXF = {
    "gexf": "meta graph",
    "graph": "attributes nodes edges",
    "attributes": "attribute",
    "attribute": "default options",
    "nodes": "node",
    "edges": "edge",
    "node": "attvalues",
    "edge": "attvalues",
    "attvalues": "attvalue",
    "attvalue": "",
    "default": "",
}
_OF_GEXF = {
    "graph": "defaultedgetype mode timeformat timerepresentation timezone idtype name",
    "nodes": "count",
    "edges": "count",
    "node": "id label pid",
    "edge": "id source target type kind label weight",
    "attvalues": "",
    "attvalue": "for id value",
}
"""Which elements, and which attributes, those of GEXF may have, if they say anything."""

_GRAPHVIZ = """
arrowhead arrowsize arrowtail bb bgcolor center cluster color colorscheme concentrate constraint
decorate dpi edgetooltip fillcolor fixedsize fontcolor fontname fontsize forcelabels group
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

    plain = re.sub(r'"[^"]*"|#[^\n]*', '""', text)
    for name in ("directed", "multigraph"):
        values = re.findall(rf"\b{name}\s+(\S+)", plain)
        if len(values) > 1:
            raise InvalidValue(f"Entry {name} must be given once, not {values}")
        if values not in ([], ["0"], ["1"]):
            raise InvalidValue(f"Entry {name} must be 0 or 1, not {values[0]}")
    found = _parsed("GML", nx.parse_gml, text, label="id")
    around = plain
    while (outer := re.sub(r"\[[^\[\]]*\]", " ", around)) != around:
        around = outer
    for name in re.findall(r"[A-Za-z]\w*", around):  # which networkx passes over
        if name.lower() not in _BESIDE_GML:
            raise InvalidValue(f"Entry {name} must be in the graph in GML, not beside it")
    return from_networkx(found)


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
    root = _parsed("GEXF", ElementTree.fromstring, content)
    _check_gexf(root)
    found = _parsed("GEXF", nx.read_gexf, io.BytesIO(content))
    ways = [each.get("type") for each in root.iter() if _plain(each.tag) == "edge"]
    if found.is_directed():
        ways += [way for way in ways if way == "mutual"]
    if len(ways) != found.number_of_edges():  # by the same key, or mutual in an undirected graph
        raise InvalidValue(
            f"Edges in GEXF must be {len(ways)} different ones, not {found.number_of_edges()}"
        )
    found.graph.pop("mode", None)  # whether it changes in time: it does not
    for _, _, about in found.edges(data=True):
        about.pop("id", None)
    return from_networkx(found)


def _check_gexf(root: ElementTree.Element) -> None:
    """Refuse what networkx passes over: it takes the first graph, and the last of what is twice,
    and nothing that is not where it belongs.
    """
    parts: dict[str, list[ElementTree.Element]] = defaultdict(list)
    for each in root.iter():
        parts[_plain(each.tag)].append(each)
        if {"start", "end"} & set(each.keys()):
            raise InvalidValue("A graph in GEXF must not change in time (start, end)")
    if len(parts["graph"]) > 1:
        raise InvalidValue(f"It must hold one graph in GEXF, not {len(parts['graph'])}")
    for each in root.iter():
        _check_place(each)
    way = parts["graph"][0].get("defaultedgetype", "undirected") if parts["graph"] else ""
    if way not in ("", "directed", "undirected", "mutual"):
        raise InvalidValue(
            f"Edges in GEXF must be directed, undirected or mutual, not {shown(way)}"
        )
    for kind in ("node", "edge"):
        _check_once(f"Id of {kind}", (each.get("id") for each in parts[kind]))
    _check_numbers(parts)
    for each in parts["attributes"]:
        _check_once("Title of attribute", (one.get("title") for one in each))
    for each in parts["attvalues"]:
        _check_once("Value of attribute", (one.get("for") or one.get("id") for one in each))
    nodes = {each.get("id") for each in parts["node"]}
    for each in parts["edge"]:
        way = each.get("type", "undirected")
        if way not in ("directed", "undirected", "mutual"):
            raise InvalidValue(
                f"Type of an edge must be directed, undirected or mutual, not {shown(way)}"
            )
        for end in ("source", "target"):
            if each.get(end) not in nodes:
                raise InvalidValue(
                    f"{end.capitalize()} of an edge must be a node, not {shown(each.get(end))}"
                )


def _check_numbers(parts: Mapping[str, list[ElementTree.Element]]) -> None:
    """Refuse integers that only Python takes."""
    kinds, values = dict[Any, Any](), list[tuple[Any, Any]]()
    for each in parts["attributes"]:
        for one in each:
            kinds[each.get("class"), one.get("id")] = one.get("type")
            values += [(one.get("type"), inner.text) for inner in one if "default" in inner.tag]
    for owner in ("node", "edge"):
        for each in parts[owner]:
            given = [one for one in each.iter() if _plain(one.tag) == "attvalue"]
            values += [(kinds.get((owner, one.get("for"))), one.get("value")) for one in given]
    for kind, value in values:
        if kind in ("integer", "long") and not _INTEGER.fullmatch((value or "").strip()):
            raise InvalidValue(f"Value in GEXF must be of type {kind}, not {shown(value)}")


def _check_place(element: ElementTree.Element) -> None:
    """Refuse parts of an element of GEXF that do not belong there, but for those of drawings."""
    name = _plain(element.tag)
    inside = [_plain(each.tag) for each in element if "/viz" not in each.tag]
    for each in inside if name in _IN_GEXF else ():
        if each not in _IN_GEXF[name].split():
            raise InvalidValue(f"Element {name} in GEXF must not hold {shown(each)}")
        if inside.count(each) > 1 and each in ("nodes", "edges", "attvalues", "default"):
            raise InvalidValue(f"Element {name} in GEXF must hold one {each}, not two")
    if name in _OF_GEXF:
        own = [each for each in element.attrib if "}" not in each]  # not of other namespaces
        check_known(f"Element {name} in GEXF", own, _OF_GEXF[name].split())


def _plain(tag: str) -> str:
    """The name of an element without its namespace."""
    return tag.rpartition("}")[2]


def _check_once(what: str, names: Iterable[str | None]) -> None:
    """Refuse a name that is given twice."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise InvalidValue(f"{what} {shown(name)} must be given once, not twice")
        if name is not None:
            seen.add(name)


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
    for number, line in enumerate(text_lines(text), 1):
        words = line.partition("#")[0].split(None, 2)
        if not words:
            continue
        if len(words) == 1:
            raise InvalidValue(f"Line {number} must hold two nodes, not {shown(line.strip())}")
        about: Any = {}
        if len(words) == 3:
            written: ast.expr | None = None
            try:
                written = ast.parse(words[2], mode="eval").body
                about = ast.literal_eval(written)
            except (TypeError, ValueError, SyntaxError, MemoryError):
                written = None
            numbers = re.sub(r"""'[^']*'|"[^"]*\"""", "", words[2])
            if not isinstance(written, ast.Dict) or "_" in numbers:
                raise InvalidValue(
                    f"Line {number} must end with attributes such as {{'latency': 3}}, not "
                    f"{shown(words[2].strip())}"
                )
            if len(about) < len(written.keys):  # Python takes the last of two
                raise InvalidValue(
                    f"Line {number}: an attribute must be given once, not as in {shown(words[2])}"
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
    if not graphs:
        raise InvalidValue("It is no graph in DOT that pydot can read")
    if len(graphs) != 1:
        raise InvalidValue(f"It must hold one graph in DOT, not {len(graphs)}")
    (graph,) = graphs
    if graph.get_subgraphs():
        raise InvalidValue("A graph in DOT must have no subgraphs")
    one_way = graph.get_type() == "digraph"
    wrong = "--" if one_way else "->"
    plain = _NO_EDGE.sub("", text)
    if wrong in plain:
        raise InvalidValue(f"A {graph.get_type()} in DOT must have no edge {wrong}")
    defaults: dict[str, dict[str, Any]] = {"node": {}, "edge": {}, "graph": {}}
    nodes: dict[str, dict[str, Any]] = {}
    edges: list[tuple[str, str, dict[str, Any]]] = []
    stated: list[str] = []
    parts = [*graph.get_nodes(), *graph.get_edges()]
    # A default is one of what comes after it.
    for part in sorted(parts, key=lambda part: part.get_sequence() or 0):
        given = _attributes(part)
        if isinstance(part, pydot.Edge):
            one, other = _node(part.get_source()), _node(part.get_destination())
            for end in (one, other):
                nodes.setdefault(end, defaults["node"])
            edges.append((one, other, defaults["edge"] | given))
        elif part.get_name() in defaults:
            defaults[part.get_name()] = defaults[part.get_name()] | given
        elif part.get_name() not in _LINE_ENDS:
            stated.append(_unquoted(part.get_name()))
            nodes[stated[-1]] = nodes.get(stated[-1], defaults["node"]) | given
    if plain.partition("}")[2].strip():  # which pydot passes over
        raise InvalidValue("A graph in DOT must have nothing after its end")
    draft = GraphDraft(_attributes(graph) | defaults["graph"])
    check_known("Node", defaults["node"], NODE_FIELDS)
    check_known("Edge", defaults["edge"], (*LINK_FIELDS, "dir"))
    for name in dict.fromkeys([*stated, *nodes]):
        draft.add_node(name, nodes[name])
    pairs: set[Any] = set()
    strict = graph.get_strict()
    for one, other, given in edges:
        ends = (one, other) if one_way else frozenset((one, other))
        key = given.pop("key", None)  # of parallel edges, as networkx writes them
        pair = ends if strict else (ends, key)
        if pair in pairs and (strict or key is not None):
            where = "in a strict graph" if strict else f"with key {shown(key)}"
            raise InvalidValue(f"Edge from {one} to {other} must be given once {where}, not twice")
        pairs.add(pair)
        drawn, arrow = given.pop("dir", None), "forward" if one_way else "none"
        if drawn not in (None, arrow):
            raise InvalidValue(
                f"Edge from {one} to {other} must have dir={arrow} in a {graph.get_type()}, "
                f"not {shown(drawn)}"
            )
        draft.add_link(one, other, given, one_way=one_way)
    return draft.graph()


def _node(end: Any) -> str:
    """The name of a node at which an edge ends, without its port and compass point."""
    if not isinstance(end, str):
        raise InvalidValue("A graph in DOT must have no subgraphs")
    found = _END.match(end)
    return _unquoted(found[0] if found else end)


def _unquoted(text: str) -> str:
    if text.startswith('"') and text.endswith('"'):
        return text[1:-1].replace('\\"', '"')
    return text


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
        raise InvalidValue(f"It is no {form}: {shown(said[0])}") from None
