# amaranth: UnusedElaboratable=no
"""Routing algorithms for any graph, as data: paths, layers, balance, freedom from deadlock."""

import itertools
from collections import Counter
from collections.abc import Iterator

import networkx as nx
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from multicube.hdl.graphs.conversion import from_networkx
from multicube.hdl.graphs.graph import Channel, Graph, Link
from multicube.hdl.graphs.listed_graph import ListedGraph
from multicube.hdl.graphs.routing.acyclic import AcyclicGraph
from multicube.hdl.graphs.routing.adaptive import Adaptive
from multicube.hdl.graphs.routing.algorithms import ALGORITHMS, relation_for
from multicube.hdl.graphs.routing.relation import Relation
from multicube.hdl.graphs.routing.survey import survey
from multicube.hdl.graphs.routing.up_down import UpDown

SAFE = [name for name in ALGORITHMS if name not in ("shortest", "minimal")]


@st.composite
def irregular(draw: st.DrawFn, most: int = 20) -> nx.Graph:
    """A connected graph of 8 to 20 nodes: a random tree and some more edges; nodes have 0 to 2
    terminals, and links 1 to 3 channels."""
    nodes = draw(st.integers(8, most))
    given = nx.Graph()
    for node in range(nodes):
        given.add_node(node, terminals=draw(st.sampled_from((1, 1, 1, 2, 0))) if node > 1 else 1)
    for node in range(1, nodes):
        given.add_edge(node, draw(st.integers(0, node - 1)))
    pairs = list(itertools.combinations(range(nodes), 2))
    given.add_edges_from(draw(st.lists(st.sampled_from(pairs), max_size=2 * nodes)))
    for edge in given.edges:
        given.edges[edge]["channels"] = draw(st.sampled_from((1, 1, 2, 3)))
    return given


def walked(relation: Relation, header: int) -> dict[tuple[int, Channel | None], list[Channel]]:
    """All places where a header can be, and what it may take there: only by `route`."""
    graph = relation.graph
    peers = {(link.node, link.port): link for link in graph.links()}
    found: dict[tuple[int, Channel | None], list[Channel]] = {}
    waiting: list[tuple[int, Channel | None]] = [(home, None) for home in graph.homes]
    while waiting:
        place = waiting.pop()
        if place not in found:
            found[place] = list(relation.route(*place, header))
            for channel in found[place]:
                link = peers[channel.node, channel.port]
                assert channel.node == place[0]
                assert channel.number < link.channels
                waiting.append((link.peer, channel))
    return found


def dependencies(relation: Relation) -> nx.DiGraph:
    """Which escape channel a worm may hold while it waits for which other one."""
    waits = nx.DiGraph()
    for destination in range(relation.ports):
        for header in relation.headers(destination):
            places = walked(relation, header)
            after = {came: nexts for (_, came), nexts in places.items() if came is not None}
            own = nx.DiGraph([(one, other) for one in after for other in after[one]])
            for held in [one for one in own if relation.is_escape(one)]:
                # It may have crossed any number of other channels since.
                others = [one for one in own if one == held or not relation.is_escape(one)]
                reached = {held} | nx.descendants(own.subgraph(others), held)
                waits.add_edges_from(
                    (held, wanted)
                    for one in reached
                    for wanted in own.successors(one)
                    if relation.is_escape(wanted)
                )
    return waits


def test_links_of_one_level_lead_up_or_down() -> None:
    """In a wheel all nodes but the root have distance 1 from it: its rim must not be a cycle."""
    relation = relation_for(from_networkx(nx.wheel_graph(9)), "up-down")
    assert nx.is_directed_acyclic_graph(dependencies(relation))


@pytest.mark.parametrize("routing", ALGORITHMS)
@settings(max_examples=6, deadline=None, derandomize=True, phases=[Phase.generate])
@given(given_graph=irregular())
def test_every_packet_arrives_and_no_cycle_is_left(routing: str, given_graph: nx.Graph) -> None:
    """All headers end at their terminal, whatever they choose. Networkx finds no cycle of channels,
    and with shortest paths it agrees about whether there is one."""
    if routing in ("valiant", "ugal"):
        given_graph = given_graph.subgraph(range(8)).copy()
        nx.add_path(given_graph, range(8))
    relation = relation_for(from_networkx(given_graph), routing)
    for destination in range(relation.ports):
        for header in relation.headers(destination):
            places = walked(relation, header)
            assert {
                (node, came): sorted(nexts) for node, came, nexts in relation.steps(header)
            } == {place: sorted(nexts) for place, nexts in places.items()}
            ends = {node for (node, _), nexts in places.items() if not nexts}
            assert ends == {relation.graph.homes[destination]}
            steps = nx.DiGraph(
                [(came or "start", after) for (_, came), nexts in places.items() for after in nexts]
            )
            assert nx.is_directed_acyclic_graph(steps)
            for (_, came), nexts in places.items():
                free = came is None or not relation.is_escape(came)
                assert not nexts or not free or any(map(relation.is_escape, nexts))
    found = survey(relation)
    assert nx.is_directed_acyclic_graph(dependencies(relation)) == (found.cycle is None)
    assert found.cycle is None or routing not in SAFE
    assert relation.deadlock() == found.cycle
    assert relation.turns() == found.turns
    assert relation.diameter == found.diameter
    ends = {(node, turn.output) for node, own in found.turns.items() for turn in own}
    for link in relation.graph.links():
        for channel in link.each_channel():
            assert relation.carries(channel) == ((link.node, (link.port, channel.number)) in ends)


@settings(max_examples=8, deadline=None, derandomize=True, phases=[Phase.generate])
@given(given_graph=irregular())
def test_paths_are_shortest(given_graph: nx.Graph) -> None:
    """Of all kinds, for all pairs; and with up-down, the shortest legal ones."""
    graph = from_networkx(given_graph)
    away = dict(nx.all_pairs_shortest_path_length(given_graph))
    pairs = list(itertools.product(range(len(graph.homes)), repeat=2))
    for routing in ("shortest", "layered"):
        relation = relation_for(graph, routing)
        for source, to in pairs:
            path = relation.path(source, to)
            assert len(path) - 1 == away[graph.homes[source]][graph.homes[to]]
            assert len({channel.number % relation.layers for channel in path[:-1]}) <= 1
    adaptive = Adaptive(graph)
    for to, home in enumerate(graph.homes):
        for (node, came), nexts in walked(adaptive, to).items():
            peers = {c: adaptive.graph.link_of(c).peer for c in nexts}
            assert all(away[peer][home] == away[node][home] - 1 for peer in peers.values())
            if came is None or not adaptive.is_escape(came):
                nearer = {n for n in given_graph[node] if away[n][home] < away[node][home]}
                assert {peers[c] for c in nexts if not adaptive.is_escape(c)} == nearer
    up_down = UpDown(graph)
    order = sorted(given_graph, key=lambda node: (away[up_down.root][node], node))
    legal = nx.DiGraph()
    for one, other in given_graph.to_directed().edges:
        if order.index(other) < order.index(one):
            legal.add_edge((one, "up"), (other, "up"))
        else:
            legal.add_edge((one, "up"), (other, "down"))
            legal.add_edge((one, "down"), (other, "down"))
    for source, to in pairs:
        start, home = graph.homes[source], graph.homes[to]
        lengths = nx.single_source_shortest_path_length(legal, (start, "up"))
        best = min(lengths.get((home, way), 99) for way in ("up", "down"))
        assert len(up_down.path(source, to)) - 1 == best


LAYERS = {
    "tree": (nx.random_labeled_tree(15, seed=1), 1),
    "star": (nx.star_graph(9), 1),
    "complete": (nx.complete_graph(9), 1),
    "ring of 3": (nx.cycle_graph(3), 1),
    "ring of 5": (nx.cycle_graph(5), 2),
    "ring of 12": (nx.cycle_graph(12), 2),
    "torus": (nx.grid_2d_graph(4, 4, periodic=True), 2),
}


@pytest.mark.parametrize("name", LAYERS)
def test_number_of_layers(name: str) -> None:
    """Trees and paths of one link need one; rings two, as with a dateline."""
    given_graph, layers = LAYERS[name]
    graph = from_networkx(given_graph)
    relation = relation_for(graph, "layered")
    assert relation.layers == layers
    assert {link.channels for link in relation.graph.links()} == {layers}
    assert relation_for(graph, "adaptive").layers in (layers, layers + 1)
    assert relation_for(graph, "valiant").layers == 2 * layers
    # Further channels of a layer are dealt to the terminals.
    wide = relation_for(graph, "layered", channels=3 * layers)
    used = {
        channel.number
        for source, to in itertools.product(range(wide.ports), repeat=2)
        for channel in wide.path(source, to)[:-1]
    }
    assert used <= set(range(3 * layers))
    assert {number for number in used if number % layers == 0} == set(range(0, 3 * layers, layers))


def heaviest(graph: Graph, paths: Iterator[list[Channel]]) -> int:
    """Most paths over one link."""
    return max(Counter((c.node, c.port) for path in paths for c in path[:-1]).values())


def test_shortest_paths_are_spread() -> None:
    """The most loaded link has fewer paths than if each header took the lowest port."""
    loads = []
    for seed in range(1, 9):
        given_graph = nx.random_regular_graph(4, 18, seed=seed)
        graph = from_networkx(given_graph)
        relation = relation_for(graph, "shortest")
        adaptive = Adaptive(graph)
        pairs = list(itertools.product(range(18), repeat=2))

        def lowest(source: int, to: int, relation: Adaptive = adaptive) -> list[Channel]:
            """The path by the lowest port that leads nearer."""
            return relation.path(source, to)

        spread = heaviest(graph, (relation.path(*pair) for pair in pairs))
        single = heaviest(graph, (lowest(*pair) for pair in pairs))
        loads.append((spread, single))
    print(loads)
    assert sum(spread for spread, _ in loads) < 0.9 * sum(single for _, single in loads)
    assert all(spread <= single for spread, single in loads)
    # All links of these could have the same load.
    for given_graph, least in ((nx.hypercube_graph(4), 8), (LAYERS["torus"][0], 8)):
        graph = from_networkx(given_graph)
        relation = relation_for(graph, "shortest")
        pairs = list(itertools.product(range(16), repeat=2))
        assert least <= heaviest(graph, (relation.path(*pair) for pair in pairs)) <= 1.4 * least


def test_acyclic_graphs_agree_with_networkx() -> None:
    """Random edges, some at a time: added together unless they close a cycle."""

    @settings(max_examples=100, deadline=None, derandomize=True)
    @given(st.lists(st.lists(st.tuples(*[st.integers(0, 8)] * 2), max_size=4), max_size=15))
    def check(groups: list[list[tuple[int, int]]]) -> None:
        ours, theirs = AcyclicGraph[int](), nx.DiGraph()
        for edges in groups:
            wanted = nx.DiGraph([*theirs.edges, *edges])
            assert ours.add(edges) == nx.is_directed_acyclic_graph(wanted)
            if nx.is_directed_acyclic_graph(wanted):
                theirs = wanted

    check()


def one_way_ring(nodes: int) -> ListedGraph:
    return ListedGraph(nodes, [Link(node, 0, (node + 1) % nodes, 0) for node in range(nodes)])


def test_one_way_links() -> None:
    """Layers do with links in one direction; up-down does not."""
    relation = relation_for(one_way_ring(5), "layered")
    # The five longest paths have three turns each, and of any two turns some path has both. So two
    # layers are too few, since each must lack one of the five turns.
    assert relation.layers == 3
    assert survey(relation).cycle is None
    with pytest.raises(
        ValueError,
        match=r"^There is no way from node \d to terminal \d that goes first up and then down; "
        r"routing=up-down needs links in both directions$",
    ):
        relation_for(one_way_ring(5), "up-down")


def test_relation_for_rejects() -> None:
    graph = from_networkx(nx.cycle_graph(6))
    with pytest.raises(ValueError, match=r"^Routing must be one of shortest, .*, not 'random'$"):
        relation_for(graph, "random")
    with pytest.raises(
        ValueError,
        match=r"^Channels must be at least 4 with routing=valiant in this graph, not 3$",
    ):
        relation_for(graph, "valiant", channels=3)
    apart = from_networkx(nx.empty_graph(3))
    for routing in ALGORITHMS:
        with pytest.raises(ValueError, match=r"^There is no way from node 0 to terminal 1"):
            relation_for(apart, routing)
