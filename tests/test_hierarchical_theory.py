"""Dandamudi and Eager's formulas, against graphs, brute force and the paper's numbers."""

import itertools
from math import inf

import networkx as nx
import numpy as np
import pytest
from long_runs import long
from multicube.hdl.families.cube_connected_cycles_graph import CubeConnectedCycles
from multicube.hdl.families.hierarchical.hierarchical_graph import Hierarchical
from multicube.hdl.families.hypercube.hypercube_graph import RoutedHypercube
from multicube.hdl.families.torus.torus_graph import Torus
from multicube.hdl.graphs.conversion import to_networkx
from multicube.hdl.graphs.graph import Graph
from multicube.sim.measure.path_loads import LocalTraffic, converging_loads
from multicube.sim.papers import Options, find_item
from multicube.sim.papers.dandamudi.two_levels import graph_of
from multicube.sim.theory.hierarchical import Hypercube, Rates, TwoLevel

ALPHAS = (0.0, 0.3, 0.8, 1.0)
RATES = Rates(1, 6, 40)


@pytest.mark.parametrize(
    ("graph", "cluster"),
    [
        (RoutedHypercube(3), 2),
        (Torus(3, 2), 3),
        (Hierarchical([RoutedHypercube(2), Torus(4, 1)], replication=2), 4),
        (CubeConnectedCycles(3), 8),
    ],
    ids=lambda case: type(case).__name__,
)
def test_loads_and_distances_by_brute_force(graph: Graph, cluster: int) -> None:
    """All shortest paths of networkx, each with the same share."""
    plain = nx.MultiDiGraph()
    links = list(graph.links())
    for number, link in enumerate(links):
        plain.add_edge(link.node, link.peer, number)
    found = LocalTraffic(graph, cluster)
    assert found.links == links
    loads = {True: np.zeros(len(links)), False: np.zeros(len(links))}
    total = {True: 0.0, False: 0.0}
    to_first = np.zeros(len(links))
    for source, end in itertools.product(range(graph.nodes), repeat=2):
        inside = source // cluster == end // cluster
        each = 1 / cluster if inside else 1 / (graph.nodes - cluster)
        paths = []
        for path in nx.all_shortest_paths(nx.DiGraph(plain), source, end):
            steps = [list(plain[a][b]) for a, b in itertools.pairwise(path)]
            paths += list(itertools.product(*steps))
        for path in paths:
            total[inside] += each * len(path) / len(paths)
            for number in path:
                loads[inside][number] += each / len(paths)
                to_first[number] += (end == 0) / len(paths)
    assert (found.inside, found.outside) == pytest.approx(
        (total[True] / graph.nodes, total[False] / graph.nodes)
    )
    np.testing.assert_allclose(found.loads(1), loads[True], atol=1e-12)
    np.testing.assert_allclose(found.loads(0), loads[False], atol=1e-12)
    np.testing.assert_allclose(converging_loads(graph, 0), to_first, atol=1e-12)


@pytest.mark.parametrize(
    "network",
    [
        Hypercube(4, 2),
        TwoLevel("bh", 2, 2),
        TwoLevel("br", 2, 3),
        TwoLevel("cc", 1, 3),
        TwoLevel("ccc", 1, 3),
        *map(
            long,
            (
                Hypercube(7, 3),
                TwoLevel("bh", 3, 4),
                TwoLevel("br", 3, 4),
                TwoLevel("cc", 4, 3),
                TwoLevel("ccc", 3, 4),
            ),
        ),
    ],
    ids=str,
)
def test_formulas_agree_with_the_graph(network: Hypercube | TwoLevel) -> None:
    """Links and distances, and delays by the loads of all links: (1) to (13), and (15) to (20). The
    mean distance of cube-connected cycles is only approximate, and so are (14) and (21)."""
    graph = graph_of(network)
    traffic = LocalTraffic(graph, 1 << network.cluster)
    assert network.nodes == graph.nodes
    assert network.links() == len(graph.edges)
    if isinstance(graph, Hierarchical):
        wide = Hierarchical(graph.levels, replication=3)
        assert network.links(3) == len(wide.edges)
        within = np.array([graph.level(link) == 1 for link in traffic.links])
    else:
        within = np.array([link.port < network.cluster for link in traffic.links])
    exact = not isinstance(network, TwoLevel) or network.top != "ccc"
    for alpha in ALPHAS:
        about = pytest.approx(network.distance(alpha), rel=1e-9 if exact else 0.02)
        assert traffic.distance(alpha) == about
        delay = traffic.delay(alpha, 1, np.where(within, RATES.cluster, RATES.joining))
        assert delay == pytest.approx(network.delay(alpha, RATES), rel=1e-9 if exact else 0.02)
    if isinstance(network, TwoLevel) and exact:
        loads = traffic.loads(0.3)
        np.testing.assert_allclose(loads[~within], network.joining_load(0.3, RATES))
        expected = {
            round(network.cluster_load(j + 1, 0.3, RATES), 9) for j in range(network.cluster)
        }
        assert {round(load, 9) for load in loads[within]} == expected


def test_distances_of_cube_connected_cycles() -> None:
    """The printed approximation and the true means of NOTES.md."""
    for dimension, printed, true in ((3, 3.25, 3.217), (5, 6.125, 5.987), (6, 7.719, 7.561)):
        assert TwoLevel("ccc", 4, dimension).joining_distance == pytest.approx(printed, abs=5e-4)
        graph = CubeConnectedCycles(dimension)
        lengths = nx.single_source_shortest_path_length(nx.DiGraph(to_networkx(graph)), 0)
        assert sum(lengths.values()) / (graph.nodes - 1) == pytest.approx(true, abs=5e-4)


def test_printed_numbers() -> None:
    """Section IV: 15.2 and 5.3 by simulation, with 94 % and 82 % of the busiest links in use; and
    the best numbers of parallel links, 2 and 8."""
    network, rates = TwoLevel("bh", 3, 3), Rates(1, 1.5, 3)
    assert network.delay(0.5, rates) == pytest.approx(15.2, abs=0.05)
    assert network.delay(0.6, rates) == pytest.approx(5.3, abs=0.05)
    assert network.cluster_load(1, 0.5, rates) / 1.5 == pytest.approx(0.94, abs=0.005)
    assert network.cluster_load(1, 0.6, rates) / 1.5 == pytest.approx(0.82, abs=0.005)
    assert network.delay(0.4, rates) == inf
    best = [
        min(
            range(1, 17),
            key=lambda factor: large.links(factor) * large.delay(0.8, Rates(1, 3, 3 * factor)),
        )
        for large in (TwoLevel("bh", 4, 11), TwoLevel("ccc", 4, 8))
    ]
    assert best == [2, 8]


def test_tables() -> None:
    rows = find_item("dandamudi-table2").run(Options()).rows
    for row in rows:
        assert row["counted"] == pytest.approx(row["predicted"])
        assert row["published"] == pytest.approx(row["predicted"], abs=0.005)
    for row in find_item("dandamudi-table1").run(Options(quick=True)).rows:
        n = row["nodes"]
        links, distance = {
            "complete connection": (n * (n - 1) / 2, (n - 1) / n),
            "hypercube": (n * np.log2(n) / 2, np.log2(n) / 2),
            "ring": (n, n / 4),
        }[row["network"]]
        assert (row["links"], row["distance"]) == pytest.approx((links, distance))


@pytest.mark.parametrize("number", [2, long(6)])
def test_figures_hold_both_values(number: int) -> None:
    rows = find_item(f"dandamudi-fig{number}").run(Options(quick=True)).rows
    key = "distance" if number == 2 else "delay"
    for row in rows:
        if row[key] is not None and row["network"] != "BH/CCC":
            assert row[f"true_{key}"] == pytest.approx(row[key])
    assert any(row["ratio"] and row["ratio"] < 0.6 for row in rows)
