# amaranth: UnusedElaboratable=no
"""Proofs of the small components for all inputs, with Yosys and the solver in it.

*Bounded* proofs cover every input sequence from reset up to a number of cycles; where the state is
as small as here, that is more than it takes to reach every state. *Inductive* ones hold for ever.
"""

from collections.abc import Callable
from pathlib import Path

import pytest
from amaranth.hdl import Mux, Signal, Value
from claims import Claims, FickleArbiter, needs_yosys
from long_runs import long
from multicube.hdl.boxes import InputQueuedSwitch, OutputQueuedSwitch, packet_switches
from multicube.hdl.primitives.arrival_queue import ArrivalQueue
from multicube.hdl.primitives.packet import Packet
from multicube.hdl.primitives.round_robin import RoundRobin

pytestmark = needs_yosys


def arbiter(claims: Claims, count: int) -> tuple[RoundRobin, Signal, Signal]:
    claims.m.submodules.arbiter = dut = RoundRobin(count)
    request, taken = claims.free(count, "request"), claims.free(1, "taken")
    claims.m.d.comb += [dut.request.eq(request), dut.taken.eq(taken)]
    return dut, request, taken


@pytest.mark.parametrize("count", [2, 3, 4, 8])
def test_round_robin_grants_and_holds(tmp_path: Path, count: int) -> None:
    """It grants a request, and the same again until it is taken or withdrawn.

    Inductive but for 3: induction also begins in the state that a counter to 3 never reaches.
    """
    claims = Claims()
    dut, request, taken = arbiter(claims, count)
    claims.claim(~request.any() | request.bit_select(dut.grant, 1))
    waiting = claims.past(request.any() & ~taken)
    before = claims.past(dut.grant)
    claims.claim(~claims.began | ~waiting | ~request.bit_select(before, 1) | (dut.grant == before))
    assert claims.hold(tmp_path, 10, inductive=count != 3)


def waits_of(claims: Claims, count: int) -> Signal:
    """How many others were served since some requester, any of them, put its request up."""
    dut, request, taken = arbiter(claims, count)
    who = claims.symbol(max(1, (count - 1).bit_length()), "who")
    claims.assume(who < count)
    wants = request.bit_select(who, 1)
    waits = Signal(range(count + 2))
    with claims.m.If(~wants | (taken & (dut.grant == who))):
        claims.m.d.sync += waits.eq(0)
    with claims.m.Elif(taken & (waits <= count)):
        claims.m.d.sync += waits.eq(waits + 1)
    return waits


@pytest.mark.parametrize("count", [2, 3, 4, long(8)])
def test_round_robin_is_fair(tmp_path: Path, count: int) -> None:
    """Bounded: a request that stays up waits for at most count - 1 others."""
    claims = Claims()
    claims.claim(waits_of(claims, count) <= count - 1)
    assert claims.hold(tmp_path, 3 * count + 2)


def test_proofs_find_a_claim_that_is_wrong(tmp_path: Path) -> None:
    """One less than the bound above is too little."""
    claims = Claims()
    claims.claim(waits_of(claims, 3) <= 1)
    assert not claims.hold(tmp_path, 16)


@pytest.mark.parametrize("refill", [False, True], ids=["plain", "refill"])
@pytest.mark.parametrize(
    ("writers", "depth"),
    [(1, 1), (1, 3), (2, 1), (2, 2), long(2, 3), long(2, 4), (3, 2), long(3, 3)],
)
def test_arrival_queue_keeps_every_packet_in_its_place(
    tmp_path: Path, writers: int, depth: int, refill: bool
) -> None:
    """Bounded: one packet, any of them, is marked by its payload; its place in the queue is
    followed by counting. It must come out when those before it have left, and only then."""
    claims = Claims()
    m = claims.m
    m.submodules.queue = queue = ArrivalQueue(1, writers=writers, depth=depth, refill=refill)
    valid, marks = claims.free(writers, "valid"), claims.free(writers, "marks")
    ready = claims.free(1, "ready")
    m.d.comb += queue.o.ready.eq(ready)
    for i, port in enumerate(queue.i):
        m.d.comb += [port.valid.eq(valid[i]), port.payload.eq(marks[i])]

    accepted = [valid[i] & queue.i[i].ready for i in range(writers)]
    arrivals = sum(accepted, start=0)
    pop = queue.o.valid & ready
    level = Signal(range(depth + writers + 2))
    turn = Signal(range(writers))
    m.d.sync += [level.eq(level + arrivals - pop), turn.eq((turn + arrivals) % writers)]
    claims.claim(level == queue.level)
    claims.claim(level <= depth)
    claims.claim(queue.o.valid == (level != 0))

    # Arrivals of one cycle are queued in turn, and while there is room the first are accepted.
    before = []
    for i in range(writers):
        order = [
            valid[x] & Mux(x >= turn, (i < turn) | (x < i), (i < turn) & (x < i))
            for x in range(writers)
            if x != i
        ]
        before.append(sum(order, start=0))
        left = Mux(pop, level - 1, level) if refill else level
        claims.claim(~valid[i] | (queue.i[i].ready == (left + before[i] < depth)))

    inside, used = Signal(), Signal()
    ahead = Signal(range(depth + writers + 2))
    entering = [accepted[i] & marks[i] for i in range(writers)]
    claims.assume(sum((marks[i] for i in range(writers)), start=0) <= ~used)
    with m.If(pop & inside):
        with m.If(ahead == 0):
            m.d.sync += inside.eq(0)
        with m.Else():
            m.d.sync += ahead.eq(ahead - 1)
    for i in range(writers):
        with m.If(entering[i]):
            m.d.sync += [inside.eq(1), used.eq(1), ahead.eq(level - pop + before[i])]
    claims.claim((queue.o.valid & queue.o.payload) == (inside & (ahead == 0)))
    assert claims.hold(tmp_path, 2 * depth + 4)


def stream_rule(switch: Callable, depth: int, routing: str) -> Claims:
    """What an output shows stays until it is taken, whatever the inputs do."""
    claims = Claims()
    m = claims.m
    m.submodules.switch = dut = switch(Packet(1, 1), radix=2, depth=depth, routing=routing)
    for i, port in enumerate(dut.i):
        m.d.comb += [
            port.valid.eq(claims.free(1, f"valid_{i}")),
            Value.cast(port.payload).eq(claims.free(2, f"payload_{i}")),
        ]
    for j, port in enumerate(dut.o):
        ready = claims.free(1, f"ready_{j}")
        m.d.comb += port.ready.eq(ready)
        payload = Value.cast(port.payload)
        held = claims.past(port.valid & ~ready)
        claims.claim(~held | (port.valid & (payload == claims.past(payload))))
    return claims


@pytest.mark.parametrize("routing", ["destination", "xor"])
@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize("switch", [OutputQueuedSwitch, InputQueuedSwitch])
def test_packet_switch_obeys_the_stream_rule(
    tmp_path: Path, switch: Callable, depth: int, routing: str
) -> None:
    """Bounded."""
    assert stream_rule(switch, depth, routing).hold(tmp_path, 12)


def test_proofs_find_an_arbiter_that_does_not_hold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packet_switches, "RoundRobin", FickleArbiter)
    assert not stream_rule(InputQueuedSwitch, 2, "destination").hold(tmp_path, 12)


@pytest.mark.parametrize(
    ("switch", "depth"),
    [
        (OutputQueuedSwitch, 1),
        long(OutputQueuedSwitch, 2),
        (InputQueuedSwitch, 1),
        long(InputQueuedSwitch, 2),
    ],
)
def test_packet_switch_delivers_a_packet_once_and_where_it_belongs(
    tmp_path: Path, switch: Callable, depth: int
) -> None:
    """Bounded: of the packets with a mark, one may enter; it leaves once, at the output of its
    tag, and the number of packets inside is that of those that entered less those that left."""
    claims = Claims()
    m = claims.m
    m.submodules.switch = dut = switch(Packet(1, 1), radix=2, depth=depth)
    inside, used, target = Signal(), Signal(), Signal()
    marks = []
    count = Signal(6)
    moves = 0
    for i, port in enumerate(dut.i):
        valid, payload = claims.free(1, f"valid_{i}"), claims.free(2, f"payload_{i}")
        m.d.comb += [port.valid.eq(valid), Value.cast(port.payload).eq(payload)]
        marks.append(valid & payload[1])
        moves = moves + (valid & port.ready)
        with m.If(marks[i] & port.ready):
            m.d.sync += [inside.eq(1), used.eq(1), target.eq(payload[0])]
    claims.assume(marks[0] + marks[1] <= ~used)
    shown = []
    for j, port in enumerate(dut.o):
        ready = claims.free(1, f"ready_{j}")
        m.d.comb += port.ready.eq(ready)
        marked = port.valid & port.payload.payload
        shown.append(marked)
        claims.claim(~marked | (inside & (target == j)))
        moves = moves - (port.valid & ready)
        with m.If(marked & ready):
            m.d.sync += inside.eq(0)
    claims.claim(~(shown[0] & shown[1]))
    m.d.sync += count.eq(count + moves)
    claims.claim(count <= 2 * depth)
    claims.claim((count != 0) == (dut.o[0].valid | dut.o[1].valid))
    # What is inside is not lost: with nothing in the switch there is no marked packet in it either.
    claims.claim(~inside | (count != 0))
    assert claims.hold(tmp_path, 12)
