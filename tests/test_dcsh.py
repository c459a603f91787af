# amaranth: UnusedElaboratable=no
"""DCSH: exact latencies, one worm at a time on each link, the books, broadcasts, Verilog."""

import random
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Cat
from multicube.hdl import build, write_verilog
from multicube.hdl.fabric import Pin
from multicube.hdl.networks import DCSHNetwork
from multicube.hdl.packet import Packet
from multicube.hdl.switches.cluster import ClusterChannel, ClusterMultiplexer
from multicube.hdl.switches.dcsh_router import DCSHRouter
from multicube.hdl.topology import multistage_plan
from multicube.hdl.topology.passes import connections
from multicube.sim import Result, SimulationError, simulate
from multicube.sim.traffic import Trace, TracePacket

SEED = 11
Worm = list[int]


def digits(dut: DCSHNetwork, node: int) -> list[int]:
    k, n = dut.plan.k, dut.plan.n
    return [node // k**i % k for i in range(n)]


def distance(dut: DCSHNetwork, source: int, destination: int) -> int:
    return sum(a != b for a, b in zip(digits(dut, source), digits(dut, destination)))


def worm(
    dut: DCSHNetwork, source: int, destination: int, number: int, length: int, mask: int = 0
) -> Worm:
    """The flits of a packet: source, number and index are its payload; the tag is data too."""
    width = dut.tags.code.width
    flits = []
    for index in range(length):
        tag = dut.tags.tag(source, destination) if index == 0 else (5 * index + 1) % (1 << width)
        at, word = width, tag
        if dut.packet.broadcast:
            word |= (mask if index == 0 else ~tag % (1 << width)) << at
            at += width
        name = index << 12 | number % 256 << 4 | source
        flits.append(word | name << at | (index == length - 1) << at + 16)
    return flits


def run_turns(
    transport: Callable[..., list],
    dut: DCSHNetwork,
    turns: Sequence[Sequence[tuple[int, int]]],
    length: int,
) -> None:
    """All pairs of a turn send at once, and never meet: each takes d D + B cycles."""
    decision, n = dut.parameters["decision"], dut.plan.n
    period = n * decision + length + 1
    expected: list[dict[int, int]] = [{} for _ in range(period * len(turns))]
    flits = {}
    for turn, pairs in enumerate(turns):
        for source, destination in pairs:
            flits[turn, source] = worm(dut, source, destination, turn, length)
            first = turn * period + distance(dut, source, destination) * decision + 1
            for index, flit in enumerate(flits[turn, source]):
                expected[first + index][destination] = flit

    def offer(port: int, cycle: int) -> int | None:
        turn, index = divmod(cycle, period)
        return flits[turn, port][index] if index < length and (turn, port) in flits else None

    trace = transport(dut, dut.i, dut.o, cycles=len(expected), offer=offer)
    assert [dict(cycle.moved()) for cycle in trace] == expected


@pytest.mark.parametrize(
    ("k", "n", "decision", "length", "depth"),
    [(3, 2, 1, 1, 1), (3, 2, 2, 5, 4), (2, 3, 3, 4, 2), (4, 1, 1, 3, 2)],
)
def test_every_pair_takes_d_times_decision_plus_length(
    transport: Callable[..., list], k: int, n: int, decision: int, length: int, depth: int
) -> None:
    """Of all N^2 pairs, in N turns: a node sends to the one whose digits are so much higher."""
    dut = DCSHNetwork(k, n, decision=decision, length=length, depth=depth)
    nodes = range(dut.ports)

    def shifted(source: int, by: int) -> int:
        pairs = zip(digits(dut, source), digits(dut, by))
        return sum((a + b) % k * k**i for i, (a, b) in enumerate(pairs))

    turns = [[(source, shifted(source, by)) for source in nodes] for by in nodes]
    assert len({pair for turn in turns for pair in turn}) == dut.ports**2
    run_turns(transport, dut, turns, length)


def test_permutations_of_the_omega_network_take_no_longer(
    transport: Callable[..., list],
) -> None:
    """Section II: random settings of its boxes, for k = 2 and n = 3. No message meets another."""
    print("seed", SEED)
    generator = random.Random(SEED)
    plan = multistage_plan("omega", 8)
    turns = []
    for _ in range(50):
        settings = [[generator.choice([(0, 1), (1, 0)]) for _ in range(4)] for _ in range(3)]
        turns.append(list(enumerate(connections(plan, settings))))
    run_turns(transport, DCSHNetwork(2, 3, decision=2, length=3), turns, 3)


class Load:
    """Random packets of some lengths, as fast as the network takes them, up to some cycle."""

    def __init__(self, dut: DCSHNetwork, cycles: int) -> None:
        print("seed", SEED)
        self.dut, self.cycles = dut, cycles
        self.random = random.Random(SEED)
        self.rest: list[Worm] = [[] for _ in range(dut.ports)]
        self.numbers = [0] * dut.ports
        self.sent: dict[tuple[int, int, int], Worm] = {}

    def offer(self, port: int, cycle: int) -> int | None:
        if cycle < self.cycles and not self.rest[port]:
            length = self.random.randint(*self.dut.lengths)
            destination, number = self.random.randrange(self.dut.ports), self.numbers[port]
            mask = 0
            if self.dut.packet.broadcast:
                mask = self.random.randrange(self.dut.ports) & self.random.randrange(self.dut.ports)
            flits = worm(self.dut, port, destination, number, length, mask)
            for other in range(self.dut.ports):
                if (other ^ destination) & ~mask == 0:
                    self.sent[port, other, number] = flits
            self.rest[port] = flits[:]
            self.numbers[port] += 1
        return self.rest[port].pop(0) if self.rest[port] else None


def check_arrivals(load: Load, trace: list) -> None:
    """Each packet arrives whole, unmixed, unchanged, once, and in its flow's order."""
    last = load.dut.tags.code.width * (1 + load.dut.packet.broadcast) + 16
    came: dict[tuple[int, int, int], Worm] = {}
    open_: dict[int, Worm] = {}
    flows: dict[tuple[int, int], int] = {}
    for cycle in trace:
        for output, flit in cycle.moved():
            open_.setdefault(output, []).append(flit)
            if flit >> last:
                flits = open_.pop(output)
                name = flits[0] >> last - 16
                source, number = name & 15, name >> 4 & 255
                assert (source, output, number) not in came
                came[source, output, number] = flits
                assert number > flows.get((source, output), -1)
                flows[source, output] = number
    assert not open_
    assert came == load.sent
    assert len(came) > 8 * load.dut.ports


@pytest.mark.parametrize(
    "parameters",
    [
        {"k": 3, "n": 2, "depth": 1, "length": "1:8"},
        {"k": 2, "n": 3, "depth": 3, "length": "1:8", "decision": 2},
        {"k": 4, "n": 1, "depth": 2, "length": 2, "decision": 4},
        {"k": 4, "n": 2, "depth": 5, "length": "1:5", "broadcast": 1},
        {"k": 2, "n": 3, "depth": 8, "length": "1:4", "decision": 3, "broadcast": 1},
    ],
    ids=str,
)
def test_waiting_terminals_dead_lock_nothing(
    transport: Callable[..., list], parameters: dict[str, Any]
) -> None:
    """Full load, outputs that wait at random: everything that was sent arrives."""
    dut = DCSHNetwork(**parameters)
    busy = 100 if dut.packet.broadcast else 250
    load = Load(dut, busy)
    trace = transport(
        dut,
        dut.i,
        dut.o,
        cycles=700,
        offer=load.offer,
        ready=lambda port, cycle: cycle >= busy or load.random.random() < 0.7,
    )
    check_arrivals(load, trace)


def run(network: DCSHNetwork, **options: Any) -> Result:
    """A run under load that is refused if its books do not balance."""
    given: dict[str, Any] = {"cycles": 300, "warmup": 0, "bins": 64, "source_depth": 4}
    result = simulate(network, seed=SEED, **given | options)
    wrong = (result.lost, result.misrouted, result.duplicated, result.damaged, result.reordered)
    assert wrong == (0,) * 5
    assert result.injected > 0
    if not network.broadcasts:
        assert result.injected == result.delivered
    return result


@pytest.mark.parametrize(
    "parameters",
    [
        {"k": 2, "n": 1, "depth": 1, "length": "1:8"},
        {"k": 3, "n": 2, "length": "1:8", "decision": 2},
        {"k": 4, "n": 2, "depth": 8, "length": "1:8", "broadcast": 1},
        *(
            pytest.param(
                {"k": k, "n": n, "depth": depth, "length": "1:8", "broadcast": broadcast},
                marks=pytest.mark.long,
            )
            for k, n in ((2, 4), (4, 3), (8, 2))
            for depth, broadcast in ((1, 0), (5, 0), (8, 1), (16, 1))
        ),
    ],
    ids=str,
)
def test_books_balance_under_full_load(parameters: dict[str, Any]) -> None:
    """Everything that is sent arrives, and the network drains."""
    network = DCSHNetwork(**parameters)
    traffic = ["uniform", "hotspot:0.3", "sphere:0.8"]
    for name in [*traffic, "broadcast:0.3"] if network.broadcasts else traffic:
        run(network, traffic=name, load=0.3, cycles=2000, engine="compiled")


@pytest.mark.parametrize("broadcast", [0, 1])
def test_engines_agree(broadcast: int) -> None:
    network = DCSHNetwork(2, 2, decision=2, length="1:4", broadcast=broadcast)
    records = [
        run(
            network,
            traffic="broadcast:0.5" if broadcast else "sphere:0.6",
            load=0.2,
            cycles=100,
            engine=engine,
        ).to_json()
        for engine in ("amaranth", "compiled")
    ]
    assert [record.pop("engine") for record in records] == ["amaranth", "compiled"]
    assert records[0] == records[1]


@pytest.mark.parametrize("decision", [1, 2])
def test_mean_latency_without_load(decision: int) -> None:
    """Equation (3) with (1) and (2): 4 x 4 nodes, sphere of a cluster."""
    network = DCSHNetwork(4, 2, decision=decision, length=8)
    for beta in (0.3, 0.75):
        result = run(
            network,
            traffic=f"sphere:{beta}",
            load=0.0005,
            cycles=100_000,
            warmup=100,
            source_depth=64,
            engine="compiled",
        )
        mean, error = result.network_latency.mean, result.network_latency.ci99
        assert mean is not None
        assert error is not None
        hops = 3 / 4 + (1 - beta) * 3 / 4 * 16 / (16 - 4)
        assert -error < mean - (hops * decision + 8) < error + 0.05
        assert error < 0.25


@pytest.mark.parametrize(("k", "position"), [(5, 2), (4, 0), (4, 3)])
@pytest.mark.parametrize("broadcast", [False, True])
def test_channel(simulate: Callable[..., None], k: int, position: int, broadcast: bool) -> None:
    """A header says who hears its worm; a flit goes to all of them at once, when all are ready."""
    bits = (k - 1).bit_length()
    packet = Packet(2 * bits, 2, broadcast=broadcast, flits=True)
    dut = ClusterChannel(packet, k=k, n=2)
    generator = random.Random(SEED)
    others = [member for member in range(k) if member != position]

    async def testbench(ctx: Any) -> None:
        ctx.set(dut.dimension, 1)
        ctx.set(dut.position, position)
        for _ in range(60):
            member, mask = generator.choice(others), generator.randrange(1 << bits)
            mask *= broadcast
            heard = [(other ^ member) & ~mask == 0 for other in others]
            for index, last in enumerate((0, 0, 1)):
                word = {"tag": generator.randrange(1 << 2 * bits), "payload": index, "last": last}
                if index == 0:
                    word["tag"] = member << bits | generator.randrange(1 << bits)
                if broadcast:
                    word["mask"] = generator.randrange(1 << 2 * bits) if index else mask << bits
                ctx.set(dut.i.payload, word)
                ctx.set(dut.i.valid, 1)
                moved = False
                while not moved:
                    ready = [generator.random() < 0.7 for _ in others]
                    for port, flag in zip(dut.o_ready, ready):
                        ctx.set(port, flag)
                    moved = all(flag for flag, wanted in zip(ready, heard) if wanted)
                    assert ctx.get(dut.i.ready) == moved
                    valid = [bool(ctx.get(port)) for port in dut.o_valid]
                    assert valid == [wanted and (moved or not broadcast) for wanted in heard]
                    assert ctx.get(dut.o_payload.payload) == index
                    await ctx.tick()

    simulate(dut, testbench)


def test_multiplexer_serves_all_inputs_in_turn(transport: Callable[..., list]) -> None:
    """All inputs always have worms of 3 flits: every fourth is of each, without a gap."""
    dut = ClusterMultiplexer(Packet(2, 2, flits=True), inputs=4, depth=4, decision=2)
    sent = [0] * 4

    def offer(port: int, cycle: int) -> int:
        sent[port] += 1
        return port << 2 | (sent[port] % 3 == 0) << 4

    trace = transport(dut, dut.i, [dut.o], cycles=122, offer=offer)
    came = [flit >> 2 & 3 for cycle in trace for _, flit in cycle.moved()]
    assert len(came) == 120
    worms = [came[at : at + 3] for at in range(0, 120, 3)]
    assert all(len(set(flits)) == 1 for flits in worms)
    assert all(len({flits[0] for flits in worms[at : at + 4]}) == 4 for at in range(37))


@pytest.mark.parametrize("decision", [1, 2, 5])
def test_multiplexer_decides_while_others_pass(
    transport: Callable[..., list], decision: int
) -> None:
    """Two worms of 6 flits at once: the second follows at once, its decision is made by then. What
    comes behind the first in its queue is looked at once it is at the head."""
    dut = ClusterMultiplexer(Packet(2, 4, flits=True), inputs=3, depth=20, decision=decision)
    flits = {
        port: [port | index << 2 | (index % 6 == 5) << 6 for index in range(count)]
        for port, count in ((0, 12), (1, 6))
    }
    offers = {port: own[:] for port, own in flits.items()}
    trace = transport(
        dut,
        dut.i,
        [dut.o],
        cycles=60,
        offer=lambda port, cycle: offers[port].pop(0) if offers.get(port) else None,
    )
    came = [(cycle, flit) for cycle, row in enumerate(trace) for _, flit in row.moved()]
    expected = flits[0][:6] + flits[1] + flits[0][6:]
    times = list(range(decision, decision + 18))
    assert came == list(zip(times, expected))


@pytest.mark.parametrize(("length", "depth"), [(3, 3), (3, 4), (2, 5)])
def test_multiplexer_takes_packets_whole(
    transport: Callable[..., list], length: int, depth: int
) -> None:
    """A header comes in only if there is room for a whole packet; its flits then never wait."""
    dut = ClusterMultiplexer(Packet(2, 2, flits=True), inputs=1, depth=depth, length=length)
    generator = random.Random(SEED)
    sent = [0]

    def offer(port: int, cycle: int) -> int:
        sent[0] += 1
        return (sent[0] % length == 0) << 4

    trace = transport(
        dut,
        dut.i,
        [dut.o],
        cycles=300,
        offer=offer,
        ready=lambda port, cycle: generator.random() < 0.4,
    )
    number = held = 0
    for cycle in trace:
        taken, left = bool(cycle.entered()), bool(cycle.moved())
        assert taken == (number % length > 0 or held <= depth - length)
        number, held = number + taken, held + taken - left
    assert number > 50


def test_a_broadcast_takes_one_transfer_a_channel(transport: Callable[..., list]) -> None:
    """From each of 4 x 4 nodes to all: each hears it once, d D + B cycles after it was offered,
    over 1 + 4 channels."""
    decision, length = 2, 3
    dut = DCSHNetwork(4, 2, decision=decision, length=length, broadcast=1)
    period = 2 * decision + length + 2

    def offer(port: int, cycle: int) -> int | None:
        turn, index = divmod(cycle, period)
        return (
            worm(dut, port, 5, turn, length, 15)[index]
            if (port, index < length)
            == (
                turn,
                True,
            )
            else None
        )

    trace = transport(
        dut,
        dut.i,
        dut.o,
        cycles=16 * period,
        offer=offer,
        watch=lambda: Cat(
            port.valid & port.ready
            for node in range(16)
            for port in dut.instances[f"router_{node}"].o[:2]
        ),
    )
    for source in range(16):
        span = trace[source * period : (source + 1) * period]
        flits = worm(dut, source, 5, source, length, 15)
        expected = [
            {
                node: flits[cycle - 1 - distance(dut, source, node) * decision]
                for node in range(16)
                if cycle - 1 - distance(dut, source, node) * decision in range(length)
            }
            for cycle in range(period)
        ]
        assert [dict(cycle.moved()) for cycle in span] == expected
        channels = Counter(
            (place // 2, place % 2)
            for cycle in span
            for place in range(32)
            if cycle.watched >> place & 1
        )
        column = dut.plan.cluster(source, 1)
        assert channels == {(source, 1): length, **{(node, 0): length for node in column}}


class Greedy(ClusterMultiplexer):
    """Takes flits of broadcasts as long as there is room for one more."""

    def __init__(
        self, packet: Packet, *, length: int | None, depth: int, **parameters: Any
    ) -> None:
        super().__init__(packet, depth=2, **parameters)


def test_broadcasts_would_dead_lock_if_packets_were_not_taken_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two worms for the same two nodes: each would have one multiplexer, and wait for the other."""
    packets = tuple(TracePacket(0, node, 0, 8, 3) for node in range(4))
    trace = Trace("all to all", packets)
    network = DCSHNetwork(4, 1, depth=8, length=8, broadcast=1)
    assert run(network, traffic=trace).delivered == 16
    monkeypatch.setattr("multicube.hdl.networks.dcsh.ClusterMultiplexer", Greedy)
    with pytest.raises(SimulationError, match="lost or stuck"):
        simulate(network.altered(), traffic=trace)


@pytest.mark.parametrize(
    "parameters",
    [
        {"k": 3, "n": 2, "decision": 2, "depth": 1},
        {"k": 2, "n": 3, "length": "1:4"},
        {"k": 4, "n": 2, "length": 4, "broadcast": 1},
    ],
    ids=str,
)
def test_verilog(
    tmp_path: Path,
    verilators_linter: Callable[[Path], str],
    yosys_check: Callable[[Sequence[Path]], str],
    parameters: dict[str, Any],
) -> None:
    """Three modules for all nodes; linted; no combinational loop."""
    network = DCSHNetwork(**parameters)
    path = tmp_path / "dcsh.v"
    summary = write_verilog(network.fabric, path)
    assert (summary["modules"], summary["cells"]) == (3, network.ports * (1 + 2 * network.plan.n))
    said = verilators_linter(path)
    assert "%" not in said, said
    assert "Found and reported 0 problems" in yosys_check([path])


def test_catalogue_builds_it() -> None:
    network = build("hypermesh", k="3", n="2", decision="2", length="2:3", payload=5)
    assert isinstance(network, DCSHNetwork)
    assert network.parameters == {
        "k": 3,
        "n": 2,
        "decision": 2,
        "depth": 4,
        "payload": 5,
        "length": "2:3",
        "broadcast": 0,
    }
    assert (network.ports, network.sphere, network.lengths) == (9, 3, (2, 3))
    assert network.path(1, 8) == [
        Pin("router_1", ("o", 1)),
        Pin("multiplexer_7_1", ("o",)),
        Pin("router_7", ("o", 0)),
        Pin("multiplexer_8_0", ("o",)),
        Pin("router_8", ("o", 2)),
    ]


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"k": 1}, ValueError, "Cluster size k must be at least 2, not 1"),
        ({"n": "2"}, TypeError, "Dimensions n must be an integer, not '2'"),
        (
            {"k": 64, "n": 3},
            ValueError,
            r"Queues n \(k - 1\) k\^n must be at most 524288, not 49545216",
        ),
        ({"decision": 0}, ValueError, "Decision time must be at least 1, not 0"),
        ({"decision": 1025}, ValueError, "Decision time must be at most 1024, not 1025"),
        ({"depth": 0}, ValueError, "Depth must be at least 1, not 0"),
        ({"payload": 0}, ValueError, "Payload must be at least 1, not 0"),
        ({"length": 0}, ValueError, "Length must be at least 1, not 0"),
        ({"broadcast": 2}, ValueError, "Broadcast must be from 0 to 1, not 2"),
        (
            {"k": 3, "broadcast": 1},
            ValueError,
            "Broadcast masks need a radix that is a power of two, not 3",
        ),
        (
            {"broadcast": 1, "length": "1:5"},
            ValueError,
            "Depth must be at least the length of 5 flits with broadcast=1, not 4",
        ),
    ],
)
def test_network_rejects(parameters: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=f"^{message}$"):
        DCSHNetwork(**parameters)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: ClusterChannel(Packet(4, 8), k=4, n=2),
            "Packet must be of flits",
        ),
        (
            lambda: DCSHRouter(Packet(5, 8, flits=True), k=4, n=2, depth=1),
            "Tag of a packet must have 4 bits for 2 digits of base 4, not 5",
        ),
        (
            lambda: DCSHRouter(Packet(4, 8, flits=True), k=4, n=2, depth=0),
            "Depth must be at least 1, not 0",
        ),
        (
            lambda: ClusterMultiplexer(Packet(4, 8, flits=True), inputs=0, depth=1),
            "Inputs must be at least 1, not 0",
        ),
        (
            lambda: ClusterMultiplexer(Packet(4, 8, flits=True), inputs=3, depth=4, length=5),
            "Depth must be at least the length of 5 flits, not 4",
        ),
        (
            lambda: ClusterMultiplexer(Packet(4, 8), inputs=3, depth=4),
            "Packet must be of flits",
        ),
    ],
)
def test_components_reject(make: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        make()
