# amaranth: UnusedElaboratable=no
"""Permanent, transient and intermittent faults at any link, cell or bit of state."""

import itertools
import json
import random
import re
from dataclasses import replace
from pathlib import Path
from statistics import fmean

import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import Out
from command_line import Call
from driving import transport
from long_runs import long
from multicube.hdl import build
from multicube.hdl.fabric.cell import Cell, CellType
from multicube.hdl.fabric.fabric import Fabric
from multicube.hdl.fabric.fabric_component import FabricComponent
from multicube.hdl.fabric.pins import Pin
from multicube.hdl.links.packet import Packet
from multicube.sim import Result, SimulationError, Trace, TracePacket, simulate
from multicube.sim.engines.amaranth import AmaranthEngine
from multicube.sim.engines.compiled import CompiledEngine
from multicube.sim.run.observers import Observed
from multicube.sim.run.state_faults import StateFaults
from multicube.sim.workload.fault_cells import LinkFault
from multicube.sim.workload.injection import Injection, StateBits, parse_fault
from multicube.sim.workload.random_faults import injections, network_links, state_of

# The component


def broken_link(packet: Packet, **straps: int) -> FabricComponent:
    """A link with a fault."""
    type_ = CellType(LinkFault, packet=packet)
    members = type_.build().signature.members
    fabric = Fabric({name: members[name] for name in "io"})
    sound = dict.fromkeys({*members} - {"i", "o"}, 0)
    fabric.place(Cell("fault", type_, {**sound, "rate": 1 << 16, "seed": 7, **straps}))
    for name in "io":
        fabric.link(Pin(None, (name,)), Pin("fault", (name,)))
    return FabricComponent(fabric)


def flits(size: int, cycles: int = 120, **straps: int) -> tuple[list[int], list[int]]:
    """Flits 0, 1, 2, ... sent in packets of `size`, and what came: each (number, last)."""
    dut = broken_link(Packet(2, 8, flits=True), **straps)
    generator = random.Random(3)
    print("seed 3")
    numbers = itertools.count()

    def offer(port: int, cycle: int) -> int | None:
        if generator.random() < 0.3:
            return None
        number = next(numbers)
        return (number % size == size - 1) << 10 | (number & 255) << 2

    trace = transport(
        dut, cycles=cycles, offer=offer, ready=lambda port, cycle: generator.random() < 0.7
    )
    return [word for cycle in trace for _, word in cycle.entered()], [
        word for cycle in trace for _, word in cycle.moved()
    ]


def packets_of(words: list[int]) -> list[list[int]]:
    """The numbers of the flits of each packet, as `last` separates them."""
    found: list[list[int]] = [[]]
    for word in words:
        found[-1].append(word >> 2 & 255)
        if word >> 10:
            found.append([])
    return found


def test_severed_link_loses_whole_packets_and_ends_the_one_in_passage() -> None:
    """All packets before are whole, that in passage is shorter, and after it comes none."""
    sent, got = flits(4, severed=1, start=40)
    whole = packets_of(sent)
    *before, last, rest = packets_of(got)
    assert len(before) >= 3
    assert not rest
    assert before == whole[: len(before)]
    cut = whole[len(before)]
    assert last[:-1] == cut[: len(last) - 1]
    assert len(sent) > 60


@pytest.mark.parametrize("start", range(30, 38, 2))
def test_transient_cut_never_leaves_half_a_packet(start: int) -> None:
    """What begins after the cut is whole; at most one packet is shorter."""
    sent, got = flits(4, severed=1, start=start, length=9)
    whole, came = packets_of(sent)[:-1], packets_of(got)[:-1]
    assert sum(each not in whole for each in came) <= 1
    assert whole[-1] in came
    assert whole[0] in came
    assert len(whole) - 6 < len(came) < len(whole)


def test_intermittent_dead_link_delays_and_loses_nothing() -> None:
    sent, got = flits(1, dead=1, start=10, length=15, period=20)
    free, _ = flits(1)
    assert sent == got
    assert 0.2 < len(sent) / len(free) < 0.45


def test_babbling_link_gives_a_word_in_every_cycle() -> None:
    """Those that were sent, in order, and what the wires show between them."""
    dut = broken_link(Packet(2, 8), babbling=1, start=10)
    trace = transport(dut, cycles=40, offer=lambda _, cycle: None if cycle % 3 else cycle + 1)
    sent = [cycle + 1 for cycle in range(0, 40, 3)]
    assert [word for cycle in trace for _, word in cycle.entered()] == sent
    got = [[word for _, word in cycle.moved()] for cycle in trace]
    assert [word for words in got for word in words if word] == sent
    assert [len(words) for words in got[:10]] == [1, 0, 0] * 3 + [1]
    assert all(got[11:])


def test_a_fault_comes_and_goes_at_random() -> None:
    """Absent for 40 cycles in the mean, and present for 10; bounds of three standard deviations."""
    dut = broken_link(Packet(2, 8), dead=1, start=100, begins=2**16 // 40, ends=2**16 // 10)
    trace = transport(dut, cycles=2100, offer=lambda port, cycle: 1)
    passed = [bool(cycle.entered()) for cycle in trace]
    assert all(passed[:101])
    spans = [(works, len([*span])) for works, span in itertools.groupby(passed[100:])]
    for works, mean in ((True, 40), (False, 10)):
        lengths = [length for kind, length in spans[:-1] if kind == works]
        assert len(lengths) > 20
        assert abs(fmean(lengths) - mean) < 3 * mean / len(lengths) ** 0.5
        assert min(lengths) < mean / 4


@pytest.mark.parametrize(("mask", "value"), [("zero", 0), ("one", 1)])
def test_stuck_bit_has_its_value_while_the_fault_lasts(mask: str, value: int) -> None:
    sent, got = flits(1, start=20, length=40, **{mask: 1 << 2})
    wrong = [i for i, (a, b) in enumerate(zip(sent, got)) if a != b]
    assert len(wrong) > 5
    for i in range(wrong[0], wrong[-1] + 1):
        assert got[i] == sent[i] & ~4 | value << 2
    assert 0 < wrong[0] < wrong[-1] < len(sent) - 5


# State


class Counters(wiring.Component):
    """A counter, and two memories that hold its last values."""

    def __init__(self) -> None:
        super().__init__({"value": Out(40), "few": Out(40)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        count = Signal(40)
        m.submodules.rows = rows = Memory(shape=40, depth=8, init=[])
        m.submodules.pair = pair = Memory(shape=40, depth=2, init=[])
        for memory in (rows, pair):
            write = memory.write_port()
            m.d.comb += [write.addr.eq(count), write.data.eq(count), write.en.eq(1)]
        read = pair.read_port(domain="comb")
        m.d.comb += [self.value.eq(count), self.few.eq(read.data), read.addr.eq(0)]
        m.d.sync += count.eq(count + 1)
        return m


def counted(*faults: Injection, cycles: int = 100, on: type = CompiledEngine) -> list[int]:
    """The counter in each cycle, on an engine."""
    fabric = Fabric({"value": Out(40)})
    fabric.place(Cell("counter", CellType(Counters)))
    fabric.link(Pin("counter", ("value",)), Pin(None, ("value",)))
    with Observed(on(fabric), [StateFaults(faults)] if faults else []) as engine:
        seen = []
        for _ in range(cycles):
            # Faults of a cycle are written when it is stepped.
            engine.step(1)
            seen.append(engine.get(Pin("counter", ("value",))))
        return seen


@pytest.mark.parametrize("on", [CompiledEngine, AmaranthEngine])
def test_flip_of_a_register_happens_once(on: type) -> None:
    place = StateBits("counter", "count")
    faults = Injection(place, "flip", bit=36, start=10)
    assert counted(faults, on=on) == [*range(1, 11), *(n + 2**36 for n in range(11, 101))]


@pytest.mark.parametrize("on", [CompiledEngine, AmaranthEngine])
def test_stuck_register_bit_holds_while_the_fault_lasts(on: type) -> None:
    place = StateBits("counter", "count")
    value, expected = 0, []
    for cycle in range(100):
        if cycle >= 20 and (cycle - 20) % 30 < 10:
            value |= 1 << 5
        value += 1
        expected.append(value)
    fault = Injection(place, "stuck1", 5, start=20, length=10, period=30)
    assert counted(fault, on=on) == expected


@pytest.mark.parametrize("on", [CompiledEngine, AmaranthEngine])
@pytest.mark.parametrize("name", ["rows", "pair"])
def test_flip_of_a_row_of_a_memory(name: str, on: type) -> None:
    fabric = Fabric({"value": Out(40)})
    fabric.place(Cell("counter", CellType(Counters)))
    fabric.link(Pin("counter", ("value",)), Pin(None, ("value",)))
    fault = parse_fault(f"state:counter.{name}[1]:flip=39:from=12")
    with Observed(on(fabric), [StateFaults([fault])]) as engine:
        engine.step(13)
        depth = len(engine.memory("counter", name))
        last = 12 - (12 - 1) % depth
        assert engine.memory("counter", name)[1] == last | 1 << 39
        assert engine.memory("counter", name)[0] < 13


def test_stuck_state_comes_and_goes_at_random() -> None:
    """As a link does: absent for 40 cycles in the mean, and present for 10."""
    place = StateBits("counter", "count")
    times = {"begins": 1 / 40, "ends": 1 / 10}
    # The counter stands still while its lowest bit is stuck: it is 1 after each cycle.
    seen = counted(Injection(place, "stuck0", 0, start=100, **times), cycles=2100)
    stuck = [value % 2 == 1 == before % 2 for before, value in itertools.pairwise(seen)]
    assert not any(stuck[:99])
    assert abs(sum(stuck) - 2000 / 5) < 3 * (40 * 2 * 10**2) ** 0.5


def test_rate_of_flips_in_state() -> None:
    """The mean distance is the inverse of the rate; three standard deviations."""
    place = StateBits("counter", "count")
    seen = [0, *counted(Injection(place, "flip", 39, rate=0.05), cycles=3000)]
    flips = sum(a >> 39 != b >> 39 for a, b in itertools.pairwise(seen))
    assert abs(flips - 150) < 3 * (3000 * 0.05 * 0.95) ** 0.5


def test_engines_agree_on_faults_of_state() -> None:
    """On registers and rows of memories, some of which have several names."""
    results = []
    for engine in ("amaranth", "compiled"):
        with pytest.raises(SimulationError) as raised:
            simulate(
                "torus k=2 n=1 depth=2",
                faults=["random:40:state:flip:rate=0.1:from=20:for=20"],
                load=0.3,
                cycles=40,
                warmup=10,
                bins=16,
                engine=engine,
            )
        found = raised.value.result
        assert isinstance(found, Result)
        results.append(replace(found, engine=""))
    assert results[0] == results[1]


def test_state_that_does_not_exist_is_named() -> None:
    fabric = Fabric({"value": Out(40)})
    fabric.place(Cell("counter", CellType(Counters)))
    fabric.link(Pin("counter", ("value",)), Pin(None, ("value",)))
    for place, message in (
        ("counter.none", "Cell counter has no signal 'none'"),
        ("counter.some[1]", "Memory of counters must be one of rows, pair, not 'some'"),
        ("counter.rows[99]", "Row of fault state:counter.rows[99] must be from 0 to "),
        ("cell.count", "There is no cell 'cell'"),
    ):
        said = []
        for on in (CompiledEngine, AmaranthEngine):
            with pytest.raises(ValueError, match=re.escape(message)) as raised:
                Observed(on(fabric), [StateFaults([parse_fault(f"state:{place}:flip=1")])])
            said.append(str(raised.value))
        assert said[0] == said[1]


def test_state_faults_refuse_checkpoints(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"^A run with faults of state can't write checkpoints$"):
        simulate(build("cube", ports=4), faults=["random:1:state"], checkpoint=tmp_path / "state")


# Networks


def apart(ports: int, distance: int = 12) -> Trace:
    """All pairs, one packet at a time."""
    pairs = itertools.product(range(ports), repeat=2)
    packets = (TracePacket(distance * number, *pair) for number, pair in enumerate(pairs))
    return Trace("apart", tuple(packets))


@pytest.mark.parametrize(
    "network",
    ["cube ports=8", "torus k=3 n=1", *map(long, ("hypercube n=3", "crossbar ports=4"))],
)
def test_lost_packets_are_those_whose_path_meets_the_fault(network: str) -> None:
    """A link of any network, by its output; and a router, by its name."""
    built = build(network)
    generator = random.Random(11)
    print("seed 11")
    paths = {pair: built.path(*pair) for pair in itertools.product(range(built.ports), repeat=2)}
    pins = sorted({pin for path in paths.values() for pin in path})
    pin = generator.choice(pins)
    for text, crossed in (
        (f"link:{pin}:lossy", {pin}),
        (f"cell:{pin.cell}:lossy", {each for each in pins if each.cell == pin.cell}),
    ):
        lost = sum(bool(crossed.intersection(path)) for path in paths.values())
        with pytest.raises(SimulationError) as raised:
            simulate(built, traffic=apart(built.ports), faults=[text])
        assert raised.value.result.lost == lost > 0


def test_repeated_packets_hide_whether_any_is_missing() -> None:
    with pytest.raises(SimulationError) as raised:
        simulate(build("cube", ports=4), load=0.3, cycles=200, faults=["link:1:0:babbling"])
    result = raised.value.result
    assert result.duplicated is not None
    assert result.duplicated > 50
    assert result.untimed is None


@pytest.mark.long
def test_engines_agree_on_an_intermittent_router() -> None:
    """Nothing is lost while it is dead for a time: worms wait."""
    records = []
    for engine in ("amaranth", "compiled"):
        result = simulate(
            "torus k=3 n=1 length=2",
            faults=["cell:router_1:for=15:every=40", "link:router_0.o.0:stuck0=7:from=30"],
            load=0.15,
            cycles=100,
            warmup=10,
            engine=engine,
        ).to_json()
        assert result.pop("engine") == engine
        records.append(result)
    assert records[0] == records[1]
    assert records[0]["lost"] == 0


def test_random_places_are_drawn_from_all() -> None:
    network = build("torus k=3")
    links = network_links(network)
    # Each node has four links of two channels, and inside is no other.
    assert len(links) == len(set(links)) == 9 * 4 * 2
    drawn = injections(network, ["random:5:link:lossy:rate=0.5:from=9:seed=3"])
    assert len({each.place for each in drawn}) == 5
    assert {(each.effect, each.rate, each.start) for each in drawn} == {("lossy", 0.5, 9)}
    assert drawn == injections(network, ["random:5:link:lossy:rate=0.5:from=9:seed=3"])
    assert drawn != injections(network, ["random:5:link:lossy:rate=0.5:from=9:seed=4"])
    dead = injections(network, ["random:5:link:dead:seed=3"])
    assert injections(network, ["random:5:link:seed=3"]) == dead
    everything = injections(network, ["random:9:cell"])
    assert {each.place for each in everything} == {Pin(f"router_{n}", ()) for n in range(9)}
    bits = sum(width for _, width in state_of(network))
    upsets = injections(network, [f"random:{bits}:state:flip:rate=0.001"])
    assert len({(each.place, each.bit) for each in upsets}) == bits > 9 * 8 * 4 * 16


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("random:73:link", "Random faults must be at most the 72 links, not 73"),
        ("random:1:box", "Random faults must be random:COUNT:link|cell|state"),
        ("cell:router_9", "There is no cell 'router_9' for fault cell:router_9"),
        ("cell:timer", "Fault cell:timer must be at a cell that has links"),
        ("link:router_0.o.99", "Pin router_0.o.99 does not exist"),
        ("link:router_0.tag.0", "Pin router_0.tag.0 does not exist"),
        ("link:1:3", "Places with a stage are only in an unreplicated multistage network"),
        long("state:router_0.nothing:flip=0", "Cell router_0 has no signal 'nothing'"),
        ("state:router_0.x:dead", "Effect on state:router_0.x must be one of flip, stuck0, stuck1"),
        ("cell:router_0:begins=0:ends=1", "Fault cell:router_0:begins=0:ends=1 must have "),
        (
            "cell:router_0:for=5:begins=.1:ends=.1",
            "A fault that begins at random must have neither length nor period",
        ),
        ("cell:router_0:for=5:every=5", "Length must be from 1 to 4 with a period of 5, not 5"),
        ("random:1:state:stuck0:for=9:every=5", "Length must be from 1 to 4 with a period of 5"),
        ("random:1:state:flip:rate=0.5:every=5", "Length must be from 1 to 4 with a period of 5"),
    ],
)
def test_places_that_do_not_exist(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        simulate("torus k=3", faults=[text], cycles=10)


def test_command_shows_the_result_with_the_books(call: Call) -> None:
    words = ["sim", "cube", "ports=8", "--load", "0.2", "--cycles", "200"]
    words += ["--fault", "cell:box_1_2:lossy"]
    shown = call(*words)
    assert shown.status == 1
    assert "injected" in shown.out
    assert re.search(r"^multicube: The books do not balance: \d+ lost", shown.err, re.MULTILINE)
    told = call(*words, "--json")
    record = json.loads(told.out)
    assert told.status == 1
    assert record["lost"] > 0
    assert record["run"]["faults"] == ["cell:box_1_2:lossy"]
