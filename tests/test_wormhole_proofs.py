# amaranth: UnusedElaboratable=no
"""Proofs that switches for flits lose, double and mix nothing, and are fair."""

from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from claims import Claims, FickleArbiter, needs_yosys
from long_runs import long
from multicube.hdl.boxes.rejecting_wormhole import RejectingWormholeSwitch
from multicube.hdl.boxes.wormhole import CutThroughSwitch, WormholeSwitch
from multicube.hdl.links.packet import Packet
from multicube.hdl.switch import held
from multicube.hdl.terminals.retry import RetryInterface, RetryReceiver
from proof_table import proves

pytestmark = needs_yosys

WITNESS = data.StructLayout({"source": 1, "header": 1, "mark": 1})
LENGTH = 2


class Arriving:
    """Packets of any length, or up to `LENGTH`, at an input; the payload says what each flit is."""

    def __init__(self, claims: Any, i: int, port: Any, *, short: bool) -> None:
        m, payload = claims.m, port.payload
        tag = claims.free(len(payload.tag), f"tag_{i}")
        last = claims.free(1, f"last_{i}")
        self.valid = claims.free(1, f"valid_{i}")
        self.mark = claims.free(1, f"mark_{i}")
        self.following = Signal(name=f"following_{i}")
        kept = Signal.like(tag, name=f"kept_{i}")
        self.target = Mux(self.following, kept, tag)
        self.taken = self.valid & port.ready
        self.last = last
        m.d.comb += [
            port.valid.eq(self.valid),
            payload.tag.eq(tag),
            payload.last.eq(last),
            payload.payload.eq(
                Cat(Const(i & 1, 1), ~self.following, self.mark)  # WITNESS
            ),
        ]
        with m.If(self.taken):
            m.d.sync += [self.following.eq(~last), kept.eq(self.target)]
        if short:
            claims.assume(~self.following | last)


class Leaving:
    """What an output shows: whole packets, each from one source."""

    def __init__(self, claims: Any, j: int, port: Any, ready: Value) -> None:
        m, witness = claims.m, port.payload.payload
        self.valid, self.source, self.mark = port.valid, witness.source, witness.mark
        self.header, self.last = witness.header, port.payload.last
        self.taken = port.valid & ready
        self.inside = Signal(name=f"inside_{j}")
        self.owner = Signal(name=f"owner_{j}")
        m.d.comb += port.ready.eq(ready)
        with m.If(self.taken):
            m.d.sync += [self.inside.eq(~port.payload.last), self.owner.eq(self.source)]
        claims.claim(~self.valid | (self.header == ~self.inside))
        claims.claim(~(self.valid & self.inside) | (self.source == self.owner))
        # The stream rule.
        shown = port.payload.as_value()
        held = claims.past(port.valid & ~ready)
        claims.claim(~held | (port.valid & (shown == claims.past(shown))))


def switch(kind: str) -> Any:
    packet = Packet(1, WITNESS, flits=True)
    match kind.split():
        case "wormhole", depth:
            return WormholeSwitch(packet, radix=2, depth=int(depth))
        case "cut-through", depth:
            return CutThroughSwitch(packet, radix=2, depth=int(depth), length=LENGTH)
        case "crosspoint", depth:
            return CutThroughSwitch(
                packet, radix=2, depth=int(depth), length=LENGTH, queues="crosspoint"
            )
    raise ValueError(kind)


def flit_switch(kind: str, waits: int = 1) -> Any:
    """One flit, any of them, is marked and followed through the switch by counting."""
    claims = Claims()
    m = claims.m
    m.submodules.switch = dut = switch(kind)
    cut_through, crosspoint = not kind.startswith("wormhole"), kind.startswith("crosspoint")
    inputs = [Arriving(claims, i, port, short=cut_through) for i, port in enumerate(dut.i)]
    outputs = [
        Leaving(claims, j, port, claims.free(1, f"ready_{j}")) for j, port in enumerate(dut.o)
    ]

    # Flits inside, by input and output.
    counts = [[Signal(3, name=f"count_{i}_{j}") for j in range(2)] for i in range(2)]
    enters = [[x.taken & (x.target == j) for j in range(2)] for i, x in enumerate(inputs)]
    leaves = [[y.taken & (y.source == i) for y in outputs] for i in range(2)]
    for i in range(2):
        for j in range(2):
            m.d.sync += counts[i][j].eq(counts[i][j] + enters[i][j] - leaves[i][j])
            claims.claim(~(outputs[j].valid & (outputs[j].source == i)) | (counts[i][j] != 0))

    marks = [x.valid & x.mark for x in inputs]
    inside, used, origin, target = Signal(), Signal(), Signal(), Signal()
    ahead = Signal(3)
    header = Signal()
    claims.assume(marks[0] + marks[1] <= ~used)
    for i, x in enumerate(inputs):
        before = [counts[i][j] - leaves[i][j] for j in range(2)]
        with m.If(marks[i] & x.taken):
            m.d.sync += [inside.eq(1), used.eq(1), origin.eq(i), target.eq(x.target)]
            m.d.sync += header.eq(~x.following)
            queued = Mux(x.target, before[1], before[0]) if crosspoint else before[0] + before[1]
            m.d.sync += ahead.eq(queued)
        if cut_through:
            # A header that was let in brings the whole packet in.
            claims.claim(~x.following | dut.i[i].ready)
    passing = [
        y.taken & (y.source == origin) & ((target == j) if crosspoint else 1)
        for j, y in enumerate(outputs)
    ]
    first = inside & (ahead == 0)
    for j, y in enumerate(outputs):
        here = first & (target == j)
        shown = y.valid & (y.source == origin)
        # The mark is shown when and where it is its turn, and nothing else in its place.
        claims.claim((y.valid & y.mark) == (here & shown))
        # It waits for nobody but another packet that has the output.
        claims.claim(~here | y.valid | (y.inside & (y.owner != origin)))
        with m.If(y.taken & y.mark):
            m.d.sync += inside.eq(0)
    with m.If(inside & (passing[0] | passing[1]) & (ahead != 0)):
        m.d.sync += ahead.eq(ahead - 1)

    # Fairness: packets of the other input that finish before a header in front.
    overtaken = Signal(3)
    tails = [y.taken & y.last & (y.source != origin) & (target == j) for j, y in enumerate(outputs)]
    with m.If(~(first & header)):
        m.d.sync += overtaken.eq(0)
    with m.Elif((tails[0] | tails[1]) & ~overtaken[2]):
        m.d.sync += overtaken.eq(overtaken + 1)
    claims.claim(overtaken <= waits)
    return claims


KINDS = ("wormhole 1", "wormhole 2", "cut-through 2", "crosspoint 2")


@pytest.mark.long
@proves(
    WormholeSwitch,
    CutThroughSwitch,
    says="Packets stay whole and in order, each flit leaves once and unchanged, and the stream "
    "rule holds. A flit at the head of its queue waits only for another packet that has its "
    "output. The switch is fair: a flit waits for at most one such packet. With cut-through, a "
    "switch that accepts a header accepts the whole packet.",
    sizes="2 x 2 switches; wormhole of depth 1 and 2 with packets of any length; cut-through of "
    "depth 2 with input and crosspoint queues and packets of 1 or 2 flits",
)
@pytest.mark.parametrize("kind", [kind if kind == "wormhole 2" else long(kind) for kind in KINDS])
def test_flit_switch_keeps_packets_whole_and_in_order_and_is_fair(
    tmp_path: Path, kind: str
) -> None:
    assert flit_switch(kind).hold(tmp_path)


@pytest.mark.parametrize("kind", [KINDS[0], *map(long, KINDS[1:])])
def test_proofs_find_an_output_that_changes_its_mind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(held, "RoundRobin", FickleArbiter)
    assert not flit_switch(kind).hold(tmp_path)


@pytest.mark.parametrize("kind", [KINDS[0], *map(long, KINDS[1:])])
def test_proofs_find_that_some_packets_wait(tmp_path: Path, kind: str) -> None:
    """A bound of no other packet is too low."""
    assert not flit_switch(kind, waits=0).hold(tmp_path)


class Swallows(RejectingWormholeSwitch):
    """Does not tell of two rejections at once."""

    def elaborate(self, platform: object) -> Module:
        m = super().elaborate(platform)
        with m.If(self.o[0].reject & self.o[1].reject):
            m.d.comb += self.i[0].reject.eq(0)
        return m


class ShowsMore(RejectingWormholeSwitch):
    """Carries on what comes in the cycle of a rejection."""

    def elaborate(self, platform: object) -> Module:
        m = super().elaborate(platform)
        with m.If(self.o[0].reject & self.i[0].valid & self.i[0].reject):
            m.d.sync += self.o[0].valid.eq(1)
        return m


def rejecting_switch(component: type[RejectingWormholeSwitch] = RejectingWormholeSwitch) -> Any:
    """A path belongs to one packet; rejected or closed, its output is free in the next cycle."""
    claims = Claims()
    m = claims.m
    m.submodules.switch = dut = component(Packet(1, 1, flits=True), radix=2)
    ready, reject = claims.free(2, "ready"), claims.free(2, "reject")
    valid, close, tag = (claims.free(2, name) for name in ("valid", "close", "tag"))
    # By input, what it has sent: whether its path is open, and where it leads.
    opened = [Signal(name=f"opened_{i}") for i in range(2)]
    target = [Signal(name=f"target_{i}") for i in range(2)]
    headers = [valid[i] & ~opened[i] for i in range(2)]
    for i, port in enumerate(dut.i):
        m.d.comb += [
            port.valid.eq(valid[i]),
            port.close.eq(close[i]),
            port.payload.tag.eq(tag[i]),
            port.payload.payload.eq(i),
        ]
        with m.If(port.reject):
            m.d.sync += opened[i].eq(0)
        with m.Elif(valid[i] & port.ready):
            m.d.sync += opened[i].eq(~close[i])
            with m.If(headers[i]):
                m.d.sync += target[i].eq(tag[i])
    for j, port in enumerate(dut.o):
        m.d.comb += [port.ready.eq(ready[j]), port.reject.eq(reject[j])]
    for j, port in enumerate(dut.o):
        paths = [opened[i] & (target[i] == j) for i in range(2)]
        claims.claim(~(paths[0] & paths[1]))
        claims.assume(~reject[j] | paths[0] | paths[1])
        # What is shown came from the input that has the path, or had it last.
        came = Signal(name=f"came_{j}")
        for i in range(2):
            with m.If(valid[i] & dut.i[i].ready & Mux(opened[i], paths[i], tag[i] == j)):
                m.d.sync += came.eq(i)
        claims.claim(~port.valid | (port.payload.payload == came))
        # Nothing of a rejected packet is shown.
        claims.claim(~claims.began | ~claims.past(reject[j]) | ~port.valid)
        shown = Cat(port.payload.as_value(), port.close)
        held = claims.past(port.valid & ~ready[j] & ~reject[j])
        claims.claim(~held | (port.valid & (shown == claims.past(shown))))
        # A header is dropped if and only if its output is taken or stands still, or it loses.
        wants = [headers[i] & (tag[i] == j) for i in range(2)]
        free = ~paths[0] & ~paths[1] & (~port.valid | ready[j])
        for i, entry in enumerate(dut.i):
            with m.If(wants[i]):
                claims.claim(entry.ready == ~dut.dropped[i])
                claims.claim(~dut.dropped[i] | ~free | (wants[1 - i] & ~dut.dropped[1 - i]))
                claims.claim(free | dut.dropped[i])
        claims.claim(~(wants[0] & wants[1]) | dut.dropped.any())
    for i, entry in enumerate(dut.i):
        behind = (reject & Cat(opened[i] & (target[i] == j) for j in range(2))).any()
        claims.claim(entry.reject == (dut.dropped[i] | behind))
        claims.claim(headers[i] | ~dut.dropped[i])
    return claims


@proves(
    RejectingWormholeSwitch,
    says="An output has one path at a time, and shows only flits of this path. A header is "
    "rejected if and only if its output is taken or stands still, or the header loses against "
    "another one. Rejections reach the sender. After a rejection nothing of the packet is shown, "
    "and its output is free in the next cycle. The stream rule holds.",
    sizes="2 x 2 switches, packets of any length",
)
def test_rejecting_switch_gives_each_output_to_one_path_and_takes_it_back(tmp_path: Path) -> None:
    assert rejecting_switch().hold(tmp_path)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("component", [Swallows, ShowsMore])
def test_proofs_find_a_switch_that_forgets_a_rejection(
    tmp_path: Path, component: type[RejectingWormholeSwitch]
) -> None:
    assert not rejecting_switch(component).hold(tmp_path)


NUMBERED = data.StructLayout({"mine": 1, "number": 2, "header": 1})


def rejected_path(delay: int, *, waits: bool = True, stages: int = 2) -> Any:
    """An interface, two switches in a row and two receivers; all other links are free.

    If a receiver `waits`, packets to the other overtake those to it, so all go to one (either).
    `stages` is what the interface is told.
    """
    claims = Claims()
    m = claims.m
    packet = Packet(2, NUMBERED, flits=True)
    m.submodules.retry = retry = RetryInterface(packet, length_max=2, delay=delay, stages=stages)
    boxes = [RejectingWormholeSwitch(packet, radix=2) for _ in range(2)]
    receivers = [RetryReceiver(packet) for _ in range(2)]
    m.submodules += [*boxes, *receivers]
    wiring.connect(m, retry.o, boxes[0].i[0])
    wiring.connect(m, boxes[0].o[0], boxes[1].i[0])
    for j, receiver in enumerate(receivers):
        wiring.connect(m, boxes[1].o[j], receiver.i)
    m.d.comb += [boxes[0].o[1].ready.eq(claims.free(1, "ready_aside")), boxes[0].o[1].reject.eq(0)]
    for s, box in enumerate(boxes):
        other = box.i[1]
        m.d.comb += [
            other.valid.eq(claims.free(1, f"valid_{s}")),
            other.close.eq(claims.free(1, f"close_{s}")),
            other.payload.tag.eq(claims.free(2, f"tag_{s}")),
        ]

    # Packets of one or two flits, numbered, through both switches to either receiver.
    valid, last = claims.free(1, "valid"), claims.free(1, "last")
    digit = claims.symbol(1, "digit") if waits else claims.free(1, "digit")
    following, next_ = Signal(), Signal(2)
    m.d.comb += [
        retry.i.valid.eq(valid),
        retry.i.payload.tag.eq(digit),
        retry.i.payload.last.eq(last | following),
        retry.i.payload.payload.eq(Cat(Const(1, 1), next_, ~following)),
    ]
    with m.If(valid & retry.i.ready):
        m.d.sync += following.eq(~retry.i.payload.last)
        with m.If(retry.i.payload.last):
            m.d.sync += next_.eq(next_ + 1)

    rest, awaited, number = Signal(2), Signal(2), Signal(2)
    for j, receiver in enumerate(receivers):
        ready = claims.free(1, f"ready_{j}") if waits else Const(1)
        shown = receiver.o.payload.payload
        taken = receiver.o.valid & ready & shown.mine
        m.d.comb += receiver.o.ready.eq(ready)
        # Header and tail in turn, of the packets in turn: once each, or at most once.
        in_turn = shown.number == awaited if delay else Const(1)
        claims.claim(~taken | Mux(rest[j], ~shown.header & (shown.number == number), shown.header))
        claims.claim(~(taken & shown.header) | in_turn)
        claims.claim(~(taken & rest[j]) | receiver.o.payload.last)
        with m.If(taken):
            m.d.sync += rest[j].eq(~receiver.o.payload.last)
            with m.If(shown.header):
                m.d.sync += [awaited.eq(shown.number + 1), number.eq(shown.number)]
    return claims


@pytest.mark.long
@proves(
    RetryInterface,
    RetryReceiver,
    says="A header that arrives is followed by the rest of its packet. No flit of a rejected "
    "packet arrives, and no padding. If rejected packets are sent again (delay 1), each packet "
    "arrives exactly once, in order.",
    sizes="2 switches in a row, packets of 1 or 2 flits; delay 0 with receivers that wait or do "
    "not; delay 1 with receivers that do not wait",
)
@pytest.mark.parametrize(("delay", "waits"), [(0, False), long(0, True), long(1, False)])
def test_no_flit_of_a_rejected_packet_arrives_and_what_is_sent_again_arrives_once(
    tmp_path: Path, delay: int, waits: bool
) -> None:
    assert rejected_path(delay, waits=waits).hold(tmp_path)


@proves(
    RetryInterface,
    RetryReceiver,
    says="The receivers may wait. Packets arrive whole, exactly once and in order, without a flit "
    "of a rejected packet and without padding.",
    sizes="2 switches in a row, packets of 1 or 2 flits, delay 1; the cycles are enough for two "
    "packets, or for one that is rejected twice",
    cycles=10,
)
@pytest.mark.long
def test_packets_that_are_sent_again_wait_for_receivers(tmp_path: Path) -> None:
    assert rejected_path(1).hold(tmp_path, 10)


def test_proofs_find_that_a_path_must_not_be_closed_too_early(tmp_path: Path) -> None:
    assert not rejected_path(1, stages=1).hold(tmp_path)
