# amaranth: UnusedElaboratable=no
"""Data manipulators, Dynamic Redundancy networks, spanning-bus and dual-bus hypercubes, Slim Fly,
PolarFly, Megafly, dragonflies, hexagons, tori, X-trees, hypertrees, meshes of trees, trees of
meshes, chordal rings, linear arrays, lenses: against networkx and figures."""

import itertools
from collections import Counter
from dataclasses import fields
from math import isqrt, log2

import networkx as nx
import pytest
from long_runs import long
from multicube.hdl import build
from multicube.hdl.catalogue.discovery import ENTRIES
from multicube.hdl.fabric.parameter_fields import Parameter
from multicube.hdl.families.data_manipulator_graph import AugmentedDataManipulator
from multicube.hdl.families.dragonfly_graph import Dragonfly
from multicube.hdl.families.dual_bus_hypercube_graph import DualBusHypercube
from multicube.hdl.families.dynamic_redundancy_graph import DynamicRedundancy
from multicube.hdl.families.generalized_chordal_ring_graph import GeneralizedChordalRing
from multicube.hdl.families.hexa_mesh_graph import FoldedHexaTorus, HexaMesh
from multicube.hdl.families.hypertree_graph import Hypertree
from multicube.hdl.families.lens_graph import Lens
from multicube.hdl.families.linear_array_graph import LinearArray
from multicube.hdl.families.megafly_graph import Megafly
from multicube.hdl.families.mesh_of_trees_graph import MeshOfTrees
from multicube.hdl.families.polarfly_graph import PolarFly
from multicube.hdl.families.single_stage.single_stage_graph import Lambda
from multicube.hdl.families.slim_fly_graph import SlimFly
from multicube.hdl.families.spanning_bus_hypercube_graph import SpanningBusHypercube
from multicube.hdl.families.tree_of_meshes_graph import TreeOfMeshes
from multicube.hdl.families.twisted_torus_graph import TwistedTorus
from multicube.hdl.families.x_tree_graph import XTree
from multicube.hdl.graphs.conversion import to_networkx
from multicube.hdl.graphs.graph import Graph
from multicube.hdl.graphs.listed_graph import check_graph
from multicube.hdl.graphs.plans.named_plans import multistage_plan
from multicube.hdl.graphs.routing.layered import Layered
from multicube.hdl.graphs.routing.relation import RoutedGraph
from multicube.hdl.graphs.routing.survey import survey
from multicube.hdl.networks.family import GraphFamily
from multicube.sim.engines.compiled.netlist import lowered
from multicube.sim.measure.bisection import bisection
from refusals import refusals

ROUTED: list[RoutedGraph] = [
    *(Megafly(*sizes) for sizes in ((1,), (2,), (1, 2), (2, 3, 1), (3, 1, 2))),
    *map(MeshOfTrees, (2, 4)),
    *map(LinearArray, (2, 5, 8)),
]
OTHERS: list[Graph] = [
    *(SlimFly(*sizes) for sizes in ((3,), (5, 50))),
    *(PolarFly(*sizes) for sizes in ((2,), (3,), (5, 31))),
    *map(HexaMesh, (1, 2, 3)),
    *map(FoldedHexaTorus, (1, 2, 3)),
    *(TwistedTorus(*sizes) for sizes in ((8, 4), (4, 2), (5, 3, 1), (2, 2), (6, 4, 0))),
    *map(TreeOfMeshes, (2, 4)),
    *map(Hypertree, (2, 3, 5)),
    *(XTree(levels, ring) for levels in (2, 3, 5) for ring in ("full", "open")),
    *(GeneralizedChordalRing(*how) for how in ((16,), (16, "5/0"), (12, "4,6/-3/0"), (3, "0"))),
]


def simple(graph: Graph) -> nx.Graph:
    """Nodes and links, in both directions, without parallel ones."""
    ways = nx.DiGraph(to_networkx(graph))
    assert set(ways.edges) == {(b, a) for a, b in ways.edges}
    found = nx.Graph()
    found.add_nodes_from(range(graph.nodes))
    found.add_edges_from((link.node, link.peer) for link in graph.links())
    return found


def width(graph: Graph) -> float | None:
    """The bisection width, if it is found exactly."""
    return bisection(graph).width.exact


@pytest.mark.parametrize("graph", [*ROUTED, *OTHERS], ids=str)
def test_links_and_places(graph: Graph) -> None:
    check_graph(graph)
    links = {(link.node, link.port, link.peer, link.peer_port) for link in graph.links()}
    assert links == {(peer, back, node, port) for node, port, peer, back in links}
    if not isinstance(graph, TwistedTorus):  # which a drawing places itself
        assert len({graph.position(node) for node in range(graph.nodes)}) == graph.nodes
    assert isinstance(graph, PolarFly) or all(map(graph.direction, graph.links()))


@pytest.mark.parametrize("graph", ROUTED, ids=str)
def test_own_routing(graph: RoutedGraph) -> None:
    """Free of deadlock, as the descriptions say; shortest paths; all links are used."""
    found = survey(graph)
    assert graph.deadlock_free
    assert found.cycle is None
    lengths = dict(nx.all_pairs_shortest_path_length(simple(graph)))
    for (source, here), (destination, there) in itertools.product(enumerate(graph.homes), repeat=2):
        assert graph.lengths[source][destination] == lengths[here][there]
    turns = [(node, turn.output) for node in found.turns for turn in found.turns[node]]
    used = {(node, output[0]) for node, output in turns if output is not None}
    assert used == set(graph.by_output)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("graph", OTHERS, ids=str)
def test_default_routing(graph: Graph) -> None:
    """Shortest paths, free of deadlock in their layers."""
    relation = Layered(graph)
    assert survey(relation).cycle is None
    lengths = dict(nx.all_pairs_shortest_path_length(simple(graph)))
    for (source, here), (destination, there) in itertools.product(enumerate(graph.homes), repeat=2):
        if (source + destination) % 5 == 0:
            assert len(relation.path(source, destination)) - 1 == lengths[here][there]


@pytest.mark.parametrize("order", ["falling", "rising"])
@pytest.mark.parametrize("bits", [1, 2, 3, 4])
def test_augmented_data_manipulator(bits: int, order: str) -> None:
    """There is a path for each sum of signed digits that is the distance modulo N: all are
    counted."""
    graph = AugmentedDataManipulator(1 << bits, order)
    check_graph(graph)
    assert survey(graph).cycle is None
    sums = Counter(
        sum(digit << i for i, digit in enumerate(digits)) % graph.ports
        for digits in itertools.product((-1, 0, 1), repeat=bits)
    )
    for source, destination in itertools.product(range(graph.ports), repeat=2):
        reached = Counter({graph.homes[source]: 1})
        for _ in range(bits):
            onward: Counter[int] = Counter()
            for node, paths in reached.items():
                for channel in graph.route(node, None, destination):
                    onward[graph.link_of(channel).peer] += paths
            reached = onward
        ways = sums[(destination - source) % graph.ports]
        assert reached == {graph.exit_homes[destination]: ways}


@pytest.mark.parametrize(("ports", "spares"), [(2, 1), (4, 2), (8, 1), (16, 2)])
def test_dynamic_redundancy(ports: int, spares: int) -> None:
    """From any first row, the paths are those of the Generalized Cube, row by row; and for every
    switch there are first rows that leave it out, as there are for its links."""
    n, rows = ports.bit_length() - 1, ports + spares
    cube = multistage_plan("cube", ports)
    used = []
    for first in range(rows):
        graph = DynamicRedundancy(ports, spares, first)
        check_graph(graph)
        assert survey(graph).cycle is None
        used.append(set())
        for source, destination in itertools.product(range(ports), repeat=2):
            node, line = graph.homes[source], source
            for stage, hop in enumerate(cube.path(source, destination)):
                assert graph.name(node) == f"{n - 1 - stage}.{(first + line) % rows}"
                used[-1].add(graph.name(node))
                (channel,) = graph.route(node, None, destination)
                node = graph.link_of(channel).peer
                # A box of stage n - 1 - s has the lines that differ in that bit only.
                line = line & ~(1 << n - 1 - stage) | hop.output << n - 1 - stage
                assert graph.name(node).split(".")[1] == str((first + line) % rows)
            assert line == destination
            assert node == graph.exit_homes[destination]
    for stage, row in itertools.product(range(n), range(rows)):
        assert sum(f"{stage}.{row}" not in names for names in used) == spares


def test_a_row_that_is_left_out() -> None:
    """Its routers, in which no packet has a turn, are made all the same."""
    network = build("dynamic-redundancy ports=8 spares=2")
    turns = survey(network.relation).turns
    assert any(not turns.get(node) for node in range(network.relation.graph.nodes))
    for type_ in network.fabric.types():
        assert lowered(type_).outputs


@pytest.mark.parametrize("n", [2, 4, 8])
def test_tree_of_meshes(n: int) -> None:
    """Grids of networkx, joined from the root down; (2 log n + 1) n^2 nodes."""
    expected, level, shape = nx.Graph(), [()], (n, n)
    while level:
        rows, columns = shape
        below = []
        for mesh in level:
            for one, other in nx.grid_2d_graph(rows, columns).edges:
                expected.add_edge((mesh, *one), (mesh, *other))
            if shape != (1, 1):
                below += [(*mesh, side) for side in range(2)]
                for row, side in itertools.product(range(rows), range(2)):
                    column = side * (columns - 1)
                    expected.add_edge((mesh, row, column), ((*mesh, side), 0, row))
        level, shape = below, (columns // 2, rows)
    graph = TreeOfMeshes(n)
    assert graph.nodes == len(expected) == (2 * log2(n) + 1) * n * n
    plain = simple(graph)
    assert nx.faster_could_be_isomorphic(plain, expected)
    assert n > 4 or nx.is_isomorphic(plain, expected)
    assert {plain.degree(home) for home in graph.homes} == {1}
    assert len(graph.homes) == n * n


@pytest.mark.parametrize("levels", [2, 3, 5, 8])
def test_hypertree(levels: int) -> None:
    """By the labels of later authors: 1 at the root, and 2^(i-2) apart in level i."""
    expected = nx.Graph()
    for label in range(2, 1 << levels):
        expected.add_edge(label - 1, label // 2 - 1)
        apart = 1 << label.bit_length() - 2
        if (label + apart).bit_length() == label.bit_length():
            expected.add_edge(label - 1, label + apart - 1)
    assert nx.utils.graphs_equal(simple(Hypertree(levels)), expected)


@pytest.mark.parametrize("cluster", ["bus", "crossbar"])
@pytest.mark.parametrize(("k", "n"), [(2, 1), (3, 2), (4, 2), (2, 3)])
def test_spanning_bus_hypercube(k: int, n: int, cluster: str) -> None:
    """Nodes of a line meet at its bus or crossbar, and nowhere else; a packet crosses a line for
    each digit that differs; with the line's nodes left out it is the graph of Hamming distances."""
    graph = SpanningBusHypercube(k, n, cluster)
    check_graph(graph)
    hops = {"bus": 3, "crossbar": 2}[cluster]
    addresses = list(itertools.product(range(k), repeat=n))  # the highest digit first
    for (source, here), (destination, there) in itertools.product(enumerate(addresses), repeat=2):
        path = graph.path(source, destination)
        differing = sum(a != b for a, b in zip(here, there))
        assert len(path) - 1 == hops * differing == graph.lengths[source][destination]
        turns = [addresses[channel.node] for channel in path if channel.node < k**n]
        assert turns == [
            there[:digit] + here[digit:]
            for digit in range(n + 1)
            if digit == 0 or here[digit - 1] != there[digit - 1]
        ]
    assert survey(graph).cycle is None
    assert len({graph.position(node) for node in range(graph.nodes)}) == graph.nodes
    ways = nx.DiGraph((link.node, link.peer) for link in graph.links())
    joints = sorted(ways.subgraph(range(k**n, graph.nodes)).edges)
    assert len(joints) == (n * k ** (n - 1) if cluster == "bus" else 0)
    for first, last in joints or [(joint, joint) for joint in range(k**n, graph.nodes)]:
        entering, leaving = set(ways.predecessors(first)), set(ways.successors(last))
        assert entering == leaving
        members = [addresses[node] for node in sorted(entering)]
        assert len(members) == k
        assert sum(len(set(digits)) > 1 for digits in zip(*members)) == 1


@pytest.mark.parametrize(
    ("k", "n", "cluster"),
    [(2, 2, "bus"), (2, 3, "bus"), (3, 3, "crossbar"), long(4, 3, "bus"), long(3, 4, "bus")],
)
def test_dual_bus_hypercube(k: int, n: int, cluster: str) -> None:
    """Packets go by the buses of the definition, as far as is said."""
    graph = DualBusHypercube(k, n, cluster)
    check_graph(graph)
    assert survey(graph).cycle is None
    assert len({graph.position(node) for node in range(graph.nodes)}) == graph.nodes
    buses = nx.Graph()
    for here in itertools.product(range(k), repeat=n):  # digit 0 first
        for i in (0, 1 + here[0] % (n - 1)):
            buses.add_edge(here, (i, *here[:i], None, *here[i + 1 :]))
    lines = [bus for bus in buses if None in bus]
    assert len(lines) == 2 * k ** (n - 1)
    assert {buses.degree(bus) for bus in lines} == {k}
    hops = {"bus": 3, "crossbar": 2}[cluster]
    assert graph.nodes == k**n + len(lines) * (hops - 1)
    fewest = dict(nx.all_pairs_shortest_path_length(buses))
    least = Layered(graph)

    def address(node: int) -> tuple[int, ...]:
        return tuple(node // k**i % k for i in range(n))

    longest = 0
    for source, destination in itertools.product(range(k**n), repeat=2):
        path = graph.path(source, destination)
        turns = [address(channel.node) for channel in path if channel.node < k**n]
        assert all(fewest[a][b] == 2 for a, b in itertools.pairwise(turns))
        assert turns[-1] == address(destination)
        assert len(path) - 1 == hops * (len(turns) - 1) <= hops * (2 * n - 1)
        away = fewest[turns[0]][turns[-1]] // 2
        longest = max(longest, away)
        if (source + destination) % 5 == 0:
            assert len(least.path(source, destination)) - 1 == hops * away
    assert longest == 2 * (n - 1)


@pytest.mark.parametrize("stages", [2, 3, long(4)])
def test_lens(stages: int) -> None:
    """Nodes share a bus if they are neighbours in a Lambda network, or both are ahead of one node;
    three nodes a bus, three buses a node; paths cross the fewest buses."""
    graph, other = Lens(stages), Lambda(stages)
    check_graph(graph)
    count = stages * 2 ** (stages - 1)
    assert (len(graph.homes), graph.nodes) == (count, 3 * count)
    ways = nx.DiGraph((link.node, link.peer) for link in graph.links())
    shared, buses = nx.Graph(), Counter[int]()
    for arbiter in range(count, 3 * count, 2):
        members = set(ways.predecessors(arbiter))
        assert set(ways.successors(arbiter)) == {arbiter + 1}
        assert set(ways.successors(arbiter + 1)) == members
        assert len(members) == 3
        buses.update(members)
        shared.add_edges_from(itertools.combinations(members, 2))
    assert buses == dict.fromkeys(range(count), 3)
    expected = nx.Graph((link.node, link.peer) for link in other.links())
    for node in range(count):
        ahead = [link.peer for link in other.links() if link.node == node and link.port < 2]
        expected.add_edges_from(itertools.combinations(ahead, 2))
    assert nx.utils.graphs_equal(shared, expected)
    relation, fewest = Layered(graph), dict(nx.all_pairs_shortest_path_length(shared))
    assert survey(relation).cycle is None
    for source, destination in itertools.product(range(count), repeat=2):
        assert len(relation.path(source, destination)) - 1 == 3 * fewest[source][destination]
    assert len({graph.position(node) for node in range(graph.nodes)}) == graph.nodes


@pytest.mark.parametrize("q", [3, 5, 7, 11, 13, 17])
def test_slim_fly(q: int) -> None:
    """Besta and Hoefler, II-B: 2 q^2 routers of (3 q - d) / 2 links, and diameter 2."""
    plain = simple(SlimFly(q))
    d = {1: 1, 3: -1}[q % 4]
    assert len(plain) == 2 * q * q
    assert dict(plain.degree()) == dict.fromkeys(plain, (3 * q - d) // 2)
    assert nx.diameter(plain) == 2


def test_slim_fly_of_fifty_routers() -> None:
    """The Hoffman-Singleton graph, with as many routers as the bound of Moore; two layers, as the
    paper says."""
    assert nx.is_isomorphic(simple(SlimFly(5)), nx.hoffman_singleton_graph())
    assert Layered(SlimFly(5, 50)).layers == 2


@pytest.mark.parametrize("q", [2, 3, 5, 7, 11])
def test_polarfly(q: int) -> None:
    """Lakhotia et al., IV: q + 1 quadrics of q links, q^2 of q + 1; no cycle of four links, and so
    at most one path of two links between any two; diameter 2."""
    plain = simple(PolarFly(q))
    assert Counter(dict(plain.degree()).values()) == {q: q + 1, q + 1: q * q}
    assert nx.diameter(plain) == 2
    for a, b in itertools.combinations(plain, 2):
        assert len(set(plain[a]) & set(plain[b])) <= 1


def test_routers_of_diameter_two_against_the_bound_of_moore() -> None:
    """1 + k^2 routers of k links. PolarFly: more than 96 % of it with 32 links (Lakhotia et al.);
    Slim Fly: 12 % less than it (Besta and Hoefler)."""
    bound = {
        graph: graph.nodes / (1 + k * k) for graph, k in ((PolarFly(31), 32), (SlimFly(43), 65))
    }
    assert list(bound.values()) == [pytest.approx(0.969, abs=5e-4), pytest.approx(0.875, abs=5e-4)]


@pytest.mark.parametrize("graph", [PolarFly(5), SlimFly(5, 60)], ids=str)
def test_endpoints_are_spread(graph: PolarFly | SlimFly) -> None:
    shares = Counter(graph.homes)
    assert len(graph.homes) == int(graph.endpoints)
    assert len(shares) == graph.nodes
    assert max(shares.values()) - min(shares.values()) <= 1


@pytest.mark.parametrize("graph", [one for one in ROUTED if isinstance(one, Megafly)], ids=str)
def test_megafly(graph: Megafly) -> None:
    """Complete bipartite groups, and one link between any two of them."""
    a, plain = int(graph.a), simple(graph)
    pairs = Counter()
    for node, peer in plain.edges:
        groups = node // (2 * a), peer // (2 * a)
        if groups[0] != groups[1]:
            pairs[tuple(sorted(groups))] += 1
            assert min(node % (2 * a), peer % (2 * a)) >= a
    assert pairs == dict.fromkeys(itertools.combinations(range(graph.groups), 2), 1)
    for group in range(graph.groups):
        inside = plain.subgraph(range(2 * a * group, 2 * a * (group + 1)))
        assert nx.is_isomorphic(inside, nx.complete_bipartite_graph(a, a))
    assert max(map(max, graph.lengths)) == 3


def test_megafly_has_four_times_the_terminals_of_a_dragonfly() -> None:
    """Shpiner et al., of routers with 36 ports; a balanced dragonfly has 4 h - 1 <= 36."""
    megafly, dragonfly = Megafly(18), Dragonfly(9)
    assert len(megafly.homes) == 36**4 // 16 + 36**2 // 4
    assert len(megafly.homes) / len(dragonfly.homes) == pytest.approx(4, rel=0.01)


@pytest.mark.parametrize(("h", "a", "groups"), [(2, 4, 5), (2, 4, 3), (1, 4, 2), (3, 2, 4)])
def test_dragonfly_with_several_links_between_groups(h: int, a: int, groups: int) -> None:
    """As many between any two, and under uniform traffic all are loaded alike."""
    graph = Dragonfly(h, a, 1, groups=groups)
    check_graph(graph)
    pairs = Counter(
        (link.node // a, link.peer // a)
        for link in graph.links()
        if link.node // a != link.peer // a
    )
    assert pairs == dict.fromkeys(itertools.permutations(range(groups), 2), a * h // (groups - 1))
    assert survey(graph).cycle is None
    assert max(map(max, graph.lengths)) <= 3
    shortest = dict(nx.all_pairs_shortest_path_length(simple(graph)))
    assert all(graph.lengths[x][y] == 1 for x in shortest for y in shortest if shortest[x][y] == 1)
    loads = Counter(
        channel
        for x in range(graph.nodes)
        for y in range(graph.nodes)
        for channel in graph.path(x, y)
    )
    assert (
        len({loads[(link.node, link.port, 0)] for link in graph.links() if link.port >= a - 1}) == 1
    )


@pytest.mark.parametrize("radius", [1, 2, 3, 4])
def test_hexa_mesh(radius: int) -> None:
    """A ball of the triangular lattice, by distances in that of networkx; diameter 2 r."""
    size = 4 * radius + 4
    lattice = nx.triangular_lattice_graph(size, 2 * size)
    ball = nx.ego_graph(lattice, (size // 2, size // 2), radius)
    mesh = simple(HexaMesh(radius))
    assert nx.is_isomorphic(mesh, ball)
    assert len(mesh) == 1 + 3 * radius * (radius + 1)
    assert nx.diameter(mesh) == 2 * radius


def test_hexa_mesh_against_a_square_mesh() -> None:
    """Iff et al.: 42 % less diameter and 130 % more bisection width, in the limit of large N."""
    radius = 60
    nodes = HexaMesh(radius).nodes
    assert 1 - 2 * radius / (2 * isqrt(nodes) - 2) == pytest.approx(0.42, abs=0.01)
    assert 4 * radius / nodes**0.5 - 1 == pytest.approx(1.3, abs=0.02)
    assert [width(HexaMesh(r)) for r in (1, 2)] == [5, 9]


@pytest.mark.parametrize("radius", [1, 2, 3, 4])
def test_folded_hexa_torus(radius: int) -> None:
    """Every node has six links, and each line is one ring in which no link passes over more than
    one node."""
    torus, mesh = FoldedHexaTorus(radius), HexaMesh(radius)
    assert Counter(link.node for link in torus.links()) == dict.fromkeys(range(torus.nodes), 6)
    apart = dict(nx.all_pairs_shortest_path_length(simple(mesh)))
    assert {apart[link.node][link.peer] for link in torus.links()} == {1, 2}
    for direction in range(3):
        ways = nx.MultiDiGraph(
            (link.node, link.peer) for link in torus.links() if link.port == 2 * direction
        )
        lines = nx.MultiDiGraph(
            (link.node, link.peer) for link in mesh.links() if link.port == 2 * direction
        )
        rings = {frozenset(ring) for ring in nx.weakly_connected_components(ways)}
        assert rings == {frozenset(line) for line in nx.weakly_connected_components(lines)}
        assert set(dict(ways.out_degree()).values()) == set(dict(ways.in_degree()).values()) == {1}
    assert nx.diameter(simple(torus)) == radius + 1
    if radius < 3:
        assert width(torus) == 2 * width(mesh) == 8 * radius + 2


@pytest.mark.parametrize("sizes", [(8, 4, 4), (5, 3, 1), (6, 4, 0), (7, 5, 3)], ids=str)
def test_twisted_torus(sizes: tuple[int, int, int]) -> None:
    """The integer points of the plane modulo (columns, 0) and (-twist, rows)."""
    columns, rows, twist = sizes
    expected = nx.Graph()
    for x, y, (right, up) in itertools.product(range(columns), range(rows), ((1, 0), (0, 1))):
        turns, row = divmod(y + up, rows)
        expected.add_edge((x, y), ((x + right + turns * twist) % columns, row))
    assert nx.is_isomorphic(simple(TwistedTorus(*sizes)), expected)
    if not twist:
        cycles = nx.cycle_graph(columns), nx.cycle_graph(rows)
        assert nx.is_isomorphic(expected, nx.cartesian_product(*cycles))


@pytest.mark.parametrize("a", [2, 3, 4, 6])
def test_rectangular_twisted_torus(a: int) -> None:
    """Cámara et al.: diameter a, against 3 a / 2 of a torus; and twice its bisection width."""
    twisted, torus = TwistedTorus(2 * a, a), TwistedTorus(2 * a, a, 0)
    diameters = [nx.diameter(simple(graph)) for graph in (twisted, torus)]
    assert diameters == [a, a + a // 2]
    if 2 < a < 5:
        widths = [width(graph) for graph in (twisted, torus)]
        assert widths == [4 * a, 2 * a]


@pytest.mark.parametrize(
    ("levels", "ring"), [*itertools.product((2, 3, 4, 6, 8), ("full", "open"))]
)
def test_x_tree(levels: int, ring: str) -> None:
    """networkx' binary tree, and a cycle or path through each level by distance from the root."""
    expected = nx.balanced_tree(2, levels - 1)
    away = nx.single_source_shortest_path_length(expected, 0)
    for level in range(1, levels):
        row = [node for node in expected if away[node] == level]
        nx.add_path(expected, row)
        if ring == "full":
            expected.add_edge(row[0], row[-1])
    plain = simple(XTree(levels, ring))
    assert nx.utils.graphs_equal(plain, expected)
    if levels > 3 and ring == "full":
        assert nx.diameter(plain) == 2 * levels - 4
        if levels < 6:
            assert width(XTree(levels)) == 2 * levels - 2
    assert max(dict(plain.degree()).values()) <= 5


@pytest.mark.parametrize("n", [2, 4, 8])
def test_mesh_of_trees(n: int) -> None:
    """Binary trees of networkx, glued at their leaves."""
    expected = nx.Graph()
    for tree, (one, other) in itertools.product(
        range(2 * n), nx.balanced_tree(2, int(log2(n))).edges
    ):
        names = [
            ("inner", tree, node)
            if node < n - 1
            else ((tree, node - n + 1) if tree < n else (node - n + 1, tree - n))
            for node in (one, other)
        ]
        expected.add_edge(*names)
    plain = simple(MeshOfTrees(n))
    assert len(plain) == 3 * n * n - 2 * n
    assert nx.is_isomorphic(plain, expected)
    assert nx.diameter(plain) == 4 * log2(n)
    if n < 8:
        assert width(MeshOfTrees(n)) == n


def test_generalized_chordal_rings() -> None:
    """Circulant graphs; and chordal rings of Arden and Lee, in LCF notation."""
    for nodes, chords in ((16, [4, 6]), (13, [2, 5]), (12, [6])):
        ring = GeneralizedChordalRing(nodes, ",".join(map(str, chords)))
        assert nx.utils.graphs_equal(simple(ring), nx.circulant_graph(nodes, [1, *chords]))
    heawood = GeneralizedChordalRing(14, "5/0")
    assert nx.is_isomorphic(simple(heawood), nx.heawood_graph())
    assert not nx.symmetric_difference(simple(heawood), nx.LCF_graph(14, [5, -5], 7)).edges


@pytest.mark.parametrize("nodes", [2, 5, 9])
def test_linear_array(nodes: int) -> None:
    assert nx.utils.graphs_equal(simple(LinearArray(nodes)), nx.path_graph(nodes))
    assert LinearArray(nodes).diameter == nx.diameter(nx.path_graph(nodes))


test_rejects = refusals(
    lambda words: build(words),
    ("slim-fly q=9", "Q must be an odd prime, not 9..."),
    ("polarfly q=4", "Q must be a prime, not 4..."),
    ("dragonfly groups=4", "Groups must be one more than a divisor of a h=8, not 4..."),
    ("twisted-torus twist=8", "Twist must be less than columns=8, not 8..."),
    ("mesh-of-trees n=6", "Leaves n must be a power of two, not 6..."),
    ("generalized-chordal-ring chords=4//3", "Chords must be numbers such as..."),
    ("generalized-chordal-ring chords=4/5/6", "Chords must have a period that divides nodes=16..."),
    ("generalized-chordal-ring chords=15", "Chords must lead beyond the neighbours..."),
)


ENDS = [
    (each, about.metadata["about"].least, about.name)
    for each in ENTRIES
    if isinstance(each, GraphFamily)
    for about in fields(each.graph)
    if about.metadata.get("about", Parameter("")).least is not None
]


@pytest.mark.parametrize(("family", "least", "name"), ENDS)
def test_fields_say_what_a_graph_allows(family: GraphFamily, least: int, name: str) -> None:
    with pytest.raises(
        ValueError, match=rf" must be (at least|from) {least}\b.*, not {least - 1}$"
    ):
        family.graph(**{**family.example, name: least - 1})
