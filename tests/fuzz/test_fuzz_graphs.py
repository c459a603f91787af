"""Random files of graphs, in all three forms: each is read as it says, or refused in one line."""

import io
import json
from pathlib import Path
from typing import Any

import networkx as nx
from fuzzing import check_line, damaged, fuzz
from hypothesis import strategies as st
from multicube.hdl.fabric.errors import MulticubeError
from multicube.hdl.graphs.graph_file import read_graph
from multicube.hdl.networks import build

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
        if graph.nodes <= MOST_NODES and len(graph.homes) <= MOST_NODES:
            try:
                build("graph", file=str(path), routing="shortest", allow_deadlock=1)
            except MulticubeError as error:
                check_line(error)

    fuzz(check, files(), count=30)
