"""Fat trees, HyperX, dragonflies, Kautz and de Bruijn graphs, express meshes."""

import itertools
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import replace
from statistics import fmean

import networkx as nx
import pytest
from long_runs import long
from multicube.hdl import build
from multicube.hdl.families.de_bruijn_kautz_graph import DeBruijn, Kautz
from multicube.hdl.families.dragonfly_graph import Dragonfly
from multicube.hdl.families.express_mesh_graph import ExpressMesh
from multicube.hdl.families.fat_tree.fat_tree_graph import FatTree
from multicube.hdl.families.hyperx_graph import HyperX
from multicube.hdl.graphs.conversion import to_networkx
from multicube.hdl.graphs.listed_graph import check_graph
from multicube.hdl.graphs.routing.relation import RoutedGraph
from multicube.hdl.graphs.routing.survey import survey
from multicube.sim import simulate

GRAPHS: list[RoutedGraph] = [
    *(FatTree(k, n, "any") for k, n in ((2, 1), (2, 2), (2, 4), (3, 3), (4, 2))),
    *(FatTree(k, n, "fixed") for k, n in ((2, 3), (3, 2))),
    *(HyperX(k, n) for k, n in ((2, 1), (2, 3), (3, 2), (4, 2), (5, 1))),
    HyperX(3, 2, 1),
    *(Dragonfly(*sizes) for sizes in ((1,), (2,), (1, 3, 2), (2, 2, 1), (3, 2, 1))),
    *(Kautz(d, n) for d, n in ((2, 2), (2, 4), (3, 3), (4, 2))),
    *(DeBruijn(d, n) for d, n in ((2, 2), (2, 5), (3, 3), (4, 2))),
    *(ExpressMesh(k, n, i) for k, n, i in ((2, 2, 2), (8, 1, 4), (7, 2, 3), (9, 2, 2), (4, 3, 3))),
]
every = pytest.mark.parametrize("graph", GRAPHS, ids=str)


def simple(graph: RoutedGraph) -> nx.DiGraph:
    return nx.DiGraph(to_networkx(graph))


def hops(graph: RoutedGraph) -> dict[tuple[int, int], int]:
    """Links between all pairs of terminals."""
    pairs = itertools.product(range(len(graph.homes)), repeat=2)
    return {pair: len(graph.path(*pair)) - 1 for pair in pairs}


@every
def test_free_of_deadlock(graph: RoutedGraph) -> None:
    """The descriptions say so of any size."""
    check_graph(graph)
    assert graph.deadlock_free
    assert survey(graph).cycle is None


@every
def test_links_and_channels_are_used(graph: RoutedGraph) -> None:
    """All links, and no link has more channels than any needs."""
    links = list(graph.links())
    turns = survey(graph).turns
    used = {(node, *turn.output) for node in turns for turn in turns[node] if turn.output}
    assert {(link.node, link.port) for link in links} == {end[:2] for end in used}
    for count in {link.channels for link in links}:
        ends = {(link.node, link.port) for link in links if link.channels == count}
        assert {end[2] for end in used if end[:2] in ends} == {*range(count)}


@pytest.mark.one_in(3)
@every
def test_paths_are_the_shortest(graph: RoutedGraph) -> None:
    """But in dragonflies, which take one global link, and express meshes, which never go back."""
    plain = simple(graph)
    shortest = dict(nx.all_pairs_shortest_path_length(plain))
    for (source, destination), length in hops(graph).items():
        best = shortest[graph.homes[source]][graph.homes[destination]]
        if isinstance(graph, Dragonfly):
            assert best <= length <= 3
        elif isinstance(graph, ExpressMesh):
            there = monotone(graph, source, destination)
            assert best <= length == there
        else:
            assert length == best


def monotone(graph: ExpressMesh, source: int, destination: int) -> int:
    """By dynamic programming over the positions between the two, in each dimension."""
    total = 0
    for i in range(graph.n):
        low, high = sorted(place // graph.k**i % graph.k for place in (source, destination))
        steps = {low: 0}
        for place in range(low + 1, high + 1):
            steps[place] = steps[place - 1] + 1
            before = place - graph.interval
            if before in steps and place % graph.interval == 0:
                steps[place] = min(steps[place], steps[before] + 1)
        total += steps[high]
    return total


@pytest.mark.parametrize(("k", "n"), [(2, 3), (3, 2), (4, 2), (2, 4)])
def test_fat_tree(k: int, n: int) -> None:
    """Petrini and Vanneschi: n k^(n-1) switches; <w, l> and <w', l + 1> are linked if w and w'
    differ in digit l at most. Two terminals with d digits in common from the top have k^(n-d-1)
    shortest ways. If the destination selects the way up, all packets for it turn at one switch."""
    tree, fixed = FatTree(k, n), FatTree(k, n, "fixed")
    turns = defaultdict(set)
    plain = simple(tree)
    width = k ** (n - 1)
    assert len(plain) == n * width
    for low, high in itertools.product(range(n * width), repeat=2):
        (level, one), (above, other) = divmod(low, width), divmod(high, width)
        rest = [(w // k ** (level + 1), w % k**level) for w in (one, other)]
        linked = above == level + 1 and rest[0] == rest[1]
        assert plain.has_edge(low, high) == plain.has_edge(high, low) == linked or above <= level
    for source, destination in itertools.product(range(k**n), repeat=2):
        ends = source // k, destination // k
        common = next(d for d in range(n) if ends[0] // k**d == ends[1] // k**d)
        assert len(tree.path(source, destination)) - 1 == 2 * common
        ways = list(nx.all_shortest_paths(plain, *ends))
        assert len(ways) == k**common
        turns[destination, common].add(fixed.path(source, destination)[common])
    assert {len(switches) for switches in turns.values()} == {1}


@pytest.mark.parametrize("graph", [one for one in GRAPHS if isinstance(one, FatTree)], ids=str)
def test_what_a_fat_tree_says_is_what_all_headers_do(graph: FatTree) -> None:
    found = survey(graph)
    assert graph.diameter == found.diameter
    assert {node: set(turns) for node, turns in graph.turns().items()} == found.turns


@pytest.mark.parametrize(("k", "n"), [(2, 3), (3, 2), (4, 2), (5, 1)])
def test_hyperx(k: int, n: int) -> None:
    """The product of n complete graphs."""
    product = nx.complete_graph(k)
    for _ in range(n - 1):
        product = nx.cartesian_product(product, nx.complete_graph(k))
    assert nx.is_isomorphic(nx.Graph(simple(HyperX(k, n))), product)
    assert Counter(HyperX(k, n).homes) == dict.fromkeys(range(k**n), k)
    assert len(HyperX(k, n, 1).homes) == k**n


@pytest.mark.parametrize("graph", [one for one in GRAPHS if isinstance(one, Dragonfly)], ids=str)
def test_dragonfly(graph: Dragonfly) -> None:
    """One global link between any two groups, by the rule of the palmtree; a complete graph within.

    Camarero, Vallejo and Beivide: in group G, node r's link j leads to group G - (h r + j + 1).
    """
    a, h, groups = graph.a, graph.h, graph.groups
    assert groups == a * h + 1
    pairs = Counter()
    for link in graph.links():
        (group, own), (other, _) = divmod(link.node, a), divmod(link.peer, a)
        if group != other:
            pairs[group, other] += 1
            assert (group - other) % groups == h * own + (link.port - (a - 1)) + 1
        back = [one for one in graph.links() if (one.node, one.peer) == (link.peer, link.node)]
        assert len(back) == 1
    assert pairs == dict.fromkeys(itertools.permutations(range(groups), 2), 1)
    degrees = dict(simple(graph).out_degree())
    assert set(degrees.values()) == {a - 1 + h}


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("kind", "d"), [(Kautz, 2), (Kautz, 3), (DeBruijn, 2), long(DeBruijn, 3)])
def test_kautz_and_de_bruijn_are_line_graphs(kind: Callable, d: int) -> None:
    """Each is the line graph of the next smaller one, from a complete graph on; de Bruijn graphs
    with links from nodes to themselves, which the network leaves out."""
    loops = kind is DeBruijn
    expected = nx.complete_graph(d if loops else d + 1, nx.DiGraph)
    if loops:
        expected.add_edges_from((node, node) for node in range(d))
    for n in range(2, 5):
        expected = nx.line_graph(expected)
        plain = expected.copy()
        plain.remove_edges_from(list(nx.selfloop_edges(plain)))
        assert nx.is_isomorphic(simple(kind(d, n)), plain)
        assert kind(d, n).nodes == (d**n if loops else (d + 1) * d ** (n - 1))


def test_express_mesh() -> None:
    plain = simple(ExpressMesh(8, 1, 4))
    steps = {(node, node + 1) for node in range(7)} | {(0, 4)}
    assert set(plain.edges) == steps | {(b, a) for a, b in steps}
    far = replace(ExpressMesh(8, 1, 4), latency=3)
    assert {link.latency for link in far.links() if link.port > 1} == {3}
    assert far.path(1, 7) == ExpressMesh(8, 1, 4).path(1, 7)


MEAN_HOPS = {
    # Two thirds of the digits differ, of two thirds that of the highest too, ...
    "fat-tree k=2 n=4": sum(2 * d * (2 ** (d - 1)) / 8 for d in (1, 2, 3)),
    "hyperx k=4 n=2": 2 * 3 / 4,
    # In 8 of 9 groups: one link, and before and behind it one more in 3 cases of 4.
    "dragonfly h=2": 8 / 9 * (1 + 2 * 3 / 4) + 1 / 9 * 3 / 4,
}


@pytest.mark.long
@pytest.mark.parametrize(
    "words", [words if words.startswith("fat-tree") else long(words) for words in MEAN_HOPS]
)
def test_zero_load_latency(words: str) -> None:
    """Mean links by formula, of paths and in a run, plus a cycle for each flit at the end."""
    network = build(f"{words} length=4")
    expected = MEAN_HOPS[words]
    assert fmean(hops(network.relation).values()) == pytest.approx(expected)
    result = simulate(network, load=0.005, seed=3, cycles=6000)
    assert result.latency.mean == pytest.approx(expected + 4, rel=0.05)


@pytest.mark.long
def test_any_routing(call: Callable) -> None:
    """A routing for any graph in place of the network's own."""
    own, other = build("hyperx k=3"), build("hyperx k=3 routing=up-down")
    assert own.relation is not other.relation
    result = simulate(other, load=0.1, seed=3, cycles=1000)
    assert result.delivered > 0
