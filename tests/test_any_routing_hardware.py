# amaranth: UnusedElaboratable=no
"""Routing algorithms for any graph in hardware: latency, engines, saturation, detours, deadlock."""

import itertools
import random
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from driving import transport
from long_runs import long
from multicube.hdl import GraphNetwork, write_verilog
from multicube.hdl.graphs.routing.algorithms import ALGORITHMS
from multicube.hdl.links.packet import Packet
from multicube.hdl.routers.detour import RandomDetour, detoured
from multicube.sim import Result, SimulationError, Trace, TracePacket, simulate
from verilog_tools import assert_lint_free, check_with_yosys

SEED = 11
SAFE = [name for name in ALGORITHMS if name not in ("shortest", "minimal")]
ENGINES = ("amaranth", "compiled")


def irregular(seed: int, nodes: int = 9) -> nx.Graph:
    """A random tree and some more edges; nodes without terminals, or with two; slow links."""
    generator = random.Random(seed)
    given = nx.random_labeled_tree(nodes, seed=seed)
    given.add_edges_from(generator.sample(list(itertools.combinations(range(nodes), 2)), nodes))
    for node in given:
        given.nodes[node]["terminals"] = generator.choice((1, 1, 1, 2, 0))
    for edge in given.edges:
        given.edges[edge]["latency"] = generator.choice((1, 1, 1, 3))
    return given


class SeededDetour(wiring.Component):
    """A `RandomDetour` with a seed, between arrays of one port."""

    def __init__(self, packet: Packet, terminals: int, seed: int) -> None:
        self.detour, self.seed = RandomDetour(packet, terminals=terminals), seed
        ports = {"i": In(stream.Signature(packet)), "o": Out(stream.Signature(detoured(packet)))}
        super().__init__({name: port.array(1) for name, port in ports.items()})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.detour = self.detour
        m.d.comb += self.detour.seed.eq(self.seed)
        wiring.connect(m, wiring.flipped(self.i[0]), self.detour.i)
        wiring.connect(m, wiring.flipped(self.o[0]), self.detour.o)
        return m


def links(network: GraphNetwork, source: int, to: int) -> list[int]:
    """The latencies of the links on the path of a packet."""
    graph = network.relation.graph
    return [graph.link_of(channel).latency for channel in network.relation.path(source, to)[:-1]]


def alone(network: GraphNetwork, length: int, engine: str) -> Result:
    """One packet for each pair of terminals, each after the one before it has arrived."""
    pairs = itertools.product(range(network.ports), repeat=2)
    packets = tuple(TracePacket(80 * n, *pair, length) for n, pair in enumerate(pairs))
    result = simulate(network, traffic=Trace("pairs", packets), bins=96, engine=engine)
    assert result.delivered == len(packets)
    assert result.misrouted == result.damaged == 0
    return result


@pytest.mark.long
@pytest.mark.parametrize("engine", [long("amaranth"), "compiled"])
@pytest.mark.parametrize(
    "routing",
    [name if name == "layered" else long(name) for name in SAFE if name != "valiant"],
)
def test_latency_of_all_pairs(routing: str, engine: str) -> None:
    """h D_t + B and the further cycles of slow links; UGAL goes directly, a cycle later."""
    length, decision = 3, 2
    network = GraphNetwork(graph=irregular(4, 7), routing=routing, decision=decision, length=length)
    result = alone(network, length, engine)
    expected: Counter[int] = Counter()
    for pair in itertools.product(range(network.ports), repeat=2):
        cycles = sum(latency - 1 + decision for latency in links(network, *pair)) + length
        expected[cycles + (routing == "ugal")] += 1
    assert Counter(enumerate_counts(result.network_latency.histogram)) == expected
    assert max(expected) <= network.zero_load_cycles + length


def enumerate_counts(histogram: Sequence[int]) -> dict[int, int]:
    return {cycles: count for cycles, count in enumerate(histogram) if count}


@pytest.mark.parametrize("engine", [long("amaranth"), "compiled"])
@pytest.mark.long
def test_latency_of_detours(engine: str) -> None:
    """Packets of one pair, alone: each intermediate terminal, with the latency of its way."""
    network = GraphNetwork(graph=irregular(4, 7), routing="valiant", length=2)
    relation, graph = network.relation, network.relation.graph
    assert relation.phases is not None
    first, second = relation.phases
    ways: Counter[int] = Counter()
    for via in range(network.ports):
        path = [*first.path(0, via)[:-1], *second.path(via, 5)[:-1]]
        ways[sum(graph.link_of(channel).latency for channel in path) + 2] += 1
    count = 300 if engine == "compiled" else 100
    packets = tuple(TracePacket(60 * n, 0, 5, 2) for n in range(count))
    result = simulate(network, traffic=Trace("pair", packets), bins=96, engine=engine)
    found = enumerate_counts(result.network_latency.histogram)
    print(found, ways)
    assert found.keys() <= ways.keys()
    if engine == "compiled":
        for cycles, vias in ways.items():
            share = vias / network.ports
            assert abs(found[cycles] / count - share) < 4 * (share * (1 - share) / count) ** 0.5


@pytest.mark.one_in(4)
@pytest.mark.parametrize("terminals", [2, 5, 8, 11])
def test_random_detour(terminals: int) -> None:
    """All terminals equally often, also for the very first packets; the same for all flits."""
    width = (terminals - 1).bit_length()
    packet = Packet(width, 4, flits=True)
    wide = detoured(packet)
    counts: Counter[int] = Counter()
    firsts = set()
    for seed in range(1, 11):
        dut = SeededDetour(packet, terminals, seed * 0x9E3779B1 & 0xFFFFFFFF)

        def offer(port: int, cycle: int) -> int:
            return packet.const({"tag": 1, "payload": cycle % 16, "last": 1}).as_value().value

        trace = transport(dut, cycles=100, offer=offer)
        vias = [
            payload >> width & (1 << width) - 1 for seen in trace for _, payload in seen.moved()
        ]
        assert len(vias) == 100
        assert wide.size == packet.size + width
        firsts.add(vias[0])
        counts.update(vias)
    print(counts)
    assert set(counts) == set(range(terminals))
    assert len(firsts) > 1
    assert all(
        abs(count - 1000 / terminals) < 5 * (1000 / terminals) ** 0.5 for count in counts.values()
    )


@pytest.mark.parametrize("switching", ["wormhole", long("cut-through"), long("store-and-forward")])
@pytest.mark.parametrize(
    "routing", [name if name in ("layered", "ugal") else long(name) for name in SAFE]
)
@pytest.mark.long
def test_saturation_loses_nothing(routing: str, switching: str) -> None:
    """At full load, uniform and to one place each; and both engines agree, flit for flit."""
    network = GraphNetwork(
        graph=irregular(6, 7), routing=routing, switch=switching, depth=4, length="1:4"
    )
    print("seed", SEED)
    for traffic in ("uniform", "randperm:3"):
        result = simulate(
            network, load=1.0, traffic=traffic, cycles=1500, warmup=0, seed=SEED, engine="compiled"
        )
        assert (result.lost, result.misrouted, result.duplicated, result.damaged) == (0, 0, 0, 0)
        assert result.injected == result.delivered > 0
        assert not network.ordered or result.reordered == 0
    if switching == "wormhole":
        records = [
            simulate(network, load=0.4, cycles=60, warmup=0, seed=SEED, engine=engine).to_json()
            for engine in ENGINES
        ]
        assert [record.pop("engine") for record in records] == [*ENGINES]
        for record in records:
            record["parameters"].pop("graph", None)
        assert records[0] == records[1]
        assert records[0]["statistics"] == {"layers": network.relation.layers}


def throughput(graph: nx.Graph, routing: str, traffic: str) -> float:
    network = GraphNetwork(graph=graph, routing=routing, depth=8, length=1)
    options: dict[str, Any] = {"cycles": 3000, "warmup": 1000, "seed": SEED, "engine": "compiled"}
    return simulate(network, load=1.0, traffic=traffic, **options).throughput_flits


@pytest.mark.long
def test_detours_pay_against_the_worst_pattern_only() -> None:
    """A ring of 16: halfway around, all by the same way, Valiant's detours spread the load; UGAL is
    near the better of both, for this and for uniform traffic."""
    ring = nx.cycle_graph(16)
    found = {
        (routing, traffic): throughput(ring, routing, traffic)
        for routing in ("layered", "valiant", "ugal")
        for traffic in ("uniform", "tornado")
    }
    print(found)
    assert found["valiant", "uniform"] < found["layered", "uniform"]
    assert found["valiant", "tornado"] > found["layered", "tornado"]
    assert found["ugal", "uniform"] > found["valiant", "uniform"]
    assert found["ugal", "tornado"] > found["layered", "tornado"]


def test_a_ring_of_shortest_paths_is_refused_and_locks_up() -> None:
    ring = nx.cycle_graph(5)
    with pytest.raises(ValueError, match=r"^Routing can deadlock: worms on 5 channels") as refusal:
        GraphNetwork(graph=ring, routing="shortest")
    ends = re.findall(r"node (\d) to (\d)", str(refusal.value))
    assert len(ends) == 5
    assert all(before[1] == after[0] for before, after in itertools.pairwise(ends))
    network = GraphNetwork(graph=ring, routing="shortest", allow_deadlock=1, depth=1, length=8)
    step = int(ends[0][1]) - int(ends[0][0])
    packets = tuple(TracePacket(0, node, (node + 2 * step) % 5, 8) for node in range(5))
    with pytest.raises(SimulationError, match="5 lost or stuck"):
        simulate(network, traffic=Trace("around", packets))
    for routing in ("layered", "up-down"):
        safe = GraphNetwork(graph=ring, routing=routing, depth=1, length=8)
        assert simulate(safe, traffic=Trace("around", packets)).delivered == 5


def test_channels_of_a_network() -> None:
    """They are those that the routing needs, or more if that is asked for."""
    ring = nx.cycle_graph(5)
    assert GraphNetwork(graph=ring, routing="adaptive").parameters.channels == 3
    network = GraphNetwork(graph=ring, routing="adaptive", channels=5)
    assert len(network.shapes[0].links[0]) == 5
    with pytest.raises(ValueError, match=r"^Channels must be at least 3 with routing=adaptive"):
        GraphNetwork(graph=ring, routing="adaptive", channels=2)
    with pytest.raises(ValueError, match=r"^Refill must be no if packets have a choice"):
        GraphNetwork(graph=ring, routing="adaptive", refill="yes")


@pytest.mark.parametrize("routing", [long("valiant"), long("ugal")])
def test_verilog(
    routing: str,
    tmp_path: Path,
) -> None:
    path = tmp_path / "network.v"
    write_verilog(GraphNetwork(graph=irregular(4, 5), routing=routing, length=2).fabric, path)
    assert_lint_free([path])
    check_with_yosys([path])
