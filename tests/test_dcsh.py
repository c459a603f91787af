# amaranth: UnusedElaboratable=no
"""DCSH: exact latencies, one worm at a time on each link, the books, broadcasts, Verilog."""

import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Cat
from driving import transport
from long_runs import long
from multicube.hdl import DCSHNetwork, build, write_verilog
from multicube.hdl.fabric.pins import Pin
from multicube.hdl.families.dcsh.dcsh_multiplexer import ClusterMultiplexer
from multicube.hdl.graphs.plans.named_plans import multistage_plan
from multicube.hdl.graphs.schedules.passes import connections
from multicube.hdl.links.packet import Packet
from multicube.sim import Result, SimulationError, simulate
from multicube.sim.workload.traffic import Trace, TracePacket
from refusals import refusals
from verilog_tools import assert_lint_free, check_with_yosys
from worms import Load, worm

SEED = 11


def digits(dut: DCSHNetwork, node: int) -> list[int]:
    k, n = dut.plan.k, dut.plan.n
    return [node // k**i % k for i in range(n)]


def distance(dut: DCSHNetwork, source: int, destination: int) -> int:
    return sum(a != b for a, b in zip(digits(dut, source), digits(dut, destination)))


def run_turns(dut: DCSHNetwork, turns: Sequence[Sequence[tuple[int, int]]], length: int) -> None:
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

    trace = transport(dut, cycles=len(expected), offer=offer)
    assert [dict(cycle.moved()) for cycle in trace] == expected


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("k", "n", "decision", "length", "depth"),
    [
        *(long(*case) for case in ((3, 2, 1, 1, 1), (3, 2, 2, 5, 4))),
        (2, 3, 3, 4, 2),
        (4, 1, 1, 3, 2),
    ],
)
def test_every_pair_takes_d_times_decision_plus_length(
    k: int, n: int, decision: int, length: int, depth: int
) -> None:
    """Of all N^2 pairs, in N turns: a node sends to the one whose digits are so much higher."""
    dut = DCSHNetwork(k, n, decision=decision, length=length, depth=depth)
    nodes = range(dut.ports)

    def shifted(source: int, by: int) -> int:
        pairs = zip(digits(dut, source), digits(dut, by))
        return sum((a + b) % k * k**i for i, (a, b) in enumerate(pairs))

    turns = [[(source, shifted(source, by)) for source in nodes] for by in nodes]
    assert len({pair for turn in turns for pair in turn}) == dut.ports**2
    run_turns(dut, turns, length)


@pytest.mark.long
def test_permutations_of_the_omega_network_take_no_longer() -> None:
    """Section II: random settings of its boxes, for k = 2 and n = 3. No message meets another."""
    print("seed", SEED)
    generator = random.Random(SEED)
    plan = multistage_plan("omega", 8)
    turns = []
    for _ in range(25):
        settings = [[generator.choice([(0, 1), (1, 0)]) for _ in range(4)] for _ in range(3)]
        turns.append(list(enumerate(connections(plan, settings))))
    run_turns(DCSHNetwork(2, 3, decision=2, length=3), turns, 3)


@pytest.mark.long
@pytest.mark.parametrize(
    "parameters",
    [
        {"k": 3, "n": 2, "depth": 1, "length": "1:4"},
        long({"k": 2, "n": 3, "depth": 3, "length": "1:8", "decision": 2}),
        {"k": 4, "n": 1, "depth": 2, "length": 2, "decision": 4},
        long({"k": 3, "n": 2, "depth": 5, "length": "1:5", "broadcast": 1}),
        long({"k": 4, "n": 2, "depth": 5, "length": "1:5", "broadcast": 1}),
        long({"k": 2, "n": 3, "depth": 8, "length": "1:4", "decision": 3, "broadcast": 1}),
    ],
    ids=str,
)
def test_waiting_terminals_deadlock_nothing(parameters: dict[str, Any]) -> None:
    """Full load, outputs that wait at random: everything that was sent arrives."""
    dut = DCSHNetwork(**parameters)
    busy = 80 if dut.packet.broadcast else 150
    load = Load(dut, busy, seed=SEED)
    trace = transport(
        dut,
        cycles=500,
        offer=load.offer,
        ready=lambda port, cycle: cycle >= busy or load.random.random() < 0.7,
    )
    assert load.check(trace) == 0
    assert len(load.sent) > 4 * dut.ports


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


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    "parameters",
    [
        {"k": 2, "n": 1, "depth": 1, "length": "1:8"},
        {"k": 3, "n": 2, "length": "1:8", "decision": 2},
        {"k": 3, "n": 2, "depth": 8, "length": "1:8", "broadcast": 1},
        *(
            long({"k": k, "n": n, "depth": depth, "length": "1:8", "broadcast": broadcast})
            for k, n in ((2, 4), (4, 2), (4, 3), (5, 2), (8, 2))
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


@pytest.mark.long
@pytest.mark.parametrize("broadcast", [long(0), 1])
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


@pytest.mark.long
@pytest.mark.parametrize("decision", [long(1), 2])
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


@pytest.mark.parametrize(("k", "sources"), [(2, (0, 1, 3)), long(4, (0, 6, 9, 15))])
def test_a_broadcast_takes_one_transfer_a_channel(k: int, sources: tuple[int, ...]) -> None:
    """From some of k x k nodes to all: each hears it once, d D + B cycles after it was offered,
    over 1 + k channels."""
    decision, length, nodes = 2, 3, k * k
    dut = DCSHNetwork(k, 2, decision=decision, length=length, broadcast=1)
    period = 2 * decision + length + 2

    def offer(port: int, cycle: int) -> int | None:
        turn, index = divmod(cycle, period)
        if port != sources[turn] or index >= length:
            return None
        return worm(dut, port, 1, turn, length, nodes - 1)[index]

    trace = transport(
        dut,
        cycles=len(sources) * period,
        offer=offer,
        watch=lambda: Cat(
            port.valid & port.ready
            for node in range(nodes)
            for port in dut.instances[f"router_{node}"].o[:2]
        ),
    )
    for turn, source in enumerate(sources):
        span = trace[turn * period : (turn + 1) * period]
        flits = worm(dut, source, 1, turn, length, nodes - 1)
        expected = [
            {
                node: flits[cycle - 1 - distance(dut, source, node) * decision]
                for node in range(nodes)
                if cycle - 1 - distance(dut, source, node) * decision in range(length)
            }
            for cycle in range(period)
        ]
        assert [dict(cycle.moved()) for cycle in span] == expected
        channels = Counter(
            (place // 2, place % 2)
            for cycle in span
            for place in range(2 * nodes)
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


@pytest.mark.long
def test_broadcasts_would_deadlock_if_packets_were_not_taken_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two worms for the same two nodes: each would have one multiplexer, and wait for the other."""
    packets = tuple(TracePacket(0, node, 0, 8, 3) for node in range(4))
    trace = Trace("all to all", packets)
    network = DCSHNetwork(4, 1, depth=8, length=8, broadcast=1)
    assert run(network, traffic=trace).delivered == 16
    monkeypatch.setattr("multicube.hdl.families.dcsh.dcsh_network.ClusterMultiplexer", Greedy)
    with pytest.raises(SimulationError, match="lost or stuck"):
        simulate(network.altered(), traffic=trace)


@pytest.mark.parametrize(
    "parameters",
    [
        long({"k": 3, "n": 2, "decision": 2, "depth": 1}),
        long({"k": 2, "n": 3, "length": "1:4"}),
        long({"k": 2, "n": 3, "length": 4, "broadcast": 1}),
    ],
    ids=str,
)
def test_verilog(tmp_path: Path, parameters: dict[str, Any]) -> None:
    """Three modules for all nodes; linted; no combinational loop."""
    network = DCSHNetwork(**parameters)
    path = tmp_path / "dcsh.v"
    summary = write_verilog(network.fabric, path)
    assert (summary["modules"], summary["cells"]) == (3, network.ports * (1 + 2 * network.plan.n))
    assert_lint_free([path])
    check_with_yosys([path])


def test_catalogue_builds_it() -> None:
    network = build("hypermesh", k="3", n="2", decision="2", length="2:3", payload=5)
    assert isinstance(network, DCSHNetwork)
    assert network.parameters == {
        "k": 3,
        "n": 2,
        "decision": 2,
        "depth": 4,
        "refill": "no",
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


test_network_rejects = refusals(
    lambda parameters: DCSHNetwork(**parameters),
    ({"k": 1}, "Cluster size k must be at least 2, not 1"),
    ({"n": "2"}, TypeError, "Dimensions n must be an integer, not '2'"),
    ({"k": 64, "n": 3}, "Queues n (k - 1) k^n must be at most 524288, not with k=64 and n=3"),
    (
        {"k": 2, "n": 10**12},
        "Queues n (k - 1) k^n must be at most 524288, not with k=2 and n=1000000000000",
    ),
    ({"decision": 0}, "Decision time must be from 1 to 1024, not 0"),
    ({"decision": 1025}, "Decision time must be from 1 to 1024, not 1025"),
    ({"depth": 0}, "Depth must be from 1 to 65536, not 0"),
    ({"payload": 0}, "Payload must be from 1 to 4096, not 0"),
    ({"length": 0}, "Length must be from 1 to 1024, not 0"),
    ({"broadcast": 2}, "Broadcast must be from 0 to 1, not 2"),
    (
        {"broadcast": 1, "length": "1:5"},
        "Depth must be at least the length of 5 flits with broadcast=1, not 4",
    ),
)
