"""Hierarchical networks: what they join, their paths, and why packets can't deadlock."""

import itertools
from collections import Counter

import networkx as nx
import pytest
from long_runs import long
from multicube.hdl import build
from multicube.hdl.families.bus.bus_graph import Bus
from multicube.hdl.families.complete_graph import Complete
from multicube.hdl.families.cube_connected_cycles_graph import CubeConnectedCycles
from multicube.hdl.families.dragonfly_graph import Dragonfly
from multicube.hdl.families.fat_tree.fat_tree_graph import FatTree
from multicube.hdl.families.hierarchical.hierarchical_graph import Hierarchical
from multicube.hdl.families.hypercube.hypercube_graph import RoutedHypercube
from multicube.hdl.families.torus.torus_graph import Torus
from multicube.hdl.graphs.conversion import to_networkx
from multicube.hdl.graphs.listed_graph import check_graph
from multicube.hdl.graphs.plans.multistage_graph import MultistageGraph
from multicube.hdl.graphs.plans.named_plans import multistage_plan
from multicube.hdl.graphs.routing.adaptive import Adaptive
from multicube.hdl.graphs.routing.layered import Layered
from multicube.hdl.graphs.routing.relation import Relation
from multicube.hdl.graphs.routing.survey import survey
from multicube.hdl.graphs.routing.valiant import Valiant
from multicube.sim import Trace, TracePacket, simulate

SEED = 23


def cube(n: int, routing: str = "ecube") -> RoutedHypercube:
    return RoutedHypercube(n, routing)


def ring(k: int) -> Torus:
    return Torus(k, 1)


def boxes(ports: int, radix: int = 2) -> MultistageGraph:
    return MultistageGraph(multistage_plan("omega", ports, radix))


CCC = Layered(CubeConnectedCycles(3))
# Levels, and the most channels that a link of each level has.
CASES: list[tuple[list[Relation], list[int]]] = [
    ([cube(2), cube(2)], [1, 1]),
    ([cube(2), cube(1), cube(2)], [1, 1, 1]),
    ([cube(2), ring(5)], [1, 2]),
    ([cube(2), Complete(5)], [1, 1]),
    ([Complete(4), ring(5)], [1, 2]),
    ([cube(1), CCC], [1, 3]),
    ([ring(5), ring(5)], [3, 2]),
    ([ring(5), cube(2)], [3, 1]),
    ([ring(3), ring(3), ring(3)], [2, 2, 2]),
    ([cube(2, "pcube"), cube(2, "adaptive")], [1, 2]),
    ([Adaptive(ring(5)), cube(1)], [6, 1]),
    ([cube(2), FatTree(2, 2)], [1, 1]),
    ([FatTree(2, 2), FatTree(2, 2)], [1, 1]),
    ([Dragonfly(1), cube(1)], [2, 1]),
    ([Bus(3), Bus(2)], [2, 1]),
    ([Bus(2), ring(5)], [2, 2]),
    ([cube(2), Bus(3)], [1, 1]),
    ([boxes(3, 3), boxes(4)], [0, 1]),
    ([boxes(4), Bus(2), cube(1)], [2, 2, 1]),
]
LONG: list[tuple[list[Relation], list[int]]] = [
    ([CCC, cube(2)], [3, 1]),
    ([cube(3), cube(3)], [1, 1]),
    ([ring(6), FatTree(2, 2), cube(2)], [3, 1, 1]),
    ([FatTree(2, 2), FatTree(2, 2), FatTree(2, 2)], [1, 1, 1]),
]
every = pytest.mark.parametrize(
    ("levels", "channels"),
    [*CASES, *(long(*case) for case in LONG)],
    ids=lambda case: "-".join(type(one).__name__ for one in case) if case else "",
)


@every
@pytest.mark.parametrize("replication", [1, 2])
def test_free_of_deadlock(levels: list[Relation], channels: list[int], replication: int) -> None:
    """They say so, if the levels are; here all headers are followed."""
    graph = Hierarchical(levels, replication=replication)
    check_graph(graph)
    assert graph.deadlock_free
    assert survey(graph).cycle is None
    found = [0] * len(levels)
    for link in graph.links():
        found[graph.level(link) - 1] = max(found[graph.level(link) - 1], link.channels)
    assert found == channels


def test_rings_need_a_channel_for_packets_that_come_down(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without it the checker finds a cycle; so it also finds one in a ring of one channel."""
    monkeypatch.setattr(
        "multicube.hdl.families.hierarchical.hierarchical_graph.down_channels", lambda *_: 0
    )
    graph = Hierarchical([ring(5), ring(5)])
    cycle = survey(graph).cycle
    assert cycle
    assert {graph.level(graph.link_of(channel)) for channel in cycle} == {1, 2}
    monkeypatch.undo()
    assert Hierarchical([cube(1), Torus(5, 1, channels=1)]).deadlock()


@every
def test_paths_are_the_shortest(levels: list[Relation], channels: list[int]) -> None:
    """If those of the levels are: dragonflies take one global link at most."""
    graph = Hierarchical(levels)
    plain = nx.DiGraph(to_networkx(graph))
    away = dict(nx.all_pairs_shortest_path_length(plain))
    for source, destination in itertools.product(range(graph.ports), repeat=2):
        length = len(graph.path(source, destination)) - 1
        best = away[graph.homes[source]][graph.exit_homes[destination]]
        assert length == best or (isinstance(levels[0], Dragonfly) and length > best)


def test_what_it_joins() -> None:
    """Clusters of level 1, and the interface nodes by themselves, are the networks of the levels;
    terminals of a cluster are consecutive."""
    low, high = cube(2), ring(5)
    for interface, replication in ((0, 1), (3, 1), (2, 3)):
        graph = Hierarchical([low, high], interface, replication)
        assert (graph.nodes, list(graph.homes)) == (20, [*range(20)])
        plain = nx.MultiDiGraph((link.node, link.peer) for link in graph.links())
        for cluster in range(5):
            inside = plain.subgraph(range(4 * cluster, 4 * cluster + 4))
            assert nx.is_isomorphic(nx.DiGraph(inside), nx.DiGraph(nx.hypercube_graph(2)))
        between = plain.subgraph(range(interface, 20, 4))
        assert nx.is_isomorphic(nx.DiGraph(between), nx.cycle_graph(5).to_directed())
        assert set(Counter(between.edges()).values()) == {replication}
        assert plain.number_of_edges() == 5 * 8 + 10 * replication


def test_clusters_of_different_sizes_and_networks() -> None:
    """As in II-C of the paper: kinds take turns at two levels; the whole is put together again."""
    kinds: list[Relation] = [ring(3), cube(2), Layered(Complete(5))]
    graph = Hierarchical([kinds, [cube(1), ring(3)], cube(1)])
    check_graph(graph)
    expected = nx.Graph()
    square = [(0, 1), (1, 3), (3, 2), (2, 0)]
    triangle, five = (itertools.combinations(range(nodes), 2) for nodes in (3, 5))
    edges = [[*triangle], square, [*five]]
    for first, own in zip((0, 3, 7, 12, 15), itertools.cycle(edges)):
        expected.add_edges_from((first + a, first + b) for a, b in own)
    expected.add_edges_from([(0, 3), (7, 12), (12, 15), (15, 7), (0, 7)])
    assert [*map(len, graph.clusters)] == [3, 4, 5, 3, 4]
    links = nx.Graph((link.node, link.peer) for link in graph.links())
    assert nx.utils.graphs_equal(links, expected)
    assert survey(graph).cycle is None
    lengths = dict(nx.all_pairs_shortest_path_length(expected))
    for source, destination in itertools.product(range(graph.ports), repeat=2):
        assert len(graph.path(source, destination)) - 1 == lengths[source][destination]
    assert len({graph.position(node) for node in range(graph.nodes)}) == graph.nodes
    assert graph.name(18) == "3 of cluster 4"


def test_spheres_of_different_sizes_are_refused() -> None:
    network = build("hierarchical level1=bus:ports=2+ring:k=3,n=1 level2=crossbar:ports=3")
    assert (network.ports, network.relation.deadlock()) == (7, None)
    with pytest.raises(ValueError, match="Sphere must have a size: clusters have from 2 to 3 ter"):
        _ = network.sphere


def test_switches_of_an_upper_level_are_nodes_of_their_own() -> None:
    graph = Hierarchical([cube(1), FatTree(2, 2)])
    assert (graph.ports, graph.nodes) == (8, 8 + 4)
    plain = nx.DiGraph(to_networkx(graph))
    for cluster in range(4):
        assert plain.has_edge(2 * cluster, 8 + cluster // 2)
        assert plain.has_edge(8 + cluster // 2, 2 * cluster)
    assert all(plain.out_degree(node) == 1 for node in range(1, 8, 2))


@pytest.mark.parametrize("n", [2, 3, 4, long(6)])
def test_cube_connected_cycles(n: int) -> None:
    """Preparata and Vuillemin: (w, p) has the neighbours (w, p ± 1) and (w xor 2^p, p)."""
    graph = CubeConnectedCycles(n)
    check_graph(graph)
    found = Counter((link.node, link.peer) for link in graph.links())
    expected: Counter[tuple[int, int]] = Counter()
    for w, p in itertools.product(range(2**n), range(n)):
        for peer in ((w, (p + 1) % n), (w, (p - 1) % n), (w ^ 2**p, p)):
            expected[n * w + p, n * peer[0] + peer[1]] += 1
    assert found == expected
    assert nx.is_strongly_connected(nx.DiGraph(list(found)))


@pytest.mark.parametrize(
    ("words", "levels", "links"),
    [
        long("bh-bh dimension=6 cluster=3", [cube(3), cube(3)], 3 * 32 + 3 * 4),
        long("bh-br dimension=6 cluster=3", [cube(3), ring(8)], 8 * (3 * 4 + 1)),
        ("bh-cc dimension=5 cluster=3", [cube(3), Complete(4)], 3 * 16 + 2 * 3),
        ("bh-ccc cluster=1 cycles=3", [cube(1), CCC], 24 + 3 * 3 * 4),
        ("cc-br dimension=5 cluster=2", [Complete(4), ring(8)], 8 * 6 + 8),
        ("hierarchical level1=hypercube:n=1 level2=ring:k=3,n=1 level3=mesh:k=2x3", None, None),
    ],
)
def test_families(words: str, levels: list[Relation] | None, links: int | None) -> None:
    """Equations (6), (9), (11) and (13) count the links."""
    network = build(words)
    graph = network.relation.graph
    assert isinstance(graph, Hierarchical)
    if levels is None:
        assert network.ports == 2 * 3 * 6
        return
    expected = Hierarchical(levels)
    assert Counter(graph.links()) == Counter(expected.links())
    assert len(graph.edges) == links
    assert {network.sphere} == {len(cluster) for cluster in expected.clusters}
    wide = build(words, replication=3).relation.graph
    joining = sum(graph.level(link) == 2 for link in graph.links())
    assert len(list(wide.links())) == 2 * links + 2 * joining


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("hierarchical level1=combining:ports=8", "described as nodes and links"),
        ("hierarchical level1=connection-machine", "described as nodes and links"),
        ("hierarchical level1=cube:switching=circuit", "Parameter switch must be that of the"),
        ("hierarchical level2=crossbar:dilation=2", "Parameter dilation must be that of the whole"),
        ("hierarchical level1=torus:depth=8", "Parameter depth must be that of the whole network"),
        ("hierarchical level2=hypercub:n=2", "Level2 .* did you mean"),
        (
            "hierarchical level1=graph:file=none",
            "Level1 'graph:file=none': File none can't be read",
        ),
        ("hierarchical level2=none", "Level2 must be a network, not none"),
        (
            "hierarchical level4=hypercube:n=1",
            "Level3 must be a network, not none, below level4=hypercube:n=1",
        ),
        ("hierarchical level1=hypercube:n=1++ring", "Level1 must be networks parted by"),
        ("hierarchical level2=hypercube:n=1+ring:k=3", "Level2 must have from 1 to 1 networks"),
        ("hierarchical interface=8", "Interface must be .* from 0 to 7, not 8"),
        ("hierarchical level1=hypercube:n=11 level2=hypercube:n=11", "Terminals must be at most"),
        ("bh-bh dimension=3", "Cluster d must be less than dimension D = 3, not 3"),
        ("hierarchical level1=fat-tree:k=2,routing=valiant", "without intermediate terminals"),
    ],
)
def test_bad_levels(words: str, message: str) -> None:
    with pytest.raises(ValueError, match=message) as refusal:
        build(words)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    "words",
    [
        "level1=bus:ports=2 level2=bus:ports=3",
        long("level1=bus:ports=3 level2=ring:k=3"),
        long("level1=bus:ports=2+ring:k=3,n=1 level2=crossbar:ports=3"),
        long("level1=crossbar:ports=3 level2=omega:ports=4"),
        long("level1=omega:ports=4 level2=crossbar:ports=3"),
    ],
)
def test_buses_and_boxes_join(words: str) -> None:
    """Lone packets of 2 flits between all pairs take a cycle for each link, and for their flits;
    all at full load, none is lost."""
    network = build(f"hierarchical {words} length=2")
    pairs = list(itertools.product(range(network.ports), repeat=2))
    packets = tuple(TracePacket(40 * n, *pair, 2) for n, pair in enumerate(pairs))
    alone = simulate(network, traffic=Trace("pairs", packets), bins=64)
    expected = Counter(len(network.relation.path(*pair)) - 1 + 2 for pair in pairs)
    found = {cycles: n for cycles, n in enumerate(alone.network_latency.histogram) if n}
    assert found == expected
    busy = simulate(network, load=0.5, cycles=1000, seed=SEED)
    assert (busy.lost, busy.misrouted, busy.damaged) == (0, 0, 0)
    assert busy.delivered > 100


def test_other_routings_take_the_graph() -> None:
    network = build("bh-bh dimension=4 cluster=2 routing=adaptive")
    assert network.relation.layers >= 1
    assert network.sphere == 4
    assert isinstance(build("bh-bh dimension=4 cluster=2 routing=valiant").relation, Valiant)
