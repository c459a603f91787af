# amaranth: UnusedElaboratable=no
"""Networks of any graph: tables, links of several cycles, switching, and what is refused."""

import itertools
import random
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import networkx as nx
import pytest
from long_runs import long
from multicube.hdl import build
from multicube.hdl.networks import GraphNetwork
from multicube.hdl.networks.routed import RoutedNetwork
from multicube.hdl.routing.deadlock import deadlock_cycle
from multicube.hdl.routing.relation import Relation, RoutedGraph
from multicube.hdl.topology.conversion import from_networkx
from multicube.hdl.topology.graph import Channel, Link
from multicube.sim import Result, Trace, TracePacket, simulate

SEED = 5


class SpanningTree(Relation):
    """Packets follow a spanning tree of a graph: never in a cycle."""

    def __init__(self, given: nx.Graph) -> None:
        self.given = nx.convert_node_labels_to_integers(given)

    @cached_property
    def graph(self) -> Any:
        return from_networkx(self.given)

    @cached_property
    def nexts(self) -> dict[int, dict[int, int]]:
        """By destination, the node after each node."""
        tree = nx.minimum_spanning_tree(self.given, weight="missing")
        return {to: nx.predecessor(tree, to) for to in tree}

    def route(self, node: int, came: Channel | None, destination: int) -> Iterator[Channel]:
        home = self.graph.homes[destination]
        if node != home:
            (beyond,) = self.nexts[home][node]
            (link,) = [
                link
                for link in self.graph.by_output.values()
                if (link.node, link.peer) == (node, beyond)
            ]
            for number in range(link.channels):
                yield Channel(node, link.port, number)

    @property
    def ordered(self) -> bool:
        return all(link.channels == 1 for link in self.graph.links())


class Line(RoutedGraph):
    """Nodes in a row, with a link in each direction."""

    def __init__(self, nodes: int, latency: int) -> None:
        self.count, self.cycles = nodes, latency

    @property
    def nodes(self) -> int:
        return self.count

    def links(self) -> Iterator[Link]:
        for node in range(self.count - 1):
            up = node > 0
            yield Link(node, int(up), node + 1, 0, latency=self.cycles)
            yield Link(node + 1, 0, node, int(up), latency=self.cycles)

    def route(self, node: int, came: Channel | None, destination: int) -> Iterator[Channel]:
        if destination > node:
            yield Channel(node, int(node > 0))
        elif destination < node:
            yield Channel(node, 0)


def check(network: RoutedNetwork, **options: Any) -> Result:
    """A run whose books balance."""
    print("seed", SEED)
    given: dict[str, Any] = {"cycles": 400, "warmup": 0, "bins": 64, "source_depth": 4}
    result = simulate(network, seed=SEED, **given | options)
    assert (result.lost, result.misrouted, result.duplicated, result.damaged) == (0, 0, 0, 0)
    assert result.injected == result.delivered > 0
    assert not network.ordered or result.reordered == 0
    return result


def irregular(seed: int) -> nx.Graph:
    """A connected graph of 8 nodes: some without terminals, some with two, links of all kinds."""
    generator = random.Random(seed)
    given = nx.random_labeled_tree(8, seed=seed)
    given.add_edges_from(generator.sample(list(itertools.combinations(range(8), 2)), 6))
    for node in given:
        given.nodes[node]["terminals"] = generator.choice((1, 1, 2, 0))
    for edge in given.edges:
        given.edges[edge]["channels"] = generator.choice((1, 2, 3))
        given.edges[edge]["latency"] = generator.choice((1, 1, 2, 4))
    return given


@pytest.mark.parametrize("switching", ["wormhole", "cut-through", "store-and-forward"])
@pytest.mark.parametrize("seed", [1, long(2), long(3)])
def test_irregular_graphs(seed: int, switching: str) -> None:
    """Under load, everything arrives; both engines agree."""
    relation = SpanningTree(irregular(seed))
    network = GraphNetwork(graph=relation, switching=switching, depth=6, length="1:4")
    assert deadlock_cycle(network) is None
    check(network, load=0.3, cycles=1500, engine="compiled")
    records = [
        check(network, load=0.1, cycles=60, engine=engine).to_json()
        for engine in ("amaranth", "compiled")
    ]
    assert [record.pop("engine") for record in records] == ["amaranth", "compiled"]
    assert {type(record["parameters"].pop("graph")) for record in records} == {SpanningTree}
    assert records[0] == records[1]


@pytest.mark.parametrize("arbiter", ["fixed", "random", "least-recent"])
def test_arbiters_in_a_network(arbiter: str) -> None:
    check(build("torus", k=3, arbiter=arbiter, length="1:4"), load=0.3, engine="compiled")


def alone(network: RoutedNetwork, source: int, destination: int, length: int) -> float:
    """Latency of a packet that is alone."""
    trace = Trace("alone", (TracePacket(0, source, destination, length),))
    result = simulate(network, traffic=trace, bins=64, engine="compiled")
    assert result.delivered == 1
    assert result.network_latency.mean is not None
    return result.network_latency.mean


@pytest.mark.parametrize("latency", [1, 2, 3, 5])
@pytest.mark.parametrize(("decision", "length"), [(1, 1), (2, 6)])
def test_latency_of_links_and_switching(latency: int, decision: int, length: int) -> None:
    """Over h links of L cycles: h (D_t + L - 1) + B; a stored packet costs its length at each of
    the h + 1 routers; depth lets it run at full rate."""
    size = {"depth": max(2 * latency, length), "decision": decision, "length": length}
    for switching, hops in itertools.product(("wormhole", "store-and-forward"), (0, 1, 3)):
        network = GraphNetwork(graph=Line(4, latency), switching=switching, **size)
        measured = alone(network, 0, hops, length)
        expected = hops * (decision - 1 + latency - 1) + hops + length
        if switching == "store-and-forward":
            # The decision is made while the rest of the packet arrives.
            wait = max(length, decision)
            expected = hops * (wait + latency - 1) + length + length - 1
        assert measured == expected, (switching, hops)
        assert network.zero_load_cycles + length >= measured


@pytest.mark.parametrize("latency", [1, 2, 4])
def test_a_link_runs_at_full_rate_if_the_queue_holds_the_round_trip(latency: int) -> None:
    """One flit per cycle with 2 L places; with fewer, as many flits as places in 2 L cycles."""
    for depth in range(1, 2 * latency + 2):
        network = GraphNetwork(graph=Line(2, latency), depth=depth, length=64)
        rounds, rest = divmod(63, min(depth, 2 * latency))
        last = 2 * latency * rounds + rest
        assert depth < 2 * latency or last == 63
        assert alone(network, 0, 1, 64) == latency + 1 + last, depth
