# amaranth: UnusedElaboratable=no
"""Tori, meshes and rings of wormhole routers: ways, exact latencies, the books, Verilog."""

import itertools
from collections import Counter, deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Const
from command_line import Call
from example_networks import ROUTERS
from long_runs import long
from multicube.hdl import FAMILIES, TorusNetwork, build, write_verilog
from multicube.hdl.bench import bench_for
from multicube.hdl.fabric.pins import Pin
from multicube.hdl.families.torus.torus_graph import Hop, Torus
from multicube.hdl.families.torus.torus_router import TorusLogic
from multicube.sim import Result, SimulationError, Trace, TracePacket, simulate
from multicube.sim.engines.compiled.engine import CompiledEngine
from multicube.sim.run.probe import Probe, crossings
from multicube.sim.run.run import Run
from multicube.sim.run.simulation import simulate_runs
from multicube.sim.workload.traffic import TRACE_START, pattern
from refusals import refusals
from verilog_tools import assert_lint_free, check_with_yosys

SEED = 7
FORMS: dict[str, dict[str, Any]] = {
    "torus": {},
    "mesh": {"wrap": False, "channels": 1},
    "ring": {"directions": 1},
}


def plan(form: str, k: int, n: int) -> Torus:
    return Torus(k, n, **FORMS[form])


def hops(torus: Torus, source: int, destination: int) -> list[tuple[int, Hop]]:
    """The channels of links on a path, each with the node that it leaves."""
    *channels, _ = torus.path(source, destination)
    return [(channel.node, torus.hop(channel)) for channel in channels]


def network(form: str, k: int, n: int, **parameters: Any) -> TorusNetwork:
    return TorusNetwork(k, n, **FORMS[form], **parameters)


# The plan


def links(torus: Torus, node: int) -> set[int]:
    """The nodes that a node's links lead to, from the words of the definition."""
    digits, found = torus.code.split(node), set()
    for dimension, step in itertools.product(range(torus.n), (1, -1)[: torus.directions]):
        position = digits[dimension] + step
        if torus.wrap or position in range(torus.k):
            changed = [*digits]
            changed[dimension] = position % torus.k
            found.add(torus.code.join(changed))
    return found


SMALL = [(2, 1), (3, 1), (4, 1), (5, 1), (8, 1), (2, 2), (3, 2), (4, 2), (5, 2), (6, 2), (3, 3)]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("k", "n"), SMALL)
def test_paths_are_the_shortest_in_dimension_order(form: str, k: int, n: int) -> None:
    """By breadth-first search; and channel 1 is for what still has to wrap around."""
    torus = plan(form, k, n)
    edges = {node: links(torus, node) for node in range(torus.nodes)}
    longest = 0
    for source in range(torus.nodes):
        distance = {source: 0}
        queue = deque([source])
        while queue:
            node = queue.popleft()
            for beyond in edges[node] - distance.keys():
                distance[beyond] = distance[node] + 1
                queue.append(beyond)
        longest = max(longest, *distance.values())
        for destination in range(torus.nodes):
            taken = hops(torus, source, destination)
            assert len(taken) == distance[destination] == torus.distance(source, destination)
            order = [hop.dimension for _, hop in taken]
            assert order == sorted(order, reverse=True)
            ends = [*(node for node, _ in taken), destination]
            assert ends[0] == source
            for (node, hop), beyond in zip(taken, ends[1:]):
                assert torus.neighbour(node, hop.dimension, hop.way) == beyond
                assert beyond in edges[node]
            for dimension in range(n):
                row = [(node, hop) for node, hop in taken if hop.dimension == dimension]
                assert len({hop.way for _, hop in row}) <= 1
                wraps = [
                    torus.code.split(node)[dimension] == (0 if hop.way else k - 1)
                    for node, hop in row
                ]
                assert [hop.channel for _, hop in row] == [
                    int(any(wraps[at:])) for at in range(len(row))
                ]
    assert longest == torus.diameter == n * torus.reach(0)


@pytest.mark.parametrize("form", FORMS)
def test_ways_of_a_node_are_opposite(form: str) -> None:
    torus = plan(form, 4, 2)
    for node, dimension, way in itertools.product(range(16), range(2), range(torus.ways(0))):
        beyond = torus.neighbour(node, dimension, way)
        if beyond is None:
            assert form == "mesh"
        elif torus.ways(0) == 2:
            assert torus.neighbour(beyond, dimension, 1 - way) == node


@pytest.mark.parametrize("k", range(2, 10))
def test_mean_distances(k: int) -> None:
    """As the docstring of the network says, and both ways carry the same."""
    torus, mesh, ring = (plan(form, k, 1) for form in FORMS)

    def mean(one: Torus) -> float:
        pairs = itertools.product(range(k), repeat=2)
        return sum(itertools.starmap(one.distance, pairs)) / k**2

    assert mean(torus) == pytest.approx((k if k % 2 == 0 else k - 1 / k) / 4)
    assert mean(mesh) == pytest.approx((k - 1 / k) / 3)
    assert mean(ring) == pytest.approx((k - 1) / 2)
    loads = Counter(
        (node, hop.way)
        for pair in itertools.product(range(k), repeat=2)
        for node, hop in hops(torus, *pair)
    )
    if k > 2 and k % 4 != 2:
        assert len(loads) == 2 * k
        assert len(set(loads.values())) == 1


def test_links_of_a_2_ary_torus_are_not_doubled() -> None:
    assert Torus(2, 3).ways(0) == 1
    assert Torus(2, 3, wrap=False, channels=1).ways(0) == 2
    assert [Torus(2, 1).neighbour(node, 0, 0) for node in (0, 1)] == [1, 0]


# The hardware


def alone(
    dut: TorusNetwork, length: int
) -> Iterator[tuple[tuple[int, int], int, dict[str, int], int]]:
    """Each pair of terminals with a packet alone in the network.

    The pair, the packet's latency, how many flits crossed each output, and how many were wrong.
    """
    pairs = list(itertools.product(range(dut.ports), repeat=2))
    period = dut.zero_load_cycles + length + 8
    packets = [TracePacket(period * turn, *pair, length) for turn, pair in enumerate(pairs)]
    bench = bench_for(dut, Trace("alone", tuple(packets)).sources(dut), bins=2)
    with CompiledEngine(bench) as engine:
        probe = Probe(engine, [0], bench)
        engine.set("send", 1)
        engine.set("measure", 1)
        engine.step(TRACE_START)
        old: Counter[Pin] = Counter()
        elapsed = 0
        for turn, (source, destination) in enumerate(pairs):
            engine.step(period)
            crossed = Counter(crossings(engine, bench))
            flits = {str(output): flits for output, flits in (crossed - old).items()}
            old = crossed
            assert probe.sinks("delivered")[destination] == source + 1, (source, destination)
            assert sum(probe.sinks("delivered")) == turn + 1
            latency = sum(probe.sinks("network_sum")) - elapsed
            elapsed += latency
            wrong = sum(sum(probe.sinks(port)) for port in ("damaged", "misrouted"))
            yield (source, destination), latency, flits, wrong


@pytest.mark.parametrize(
    ("form", "k", "n", "decision", "length"),
    [
        ("torus", 2, 2, 1, 3),
        ("torus", 3, 1, 3, 2),
        long("torus", 5, 2, 2, 4),
        long("torus", 4, 2, 1, 1),
        ("mesh", 4, 1, 1, 3),
        long("mesh", 3, 2, 2, 5),
        ("ring", 4, 2, 1, 3),
        *(
            long(form, *case)
            for form in FORMS
            for case in ((8, 1, 1, 3), (3, 3, 1, 3), (6, 2, 4, 2), (4, 3, 1, 8), (2, 4, 2, 3))
        ),
    ],
)
def test_each_pair_takes_its_path_in_h_d_plus_b_cycles(
    form: str, k: int, n: int, decision: int, length: int
) -> None:
    """Equation (3) of the paper for each pair, and the very channels of the routing function."""
    dut = network(form, k, n, decision=decision, length=length)
    torus = dut.relation
    sides = list(itertools.product(range(n), range(torus.ways(0)), range(torus.channels)))
    total = 0

    def leaving(node: int) -> list[tuple[int, int, int]]:
        """At the border of a mesh no link leads outwards."""
        last = {0: k - 1, 1: 0}
        digits = [node // k**dimension % k for dimension in range(n)]
        return [
            (dimension, way, channel)
            for dimension, way, channel in sides
            if form != "mesh" or digits[dimension] != last[way]
        ]

    for (source, destination), latency, flits, wrong in alone(dut, length):
        assert wrong == 0
        distance = torus.distance(source, destination)
        assert latency == distance * decision + length
        taken = hops(torus, source, destination)
        ports = [(node, leaving(node).index(hop)) for node, hop in taken]
        ports.append((destination, len(leaving(destination))))
        pins = [Pin(f"router_{node}", ("o", port)) for node, port in ports]
        assert dut.path(source, destination) == pins
        assert {output: count for output, count in flits.items() if count} == {
            str(pin): length for pin in pins
        }
        total += latency
    if form == "torus" and k % 2 == 0:
        assert total == dut.ports**2 * (n * k / 4 * decision + length)


def check(result: Result) -> Result:
    assert (result.lost, result.misrouted, result.duplicated, result.damaged) == (0, 0, 0, 0)
    assert result.reordered == 0
    assert result.injected == result.delivered > 0
    return result


def run(dut: TorusNetwork, **options: Any) -> list[Result]:
    """Runs side by side with uniform traffic and a hot spot, refused if books do not balance."""
    print("seed", SEED)
    runs = [
        Run(pattern(traffic, dut.ports), seed=SEED, source_depth=4, **options)
        for traffic in ("uniform", "hotspot:0.3")
    ]
    return [check(result) for result in simulate_runs(dut, runs, bins=64, engine="compiled")]


@pytest.mark.parametrize(
    ("form", "k", "n", "depth", "decision", "length"),
    [
        ("torus", 3, 1, 1, 1, "1:8"),
        long("torus", 4, 2, 2, 1, "1:8"),
        long("torus", 5, 2, 1, 2, 8),
        long("torus", 3, 3, 3, 1, 4),
        long("mesh", 4, 2, 1, 3, "1:8"),
        long("ring", 5, 1, 1, 1, 16),
        ("ring", 3, 2, 2, 2, "1:8"),
        *(
            long(form, k, n, *case)
            for form in FORMS
            for k, n in itertools.product((2, 3, 4, 5), (1, 2, 3))
            for case in ((1, 1, "1:8"), (4, 2, 8))
        ),
    ],
)
def test_books_balance_under_full_load(
    form: str, k: int, n: int, depth: int, decision: int, length: int | str
) -> None:
    """Everything that is sent arrives, in order, and the network drains."""
    dut = network(form, k, n, depth=depth, decision=decision, length=length)
    for result in run(dut, load=1.0 if length == 1 else 0.3, cycles=2000, warmup=100):
        assert result.saturated


@pytest.mark.parametrize("form", [long("torus"), "mesh", long("ring")])
def test_engines_agree(form: str) -> None:
    dut = network(form, 3, 1, decision=2, length="1:4", depth=2)
    options = {"load": 0.3, "cycles": 100, "warmup": 0, "bins": 64, "source_depth": 4}
    records = [
        check(simulate(dut, seed=SEED, engine=engine, **options)).to_json()
        for engine in ("amaranth", "compiled")
    ]
    assert [record.pop("engine") for record in records] == ["amaranth", "compiled"]
    assert records[0] == records[1]


@pytest.mark.parametrize(("form", "k", "shift"), [("ring", 4, 2), long("torus", 6, 2)])
def test_one_channel_deadlocks(form: str, k: int, shift: int) -> None:
    """All nodes of a ring send at once, the same way: worms longer than a queue close the ring.

    With two channels, and without the wrap-around link, nothing of the kind.
    """
    packets = [TracePacket(0, node, (node + shift) % k, 16) for node in range(k)]
    traffic = Trace("around", tuple(packets))
    options = {"traffic": traffic, "bins": 2, "engine": "compiled"}
    check(simulate(network(form, k, 1, depth=1, length=16), **options))
    check(simulate(network("mesh", k, 1, depth=1, length=16), **options))
    locked = network(form, k, 1, channels=1, depth=1, length=16, allow_deadlock=1)
    with pytest.raises(SimulationError, match=f"{k} lost or stuck"):
        simulate(locked, **options)


def test_a_saturated_ring_shares_like_fibonacci() -> None:
    """Under tornado traffic a node sends as much as the two behind it, whose packets pass it."""
    result = simulate("torus k=8 n=1", traffic="tornado", load=0.9, cycles=20_000)
    sent = result.terminals["injected"]
    line = [sent[node % 8] for node in range(5, 13)]  # from the first behind the dateline on
    shares = [count / line[0] for count in line]
    assert shares == pytest.approx([1, 1, 2, 3, 5, 8, 13, 21], rel=0.03)
    assert result.least_served["terminal"] in (5, 6)


def test_bench_sees_a_router_without_dateline(monkeypatch: pytest.MonkeyPatch) -> None:
    """If nothing is held to wrap around, all worms take channel 0, and wait in a cycle."""
    packets = [TracePacket(0, node, (node + 2) % 4, 16) for node in range(4)]
    monkeypatch.setattr(TorusLogic, "_around", lambda self, *_: Const(0))
    with pytest.raises(SimulationError, match="4 lost or stuck"):
        simulate(network("ring", 4, 1, depth=1, length=16), traffic=Trace("around", tuple(packets)))


@pytest.mark.parametrize(("form", "modules"), [("torus", 1), ("mesh", 9), ("ring", 1)])
@pytest.mark.long
def test_verilog(tmp_path: Path, form: str, modules: int) -> None:
    """Routers with the same links are one module; linted; no combinational loop around a cycle."""
    path = tmp_path / "network.v"
    dut = network(form, 3, 2, length="1:8", decision=2)
    summary = write_verilog(dut.fabric, path)
    assert (summary["modules"], summary["cells"]) == (modules, 9)
    assert_lint_free([path])
    check_with_yosys([path])


def test_command(call: Call) -> None:
    words = "sim torus k=3 n=1 length=2 decision=2 --load 0.05 --cycles 200 --json"
    record = call(*words.split()).record
    assert record["network"] == "torus"
    given = {"k": 3, "n": 1, "channels": 2, "decision": 2, "length": 2}
    assert record["parameters"] == ROUTERS | given
    assert (record["lost"], record["reordered"]) == (0, 0)


@pytest.mark.parametrize(
    ("family", "wrap", "directions", "channels"),
    [("torus", True, 2, 2), ("mesh", False, 2, 1), ("ring", True, 1, 2)],
)
def test_catalogue(family: str, wrap: bool, directions: int, channels: int) -> None:
    dut = build(family, k="3", n="2", decision="2", depth=2, payload=5, length="2:3")
    assert isinstance(dut, TorusNetwork)
    assert dut.family == TorusNetwork(**dut.parameters).family == family
    assert dut.relation == Torus(3, 2, wrap, directions, channels)
    assert (dut.ports, dut.lengths, dut.ordered) == (9, (2, 3), True)
    diameter = {"torus": 2, "mesh": 4, "ring": 4}[family]
    assert (dut.stages, dut.zero_load_cycles) == (diameter + 1, 2 * diameter + 1)
    assert "wrap" not in [parameter.name for parameter in FAMILIES[family].parameters]


test_network_rejects = refusals(
    lambda parameters: TorusNetwork(**parameters),
    ({"k": 1}, "Radix k must be at least 2, not 1"),
    ({"k": 2.0}, TypeError, "Radix k must be an integer, not 2.0"),
    ({"n": 0}, "Dimensions n must be at least 1, not 0"),
    ({"k": 41, "n": 3}, "Nodes k^n must be at most 65536, not 41^3"),
    ({"n": 10**9}, "Nodes k^n must be at most 65536, not 4^1000000000"),
    ({"directions": 3}, "Directions must be from 1 to 2, not 3"),
    ({"channels": 17}, "Channels must be from 1 to 16, not 17"),
    ({"k": "8x"}, "Radix k must be a number ... such as 8x4x2, not '8x'"),
    ({"k": "8x4", "n": 3}, "Dimensions n must be 2 with k=8x4, not 3"),
    ({"k": "256x512"}, "Nodes k^n must be at most 65536, not 256x512"),
    ({"wrap": False, "directions": 1}, "Directions must be 2 without wrap-around links, not 1"),
    ({"decision": 0}, "Decision time must be from 1 to 1024, not 0"),
    ({"decision": 1025}, "Decision time must be from 1 to 1024, not 1025"),
    ({"depth": 0}, "Depth must be from 1 to 65536, not 0"),
    ({"depth": 65537}, "Depth must be from 1 to 65536, not 65537"),
    ({"payload": 0}, "Payload must be from 1 to 4096, not 0"),
    ({"payload": 4097}, "Payload must be from 1 to 4096, not 4097"),
    ({"length": "3:2"}, "Length must be LOW:HIGH with LOW at most HIGH, not '3:2'"),
)
