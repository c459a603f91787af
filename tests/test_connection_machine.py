# amaranth: UnusedElaboratable=no
"""The Connection Machine's network on the bench: paths, books, priorities, engines."""

import itertools
import json
import random
from collections import Counter
from typing import Any

import pytest
from amaranth.back import rtlil
from amaranth.hdl import Cat
from command_line import exit_status
from driving import transport
from long_runs import long
from multicube.hdl import build
from multicube.hdl.bench import PacketBench
from multicube.hdl.families.connection_machine.connection_machine_graph import Hypercube
from multicube.hdl.families.connection_machine.connection_machine_network import ConnectionMachine
from multicube.hdl.families.connection_machine.hypercube_node import HypercubeNode
from multicube.hdl.links.packet import Packet
from multicube.sim import Run, simulate
from multicube.sim.workload.destinations import Destinations
from multicube.sim.workload.injection_process import InjectionProcess
from multicube.sim.workload.traffic import Pattern, Trace, TracePacket, pattern
from refusals import refusals

KINDS = list(itertools.product(("parallel", "dimension"), ("oldest", "fixed")))


def crossings(result: Any) -> int:
    """Messages that crossed wires between nodes."""
    return round(
        sum(rate for link, rate in result.links.items() if "dimension" in link) * result.cycles
    )


@pytest.mark.parametrize("dimensions", [1, 2, 3, 4])
def test_plan(dimensions: int) -> None:
    plan = Hypercube(dimensions, 2)
    assert plan.terminals == 2 * plan.nodes == 2 << dimensions
    wires = list(plan.wires())
    assert len(set(wires)) == dimensions << dimensions
    assert {(other, k, node) for node, k, other in wires} == set(wires)
    for source, destination in itertools.product(range(plan.terminals), repeat=2):
        path = plan.path(source, destination)
        assert len(path) == plan.distance(source, destination)
        end = source // 2
        for node, dimension in path:
            assert node == end
            end = plan.neighbour(node, dimension)
        assert plan.place(destination) == (end, destination % 2)
        assert plan.tags().tag(source, destination) == destination


test_plan_rejects = refusals(
    Hypercube,
    (0, 1, "Dimensions must be at least 1, not 0"),
    (1, 0, "Processors must be at least 1, not 0"),
    (1, 3, "Processors must be a power of two, not 3"),
)


test_network_rejects = refusals(
    lambda parameters: ConnectionMachine(**parameters),
    ({"n": 0}, "Dimension n must be from 1 to 16, not 0"),
    ({"n": 17}, "Dimension n must be from 1 to 16, not 17"),
    ({"processors": 128}, "Processors must be from 1 to 64, not 128"),
    ({"buffers": 0}, "Buffers must be from 1 to 64, not 0"),
    ({"payload": 0}, "Payload must be from 1 to 4096, not 0"),
    (
        {"schedule": "random"},
        "Schedule must be one of dimension, pipelined, parallel, not 'random'",
    ),
    ({"priority": "newest"}, "Priority must be one of oldest, fixed, not 'newest'"),
    ({"links": "optical"}, "Links must be one of word, serial, not 'optical'"),
    ({"age": 0}, "Age must be from 1 to 48, not 0"),
)


def test_node_rejects_a_tag_of_another_width() -> None:
    with pytest.raises(
        ValueError, match=r"^Tag of a packet must have 4 bits for 3 dimensions and 2 .* not 5$"
    ):
        HypercubeNode(Packet(5, 8), dimensions=3, processors=2)


@pytest.mark.long
@pytest.mark.parametrize("schedule", ["parallel", long("dimension")])
@pytest.mark.parametrize(("n", "processors"), [(2, 2), long(1, 2), long(3, 1), long(4, 1)])
def test_a_message_alone_crosses_as_many_wires_as_its_distance(
    n: int, processors: int, schedule: str
) -> None:
    """Every pair of terminals, one after the other."""
    network = ConnectionMachine(n, processors=processors, schedule=schedule)
    pairs = list(itertools.product(range(network.ports), repeat=2))
    trace = Trace(
        "pairs", tuple(TracePacket((n + 3) * number, *pair) for number, pair in enumerate(pairs))
    )
    result = simulate(network, traffic=trace)
    distances = Counter(network.plan.distance(*pair) for pair in pairs)
    assert crossings(result) == sum(h * number for h, number in distances.items())
    assert result.statistics["referred"] == 0
    if schedule == "parallel":
        taken = dict(enumerate(result.latency.histogram))
        assert {h + 2: number for h, number in distances.items()} == {
            cycles: number for cycles, number in taken.items() if number
        }
        assert all(len(network.path(*pair)) == network.plan.distance(*pair) + 1 for pair in pairs)
    else:
        assert result.latency.max == n + 2


@pytest.mark.long
@pytest.mark.parametrize(
    ("n", "processors", "schedule", "priority"),
    [
        (1, 1, "parallel", "fixed"),
        (5, 1, "dimension", "oldest"),
        *(long(*size, *kind) for size in ((1, 1), (3, 2), (3, 4), (5, 1)) for kind in KINDS),
    ],
)
def test_nothing_is_lost_under_heavy_load(
    n: int, processors: int, schedule: str, priority: str
) -> None:
    """`simulate` checks that nothing is lost, duplicated or misrouted."""
    network = ConnectionMachine(
        n, processors=processors, buffers=1, schedule=schedule, priority=priority
    )
    result = simulate(network, load=1.0, cycles=400, warmup=20, source_depth=8)
    assert result.lost == result.misrouted == result.duplicated == 0
    assert result.delivered == result.injected > 0
    # Of one dimension, a message that arrives is at its destination.
    if n > 1 and priority == "oldest" and processors == 1:
        assert result.statistics["referred"] > 0


@pytest.mark.long
@pytest.mark.parametrize(
    ("schedule", "links"),
    [("dimension", "word"), long("parallel", "word"), long("dimension", "serial")],
)
def test_what_the_routers_did(schedule: str, links: str) -> None:
    """Steps, use of wires and buffers: counted apart, and from what the links carried."""
    network = ConnectionMachine(3, processors=2, buffers=2, schedule=schedule, links=links)
    result = simulate(network, traffic="one-each", seed=3)
    assert result.delivered == network.ports
    bench = PacketBench(network, Run(pattern("one-each", 16)).sources(network), bins=2)
    step = network.step_of(bench.packet)
    assert result.statistics["router_steps"] == -(-result.cycles // step)
    stored = result.statistics["buffer_occupancy"]
    assert 0 < stored["mean"] <= stored["max"] <= 2
    if links == "word":
        assert step == 1
        served = 3 if schedule == "parallel" else 1
        share = crossings(result) / (result.cycles * 8 * served)
        assert result.statistics["wire_use"] == pytest.approx(share)
    else:
        assert step > 1
        assert 0 < result.statistics["wire_use"] < 1


@pytest.mark.long
def test_other_networks_have_no_routers() -> None:
    result = simulate(build("cube", ports=4), cycles=50)
    assert result.statistics == {}


def run_command(words: str, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    assert exit_status(*words.split(), "--json") == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.long
def test_command(capsys: pytest.CaptureFixture[str]) -> None:
    result = run_command("sim connection-machine n=2 --traffic one-each:complement", capsys)
    assert result["parameters"]["schedule"] == "dimension"
    told = result["statistics"]
    assert (result["delivered"], told["referred"], result["lost"]) == (4, 0, 0)
    # Each message crosses both dimensions, one a dimension cycle, and nothing is in its way.
    assert told["wire_use"] * told["router_steps"] * 4 == pytest.approx(4 * 2)
    assert set(told["buffer_occupancy"]) == {"mean", "max"}


@pytest.mark.long
def test_as_large_as_the_machine(capsys: pytest.CaptureFixture[str]) -> None:
    """65,536 processors send a message each: all arrive, by the sums of their stamps the same."""
    words = "sim connection-machine n=12 processors=16 --traffic one-each"
    result = run_command(words, capsys)
    assert result["delivered"] == result["injected"] == 2**16
    assert result["terminals"]["injected"] == [1] * 2**16
    assert sum(result["terminals"]["delivered"]) == 2**16
    assert (result["lost"], result["misrouted"], result["stamps_differ"]) == (0, 0, False)
    # One dimension a dimension cycle: a node's 16 messages cross 6 wires each.
    told = result["statistics"]
    assert 96 < told["router_steps"] < 200
    assert told["referred"] > 0
    assert told["wire_use"] > 0.5
    assert 1 < told["buffer_occupancy"]["mean"] < told["buffer_occupancy"]["max"] == 4


@pytest.mark.long
@pytest.mark.parametrize(
    ("links", "schedule", "priority"),
    [
        ("serial", "dimension", "fixed"),
        long("word", "parallel", "oldest"),
        long("word", "dimension", "fixed"),
        long("serial", "parallel", "oldest"),
    ],
)
def test_engines_agree(links: str, schedule: str, priority: str) -> None:
    network = ConnectionMachine(
        2, processors=1, buffers=1, schedule=schedule, priority=priority, links=links
    )
    load, cycles = (1.0, 60) if links == "word" else (0.02, 400)
    results = [
        simulate(network, load=load, cycles=cycles, warmup=5, engine=engine, source_depth=4)
        for engine in ("amaranth", "compiled")
    ]
    for name in ("generated", "injected", "delivered", "latency", "terminals", "links"):
        assert getattr(results[0], name) == getattr(results[1], name), name


@pytest.mark.long
@pytest.mark.parametrize("schedule", [long("parallel"), "dimension"])
@pytest.mark.parametrize("buffers", [1, long(2)])
def test_all_to_one(schedule: str, buffers: int) -> None:
    """The output of the one is the only limit, once messages wait at it."""
    network = ConnectionMachine(4, buffers=buffers, schedule=schedule)
    traffic = Pattern("all to 6", Destinations((6,) * network.ports, 1), InjectionProcess(quota=20))
    result = simulate(network, traffic=traffic)
    messages = 20 * network.ports
    assert result.delivered == messages
    assert result.cycles <= (network.plan.dimensions + 1) * messages


@pytest.mark.long
@pytest.mark.parametrize(
    ("schedule", "priority"),
    [
        *(long("parallel", "oldest"), ("parallel", "fixed")),
        *(("dimension", "oldest"), long("dimension", "fixed")),
    ],
)
def test_outputs_that_are_seldom_ready(schedule: str, priority: str) -> None:
    """A message that can't be delivered is kept, or sent round again; none is lost."""
    network = ConnectionMachine(
        2, buffers=1, payload=12, schedule=schedule, priority=priority, age=8
    )
    rng = random.Random(7)
    sent: list[Counter[int]] = [Counter() for _ in range(network.ports)]

    def offer(port: int, cycle: int) -> int | None:
        if cycle >= 120 or rng.random() < 0.3:
            return None
        destination = rng.randrange(network.ports)
        packet = destination | cycle << 2 | port << 10
        return packet

    def ready(port: int, cycle: int) -> bool:
        return cycle >= 150 or (port != 2 and rng.random() < 0.3)

    def watch() -> Cat:
        return Cat(network.instances[f"node_{node}"].referred for node in range(4))

    trace = transport(network, cycles=260, offer=offer, ready=ready, watch=watch)
    for cycle in trace:
        for _, packet in cycle.entered():
            sent[packet & 3][packet] += 1
    for port, packets in enumerate(sent):
        came = Counter(packet for cycle in trace for j, packet in cycle.moved() if j == port)
        assert came == packets
    assert sum(map(len, sent)) > 20
    if schedule == "parallel":
        assert any(cycle.watched for cycle in trace)


@pytest.mark.long
@pytest.mark.parametrize(("schedule", "links"), [("parallel", "word"), ("dimension", "serial")])
def test_no_combinational_loop(schedule: str, links: str) -> None:
    network = ConnectionMachine(2, processors=2, buffers=2, schedule=schedule, links=links)
    assert "attribute" in rtlil.convert(network)
