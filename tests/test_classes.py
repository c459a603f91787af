# amaranth: UnusedElaboratable=no
"""Classes of messages: each has channels of its own, and the wires of links by turns."""

import json
import random
from itertools import product
from typing import Any

import pytest
from amaranth.hdl import Cat, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from click.testing import CliRunner
from driving import exercise
from long_runs import long
from multicube.hdl import PacketNetwork, build
from multicube.hdl.graphs.routing.classed import class_of
from multicube.hdl.graphs.routing.deadlock import deadlock_cycle
from multicube.hdl.graphs.routing.replying import Replying, parse_reply
from multicube.hdl.primitives.class_arbiter import ClassArbiter, parse_weights
from multicube.sim import (
    Message,
    Trace,
    TracePacket,
    Workload,
    WorkloadMessage,
    run_replies,
    run_workload,
    send_messages,
    simulate,
)
from multicube.sim.command.deadlock_command import deadlock as command
from multicube.sim.measure.result import Result
from multicube.sim.workload.class_traffic import network_traffic
from multicube.sim.workload.traffic import Pattern, pattern
from refusals import refusals, refused


def network(words: str, **parameters: Any) -> PacketNetwork:
    built = build(words, **parameters)
    assert isinstance(built, PacketNetwork)
    return built


# Channels.


@pytest.mark.parametrize(
    "words",
    ["torus k=3 n=2", "hypercube n=3 routing=adaptive", "graph", "cube ports=8 switch=wormhole"],
)
def test_a_class_takes_the_channels_that_it_would_take_alone(words: str) -> None:
    """Channel c of a link is c * 3 + k in class k, and no class takes one of another."""
    one, three = network(words), network(words, classes=3)
    assert three.ports == 3 * one.ports
    for terminal, other, own in product(range(0, one.ports, 3), range(one.ports), range(3)):
        alone = one.path(terminal, other)
        path = three.path(3 * terminal + own, 3 * other + own)
        assert [pin.cell for pin in path] == [pin.cell for pin in alone]
        assert [pin.path[1] for pin in path[:-1]] == [3 * pin.path[1] + own for pin in alone[:-1]]
    seen: dict[Any, set[int]] = {}
    for endpoint in range(three.sinks):
        for pin in three.moves(endpoint):
            seen.setdefault(pin, set()).add(endpoint % 3)
    assert all(len(classes) == 1 for classes in seen.values())


def test_routers_have_no_wires_between_classes() -> None:
    for shape in network("torus k=4 n=2", classes=2).shapes:  # type: ignore[attr-defined]
        for output in shape.outputs:
            entries = {class_of(shape.inputs[i].end, 2) for i in output.inputs}
            assert entries == {class_of(output.end, 2)}


def per_class(result: Result) -> list[tuple[int, int, float | None]]:
    return [(each.injected, each.delivered, each.latency.mean) for each in result.classes]


@pytest.mark.long
def test_a_class_with_priority_does_not_see_the_other() -> None:
    """Whatever class 1 sends, each packet of class 0 moves in the same cycles."""
    mesh = network("mesh k=4 n=1 classes=2 length=2 arbiter=priority")
    span: dict[str, Any] = {"cycles": 1500, "warmup": 100}
    quiet, busy = (
        simulate(mesh, traffic=of_classes(4, 0.125, load), load=(0.125 + load) / 2, **span)
        for load in (0.0, 0.25)
    )
    assert busy.classes[0] == quiet.classes[0]
    assert busy.classes[1].delivered > 0 == quiet.classes[1].delivered


def of_classes(terminals: int, *loads: float) -> Pattern:
    """Uniform traffic of each class, with such loads."""
    count = len(loads)
    rows = [[0.0] * (terminals * count) for _ in range(terminals * count)]
    for source, to, own in product(range(terminals), range(terminals), range(count)):
        rows[source * count + own][to * count + own] = loads[own]
    return pattern(rows, terminals * count)


@pytest.mark.long
def test_all_engines_agree() -> None:
    mesh = network("mesh k=2 n=1 classes=2 length=1:2 arbiter=weighted")
    runs = [
        simulate(mesh, load=0.6, cycles=200, warmup=50, engine=engine)
        for engine in ("compiled", "amaranth")
    ]
    assert runs[0].classes == runs[1].classes
    assert runs[0].links == runs[1].links


# Traffic.


def test_traffic_of_each_class() -> None:
    mesh = network("mesh k=3 n=2", classes=2)
    mixed = network_traffic("uniform@3; neighbor", mesh)
    assert mixed.name == "uniform@3; neighbor"
    assert network_traffic(mixed.name, mesh) == mixed
    weights, rates = mixed.where.matrix, mixed.when.of(18)
    assert weights is not None
    assert rates[0::2] == (1.5,) * 9
    assert rates[1::2] == (0.5,) * 9
    nearest = network_traffic("neighbor", network("mesh k=3 n=2")).destinations(
        network("mesh k=3 n=2").code
    )
    assert nearest is not None
    for terminal, to in enumerate(nearest):
        assert [*weights[2 * terminal + 1].nonzero()[0]] == [2 * (to or 0) + 1]
        assert [*weights[2 * terminal].nonzero()[0]] == [*range(0, 18, 2)]


def test_the_name_of_traffic_has_the_whole_share() -> None:
    mesh = network("mesh k=3 n=2", classes=2)
    mixed = network_traffic("uniform@0.12345678; neighbor", mesh)
    assert network_traffic(mixed.name, mesh) == mixed
    assert mixed.when.of(18)[0] == pytest.approx(2 * 0.12345678 / 1.12345678)


def test_a_sphere_of_all_terminals_is_uniform() -> None:
    """As without classes: what would go outside it has no other place to go."""
    mesh = network("mesh k=2 n=2", classes=2)
    assert network_traffic("sphere:0:4", mesh).where.matrix == pytest.approx(
        network_traffic("uniform", mesh).where.matrix
    )
    with refused("Terminals SIZE of sphere:0.9:3 must divide 4, the number of all, not 3"):
        network_traffic("sphere:0.9:3", mesh)


test_traffic_is_refused = refusals(
    lambda traffic, **more: network_traffic(traffic, network("mesh k=2 n=1 classes=2", **more)),
    ("uniform; uniform; uniform", "Traffic must be of 2 classes, not of 3: uniform; uniform; ..."),
    ("uniform@0; uniform", "Share of a class must be a number above 0, not '0'"),
    ("uniform@x", "Share of a class must be a number above 0, not 'x'"),
    ("uniform; uniform+interval:3", "Classes of messages must have the same bursts, ..."),
    ("broadcast:0.5", "Traffic broadcast:0.5 is not for classes of messages"),
)


def test_packets_stay_in_their_class() -> None:
    mesh = network("mesh k=2 n=1 classes=2")
    trace = Trace("own", (TracePacket(0, 0, 3),))
    with refused(
        "Trace own, packet of cycle 0 from 0 to 3: "
        "Packets must stay in their class: endpoint 0 is of class 0, and 3 of 1",
        ValueError,
    ):
        simulate(mesh, traffic=trace)
    with refused("Packets must stay in their class: endpoint 1 is of class 1, and 2 of 0"):
        run_workload(mesh, Workload("own", (WorkloadMessage(0, 1, 2),)))
    with refused("Packets must stay in their class: endpoint 1 is of class 1, and 2 of 0"):
        send_messages(mesh, [Message(1, 2, 7)])
    with refused("Traffic 3,2,1,0 must be for endpoints of the class of their source"):
        simulate(mesh, traffic=network_traffic("3,2,1,0", network("mesh k=4 n=1")))


def test_destinations_of_endpoints() -> None:
    """A pattern for endpoints that stays in their classes; some may send nothing."""
    mesh = network("mesh k=2 n=1 classes=2")
    result = simulate(mesh, traffic=pattern("2,3,x,1", 4), load=0.2, cycles=300)
    assert result.lost == 0
    assert [bool(count) for count in result.terminals["delivered"]] == [False, True, True, True]


# Arbiters.


class Turns(wiring.Component):
    def __init__(self, arbiter: ClassArbiter, channels: int) -> None:
        self.arbiter = arbiter
        ports = (("request", In), ("granted", Out), ("last", Out))
        super().__init__({name: flow(channels) for name, flow in ports})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.sync += self.last.eq(self.granted)  # so that there is a clock
        m.d.comb += self.granted.eq(Cat(self.arbiter.grant(m, "turn", list(self.request))))
        return m


@pytest.mark.parametrize(
    ("weights", "channels"), [((), 3), ((), 6), ((2, 1, 4), 3), ((1, 3), 4), ((3, 1, 1, 2), 4)]
)
def test_class_arbiters_follow_their_words(weights: tuple[int, ...], channels: int) -> None:
    """The lowest class with turns left goes; new turns when none that waits has any."""
    classes = len(weights) or 3
    dut = Turns(ClassArbiter(classes, weights), channels)
    draw = random.Random(5)

    async def testbench(ctx: Any) -> None:
        left, last = [*weights], [0] * classes
        waits, each = [0] * classes, channels // classes
        for _ in range(400):
            bits = [draw.random() < 0.6 for _ in range(channels)]
            ctx.set(dut.request, sum(bit << i for i, bit in enumerate(bits)))
            asks = [any(bits[k::classes]) for k in range(classes)]
            expected = 0
            if any(asks):
                able = [k for k in range(classes) if asks[k] and (not weights or left[k])]
                if not able:
                    left = [*weights]
                chosen = able[0] if able else asks.index(True)
                if weights:
                    left[chosen] -= 1
                for k in filter(asks.__getitem__, range(classes)):
                    turns = [(last[k] + i) % each for i in range(each)]
                    last[k] = next(i for i in turns if bits[i * classes + k])
                    if k == chosen:
                        expected = 1 << last[k] * classes + k
                        last[k] += 1
                for k in range(classes):
                    waits[k] = waits[k] + 1 if asks[k] and k != chosen else 0
                    most = dut.arbiter.longest_wait(k)
                    assert most is None or waits[k] <= most
            assert ctx.get(dut.granted) == expected
            await ctx.tick()

    exercise(dut, testbench)


@pytest.mark.long
def test_shares_of_a_link_are_the_weights() -> None:
    """One link between two nodes, always asked for by three classes."""
    line = network("mesh k=2 n=1 classes=3 arbiter=weighted weights=4:1:2 depth=8")
    result = simulate(line, traffic="1,x", load=0.5, cycles=1400, warmup=200)
    assert [each.delivered for each in result.classes] == [800, 200, 400]
    assert result.links["node 0 -> node 1, +x"] == 1


@pytest.mark.long
def test_a_starved_class_gets_nothing() -> None:
    """Priority is no promise to others: as long as class 0 fills a link, class 1 stands."""
    line = network("mesh k=2 n=1 classes=2 arbiter=priority depth=8")
    full = simulate(line, traffic="1,x", load=0.5, cycles=1000, warmup=200)
    assert [each.delivered for each in full.classes] == [1000, 0]
    assert full.classes[1].least_served == 0
    half = simulate(line, traffic="1,x@1; 1,x@3", load=0.25, cycles=4000, warmup=200)
    assert half.classes[0].latency.max == 2
    assert half.classes[1].delivered == pytest.approx(3 * half.classes[0].delivered, rel=0.1)


test_weights_are_refused = refusals(
    parse_weights,
    ("1", 2, "Weights must be 2 numbers, as in 3:1, not '1'"),
    ("1:x", 2, "Weights must be 2 numbers, as in 3:1, not '1:x'"),
    ("0:1", 2, "Weight of a class must be from 1 to 64, not 0"),
)

test_classes_are_refused = refusals(
    lambda words: build(words),
    ("mesh arbiter=priority", "Classes must be at least 2 with arbiter=priority, not 1"),
    (
        "mesh classes=2 weights=1:2",
        "Weights must be left out unless arbiter=weighted, not '1:2'...",
    ),
    ("mesh classes=2 arbiter=weighted pipeline=1", "Pipeline must be 0 with arbiter=weighted, ..."),
    ("mesh classes=9", "Classes must be from 1 to 8, not 9"),
    ("mesh classes=2 group_entries=1", "Group entries must be 0 with classes=2, not 1"),
    ("torus k=4 classes=2 switch=packet", "Switch must be wormhole or cut-through or ..."),
    ("graph classes=2 routing=valiant", "Classes must be 1 if packets go by way of ..."),
    ("graph classes=2 tables=rewritable", "Tables must be fixed with classes=2, not rewritable"),
    ("cube classes=2", "Classes must be 1 with switch=output-queued, not 2"),
    ("cube classes=2 switch=wormhole replication=2", "Replication must be 1 with classes=2, not 2"),
)


# Requests and replies.

FREE = [
    ("cube ports=8 switch=wormhole classes=2", (0, 1)),
    long("mesh k=4 n=2 classes=2", (0, 1)),
    long("torus k=4 n=2 classes=3", (2, 0)),
]
LOCKED = [
    ("cube ports=8 switch=wormhole", (0, 0)),
    ("cube ports=8 switch=wormhole classes=2 depth=2", (1, 1)),
    long("mesh k=4 n=2", (0, 0)),
    long("mesh k=4 n=2 classes=2", (1, 1)),
]


@pytest.mark.parametrize(("words", "reply"), FREE)
def test_replies_of_their_own_class_are_free(words: str, reply: tuple[int, int]) -> None:
    built = network(words)
    assert deadlock_cycle(Replying(built, [reply])) is None
    run = run_replies(built, reply, cycles=1500)
    assert run.received == run.requested > 1500
    assert not run.stuck


@pytest.mark.parametrize(("words", "reply"), LOCKED)
def test_replies_of_the_class_of_requests_lock_up(words: str, reply: tuple[int, int]) -> None:
    built = network(words)
    assert deadlock_cycle(built) is None
    assert deadlock_cycle(Replying(built, [reply])) is not None
    run = run_replies(built, reply, cycles=1500)
    assert run.stuck
    assert run.received < run.requested < 1500


def test_a_trace_counts_the_packets_of_each_class() -> None:
    """Endpoint e is of class e mod 3; none of class 2 sends."""
    sent = [(0, 3), (3, 6), (3, 0), (1, 4), (0, 6)]
    trace = Trace("five", tuple(TracePacket(5 * n, *each) for n, each in enumerate(sent)))
    result = simulate(network("torus k=3 n=1 classes=3"), traffic=trace)
    counts = [(each.generated, each.injected, each.delivered) for each in result.classes]
    assert counts == [(4, 4, 4), (1, 1, 1), (0, 0, 0)]
    window = result.cycles
    assert [each.least_served * window for each in result.classes] == pytest.approx([2, 1, 0])


def test_chains_of_classes() -> None:
    """As long as causes and effects have an order, all is free."""
    three = network("mesh k=2 n=2 classes=3")
    assert deadlock_cycle(Replying(three, [(0, 1), (1, 2)])) is None
    assert deadlock_cycle(Replying(three, [(0, 1), (1, 2), (2, 0)])) is not None
    assert deadlock_cycle(Replying(three, [(0, 1), (1, 0)])) is not None
    adaptive = network("hypercube n=3 routing=adaptive classes=2")
    assert deadlock_cycle(Replying(adaptive, [(0, 1)])) is None


def test_the_command_shows_it() -> None:
    words = ["cube", "ports=8", "switch=wormhole", "--reply", "0:0", "--run", "1500", "--json"]
    done = CliRunner().invoke(command, words)
    record = json.loads(done.output)
    assert done.exit_code == 1
    assert (record["free"], record["replies"]) == (False, [[0, 0]])
    assert record["run"]["stuck"]


test_replies_are_refused = refusals(
    lambda text: Replying(network("mesh k=2 n=1"), [parse_reply(text)]),
    ("0", "Reply must be CLASS:CLASS, such as 0:1, not '0'"),
    ("0:1", "Classes of a reply must be from 0 to 0 in this network, not 1"),
)
