"""Complete networks, stars, trees, chordal rings, perfect shuffles, Leiserson's fat trees, rings.

Each is compared with another definition: a generator of networkx, or the paper's formula.
"""

import itertools
from collections import Counter
from typing import Any

import networkx as nx
import pytest
from long_runs import long
from multicube.hdl import RingNetwork, TorusNetwork, build
from multicube.hdl.families.chordal_ring_graph import ChordalRing, RoutedChordalRing
from multicube.hdl.families.complete_graph import Complete
from multicube.hdl.families.leiserson_fat_tree_graph import LeisersonFatTree
from multicube.hdl.families.perfect_shuffle_graph import (
    PerfectShuffle,
    ShuffleExchange,
    ShuffleNearestNeighbor,
)
from multicube.hdl.families.star_graph import Star
from multicube.hdl.families.tree_graph import Tree
from multicube.hdl.graphs.conversion import to_networkx
from multicube.hdl.graphs.graph import Graph
from multicube.hdl.graphs.listed_graph import check_graph
from multicube.hdl.graphs.routing.layered import Layered
from multicube.hdl.graphs.routing.relation import RoutedGraph
from multicube.hdl.graphs.routing.survey import survey
from multicube.sim import Trace, TracePacket, simulate
from refusals import refusals

ROUTED: list[RoutedGraph] = [
    *map(Complete, (2, 3, 8)),
    *map(Star, (2, 3, 8)),
    *(Tree(*sizes) for sizes in ((2, 2), (3, 2), (4, 2), (6, 2), (12, 2), (15, 2), (14, 3))),
    *(LeisersonFatTree(2, n) for n in (1, 2, 4)),
    LeisersonFatTree(3, 3),
    LeisersonFatTree(2, 4, "1x3x2"),
    LeisersonFatTree(4, 2, 1),
    LeisersonFatTree(2, 4, "auto", "fixed"),
    *(RoutedChordalRing(nodes, 2, a) for nodes, a in ((5, 2), (8, 3), (16, 4), (18, 8), (25, 5))),
]
OTHERS: list[Graph] = [
    *(ChordalRing(nodes, 1) for nodes in (6, 8, 16, 30)),
    *(ChordalRing(nodes, 2) for nodes in (5, 8, 9, 16)),
    ChordalRing(14, 1, 5),
    ChordalRing(12, 2, 5),
    *map(ShuffleNearestNeighbor, (2, 3, 4, 5)),
    *map(ShuffleExchange, (2, 3, 4, 5)),
]


def unlabelled(graph: nx.Graph, kind: type[nx.Graph] = nx.DiGraph) -> Any:
    """Its nodes and edges alone."""
    found = kind()
    found.add_nodes_from(graph)
    found.add_edges_from(pair[:2] for pair in graph.edges)
    return found


def plain(graph: Graph) -> nx.Graph:
    """Its links as edges; each must lead in both directions."""
    found = nx.DiGraph(to_networkx(graph))
    assert set(found.edges) == {(b, a) for a, b in found.edges}
    return unlabelled(found, nx.Graph)


@pytest.mark.parametrize("graph", [*ROUTED, *OTHERS], ids=str)
def test_links_are_two_way_by_the_same_ports(graph: Graph) -> None:
    check_graph(graph)
    links = {(link.node, link.port, link.peer, link.peer_port) for link in graph.links()}
    assert links == {(peer, back, node, port) for node, port, peer, back in links}
    assert all(graph.direction(link) for link in graph.links())
    places = [graph.position(node) for node in range(graph.nodes)]
    assert None not in places
    assert len(set(places)) == graph.nodes


@pytest.mark.parametrize("graph", ROUTED, ids=str)
def test_own_routing(graph: RoutedGraph) -> None:
    """It is free of deadlock, as the description says; paths are the shortest; all links are
    used; and the diameter is that of the graph."""
    found = survey(graph)
    assert graph.deadlock_free
    assert found.cycle is None
    lengths = dict(nx.all_pairs_shortest_path_length(plain(graph)))
    for (source, here), (destination, there) in itertools.product(enumerate(graph.homes), repeat=2):
        assert graph.lengths[source][destination] == lengths[here][there]
    assert graph.diameter == found.diameter
    turns = [(node, turn.output) for node in found.turns for turn in found.turns[node]]
    used = {(node, output[0]) for node, output in turns if output is not None}
    assert used == set(graph.by_output)


def least_cut(graph: Graph) -> int:
    """Links between two halves of the nodes, by brute force."""
    halves = itertools.combinations(range(graph.nodes), graph.nodes // 2)
    links = list(graph.links())
    return min(
        sum((link.node in half) != (link.peer in half) for link in links)
        for half in map(set, halves)
    )


@pytest.mark.parametrize("graph", [*ROUTED, *OTHERS], ids=str)
def test_bisection(graph: Graph) -> None:
    if graph.bisection is not None and graph.nodes <= 12:
        assert graph.bisection == least_cut(graph)


def test_bisection_is_known() -> None:
    assert [Complete(8).bisection, Star(8).bisection, Tree(15).bisection] == [32, 8, 2]
    assert Tree(13, 3).bisection is None


@pytest.mark.parametrize("nodes", [2, 5, 16])
def test_complete(nodes: int) -> None:
    assert nx.utils.graphs_equal(plain(Complete(nodes)), nx.complete_graph(nodes))


@pytest.mark.parametrize("nodes", [2, 5, 16])
def test_star(nodes: int) -> None:
    assert nx.utils.graphs_equal(plain(Star(nodes)), nx.star_graph(nodes - 1))


@pytest.mark.parametrize(("branching", "depth"), [(2, 1), (2, 4), (3, 3), (5, 2)])
def test_tree(branching: int, depth: int) -> None:
    expected = nx.balanced_tree(branching, depth)
    tree = Tree(len(expected), branching)
    assert nx.utils.graphs_equal(plain(tree), expected)
    assert tree.levels == depth + 1
    levels = nx.single_source_shortest_path_length(expected, 0)
    assert [tree.level(node) for node in range(tree.nodes)] == [
        levels[n] for n in range(len(levels))
    ]


@pytest.mark.parametrize("nodes", [2, 3, 10, 37])
def test_tree_of_any_size(nodes: int) -> None:
    """networkx has it as the full b-ary tree."""
    assert nx.utils.graphs_equal(plain(Tree(nodes, 3)), nx.full_rary_tree(3, nodes))


@pytest.mark.parametrize(("nodes", "chord"), [(5, 2), (9, 4), (16, 4), (25, 5), (16, 7)])
def test_chordal_ring_with_two_chords(nodes: int, chord: int) -> None:
    ring = ChordalRing(nodes, 2, chord)
    assert nx.utils.graphs_equal(plain(ring), nx.circulant_graph(nodes, [1, chord]))


@pytest.mark.parametrize(("nodes", "chord"), [(6, 3), (16, 3), (16, 7), (18, 9), (64, 9)])
def test_chordal_ring_with_one_chord(nodes: int, chord: int) -> None:
    """Every node has degree 3; and networkx's LCF notation has it as the jumps [a, -a]."""
    found = plain(ChordalRing(nodes, 1, chord))
    assert set(dict(found.degree()).values()) == {3}
    jumps = nx.LCF_graph(nodes, [chord, -chord], nodes // 2)
    assert nx.utils.graphs_equal(found, unlabelled(jumps, nx.Graph))


@pytest.mark.parametrize(("nodes", "chord"), [(6, 2), (16, 4), (64, 8), (8, 4), (16, 8)])
def test_chordal_ring_with_an_even_chord(nodes: int, chord: int) -> None:
    """The links of the paper's text (4.1.7): even i to i + a, and i + 1 to (i + 1) - a. Every node
    has two chords, unless they lead to the node opposite."""
    ring = nx.cycle_graph(nodes)
    for i in range(0, nodes, 2):
        ring.add_edge(i, (i + chord) % nodes)
        ring.add_edge(i + 1, (i + 1 - chord) % nodes)
    found = plain(ChordalRing(nodes, 1, chord))
    assert nx.utils.graphs_equal(found, ring)
    assert set(dict(found.degree()).values()) == {3 if 2 * chord == nodes else 4}


def test_an_even_chord_has_the_routing_of_two_chords() -> None:
    single, double = (build("chordal-ring", nodes=64, chords=n, chord=8) for n in (1, 2))
    assert single.relation == double.relation
    assert single.parameters.routing == "own"
    assert build("chordal-ring nodes=8 chord=4").parameters.routing == "layered"


def test_chords_are_about_the_square_root() -> None:
    for nodes, chords in itertools.product((16, 36, 64, 100, 256, 1024), (1, 2)):
        chord = ChordalRing(nodes, chords).chord
        assert abs(chord - nodes**0.5) <= 2 - chords + 1e-9
        assert chords == 2 or chord % 2


def shuffled(node: int, nodes: int) -> int:
    """The paper's formula, 4.1.8."""
    return 2 * node if node < nodes // 2 else 2 * node + 1 - nodes


@pytest.mark.parametrize("n", range(2, 9))
@pytest.mark.parametrize("kind", [ShuffleNearestNeighbor, ShuffleExchange])
def test_perfect_shuffle(kind: type[PerfectShuffle], n: int) -> None:
    """All links of the formulas are there, once; the rest is what is said to be left out."""
    nodes, graph = 2**n, kind(n)
    wanted = [(i, shuffled(i, nodes)) for i in range(nodes)]
    if kind is ShuffleNearestNeighbor:
        wanted += [(i, (i + 1) % nodes) for i in range(nodes)]
    else:
        wanted += [(i, i ^ 1) for i in range(0, nodes, 2)]
    pairs = {frozenset(pair) for pair in wanted if pair[0] != pair[1]}
    links = Counter((link.node, link.peer) for link in graph.links())
    assert links == Counter(itertools.chain(*((tuple(p), tuple(p)[::-1]) for p in pairs)))
    assert graph.left_out == len(wanted) - len(pairs)
    names = {(link.node, link.peer): graph.direction(link) for link in graph.links()}
    for (node, peer), name in names.items():
        leads = {
            "shuffle": peer == shuffled(node, nodes),
            "unshuffle": node == shuffled(peer, nodes),
            "+1": peer == (node + 1) % nodes,
            "-1": node == (peer + 1) % nodes,
            "exchange": peer == node ^ 1,
        }
        assert leads[name]


def test_left_out() -> None:
    """Two loops; of the shuffle a second link if n is even; of the ring those of 1 and 2, and of
    their complements."""
    assert [ShuffleExchange(n).left_out for n in range(2, 7)] == [3, 2, 3, 2, 3]
    assert [ShuffleNearestNeighbor(n).left_out for n in range(2, 7)] == [4, 4, 5, 4, 5]


@pytest.mark.parametrize("n", range(3, 9))
def test_diameter_of_psnn(n: int) -> None:
    """One less than Hockney and Jesshope's n + ceil(n / 2) - 1, which the paper cites (NOTES)."""
    assert nx.diameter(plain(ShuffleNearestNeighbor(n))) == n + -(-n // 2) - 2


@pytest.mark.parametrize(
    "graph", [one for one in ROUTED if isinstance(one, LeisersonFatTree)], ids=str
)
def test_leiserson_fat_tree(graph: LeisersonFatTree) -> None:
    """A balanced tree of switches; above each level as many parallel links as told, and if this is
    left open, as many at each level as there are terminals."""
    b, n = graph.branching, graph.levels
    links = Counter((link.node, link.peer) for link in graph.links())
    tree = nx.balanced_tree(b, n - 1)
    assert nx.is_isomorphic(plain(graph), tree)
    root = graph.nodes - 1
    away = nx.single_source_shortest_path_length(plain(graph), root)
    total: Counter[int] = Counter()
    for (node, peer), count in links.items():
        level = n - 1 - max(away[node], away[peer])
        assert count == graph.capacities[level]
        total[level] += count
    if graph.capacity == "x".join(str(b**level) for level in range(1, n)):
        assert total == dict.fromkeys(range(n - 1), 2 * b**n)
    assert Counter(graph.homes) == dict.fromkeys(range(b ** (n - 1)), b)


@pytest.mark.parametrize("parallel", ["any", "fixed"])
def test_parallel_links(parallel: str) -> None:
    """A packet may take any of the parallel links, or always the same one."""
    graph = LeisersonFatTree(2, 4, "2x4x8", parallel)
    assert graph.ordered == (parallel == "fixed")
    for source, destination in itertools.permutations(range(16), 2):
        reached = Counter(channel.node for channel in graph.reached(source, destination)[:-1])
        path = graph.path(source, destination)[:-1]
        for channel in path:
            link = graph.link_of(channel)
            both = [one for one in graph.links() if (one.node, one.peer) == (link.node, link.peer)]
            assert reached[channel.node] == (len(both) if parallel == "any" else 1)


@pytest.mark.long
@pytest.mark.parametrize("traffic", ["complement", "shift:3"])
def test_a_permutation_in_a_fat_tree(traffic: str) -> None:
    """By default packets that all cross the root, one of each terminal, take as long as one alone:
    a cycle for each link on their way, and one to leave (Stanfill, 3.8)."""
    network = build("leiserson-fat-tree levels=3")
    result = simulate(network, traffic=f"one-each:{traffic}")
    assert (result.delivered, result.latency.max) == (8, network.relation.diameter + 1)


@pytest.mark.long
def test_a_router_that_no_table_can_serve_is_named() -> None:
    """A graph may be measured that is too large for hardware."""
    star = build("star", nodes=256)
    assert star.relation.graph.nodes == 256
    message = "^Inputs times outputs of node 0 must be at most 61440, not 65536$"
    with pytest.raises(ValueError, match=message):
        _ = star.fabric


@pytest.mark.parametrize("directions", [1, 2])
def test_ring(directions: int) -> None:
    kind: Any = nx.DiGraph if directions == 1 else nx.Graph
    expected = nx.DiGraph(nx.cycle_graph(7, kind))
    ring = build("ring", k=7, n=1, directions=directions)
    assert isinstance(ring, RingNetwork)
    assert ring.family == "ring"
    assert nx.utils.graphs_equal(unlabelled(to_networkx(ring.relation.graph)), expected)
    assert ring.relation == TorusNetwork(7, 1, directions=directions).relation
    assert build(str(ring)).parameters == ring.parameters


def test_names_of_the_paper() -> None:
    assert build("hypertorus k=3").parameters == build("torus k=3").parameters
    for name, family in {
        "ccn": "complete",
        "completely-connected": "complete",
        "nearest-neighbor": "torus",
        "shuffle-nearest-neighbor": "psnn",
        "shuffle-exchange": "pse",
    }.items():
        assert build(name).family == family


def test_a_graph_gets_an_algorithm() -> None:
    """A description without a routing gets virtual layers."""
    network = build("psnn", n=3)
    assert network.parameters.routing == "layered"
    assert isinstance(network.relation, Layered)
    assert build("chordal-ring").parameters.routing == "layered"
    assert build("chordal-ring chords=2").parameters.routing == "own"
    with pytest.raises(ValueError, match=r"^Routing must not be own in a graph that has none$"):
        build("psnn routing=own")


test_rejects = refusals(
    lambda kind, given: kind(**given),
    (Complete, {"nodes": 1}, "Nodes must be from 2 to 256, not 1"),
    (Complete, {"nodes": 1024}, "Nodes must be from 2 to 256, not 1024"),
    (Star, {"nodes": 257}, "Nodes must be from 2 to 256, not 257"),
    (Tree, {"branching": 1}, "Branching must be from 2 to 64, not 1"),
    (
        ChordalRing,
        {"nodes": 15},
        "Nodes must be even and at least 6 with one chord at a node, not 15",
    ),
    (ChordalRing, {"chord": 9}, "Chord must be from 2 to 8 with 16 nodes and chords=1, not 9"),
    (
        ChordalRing,
        {"chords": 2, "chord": 8},
        "Chord must be from 2 to 7 with 16 nodes and chords=2, not 8",
    ),
    (RoutedChordalRing, {}, "Chords must be 2 for this routing, not 1"),
    (ShuffleExchange, {"n": 1}, "Bits n must be from 2 to 16, not 1"),
    (
        LeisersonFatTree,
        {"capacity": "1x2"},
        "Capacity must be one number or 3 with levels=4, not 1x2",
    ),
    (
        LeisersonFatTree,
        {"capacity": "1xa"},
        "Capacity must be auto, a number of at least 1, or several such as 1x2x4, not '1xa'",
    ),
    (LeisersonFatTree, {"levels": 9}, "Ports of a switch of level 7 must be at most 256, not 512"),
)


@pytest.mark.parametrize("words", [long("complete nodes=16"), long("star nodes=8")])
def test_wide_routers(words: str) -> None:
    """All terminals send to one at the same time, and it to all: each packet arrives once."""
    network = build(words)
    others = range(1, network.ports)
    packets = [
        *(TracePacket(0, source, 0) for source in others),
        *(TracePacket(0, 0, destination) for destination in others),
    ]
    result = simulate(network, traffic=Trace("to and from", tuple(packets)))
    assert result.delivered == len(packets)
