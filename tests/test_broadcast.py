# amaranth: UnusedElaboratable=no
"""Broadcasts: their tags, the switches that copy them, and whole networks."""

import itertools
import random
import re
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from amaranth.back import rtlil
from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from claims import Claims, needs_yosys
from long_runs import long
from multicube.hdl import MultistageNetwork
from multicube.hdl.boxes import (
    BoxState,
    InputQueuedSwitch,
    OutputQueuedSwitch,
    packet_switches,
)
from multicube.hdl.boxes.broadcast import CopyTracker
from multicube.hdl.fabric.fabric import Cell, CellType, Fabric, Pin
from multicube.hdl.graphs.plans.multistage import PLANS, multistage_plan
from multicube.hdl.links.packet import Packet
from multicube.hdl.switch import crossing
from multicube.sim.engines.compiled import CompiledEngine
from proof_table import proves

SWITCHES = [OutputQueuedSwitch, InputQueuedSwitch]
PAYLOAD = 20


every_switch = pytest.mark.parametrize("switch", SWITCHES)
every_routing = pytest.mark.parametrize("routing", ["destination", "xor"])


# Tags.


@every_routing
@pytest.mark.parametrize(("ports", "radix"), [(8, 2), (16, 4)])
@pytest.mark.parametrize("name", PLANS)
def test_tags_of_all_broadcasts(name: str, ports: int, radix: int, routing: str) -> None:
    """Each set that is all addresses with some bits fixed has a tag; no other set has one."""
    plan = multistage_plan(name, ports, radix)
    tags = plan.tags(routing)
    sets = set()
    for fixed in range(ports):
        for value in range(ports):
            if value & ~fixed == 0:
                sets.add(frozenset(d for d in range(ports) if d & fixed == value))
    assert len(sets) == 3 ** (ports.bit_length() - 1)
    for source in range(ports):
        for outputs in sets:
            tag, mask = tags.broadcast(source, outputs)
            assert tag & mask == 0
            assert tags.destinations(tag, mask, source) == sorted(outputs)
            assert tags.destinations(tag | mask, mask, source) == sorted(outputs)
        for outputs in itertools.combinations(range(ports), 2):
            if frozenset(outputs) not in sets:
                with pytest.raises(ValueError, match=r"^Outputs of a broadcast must be all that"):
                    tags.broadcast(source, outputs)


def test_one_output_is_a_broadcast_with_no_mask() -> None:
    tags = multistage_plan("omega", 16).tags("xor")
    for source, destination in itertools.product(range(16), repeat=2):
        assert tags.broadcast(source, [destination]) == (tags.tag(source, destination), 0)


@pytest.mark.parametrize(
    ("outputs", "message"),
    [
        ([], "A broadcast must have at least one output, not none"),
        ([2, 1], "Outputs of a broadcast must be all that agree in some address bits, not 1, 2"),
        (
            range(3),
            "Outputs of a broadcast must be all that agree in some address bits, not 0, 1, 2",
        ),
        ([8], "Address must be from 0 to 7, not 8"),
    ],
)
def test_broadcast_rejects_outputs(outputs: Any, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        multistage_plan("cube", 8).tags().broadcast(0, outputs)


# One switch.


class Wires:
    """Packets of one switch as integers: two digits of tag, as much mask, number and input."""

    def __init__(self, radix: int, routing: str) -> None:
        self.radix, self.routing = radix, routing
        self.bits = (radix - 1).bit_length()
        self.layout = Packet(2 * self.bits, PAYLOAD, broadcast=True)

    def make(self, input_: int, digit: int, mask: int, number: int) -> int:
        """A packet with this digit and mask for this switch, and others for the next."""
        tag = digit << self.bits | 1
        masks = mask << self.bits | number % self.radix
        return tag | masks << 2 * self.bits | (number << 3 | input_) << 4 * self.bits

    def outputs(self, packet: int, input_: int) -> list[int]:
        low = (1 << self.bits) - 1
        digit, mask = packet >> self.bits & low, packet >> 3 * self.bits & low
        if self.routing == "xor":
            digit ^= input_
        return [j for j in range(self.radix) if (j ^ digit) & ~mask & low == 0]

    def forwarded(self, packet: int) -> int:
        low = (1 << self.bits) - 1
        digits = [packet >> at * self.bits & low for at in range(4)]
        for at, digit in enumerate([digits[1], digits[0], digits[3], digits[2]]):
            packet = packet & ~(low << at * self.bits) | digit << at * self.bits
        return packet

    def name(self, packet: int) -> tuple[int, int]:
        """Input and number of a packet."""
        name = packet >> 4 * self.bits
        return name & 7, name >> 3


class OutputQueuedModel:
    """A list at each output; arrivals of a cycle enter it in turn, each copy when it has room."""

    def __init__(self, wires: Wires, depth: int) -> None:
        self.wires, self.depth = wires, depth
        self.queues: list[list[int]] = [[] for _ in range(wires.radix)]
        self.arrivals = [0] * wires.radix
        self.given: list[set[int]] = [set() for _ in range(wires.radix)]

    def cycle(self, offered: list, ready: list[bool]) -> tuple[list[bool], list]:
        radix = self.wires.radix
        shown = [queue[0] if queue else None for queue in self.queues]
        wanted = [
            set() if packet is None else set(self.wires.outputs(packet, i)) - self.given[i]
            for i, packet in enumerate(offered)
        ]
        for j, queue in enumerate(self.queues):
            pop = bool(queue) and ready[j]
            room = self.depth - len(queue) + (pop and self.depth == 1)
            first = self.arrivals[j] % radix
            for i in [*range(first, radix), *range(first)]:
                if j in wanted[i] and room > 0:
                    wanted[i].remove(j)
                    self.given[i].add(j)
                    room -= 1
                    self.arrivals[j] += 1
                    queue.append(self.wires.forwarded(offered[i]))
            if pop:
                queue.pop(0)
        accepted = [packet is not None and not wants for packet, wants in zip(offered, wanted)]
        for i in range(radix):
            if accepted[i]:
                self.given[i] = set()
        return accepted, shown


class InputQueuedModel:
    """A list at each input; each output serves, in turn, the heads that still owe it a copy."""

    def __init__(self, wires: Wires, depth: int) -> None:
        self.wires, self.depth = wires, depth
        self.queues: list[list[int]] = [[] for _ in range(wires.radix)]
        self.first = [0] * wires.radix
        self.given: list[set[int]] = [set() for _ in range(wires.radix)]

    def cycle(self, offered: list, ready: list[bool]) -> tuple[list[bool], list]:
        radix = self.wires.radix
        shown: list[int | None] = [None] * radix
        wanted = [
            set(self.wires.outputs(queue[0], i)) - self.given[i] if queue else set()
            for i, queue in enumerate(self.queues)
        ]
        for j in range(radix):
            for i in [*range(self.first[j], radix), *range(self.first[j])]:
                if j in wanted[i]:
                    shown[j] = self.wires.forwarded(self.queues[i][0])
                    if ready[j]:
                        wanted[i].remove(j)
                        self.given[i].add(j)
                    self.first[j] = (i + ready[j]) % radix
                    break
        accepted = [False] * radix
        for i, queue in enumerate(self.queues):
            popped = bool(queue) and not wanted[i]
            room = len(queue) - (popped and self.depth == 1) < self.depth
            if popped:
                queue.pop(0)
                self.given[i] = set()
            if offered[i] is not None and room:
                accepted[i] = True
                queue.append(offered[i])
        return accepted, shown


MODELS = {OutputQueuedSwitch: OutputQueuedModel, InputQueuedSwitch: InputQueuedModel}


def traffic(
    wires: Wires, seed: int, load: float, one_to_one: float = 0.5
) -> Callable[[int, int], int | None]:
    """Packets with random tags and masks, a part of them without a mask."""
    generator = random.Random(seed)
    print(f"seed {seed}")
    numbers: Counter[int] = Counter()

    def offer(port: int, cycle: int) -> int | None:
        if generator.random() >= load:
            return None
        numbers[port] += 1
        digit, mask = generator.randrange(wires.radix), generator.randrange(wires.radix)
        if generator.random() < one_to_one:
            mask = 0
        return wires.make(port, digit, mask, numbers[port])

    return offer


@every_routing
@pytest.mark.parametrize(("radix", "depth"), [(2, 1), (2, 2), (2, 3), (4, 1), long(4, 4)])
@every_switch
def test_switch_follows_the_model(
    transport: Callable[..., list], switch: type, radix: int, depth: int, routing: str
) -> None:
    """Cycle by cycle, broadcasts among one-to-one packets, under random waits. All copies are
    delivered once, and those of one input to one output in their order."""
    wires = Wires(radix, routing)
    dut = switch(wires.layout, radix=radix, depth=depth, routing=routing)
    model = MODELS[switch](wires, depth)
    busy = traffic(wires, 10 * radix + depth, 0.7)
    waits = random.Random(depth)
    trace = transport(
        dut,
        dut.i,
        dut.o,
        cycles=270,
        offer=lambda port, cycle: busy(port, cycle) if cycle < 150 else None,
        ready=lambda port, cycle: (
            cycle >= 150 or waits.random() < (0.4 if cycle // 50 % 2 else 0.9)
        ),
    )
    sent: dict[tuple[int, int], list] = {}
    received: dict[tuple[int, int], list] = {}
    partly = 0
    for number, cycle in enumerate(trace):
        accepted, shown = model.cycle(cycle.offered, cycle.ready)
        assert cycle.shown == shown, number
        for i, packet in enumerate(cycle.offered):
            assert packet is None or cycle.accepted[i] == accepted[i], (number, i)
        partly += any(model.given)
        for i, packet in cycle.entered():
            for j in wires.outputs(packet, i):
                sent.setdefault((i, j), []).append(wires.name(packet))
        for j, packet in cycle.moved():
            received.setdefault((wires.name(packet)[0], j), []).append(wires.name(packet))
    assert sent == received
    assert partly > 20


@every_switch
@every_routing
@pytest.mark.parametrize(("radix", "depth"), [(2, 1), (4, 2)])
def test_broadcast_of_free_outputs_takes_one_cycle(
    transport: Callable[..., list], switch: type, routing: str, radix: int, depth: int
) -> None:
    """One input broadcasts every cycle to all outputs; each carries a packet every cycle."""
    wires = Wires(radix, routing)
    dut = switch(wires.layout, radix=radix, depth=depth, routing=routing)
    trace = transport(
        dut,
        dut.i,
        dut.o,
        cycles=30,
        offer=lambda port, cycle: (
            wires.make(port, 0, radix - 1, cycle) if port == radix - 1 else None
        ),
    )
    for number, cycle in enumerate(trace):
        assert cycle.accepted[radix - 1]
        packet = wires.forwarded(wires.make(radix - 1, 0, radix - 1, number - 1))
        assert cycle.shown == [packet if number else None] * radix


@every_switch
@pytest.mark.parametrize("radix", [2, 4])
def test_blocked_output_does_not_block_the_other_copies(
    transport: Callable[..., list], switch: type, radix: int
) -> None:
    """While output 0 waits, the others get their one copy, and no second one."""
    wires = Wires(radix, "destination")
    dut = switch(wires.layout, radix=radix, depth=1)
    trace = transport(
        dut,
        dut.i,
        dut.o,
        cycles=30,
        offer=lambda port, cycle: wires.make(0, 0, radix - 1, cycle) if port == 0 else None,
        ready=lambda port, cycle: port > 0 or cycle >= 20,
    )
    for j in range(radix):
        numbers = [wires.name(packet)[1] for c in trace for port, packet in c.moved() if port == j]
        early = [
            wires.name(packet)[1] for c in trace[:20] for port, packet in c.moved() if port == j
        ]
        assert numbers == sorted(set(numbers))
        # Behind an output queue the packet at the input has been copied, too; nothing more.
        copied = 2 if switch is OutputQueuedSwitch else 1
        assert len(early) == (0 if j == 0 else copied)


@every_switch
@pytest.mark.parametrize("radix", [2, 4])
def test_broadcasts_and_single_packets_are_served_in_turn(
    transport: Callable[..., list], switch: type, radix: int
) -> None:
    """Input 0 broadcasts for ever, the others all want output 1: each gets its share of it."""
    wires = Wires(radix, "destination")
    dut = switch(wires.layout, radix=radix, depth=2)
    generator = random.Random(radix)
    print(f"seed {radix}")
    trace = transport(
        dut,
        dut.i,
        dut.o,
        cycles=200,
        offer=lambda port, cycle: wires.make(port, 1, 0 if port else radix - 1, cycle),
        ready=lambda port, cycle: generator.random() < 0.7,
    )
    served = Counter(wires.name(p)[0] for cycle in trace for j, p in cycle.moved() if j == 1)
    assert max(served.values()) - min(served.values()) <= 1
    assert min(served.values()) > 25


def test_interchange_box_broadcasts(
    transport: Callable[..., list], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A broadcast that is copied to both outputs at once is carried by a broadcast state."""
    boxes: list[Any] = []
    original = crossing.InterchangeBox

    def recording(*arguments: Any) -> Any:
        boxes.append(original(*arguments))
        return boxes[-1]

    monkeypatch.setattr(crossing, "InterchangeBox", recording)
    wires = Wires(2, "xor")
    dut = InputQueuedSwitch(wires.layout, radix=2, depth=2, routing="xor")
    trace = transport(
        dut,
        dut.i,
        dut.o,
        cycles=200,
        offer=traffic(wires, 3, 0.6),
        watch=lambda: Value.cast(boxes[-1].state),
    )
    for cycle in trace:
        moved = {(wires.name(packet)[0], j) for j, packet in cycle.moved()}
        state = BoxState(cycle.watched)
        if len(moved) == 2:
            # What input each output shows.
            shows = {j: i for i, j in moved}
            expected = {
                (0, 0): BoxState.UPPER_BROADCAST,
                (1, 1): BoxState.LOWER_BROADCAST,
                (0, 1): BoxState.STRAIGHT,
                (1, 0): BoxState.EXCHANGE,
            }
            assert state == expected[shows[0], shows[1]]
    states = {BoxState(cycle.watched) for cycle in trace if len(cycle.moved()) == 2}
    assert states == set(BoxState)


def test_copy_tracker_rejects_radix() -> None:
    with pytest.raises(ValueError, match=r"^Radix must be at least 2, not 1$"):
        CopyTracker(1)


# Proofs.


class ForgetfulTracker(CopyTracker):
    """Remembers nothing: a copy is offered again while the packet waits for another one."""

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.comb += [
            self.left.eq(self.requested),
            self.done.eq((self.requested & ~self.taken) == 0),
        ]
        return m


class HastyTracker(CopyTracker):
    """Lets the packet go with its first copy."""

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.comb += [self.left.eq(self.requested), self.done.eq((self.left & self.taken).any())]
        return m


def copies(switch: type, depth: int, routing: str) -> Any:
    """Claims about the copies of one broadcast, any of them, among all other packets.

    It is marked by its payload. An output may only show it if it was asked for, and once; when it
    has left its input and an output is empty, that output has had its copy. All outputs keep what
    they show until it is taken.
    """
    claims = Claims()
    m = claims.m
    packet = Packet(1, 1, broadcast=True)
    m.submodules.switch = dut = switch(packet, radix=2, depth=depth, routing=routing)
    marks = []
    offered, used = Signal(), Signal()
    wanted, had = Signal(2), Signal(2)
    for i, port in enumerate(dut.i):
        valid, word = claims.free(1, f"valid_{i}"), claims.free(3, f"packet_{i}")
        tag, mask, mark = word
        m.d.comb += [port.valid.eq(valid), Value.cast(port.payload).eq(word)]
        waiting = claims.past(valid & ~port.ready)
        claims.assume(~waiting | (valid & (word == claims.past(word))))
        marks.append(valid & mark)
        with m.If(marks[i]):
            first = tag ^ i if routing == "xor" else tag
            m.d.sync += [offered.eq(1), wanted.eq(Mux(mask, 3, Mux(first, 2, 1)))]
            with m.If(port.ready):
                m.d.sync += used.eq(1)
    claims.assume(marks[0] + marks[1] <= ~used)
    empty = ~(dut.o[0].valid | dut.o[1].valid)
    for j, port in enumerate(dut.o):
        ready = claims.free(1, f"ready_{j}")
        m.d.comb += port.ready.eq(ready)
        marked = port.valid & port.payload.payload
        claims.claim(~marked | (offered & wanted[j] & ~had[j]))
        with m.If(marked & ready):
            m.d.sync += had[j].eq(1)
        gone = empty if switch is InputQueuedSwitch else ~port.valid
        claims.claim(~(used & gone) | (had[j] == wanted[j]))
        held = claims.past(port.valid & ~ready)
        shown = Value.cast(port.payload)
        claims.claim(~held | (port.valid & (shown == claims.past(shown))))
    return claims


@needs_yosys
@proves(
    OutputQueuedSwitch,
    InputQueuedSwitch,
    CopyTracker,
    says="Broadcast: each output that a packet is for gets one copy, and no other; stream rule",
    sizes="2 x 2, depth 1, 2, destination and XOR tags",
)
@pytest.mark.parametrize(
    ("switch", "depth", "routing"),
    [
        long(OutputQueuedSwitch, 1, "destination"),
        (OutputQueuedSwitch, 1, "xor"),
        long(OutputQueuedSwitch, 2, "xor"),
        (InputQueuedSwitch, 1, "destination"),
        (InputQueuedSwitch, 1, "xor"),
        (InputQueuedSwitch, 2, "xor"),
    ],
)
def test_broadcast_neither_loses_nor_repeats_a_copy(
    tmp_path: Path, switch: type, depth: int, routing: str
) -> None:
    assert copies(switch, depth, routing).hold(tmp_path)


@needs_yosys
@pytest.mark.parametrize("tracker", [ForgetfulTracker, HastyTracker])
@every_switch
def test_proof_finds_a_lost_or_repeated_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, switch: type, tracker: type
) -> None:
    monkeypatch.setattr(packet_switches, "CopyTracker", tracker)
    assert not copies(switch, 1, "destination").hold(tmp_path)


# Networks.


class Terminal(wiring.Component):
    """Sends the packets of its script as fast as they are taken, and records what it is given.

    With `seed` 0 it is always ready, else in three cycles of four, at random.
    """

    def __init__(self, packet: Packet, rows: int, records: int, script: Sequence[int] = ()) -> None:
        self.script = Memory(shape=packet.size, depth=rows, init=script)
        self.record = Memory(shape=packet.size, depth=records, init=[])
        super().__init__(
            {
                "o": Out(stream.Signature(packet)),
                "i": In(stream.Signature(packet)),
                "limit": In(range(rows + 1)),
                "seed": In(16),
                "sent": Out(range(rows + 1)),
                "taken": Out(range(records + 1)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.script, m.submodules.record = self.script, self.record
        script = self.script.read_port(domain="comb")
        record = self.record.write_port()
        noise = Signal(16, init=0xACE1)
        m.d.sync += noise.eq(Cat(noise[0] ^ noise[2] ^ noise[3] ^ noise[5], noise)[:16])
        lively = (noise & self.seed).xor() | (noise.rotate_left(5) & self.seed).xor()
        m.d.comb += [
            script.addr.eq(self.sent),
            Value.cast(self.o.payload).eq(script.data),
            self.o.valid.eq(self.sent < self.limit),
            self.i.ready.eq((self.seed == 0) | lively),
            record.addr.eq(self.taken),
            record.data.eq(self.i.payload),
            record.en.eq(self.i.valid & self.i.ready),
        ]
        m.d.sync += self.sent.eq(self.sent + (self.o.valid & self.o.ready))
        m.d.sync += self.taken.eq(self.taken + record.en)
        return m


def scripted(
    network: Any,
    scripts: list[list[int]],
    records: int,
    *,
    waits: bool,
    limits: Sequence[str] | None = None,
) -> Fabric:
    """A network, or what has streams like one, with terminals that send what is in their scripts.

    Each may send its first `limit` packets, or as many as the input named for it in `limits` says;
    the other ports of the network stay at the boundary.
    """
    rows = len(scripts[0])
    members = dict(network.fabric.signature.members)
    others = {name: member for name, member in members.items() if name not in ("i", "o")}
    limits = limits or ["limit"] * len(scripts)
    fabric = Fabric({**{name: In(range(rows + 1)) for name in limits}, **others})
    for cell in network.fabric.cells.values():
        fabric.place(cell)
    kind = CellType(Terminal, packet=network.packet, rows=rows, records=records)
    for index, script in enumerate(scripts):
        seed = (2 * index + 1) * 0x2F15 % 2**16 if waits else 0
        fabric.place(Cell(f"terminal_{index}", kind, {"seed": seed}, {"script": tuple(script)}))
        fabric.link(Pin(None, (limits[index],)), Pin(f"terminal_{index}", ("limit",)))

    def end(pin: Pin) -> Pin:
        if pin.cell is None and pin.path[0] in ("i", "o"):
            other = {"i": "o", "o": "i"}[pin.path[0]]
            return Pin(f"terminal_{pin.path[1]}", (other,))
        return pin

    for a, b in network.fabric.links:
        fabric.link(end(a), end(b))
    return fabric


def records_of(engine: Any, ports: int, run: int = 0) -> list[list[int]]:
    """What each terminal was given so far, in order."""
    names = [f"terminal_{index}" for index in range(ports)]
    taken = engine.read(names, "taken", run)
    return [engine.memory(name, "record", run)[:count] for name, count in zip(names, taken)]


def word(packet: Packet, tag: int, mask: int, payload: int) -> int:
    return packet.const({"tag": tag, "mask": mask, "payload": payload}).as_value().value


def payload_of(packet: Packet, word: int) -> int:
    return word >> packet["payload"].offset


@every_routing
@pytest.mark.parametrize(
    ("ports", "radix", "wiring", "switch"),
    [
        (8, 2, "cube", "output-queued"),
        (8, 2, "baseline", "input-queued"),
        long(16, 4, "cube", "output-queued"),
        long(16, 4, "omega", "input-queued"),
    ],
)
def test_all_broadcasts_of_a_network(
    ports: int, radix: int, wiring: str, switch: str, routing: str
) -> None:
    """Every source sends every tag with every mask, those without one being one-to-one packets;
    all at once, so that they meet, with outputs always ready and with random waits. Each
    destination of each gets exactly one copy."""
    network = MultistageNetwork(
        ports, radix=radix, wiring=wiring, switch=switch, routing=routing, broadcast=1, depth=2
    )
    generator = random.Random(ports)
    print(f"seed {ports}")
    expected: list[Counter[int]] = [Counter() for _ in range(ports)]
    scripts = []
    for source in range(ports):
        words = list(itertools.product(range(ports), repeat=2))
        generator.shuffle(words)
        script = []
        for number, (tag, mask) in enumerate(words):
            payload = number * ports + source
            script.append(word(network.packet, tag, mask, payload))
            for destination in _destinations(network, tag, mask, source):
                expected[destination][script[-1]] += 1
        scripts.append(script)
    most = max(counter.total() for counter in expected)
    fabrics = [scripted(network, scripts, most + 8, waits=waits) for waits in (False, True)]
    engine = CompiledEngine(fabrics)
    engine.set("limit", ports**2)
    engine.step(4 * most)
    for run in range(2):
        # Tags and masks are back in place when they arrive.
        assert [Counter(words) for words in records_of(engine, ports, run)] == expected


def _destinations(network: MultistageNetwork, tag: int, mask: int, source: int) -> list[int]:
    """By following the wires of the plan, doubling at each bit of the mask."""
    plan, tags = network.plan, network.tags
    bits = tags.code.digit_bits
    reached = []
    for destination in range(network.ports):
        hops = plan.path(source, destination)
        fits = True
        for hop in hops:
            at = bits * (len(hops) - 1 - hop.stage)
            digit = hop.output ^ hop.input if tags.routing == "xor" else hop.output
            fits &= ((digit ^ tag >> at) & ~(mask >> at) & (1 << bits) - 1) == 0
        if fits:
            reached.append(destination)
    return reached


@every_routing
def test_figure_3(transport: Callable[..., list], routing: str) -> None:
    """Input 0 broadcasts to outputs 4, 5, 6 and 7: three cycles, tag 100, mask 011."""
    network = MultistageNetwork(8, broadcast=1, routing=routing, switch="input-queued")
    tag, mask = network.tags.broadcast(0, [4, 5, 6, 7])
    assert (tag, mask) == (0b100, 0b011)
    packet = word(network.packet, tag, mask, 33)
    trace = transport(
        network,
        network.i,
        network.o,
        cycles=5,
        offer=lambda port, cycle: packet if port == cycle == 0 else None,
    )
    # Tag and mask are back in place when they arrive.
    assert [cycle.shown for cycle in trace] == [
        [packet if cycle == 3 and output >= 4 else None for output in range(8)]
        for cycle in range(5)
    ]


@pytest.mark.parametrize("switch", ["input-queued", "output-queued"])
@pytest.mark.parametrize("depth", [1, long(4)])
def test_network_has_no_combinational_loop(switch: str, depth: int) -> None:
    text = rtlil.convert(MultistageNetwork(8, broadcast=1, switch=switch, depth=depth))
    assert len(re.findall(r"^module .*copies_[01]\b", text, re.M)) == 24


@pytest.mark.parametrize("switch", ["input-queued", "output-queued"])
def test_broadcasts_of_all_to_all_end(switch: str) -> None:
    """All terminals broadcast to all, again and again, through queues of one packet."""
    network = MultistageNetwork(8, broadcast=1, switch=switch, depth=1)
    rounds = 50
    scripts = [
        [word(network.packet, 0, 7, 8 * number + source) for number in range(rounds)]
        for source in range(8)
    ]
    engine = CompiledEngine(scripted(network, scripts, 8 * rounds + 8, waits=False))
    engine.set("limit", rounds)
    engine.step(4 * 8 * rounds)
    sent = Counter(itertools.chain(*scripts))
    assert [Counter(words) for words in records_of(engine, 8)] == [sent] * 8
