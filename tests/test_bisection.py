"""Bisection widths against all bisections, known values, and an integer program of SciPy's."""

import itertools

import networkx as nx
import numpy as np
import pytest
from long_runs import long
from multicube.hdl import build
from multicube.hdl.graphs.conversion import from_networkx
from multicube.hdl.graphs.graph import Graph
from multicube.hdl.graphs.listed_graph import ListedGraph
from multicube.sim.measure.bisection import bisection, link_weights
from multicube.sim.measure.flows import congestion
from scipy.optimize import Bounds, LinearConstraint, milp


def graph_of(words: str) -> Graph:
    described = build(words).described
    assert described is not None
    return described.graph


def crossing(graph: Graph, side: frozenset[int]) -> float:
    return sum((link.node in side) != (link.peer in side) for link in graph.links()) / 2


def by_trying(graph: Graph) -> float:
    """The least links of all cuts whose sides differ least in terminals, each whole on a side."""
    shares = np.bincount(graph.homes, minlength=graph.nodes)
    ends = list(zip(graph.homes, graph.exit_homes))
    found: dict[int, float] = {}
    for count in range(graph.nodes + 1):
        for chosen in itertools.combinations(range(graph.nodes), count):
            if any((one in chosen) != (other in chosen) for one, other in ends):
                continue
            uneven = abs(len(graph.homes) - 2 * sum(shares[node] for node in chosen))
            cut = crossing(graph, frozenset(chosen))
            found[uneven] = min(cut, found.get(uneven, cut))
    return found[min(found)]


def check(graph: Graph, known: float, limit: float = 10.0) -> None:
    found = bisection(graph, limit)
    assert found.width.exact == known, found.width
    if found.side:
        assert crossing(graph, found.side) == known
        inside = sum(home in found.side for home in graph.homes)
        assert inside == len(graph.homes) // 2


@pytest.mark.one_in(2)
@pytest.mark.parametrize("seed", range(12))
def test_random_graphs(seed: int) -> None:
    """Irregular ones, with one-way links, nodes without terminals and nodes with three."""
    random = np.random.default_rng(seed)
    nodes = int(random.integers(4, 9))
    given = nx.gnp_random_graph(nodes, 0.5, seed=seed, directed=seed % 2 == 1)
    for node in range(nodes):
        given.nodes[node]["terminals"] = int(random.choice([0, 1, 1, 3]) if seed > 5 else 1)
    given.nodes[0]["terminals"] = given.nodes[1]["terminals"] = 1
    graph = from_networkx(given)
    assert bisection(graph).width.exact == by_trying(graph)


@pytest.mark.parametrize("seed", range(6))
def test_terminals_at_two_nodes(seed: int) -> None:
    """Where they send from and where they receive are on one side."""
    random = np.random.default_rng(seed)
    given = from_networkx(nx.gnp_random_graph(9, 0.5, seed=seed, directed=seed % 2 == 1))
    nodes = random.permutation(9).tolist()
    homes, exit_homes = nodes[0:8:2] + nodes[:1], nodes[1:8:2] + nodes[5:6]
    graph = ListedGraph(9, given.links(), homes, exit_homes=exit_homes)
    found = bisection(graph)
    assert found.width.exact == by_trying(graph)
    if found.side:
        assert crossing(graph, found.side) == found.width.exact
        inside = [home in found.side for home in homes]
        assert inside == [home in found.side for home in exit_homes]


@pytest.mark.parametrize(
    "words",
    [
        *("cube ports=8", "baseline ports=8", "benes ports=4", "clos m=2 n=2 r=4"),
        *("hypercube n=3", "ring k=7 n=1", "torus k=3 n=2", "star nodes=7", "psnn n=3", "pse n=3"),
        *("tree nodes=8 branching=3", "chordal-ring nodes=10", "fat-tree k=2 n=2"),
        long("chordal-ring nodes=12 chords=2"),
    ],
)
def test_networks(words: str) -> None:
    graph = graph_of(words)
    check(graph, by_trying(graph))


@pytest.mark.one_in(6)
@pytest.mark.parametrize(
    ("words", "known"),
    [
        *((f"hypercube n={n}", 2 ** (n - 1)) for n in (2, 4, 6)),
        *((f"torus k={k} n=2", 2 * k) for k in (4, 8)),
        ("torus k=4 n=3", 32),
        # Odd sizes: 2 (k^(n-1) + ... + 1), more than 2 N / k.
        *((f"torus k={k} n=2", 2 * (k + 1)) for k in (5, 7)),
        ("torus k=3 n=3", 26),
        ("mesh k=6 n=2", 6),
        *((f"complete nodes={nodes}", nodes**2 // 4) for nodes in (9, 16)),
        ("ring k=12 n=1", 1),
        ("ring k=12 n=1 directions=2", 2),
        *((f"star nodes={nodes}", nodes // 2) for nodes in (8, 33)),
        *((f"tree nodes={nodes}", 1) for nodes in (31, 32)),
        ("psnn n=4", 6),
        ("psnn n=5", 8),
        ("pse n=5", 6),
        ("chordal-ring nodes=64", 8),
        ("chordal-ring nodes=64 chords=2", 16),
        long("psnn n=6", 14),
        long("pse n=6", 9),
        long("torus k=9", 20),
        long("hypercube n=8", 128),
    ],
)
def test_known_values(words: str, known: int) -> None:
    graph = graph_of(words)
    if graph.bisection is not None:  # as the description states it
        assert graph.bisection == 2 * known
    check(graph, known, limit=30)


def test_petersen() -> None:
    check(from_networkx(nx.petersen_graph()), 5)


def integer_program(graph: Graph) -> float:
    """By HiGHS: a node is on side 0 or 1, and a link counts if its ends differ."""
    weights = link_weights(graph)
    pairs = np.argwhere(np.triu(weights))
    nodes, links = graph.nodes, len(pairs)
    cost = np.concatenate([np.zeros(nodes), weights[tuple(pairs.T)] / 2])
    rows = []
    for index, (one, other) in enumerate(pairs):
        for sign in (1, -1):
            row = np.zeros(nodes + links)
            row[[one, other, nodes + index]] = sign, -sign, -1
            rows.append(row)
    half = np.concatenate([np.ones(nodes), np.zeros(links)])
    result = milp(
        cost,
        integrality=np.concatenate([np.ones(nodes), np.zeros(links)]),
        bounds=Bounds(0, 1),
        constraints=[
            LinearConstraint(np.array(rows), ub=0),
            LinearConstraint(half[None, :], nodes // 2, nodes // 2),
        ],
    )
    return round(result.fun, 6)


@pytest.mark.parametrize("words", ["psnn n=4", "pse n=4", long("chordal-ring nodes=20")])
def test_integer_program(words: str) -> None:
    graph = graph_of(words)
    check(graph, integer_program(graph))


def test_a_search_that_is_stopped_leaves_bounds() -> None:
    width = bisection(graph_of("torus k=3 n=3"), limit=0.001).width
    assert width.exact is None
    assert width.lower <= 26 <= width.upper
    assert width.lower_method in ("eigenvalue", "flows")
    assert width.upper_method == "Kernighan-Lin"


@pytest.mark.parametrize(("n", "k"), [(2, 4), (3, 4), (1, 8)])
def test_flows_of_tori(n: int, k: int) -> None:
    """By symmetry all links carry alike: pairs times mean distance over directions of links."""
    graph = graph_of(f"torus k={k} n={n}")
    nodes = k**n
    busiest = congestion(link_weights(graph), np.ones(nodes, np.int64), 0)
    assert 2 * busiest == pytest.approx(nodes**2 * n * k / 4 / (2 * n * nodes))


def test_better_flows() -> None:
    """Flows that avoid busy links prove a better bound, never above the width."""
    graph = graph_of("psnn n=4")
    weights, shares = link_weights(graph), np.ones(16, np.int64)
    first, better = (64 / congestion(weights, shares, limit) / 2 for limit in (0, 5))
    assert first < better <= 6
