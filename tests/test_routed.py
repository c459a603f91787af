# amaranth: UnusedElaboratable=no
"""Networks of any graph: tables, links of several cycles, switching, and what is refused."""

import itertools
import random
import re
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
from amaranth.hdl import Module
from amaranth.lib import wiring
from driving import transport
from long_runs import long
from multicube.hdl import GraphNetwork, build, write_verilog
from multicube.hdl.families.torus.torus_graph import Torus
from multicube.hdl.graphs.conversion import from_networkx
from multicube.hdl.graphs.graph import Channel, Link
from multicube.hdl.graphs.listed_graph import ListedGraph
from multicube.hdl.graphs.routing.deadlock import deadlock_cycle
from multicube.hdl.graphs.routing.relation import Relation, RoutedGraph
from multicube.hdl.links.packet import Packet
from multicube.hdl.networks.routed import RoutedNetwork
from multicube.hdl.routers.worm_router import WormRouter
from multicube.hdl.switch.shape import SWITCHINGS
from multicube.sim import Result, SimulationError, Trace, TracePacket, simulate
from refusals import refusals
from verilog_tools import assert_lint_free, check_with_yosys

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


@pytest.mark.parametrize("switching", ["wormhole", long("cut-through"), long("store-and-forward")])
@pytest.mark.parametrize("seed", [1, long(2), long(3)])
def test_irregular_graphs(seed: int, switching: str) -> None:
    """Under load, everything arrives; both engines agree."""
    relation = SpanningTree(irregular(seed))
    network = GraphNetwork(graph=relation, switch=switching, depth=6, length="1:4")
    assert deadlock_cycle(network) is None
    check(network, load=0.3, cycles=400, engine="compiled")
    records = [
        check(network, load=0.2, cycles=30, engine=engine).to_json()
        for engine in ("amaranth", "compiled")
    ]
    assert [record.pop("engine") for record in records] == ["amaranth", "compiled"]
    assert {record["parameters"]["file"] for record in records} == {"given"}
    assert records[0] == records[1]


@pytest.mark.long
@pytest.mark.parametrize("arbiter", [long("fixed"), "random", long("least-recent")])
def test_arbiters_in_a_network(arbiter: str) -> None:
    check(build("torus", k=3, arbiter=arbiter, length="1:4"), load=0.3, engine="compiled")


def alone(network: RoutedNetwork, source: int, destination: int, length: int) -> float:
    """Latency of a packet that is alone."""
    trace = Trace("alone", (TracePacket(0, source, destination, length),))
    result = simulate(network, traffic=trace, bins=64, engine="compiled")
    assert result.delivered == 1
    assert result.network_latency.mean is not None
    return result.network_latency.mean


@pytest.mark.long
@pytest.mark.parametrize("latency", [long(1), long(2), 3, long(5)])
@pytest.mark.parametrize(("decision", "length"), [long(1, 1), (2, 6)])
def test_latency_of_links_and_switching(latency: int, decision: int, length: int) -> None:
    """Over h links of L cycles: h (D_t + L - 1) + B; a stored packet costs its length at each of
    the h + 1 routers; depth lets it run at full rate."""
    size = {"depth": max(2 * latency, length), "decision": decision, "length": length}
    for switching, hops in itertools.product(("wormhole", "store-and-forward"), (0, 1, 3)):
        network = GraphNetwork(graph=Line(4, latency), switch=switching, **size)
        measured = alone(network, 0, hops, length)
        expected = hops * (decision - 1 + latency - 1) + hops + length
        if switching == "store-and-forward":
            # The decision is made while the rest of the packet arrives.
            wait = max(length, decision)
            expected = hops * (wait + latency - 1) + length + length - 1
        assert measured == expected, (switching, hops)
        assert network.zero_load_cycles + length >= measured


@pytest.mark.long
@pytest.mark.parametrize("latency", [1, 2, long(4)])
def test_a_link_runs_at_full_rate_if_the_queue_holds_the_round_trip(latency: int) -> None:
    """One flit per cycle with 2 L places; with fewer, as many flits as places in 2 L cycles."""
    for depth in range(1, 2 * latency + 2):
        network = GraphNetwork(graph=Line(2, latency), depth=depth, length=64)
        rounds, rest = divmod(63, min(depth, 2 * latency))
        last = 2 * latency * rounds + rest
        assert depth < 2 * latency or last == 63
        assert alone(network, 0, 1, 64) == latency + 1 + last, depth


def test_each_way_of_switching_keeps_its_promise() -> None:
    """When the header leaves: how much of the packet is there, and how much room behind."""
    size = {"depth": 6, "length": "1:6"}
    for switching in SWITCHINGS:
        network = GraphNetwork(graph=Line(2, 1), switch=switching, **size)
        shape = network.shapes[0]
        packet = network.packet
        out = shape.output((0, 0))
        for room in (False, True):
            router = WormRouter(packet, shape, depth=6, longest=6, switching=switching)
            dut = Looked(router, room)
            offer = slowly(shape.input((-1, 0)), packet)
            trace = transport(dut, cycles=30, offer=offer)
            moved = [cycle for cycle, seen in enumerate(trace) if seen.moved()]
            expected = {
                # A flit arrives every second cycle.
                "wormhole": [1, 3, 5, 7, 13, 15, 17, 19],
                "cut-through": [1, 3, 5, 7, 13, 15, 17, 19] if room else [],
                "store-and-forward": [7, 8, 9, 10, 19, 20, 21, 22] if room else [],
            }
            assert moved == expected[switching], (switching, room)
            assert {port for seen in trace for port, _ in seen.moved()} <= {out}
            assert ("open" in router.signature.members) == (switching != "wormhole")


def slowly(port: int, packet: Packet) -> Callable[[int, int], int | None]:
    """Two packets of four flits, one every second cycle; the second one begins in cycle 12."""

    def offer(at: int, cycle: int) -> int | None:
        if at != port or cycle % 12 not in (0, 2, 4, 6) or cycle >= 24:
            return None
        return packet.const({"tag": 1, "last": cycle % 12 == 6}).as_value().value

    return offer


class Looked(wiring.Component):
    """A router whose headers all may take output 0, with or without room behind it."""

    def __init__(self, router: WormRouter, room: bool) -> None:
        self.router, self.room = router, room
        members = router.signature.members
        super().__init__({name: members[name] for name in ("i", "o")})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.router = self.router
        m.d.comb += [exits.eq(1) for exits in self.router.exits]
        if "open" in self.router.signature.members:
            m.d.comb += [bit.eq(self.room) for bit in self.router.open]
        for outer, inner in zip((*self.i, *self.o), (*self.router.i, *self.router.o)):
            wiring.connect(m, wiring.flipped(outer), inner)
        return m


@pytest.mark.parametrize(
    "words",
    [
        long("torus k=4x3x2 length=1:4"),
        long("mesh k=5x2 channels=3 length=1:4"),
        long("torus k=5 n=1 channels=4 length=1:4 depth=2"),
        long("torus k=5 channels=4 length=1:4 depth=2"),
        "torus k=4 latency=3 depth=6 length=1:4",
        long("torus k=3 switch=cut-through depth=4 length=1:4 decision=3"),
        long("ring k=4x3 switch=store-and-forward depth=4 length=1:4"),
        long("hypercube n=3 routing=adaptive latency=2 depth=4 length=1:4"),
        long("hypercube n=3 routing=adaptive switch=cut-through depth=8 length=1:8"),
        long("hypercube n=3 routing=pcube switch=store-and-forward depth=8 length=1:4"),
        long("hypercube n=3 routing=adaptive latency=3 switch=cut-through depth=8 length=4"),
    ],
)
@pytest.mark.long
def test_options_of_tori_and_hypercubes(words: str) -> None:
    """Every packet arrives, alone and under full load, from any terminal to any other."""
    name, *given = words.split()
    network = build(name, **dict(word.split("=") for word in given))
    assert isinstance(network, RoutedNetwork)
    assert deadlock_cycle(network) is None
    pairs = list(itertools.product(range(network.ports), repeat=2))[::5]
    packets = [TracePacket(60 * at, *pair, network.lengths[1]) for at, pair in enumerate(pairs)]
    result = simulate(network, traffic=Trace("alone", tuple(packets)), bins=64, engine="compiled")
    assert result.delivered == len(pairs)
    slowest = network.zero_load_cycles + network.lengths[1]
    assert (result.network_latency.max or 0) <= slowest
    for traffic in ("uniform", "hotspot:0.3"):
        check(network, load=0.4, traffic=traffic, cycles=1500, engine="compiled")


def test_a_routing_that_can_deadlock_is_refused_and_locks_up_if_allowed() -> None:
    """The message names the channels in order; with `allow_deadlock` the bench sees it."""

    class Around(RoutedGraph):
        nodes = 4

        def links(self) -> list[Link]:
            return [Link(node, 0, (node + 1) % 4, 0) for node in range(4)]

        def route(self, node: int, came: Channel | None, destination: int) -> Iterator[Channel]:
            if node != destination:
                yield Channel(node, 0)

    with pytest.raises(ValueError, match=r"^Routing can deadlock: worms on 4 channels") as refusal:
        GraphNetwork(graph=Around())
    ends = re.findall(r"node (\d) to (\d)", str(refusal.value))
    assert len(ends) == 4
    assert all(before[1] == after[0] for before, after in itertools.pairwise(ends))
    network = GraphNetwork(graph=Around(), allow_deadlock=1, depth=1, length=8)
    packets = tuple(TracePacket(0, node, (node + 2) % 4, 8) for node in range(4))
    with pytest.raises(SimulationError, match="4 lost or stuck"):
        simulate(network, traffic=Trace("around", packets))


@pytest.mark.long
def test_verilog_has_a_module_for_each_shape(tmp_path: Path) -> None:
    """And one for each table; tools read it."""
    network = GraphNetwork(graph=SpanningTree(nx.star_graph(3)), depth=6, length="1:4")
    path = tmp_path / "network.v"
    write_verilog(network.fabric, path)
    text = path.read_text()
    assert text.count("module network_worm_router") == len(set(network.shapes))
    assert_lint_free([path])
    check_with_yosys([path])
    # Routers of a torus are one module, also with tables.
    plain = GraphNetwork(graph=Torus(4, 2))
    write_verilog(plain.fabric, path)
    text = path.read_text()
    assert text.count("module network_worm_router") == 1
    assert text.count("module network_route_table") == 16


@pytest.mark.long
@pytest.mark.parametrize(
    "words",
    [
        "mesh k=2 arbiter=fixed",
        *map(
            long,
            (
                "hypercube n=3 routing=adaptive latency=2",
                "torus k=3 arbiter=random channels=4",
                "torus k=3 arbiter=least-recent switch=cut-through latency=2",
                "mesh k=3 arbiter=fixed channels=3 latency=3 switch=store-and-forward",
                "hypercube n=3 routing=adaptive switch=cut-through arbiter=fixed",
                "hypercube n=3 routing=pcube switch=store-and-forward",
                "mesh k=3 refill=yes latency=2",
            ),
        ),
    ],
)
def test_linters_accept_every_option(words: str, tmp_path: Path) -> None:
    path = tmp_path / "network.v"
    write_verilog(build(words).fabric, path)
    assert_lint_free([path])


@pytest.mark.long
def test_a_network_of_1024_nodes_is_exported(tmp_path: Path) -> None:
    network = GraphNetwork(graph=Torus(32, 2))
    summary = write_verilog(network.fabric, tmp_path / "network.v")
    assert summary["cells"] == 2048


@pytest.mark.long
def test_tables_and_gates_route_alike() -> None:
    """A torus with looked-up routes, in every cycle as with its gates."""
    first = check(build("torus", k=4, length="1:4"), load=0.2)
    second = check(GraphNetwork(graph=Torus(4, 2), length="1:4"), load=0.2)
    assert first.network_latency == second.network_latency
    assert first.links == second.links


test_network_rejects = refusals(
    lambda given: GraphNetwork(**given),
    ({"graph": 3}, TypeError, "Graph must be a graph or a routing relation, not 3"),
    (
        {"graph": Line(2, 1), "switching": "cut-through", "length": 8},
        "Depth must be at least the length of 8 flits with switch=cut-through, not 4",
    ),
    (
        {"graph": Line(2, 1), "switching": "circuit"},
        "Switch must be one of wormhole, cut-through, store-and-forward, packet, not 'circuit'",
    ),
    ({"graph": Line(2, 1), "allow_deadlock": 2}, "Allow deadlock must be from 0 to 1, not 2"),
)


def test_bad_graphs_are_named() -> None:
    """When the network is built, by the wrong entry."""

    class Loose(Line):
        def links(self) -> Iterator[Link]:
            yield from super().links()
            yield Link(1, 0, 7, 0)

    with pytest.raises(ValueError, match=r"^Link from node 1 to node 7 must join nodes from 0 to "):
        GraphNetwork(graph=Loose(3, 1))


def test_descriptions_are_checked() -> None:
    class Instant(Torus):
        def links(self) -> Iterator[Link]:
            return (link._replace(latency=0) for link in super().links())

    class InstantNetwork(RoutedNetwork):
        description = Instant
        family = "instant"

    with pytest.raises(ValueError, match=r"^Latency of the link from node 0 to node 1 must be fr"):
        InstantNetwork(k=3, n=1)


@pytest.mark.parametrize(
    ("links", "way"), [([], "into"), ([Link(0, 0, 1, 0)], "out of"), ([Link(1, 0, 0, 0)], "into")]
)
def test_a_node_that_is_not_entered_or_left_is_refused(links: list[Link], way: str) -> None:
    """Its router would have no inputs, or no outputs."""
    message = f"^Node 1 must have a link or a terminal {way} it$"
    with pytest.raises(ValueError, match=message):
        GraphNetwork(graph=ListedGraph(2, links, [0, 0]), routing="shortest")
