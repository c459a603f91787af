# amaranth: UnusedElaboratable=no
"""Proofs that a node of the Connection Machine loses, doubles and changes nothing, for ever.

Inductive, so they hold after any number of cycles, for all that neighbours and processors can do.
"""

import itertools
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Assert, Cat, Module, Signal, Value
from claims import Claims, needs_yosys
from long_runs import long
from multicube.hdl.families.connection_machine import hypercube_node as node_module
from multicube.hdl.families.connection_machine.buffer import Buffer
from multicube.hdl.families.connection_machine.cube_wires import Wires
from multicube.hdl.families.connection_machine.deliver import Deliver
from multicube.hdl.families.connection_machine.hypercube_node import HypercubeNode
from multicube.hdl.families.connection_machine.inject import Inject
from multicube.hdl.families.connection_machine.message import Message
from multicube.hdl.families.connection_machine.refer import Refer
from multicube.hdl.families.connection_machine.routing_step import Route
from multicube.hdl.families.connection_machine.seniority import Seniority
from multicube.hdl.links.packet import Packet
from proof_table import proves

pytestmark = needs_yosys

AGE = 2


class Opened(HypercubeNode):
    """A node that shows its parts to `observe`, once they are there."""

    observe: Callable[[Module], None]

    def elaborate(self, platform: object) -> Module:
        m = super().elaborate(platform)
        self.observe(m)
        return m


def count(flags: Iterable[Value]) -> Value:
    return sum(flags, start=0)


def node(*, n: int, processors: int, buffers: int, schedule: str, priority: str) -> Any:
    """Neighbours and processors send what they like; one message, any of them, is marked.

    The payload is the mark. No node looks at it, so what holds of this message holds of all.
    """
    claims = Claims()
    m = claims.m
    in_turn, oldest = schedule == "dimension", priority == "oldest"
    bits = processors.bit_length() - 1
    m.submodules.node = dut = Opened(
        Packet(n + bits, 1),
        dimensions=n,
        processors=processors,
        buffers=buffers,
        age=AGE,
        schedule=schedule,
        priority=priority,
    )
    address, ready = claims.symbol(n, "address"), claims.free(processors, "ready")
    now, turn = Signal(AGE), Signal(n, init=1)
    m.d.comb += [dut.address.eq(address), *(o.ready.eq(r) for o, r in zip(dut.o, ready))]
    if oldest:
        m.d.sync += now.eq(now + 1)
    if in_turn:
        m.d.sync += turn.eq(turn.rotate_left(1))

    served_before = claims.past(turn)

    def rest(message: Any) -> Value:
        """What of a message no node may change."""
        return Cat(message.processor if bits else (), message.born if oldest else ())

    # What comes in: whether, the mark, the relative address, and the rest.
    entries: list[tuple[Value, Value, Value, Value]] = []
    for k, wire in enumerate(dut.i_wire):
        valid, word = claims.free(1, f"wire_{k}"), claims.free(dut.message.size, f"message_{k}")
        m.d.comb += [wire.valid.eq(valid), wire.payload.eq(word)]
        message = dut.message(word)
        entries.append((valid, message.payload, message.relative, rest(message)))
        if in_turn:
            # Neighbours keep step: what comes was sent when its dimension was served.
            claims.assume(~valid | served_before[k])
    for p, source in enumerate(dut.i):
        valid, word = claims.free(1, f"valid_{p}"), claims.free(dut.packet.size, f"packet_{p}")
        m.d.comb += [source.valid.eq(valid), source.payload.eq(word)]
        packet = dut.packet(word)
        own = Cat(packet.tag[:bits], now if oldest else ())
        entries.append((valid & source.ready, packet.payload, packet.tag[bits:] ^ address, own))

    # As many come in as go out or stay.
    held, expected = Signal(8), Signal(8)
    leaving = [*(w.valid for w in dut.o_wire), *(o.valid & r for o, r in zip(dut.o, ready))]
    m.d.comb += held.eq(dut.level + count(port.valid for port in (*dut.o_wire, *dut.o)))
    m.d.sync += expected.eq(held + count(entry[0] for entry in entries) - count(leaving))
    claims.claim(held == expected)
    claims.claim(dut.level <= buffers)

    # The marked message comes once, and leaves once: over a wire, nearer or farther, or delivered.
    inside, used = Signal(), Signal()
    relative, unchanged = Signal(n), Signal(bits + AGE * oldest)
    marks = [valid & mark for valid, mark, _, _ in entries]
    claims.assume(count(marks) <= ~used)
    claims.claim(used | ~inside)
    wires = [wire.valid & wire.payload.payload for wire in dut.o_wire]
    outputs = [port.valid & port.payload.payload for port in dut.o]
    with m.If(Cat(wires, *(shown & r for shown, r in zip(outputs, ready))).any()):
        m.d.sync += inside.eq(0)
    for mark, (_, _, way, other) in zip(marks, entries):
        with m.If(mark):
            m.d.sync += [inside.eq(1), used.eq(1), relative.eq(way), unchanged.eq(other)]
    for k, (flag, wire) in enumerate(zip(wires, dut.o_wire)):
        crossed = (wire.payload.relative ^ 1 << k) == relative
        claims.claim(~flag | (crossed & (rest(wire.payload) == unchanged)))
    for p, (flag, port) in enumerate(zip(outputs, dut.o)):
        claims.claim(~flag | ((relative == 0) & (unchanged[:bits] == p)))
        claims.claim(~flag | (port.payload.tag == Cat(unchanged[:bits], address)))

    def observe(inner: Module) -> None:
        parts = inner.submodules

        def claim(condition: Value) -> None:
            inner.d.comb += Assert(condition)

        # What makes the proof inductive: clocks that agree, and where the message can be.
        if oldest:
            claim(parts.inject.now == now)
        if in_turn:
            claim(parts.wires.turn == turn)
            claim(count(turn) == 1)
            claim((Cat(wire.valid for wire in dut.o_wire) & ~served_before) == 0)
        slots = [slot.valid & slot.message.payload for slot in parts.buffer.o]
        claim(count((*slots, *wires, *outputs)) == inside)
        for flag, slot in zip(slots, parts.buffer.o):
            same = (slot.message.relative == relative) & (rest(slot.message) == unchanged)
            claim(~flag | same)

        # What guarantees delivery: if it comes first, it goes nearer, or is delivered.
        places = [*parts.buffer.o, *parts.wires.arrived]
        valid = Cat(place.valid for place in places)
        served = turn if in_turn else ~(turn ^ turn)
        for i, place in enumerate(places):
            marked = place.valid & place.message.payload
            first = marked & ~(valid & parts.seniority.before[i]).any()
            way = place.message.relative
            number = place.message.processor if bits else 0
            free = Cat(~port.valid | r for port, r in zip(dut.o, ready)).bit_select(number, 1)
            claim(~first | ~Cat(sent[i] for sent in parts.refer.sent).any())
            claim(~first | ~(way & served).any() | Cat(sent[i] for sent in parts.route.sent).any())
            claim(~first | way.any() | ~free | parts.deliver.taken[i])

    dut.observe = observe
    return claims


KINDS = [
    ("parallel", "oldest"),
    ("dimension", "fixed"),
    long("parallel", "fixed"),
    long("dimension", "oldest"),
]


@pytest.mark.one_in(2)
@proves(
    HypercubeNode,
    Inject,
    Route,
    Buffer,
    Refer,
    Deliver,
    says="Each message leaves once and unchanged: over a wire, nearer to its destination or "
    "deflected, or delivered where it belongs. The number of messages inside is right. The "
    "message that is first in seniority always comes nearer, or is delivered.",
    sizes="1 to 4 dimensions, 1 to 4 processors, 1 to 3 buffers, both schedules and both "
    "priorities",
)
@pytest.mark.parametrize(("schedule", "priority"), KINDS)
@pytest.mark.parametrize(
    ("n", "processors", "buffers"),
    [(2, 2, 2), *(long(*size) for size in ((1, 1, 1), (2, 1, 1), (3, 1, 1), (3, 2, 3), (4, 4, 2)))],
)
def test_each_message_leaves_a_node_once_and_as_it_should(
    tmp_path: Path, n: int, processors: int, buffers: int, schedule: str, priority: str
) -> None:
    claims = node(n=n, processors=processors, buffers=buffers, schedule=schedule, priority=priority)
    assert claims.hold(tmp_path, 4, inductive=True)


class Forgetful(Buffer):
    """Tells that there is more room than there is."""

    def elaborate(self, platform: object) -> Module:
        m = super().elaborate(platform)
        m.d.comb += self.room.eq((~self.stay).any())
        return m


class Unfair(Refer):
    """Refers the messages that come first."""

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.inner = inner = Refer(places=self.places, wires=self.wires)
        for name in ("left", "free"):
            m.d.comb += getattr(inner, name).eq(getattr(self, name))
        places = range(self.places)
        for i in places:
            m.d.comb += inner.before[i].eq(Cat(self.before[j][i] for j in places))
        m.d.comb += [
            self.referred.eq(inner.referred),
            *(mine.eq(its) for mine, its in zip(self.sent, inner.sent)),
        ]
        return m


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("part", "broken"), [("Buffer", Forgetful), ("Refer", Unfair)])
def test_proofs_find_a_node_that_loses_or_misleads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: str, broken: type
) -> None:
    monkeypatch.setattr(node_module, part, broken)
    claims = node(n=2, processors=1, buffers=1, schedule="parallel", priority="oldest")
    assert not claims.hold(tmp_path, 4, inductive=True)


@pytest.mark.one_in(2)
@proves(
    Seniority,
    says="Messages are in a strict order, by age and then by destination, which is the same in "
    "every node.",
    sizes="3 messages, 2 dimensions, ages of 2 bits",
)
@pytest.mark.parametrize("processor_bits", [0, 1])
def test_the_order_of_messages_is_one(tmp_path: Path, processor_bits: int) -> None:
    """A strict order of all, the same in every node: by age, then by destination."""
    claims = Claims()
    m = claims.m
    message = Message(2, processor_bits, AGE, 1)
    m.submodules.seniority = dut = Seniority(message, places=3)
    now, address = claims.symbol(AGE, "now"), claims.free(2, "address")
    m.d.comb += [dut.now.eq(now), dut.address.eq(address)]
    m.d.comb += [port.eq(claims.free(message.size, f"i_{i}")) for i, port in enumerate(dut.i)]
    before = dut.before

    def rank(one: Any) -> tuple[Value, Value]:
        age = Signal(AGE)
        m.d.comb += age.eq(now - one.born)
        goal = Cat(one.processor if processor_bits else (), one.relative ^ address)
        return age, goal

    ranks = [rank(port) for port in dut.i]
    for i, j, k in itertools.permutations(range(3)):
        claims.claim(before[i][j] ^ before[j][i])
        claims.claim(~before[i][j] | ~before[j][k] | before[i][k])
        (my_age, mine), (age, goal) = ranks[i], ranks[j]
        claims.claim(~(my_age < age) | before[i][j])
        claims.claim(~((my_age == age) & (mine < goal)) | before[i][j])
    assert claims.hold(tmp_path, 2, inductive=True)


@pytest.mark.one_in(2)
@proves(
    Wires,
    says="What one end sends in a step arrives at the other end in the next.",
    sizes="serial wires in 2 dimensions, each with a register of its own, or all with one",
)
@pytest.mark.parametrize("shared", [False, True])
def test_serial_wires_bring_in_a_step_what_was_sent_in_the_last(
    tmp_path: Path, shared: bool
) -> None:
    claims = Claims()
    m = claims.m
    ends = [Wires(Message(1, 0, 0, 1), dimensions=2, shared=shared, serial=True) for _ in range(2)]
    m.submodules.here, m.submodules.there = here, there = ends
    m.d.comb += [port.eq(wire) for port, wire in zip(there.i_wire, here.o_wire)]
    if shared:
        turn = Signal(2, init=1)
        with m.If(here.step):
            m.d.sync += turn.eq(turn.rotate_left(1))
        m.d.comb += [here.turn.eq(turn), there.turn.eq(turn)]
    claims.claim(here.step == there.step)
    for w, (sent, arrived) in enumerate(zip(here.sent, there.arrived)):
        m.d.comb += sent.eq(claims.free(len(Value.cast(sent)), f"sent_{w}"))
        last = Signal.like(Value.cast(sent))
        with m.If(here.step):
            m.d.sync += last.eq(sent)
        claims.claim(~here.step | (arrived.as_value() == last))
    assert claims.hold(tmp_path)
