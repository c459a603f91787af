"""Fan-out times against a search of all sets, and broadcasts by the rules of the model."""

from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from long_runs import long
from multicube.hdl import build
from multicube.hdl.graphs.conversion import from_networkx
from multicube.hdl.graphs.graph import Graph
from multicube.sim.measure.broadcast_search import (
    Wires,
    by_ports,
    greedy,
    least_steps,
    search,
)
from multicube.sim.measure.fan_out import fan_out, tree_times, wires_of
from multicube.sim.measure.symmetry import equivalent_nodes


def graph_of(words: str) -> Graph:
    relation = build(words, allow_deadlock=1).relation
    assert relation is not None
    return relation.graph


def check_steps(graph: Graph, source: int, steps: list[list[tuple[int, int]]]) -> None:
    """Every step obeys the model, and at the end all nodes with terminals are informed."""
    links = {(link.node, link.peer) for link in graph.links()}
    informed = {source}
    for step in steps:
        assert set(step) <= links
        senders, receivers = zip(*step)
        assert len(set(senders)) == len(set(receivers)) == len(step)
        assert set(senders) <= informed
        assert not set(receivers) & informed
        informed |= set(receivers)
    assert informed >= set(graph.homes)


def by_trying(graph: Graph) -> dict[int, int]:
    """The least steps from each source: all sets that can be informed after each step."""
    to = {
        node: {link.peer for link in graph.links() if link.node == node}
        for node in range(graph.nodes)
    }
    goal = set(graph.homes)

    def after(informed: frozenset[int]) -> set[frozenset[int]]:
        found = {informed}
        for node in informed:
            found |= {each | {peer} for each in found for peer in to[node] - each}
        return found

    times = {}
    for source in goal:
        sets, steps = {frozenset([source])}, 0
        while not any(goal <= each for each in sets):
            sets = {new for each in sets for new in after(each)}
            steps += 1
        times[source] = steps
    return times


SMALL = [
    *("hypercube n=3", "ring k=5 n=1", "ring k=7 n=1 directions=2", "star nodes=6", "psnn n=3"),
    *("pse n=3", "tree nodes=8 branching=3", "chordal-ring nodes=8", "fat-tree k=2 n=2"),
    *("complete nodes=7", "torus k=3 n=2"),
]


@pytest.mark.parametrize("words", SMALL)
def test_networks(words: str) -> None:
    graph = graph_of(words)
    found = fan_out(graph)
    assert found.time.exact == max(by_trying(graph).values())
    assert len(found.steps) == found.time.exact
    check_steps(graph, found.source, found.steps)


def test_two_ports() -> None:
    """A torus of k = 4 is a hypercube of twice the dimensions, so a broadcast doubles in each
    step; but no port does so for all nodes."""
    graph = graph_of("torus k=4 n=4")
    steps = by_ports(wires_of(graph), 0, together=2)
    check_steps(graph, 0, steps)
    assert len(steps) == 8 < len(by_ports(wires_of(graph), 0))
    found = fan_out(graph)
    assert (found.time.exact, found.sources) == (8, 1)


@pytest.mark.parametrize("seed", range(8))
def test_random_graphs(seed: int) -> None:
    """Search and bound for each source, also with one-way links and nodes without terminals."""
    random = np.random.default_rng(seed)
    given = nx.gnp_random_graph(7, 0.35, seed=seed)
    given.add_edges_from(nx.cycle_graph(7).edges)
    if seed % 2:
        given = given.to_directed()
        for node in range(3):
            if given.has_edge(node + 1, node):
                given.remove_edge(node + 1, node)
    for node in range(2, 7):
        given.nodes[node]["terminals"] = int(random.integers(2))
    graph = from_networkx(given)
    wires = wires_of(graph)
    times = by_trying(graph)
    assert fan_out(graph).time.exact == max(times.values())
    for source, known in times.items():
        assert least_steps(wires, 1 << source, 9) <= known
        if known:
            assert search(wires, source, known - 1, float("inf"), random) is False
        steps = search(wires, source, known, float("inf"), random)
        assert isinstance(steps, list)
        for each in (steps, greedy(wires, source, random), by_ports(wires, source)):
            check_steps(graph, source, each)
            assert len(each) >= known


def test_nodes_without_terminals_pass_the_message_on_to_nodes_that_are_as_near() -> None:
    """A search needs them, and a bound counts what they send to nodes that are nearer."""
    to = [{6}, {2, 5, 6}, {1, 3}, {4, 6}, {0, 1}, {1, 2, 4}, {0, 1, 5}]
    given = nx.DiGraph((node, peer) for node, peers in enumerate(to) for peer in sorted(peers))
    nx.set_node_attributes(given, {node: int(node not in (0, 2)) for node in given}, "terminals")
    graph = from_networkx(given)
    found = fan_out(graph)
    assert found.time.exact == max(by_trying(graph).values()) == 3
    check_steps(graph, found.source, found.steps)
    to = [{1, 2, 3, 5}, {0}, {0}, {0}, {0, 3, 5}, {0, 4}]
    assert least_steps(Wires(tuple(map(tuple, to)), 0b101111), 1, 9) == 3


@pytest.mark.one_in(12)
@pytest.mark.parametrize(
    ("words", "known"),
    [
        *((f"hypercube n={n}", n) for n in (4, 6, 8)),
        *((f"complete nodes={nodes}", (nodes - 1).bit_length()) for nodes in (16, 17)),
        *((f"ring k={k} n=1 directions=2", -(-k // 2)) for k in (16, 17)),
        ("ring k=16 n=1", 15),
        *((f"star nodes={nodes}", nodes - 1) for nodes in (16, 64)),
        *((f"tree nodes={2 ** (m + 1) - 1}", 3 * m - 1) for m in (1, 3, 7)),
        ("tree nodes=85 branching=4", 5 * 3 - 1),
        *((f"torus k={k} n=2", k) for k in (4, 8)),
        # Less than the printed 2 ceil(k/2).
        *(long(f"torus k={k} n=2", k) for k in (5, 7)),
        ("torus k=3 n=2", 4),
        ("psnn n=4", 5),
        ("psnn n=5", 7),
        *((f"pse n={n}", 2 * n - 1) for n in (4, 5, 6)),
        ("chordal-ring nodes=16", 5),
        ("chordal-ring nodes=64 chords=2", 8),
        long("fat-tree k=2 n=4", 7),
        long("psnn n=6", 8),
        long("chordal-ring nodes=64", 10),
    ],
)
def test_known_values(words: str, known: int) -> None:
    graph = graph_of(words)
    found = fan_out(graph, limit=60)
    assert found.time.exact == known
    check_steps(graph, found.source, found.steps)


def test_a_search_that_is_stopped_leaves_bounds() -> None:
    graph = graph_of("psnn n=6")
    found = fan_out(graph, limit=0.1)
    assert found.time.lower <= 8 <= found.time.upper
    assert found.time.exact is None
    check_steps(graph, found.source, found.steps)


@pytest.mark.parametrize("seed", range(5))
def test_trees(seed: int) -> None:
    tree = nx.random_labeled_tree(9, seed=seed)
    graph = from_networkx(nx.relabel_nodes(tree, {node: node for node in range(9)}))
    order = [*tree]
    to = [[order.index(peer) for peer in tree[node]] for node in order]
    assert dict(enumerate(tree_times(to))) == by_trying(graph)


# --- Nodes that look alike -------------------------------------------------------------------


@pytest.mark.parametrize(
    "graph",
    [
        nx.path_graph(7),
        nx.petersen_graph(),
        nx.hypercube_graph(3),
        nx.star_graph(5),
        nx.frucht_graph(),
        nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(4)),
        nx.balanced_tree(2, 2),
    ],
)
def test_classes_are_those_of_all_automorphisms(graph: nx.Graph) -> None:
    graph = nx.convert_node_labels_to_integers(graph)
    matcher = nx.isomorphism.GraphMatcher(graph, graph)
    alike = nx.Graph()
    alike.add_nodes_from(graph)
    for image in matcher.isomorphisms_iter():
        alike.add_edges_from(image.items())
    known = {frozenset(each) for each in nx.connected_components(alike)}
    found = equivalent_nodes([sorted(graph[node]) for node in graph], [0] * len(graph))
    assert {frozenset(each) for each in found} == known


def test_colours_tell_nodes_apart() -> None:
    ring = [[(node + 1) % 6, (node - 1) % 6] for node in range(6)]
    assert equivalent_nodes(ring, [0] * 6) == [[*range(6)]]
    assert equivalent_nodes(ring, [1, 0, 0, 0, 0, 0]) == [[0], [1, 5], [2, 4], [3]]
    one_way = [[(node + 1) % 6] for node in range(6)]
    assert equivalent_nodes(one_way, [1, 0, 0, 0, 0, 0]) == [[node] for node in range(6)]
    pairs = combinations(range(5), 2)
    assert len(equivalent_nodes([[b for a, b in pairs if a == 0], [], [], [], []], [0] * 5)) == 2
