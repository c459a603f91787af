# amaranth: UnusedElaboratable=no
"""Injected faults do what they say, nothing else, and what they lose is missed."""

import itertools
import random
from collections.abc import Callable
from typing import Any

import pytest
from amaranth.back import rtlil
from amaranth.hdl import Value
from driving import exercise, transport
from long_runs import long
from multicube.hdl import MultistageNetwork, Network, build
from multicube.hdl.bench import PacketBench
from multicube.hdl.boxes.circuit import CircuitBox
from multicube.hdl.fabric.cell import Cell, CellType
from multicube.hdl.fabric.fabric import Fabric
from multicube.hdl.fabric.fabric_component import FabricComponent
from multicube.hdl.fabric.pins import Pin
from multicube.hdl.families.connection_machine.message import Message
from multicube.hdl.graphs.plans.extra_stage import Fault
from multicube.hdl.links.packet import Packet
from multicube.hdl.terminals.circuit_terminals import CircuitInitiator
from multicube.sim import Result, SimulationError, Trace, TracePacket, simulate
from multicube.sim.engines.compiled import CompiledEngine
from multicube.sim.workload.fault_cells import LinkFault, StuckBox
from multicube.sim.workload.faults import cut, gated, inject, places
from multicube.sim.workload.injection import FORMS, Injection, parse_fault
from refusals import refusals, refused


@pytest.fixture
def run() -> Callable[..., Result]:
    """Simulate a network with faults in it."""

    def run(network: Network, *faults: str, **options: Any) -> Result:
        return simulate(network, bins=64, faults=faults, **options)

    return run


def apart(ports: int, distance: int = 8) -> Trace:
    """All pairs, one packet at a time."""
    pairs = itertools.product(range(ports), repeat=2)
    packets = (TracePacket(distance * number, *pair) for number, pair in enumerate(pairs))
    return Trace("apart", tuple(packets))


# Components

PACKET = Packet(2, 8)


def link_trace(
    *,
    packet: Packet | Message = PACKET,
    cycles: int = 60,
    **straps: int,
) -> tuple[list[int], list[int]]:
    """What was taken from the sender, and what the receiver got, of packets 1, 2, 3 ..."""
    unused = {*LinkFault(packet).signature.members} - {"i", "o"}
    straps = {**dict.fromkeys(unused, 0), "rate": 1 << 16, "seed": 7, **straps}
    boundary = {
        name: CellType(LinkFault, packet=packet).build().signature.members[name] for name in "io"
    }
    fabric = Fabric(boundary)
    fabric.place(Cell("fault", CellType(LinkFault, packet=packet), straps))
    for name in "io":
        fabric.link(Pin(None, (name,)), Pin("fault", (name,)))
    dut = FabricComponent(fabric)
    generator = random.Random(5)
    print("seed 5")
    numbers = itertools.count(1)
    trace = transport(
        dut,
        cycles=cycles,
        offer=lambda port, cycle: next(numbers) if generator.random() < 0.7 else None,
        ready=lambda port, cycle: generator.random() < 0.7,
    )
    sent = [packet for cycle in trace for _, packet in cycle.entered()]
    return sent, [packet for cycle in trace for _, packet in cycle.moved()]


def test_link_without_fault_is_a_wire() -> None:
    sent, got = link_trace()
    assert sent == got
    assert len(sent) > 20


def test_dead_link_passes_nothing() -> None:
    assert link_trace(dead=1) == ([], [])


def test_lossy_link_takes_all_and_passes_nothing() -> None:
    sent, got = link_trace(lossy=1)
    assert len(sent) > 30
    assert not got


@pytest.mark.parametrize("packet", [PACKET, Message(2, 0, 0, 8)], ids=["packet", "message"])
def test_severed_link_swallows_what_comes(packet: Packet | Message) -> None:
    sent, got = link_trace(packet=packet, severed=1)
    assert len(sent) > 30
    assert not got


def test_flipping_link_inverts_its_bits() -> None:
    sent, got = link_trace(flip=0b1000000100)
    assert got == [packet ^ 0b1000000100 for packet in sent]
    assert len(sent) > 20


@pytest.mark.one_in(3)
@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9])
def test_rate_is_the_share_of_packets_hit(rate: float) -> None:
    """Within 3.3 standard deviations; which packets are hit does not change while they wait."""
    sent, got = link_trace(cycles=1000, flip=1 << 9, rate=round(rate * 2**16))
    assert {a ^ b for a, b in zip(sent, got)} == {0, 1 << 9}
    hits = sum(a != b for a, b in zip(sent, got))
    deviation = (len(sent) * rate * (1 - rate)) ** 0.5
    assert len(sent) > 400
    assert abs(hits - len(sent) * rate) < 3.3 * deviation
    assert len(got) == len(sent)


def test_lossy_rate_loses_some() -> None:
    sent, got = link_trace(cycles=400, lossy=1, rate=1 << 14)
    assert set(got) < set(sent)
    assert 0.6 < len(got) / len(sent) < 0.9


def test_fault_begins_when_it_should() -> None:
    sent, got = link_trace(cycles=100, flip=2, start=50)
    good = sum(a == b for a, b in zip(sent, got))
    assert got[good:] == [packet ^ 2 for packet in sent[good:]]
    assert 10 < good < len(sent) - 10


@pytest.mark.parametrize("routing", ["destination", "xor"])
def test_stuck_box_ignores_tags(routing: str) -> None:
    network = MultistageNetwork(4, payload=4, routing=routing)
    dut = StuckBox(network.boxes[0])
    trace = transport(dut, cycles=20, offer=lambda port, cycle: port << 5 | 0b01 | (cycle & 1) << 2)
    assert all(all(cycle.accepted) for cycle in trace)
    for before, after in itertools.pairwise(trace):
        # The tag is rotated: 01 becomes 10.
        assert after.shown == [packet ^ 0b11 for packet in before.offered]


# Networks


def test_network_with_spare_links_behaves_as_without() -> None:
    network = build("cube", ports=8)
    trace = apart(8, 1)
    plain = PacketBench(network, trace.sources(network), bins=16)
    spare = inject(plain, network.plan, [], spare=places(network.plan))
    spare.check()
    assert len(spare.cells) == len(plain.cells) + 2 * 3 * 8
    with CompiledEngine(plain) as a, CompiledEngine(spare) as b:
        for engine in (a, b):
            engine.set("send", 1)
            engine.set("measure", 1)
            engine.step(120)
        for port in ("delivered", "misrouted", "total_sum", "latest"):
            assert a.read(plain.sinks, port) == b.read(spare.sinks, port)
        meters = [name for name, _ in plain.link_meters]
        assert a.read(meters, "crossed") == b.read(meters, "crossed")
        assert sum(a.read(plain.sinks, "delivered")) == 64


@pytest.mark.long
def test_original_is_left_as_it_was() -> None:
    network = build("cube", ports=4)
    before = dict(network.fabric.drivers), dict(network.fabric.cells), list(network.fabric.links)
    faulty = inject(network.fabric, network.plan, [parse_fault("box:0:1")])
    assert before == (network.fabric.drivers, network.fabric.cells, network.fabric.links)
    faulty.check()
    assert "fault_link_0_3_0" in rtlil.convert(FabricComponent(faulty))


@pytest.mark.parametrize(
    "place",
    [
        *("link:0:1", "entry:2:5", "box:1:3"),
        *(long(place) for place in ("link:2:7", "entry:0:3")),
    ],
)
@pytest.mark.parametrize("effect", ["dead", "lossy"])
def test_lost_packets_are_missed(run: Callable[..., Result], place: str, effect: str) -> None:
    """Exactly those whose path crosses the place, if they are lost and not in the way."""
    network = build("cube", ports=8)
    with pytest.raises(SimulationError, match=r"^The books do not balance: \d+ ") as raised:
        run(network, f"{place}:{effect}", traffic=apart(8))
    result = raised.value.result
    fault = Fault.parse(place)
    cut = 16 if fault.kind == "box" else 8
    if effect == "lossy":
        assert (result.lost, result.unsent, result.delivered) == (cut, 0, 64 - cut)
    else:
        assert result.delivered <= 64 - cut
        assert result.lost + result.unsent == 64 - result.delivered


def test_stuck_box_misroutes_what_it_should_exchange(run: Callable[..., Result]) -> None:
    """Half of the 16 pairs of a box, and nothing else."""
    with pytest.raises(SimulationError, match=r"^The books do not balance: 8 misrouted") as raised:
        run(build("cube", ports=8), "box:1:2:straight", traffic=apart(8))
    assert raised.value.result.delivered == 64


@pytest.mark.parametrize("routing", ["destination", long("xor")])
@pytest.mark.parametrize("bit", [0, 20])
def test_parity_discards_damaged_packets(
    run: Callable[..., Result], bit: int, routing: str
) -> None:
    """The books balance with what was discarded: all packets through the damaged link."""
    network = MultistageNetwork(8, parity="packet", routing=routing, extra_stage=1)
    result = run(network, f"link:1:3:flip={bit}", traffic=apart(8))
    assert (result.delivered, result.corrupted, result.lost) == (56, 8, 0)
    assert (result.misrouted, result.duplicated) == (0, 0)


def test_without_parity_damage_to_the_tag_is_misrouted(run: Callable[..., Result]) -> None:
    with pytest.raises(SimulationError, match="misrouted"):
        run(build("cube", ports=8), "link:0:3:flip=0", traffic=apart(8))


@pytest.mark.long
def test_seldom_faults_under_random_traffic(run: Callable[..., Result]) -> None:
    network = MultistageNetwork(8, parity="byte", extra_stage=1)
    result = run(network, "link:1:3:flip=30:rate=0.1", load=0.4, cycles=1000, warmup=0)
    # One of 8 lines has 0.4 packets a cycle for 1,000 cycles.
    assert result.lost == 0
    assert 20 < result.corrupted < 65


def test_fault_during_a_run(run: Callable[..., Result]) -> None:
    """All pairs, 8 cycles apart: those born before the link dies get through."""
    network = build("cube", ports=8)
    with pytest.raises(SimulationError) as raised:
        run(network, "link:2:7:lossy:from=270", traffic=apart(8))
    # Destination 7 has had packets from the sources 0 to 3 in 2 + 8 (8 S + 7) to 250.
    assert raised.value.result.lost == 4


@pytest.mark.parametrize(("words", "gap"), [("", 10), ("switch=unbuffered", 2500)])
def test_a_flow_that_loses_many_packets_is_followed(
    run: Callable[..., Result], words: str, gap: int
) -> None:
    """A packet in each cycle, of which the link loses `gap` in the middle, and nothing else."""
    packets = tuple(TracePacket(cycle, 0, 1) for cycle in range(gap + 20))
    with pytest.raises(SimulationError, match=f"^The books do not balance: {gap} lost or stuck$"):
        run(
            build(f"cube ports=2 {words}"),
            f"link:0:1:lossy:from=10:for={gap}",
            traffic=Trace("one", packets),
        )


def test_several_faults_at_once(run: Callable[..., Result]) -> None:
    """A bit that is wrong at both ends of a link is right again."""
    network = MultistageNetwork(8, parity="packet", extra_stage=1)
    result = run(network, "link:1:3:flip=5", "entry:2:3:flip=5", traffic=apart(8))
    assert (result.delivered, result.corrupted) == (64, 0)


@pytest.mark.long
def test_engines_agree_on_faults(run: Callable[..., Result]) -> None:
    records = []
    for engine in ("amaranth", "compiled"):
        network = MultistageNetwork(4, parity="packet", extra_stage=1)
        fault = "link:1:2:flip=9:rate=0.3:from=20"
        result = run(network, fault, load=0.5, cycles=100, warmup=10, engine=engine)
        record = result.to_json()
        assert record.pop("engine") == engine
        records.append(record)
    assert records[0] == records[1]
    assert records[0]["corrupted"] > 3


def test_circuit_link_can_be_broken() -> None:
    """A box's output that is dead: the request waits; the other output works."""
    packet = Packet(1, 4)
    box = CellType(CircuitBox, packet=packet, radix=2)
    members = {name: box.build().signature.members[name] for name in "io"}
    fabric = Fabric(members)
    fabric.place(Cell("box_0_0", box))
    for name in "io":
        fabric.link(Pin(None, (name,)), Pin("box_0_0", (name,)))
    plan = build("cube", ports=2).plan
    dut = FabricComponent(inject(fabric, plan, [parse_fault("link:0:1")]))

    async def testbench(ctx: Any) -> None:
        for output in (0, 1):
            ctx.set(dut.i[0].request, 1)
            ctx.set(Value.cast(dut.i[0].payload), output)
            ctx.set(dut.o[output].grant, 1)
            for _ in range(3):
                await ctx.tick()
            works = int(output == 0)
            assert ctx.get(dut.i[0].grant) == works
            assert ctx.get(dut.o[output].request) == works
            ctx.set(dut.i[0].request, 0)
            await ctx.tick()
            await ctx.tick()

    exercise(dut, testbench)


# Texts


@pytest.mark.parametrize(
    ("text", "injection"),
    [
        ("link:1:3", Injection(Fault("link", 1, 3))),
        ("box:0:2:dead", Injection(Fault("box", 0, 2))),
        ("box:0:2:straight", Injection(Fault("box", 0, 2), "straight")),
        ("entry:2:0:lossy:rate=.25", Injection(Fault("entry", 2, 0), "lossy", rate=0.25)),
        ("link:1:3:babbling", Injection(Fault("link", 1, 3), "babbling")),
        (
            "link:1:3:from=9:begins=0.1:ends=1",
            Injection(Fault("link", 1, 3), start=9, begins=0.1, ends=1),
        ),
        ("link:1:3:from=200", Injection(Fault("link", 1, 3), start=200)),
        (
            "link:1:3:flip=17:rate=0.01:from=9",
            Injection(Fault("link", 1, 3), "flip", bit=17, rate=0.01, start=9),
        ),
    ],
)
def test_parse_fault(text: str, injection: Injection) -> None:
    assert parse_fault(text) == injection


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (text, f"Fault must be one of {FORMS}, not {text!r}")
        for text in (
            "",
            "link",
            "link:1",
            "link:1:3:flip",
            "link:1:3:burn",
            "link:1:-3",
            "a:1:2:dead:",
        )
    ]
    + [
        ("wire:1:3", "Fault must be one of box, link, entry, not 'wire'"),
        ("link:1:3:straight", "Only a box can be stuck at straight, not link:1:3"),
        ("box:1:3:straight:from=5", "First cycle of effect straight must be 0, not 5"),
        ("link:1:3:flip=2:rate=1.5", "Rate must be from 0 to 1, not 1.5"),
        ("link:1:3:rate=0.5", "Rate of effect dead must be 1, not 0.5"),
        ("link:1:3:flip=99999999999", "Bit must be from 0 to 65535, not 99999999999"),
        ("link:1:3:lossy:rate=.00001", "Rate on a link must be 0 or at least 2^-16, not 1e-05"),
        *(
            (f"link:1:3:{times}={zero}{more}", f"Fault ... must have {times} above 0, not {zero}")
            for times, zero, more in (
                ("for", "0", ""),
                ("for", "0", ":every=9"),
                ("begins", "0.0", ":ends=0"),
            )
        ),
    ],
)
def test_parse_fault_rejects(text: str, message: str) -> None:
    with refused(message):
        parse_fault(text)


test_inject_rejects = refusals(
    lambda network, text: inject(network.fabric, network.plan, [parse_fault(text)]),
    (build("cube", ports=8), "link:3:0", "Stage of fault link:3:0 must be from 0 to 2"),
    (build("cube", ports=8), "box:0:4", "Number of fault box:0:4 must be from 0 to 3"),
    (build("cube", ports=8), "link:0:0:flip=19", "Bit of fault link:0:0 must be from 0 to 18"),
    (
        build("cube", ports=8, switch="unbuffered", dilation=2),
        "link:0:0",
        "Fault link:0:0 is not at a box with one link per port",
    ),
)


def test_stuck_box_rejects_what_is_no_packet_switch() -> None:
    circuit = CellType(CircuitBox, packet=Packet(2, 3), radix=2)
    with pytest.raises(ValueError, match=r"^Box circuit_box can't be stuck at straight$"):
        StuckBox(circuit)
    with pytest.raises(ValueError, match=r"^Box circuit_initiator can't be stuck at straight$"):
        StuckBox(CellType(CircuitInitiator, packet=Packet(2, 3), delay=0))


def test_no_cell_of_a_network_is_lost_to_a_fault() -> None:
    """It has cells called gates itself; and what is cut can be cut again."""
    fabric = build("stage-sequenced", ports=4).fabric
    outputs = [Pin(f"gate_{line}", ("o",)) for line in range(4)]
    faulty, gates = gated(fabric, outputs)
    once = cut(fabric, outputs[:1])
    for broken, number in ((faulty, 4), (cut(once, outputs[1:]), 4)):
        assert {name: broken.cells[name].type for name in fabric.cells} == {
            name: cell.type for name, cell in fabric.cells.items()
        }
        assert len(broken.cells) == len(fabric.cells) + number
    assert len(set(gates.values())) == 4
