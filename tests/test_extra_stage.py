# amaranth: UnusedElaboratable=no
"""The Extra Stage Cube: every single fault leaves every pair connected, in the plan and as RTL."""

import itertools
import random
from typing import Any

import numpy as np
import pytest
from amaranth.back import rtlil
from amaranth.hdl import Cat, Module, Signal, Value
from deliveries import deliveries
from driving import exercise, transport
from long_runs import long
from multicube.hdl import MultistageNetwork
from multicube.hdl.fabric.fabric_component import FabricComponent
from multicube.hdl.families.multistage.extra_stage_cells import PathSelector
from multicube.hdl.families.multistage.extra_stage_network import (
    ReconfigurableExtraStageCube,
    controls,
)
from multicube.hdl.graphs.plans.extra_stage import (
    Configuration,
    Fault,
    extra_stage_plan,
    parse_faults,
)
from multicube.hdl.links.packet import Packet
from multicube.sim import Trace, TracePacket, simulate
from multicube.sim.workload.faults import inject
from multicube.sim.workload.injection import Injection
from refusals import refusals

SIZES = [2, 4, 8, 16, 64]


def bit_of_stage(ports: int, stage: int) -> int:
    """The bit in which the lines of a box differ: 0 for the extra stage, then n-1 down to 0."""
    n = ports.bit_length() - 1
    return 0 if stage == 0 else n - stage


def lines_of_box(ports: int, fault: Fault) -> list[int]:
    """The two lines at a box: its number with a 0 or 1 put in at the stage's bit."""
    bit = bit_of_stage(ports, fault.stage)
    low = fault.index & (1 << bit) - 1
    return [(fault.index >> bit) << bit + 1 | value << bit | low for value in (0, 1)]


# Plan


@pytest.mark.parametrize("ports", SIZES)
def test_every_single_fault_leaves_every_pair_connected(ports: int) -> None:
    """All boxes and links; paths from the definition: each stage in use replaces one bit."""
    plan = extra_stage_plan(ports)
    n = ports.bit_length() - 1
    sources, destinations = np.divmod(np.arange(ports**2), ports)
    faults = list(plan.faults())
    assert len(faults) == len(set(faults)) == (n + 1) * (ports // 2 + 2 * ports)
    for fault in faults:
        configuration = plan.configure([fault])
        if configuration.bypass_extra:
            exchange = 0
        elif configuration.bypass_last:
            exchange = (sources ^ destinations) & 1
        else:
            exchange = configuration.meets(sources, destinations)
        line = sources
        for stage in range(n + 1):
            used = not (
                (stage == 0 and configuration.bypass_extra)
                or (stage == n and configuration.bypass_last)
            )
            after = line
            if used and stage == 0:
                after = line ^ exchange
            elif used:
                bit = 1 << bit_of_stage(ports, stage)
                after = line & ~bit | destinations & bit
            if used and fault.stage == stage:
                if fault.kind == "box":
                    assert not np.isin(line, lines_of_box(ports, fault)).any(), fault
                else:
                    crossed = line if fault.kind == "entry" else after
                    assert not (crossed == fault.index).any(), fault
            line = after
        assert (line == destinations).all(), fault


@pytest.mark.one_in(2)
@pytest.mark.parametrize("ports", [2, 8, long(16)])
def test_path_of_the_plan_avoids_the_fault(ports: int) -> None:
    plan = extra_stage_plan(ports)
    pairs = list(itertools.product(range(ports), repeat=2))
    for fault in plan.faults():
        configuration = plan.configure([fault])
        bypassed = configuration.bypass_extra + configuration.bypass_last
        for source, destination in pairs[:: 1 if ports < 16 else 7]:
            hops = plan.path(source, destination, configuration)
            assert fault not in plan.crossed(hops)
            assert len(hops) == len(plan.stages) - bypassed
            line = source
            for hop in hops:
                assert plan.port(hop.stage, line) == (hop.box, hop.input)
                line = plan.line(hop.stage, hop.box, hop.output)
            assert line == destination


@pytest.mark.long
def test_fault_free_network_is_a_generalized_cube_and_a_fault_blocks_it() -> None:
    """Without reconfiguration, a fault cuts as many pairs off as it should."""
    plan = extra_stage_plan(8)
    assert plan.configure([]) == Configuration(bypass_extra=True)
    pairs = list(itertools.product(range(8), repeat=2))
    for fault in plan.faults():
        cut = sum(fault in plan.crossed(plan.path(*pair)) for pair in pairs)
        assert cut == (0 if fault.stage == 0 else 16 if fault.kind == "box" else 8)


@pytest.mark.parametrize("ports", [4, 8, long(32)])
def test_two_paths_share_nothing_between_the_extra_and_the_last_stage(ports: int) -> None:
    plan = extra_stage_plan(ports)
    for pair in itertools.product(range(ports), repeat=2):
        primary, secondary = (plan.crossed(path) for path in plan.paths(*pair))
        shared = primary & secondary
        last = plan.last
        assert {(place.kind, place.stage) for place in shared} == {
            ("entry", 0),
            ("box", 0),
            ("box", last),
            ("link", last),
        }


@pytest.mark.one_in(2)
@pytest.mark.parametrize("routing", ["destination", "xor"])
def test_tag_leads_through_the_stages_in_use(routing: str) -> None:
    """A model of the boxes: each takes the top digit and rotates the tag, also where bypassed."""
    plan = extra_stage_plan(8)
    for fault in [None, *plan.faults()]:
        configuration = plan.configure([] if fault is None else [fault])
        for source, destination in itertools.product(range(8), repeat=2):
            tag = sent = plan.tag(source, destination, configuration, routing)
            line = source
            for stage in range(4):
                digit, tag = tag >> 3, (tag << 1 | tag >> 3) & 15
                bypassed = (stage == 0 and configuration.bypass_extra) or (
                    stage == 3 and configuration.bypass_last
                )
                if not bypassed:
                    bit = 1 << bit_of_stage(8, stage)
                    if routing == "xor":
                        line ^= digit * bit
                    else:
                        line = line & ~bit | digit * bit
            assert (line, tag) == (destination, sent), (fault, source)


@pytest.mark.parametrize(
    ("text", "configuration"),
    [
        ("", Configuration(bypass_extra=True)),
        ("box:0:1, link:0:7,entry:0:0", Configuration(bypass_extra=True)),
        ("box:3:1,link:3:6", Configuration(bypass_last=True)),
        # Between the stages all lines carry the source's bits at first, then ever more of the
        # destination's.
        ("entry:1:5", Configuration(destination=0b000, care=0b111, label=0b101)),
        ("box:1:2", Configuration(destination=0b000, care=0b011, label=0b010)),
        ("link:1:5", Configuration(destination=0b100, care=0b111, label=0b101)),
        ("link:1:5,entry:2:5", Configuration(destination=0b100, care=0b111, label=0b101)),
        ("box:2:3", Configuration(destination=0b100, care=0b101, label=0b101)),
        ("link:2:5", Configuration(destination=0b110, care=0b111, label=0b101)),
    ],
)
def test_configuration(text: str, configuration: Configuration) -> None:
    assert extra_stage_plan(8).configure(parse_faults(text)) == configuration


@pytest.mark.parametrize(
    "text", ["box:0:1,box:1:1", "box:3:1,box:1:1", "box:0:0,box:3:0", "link:1:1,link:2:1"]
)
def test_configure_rejects_more_than_it_tolerates(text: str) -> None:
    words = ", ".join(text.split(","))
    message = (
        "Faults must all be in the extra stage, or all in the last stage, or be one between "
        f"them, not {words}"
    )
    with pytest.raises(ValueError, match=f"^{message}$"):
        extra_stage_plan(8).configure(parse_faults(text))


test_configure_rejects = refusals(
    lambda text: extra_stage_plan(8).configure(parse_faults(text)),
    ("box:4:0", "Stage of fault box:4:0 must be from 0 to 3"),
    ("box:1:4", "Number of fault box:1:4 must be from 0 to 3"),
    ("link:1:8", "Number of fault link:1:8 must be from 0 to 7"),
    ("wire:1:1", "Fault must be one of box, link, entry, not 'wire'"),
    ("box:1", "Fault must be one of box:STAGE:NUMBER, ..."),
    ("box:1:x", "Fault must be one of box:STAGE:NUMBER, ..."),
)


@pytest.mark.parametrize(("ports", "error"), [(12, ValueError), (1, ValueError), ("8", TypeError)])
def test_extra_stage_plan_rejects(ports: object, error: type) -> None:
    with pytest.raises(error, match=r"^Ports must be"):
        extra_stage_plan(ports)


# Interfaces


@pytest.mark.long
@pytest.mark.parametrize("routing", ["destination", "xor"])
def test_selector_makes_the_tags_of_the_plan(routing: str) -> None:
    """All pairs and all configurations of 8 terminals."""
    plan = extra_stage_plan(8)
    configurations = {plan.configure([fault]) for fault in plan.faults()}
    assert len(configurations) == 2 + 4 + 4 + 8 * 3
    m = Module()
    m.submodules.dut = dut = PathSelector(Packet(3, 2), routing=routing)
    m.d.sync += Signal().eq(1)  # the simulation wants a clock

    async def testbench(ctx: Any) -> None:
        ctx.set(dut.i.payload.payload, 2)
        settings = Cat(dut.address, dut.bypass_extra, dut.bypass_last, dut.avoid, dut.i.payload.tag)
        for configuration in configurations:
            extra, last, avoid = controls(plan, configuration)
            for source, destination in itertools.product(range(8), repeat=2):
                tag = plan.tags(routing).tag(source, destination)
                ctx.set(settings, source | extra << 3 | last << 4 | avoid << 5 | tag << 14)
                expected = plan.tag(source, destination, configuration, routing)
                assert ctx.get(Value.cast(dut.o.payload)) == expected | 2 << 4

    exercise(m, testbench)


# Networks


@pytest.mark.long
@pytest.mark.parametrize(
    ("switch", "depth", "routing"),
    [long("output-queued", 2, "destination"), ("input-queued", 1, "xor")],
)
def test_hardware_tolerates_every_single_fault(switch: str, depth: int, routing: str) -> None:
    """8 terminals: each box and each link is dead in turn; all pairs get through."""
    network = MultistageNetwork(8, switch=switch, depth=depth, routing=routing, extra_stage=1)
    faults = list(network.plan.faults())
    results = deliveries(network, [(str(fault), [fault]) for fault in faults], 150)
    assert results == [(64, 64)] * 80


@pytest.mark.long
@pytest.mark.parametrize(("ports", "count", "cycles"), [(16, 16, 250), long(64, 3, 800)])
def test_larger_hardware_tolerates_single_faults(ports: int, count: int, cycles: int) -> None:
    network = MultistageNetwork(ports, depth=2, extra_stage=1)
    print(f"seed {ports}")
    faults = random.Random(ports).sample(list(network.plan.faults()), count)
    results = deliveries(network, [(str(fault), [fault]) for fault in faults], cycles)
    assert results == [(ports**2, ports**2)] * count


def test_hardware_that_is_not_told_loses_packets() -> None:
    """Those whose path is cut, at least (behind them others wait); with what it avoids, none."""
    network = MultistageNetwork(8, depth=2, extra_stage=1)
    faults = list(network.plan.faults())[::3]
    results = deliveries(network, [("", [fault]) for fault in faults], 150)
    for fault, (_, delivered) in zip(faults, results):
        cut = 0 if fault.stage == 0 else 16 if fault.kind == "box" else 8
        assert 0 < delivered <= 64 - cut, fault
        assert fault.stage or delivered == 64


@pytest.mark.long
def test_hardware_that_is_told_wrong_loses_packets() -> None:
    """The label matters: set for one line, the network does not avoid another."""
    network = MultistageNetwork(8, depth=2, extra_stage=1)
    cases = [(f"link:1:{told}", [Fault("link", 1, dead)]) for told in (2, 3) for dead in (2, 3)]
    results = deliveries(network, cases, 150)
    assert [delivered == 64 for _, delivered in results] == [True, False, False, True]


@pytest.mark.one_in(4)
@pytest.mark.parametrize(("faults", "cycles"), [("", 3), ("box:3:0", 3), ("box:1:0", 4)])
@pytest.mark.parametrize("parity", [long("none"), "packet"])
def test_latency_is_the_number_of_stages_in_use(faults: str, cycles: int, parity: str) -> None:
    network = MultistageNetwork(8, faults=faults, parity=parity, extra_stage=1)
    packets = tuple(
        TracePacket(6 * number, *pair)
        for number, pair in enumerate(itertools.product(range(8), repeat=2))
    )
    result = simulate(network, traffic=Trace("apart", packets), bins=16)
    assert network.stages == cycles
    assert result.latency.histogram == [0] * cycles + [64]
    for pair in [(0, 0), (3, 6)]:
        used = [network.wires[pin].link for pin in network.path(*pair)]
        assert len(used) == cycles
        assert all(result.links[link] > 0 for link in used)


@pytest.mark.long
def test_engines_agree() -> None:
    network = MultistageNetwork(
        4, routing="xor", depth=1, faults="link:1:2", parity="byte", extra_stage=1
    )
    records = []
    for engine in ("amaranth", "compiled"):
        record = simulate(network, load=0.7, cycles=60, warmup=10, engine=engine, bins=32).to_json()
        assert record.pop("engine") == engine
        records.append(record)
    assert records[0] == records[1]
    assert records[0]["delivered"] > 100


@pytest.mark.long
@pytest.mark.parametrize("switch", ["input-queued", "output-queued"])
@pytest.mark.parametrize("routing", ["destination", long("xor")])
def test_network_has_no_combinational_cycle(switch: str, routing: str) -> None:
    """The converter would find one; depth 1 has the longest paths."""
    network = MultistageNetwork(
        4, switch=switch, depth=1, routing=routing, parity="packet", extra_stage=1
    )
    assert "bypass" in rtlil.convert(network)


def test_reconfiguration_needs_an_extra_stage() -> None:
    with pytest.raises(ValueError, match=r"^Network must have an extra stage$"):
        ReconfigurableExtraStageCube(MultistageNetwork(8))


@pytest.mark.long
def test_reconfiguration_at_run_time() -> None:
    """The same network, never reset, is set for one fault after another."""
    network = MultistageNetwork(8, payload=6, extra_stage=1)
    dut = ReconfigurableExtraStageCube(network)
    plan = network.plan
    settings = ["", "box:3:2", "link:2:5", "link:0:0"]
    boxes = list(itertools.product(range(4), repeat=2))

    async def testbench(ctx: Any) -> None:
        shown = Cat(
            Cat(port.valid for port in dut.instances[f"box_{stage}_{box}"].o)
            for stage, box in boxes
        )
        for text in settings:
            configuration = plan.configure(parse_faults(text))
            for name, value in controls(plan, configuration)._asdict().items():
                ctx.set(Value.cast(getattr(dut, name)), int(value))
            for source in range(8):
                destination = (5 * source + len(text)) % 8
                packet = network.tags.tag(source, destination) | (source << 3 | destination) << 3
                port, end = dut.i[source], dut.o[destination]
                ctx.set(Cat(port.valid, port.payload, end.ready), packet << 1 | 1 | 1 << 10)
                for hop in plan.path(source, destination, configuration):
                    await ctx.tick()
                    ctx.set(port.valid, 0)
                    # Of all boxes of all stages, only those of the path show a packet.
                    at = boxes.index((hop.stage, hop.box))
                    assert ctx.get(shown) == 1 << 2 * at + hop.output
                assert ctx.get(Cat(end.valid, end.payload)) == packet << 1 | 1
                await ctx.tick()

    exercise(dut, testbench)


@pytest.mark.long
@pytest.mark.parametrize(
    ("fault", "routing"),
    [
        long("box:3:2", "xor"),
        ("box:3:1", "destination"),
        long("box:2:0", "xor"),
        long("link:1:4", "destination"),
    ],
)
def test_broadcasts_avoid_the_fault(fault: str, routing: str) -> None:
    """One broadcast at a time, with a random mask; the fault is dead."""
    plan = extra_stage_plan(8)
    network = MultistageNetwork(
        8, payload=7, routing=routing, broadcast=1, faults=fault, extra_stage=1
    )
    dut = FabricComponent(inject(network.fabric, plan, [Injection(Fault.parse(fault))]))
    generator = random.Random(fault)
    print(f"seed {fault}")
    sent = []
    for number in range(40):
        mask = generator.randrange(8)
        first = generator.randrange(8)
        outputs = [d for d in range(8) if (d ^ first) & ~mask == 0]
        sent.append((generator.randrange(8), outputs, number))

    def offer(port: int, cycle: int) -> int | None:
        if cycle % 5 or cycle // 5 >= len(sent) or sent[cycle // 5][0] != port:
            return None
        source, outputs, number = sent[cycle // 5]
        tag, mask = network.tags.broadcast(source, outputs)
        return tag | mask << 3 | number << 6

    trace = transport(dut, cycles=5 * len(sent) + 5, offer=offer)
    arrived: dict[int, list[int]] = {number: [] for number in range(40)}
    for cycle in trace:
        for output, packet in cycle.moved():
            arrived[packet >> 6].append(output)
    assert {number: sorted(outputs) for number, outputs in arrived.items()} == {
        number: outputs for _, outputs, number in sent
    }


@pytest.mark.long
@pytest.mark.parametrize("routing", ["destination", long("xor")])
def test_circuits_tolerate_single_faults(routing: str) -> None:
    """8 terminals, the same stages and bypasses with circuit boxes and links."""
    network = MultistageNetwork(8, routing=routing, switch="circuit", extra_stage=1)
    faults = list(network.plan.faults())[:: 5 if routing == "destination" else 7]
    results = deliveries(network, [(str(fault), [fault]) for fault in faults], 600)
    assert results == [(64, 64)] * len(faults)


@pytest.mark.long
def test_circuits_that_are_not_told_wait_for_ever() -> None:
    network = MultistageNetwork(8, switch="circuit", extra_stage=1)
    faults = [fault for fault in network.plan.faults() if fault.stage][::13]
    results = deliveries(network, [("", [fault]) for fault in faults], 600)
    assert all(0 < delivered < 64 for _, delivered in results)


test_extra_stage_cube_rejects = refusals(
    lambda parameters: MultistageNetwork(**{"ports": 8, "extra_stage": 1, **parameters}),
    ({"ports": 12}, "Ports must be a power of the radix 2, not 12"),
    ({"switch": "wormhole"}, "Extra stage must be 0 with switch=wormhole, not 1"),
    ({"depth": 0}, "Depth must be from 1 to 65536, not 0"),
    ({"payload": 0}, "Payload must be from 1 to 4096, not 0"),
    ({"routing": "random"}, "Routing must be one of destination, xor, difference, not 'random'"),
    ({"broadcast": 2}, "Broadcast must be from 0 to 1, not 2"),
    ({"parity": "odd"}, "Parity must be one of none, packet, byte, not 'odd'"),
    ({"faults": "box:9:9"}, "Stage of fault box:9:9 must be from 0 to 3"),
)
