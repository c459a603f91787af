"""A queue in front of several equal lanes, each of which takes the next packet when it is free."""

from amaranth.hdl import Array, Module, ShapeLike, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..fabric.checks import check_integer
from .arrival_queue import arrival_ranks, modulo

__all__ = ["LaneQueue"]


class LaneQueue(wiring.Component):
    """A first-in first-out queue with any number of inputs and several outputs, called lanes.

    In each cycle the free lanes show the next packets of the queue, the lowest lane the first. A
    packet that is shown and not taken moves to a register of its lane, and the lane is free again
    when it is taken. So a packet waits only while no lane is free, and packets leave the queue in
    the order in which they arrived; but one may wait in its lane while later ones are taken.

    A packet that arrives at an empty queue is shown one cycle later if a lane is free; throughput
    is one packet per lane and cycle. Arrivals of one cycle are accepted in turn: an input that
    finds no room is overtaken at most `writers` - 1 times (as in `ArrivalQueue`). `o` comes from
    registers. `i[*].ready` depends combinationally on `i[*].valid` of the other inputs, and not on
    `o`.

    Parameters
    ----------
    shape : ShapeLike
        Shape of the payload.
    writers : int
        Number of inputs, at least 1.
    lanes : int
        Number of outputs, at least 1.
    depth : int
        Number of packets that fit besides those in the registers of the lanes, at least 1.
    refill : bool
        Whether a slot that is freed in a cycle can be filled in the same cycle.

    Members
    -------
    i : In(stream.Signature(shape)).array(writers)
    o : Out(stream.Signature(shape)).array(lanes)
    """

    def __init__(
        self, shape: ShapeLike, *, writers: int, lanes: int, depth: int, refill: bool = True
    ) -> None:
        self.shape = shape
        self.writers = check_integer("Writers", writers, 1)
        self.lanes = check_integer("Lanes", lanes, 1)
        self.depth = check_integer("Depth", depth, 1)
        self.refill = refill
        link = stream.Signature(shape)
        super().__init__({"i": In(link).array(writers), "o": Out(link).array(lanes)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        slots = [Signal(self.shape, reset_less=True, name=f"slot_{s}") for s in range(self.depth)]
        level = Signal(range(self.depth + 1))

        # Free lanes show the packets at the head, one each.
        kept = [Signal(name=f"kept_{lane}") for lane in range(self.lanes)]
        pops = Signal(range(min(self.lanes, self.depth) + 1))
        moves = []
        for lane, output in enumerate(self.o):
            place = Signal(range(lane + 1), name=f"place_{lane}")
            own = Signal(self.shape, reset_less=True, name=f"own_{lane}")
            m.d.comb += place.eq(sum((~kept[x] for x in range(lane)), start=0))
            moves.append(~kept[lane] & (place < level))
            m.d.comb += output.valid.eq(kept[lane] | (place < level))
            with m.If(kept[lane]):
                m.d.comb += output.payload.eq(own)
            with m.Else():
                m.d.comb += output.payload.eq(Array(slots[: lane + 1])[place])
                m.d.sync += own.eq(output.payload)
            m.d.sync += kept[lane].eq(output.valid & ~output.ready)
        m.d.comb += pops.eq(sum(moves, start=0))

        # Arrivals are accepted in cyclic order from `turn`, and stored behind what stays.
        turn = Signal(range(self.writers))
        stays = Signal(range(self.depth + 1))
        room = Signal(range(self.depth + 1))
        count = Signal(range(self.writers + 1))
        ranks = arrival_ranks(m, self.i, turn)
        m.d.comb += [
            stays.eq(level - pops),
            room.eq(self.depth - (stays if self.refill else level)),
            count.eq(sum((port.valid & port.ready for port in self.i), start=0)),
        ]
        m.d.sync += [level.eq(stays + count), turn.eq(modulo(turn + count, self.writers))]
        with m.Switch(pops):
            for gone in range(1, min(self.lanes, self.depth) + 1):
                with m.Case(gone):
                    m.d.sync += [slot.eq(next_) for slot, next_ in zip(slots, slots[gone:])]
        for port, rank in zip(self.i, ranks):
            m.d.comb += port.ready.eq(rank < room)
            for s, slot in enumerate(slots):
                with m.If(port.valid & port.ready & (stays + rank == s)):
                    m.d.sync += slot.eq(port.payload)
        return m
