# amaranth: UnusedElaboratable=no
"""Broadcasts: their tags, the switches that copy them, and whole networks."""

import itertools
import random
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from amaranth.back import rtlil
from amaranth.hdl import Module, Mux, Signal, Value
from claims import Claims, needs_yosys
from driving import transport
from long_runs import long
from multicube.hdl import MultistageNetwork
from multicube.hdl.boxes import BoxState, InputQueuedSwitch, OutputQueuedSwitch
from multicube.hdl.graphs.plans.named_plans import PLANS, multistage_plan
from multicube.hdl.links.packet import Packet
from multicube.hdl.switch import crossing, routed_switch
from multicube.hdl.switch.broadcast import CopyTracker
from multicube.sim.engines.compiled import CompiledEngine
from proof_table import proves
from refusals import refusals
from scripted_terminals import records_of, scripted, word_of
from switch_models import InputQueuedModel, OutputQueuedModel, Wires, follow, sometimes, traffic

SWITCHES = [OutputQueuedSwitch, InputQueuedSwitch]


every_switch = pytest.mark.parametrize("switch", SWITCHES)
every_routing = pytest.mark.parametrize("routing", ["destination", "xor"])


# Tags.


@pytest.mark.one_in(6)
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


test_broadcast_rejects_outputs = refusals(
    lambda outputs: multistage_plan("cube", 8).tags().broadcast(0, outputs),
    ([], "A broadcast must have at least one output, not none"),
    ([2, 1], "Outputs of a broadcast must be all that agree in some address bits, not 1, 2"),
    (range(3), "Outputs of a broadcast must be all that agree in some address bits, not 0, 1, 2"),
    ([8], "Address must be from 0 to 7, not 8"),
)


# One switch.


MODELS = {OutputQueuedSwitch: OutputQueuedModel, InputQueuedSwitch: InputQueuedModel}


@pytest.mark.one_in(6)
@every_routing
@pytest.mark.parametrize(("radix", "depth"), [(2, 1), (2, 2), (2, 3), (4, 1), long(4, 4)])
@every_switch
def test_switch_follows_the_model(switch: type, radix: int, depth: int, routing: str) -> None:
    """Cycle by cycle, broadcasts among one-to-one packets, under random waits. All copies are
    delivered once, and those of one input to one output in their order."""
    wires = Wires(radix, routing, broadcast=True)
    dut = switch(wires.layout, radix=radix, depth=depth, routing=routing)
    model = MODELS[switch](wires, depth)
    busy, waits = traffic(wires, 10 * radix + depth, 0.7), sometimes(depth)
    trace = transport(
        dut,
        cycles=320,
        offer=lambda port, cycle: busy(port, cycle) if cycle < 200 else None,
        ready=lambda port, cycle: cycle >= 200 or waits(port, cycle),
    )
    partly: list[bool] = []
    follow(trace, wires, model, seen=lambda: partly.append(any(model.given)))
    assert sum(partly) > 20


@pytest.mark.one_in(4)
@every_switch
@every_routing
@pytest.mark.parametrize(("radix", "depth"), [(2, 1), (4, 2)])
def test_broadcast_of_free_outputs_takes_one_cycle(
    switch: type, routing: str, radix: int, depth: int
) -> None:
    """One input broadcasts every cycle to all outputs; each carries a packet every cycle."""
    wires = Wires(radix, routing, broadcast=True)
    dut = switch(wires.layout, radix=radix, depth=depth, routing=routing)
    trace = transport(
        dut,
        cycles=30,
        offer=lambda port, cycle: (
            wires.make(port, 0, cycle, mask=radix - 1) if port == radix - 1 else None
        ),
    )
    for number, cycle in enumerate(trace):
        assert cycle.accepted[radix - 1]
        packet = wires.forwarded(wires.make(radix - 1, 0, number - 1, mask=radix - 1))
        assert cycle.shown == [packet if number else None] * radix


@every_switch
@pytest.mark.parametrize("radix", [2, 4])
def test_blocked_output_does_not_block_the_other_copies(switch: type, radix: int) -> None:
    """While output 0 waits, the others get their one copy, and no second one."""
    wires = Wires(radix, "destination", broadcast=True)
    dut = switch(wires.layout, radix=radix, depth=1)
    trace = transport(
        dut,
        cycles=30,
        offer=lambda port, cycle: wires.make(0, 0, cycle, mask=radix - 1) if port == 0 else None,
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


@pytest.mark.one_in(4)
@every_switch
@pytest.mark.parametrize("radix", [2, 4])
def test_broadcasts_and_single_packets_are_served_in_turn(switch: type, radix: int) -> None:
    """Input 0 broadcasts for ever, the others all want output 1: each gets its share of it."""
    wires = Wires(radix, "destination", broadcast=True)
    dut = switch(wires.layout, radix=radix, depth=2)
    generator = random.Random(radix)
    print(f"seed {radix}")
    trace = transport(
        dut,
        cycles=200,
        offer=lambda port, cycle: wires.make(port, 1, cycle, mask=0 if port else radix - 1),
        ready=lambda port, cycle: generator.random() < 0.7,
    )
    served = Counter(wires.name(p)[0] for cycle in trace for j, p in cycle.moved() if j == 1)
    assert max(served.values()) - min(served.values()) <= 1
    assert min(served.values()) > 25


@pytest.mark.parametrize("broadcast", [False, True])
def test_interchange_box_is_set(broadcast: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The states of the box that the traffic needs are all met: a broadcast that is copied to both
    outputs at once is carried by a broadcast state."""
    boxes: list[Any] = []
    original = crossing.InterchangeBox

    def recording(*arguments: Any, **options: Any) -> Any:
        boxes.append(original(*arguments, **options))
        return boxes[-1]

    monkeypatch.setattr(crossing, "InterchangeBox", recording)
    wires = Wires(2, "xor", broadcast=broadcast)
    dut = InputQueuedSwitch(wires.layout, radix=2, depth=2, routing="xor")
    trace = transport(
        dut, cycles=200, offer=traffic(wires, 3, 0.6), watch=lambda: Value.cast(boxes[-1].state)
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
    assert states == (set(BoxState) if broadcast else {BoxState.STRAIGHT, BoxState.EXCHANGE})


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


@pytest.mark.long
@needs_yosys
@proves(
    OutputQueuedSwitch,
    InputQueuedSwitch,
    CopyTracker,
    says="Each output that a broadcast is for gets one copy of it, and no other output gets any. "
    "The stream rule holds.",
    sizes="2 x 2 switches of depth 1 and 2, with destination and XOR tags",
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


@pytest.mark.long
@needs_yosys
@pytest.mark.parametrize("tracker", [ForgetfulTracker, HastyTracker])
@every_switch
def test_proof_finds_a_lost_or_repeated_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, switch: type, tracker: type
) -> None:
    monkeypatch.setattr(routed_switch, "CopyTracker", tracker)
    assert not copies(switch, 1, "destination").hold(tmp_path)


# Networks.


@pytest.mark.one_in(4)
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
            script.append(word_of(network.packet, tag, mask, payload))
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


@pytest.mark.long
@every_routing
def test_figure_3(routing: str) -> None:
    """Input 0 broadcasts to outputs 4, 5, 6 and 7: three cycles, tag 100, mask 011."""
    network = MultistageNetwork(8, broadcast=1, routing=routing, switch="input-queued")
    tag, mask = network.tags.broadcast(0, [4, 5, 6, 7])
    assert (tag, mask) == (0b100, 0b011)
    packet = word_of(network.packet, tag, mask, 33)
    trace = transport(
        network, cycles=5, offer=lambda port, cycle: packet if port == cycle == 0 else None
    )
    # Tag and mask are back in place when they arrive.
    assert [cycle.shown for cycle in trace] == [
        [packet if cycle == 3 and output >= 4 else None for output in range(8)]
        for cycle in range(5)
    ]


@pytest.mark.long
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
        [word_of(network.packet, 0, 7, 8 * number + source) for number in range(rounds)]
        for source in range(8)
    ]
    engine = CompiledEngine(scripted(network, scripts, 8 * rounds + 8, waits=False))
    engine.set("limit", rounds)
    engine.step(4 * 8 * rounds)
    sent = Counter(itertools.chain(*scripts))
    assert [Counter(words) for words in records_of(engine, 8)] == [sent] * 8
