# amaranth: UnusedElaboratable=no
"""Hypercubes of wormhole routers: exact latencies and paths, deadlock, the books."""

import itertools
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from amaranth.hdl import Cat, Module, Value
from command_line import Call
from driving import transport
from example_networks import ROUTERS
from long_runs import long
from multicube.hdl import FAMILIES, HypercubeNetwork, build
from multicube.hdl.fabric.pins import Pin
from multicube.hdl.families.hypercube.hypercube_graph import RoutedHypercube
from multicube.hdl.families.hypercube.hypercube_router import HypercubeLogic
from multicube.hdl.families.hypercube.hypercube_routing import (
    HYPERCUBE_ROUTINGS,
    next_channels,
    next_dimensions,
)
from multicube.hdl.graphs.graph import Channel, End
from multicube.hdl.graphs.routing.deadlock import deadlock_cycle, dependencies, dependency_cycle
from multicube.hdl.links.packet import Packet
from multicube.hdl.routers.worm_router import WormRouter
from multicube.sim import Result, SimulationError, Trace, TracePacket, simulate
from refusals import refusals
from worms import Load, worm

SEED = 7


def any_order(node: int, destination: int) -> list[int]:
    """Minimal routing that crosses dimensions in any order: it can deadlock."""
    return [i for i in range(16) if (node ^ destination) >> i & 1]


def transfers(dut: HypercubeNetwork) -> Callable[[], Value]:
    """Whether a flit crosses: a bit for each output of each router."""
    return lambda: Cat(
        port.valid & port.ready
        for node in range(dut.ports)
        for port in dut.instances[f"router_{node}"].o
    )


def watched_bits(dut: HypercubeNetwork) -> int:
    return dut.ports * (terminal(dut) + 1)


def terminal(dut: HypercubeNetwork) -> int:
    """The number of a router's output to its terminal."""
    return len(dut.shapes[0].outputs) - 1


def crossed(dut: HypercubeNetwork, watched: int) -> list[tuple[int, int]]:
    """The routers and their outputs whose bits are set."""
    count = watched_bits(dut) // dut.ports
    return [divmod(place, count) for place in range(watched_bits(dut)) if watched >> place & 1]


def on_path(dut: HypercubeNetwork, source: int, destination: int) -> list[tuple[int, int]]:
    """The routers and outputs that a packet passes: `ecube` by the words of the issue."""
    left, node, places = source ^ destination, source, []
    while left:
        choices = left
        if dut.relation.routing == "pcube":
            choices = left & node or left
        low = choices & -choices
        dimension = low.bit_length() - 1
        # Two channels per link with adaptive routing, and the second is preferred.
        adaptive = dut.relation.routing == "adaptive"
        places.append((node, 2 * dimension + 1 if adaptive else dimension))
        node, left = node ^ low, left ^ low
    return [*places, (node, terminal(dut))]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("length", [long(1), 3])
@pytest.mark.parametrize(
    ("routing", "n"),
    [
        *(("ecube", n) for n in (1, 2, 3)),
        *((routing, n) for routing in ("pcube", "adaptive") for n in (1, 2)),
        *(long(routing, 3) for routing in ("pcube", "adaptive")),
        *(long(routing, 4) for routing in HYPERCUBE_ROUTINGS),
    ],
)
def test_each_pair_takes_its_path_in_h_plus_c_cycles(routing: Any, n: int, length: int) -> None:
    """Routers passed, h + 1, and c - 1 for the flits behind the header; each on its very link.

    e-cube: all sources at once with one relative address, which never meet. Others: each pair
    alone in the network.
    """
    dut = HypercubeNetwork(n, routing=routing, length=length, depth=2)
    ports = range(dut.ports)
    if routing == "ecube":
        turns = [[(source, source ^ relative) for source in ports] for relative in ports]
    else:
        turns = [[pair] for pair in itertools.product(ports, repeat=2)]
    period = n + 1 + length

    def offer(port: int, cycle: int) -> int | None:
        turn, index = divmod(cycle, period)
        destinations = dict(turns[turn])
        if port not in destinations or index >= length:
            return None
        return worm(dut, port, destinations[port], turn, length)[index]

    trace = transport(dut, cycles=len(turns) * period, offer=offer, watch=transfers(dut))
    expected: list[set[tuple[int, int]]] = [set() for _ in trace]
    arrivals: list[dict[int, int]] = [{} for _ in trace]
    for turn, pairs in enumerate(turns):
        for source, destination in pairs:
            places = on_path(dut, source, destination)
            hamming = (source ^ destination).bit_count()
            assert len(places) == hamming + 1
            assert dut.path(source, destination) == [
                Pin(f"router_{a}", ("o", i)) for a, i in places
            ]
            flits = worm(dut, source, destination, turn, length)
            for index, flit in enumerate(flits):
                for hop, place in enumerate(places):
                    expected[turn * period + index + 1 + hop].add(place)
                arrivals[turn * period + index + 1 + hamming][destination] = flit
    assert [set(crossed(dut, cycle.watched)) for cycle in trace] == expected
    assert [dict(cycle.moved()) for cycle in trace] == arrivals


@pytest.mark.long
@pytest.mark.parametrize(("n", "depth"), [long(1, 1), (2, 3), long(3, 1), long(3, 2)])
@pytest.mark.parametrize("routing", ["adaptive", *map(long, ("ecube", "pcube"))])
def test_waiting_terminals_deadlock_nothing(routing: Any, n: int, depth: int) -> None:
    """Full load, outputs that wait at random: each packet arrives whole, unmixed and unchanged."""
    dut = HypercubeNetwork(n, routing=routing, length="1:8", depth=depth)
    load = Load(dut, 200, seed=SEED)
    trace = transport(
        dut,
        cycles=500,
        offer=load.offer,
        ready=lambda port, cycle: cycle >= 200 or load.random.random() < 0.7,
        watch=transfers(dut),
    )
    overtaken = load.check(trace)
    # Every path is a shortest one; the two channels of a link never send at once.
    hops = sum(((a ^ b).bit_count() + 1) * len(flits) for (a, b, _), flits in load.sent.items())
    assert sum(cycle.watched.bit_count() for cycle in trace) == hops
    if routing == "adaptive":
        places = [crossed(dut, cycle.watched) for cycle in trace]
        used = Counter(output for cycle in places for _, output in cycle)
        assert all(used[output] for output in range(2 * n + 1))
        for cycle in places:
            links = [(node, output // 2) for node, output in cycle if output != 2 * n]
            assert len(links) == len(set(links))
    assert len(load.sent) > 8 * dut.ports
    if routing == "ecube":
        assert overtaken == 0


def run(network: HypercubeNetwork, **options: Any) -> Result:
    """A run under load that is refused if its books do not balance."""
    print("seed", SEED)
    given: dict[str, Any] = {"cycles": 300, "warmup": 0, "bins": 64, "source_depth": 4}
    result = simulate(network, seed=SEED, **given | options)
    assert (result.lost, result.misrouted, result.duplicated, result.damaged) == (0, 0, 0, 0)
    assert result.injected == result.delivered > 0
    if network.ordered:
        assert result.reordered == 0
    return result


@pytest.mark.long
@pytest.mark.parametrize(
    ("n", "depth", "length"),
    [
        case if case == (2, 1, "1:8") else long(*case)
        for case in itertools.product((1, 2, 3, 4, 5), (1, 2, 5), (1, "1:8"))
    ],
)
@pytest.mark.parametrize("routing", HYPERCUBE_ROUTINGS)
def test_books_balance_under_full_load(routing: Any, n: int, depth: int, length: int | str) -> None:
    """Everything that is sent arrives, whatever the depth, and the network drains."""
    network = HypercubeNetwork(n, routing=routing, length=length, depth=depth)
    for traffic in ("uniform", "hotspot:0.3"):
        load = 1.0 if length == 1 else 0.3
        run(network, load=load, traffic=traffic, cycles=2000, engine="compiled")


@pytest.mark.long
@pytest.mark.parametrize(
    ("routing", "n"),
    [
        *(long("ecube", 1), long("ecube", 2)),
        *(long("pcube", 1), ("pcube", 2)),
        *(("adaptive", 1), long("adaptive", 2)),
    ],
)
def test_engines_agree(routing: Any, n: int) -> None:
    network = HypercubeNetwork(n, routing=routing, length="1:8", depth=2)
    records = [
        run(network, load=0.4, cycles=100, engine=engine).to_json()
        for engine in ("amaranth", "compiled")
    ]
    assert [record.pop("engine") for record in records] == ["amaranth", "compiled"]
    assert records[0] == records[1]


@pytest.mark.long
@pytest.mark.parametrize("routing", ["ecube", long("pcube"), long("adaptive")])
@pytest.mark.parametrize(("n", "length"), [(2, 1), long(3, 1), long(4, 4), long(6, 1)])
def test_mean_latency_without_load(n: int, routing: Any, length: int) -> None:
    """Uniform traffic crosses n / 2 links in the mean. A load of 0.2 % still meets itself."""
    network = HypercubeNetwork(n, routing=routing, length=length)
    result = run(network, load=0.002, cycles=1_600_000 >> n, warmup=100, source_depth=64)
    mean, error = result.network_latency.mean, result.network_latency.ci99
    assert mean is not None
    assert error is not None
    assert error < 0.15
    assert -error < mean - (n / 2 + length) < error + 0.03 * length


def waits(
    n: int,
    relation: Callable[[int, int], list[Channel]],
    is_escape: Callable[[Channel], bool] = lambda channel: True,
) -> dict[Channel, set[Channel]]:
    def moves(to: int) -> dict[Channel, list[Channel]]:
        channels = (channel for node in range(1 << n) for channel in relation(node, to))
        return {channel: relation(channel.node ^ 1 << channel.port, to) for channel in channels}

    return dependencies(map(moves, range(1 << n)), is_escape)


@pytest.mark.parametrize("n", range(1, 7))
@pytest.mark.parametrize("routing", ["ecube", "pcube"])
def test_no_channel_waits_for_itself(routing: Any, n: int) -> None:
    found = waits(n, lambda node, to: next_channels(routing, node, to))
    assert len(found) == n << n
    assert dependency_cycle(found) is None
    # Every worm of more than one hop waits somewhere.
    assert sum(map(len, found.values())) > 0 or n == 1


@pytest.mark.parametrize("n", range(1, 6))
def test_no_escape_channel_waits_for_itself(n: int) -> None:
    """Not even by way of other channels, while all channels together do."""

    def relation(node: int, to: int) -> list[Channel]:
        return next_channels("adaptive", node, to)

    found = waits(n, relation, lambda channel: channel[2] == 0)
    assert len(found) == n << n
    assert dependency_cycle(found) is None
    direct = waits(n, lambda node, to: next_channels("ecube", node, to))
    assert all(found[channel] >= direct[channel] for channel in direct)
    if n > 1:
        assert dependency_cycle(waits(n, relation)) is not None
    if n > 2:
        assert found != direct


@pytest.mark.parametrize("routing", HYPERCUBE_ROUTINGS)
def test_networks_are_free_of_deadlock(routing: Any) -> None:
    for n in (1, 2, 4):
        assert deadlock_cycle(HypercubeNetwork(n, routing=routing)) is None


@pytest.mark.parametrize("n", range(2, 7))
def test_channels_wait_for_themselves_without_an_order(n: int) -> None:
    """The check finds cycles of channels where there are some, and what it finds is a cycle."""
    found = waits(n, lambda node, to: [Channel(node, i) for i in any_order(node, to)])
    cycle = dependency_cycle(found)
    assert cycle is not None
    assert len(cycle) > 4
    assert cycle[0] == cycle[-1]
    assert all(before in found[after] for before, after in itertools.pairwise(cycle))


@pytest.mark.parametrize("n", range(1, 6))
def test_routings_are_minimal_and_as_adaptive_as_promised(n: int) -> None:
    """e-cube: one path, dimensions in order. p-cube: k! (h - k)! paths, k dimensions down. Fully
    adaptive: all h!."""

    def paths(routing: Any, node: int, to: int) -> list[list[int]]:
        if node == to:
            return [[]]
        nexts = next_dimensions(routing, node, to)
        return [[i, *rest] for i in nexts for rest in paths(routing, node ^ 1 << i, to)]

    factorial = [1, 1, 2, 6, 24, 120]
    for source, to in itertools.product(range(1 << n), repeat=2):
        differing = any_order(source, to)
        down = (source & ~to).bit_count()
        assert paths("ecube", source, to) == [differing]
        ways = paths("pcube", source, to)
        assert len(ways) == factorial[down] * factorial[len(differing) - down]
        assert all(sorted(way) == differing for way in ways)
        ways = paths("adaptive", source, to)
        assert sorted(map(tuple, ways)) == list(itertools.permutations(differing))


def test_network_without_an_order_deadlocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bench sees a deadlock, and the check foretells it: a square whose nodes route in turn
    lowest dimension first and highest first, so that worms wait in a cycle."""

    def relation(node: int, to: int) -> list[Channel]:
        bits = any_order(node, to)
        return [Channel(node, i) for i in (bits[-1:] if node.bit_count() % 2 else bits[:1])]

    def exits(
        self: HypercubeLogic, m: Module, name: str, came: End | None, here: Value, tag: Value
    ) -> dict[End, Value]:
        left, odd = tag ^ here, here.xor()
        first, second = left[0] & ~(odd & left[1]), left[1] & (odd | ~left[0])
        return {(0, 0): first, (1, 0): second, (-1, 0): ~left.any()}

    assert dependency_cycle(waits(2, relation)) is not None
    opposite = Trace("opposite", tuple(TracePacket(0, node, node ^ 3, 8) for node in range(4)))
    for routing in HYPERCUBE_ROUTINGS:
        simulate(HypercubeNetwork(2, routing=routing, length=8, depth=1), traffic=opposite)
    monkeypatch.setattr(HypercubeLogic, "exits", exits)
    network = HypercubeNetwork(2, routing="pcube", length=8, depth=1)
    with pytest.raises(SimulationError, match="4 lost or stuck"):
        simulate(network, traffic=opposite)


def router(routing: Any) -> WormRouter:
    """The router of a node of a cube of three dimensions."""
    plan = RoutedHypercube(3, routing)
    shape = HypercubeNetwork(3, routing).shapes[0]
    packet = Packet(3, 2, flits=True)
    return WormRouter(packet, shape, logic=HypercubeLogic(plan), depth=4)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("routing", HYPERCUBE_ROUTINGS)
def test_router_serves_all_inputs_in_turn(routing: Any) -> None:
    """All inputs always have worms of 3 flits for the terminal: each gets every fourth turn."""
    dut = router(routing)
    sent = [0] * len(dut.i)
    serving = [i for i, one in enumerate(dut.shape.inputs) if one.escape]

    def offer(port: int, cycle: int) -> int | None:
        if port not in serving:
            return None
        sent[port] += 1
        return serving.index(port) << 3 | (sent[port] % 3 == 0) << 5

    trace = transport(dut, cycles=121, offer=offer)
    came = [flit >> 3 & 3 for cycle in trace for _, flit in cycle.moved()]
    assert len(came) == 120
    assert {port for cycle in trace for port, _ in cycle.moved()} == {len(dut.o) - 1}
    worms = [came[at : at + 3] for at in range(0, 120, 3)]
    assert all(len(set(flits)) == 1 for flits in worms)
    assert all(len({flits[0] for flits in worms[at : at + 4]}) == 4 for at in range(37))


def of_terminal(
    requests: Sequence[tuple[int, int]], length: int
) -> Callable[[int, int], int | None]:
    """Offers of a header at an input for a tag, from the first cycle on, and its further flits."""
    flits = {
        port: [tag | port << 3 | (index == length - 1) << 5 for index in range(length)]
        for port, tag in requests
    }
    return lambda port, cycle: flits[port].pop(0) if flits.get(port) else None


def test_router_goes_around_what_is_in_its_way() -> None:
    """Two worms for the same node, from node 0: they leave side by side. So does one whose lowest
    dimension is not ready."""
    offers = [(2, 0b011), (3, 0b011)]
    dut = router("pcube")
    trace = transport(dut, cycles=8, offer=of_terminal(offers, 4))
    used = [Counter(port for port, _ in cycle.moved()) for cycle in trace]
    assert used[2] == {0: 1, 1: 1}
    assert sum(used, Counter()) == {0: 4, 1: 4}
    dut = router("pcube")
    trace = transport(
        dut, cycles=8, offer=of_terminal(offers[1:], 4), ready=lambda port, cycle: port != 0
    )
    assert [[port for port, _ in cycle.moved()] for cycle in trace] == [[], *[[1]] * 4, *[[]] * 3]


@pytest.mark.long
def test_adaptive_routing_carries_more_where_e_cube_crowds() -> None:
    """Bit reversal: e-cube leads many pairs over few links."""
    carried = {}
    for routing in HYPERCUBE_ROUTINGS:
        network = HypercubeNetwork(4, routing=routing, length=8)
        result = run(
            network, traffic="bit-reversal", load=0.125, cycles=4000, warmup=500, source_depth=16
        )
        carried[routing] = 8 * result.throughput
    assert carried["adaptive"] > 1.2 * carried["ecube"], carried


@pytest.mark.long
def test_command(call: Call) -> None:
    words = "sim hypercube n=2 routing=ecube --load 0.1 --cycles 200 --json"
    record = call(*words.split()).record
    assert record["network"] == "hypercube"
    assert record["parameters"] == ROUTERS | {"n": 2, "routing": "ecube"}
    assert (record["lost"], record["reordered"]) == (0, 0)


def test_catalogue_builds_hypercubes() -> None:
    network = build("hypercube", n="3", routing="adaptive", depth="2", payload=5, length="2:3")
    assert isinstance(network, HypercubeNetwork)
    given = {"n": 3, "routing": "adaptive", "depth": 2, "payload": 5, "length": "2:3"}
    assert network.parameters == ROUTERS | given
    assert (network.ports, network.stages, network.lengths, network.ordered) == (
        8,
        4,
        (2, 3),
        False,
    )
    assert "ecube" in FAMILIES["hypercube"].description


test_network_rejects = refusals(
    lambda parameters: HypercubeNetwork(**parameters),
    ({"n": 0}, "Dimension n must be from 1 to 16, not 0"),
    ({"n": 17}, "Dimension n must be from 1 to 16, not 17"),
    ({"n": 2.0}, TypeError, "Dimension n must be an integer, not 2.0"),
    ({"routing": "xor"}, "Routing must be one of ecube, pcube, adaptive, not 'xor'"),
    ({"depth": 0}, "Depth must be from 1 to 65536, not 0"),
    ({"depth": 65537}, "Depth must be from 1 to 65536, not 65537"),
    ({"payload": 0}, "Payload must be from 1 to 4096, not 0"),
    ({"payload": 4097}, "Payload must be from 1 to 4096, not 4097"),
    ({"length": "3:2"}, "Length must be LOW:HIGH with LOW at most HIGH, not '3:2'"),
)


def test_routing_rejects_other_names() -> None:
    with pytest.raises(
        ValueError, match=r"^Routing must be one of ecube, pcube, adaptive, not 'valiant'$"
    ):
        next_dimensions("valiant", 0, 1)
