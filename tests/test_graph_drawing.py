"""Drawings of graphs, read back from what stands on the axes."""

import math
from collections import Counter
from itertools import combinations
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.text import Annotation
from multicube.hdl import GraphNetwork, build
from multicube.hdl.topology.conversion import from_networkx
from multicube.hdl.topology.graph import Graph, Link, ListedGraph
from multicube.sim.report.drawing import draw
from multicube.sim.report.graph_drawing import draw_graph, layout

NETWORKS = (
    "torus k=4 n=2",
    "torus k=3x2x4",
    "mesh k=5 n=1",
    "ring k=6 n=1",
    "hypercube n=5",
    "fat-tree k=2 n=3",
    "hyperx k=3 n=2",
    "dragonfly h=1",
    "kautz d=2 n=2",
    "de-bruijn d=2 n=3",
    "express-mesh k=5 n=2",
    "graph file=petersen",
)


def graph_of(words: str) -> Graph:
    relation = build(words).relation
    assert relation is not None
    return relation.graph


def drawn(graph: Graph, marks: dict[Link, str] | None = None) -> Axes:
    axes = Figure().subplots()
    draw_graph(graph, axes, marks)
    return axes


def lines(axes: Axes) -> list[np.ndarray]:
    (found,) = [each for each in axes.collections if isinstance(each, LineCollection)]
    return [np.array(line) for line in found.get_segments()]


def arrows(axes: Axes) -> int:
    return sum(isinstance(each, Annotation) and each.arrow_patch is not None for each in axes.texts)


@pytest.mark.parametrize("words", NETWORKS)
def test_lines_join_the_nodes_of_each_link(words: str) -> None:
    graph = graph_of(words)
    axes = drawn(graph)
    places = layout(graph)
    for one, other in combinations(places, 2):
        assert math.dist(one, other) > 0.2

    def node(point: np.ndarray) -> int:
        away = np.linalg.norm(places - point, axis=1)
        assert away.min() < 1e-9
        return int(away.argmin())

    joined = Counter(frozenset((node(line[0]), node(line[-1]))) for line in lines(axes))
    expected = Counter({frozenset((link.node, link.peer)): 1 for link in graph.links()})
    assert joined == expected
    ways = {(link.node, link.peer) for link in graph.links()}
    assert arrows(axes) == sum((peer, node) not in ways for node, peer in ways)
    words_shown = {text.get_text() for text in axes.texts}
    assert {graph.name(node) for node in range(graph.nodes)} <= words_shown


@pytest.mark.parametrize("words", NETWORKS)
def test_no_line_leads_through_a_third_node(words: str) -> None:
    graph = graph_of(words)
    places = layout(graph)
    for line in lines(drawn(graph)):
        others = [p for p in places if min(math.dist(p, line[0]), math.dist(p, line[-1])) > 1e-9]
        assert all(np.linalg.norm(line - other, axis=1).min() > 0.02 for other in others)


@pytest.mark.parametrize(("words", "ways"), [("man-yo stages=3", 1), ("lambda stages=4", 2)])
def test_links_around_are_cut(words: str, ways: int) -> None:
    """They leave at the right where they enter at the left, in the order of their names."""
    graph = graph_of(words)
    marked = next(link for link in graph.links() if graph.around(link))
    axes = drawn(graph, {marked: "C3"})
    places = layout(graph)

    def node(point: np.ndarray) -> int | None:
        away = np.linalg.norm(places - point, axis=1)
        return int(away.argmin()) if away.min() < 1e-9 else None

    ends = [(node(line[0]), node(line[-1]), line) for line in lines(axes)]
    at_right = {round(float(line[-1][1]), 6): first for first, last, line in ends if last is None}
    at_left = {round(float(line[0][1]), 6): last for first, last, line in ends if first is None}
    assert at_right.keys() == at_left.keys()
    joined = Counter(frozenset((at_right[height], at_left[height])) for height in at_left)
    joined.update(frozenset((first, last)) for first, last, _ in ends if None not in (first, last))
    pairs = {(link.node, link.peer) for link in graph.links()}
    assert joined == Counter(map(frozenset, pairs if ways == 1 else {*map(frozenset, pairs)}))
    heights = {text.get_text(): round(text.get_position()[1], 6) for text in axes.texts}
    names = sorted({graph.around(link) for link in graph.links()} - {""})
    assert [heights[name] for name in names] == sorted(at_left, reverse=True)
    whole = len(pairs) - len(names)
    assert arrows(axes) == (whole + 2 * len(names) if ways == 1 else 2)
    assert len(axes.lines) == 2


def test_nodes_without_names() -> None:
    graph = graph_of("man-yo stages=2")
    axes = Figure().subplots()
    draw_graph(graph, axes, names=False)
    assert {text.get_text().strip() for text in axes.texts} == {""}


def test_layouts_are_equal_each_time() -> None:
    for nodes in (20, 200):
        plain = nx.random_regular_graph(3, nodes, seed=5)
        assert (layout(from_networkx(plain)) == layout(from_networkx(plain))).all()


def test_terminals_and_channels() -> None:
    links = [Link(0, 0, 1, 0, channels=3), Link(1, 0, 0, 0, channels=2), Link(1, 1, 2, 0)]
    graph = ListedGraph(3, links, [0, 0, 0, 0, 2], ["a", "b", "c"])
    axes = drawn(graph)
    assert [t.get_text() for t in axes.texts if t.get_text()] == ["3/2", "a", "0-3", "b", "c", "4"]
    assert arrows(axes) == 1
    assert axes.get_title() == (
        "3 nodes, 2 links, 5 terminals (numbers in blue), "
        "virtual channels (if several) on the links"
    )


def test_unusual_graphs() -> None:
    """One node, a link from a node to itself, parallel links, and parts that are not linked."""
    graph = ListedGraph(3, [Link(0, 0, 0, 0), Link(1, 0, 2, 0), Link(1, 1, 2, 1)])
    loop, one, other = lines(drawn(graph))
    assert np.allclose(loop[0], loop[-1])
    assert not np.allclose(one[12], other[12])
    assert lines(drawn(ListedGraph(1, [], [0, 0]))) == []


def test_names_are_not_formulas(tmp_path: Path) -> None:
    plain: nx.Graph = nx.Graph([("$a^$", "b_1"), ("b_1", "<c>")])
    draw(GraphNetwork(graph=plain), tmp_path / "names.svg")
    assert (tmp_path / "names.svg").stat().st_size > 0


def test_a_path_is_highlighted(tmp_path: Path) -> None:
    graph = graph_of("torus k=4 n=2")
    relation = build("torus k=4 n=2").relation
    assert relation is not None
    taken = [graph.link_of(channel) for channel in relation.path(0, 6)[:-1]]
    axes = drawn(graph, dict.fromkeys(taken, "C3"))
    places = layout(graph)
    found = [(line.get_xydata()[0], line.get_xydata()[-1]) for line in axes.lines]
    expected = [(places[link.node], places[link.peer]) for link in taken]
    assert sorted(map(str, found)) == sorted(map(str, expected))
    for name in ("a.svg", "b.svg"):
        draw("torus k=4 n=2", tmp_path / name, paths=[(0, 6)])
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def test_drawing_rejects_nodes() -> None:
    with pytest.raises(ValueError, match=r"^Nodes of a drawing must be at most 1000, not 1001$"):
        drawn(from_networkx(nx.path_graph(1001)))


def test_drawing_rejects_terminals(tmp_path: Path) -> None:
    network = GraphNetwork(graph=nx.petersen_graph())
    with pytest.raises(ValueError, match=r"^Address must be from 0 to 9, not 10$"):
        draw(network, tmp_path / "none.svg", paths=[(0, 10)])
    assert not any(tmp_path.iterdir())
