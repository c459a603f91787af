"""Graphs in files: what each form means, and what is refused."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
from multicube.hdl import GraphNetwork, build
from multicube.hdl.graphs.graph import Link, ListedGraph
from multicube.hdl.graphs.graph_file import read_graph
from multicube.sim import simulate

SQUARE = {"nodes": 4, "links": [[0, 1], [1, 2], [2, 3], [3, 0]]}


def written(folder: Path, name: str, content: str | dict) -> str:
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return str(path)


def joined(graph: ListedGraph) -> dict[tuple[str, str], list[tuple[int, int]]]:
    """The channels and latencies of the links between two nodes, which are named."""
    found: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for link in graph.links():
        ends = graph.name(link.node), graph.name(link.peer)
        found.setdefault(ends, []).append((link.channels, link.latency))
    return found


def test_json(tmp_path: Path) -> None:
    square = read_graph(written(tmp_path, "square.json", SQUARE))
    assert list(square.homes) == [0, 1, 2, 3]
    assert len(joined(square)) == 8
    content = {
        "nodes": ["hub", {"id": "a", "terminals": 2}, {"id": "b", "terminals": 0}],
        "links": [["hub", "a"], {"source": "hub", "target": "b", "channels": 3, "latency": 2}],
    }
    star = read_graph(written(tmp_path, "star.json", content))
    assert joined(star) == {
        ("hub", "a"): [(1, 1)],
        ("a", "hub"): [(1, 1)],
        ("hub", "b"): [(3, 2)],
        ("b", "hub"): [(3, 2)],
    }
    assert list(star.homes) == [0, 1, 1]
    content |= {"terminals": ["b", "a", "b"], "directed": True}
    one_way = read_graph(written(tmp_path, "star.json", content))
    assert joined(one_way) == {("hub", "a"): [(1, 1)], ("hub", "b"): [(3, 2)]}
    assert list(one_way.homes) == [2, 1, 2]


@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph])
def test_node_link_form_and_graphml_of_networkx(tmp_path: Path, kind: type) -> None:
    given = kind()
    given.add_nodes_from(["x", "y"], terminals=2)
    given.add_edge("x", "y", latency=3)
    if given.is_multigraph():
        given.add_edge("x", "y", channels=2)
    if given.is_directed():
        given.add_edge("y", "x")
    content = nx.node_link_data(given, edges="links")
    as_json = read_graph(written(tmp_path, "graph.json", content))
    nx.write_graphml(given, tmp_path / "graph.graphml")
    as_graphml = read_graph(tmp_path / "graph.graphml")
    assert joined(as_json) == joined(as_graphml)
    assert list(as_json.homes) == list(as_graphml.homes) == [0, 0, 1, 1]
    there = [(1, 3), (2, 1)] if given.is_multigraph() else [(1, 3)]
    assert joined(as_json) == {
        ("x", "y"): there,
        ("y", "x"): [(1, 1)] if given.is_directed() else there,
    }


def test_anynet(tmp_path: Path) -> None:
    """BookSim2's rules: a link has a way back, whose latency is 1 unless it is listed too."""
    lines = """
    router 0 node 0 node 1 router 1 15 router 2
    node 2 router 1

    router 2 node 3 router 1 4
    router 1 router 2 7
    """
    graph = read_graph(written(tmp_path, "any.txt", lines))
    assert {ends: about for ends, [about] in joined(graph).items()} == {
        ("0", "1"): (1, 15),
        ("1", "0"): (1, 1),
        ("0", "2"): (1, 1),
        ("2", "0"): (1, 1),
        ("2", "1"): (1, 4),
        ("1", "2"): (1, 7),
    }
    assert list(graph.homes) == [0, 0, 1, 2]


TERMINAL = "Terminal 1 must be at"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.json", "{", "File '.*' can't be read: Expecting property name"),
        ("a.json", "[1]", "File .*: Graph must be an object with nodes and links"),
        ("a.json", {"links": []}, "File .*: Entry nodes must be a list, not None"),
        ("a.json", {"nodes": 2}, "File .*: Entry links must be a list, not None"),
        ("a.json", SQUARE | {"nodes": [[1]]}, "File .*: Node must have a name or a number as its "),
        ("a.json", SQUARE | {"nodes": [1, 1]}, "File .*: Node 1 must be given once, not twice"),
        (
            "a.json",
            SQUARE | {"nodes": 3},
            "File .*: Link [2, 3] must join nodes of the graph, not 3",
        ),
        ("a.json", SQUARE | {"links": [[1]]}, "File .*: Link must have two ends, not [1]"),
        ("a.json", SQUARE | {"links": [[1, 1]]}, "File .*: Link [1, 1] must join two nodes"),
        (
            "a.json",
            SQUARE | {"links": [[0, 1], [1, 0]]},
            "File .*: Link from 1 to 0 must be given once, not twice",
        ),
        (
            "a.json",
            SQUARE | {"links": [{"source": 0, "target": 1, "latency": 0}]},
            "File .*: Latency of the edge from 0 to 1 must be at least 1, not 0",
        ),
        (
            "a.json",
            SQUARE | {"terminals": [0, 7]},
            f"File .*: {TERMINAL} a node of the graph, not 7",
        ),
        (
            "a.json",
            SQUARE | {"nodes": [{"id": n, "terminals": [n // 2]} for n in range(4)]},
            "File .*: Terminal 0 must be at one node, not at 0 and 1",
        ),
        (
            "a.json",
            SQUARE | {"nodes": [{"id": n, "terminals": [2 * n]} for n in range(4)]},
            f"File .*: {TERMINAL} a node, as all from 0 on",
        ),
        (
            "a.json",
            {"nodes": 4, "links": [[0, 1], [2, 3]]},
            "There is no way from ",
        ),
        ("a.graphml", "<graphml", "File '.*' can't be read: "),
        (
            "a.graphml",
            '<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><key id="d0" for="node"'
            ' attr.name="terminals" attr.type="ong"/><graph/></graphml>',
            "File .*: GraphML has no 'ong', such as a type of attributes",
        ),
        (
            "a.graphml",
            '<?xml version="1.0" encoding="tf-8"?><graphml/>',
            "File .*: It can't be decoded: unknown encoding: tf-8",
        ),
        (
            "a.graphml",
            '<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><graph edgedefault="directed">'
            '<node id="x"/><edge source="x" target="y"/></graph></graphml>',
            "File .*: Link ['x', 'y'] must join nodes of the graph, not 'y'",
        ),
        ("a.any", "route 0", "File .*: Line 1 must be of words such as router 0 or node 0, not "),
        ("a.any", "node 0 node 1", "File .*: Line 1 must begin with a router, not 'node 0 node 1'"),
        (
            "a.any",
            "router 0 node 0\nrouter 1 node 0",
            "File .*: Line 2: node 0 must be at one router",
        ),
        ("a.any", "router 0 node 0 5", "File .*: Line 1: node 0 must have latency 1, not 5"),
        (
            "a.any",
            "router 0 node 0 node 2",
            "File .*: Node 1 must be at a router, as all nodes from",
        ),
        ("a.any", "router 0 router 0", "File .*: Line 1: link [0, 0] must join two routers"),
        (
            "a.any",
            "router 0 router 1 router 1",
            "File .*: Line 1: link from router 0 to 1 must be given once, not twice",
        ),
        ("a.json", "[" * 100_000, "File '.*' can't be read: it is nested too deeply"),
        (
            "a.json",
            {"nodes": 10**12, "links": []},
            "File .*: Nodes must be at most 65536, not 1000000000000",
        ),
        (
            "a.json",
            {"nodes": [{"id": 0, "terminals": 10**12}], "links": []},
            "File .*: Terminals of node 0 must be from 0 to 65536, not 1000000000000",
        ),
        (
            "a.graphml",
            '<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><graph edgedefault="directed">'
            '<node id="x"><port name="p"/></node></graph></graphml>',
            "File '.*' can't be read: GraphML port tag not supported",
        ),
        ("missing/a.json", None, "File '.*' can't be read: No such file or directory"),
    ],
)
def test_bad_files(
    tmp_path: Path, name: str, content: Any, message: str, call: Callable[..., Any]
) -> None:
    """One line that names the entry, by the command too."""
    path = str(tmp_path / name) if content is None else written(tmp_path, name, content)
    pattern = re.escape(message).replace(r"\.\*", ".*")
    with pytest.raises((TypeError, ValueError), match=f"^{pattern}") as refusal:
        build("graph", file=path)
    outcome = call("sim", "graph", f"file={path}", "--load", "0.1")
    assert (outcome.status, outcome.out) == (2, "")
    assert outcome.err == f"multicube: {refusal.value}\n"


def test_network_of_a_file_and_of_objects(tmp_path: Path) -> None:
    """A file, a graph of networkx and a `Graph` are the same network."""
    given = nx.cycle_graph(5)
    path = written(tmp_path, "ring.json", nx.node_link_data(given, edges="links"))
    links = []
    for node in range(5):
        for port, step in enumerate((1, 4)):
            peer = (node + step) % 5
            links.append(Link(node, port, peer, port))
    networks = [
        GraphNetwork(given, routing="up-down"),
        build("graph", file=path, routing="up-down"),
        GraphNetwork(ListedGraph(5, links), routing="up-down"),
    ]
    results = [simulate(network, load=0.2, cycles=500, seed=4) for network in networks]
    assert results[0].delivered > 100
    assert results[0].latency == results[1].latency
    assert results[0].delivered == results[1].delivered == results[2].delivered
    assert [network.parameters.file for network in networks] == ["given", path, "given"]


def test_graph_network_rejects() -> None:
    with pytest.raises(ValueError, match=r"^File must be named unless a graph is given in Python$"):
        build("graph", file="given")
    with pytest.raises(ValueError, match=r"^Routing must not be own in a graph that has none$"):
        GraphNetwork(nx.petersen_graph(), routing="own")
