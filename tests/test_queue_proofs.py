# amaranth: UnusedElaboratable=no
"""Proofs that queues and buffers lose, double and mix nothing, for ever."""

from pathlib import Path

import pytest
from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import stream
from claims import Claims, needs_yosys
from conveyance import WITNESS, convey
from long_runs import long
from multicube.hdl.links.packet import Packet
from multicube.hdl.primitives.arrival_queue import ArrivalQueue
from multicube.hdl.primitives.lane_queue import LaneQueue
from multicube.hdl.primitives.link_end import LinkEnd
from multicube.hdl.primitives.output_buffer import OutputBuffer
from multicube.hdl.primitives.request_queue import RequestQueue
from multicube.hdl.switch.broadcast import CopyTracker, ReplicatingQueue
from proof_table import proves

pytestmark = needs_yosys


def arrival_queue(
    writers: int,
    depth: int,
    refill: bool,
    waits: int,
    kind: type[ArrivalQueue] = ArrivalQueue,
    separate: bool | None = None,
) -> Claims:
    claims = Claims()
    size = {"writers": writers, "depth": depth, "refill": refill}
    claims.m.submodules.dut = dut = kind(WITNESS, **size, separate=separate)
    convey(claims, dut.i, [dut.o], capacity=depth, drain=depth, waits=waits)
    return claims


@pytest.mark.long
@proves(
    ArrivalQueue,
    says="The queue is lossless and in order, and keeps the stream rule. In time: a packet is "
    "inside for at most `depth` cycles. It is accepted after at most 2 cycles, or 1 with refill "
    "or with a single input.",
    sizes="1 input with depth 1, 2 and 4; 2 inputs with depth 1 and 2; 3 inputs with depth 2 and "
    "refill",
)
@pytest.mark.parametrize(
    ("writers", "depth", "refill", "waits"),
    [
        long(1, 1, False, 1),
        long(1, 2, False, 1),
        long(1, 4, False, 1),
        long(2, 1, True, 1),
        (2, 2, False, 2),
        long(2, 2, True, 1),
        long(3, 2, True, 2),
    ],
)
def test_arrival_queue_is_lossless_and_in_time(
    tmp_path: Path, writers: int, depth: int, refill: bool, waits: int
) -> None:
    assert arrival_queue(writers, depth, refill, waits).hold(tmp_path)


@pytest.mark.long
@proves(
    ArrivalQueue,
    says="The queue with a memory for each input is lossless and in order, and keeps the stream "
    "rule. In time: a packet is inside for at most `depth` cycles, and is accepted after at most "
    "2.",
    sizes="2 inputs, depth 2",
)
def test_separate_memories_are_lossless_and_in_time(tmp_path: Path) -> None:
    assert arrival_queue(2, 2, False, 2, separate=True).hold(tmp_path)


@proves(
    RequestQueue,
    says="The queue is lossless and in order, and keeps the stream rule. It requests what its "
    "first packet asks for, and nothing while it is empty. In time: a packet is inside for at "
    "most `depth` cycles, and is accepted after at most 1.",
    sizes="2 outputs; depth 2 and 3, with and without `enabled`",
)
@pytest.mark.parametrize("enabled", [False, long(True)])
@pytest.mark.parametrize("depth", [long(2), 3])
def test_request_queue_is_lossless_and_in_time(tmp_path: Path, depth: int, enabled: bool) -> None:
    claims = Claims()
    m = claims.m
    m.submodules.dut = dut = RequestQueue(
        WITNESS, outputs=2, depth=depth, key="data", enabled=enabled
    )
    o = stream.Signature(WITNESS).create()
    asks = Cat(dut.coming, ~dut.coming)
    m.d.comb += [
        dut.wanted.eq(asks),
        o.valid.eq(dut.request.any()),
        o.payload.eq(dut.payload),
        dut.taken.eq(o.valid & o.ready),
    ]
    shown = Cat(dut.payload.data, ~dut.payload.data)
    claims.claim(~o.valid | (dut.request == shown))
    convey(claims, [dut.i], [o], capacity=depth, drain=depth, waits=1)
    assert claims.hold(tmp_path)


class Skips(ArrivalQueue):
    """Takes a packet, and does not count it, when it is full but for one place."""

    def elaborate(self, platform: object) -> Module:
        m = super().elaborate(platform)
        both = self.i[0].valid & self.i[1].valid & (self.level == self.depth - 1)
        with m.If(both):
            m.d.comb += [self.i[0].ready.eq(1), self.i[1].ready.eq(1)]
        return m


@pytest.mark.long
def test_proofs_find_a_lost_packet(tmp_path: Path) -> None:
    assert not arrival_queue(2, 2, False, 2, Skips).hold(tmp_path)


@pytest.mark.long
def test_proofs_find_a_wait_that_is_longer(tmp_path: Path) -> None:
    assert not arrival_queue(2, 2, False, 1).hold(tmp_path)


@pytest.mark.long
@proves(
    ArrivalQueue,
    says="A packet comes out when those before it have left, and not before. Packets that arrive "
    "in one cycle are queued in turn, and are accepted as long as there is room. `level` is right.",
    sizes="1 input with depth 1 and 3; 2 inputs with depth 1 to 4; 3 inputs with depth 2 and 3; "
    "with and without refill",
)
@pytest.mark.parametrize("refill", [long(False, id="plain"), pytest.param(True, id="refill")])
@pytest.mark.parametrize(
    ("writers", "depth"),
    [
        long(1, 1),
        long(1, 3),
        long(2, 1),
        (2, 2),
        *(long(w, d) for w, d in ((2, 3), (2, 4), (3, 2), (3, 3))),
    ],
)
def test_arrival_queue_keeps_every_packet_in_its_place(
    tmp_path: Path, writers: int, depth: int, refill: bool
) -> None:
    """One packet, any of them, is marked by its payload; its place in the queue is
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
    assert claims.hold(tmp_path)


def lane_queue(
    writers: int, lanes: int, depth: int, refill: bool, kind: type[LaneQueue] = LaneQueue
) -> Claims:
    claims = Claims()
    claims.m.submodules.dut = dut = kind(
        WITNESS, writers=writers, lanes=lanes, depth=depth, refill=refill
    )
    room = {"capacity": depth + lanes, "drain": depth + 1 if lanes == 1 else 2}
    convey(claims, dut.i, dut.o, **room, ordered=lanes == 1, lanes=lanes)
    return claims


@proves(
    LaneQueue,
    says="The queue is lossless and keeps the stream rule. With one lane it is in order. In time: "
    "a packet is inside for at most 2 cycles, or depth + 1 with one lane.",
    sizes="1 and 2 inputs, 1 and 2 lanes, depth 1 and 2, with and without refill",
)
@pytest.mark.parametrize(
    ("writers", "lanes", "depth", "refill"),
    [
        long(1, 1, 2, True),
        long(1, 2, 1, True),
        (1, 2, 2, True),
        long(2, 2, 1, True),
        long(2, 2, 2, False),
    ],
)
def test_lane_queue_is_lossless_and_in_time(
    tmp_path: Path, writers: int, lanes: int, depth: int, refill: bool
) -> None:
    assert lane_queue(writers, lanes, depth, refill).hold(tmp_path)


class ShowsTwice(LaneQueue):
    """Both lanes show the packet at the head if the first is free."""

    def elaborate(self, platform: object) -> Module:
        m = super().elaborate(platform)
        with m.If(self.o[0].valid & self.o[0].ready):
            m.d.comb += [self.o[1].valid.eq(1), self.o[1].payload.eq(self.o[0].payload)]
        return m


@pytest.mark.long
def test_proofs_find_a_packet_that_leaves_twice(tmp_path: Path) -> None:
    assert not lane_queue(1, 2, 1, True, ShowsTwice).hold(tmp_path)


class Overtakes(OutputBuffer):
    """Lets what arrives pass a packet that waits."""

    def elaborate(self, platform: object) -> Module:
        m = super().elaborate(platform)
        with m.If(self.i.valid & self.i.payload.data):
            m.d.comb += self.o.payload.eq(self.i.payload)
        return m


def output_buffer(depth: int, kind: type[OutputBuffer] = OutputBuffer) -> Claims:
    claims = Claims()
    claims.m.submodules.dut = dut = kind(WITNESS, depth=depth)
    waits = 1 if depth > 1 else 2
    convey(claims, [dut.i], [dut.o], capacity=depth, drain=depth, waits=waits, keeps=True)
    return claims


@proves(
    OutputBuffer,
    says="The buffer is lossless and in order, and keeps the stream rule if its sender does. In "
    "time: a packet is inside for at most `depth` cycles.",
    sizes="depth 1, 2 and 3",
)
@pytest.mark.parametrize("depth", [long(1), 2, long(3)])
def test_output_buffer_is_lossless_and_in_time(tmp_path: Path, depth: int) -> None:
    assert output_buffer(depth).hold(tmp_path)


@pytest.mark.long
def test_proofs_find_a_packet_that_overtakes(tmp_path: Path) -> None:
    assert not output_buffer(2, Overtakes).hold(tmp_path)


@proves(LinkEnd, says="It accepts nothing and sends nothing.", sizes="any parameters")
def test_link_end_carries_nothing(tmp_path: Path) -> None:
    claims = Claims()
    claims.m.submodules.dut = dut = LinkEnd(2)
    valid, ready = claims.free(1, "valid"), claims.free(1, "ready")
    claims.m.d.comb += [dut.i.valid.eq(valid), dut.o.ready.eq(ready)]
    claims.claim(~(valid & dut.i.ready) & ~dut.o.valid)
    assert claims.hold(tmp_path)


def copies_of(radix: int, kind: type[CopyTracker] = CopyTracker) -> Claims:
    """A model of the copies that are missing, beside the tracker's."""
    claims = Claims()
    m = claims.m
    m.submodules.dut = dut = kind(radix)
    valid, taken = claims.free(1, "valid"), claims.free(radix, "taken")
    requested = claims.free(radix, "requested")
    m.d.comb += [dut.valid.eq(valid), dut.requested.eq(requested), dut.taken.eq(taken)]
    staying = claims.past(valid & ~dut.done)
    claims.assume(~staying | (valid & (requested == claims.past(requested))))
    had = Signal(radix)
    with m.If(valid):
        m.d.sync += had.eq(Mux(dut.done, 0, had | (taken & dut.left)))
    claims.claim(~valid | (dut.left == requested & ~had))
    claims.claim(~valid | (dut.done == ((requested & ~had & ~taken) == 0)))
    return claims


@proves(
    CopyTracker,
    says="Each requested output is offered a copy until it has taken one, and then no other. The "
    "packet is done exactly when all have taken one.",
    sizes="radix 2 and 4",
)
@pytest.mark.parametrize("radix", [2, long(4)])
def test_copy_tracker_gives_each_output_one_copy(tmp_path: Path, radix: int) -> None:
    assert copies_of(radix).hold(tmp_path)


class Remembers(CopyTracker):
    """Gives a new packet the copies of the last one if all were taken at once."""

    def elaborate(self, platform: object) -> Module:
        m = super().elaborate(platform)
        with m.If(self.valid & self.taken.all()):
            m.d.comb += self.done.eq(0)
        return m


@pytest.mark.long
def test_proofs_find_a_copy_too_few(tmp_path: Path) -> None:
    assert not copies_of(2, Remembers).hold(tmp_path)


LONGEST = 2


def replicated(depth: int, refill: bool, kind: type[ReplicatingQueue] = ReplicatingQueue) -> Claims:
    """Flits for one or both outputs; one flit is marked, and followed to one output, any."""
    claims = Claims()
    m = claims.m
    packet = Packet(1, 3, flits=True)  # the payload: for which outputs, and a mark
    m.submodules.dut = dut = kind(packet, readers=2, depth=depth, refill=refill)
    valid, last, mark = (claims.free(1, name) for name in ("valid", "last", "mark"))
    wanted, ready = claims.free(2, "wanted"), claims.free(2, "ready")
    where = claims.symbol(1, "where")
    following, kept = Signal(), Signal(2)
    goals = Signal(2)
    m.d.comb += [
        goals.eq(Mux(following, kept, wanted)),
        dut.i.valid.eq(valid),
        dut.i.payload.last.eq(last | following),
        dut.i.payload.payload.eq(Cat(goals, mark)),
        dut.wanted.eq(dut.head.payload[:2]),
        Cat(port.ready for port in dut.o).eq(ready),
    ]
    claims.assume(wanted.any())
    entered = valid & dut.i.ready
    with m.If(entered):
        m.d.sync += [following.eq(~dut.i.payload.last), kept.eq(goals)]

    # Flits inside that the followed output has still to read.
    mine = goals.bit_select(where, 1)
    level, ahead = Signal(range(depth + 2)), Signal(range(depth + 2))
    inside, used = Signal(), Signal()
    claims.assume(~(mark & (used | ~mine)))
    leaves = Signal()
    for j, port in enumerate(dut.o):
        held = claims.past(port.valid & ~ready[j])
        shown = port.payload.as_value()
        claims.claim(~held | (port.valid & (shown == claims.past(shown))))
        with m.If(where == j):
            m.d.comb += leaves.eq(port.valid & ready[j])
            claims.claim(~port.valid | (level != 0))
            claims.claim(~port.valid | (port.payload.payload[2] == (inside & (ahead == 0))))
            claims.claim(~port.valid | port.payload.payload[j])
    m.d.sync += level.eq(level + (entered & mine) - leaves)
    claims.claim(level <= depth)
    with m.If(leaves & inside):
        m.d.sync += [ahead.eq(ahead - 1), inside.eq(ahead != 0)]
    with m.If(entered & mark):
        m.d.sync += [inside.eq(1), used.eq(1), ahead.eq(level - leaves)]
    # Nothing is stuck while both outputs read, and the rest of a packet that has begun comes.
    drain = 2 * depth + 1
    calm = Signal(range(drain + 2))
    with m.If(~inside | ~ready.all() | (following & ~valid)):
        m.d.sync += calm.eq(0)
    with m.Elif(calm <= drain):
        m.d.sync += calm.eq(calm + 1)
    claims.claim(calm <= drain)
    return claims


@pytest.mark.long
@proves(
    ReplicatingQueue,
    says="Each output gets each flit that is for it once, and in order. The stream rule holds. In "
    "time: while both outputs read, a flit is inside for at most 2 depth + 1 cycles.",
    sizes="2 outputs, packets of 1 or 2 flits, depth 1 and 2, with and without refill",
)
@pytest.mark.parametrize(
    ("depth", "refill"), [(1, False), long(1, True), long(2, False), long(2, True)]
)
def test_replicating_queue_gives_each_output_its_flits(
    tmp_path: Path, depth: int, refill: bool
) -> None:
    assert replicated(depth, refill).hold(tmp_path)


class FreesEarly(ReplicatingQueue):
    """Frees a slot when one output has read it."""

    def elaborate(self, platform: object) -> Module:
        m = super().elaborate(platform)
        with m.If(self.o[0].valid & self.o[0].ready & self.o[1].valid & ~self.o[1].ready):
            m.d.comb += self.freed.eq(1)
        return m


@pytest.mark.long
def test_proofs_find_a_slot_that_is_freed_early(tmp_path: Path) -> None:
    assert not replicated(2, False, FreesEarly).hold(tmp_path)
