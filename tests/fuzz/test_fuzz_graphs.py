"""Random files of graphs, in all three forms: each is read as it says, or refused in one line."""

import io
import json
from pathlib import Path
from typing import Any

import networkx as nx
from fuzzing import check_line, damaged, fuzz
from hypothesis import strategies as st
from multicube.hdl import build
from multicube.hdl.fabric.errors import MulticubeError
from multicube.hdl.graphs.graph_file import read_graph

MOST_NODES = 8
"""Of graphs that are also built."""

ODD = st.sampled_from(
    [None, True, -1, 0, 0.5, 2**16, 10**12, 10**400, "", "x", [], {}, [0], [[0]], {"id": 0}, "\n"]
)


@st.composite
def graphs(draw: st.DrawFn) -> nx.Graph:
    """A connected graph of a few nodes, of any of networkx's four kinds."""
    kind = draw(st.sampled_from([nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph]))
    size = draw(st.integers(1, 5))
    graph = kind()
    graph.add_nodes_from(range(size))
    pairs = [(node, node + 1) for node in range(size - 1)]
    node = st.integers(0, size - 1)
    pairs += draw(st.lists(st.tuples(node, node).filter(lambda pair: pair[0] != pair[1])))
    for pair in pairs:
        graph.add_edge(*pair)
        if graph.is_directed():
            graph.add_edge(*reversed(pair))
    for about in (*(about for _, about in graph.nodes(data=True)),):
        if draw(st.booleans()):
            about["terminals"] = draw(st.integers(0, 2))
    for _, _, about in graph.edges(data=True):
        if draw(st.booleans()):
            about[draw(st.sampled_from(["channels", "latency"]))] = draw(st.integers(1, 3))
    return graph


def replaced(draw: st.DrawFn, value: Any) -> Any:
    """A value of JSON with one of its parts replaced by something odd, or removed."""
    if isinstance(value, dict | list) and value and draw(st.integers(0, 3)):
        found = value.copy()
        key = draw(st.sampled_from(sorted(found) if isinstance(found, dict) else range(len(found))))
        if draw(st.integers(0, 5)):
            found[key] = replaced(draw, found[key])
        else:
            del found[key]
        return found
    return draw(ODD)


def anynet(graph: nx.Graph) -> str:
    """The graph as BookSim2 would write it: its latencies, and one terminal at each node."""
    lines = []
    for node in graph:
        words = [f"router {node} node {node}"]
        for peer, about in graph.adj[node].items():
            if not graph.is_multigraph():
                words.append(f"router {peer} {about.get('latency', '')}".rstrip())
        lines.append(" ".join(words))
    return "\n".join(lines)


Told = list[tuple[str, str, int, int]]
"""The links of a graph, each with its channels and latency."""


def told(graph: nx.Graph) -> Told:
    """The links that a graph of networkx stands for."""
    found = []
    for one, other, about in graph.edges(data=True):
        fields = about.get("channels", 1), about.get("latency", 1)
        found.append((str(one), str(other), *fields))
        if not graph.is_directed():
            found.append((str(other), str(one), *fields))
    return sorted(found)


def read(path: Path) -> Told:
    """The links in a file."""
    graph = read_graph(path)
    names = [graph.name(node) for node in range(graph.nodes)]
    return sorted(
        (names[link.node], names[link.peer], link.channels, link.latency) for link in graph.links()
    )


@st.composite
def additions(draw: st.DrawFn) -> tuple[nx.Graph, str, str]:
    """A graph in a form, and what is added to its file that nobody understands, or nothing."""
    ending = draw(st.sampled_from([".json", ".graphml"]))
    kinds = ["nothing", "attribute", "twice", "entry"]
    kinds += ["nested"] if ending == ".graphml" else ["both"]
    return draw(graphs().filter(nx.Graph.size)), ending, draw(st.sampled_from(kinds))


def written(graph: nx.Graph, ending: str, kind: str) -> bytes:
    """The file of a graph, with something added."""
    if ending == ".json":
        value = nx.node_link_data(graph, edges="links")
        match kind:
            case "attribute":
                value["links"][0]["bandwidth"] = 5
            case "entry":
                value["latency"] = 5
            case "both":
                value["edges"] = value["links"]
        text = json.dumps(value)
        return (text.replace("{", '{"nodes": 7, ', 1) if kind == "twice" else text).encode()
    stream = io.BytesIO()
    nx.write_graphml(graph, stream)
    text = stream.getvalue().decode()
    old, new = {
        "nothing": ("", ""),
        "attribute": ("<edge ", '<edge bandwidth="5" '),
        "twice": ("</graph>", '<node id="0"/></graph>'),
        "entry": ("</graph>", "<hyperedge/></graph>"),
        "nested": ("</graph>", '</graph><graph edgedefault="directed"/>'),
    }[kind]
    return text.replace(old, new, 1).encode()


def test_files_are_honoured_or_refused(tmp_path: Path) -> None:
    """A file of a graph has its links; with anything more it is refused."""

    def check(case: tuple[nx.Graph, str, str]) -> None:
        graph, ending, kind = case
        path = tmp_path / f"graph{ending}"
        path.write_bytes(written(graph, ending, kind))
        terminals = sum(about.get("terminals", 1) for _, about in graph.nodes(data=True))
        try:
            found = read(path)
        except MulticubeError as error:
            check_line(error)
            assert kind != "nothing" or terminals < 2
            return
        assert kind == "nothing"
        assert found == told(graph)

    fuzz(check, additions(), count=40)


@st.composite
def files(draw: st.DrawFn) -> tuple[str, bytes, nx.Graph | None]:
    """The ending of a file's name, its content, and the graph if the content was left alone."""
    graph = draw(graphs())
    ending = draw(st.sampled_from([".json", ".graphml", ".anynet"]))
    terminals = sum(about.get("terminals", 1) for _, about in graph.nodes(data=True))
    whole: nx.Graph | None = graph if terminals >= 2 else None
    if ending == ".json":
        value = nx.node_link_data(graph, edges="links")
        if draw(st.booleans()):
            value, whole = replaced(draw, value), None
        content = json.dumps(value).encode()
    elif ending == ".graphml":
        stream = io.BytesIO()
        nx.write_graphml(graph, stream)
        content = stream.getvalue()
    else:
        content, whole = anynet(graph).encode(), None
    changed = draw(damaged(st.just(content)))
    return ending, changed, whole if changed == content else None


def test_graph_files(tmp_path: Path) -> None:
    def check(case: tuple[str, bytes, nx.Graph | None]) -> None:
        ending, content, whole = case
        path = tmp_path / f"graph{ending}"
        path.write_bytes(content)
        try:
            graph = read_graph(path)
        except MulticubeError as error:
            assert whole is None
            check_line(error)
            return
        if whole is not None:
            both = 1 if whole.is_directed() else 2
            assert (graph.nodes, len(graph.links())) == (len(whole), both * whole.size())
            assert read(path) == told(whole)
        if graph.nodes <= MOST_NODES and len(graph.homes) <= MOST_NODES:
            try:
                build("graph", file=str(path), routing="shortest", allow_deadlock=1)
            except MulticubeError as error:
                check_line(error)

    fuzz(check, files(), count=30)
