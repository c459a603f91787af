"""What Stanfill's survey is made of: graphs of multistage networks, shares of paths, cut links."""

import itertools
import random
from collections.abc import Iterator

import numpy as np
import pytest
from long_runs import long
from multicube.hdl import PacketNetwork, build
from multicube.hdl.fabric.errors import InvalidValue
from multicube.hdl.fabric.pins import Pin
from multicube.hdl.families.hypercube.hypercube_graph import RoutedHypercube
from multicube.hdl.graphs.graph import Channel
from multicube.hdl.graphs.listed_graph import check_graph
from multicube.hdl.graphs.plans.multistage_graph import MultistageGraph
from multicube.hdl.graphs.plans.named_plans import PLANS, multistage_plan
from multicube.hdl.graphs.routing.relation import Relation
from multicube.hdl.graphs.routing.survey import survey
from multicube.sim.measure.path_shares import path_shares
from multicube.sim.measure.worst_permutation import heavy_permutations
from multicube.sim.papers.stanfill.survey_of_networks import ENTRIES, Entry, costs, relation_of
from multicube.sim.run.single_faults import QuietPaths, delivered_in_turn, pins_of
from multicube.sim.workload.faults import cut


@pytest.mark.parametrize("name", PLANS)
@pytest.mark.parametrize(("ports", "radix"), [(8, 2), (9, 3), (4, 4)])
def test_graph_of_a_multistage_network(name: str, ports: int, radix: int) -> None:
    """Its paths are those of the plan."""
    plan = multistage_plan(name, ports, radix)
    graph = MultistageGraph(plan)
    check_graph(graph)
    survey(graph)
    for source, destination in itertools.product(range(ports), repeat=2):
        hops = [(divmod(c.node, plan.boxes), c.port) for c in graph.path(source, destination)]
        expected = [((hop.stage, hop.box), hop.output) for hop in plan.path(source, destination)]
        assert hops[:-1] == expected[:-1]
        assert hops[-1][0] == expected[-1][0]


SMALL = ("clos n=2 r=2", "fat-tree k=2 n=3", "torus k=3 n=2", "ring k=5 n=1", "tree nodes=7")
DESCRIPTIONS = [
    *(build(words).relation for words in SMALL),
    RoutedHypercube(3, "adaptive"),
    MultistageGraph(multistage_plan("omega", 8)),
]


def ways(relation: Relation, source: int, destination: int) -> Iterator[list[tuple[int, int]]]:
    """All paths, by trying every choice."""
    start: tuple[int, Channel | None, list] = (relation.graph.homes[source], None, [])
    waiting = [start]
    while waiting:
        node, came, taken = waiting.pop()
        nexts = relation.choices(node, came, destination)
        if not nexts:
            yield taken
        for channel in nexts:
            peer = relation.graph.link_of(channel).peer
            waiting.append((peer, channel, [*taken, (channel.node, channel.port)]))


@pytest.mark.parametrize("relation", DESCRIPTIONS, ids=str)
def test_shares_of_paths(relation: Relation) -> None:
    """Links and nodes on some path, and on all, by listing all paths."""
    shares = path_shares(relation)
    ports = relation.ports
    cut_links, cut_nodes = np.zeros(len(shares.ends)), np.zeros(relation.graph.nodes)
    for pair in itertools.product(range(ports), repeat=2):
        paths = [set(path) for path in ways(relation, *pair)]
        some, all_ = set.union(*paths), set.intersection(*paths)
        found = shares.links[:, *pair]
        assert {shares.ends[i] for i in np.flatnonzero(found)} == some
        if pair[0] != pair[1]:
            cut_links += [end in all_ for end in shares.ends]
            home = relation.graph.homes[pair[0]]
            visited = [
                {home} | {relation.graph.by_output[end].peer for end in path} for path in paths
            ]
            cut_nodes += np.isin(np.arange(len(cut_nodes)), [*set.intersection(*visited)])
    pairs = ports * (ports - 1)
    assert shares.cut_by_links.tolist() == (cut_links / pairs).tolist()
    assert shares.cut_by_nodes.tolist() == (cut_nodes / pairs).tolist()
    # From each node that it enters, a packet goes on or leaves.
    assert np.allclose(shares.nodes.sum(axis=0) - shares.links.sum(axis=0), 1)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("words", ["ring k=6 n=1", "tree nodes=7", "clos n=2 r=3"])
def test_heaviest_permutation(words: str) -> None:
    """No permutation loads a link more, of all that there are."""
    relation = build(words).relation
    assert relation is not None
    shares = path_shares(relation).links
    rows = np.arange(relation.ports)
    found = heavy_permutations(shares, 4)
    assert all(sorted(one) == rows.tolist() for one in found)
    most = max(shares[:, rows, one].sum(axis=1).max() for one in itertools.permutations(rows))
    assert shares[:, rows, found[0]].sum(axis=1).max() == pytest.approx(most)


BROKEN = [
    "clos n=2 r=2",
    *map(long, ("mesh k=3 n=2", "fat-tree k=2 n=3", "hypercube n=3 routing=adaptive")),
    *map(
        long,
        (
            "torus k=3 n=2",
            "ring k=5 n=1",
            "leiserson-fat-tree levels=3 parallel=any",
            "bus ports=4",
        ),
    ),
]


@pytest.mark.long
@pytest.mark.parametrize("words", BROKEN)
@pytest.mark.parametrize("seed", [1])
def test_dead_link(words: str, seed: int) -> None:
    """In the hardware as many packets arrive as predicted, for several links and random orders."""
    chance = random.Random(seed)
    network = build(words)
    assert isinstance(network, PacketNetwork)
    relation = network.relation
    assert relation is not None
    shares, paths = path_shares(relation), QuietPaths(relation)
    pairs = [*itertools.permutations(range(network.ports), 2)]
    for end in shares.ends[:: max(1, len(shares.ends) // 2)]:
        chance.shuffle(pairs)
        expected = paths.arriving(pairs, end, network.parameters["depth"])
        pins = pins_of(network, relation, shares, end)
        assert delivered_in_turn(network, pairs, pins, "compiled") == len(expected)


def test_cut_needs_a_link() -> None:
    fabric = build("mesh k=2 n=2").fabric
    for pin in (Pin("router_0", ("i", 0)), Pin("table_0", ("exits", 0))):
        with pytest.raises(InvalidValue):
            cut(fabric, [pin])


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_costs(entry: Entry) -> None:
    """The formulas of the survey are exact."""
    for size in (16, 64):
        relation = relation_of(entry, size)
        wires, _, crosspoints = costs(relation)
        found = entry.wires[1](relation.ports), entry.crosspoints[1](relation.ports)
        assert (wires, crosspoints) == found
