"""Graphs in GraphML, read strictly: what is not understood is refused, with its line."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any
from xml.parsers import expat

from ..fabric.checks import nearest, shown
from ..fabric.errors import InvalidValue, MulticubeError
from .draft import GraphDraft
from .listed_graph import ListedGraph

__all__ = ["read_graphml"]

_NAMESPACE = "http://graphml.graphdrawing.org/xmlns"
_FOREIGN = ("http://www.w3.org/XML/1998/namespace ", "http://www.w3.org/2001/XMLSchema-instance ")
"""Namespaces of attributes that any element may have: where its schema is, and its language."""

_INSIDE = {
    "graphml": ("desc", "key", "data", "graph"),
    "key": ("desc", "default"),
    "graph": ("desc", "data", "node", "edge"),
    "node": ("desc", "data"),
    "edge": ("desc", "data"),
    "default": (),
    "data": (),
    "desc": (),
}
"""Which elements may be in which; other elements there are none."""

_ATTRIBUTES = {
    "key": ("id", "for", "attr.name", "attr.type", "yfiles.type"),
    "graph": ("id", "edgedefault", *(f"parse.{name}" for name in ("nodeids", "edgeids", "order"))),
    "node": ("id",),
    "edge": ("id", "source", "target", "directed"),
    "data": ("key",),
}
_COUNTS = {"parse.nodes": "node", "parse.edges": "edge"}
_WAYS = {"directed": True, "undirected": False}
_TRUTH = {"true": True, "false": False}
_OWNERS = ("graphml", "graph", "node", "edge", "all", "port", "endpoint", "hyperedge")
_NUMBER = re.compile("[+-]?[0-9]{1,30}")
_NUMBERS: dict[str, Callable[[str], Any]] = {
    "boolean": _TRUTH.__getitem__,
    "int": int,
    "long": int,
    "float": float,
    "double": float,
}
_TYPES = (*_NUMBERS, "string")
_DEPTH = 32


@dataclass
class _Element:
    """An element of XML, with the line in which it begins."""

    name: str
    line: int
    given: dict[str, str]
    inside: list["_Element"] = field(default_factory=list)
    text: str = ""

    def all(self, name: str) -> list["_Element"]:
        return [each for each in self.inside if each.name == name]

    def refused(self, words: str) -> InvalidValue:
        return InvalidValue(f"Line {self.line}: {words}")

    def required(self, name: str) -> str:
        if name not in self.given:
            raise self.refused(f"{self.name} must have an attribute {name!r}")
        return self.given[name]

    def choice(self, name: str, allowed: dict[str, bool]) -> bool:
        value = self.required(name)
        if value not in allowed:
            words = " or ".join(allowed)
            raise self.refused(f"{self.name} must have {name} {words}, not {shown(value)}")
        return allowed[value]


@dataclass(frozen=True)
class _Key:
    """An attribute that elements may have: its name and type, and its default, if it has one.

    It has no name if it is about a drawing of yEd's, and not about the graph.
    """

    owner: str
    name: str = ""
    type: str = ""
    default: Any = None

    def value(self, element: _Element) -> Any:
        """What an element says of it."""
        text = element.text if self.type == "string" else element.text.strip()
        if self.type == "string":
            return text
        try:
            if self.type in ("int", "long") and not _NUMBER.fullmatch(text):
                raise ValueError
            return _NUMBERS[self.type](text)
        except (KeyError, ValueError):
            raise element.refused(
                f"{element.name} of {self.name!r} must be of type {self.type}, not {shown(text)}"
            ) from None


def read_graphml(content: bytes) -> ListedGraph:
    """The graph in a file in GraphML, of directed and undirected edges; `GraphDraft` says which
    attributes its nodes and edges may have.

    Keys may have defaults. Edges between the same nodes are parallel links, with different ids or
    without. Elements may be in GraphML's namespace, or in none. There is one graph, without nested
    graphs, hyperedges and ports. Declarations of entities are refused.

    Raises
    ------
    TypeError, ValueError
        If it is not so; the message names the line.
    """
    root = _parsed(content)
    if root.name != "graphml":
        raise root.refused(f"file must be a graphml, not a {root.name}")
    graphs = root.all("graph")
    if len(graphs) != 1:
        raise (graphs[1] if graphs else root).refused(
            f"file must hold one graph, not {len(graphs)}"
        )
    (graph,) = graphs
    keys = dict(_keys(root))
    _data(root, keys)
    for name, part in _COUNTS.items():
        count = len(graph.all(part))
        if graph.given.get(name, str(count)) != str(count):
            raise graph.refused(f"graph has {count} {part}s, not {graph.given[name]} ({name})")
    one_way = graph.choice("edgedefault", _WAYS)
    draft = _placed(graph, GraphDraft, _data(graph, keys))
    for node in graph.all("node"):
        _placed(node, draft.add_node, node.required("id"), _data(node, keys))
    ids: set[tuple[object, str]] = set()
    for edge in graph.all("edge"):
        directed = edge.choice("directed", _TRUTH) if "directed" in edge.given else one_way
        ends = edge.required("source"), edge.required("target")
        if "id" in edge.given:
            own = ends if directed else frozenset(ends), edge.given["id"]
            if own in ids:
                raise edge.refused(
                    f"edges from {shown(ends[0])} to {shown(ends[1])} must have different ids or "
                    f"none, not two {shown(own[1])}"
                )
            ids.add(own)
        _placed(edge, draft.add_link, *ends, _data(edge, keys), one_way=directed)
    return draft.graph()


def _placed(element: _Element, call: Any, *given: Any, **named: Any) -> Any:
    """Call a function; what it refuses is in this element."""
    try:
        return call(*given, **named)
    except MulticubeError as error:
        raise type(error)(f"Line {element.line}: {error}") from None


def _keys(root: _Element) -> Iterator[tuple[str, _Key]]:
    """The declared attributes, by the ids of their keys."""
    ids: set[str] = set()
    names: set[tuple[str, str]] = set()
    for key in root.all("key"):
        own, owner = key.required("id"), key.given.get("for", "all")
        if own in ids:
            raise key.refused(f"key {shown(own)} must be given once, not twice")
        ids.add(own)
        if owner not in _OWNERS:
            raise key.refused(f"key must be for one of {', '.join(_OWNERS)}, not {shown(owner)}")
        if "yfiles.type" in key.given:
            yield own, _Key(owner)
            continue
        name, kind = key.required("attr.name"), key.required("attr.type")
        if kind not in _TYPES:
            raise key.refused(
                f"key must have attr.type one of {', '.join(_TYPES)}, not {shown(kind)}"
                f"{nearest(kind, _TYPES)}"
            )
        owners = ("graphml", "graph", "node", "edge") if owner == "all" else (owner,)
        if any((each, name) in names for each in owners):
            raise key.refused(f"attribute {shown(name)} must have one key, not two")
        names |= {(each, name) for each in owners}
        found = _Key(owner, name, kind)
        defaults = key.all("default")
        if len(defaults) > 1:
            raise defaults[1].refused("key must have one default, not two")
        yield own, _Key(owner, name, kind, found.value(defaults[0])) if defaults else found


def _data(element: _Element, keys: dict[str, _Key]) -> dict[str, Any]:
    """The attributes that an element has by its data, or else by default."""
    owners = (element.name, "all")
    found = {
        key.name: key.default
        for key in keys.values()
        if key.owner in owners and key.default is not None
    }
    used: set[str] = set()
    for data in element.all("data"):
        own = data.required("key")
        if own not in keys:
            raise data.refused(f"data must be of a declared key, not {shown(own)}")
        key = keys[own]
        if key.owner not in owners:
            raise data.refused(f"key {shown(own)} is for {key.owner}, not for {element.name}")
        if own in used:
            raise data.refused(f"data of key {shown(own)} must be given once, not twice")
        used.add(own)
        if key.name:
            if data.inside:
                raise data.inside[0].refused(f"data must be a text, not a {data.inside[0].name}")
            found[key.name] = key.value(data)
    return found


def _parsed(content: bytes) -> _Element:
    """The elements of a file, each of which may be where it is."""
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    document = _Element("file", 1, {})
    open_ = [document]
    texts: list[list[str]] = [[]]

    def refused(words: str) -> InvalidValue:
        return InvalidValue(f"Line {parser.CurrentLineNumber}: {words}")

    def start(name: str, given: dict[str, str]) -> None:
        name = name.removeprefix(f"{_NAMESPACE} ")
        above = open_[-1]
        if len(open_) > _DEPTH:
            raise refused("it is nested too deeply")
        drawing = above.name == "data" or above.name not in (*_INSIDE, "file")
        if not drawing:
            if name not in _INSIDE.get(above.name, _INSIDE):
                raise refused(f"{above.name} must not hold a {shown(name)[1:-1]}")
            known = (*_ATTRIBUTES.get(name, ()), *(_COUNTS if name == "graph" else ()))
            for each in given:
                if each not in known and not each.startswith(_FOREIGN):
                    hint = nearest(each, known)
                    raise refused(f"{name} has an unknown attribute {shown(each)}{hint}")
        element = _Element(name, parser.CurrentLineNumber, given)
        above.inside.append(element)
        open_.append(element)
        texts.append([])

    def end(name: str) -> None:
        element = open_.pop()
        element.text = "".join(texts.pop())
        if element.name in ("graphml", "key", "graph", "node", "edge") and element.text.strip():
            raise element.refused(f"{element.name} must hold no text, not {shown(element.text)}")

    def no_type(*_: object) -> None:
        raise refused("a document type (DOCTYPE), which may declare entities, is not allowed")

    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler = lambda text: texts[-1].append(text)
    parser.StartDoctypeDeclHandler = no_type
    try:
        parser.Parse(content, True)
    except expat.ExpatError as error:
        words = expat.errors.messages[error.code]
        raise InvalidValue(f"Line {error.lineno}: it is no XML: {words}") from None
    except LookupError as error:
        raise InvalidValue(f"It can't be decoded: {error}") from None
    return document.inside[0]
