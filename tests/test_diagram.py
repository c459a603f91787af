"""Diagrams of all networks, compared with their fabrics."""

import itertools
import json
import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import networkx as nx
import numpy as np
import pytest
from long_runs import ALIKE, long
from multicube.hdl import Network, build
from multicube.hdl.catalogue.catalogue import FAMILIES
from multicube.hdl.fabric.diagram import Diagram, End, Line
from multicube.hdl.fabric.fabric import Fabric
from multicube.hdl.graphs.conversion import from_networkx
from multicube.hdl.graphs.graph import Link
from multicube.hdl.graphs.listed_graph import ListedGraph
from multicube.hdl.networks.graph_layout import graph_diagram

OTHERS = (
    "torus k=5 n=1",
    "torus k=3x2x4",
    "mesh k=5 n=1",
    "torus k=4 n=2 latency=3",
    "ring k=4 n=2 refill=yes",
    "hypercube n=6",
    "hyperx k=3 n=2",
    "cube ports=8 dilation=2 replication=2",
    "cube ports=8 extra_stage=1 radix=2",
    "combining ports=8 hashing=polynomial processors_per_port=2",
    "clos n=4 m=4 r=4",
    "dcsh k=2 n=3",
    "connection-machine n=4 processors=2",
    "hierarchical level1=fat-tree:k=2,n=2 level2=hypercube:n=2",
    "hierarchical level1=bus:ports=3 level2=bus:ports=2",
    "hierarchical level1=ring:k=4,n=1 level2=star:nodes=4",
    "hierarchical level1=clos:n=2,m=3,r=2 level2=ring:k=3,n=1",
    "combining-graph network=bus:ports=3 operations=rp3 width=8",
    "combining-graph network=ring:k=4,n=2 operations=rp3 width=8",
)
"""Beside the example of each family."""


def networks() -> list[Any]:
    """Cases of a test; networks that are drawn like others are for long runs only."""
    examples = {name: family.build(**family.example) for name, family in FAMILIES.items()}
    others = [pytest.param(network, id=str(network)) for network in map(build, OTHERS)]
    return others + [
        (long if name in ALIKE else pytest.param)(network, id=str(network))
        for name, network in examples.items()
    ]


@pytest.fixture(scope="module", name="every", params=networks())
def _every(request: pytest.FixtureRequest) -> Network:
    return request.param


def node_of_cell(diagram: Diagram) -> dict[str, int]:
    return {cell: i for i, node in enumerate(diagram.nodes) for cell in node.cells}


def fabric_links(fabric: Fabric, nodes: dict[str, int]) -> Counter[tuple]:
    """The ends of all wires that say that something is offered; ends are nodes or terminals."""

    def end(cell: str | None, path: tuple) -> tuple:
        return ("node", nodes[cell]) if cell else ("terminal", path[1])

    found: Counter[tuple] = Counter()
    for receiver, driver in fabric.drivers.items():
        if "valid" in str(receiver.path[-1]):
            ends = end(*driver), end(*receiver)
            found[ends] += ends[0] != ends[1]
    return +found


def test_lines_are_the_links_of_the_fabric(every: Network) -> None:
    diagram = every.diagram
    nodes = node_of_cell(diagram)

    def end(end: End) -> tuple:
        what = diagram.terminals[end.index].number if end.what == "terminal" else end.index
        return end.what, what

    drawn: Counter[tuple] = Counter()
    for line in diagram.lines:
        if line.kind == "link":
            drawn[end(line.source), end(line.target)] += len(line.receivers)
    assert drawn == fabric_links(every.fabric, nodes)


def test_each_cell_has_one_place(every: Network) -> None:
    diagram = every.diagram
    owned = [cell for node in diagram.nodes for cell in node.cells]
    assert sorted(owned) == sorted(every.fabric.cells)
    low = np.array([(node.x - node.width / 2, node.y - node.height / 2) for node in diagram.nodes])
    high = np.array([(node.x + node.width / 2, node.y + node.height / 2) for node in diagram.nodes])
    meet = (low[:, None] < high[None] - 1e-6).all(axis=2)
    assert (meet & meet.T).sum() == len(diagram.nodes)


def test_no_line_covers_another(every: Network) -> None:
    places = Counter(line.points for line in every.diagram.lines if line.joins_nodes)
    assert max(places.values(), default=1) == 1


@pytest.mark.parametrize("name", ["dragonfly", "polarfly", "slim-fly", "cm-star", "clos"])
def test_lines_lead_around_other_nodes(name: str) -> None:
    """Some led through the corner of a node, as if they ended there."""
    diagram = build(name).diagram
    for line in [line for line in diagram.lines if line.joins_nodes]:
        assert not line.cut
        for (x, y), (u, v) in itertools.pairwise(line.points):
            t = np.linspace(0, 1, 200)
            for index, node in enumerate(diagram.nodes):
                across, up = x + (u - x) * t - node.x, y + (v - y) * t - node.y
                inside = (abs(across) < node.width / 2) & (abs(up) < node.height / 2)
                assert index in (line.source.index, line.target.index) or not inside.any()


def test_terminals_are_those_of_the_network(every: Network) -> None:
    ends = Counter(
        (pin.path[0], each.number) for each in every.diagram.terminals for pin in each.pins
    )
    expected = [("i", number) for number in range(every.sources)]
    if not every.has_memory:
        expected += [("o", number) for number in range(every.sinks)]
    assert ends == Counter(expected)
    places = Counter((each.x, each.y) for each in every.diagram.terminals)
    assert max(places.values()) == 1


def test_links_have_the_names_of_results(every: Network) -> None:
    diagram = every.diagram
    nodes = node_of_cell(diagram)
    names = {line.link for line in diagram.lines if line.kind == "link"}
    for driver, wire in every.wires.items():
        ends = {nodes.get(pin.cell) for pin, _ in every.fabric.links if pin == driver}
        inside = ends and wire.link not in names
        if inside:
            receivers = [b for a, b in every.fabric.links if a == driver]
            assert {nodes[str(each.cell)] for each in receivers} == {nodes[str(driver.cell)]}


def test_lines_begin_and_end_at_the_edges_of_nodes(every: Network) -> None:
    diagram = every.diagram
    for line in diagram.lines:
        for end, (x, y) in ((line.source, line.points[0]), (line.target, line.points[-1])):
            if end.what == "terminal":
                terminal = diagram.terminals[end.index]
                assert (terminal.x, terminal.y) == pytest.approx((x, y), abs=1e-5)
                continue
            node = diagram.nodes[end.index]
            away = abs(x - node.x) * 2 / node.width, abs(y - node.y) * 2 / node.height
            assert max(away) == pytest.approx(1, abs=1e-3), line


def test_paths_lead_from_terminal_to_terminal(every: Network) -> None:
    diagram = every.diagram
    source, destination = every.sources - 1, 1
    trail = [
        diagram.lines[i]
        for i in diagram.trail(source, every.path(source, destination), destination)
    ]
    first, last = trail[0].source, trail[-1].target
    assert first.what == "terminal"
    assert diagram.terminals[first.index].number == source
    if every.has_memory:
        assert f"memory_{destination}" in diagram.nodes[last.index].cells
    else:
        assert last.what == "terminal"
        assert diagram.terminals[last.index].number == destination
    for before, after in itertools.pairwise(trail):
        assert before.target == after.source


def test_a_path_in_a_hypermesh_leads_to_the_nodes_that_receive_it() -> None:
    network = build("dcsh k=4 n=2")
    trail = [network.diagram.lines[i] for i in network.diagram.trail(1, network.path(1, 14), 14)]
    assert [line.source.index for line in trail[1:]] == [1, 13, 14]


def test_a_path_to_an_own_memory_leads_to_its_router() -> None:
    network = build("combining-graph network=ring:k=3,n=1 operations=rp3 width=8")
    (line,) = network.diagram.trail(2, network.path(2, 2), 2)
    assert "memory_2" in network.diagram.nodes[network.diagram.lines[line].target.index].cells


def test_a_diagram_is_plain_data(every: Network) -> None:
    data = every.diagram.to_json()
    assert json.loads(json.dumps(data)) == data


STRAIGHT = (
    "torus k=4 n=2",
    "torus k=3x2x4",
    "mesh k=5 n=1",
    "hypercube n=6",
    "hyperx k=4 n=2",
    "express-mesh k=5 n=2",
    "fat-tree k=2 n=3",
    "dragonfly h=1",
    "kautz d=2 n=3",
    "graph file=petersen",
    "dcsh k=3",
    "clos n=4 r=8",
    "five-stage-clos n=3",
    "data-manipulator ports=16",
    "dynamic-redundancy ports=16 spares=2",
    "combining-graph network=de-bruijn",
    "combining-graph network=ring:k=4,n=2",
)


def middle(points: Sequence[tuple[float, float]]) -> np.ndarray:
    """Places along a line, without its ends."""
    corners = np.array(points)
    steps = np.linspace(0, 1, 30)[:, None]
    parts = [a + steps * (b - a) for a, b in itertools.pairwise(corners)]
    return np.vstack(parts)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("words", STRAIGHT)
def test_no_line_leads_through_a_third_node(words: str) -> None:
    diagram = build(words).diagram
    for line in diagram.lines:
        if not line.joins_nodes:
            continue
        points = middle(line.points)
        for index, node in enumerate(diagram.nodes):
            if index not in (line.source.index, line.target.index):
                inside = (abs(points[:, 0] - node.x) < 0.45 * node.width) & (
                    abs(points[:, 1] - node.y) < 0.45 * node.height
                )
                assert not inside.any(), (line.link, node.name)


@pytest.mark.parametrize(("words", "ways"), [("man-yo stages=3", 1), ("lambda stages=4", 2)])
def test_links_around_are_cut(words: str, ways: int) -> None:
    """They leave at the right where they enter at the left, in the order of their names."""
    diagram = build(words).diagram
    cut = [line for line in diagram.lines if line.cut]
    assert len(cut) == len(diagram.terminals) // (3 if ways == 1 else 4) * 2 * ways
    columns = [node.x for node in diagram.nodes]
    for line in cut:
        (x0, y0), (x1, y1) = line.points[line.cut - 1 : line.cut + 1]
        assert y0 == y1
        assert min(x0, x1) < min(columns) < max(columns) < max(x0, x1)
    heights = {line.label: line.points[line.cut][1] for line in cut}
    assert list(heights)
    assert sorted(heights, key=heights.__getitem__, reverse=True) == sorted(heights)
    assert sum(not line.cut for line in diagram.lines if line.joins_nodes) > 0


@pytest.mark.long
def test_layouts_are_equal_each_time_and_apart() -> None:
    for nodes in (20, 200):
        graph = from_networkx(nx.random_regular_graph(3, nodes, seed=5))
        first, second = (graph_diagram(graph).nodes for _ in range(2))
        assert first == second
        places = [(node.x, node.y) for node in first]
        assert min(math.dist(a, b) for a in places for b in places if a != b) > 0.4


def test_unusual_graphs() -> None:
    """One node, a link from a node to itself, parallel links, and parts that are not linked."""
    diagram = graph_diagram(ListedGraph(3, [Link(0, 0, 0, 0), Link(1, 0, 2, 0), Link(1, 1, 2, 1)]))
    one, other = (line for line in diagram.lines if line.joins_nodes)
    assert one.points != other.points
    assert len(graph_diagram(ListedGraph(1, [], [0, 0])).nodes) == 1


@pytest.mark.parametrize(
    ("words", "captions"),
    [
        ("cube ports=8", ["stage 0 (cube 2)", "stage 1 (cube 1)", "stage 2 (cube 0)"]),
        ("pasm ports=4", ["stage 0 (cube 2)", "stage 1 (cube 1)", "stage 2 (cube 0)"]),
        ("indirect-cube ports=8", ["stage 0", "stage 1", "stage 2"]),
        ("omega ports=4", ["stage 0", "stage 1"]),
        ("rp3 ports=8", ["stage 0", "stage 1"]),
    ],
)
def test_stages_of_a_cube_have_the_numbers_of_papers_too(words: str, captions: list[str]) -> None:
    """Siegel et al. count them down, from n - 1, and call an extra stage n."""
    assert [caption.text for caption in build(words).diagram.captions] == captions


def test_stages_are_from_left_to_right() -> None:
    """Siegel et al., Fig. 2: the path from 6 to 0 takes the lines 110, 010, 000 and 000."""
    diagram = build("cube ports=8").diagram
    trail: list[Line] = [
        diagram.lines[i] for i in diagram.trail(6, build("cube ports=8").path(6, 0), 0)
    ]
    assert [line.label for line in trail] == ["", "010", "000", "000"]
    xs = [x for line in trail for x, _ in line.points]
    assert xs == sorted(xs)
    assert diagram.terminals[trail[0].source.index].label == "6  110"
