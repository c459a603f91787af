"""Graphs in files: what each form means, and what is refused."""

import json
import random
import re
from operator import call
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
from command_line import Call
from long_runs import long
from multicube.hdl import GraphNetwork, build
from multicube.hdl.graphs.conversion import from_networkx, to_networkx
from multicube.hdl.graphs.graph import Link
from multicube.hdl.graphs.graph_file import read_graph
from multicube.hdl.graphs.listed_graph import ListedGraph
from multicube.hdl.graphs.routing.algorithms import relation_for
from multicube.sim import Trace, TracePacket, simulate
from refusals import refusals

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


def test_a_name_with_spaces(tmp_path: Path) -> None:
    path = written(tmp_path, "my square.json", SQUARE)
    network = build("graph", file=str(path))
    again = build(str(network))
    assert (str(again), again.ports) == (str(network), 4)


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
        ("a.json", "{", "File .*: It is no JSON: Expecting property name"),
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
            "File .*: Latency of the edge from 0 to 1 must be from 1 to 1024, not 0",
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
        ("a.json", {"nodes": 4, "links": [[0, 1], [2, 3]]}, "File .*: There is no way from "),
        ("a.graphml", "<graphml", "File .*: Line 1: it is no XML: unclosed token"),
        (
            "a.graphml",
            '<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><key id="d0" for="node"'
            ' attr.name="terminals" attr.type="ong"/><graph/></graphml>',
            "File .*: Line 1: key must have attr.type one of boolean, int, ",
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
            "File .*: Line 1: Link ['x', 'y'] must join nodes of the graph, not 'y'",
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
        ("a.json", "[" * 100_000, "File .*: It is nested too deeply"),
        (
            "a.json",
            {"nodes": 10**12, "links": []},
            "File .*: Nodes must be from 1 to 65536, not 1000000000000",
        ),
        (
            "a.json",
            {"nodes": [{"id": 0, "terminals": 10**12}], "links": []},
            "File .*: Terminals of node 0 must be from 0 to 64, not 1000000000000",
        ),
        (
            "a.graphml",
            '<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><graph edgedefault="directed">'
            '<node id="x"><port name="p"/></node></graph></graphml>',
            "File .*: Line 1: node must not hold a port",
        ),
        ("missing/a.json", None, "File .* can't be read: No such file or directory"),
    ],
)
def test_bad_files(tmp_path: Path, name: str, content: Any, message: str, call: Call) -> None:
    """One line that names the entry, by the command too."""
    path = str(tmp_path / name) if content is None else written(tmp_path, name, content)
    pattern = re.escape(message).replace(r"\.\*", ".*")
    with pytest.raises((TypeError, ValueError), match=f"^{pattern}") as refusal:
        build("graph", file=path)
    call("sim", "graph", f"file={path}", "--load", "0.1").refuses(f"{refusal.value}")


def test_a_file_is_named_by_a_path_or_a_text(tmp_path: Path) -> None:
    path = Path(written(tmp_path, "square.json", SQUARE))
    named = build("graph", file=path).chosen
    assert named == build("graph", file=str(path)).chosen
    assert named["file"] == str(path)


@pytest.mark.long
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


NAMESPACE = 'xmlns="http://graphml.graphdrawing.org/xmlns"'
TWO = '<node id="a"/><node id="b"/>'
EDGE = '<edge source="a" target="b"/>'


def graphml(inside: str, keys: str = "", default: str = "undirected") -> str:
    return (
        f'<?xml version="1.0"?>\n<graphml {NAMESPACE}>\n{keys}\n'
        f'<graph edgedefault="{default}">\n{inside}\n</graph>\n</graphml>'
    )


def key(about: str, name: str, kind: str = "int", inside: str = "") -> str:
    return f'<key id="{name}" for="{about}" attr.name="{name}" attr.type="{kind}">{inside}</key>'


DATA = '<data key="latency">2</data>'
DRAWN = '<key id="d" for="node" yfiles.type="nodegraphics"/>'
LATENCY = key("edge", "latency", inside="<default>9</default>")


@pytest.mark.parametrize(
    ("content", "there", "back"),
    [
        (graphml(TWO + EDGE, LATENCY), [(1, 9)], [(1, 9)]),
        (graphml(TWO + EDGE + EDGE), [(1, 1)] * 2, [(1, 1)] * 2),
        (
            graphml(TWO + EDGE.replace("<edge", '<edge id="1"') + EDGE.replace("<edge", "<edge ")),
            [(1, 1)] * 2,
            [(1, 1)] * 2,
        ),
        (
            graphml(TWO + EDGE.replace("/>", '><data key="latency">2</data></edge>'), LATENCY),
            [(1, 2)],
            [(1, 2)],
        ),
        (graphml(TWO + EDGE.replace("/>", ' directed="true"/>') + EDGE), [(1, 1)] * 2, [(1, 1)]),
        (graphml(TWO + EDGE, default="directed"), [(1, 1)], []),
        (graphml(EDGE + TWO).replace(f" {NAMESPACE}", ""), [(1, 1)], [(1, 1)]),
        ("\ufeff" + graphml(TWO + EDGE)[22:].replace("\n", "\r\n"), [(1, 1)], [(1, 1)]),
        (graphml(TWO + EDGE, DRAWN), [(1, 1)], [(1, 1)]),
    ],
)
def test_graphml(tmp_path: Path, content: str, there: list, back: list) -> None:
    graph = joined(read_graph(written(tmp_path, "a.graphml", content)))
    assert (graph.get(("a", "b"), []), graph.get(("b", "a"), [])) == (there, back)


def test_graphml_in_another_encoding(tmp_path: Path) -> None:
    content = graphml(TWO.replace('"a"', '"ä"') + EDGE.replace('"a"', '"ä"'))
    for encoding in ("iso-8859-1", "utf-16"):
        path = tmp_path / "a.graphml"
        path.write_bytes(content.replace("?>", f' encoding="{encoding}"?>').encode(encoding))
        assert read_graph(path).name(0) == "ä"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (graphml(TWO + '<node id="a"/>'), "Line 5: Node a must be given once, not twice"),
        (graphml(TWO + "<node/>"), "Line 5: node must have an attribute 'id'"),
        (graphml(TWO + "\n<edge source='a' target='a'/>"), "Line 6: Link ['a', 'a'] must join two"),
        (graphml(TWO + "\n<edge source='a'/>"), "Line 6: edge must have an attribute 'target'"),
        (
            graphml(TWO + 2 * EDGE.replace("<edge", '<edge id="0"')),
            "Line 5: edges from 'a' to 'b' must have different ids or none, not two '0'",
        ),
        (
            graphml(f'<node id="a"><graph>{TWO}</graph></node>'),
            "Line 5: node must not hold a graph",
        ),
        (
            graphml(TWO + "</graph>\n<graph edgedefault='directed'>"),
            "Line 6: file must hold one graph, not 2",
        ),
        (graphml(TWO + "<hyperedge/>"), "Line 5: graph must not hold a hyperedge"),
        (graphml('<node id="a"><port name="p"/></node>'), "Line 5: node must not hold a port"),
        (graphml(TWO + "Text"), "Line 4: graph must hold no text, not"),
        (graphml(TWO, default="sideways"), "Line 4: graph must have edgedefault directed or und"),
        (graphml(TWO + EDGE.replace("/>", ' weight="2"/>')), "Line 5: edge has an unknown attr"),
        (graphml(TWO + EDGE.replace("/>", ' directed="x"/>')), "Line 5: edge must have directed "),
        (graphml('<node id="a"><data key="z"/></node>'), "Line 5: data must be of a declared key"),
        (
            graphml('<node id="a"><data key="latency">2</data></node>', LATENCY),
            "Line 5: key 'latency' is for edge, not for node",
        ),
        (
            graphml(
                TWO + EDGE.replace("/>", ">" + 2 * '<data key="latency">2</data>' + "</edge>"),
                LATENCY,
            ),
            "Line 5: data of key 'latency' must be given once, not twice",
        ),
        (
            graphml(TWO + EDGE, key("edge", "Latency", inside="<default>2</default>")),
            "Line 5: Edge from a to b has an unknown attribute 'Latency'; did you mean 'latency'?",
        ),
        (graphml(TWO + EDGE, LATENCY.replace('"int"', '"integr"')), "Line 3: key must have attr"),
        (
            graphml(TWO + EDGE, LATENCY.replace(">9<", ">9.5<")),
            "Line 3: default of 'latency' must ",
        ),
        (
            graphml(TWO + EDGE, LATENCY.replace(">9<", ">1_0<")),
            "Line 3: default of 'latency' must ",
        ),
        (graphml(TWO + EDGE, 2 * LATENCY), "Line 3: key 'latency' must be given once, not twice"),
        (
            graphml(TWO + EDGE, LATENCY + LATENCY.replace('id="latency"', 'id="x"')),
            "Line 3: attribute 'latency' must have one key, not two",
        ),
        (graphml(TWO + EDGE, LATENCY.replace('"edge"', '"arc"')), "Line 3: key must be for one of"),
        (
            graphml(TWO, key("node", "node_for_adding", inside="<default>3</default>")),
            "Line 5: Node a has an unknown attribute 'node_for_adding': none of terminals",
        ),
        (
            '<!DOCTYPE graphml [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><graphml>&b;</graphml>',
            "Line 1: a document type (DOCTYPE), which may declare entities, is not allowed",
        ),
        (graphml("<node>" * 5), "Line 5: node must not hold a node"),
        (
            graphml(TWO).replace("edgedefault", 'parse.nodes="3" edgedefault'),
            "Line 4: graph has 2 n",
        ),
        ("<graph/>", "Line 1: file must be a graphml, not a graph"),
        ("<graphml/>", "Line 1: file must hold one graph, not 0"),
    ],
)
def test_graphml_is_read_strictly(tmp_path: Path, content: str, message: str) -> None:
    path = written(tmp_path, "a.graphml", content)
    with pytest.raises((TypeError, ValueError), match=f"^{re.escape(f'File {path}: {message}')}"):
        read_graph(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (SQUARE | {"directed": "false"}, "Entry directed must be true or false, not 'false'"),
        (SQUARE | {"multigraph": 1}, "Entry multigraph must be true or false, not 1"),
        (SQUARE | {"edges": []}, "Links must be in one entry, not in both links and edges"),
        (
            SQUARE | {"link": []},
            "Object of the graph has an unknown attribute 'link'; did you mean 'links'?",
        ),
        (
            SQUARE | {"latency": 3},
            "Object of the graph has an unknown attribute 'latency': none of",
        ),
        (SQUARE | {"graph": {"speed": 3}}, "Graph has an unknown attribute 'speed': none of"),
        (SQUARE | {"nodes": True}, "Nodes must be an integer, not True"),
        (SQUARE | {"nodes": [True, 1, 2, 3]}, "Node must have a name or a number as its id, not T"),
        (SQUARE | {"links": [[True, 0]]}, "Link [True, 0] must join nodes of the graph, not True"),
        (SQUARE | {"links": [[1.0, 0]]}, "Link [1.0, 0] must join nodes of the graph, not 1.0"),
        (SQUARE | {"terminals": [True, 0]}, "Terminal 0 must be at a node of the graph, not True"),
        (
            SQUARE | {"nodes": [0, 1, 2, {"id": 3, "terminls": 2}]},
            "Node 3 has an unknown attribute 'terminls'; did you mean 'terminals'?",
        ),
        (
            SQUARE | {"nodes": [0, 1, 2, {"id": 3, "self": 2}]},
            "Node 3 has an unknown attribute 'self': none of",
        ),
        (
            SQUARE | {"nodes": [{"id": n, "terminals": [n, n]} for n in range(4)]},
            "Terminal 0 must be at one node, not at 0 and 0",
        ),
        *(
            (SQUARE | {"links": [{"source": 0, "target": 1, name: value}]}, message)
            for name, value, message in (
                ("Latency", 2, "Edge from 0 to 1 has an unknown attribute 'Latency'; did you mean"),
                ("chanels", 2, "Edge from 0 to 1 has an unknown attribute 'chanels'; did you mean"),
                ("u_of_edge", 1, "Edge from 0 to 1 has an unknown attribute 'u_of_edge': none of"),
                ("port", 1, "Edge from 0 to 1 has an unknown attribute 'port': none of"),
                ("key", 1, "Link {'source': 0, 'target': 1, 'key': 1} must have a key of its own"),
                ("latency", True, "Latency of the edge from 0 to 1 must be an integer, not True"),
                ("latency", 10**30, "Latency of the edge from 0 to 1 must be from 1 to 1024"),
                ("channels", 10**6, "Channels of the edge from 0 to 1 must be from 1 to 64"),
            )
        ),
        (SQUARE | {"nodes": ["a\0b"]}, "Name of a node must be printable, not 'a\\x00b'"),
        (SQUARE | {"nodes": ["\ud800"]}, "Name of a node must be printable, not '\\ud800'"),
        ('{"nodes": 2, "nodes": 3}', "Entry 'nodes' must be given once, not twice, in {'nodes'"),
        ('{"nodes": 2, "links": [{"latency": NaN}]}', "Number must be finite, not NaN"),
        (SQUARE | {"terminals": [0] * 65}, "Terminals of node 0 must be at most 64, not 65"),
        (
            SQUARE | {"nodes": [0, 1, 2, {"id": 3, "terminals": 60_000}]},
            "Terminals of node 3 must be from 0 to 64, not 60000",
        ),
        (
            SQUARE | {"multigraph": True, "links": 2 * [{"source": 0, "target": 1, "key": 0}]},
            "Link {'source': 0, 'target': 1, 'key': 0} must have a key of its own, in a multigraph",
        ),
    ],
)
def test_json_is_read_strictly(tmp_path: Path, content: Any, message: str) -> None:
    path = written(tmp_path, "a.json", content)
    with pytest.raises((TypeError, ValueError), match=f"^{re.escape(f'File {path}: {message}')}"):
        read_graph(path)


def test_what_describes_is_no_part_of_a_network(tmp_path: Path) -> None:
    """Positions and labels, in a file that another program may have written."""
    given = nx.MultiGraph(name="two")
    given.add_node("a", label="first", pos=(0.5, 1))
    given.add_node("b", x=3, Longitude=4.5)
    given.add_edge("a", "b", id="e0", color="red")
    given.add_edge("a", "b")
    assert joined(from_networkx(given)) == {("a", "b"): [(1, 1)] * 2, ("b", "a"): [(1, 1)] * 2}
    path = written(tmp_path, "a.json", nx.node_link_data(given, edges="edges"))
    assert joined(read_graph(path)) == joined(from_networkx(given))


@pytest.mark.parametrize("name", ["a.json", "a.anynet"])
@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_marks_of_the_encoding(tmp_path: Path, name: str, encoding: str) -> None:
    content = json.dumps(SQUARE) if name == "a.json" else "router 0 node 0\r\nnode 1 router 0"
    (tmp_path / name).write_text(content, encoding=encoding)
    assert read_graph(tmp_path / name).nodes == (4 if name == "a.json" else 1)
    (tmp_path / name).write_bytes(b"\xff" + content.encode())
    with pytest.raises(ValueError, match=r"^File .* can't be read: it is not a text file$"):
        read_graph(tmp_path / name)


test_refuses = refusals(
    call,
    (lambda: build("graph", file="given"), "File must be named unless a graph is given in Python"),
    (
        lambda: GraphNetwork(nx.petersen_graph(), routing="own"),
        "Routing must not be own in a graph that has none",
    ),
    (lambda: read_graph("/dev/zero"), "File /dev/zero can't be read: it has more than 2684..."),
)


def test_attributes_of_networkx_are_read_strictly() -> None:
    for about, message in (
        ({"weight": 2}, "Edge from 0 to 1 has an unknown attribute 'weight': none of "),
        ({"latancy": 2}, "Edge from 0 to 1 has an unknown attribute 'latancy'; did you mean "),
        ({"latency": 2.0}, "Latency of the edge from 0 to 1 must be an integer, not 2.0"),
    ):
        with pytest.raises((TypeError, ValueError), match=f"^{re.escape(message)}"):
            from_networkx(nx.Graph([(0, 1, about)]))
    with pytest.raises(ValueError, match=r"^Link \[0, 0\] must join two nodes$"):
        from_networkx(nx.Graph([(0, 1), (0, 0)]))


def test_defaults_that_networkx_has_read_are_kept(tmp_path: Path) -> None:
    given = nx.read_graphml(written(tmp_path, "a.graphml", graphml(TWO + EDGE, LATENCY)))
    assert joined(from_networkx(given))["a", "b"] == [(1, 9)]


def test_packets_leave_where_they_enter_unless_exits_say_otherwise() -> None:
    given = nx.Graph([("a", "b")])
    given.nodes["a"]["terminals"] = [0, 2]
    given.nodes["b"].update(terminals=[1], exits=[2])
    found = from_networkx(given)
    assert (list(found.homes), list(found.exit_homes)) == ([0, 1, 0], [0, 1, 1])


def test_networkx_and_back() -> None:
    """Also the intervals of links, and terminals whose packets leave at another node."""
    links = [Link(0, 3, 1, 2, 2, 5, 4), Link(1, 0, 0, 0)]
    given = ListedGraph(2, links, [0, 1], ["x", "y"], [1, 0])
    found = from_networkx(to_networkx(given))
    assert list(found.links()) == links
    assert (list(found.homes), list(found.exit_homes)) == ([0, 1], [1, 0])
    assert [found.name(node) for node in range(2)] == ["x", "y"]


def test_files_that_networkx_writes(tmp_path: Path) -> None:
    given = nx.Graph([("a", "b"), ("b", "c"), ("c", "a")])
    given.edges["b", "c"]["latency"] = 3
    nx.write_gexf(given, tmp_path / "a.gexf")
    nx.write_edgelist(given, tmp_path / "a.edgelist")
    expected = joined(from_networkx(given))
    for name in ("a.gexf", "a.edgelist"):
        assert joined(read_graph(tmp_path / name)) == expected
    numbered = nx.convert_node_labels_to_integers(given)
    nx.write_gml(numbered, tmp_path / "a.gml")
    assert joined(read_graph(tmp_path / "a.gml")) == joined(from_networkx(numbered))
    nx.write_gml(nx.DiGraph([(0, 1), (1, 0)]), tmp_path / "one-way.gml")
    assert joined(read_graph(tmp_path / "one-way.gml")) == {
        ("0", "1"): [(1, 1)],
        ("1", "0"): [(1, 1)],
    }


@pytest.mark.long
def test_dot(tmp_path: Path) -> None:
    """A chain of edges, defaults, quoted names, ports of a drawing, and what is only drawn."""
    text = r"""graph net {
        rankdir=LR;
        node [shape=box];
        edge [latency=2];
        a -- b -- "c \"d" [color=red];
        "c \"d":n -- a [latency="5" channels=2];
        hub [terminals=3, label="the hub"];
        hub -- a;
    }"""
    graph = read_graph(written(tmp_path, "a.dot", text))
    assert {ends: about for ends, [about] in joined(graph).items() if ends[0] < ends[1]} == {
        ("a", "b"): (1, 2),
        ("b", 'c "d'): (1, 2),
        ("a", 'c "d'): (2, 5),
        ("a", "hub"): (1, 2),
    }
    assert sorted(map(graph.name, graph.homes)) == ["a", "b", 'c "d', "hub", "hub", "hub"]
    one_way = read_graph(written(tmp_path, "b.gv", "digraph { a -> b; b -> a; a -> b }"))
    assert joined(one_way) == {("a", "b"): [(1, 1)] * 2, ("b", "a"): [(1, 1)]}


def test_parallel_links_have_keys_in_dot(tmp_path: Path) -> None:
    """As networkx writes them."""
    graph = read_graph(written(tmp_path, "a.dot", "graph { a -- b [key=0]; a -- b [key=1] }"))
    assert joined(graph) == {("a", "b"): [(1, 1)] * 2, ("b", "a"): [(1, 1)] * 2}


def test_defaults_of_dot_are_those_of_what_comes_after_them(tmp_path: Path) -> None:
    """As https://graphviz.org/doc/info/lang.html says, "Semantic Notes"."""
    text = """graph {
        a -- b;
        edge [latency=4]; node [terminals=2];
        b -- c -- d [channels=2];
        Edge [latency=3];
        node [terminals=0]; c [label=middle]; e;
        d -- e; e -- a [latency=1];
    }"""
    graph = read_graph(written(tmp_path, "a.dot", text))
    assert {ends: about for ends, [about] in joined(graph).items() if ends[0] < ends[1]} == {
        ("a", "b"): (1, 1),
        ("b", "c"): (2, 4),
        ("c", "d"): (2, 4),
        ("d", "e"): (1, 3),
        ("a", "e"): (1, 1),
    }
    assert sorted(map(graph.name, graph.homes)) == ["a", "b", "c", "c", "d", "d"]


def test_letters_of_line_ends_are_nodes_in_dot(tmp_path: Path) -> None:
    text = "graph {\r\n n [terminals=3]; r [terminals=0];\n nr; n -- r -- nr\n}\n"
    graph = read_graph(written(tmp_path, "a.dot", text))
    assert list(map(graph.name, graph.homes)) == ["n", "n", "n", "nr"]


def test_texts_of_html_are_no_edges_in_dot(tmp_path: Path) -> None:
    """Behind their first tag they were taken for edges, and for what comes after the graph."""
    text = "digraph { a [label=<<b>x -- y</b>}>]; a -> b; b -> a }"
    assert len(joined(read_graph(written(tmp_path, "a.dot", text)))) == 2


def test_comments_of_gml_are_no_entries(tmp_path: Path) -> None:
    text = "# directed by no one\ngraph [ node [ id 0 ] node [ id 1 ] edge [ source 0 target 1 ] ]"
    assert len(joined(read_graph(written(tmp_path, "a.gml", text)))) == 2


def test_drawings_of_gml_say_nothing_about_hardware(tmp_path: Path) -> None:
    node = "node [ id {} graphics [ x 1.5 y 2 ] ]"
    edge = "edge [ source 0 target 1 graphics [ width 3 ] ]"
    text = f"graph [ {node.format(0)} {node.format(1)} {edge} ]"
    assert len(joined(read_graph(written(tmp_path, "a.gml", text)))) == 2


def test_files_of_the_topology_zoo(tmp_path: Path) -> None:
    """The attributes that its toolset writes say nothing about hardware."""
    keys = {
        "graph": "Network GeoLocation DateObtained Creator IX Note label Type",
        "node": "label Country Longitude Latitude Internal id hyperedge",
        "edge": "LinkLabel LinkType LinkSpeed LinkSpeedUnits LinkSpeedRaw LinkNote id",
    }
    zoo = nx.Graph(**dict.fromkeys(keys["graph"].split(), "x"))
    for node in range(3):
        zoo.add_node(node, **dict.fromkeys(keys["node"].split(), "x"))
        zoo.add_edge(node, (node + 1) % 3, **dict.fromkeys(keys["edge"].split(), "x"))
    nx.write_graphml(zoo, tmp_path / "zoo.graphml")
    nx.write_gml(zoo, tmp_path / "zoo.gml")
    ring = joined(from_networkx(nx.cycle_graph(3)))
    for name in ("zoo.graphml", "zoo.gml"):
        assert joined(read_graph(tmp_path / name)) == ring
    assert build(f"graph file={tmp_path / 'zoo.graphml'}").ports == 3


GEXF_EDGE = '<edge id="0" source="b" target="a"/></edges>'
TITLES = """<attributes class="edge"><attribute id="0" title="latency" type="integer"/>
<attribute id="1" title="latency" type="integer"/></attributes><nodes>"""
VALUES = """<edge id="1" source="b" target="a"><attvalues><attvalue for="0" value="7"/>
<attvalue for="0" value="8"/></attvalues></edge></edges>"""
GEXF = """<gexf xmlns="http://gexf.net/1.3" version="1.3"><graph defaultedgetype="undirected">
<nodes><node id="a" {}/><node id="b"/></nodes><edges><edge id="0" source="a" target="b" {}/></edges>
</graph></gexf>"""
PLAIN = GEXF.format("", "")
KEYS = """<attributes class="edge"><attribute id="0" title="networkx_key" type="integer"/>
</attributes><nodes>"""
SAME = """<edge id="1" source="a" target="b"><attvalues><attvalue for="0" value="5"/></attvalues>
</edge><edge id="2" source="a" target="b"><attvalues><attvalue for="0" value="5"/></attvalues>
</edge></edges>"""
GML = "graph [ node [ id 0 ] node [ id 1 ] {} ] {}"


def test_attributes_in_gexf_that_say_nothing_of_a_network(tmp_path: Path) -> None:
    """Those of the standard, of other namespaces, and those that describe something for people."""
    text = GEXF.format('color="red" xmlns:a="a" a:size="3"', 'kind="a" label="b"')
    text = text.replace("<graph", '<graph timezone="UTC"')
    (tmp_path / "a.gexf").write_text(text)
    assert build(f"graph file={tmp_path / 'a.gexf'}").ports == 2


def test_what_parsers_print_is_not_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(ValueError, match="DOT"):
        read_graph(written(tmp_path, "a.dot", "graph { a -- "))
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.gml", "graph [ node [ id 0", "It is no GML: "),
        (
            "a.gml",
            "graph [ \033[31mred ]",
            r"It is no GML: 'cannot tokenize \x1b[31mred ] at (1, 9)'",
        ),
        ("a.gml", "graph [ node [ id 0 cost 3 ] ]", "Node 0 has an unknown attribute 'cost'"),
        ("a.gexf", "<gexf", "It is no GEXF: "),
        ("a.gexf", '<!DOCTYPE a [<!ENTITY b "c">]><gexf/>', "A document type (DOCTYPE), which"),
        ("a.edgelist", "a b\nc", "Line 2 must hold two nodes, not 'c'"),
        ("a.edgelist", "a b\nb a", "Line 2: edge from b to a must be given once, not twice"),
        ("a.edgelist", "a b 7", "Line 1 must end with attributes such as {'latency': 3}, not '7'"),
        ("a.edgelist", "a b {'weight': 1}", "Line 1: Edge from a to b has an unknown attribute"),
        ("a.edgelist", "a a", "Line 1: Link ['a', 'a'] must join two nodes"),
        ("a.dot", "graph {", "It "),
        ("a.dot", "graph { a -- b [weight=3] }", "Edge from a to b has an unknown attribute"),
        ("a.dot", "graph { subgraph x { a -- b } }", "A graph in DOT must have no subgraphs"),
        ("a.dot", "graph { a -- {b c} }", "A graph in DOT must have no subgraphs"),
        ("a.dot", "graph { a -- b } graph { c -- d }", "It must hold one graph in DOT, not 2"),
        ("a.dot", "graph { a -> b }", "A graph in DOT must have no edge ->"),
        ("a.dot", "digraph { b -> a; a -- b }", "A digraph in DOT must have no edge --"),
        ("a.dot", "strict graph { a -- b; b -- a }", "Edge from b to a must be given once in a"),
        (
            "a.dot",
            "graph { a -- b [key=1]; b -- a [key=1] }",
            "Edge from b to a must be given once",
        ),
        ("a.gml", "graph [ directed 2 node [ id 0 ] ]", "Entry directed must be 0 or 1, not 2"),
        ("a.gexf", GEXF.format("", 'type="both"'), "Type of an edge must be directed, undirected"),
        ("a.gexf", GEXF.format('start="1"', ""), "A graph in GEXF must not change in time"),
        ("a.gexf", PLAIN.replace('id="b"', 'id="a"'), "Id of node 'a' must be given once"),
        ("a.gexf", PLAIN.replace('et="b"', 'et="c"'), "Target of an edge must be a node, not 'c'"),
        (
            "a.gexf",
            PLAIN.replace("</edges>", GEXF_EDGE),
            "Id of edge '0' must be given once, not twice",
        ),
        ("a.gexf", PLAIN.replace("</gexf>", "<graph/></gexf>"), "It must hold one graph in GEXF"),
        ("a.gexf", PLAIN.replace("<nodes>", TITLES), "Title of attribute 'latency' must be given"),
        ("a.gexf", PLAIN.replace("</edges>", VALUES), "Value of attribute '0' must be given once"),
        ("a.gml", "graph [ directed 0 directed 1 node [ id 0 ] ]", "Entry directed must be given"),
        ("a.gml", "graph [ multigraph 2 node [ id 0 ] ]", "Entry multigraph must be 0 or 1, not 2"),
        ("a.edgelist", "a b {'latency': 2, 'latency': 3}", "Line 1: an attribute must be given"),
        ("a.dot", "graph { n [weight=3]; n -- b }", "Node n has an unknown attribute 'weight'"),
        ("a.dot", "graph { a -- b; edge [weight=3] }", "Edge has an unknown attribute 'weight'"),
        ("a.dot", "digraph { edge [dir=both] a -> b }", "Edge from a to b must have dir=forward"),
        ("a.dot", "graph { a -- b [dir=back] }", "Edge from a to b must have dir=none in a graph"),
        ("a.dot", "graph { a -- b } a -- c }", "A graph in DOT must have nothing after its end"),
        ("a.dot", "graph { a, b -- c }", "It is no graph in DOT that pydot can read"),
        ("a.gml", GML.format("", "edge [ source 0 target 1 ]"), "Entry edge must be in the graph"),
        ("a.gml", GML.format("", "directed 1"), "Entry directed must be in the graph in GML, not"),
        ("a.edgelist", "a b {'latency': 1_0}", "Line 1 must end with attributes such as"),
        ("a.edgelist", "a b {[1]: 2}", "Line 1 must end with attributes such as"),
        ("a.gexf", PLAIN.replace("</graph>", "<edges/></graph>"), "Element graph in GEXF must"),
        ("a.gexf", PLAIN.replace("</gexf>", "<edges/></gexf>"), "Element gexf in GEXF must"),
        ("a.gexf", GEXF.format("", 'latency="4"'), "Element edge in GEXF has an unknown attribute"),
        ("a.gexf", PLAIN.replace("undirected", "Directed"), "Edges in GEXF must be directed, undi"),
        (
            "a.gexf",
            PLAIN.replace("<nodes>", KEYS).replace("</edges>", SAME),
            "Edges in GEXF must be 3 different ones, not 2",
        ),
        (
            "a.gexf",
            PLAIN.replace("<nodes>", KEYS).replace("</edges>", SAME.replace("5", "1_0", 1)),
            "Value in GEXF must be of type integer, not '1_0'",
        ),
    ],
)
def test_foreign_files_that_are_refused(
    name: str, content: str, message: str, tmp_path: Path
) -> None:
    path = written(tmp_path, name, content)
    with pytest.raises(ValueError, match="^" + re.escape(f"File {path}: {message}")):
        read_graph(path)


TRIANGLE = """
router 0 node 0 router 1 20 router 2
router 1 node 1 router 0 20 router 2
router 2 node 2
"""


@pytest.mark.long
@pytest.mark.parametrize(
    ("words", "cycles"), [("", 3), long("weight=latency", 3), ("weight=hops", 21)]
)
def test_weights_of_anynet_are_latencies(words: str, cycles: int, tmp_path: Path) -> None:
    """As BookSim2 routes it: by way of router 2, and not over the link of 20 cycles."""
    path = written(tmp_path, "any.txt", TRIANGLE)
    trace = Trace("one", (TracePacket(0, 0, 1),))
    for routing in ("layered", "shortest"):
        network = build(f"graph file={path} routing={routing} {words}")
        assert simulate(network, traffic=trace).latency.max == cycles


@pytest.mark.parametrize("routing", ["shortest", "up-down", "layered"])
def test_paths_are_the_shortest_by_latency(routing: str) -> None:
    """As networkx finds them; up-down may have to take longer ones."""
    chance = random.Random(3)
    given = nx.connected_watts_strogatz_graph(16, 4, 0.5, seed=3)
    for edge in given.edges:
        given.edges[edge]["latency"] = chance.randint(1, 9)
    graph = from_networkx(given)
    relation = relation_for(graph, routing, weight="latency")
    lengths = dict(nx.all_pairs_dijkstra_path_length(given, weight="latency"))
    for source in range(16):
        for destination in range(16):
            *channels, _ = relation.path(source, destination)
            found = sum(graph.by_output[each.node, each.port].latency for each in channels)
            assert found >= lengths[source][destination]
            if routing != "up-down":
                assert found == lengths[source][destination]


test_weights_that_are_refused = refusals(
    build,
    ("graph weight=latency routing=minimal", "Weight must be hops with routing=minimal, not ..."),
    ("torus weight=latency", "Parameter of torus must be one of ..., not 'weight'..."),
    ("fat-tree weight=latency", "Weight must be hops with the network's own routing"),
    ("graph weight=cost", "Parameter weight must be one of auto, hops, latency, not 'cost'"),
)

ROUTED = {
    "nodes": ["a", "b", "c"],
    "links": [["a", "b"], ["a", "c"], ["b", "c"]],
    "routes": {"a": {"1": 1, "2": 1}, "b": {"0": [0], "2": 1}, "c": {"0": 0, "1": 1}},
}


@pytest.mark.long
def test_routing_tables_of_a_file(tmp_path: Path) -> None:
    """Packets from a to b take the port that the file says, to c, and not the link to b."""
    path = written(tmp_path, "net.json", ROUTED)
    trace = Trace("one", (TracePacket(0, 0, 1),))
    assert simulate(build(f"graph file={path}"), traffic=trace).latency.max == 3
    other = build(f"graph file={path} routing=shortest")
    assert simulate(other, traffic=trace).latency.max == 2


@pytest.mark.long
def test_a_file_may_offer_several_ports(tmp_path: Path) -> None:
    both = ROUTED | {"routes": ROUTED["routes"] | {"a": {"1": [0, 1], "2": 1}}}
    network = build(f"graph file={written(tmp_path, 'net.json', both)}")
    assert [each.port for each in network.relation.route(0, None, 1)] == [0, 1]
    assert simulate(network, traffic=[1, None, None], load=0.3, cycles=300).lost == 0


def test_tables_are_of_nodes_by_their_id_as_links_are(tmp_path: Path) -> None:
    """Names are for people: two nodes may have swapped theirs."""
    named = [{"id": "a", "name": "b"}, {"id": "b", "name": "a"}, "c"]
    path = written(tmp_path, "net.json", ROUTED | {"nodes": named})
    relation = build(f"graph file={path}").relation
    assert [each.port for each in relation.route(0, None, 1)] == [1]
    assert [each.port for each in relation.route(1, None, 0)] == [0]


@pytest.mark.parametrize(
    ("routes", "message"),
    [
        ({"z": {}}, "Routes must be of nodes of the graph, not of 'z'"),
        ({"a": [1]}, "Routes of node a must be an object with ports for each terminal"),
        ({"a": {"b": 1}}, "Routes of node a must be to terminals by their numbers, not to 'b'"),
        ({"a": {"01": 1, "1": 0}}, "Routes of node a to terminal 1 are given twice"),
        ({"a": {"9": 1}}, "Route from node a to terminal 9 must lead to a terminal from 0 to 2"),
        ({"a": {"1": 5}}, "Route from node a to terminal 1 must take a port of the node (0, 1)"),
        ({"a": {"1": []}}, "Route from node a to terminal 1 must take a port"),
        ({"a": {"0": 1}}, "Route from node a to terminal 0 must be left out"),
        ({"a": {"1": "x"}}, "Port from node a to terminal 1 must be an integer, not 'x'"),
        (3, "Entry routes must be an object with a table for each node"),
    ],
)
def test_routing_tables_that_are_refused(routes: Any, message: str, tmp_path: Path) -> None:
    path = written(tmp_path, "net.json", ROUTED | {"routes": routes})
    with pytest.raises((ValueError, TypeError), match=re.escape(message)):
        read_graph(path)


def test_routes_of_nodes_with_one_text_are_refused(tmp_path: Path) -> None:
    given = {"nodes": [1, "1", 2], "links": [[1, "1"], ["1", 2]], "routes": {"2": {"0": 0}}}
    with pytest.raises(ValueError, match="Nodes must have ids that differ as texts"):
        read_graph(written(tmp_path, "net.json", given))


def test_a_route_that_is_missing_is_refused(tmp_path: Path) -> None:
    routes = {**ROUTED["routes"], "c": {"0": 0}}
    path = written(tmp_path, "net.json", ROUTED | {"routes": routes})
    with pytest.raises(ValueError, match=r"^There is no route from node c to terminal 1$"):
        build(f"graph file={path}")


def test_routes_that_lead_in_a_circle_are_refused(tmp_path: Path) -> None:
    routes = {"a": {"1": 1, "2": 1}, "b": {"0": 0, "2": 1}, "c": {"0": 0, "1": 0}}
    path = written(tmp_path, "net.json", ROUTED | {"routes": routes})
    with pytest.raises(ValueError, match="circle"):
        build(f"graph file={path}")
