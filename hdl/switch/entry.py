"""Where words enter a switch: a queue at each input or output, and what it admits."""

from dataclasses import dataclass

from amaranth.hdl import Const, Module, ShapeLike, Signal, Value
from amaranth.lib import stream

from ..fabric.checks import check_field
from ..primitives.arrival_queue import ArrivalQueue
from ..primitives.replay_queue import ReplayQueue
from .rules import check_room

__all__ = ["InputQueue", "OutputQueue", "at_header", "decided"]


def at_header(m: Module, name: str, moves: Value, last: Value) -> Signal:
    """Whether the current or next flit is a header, and not between a header and its tail.

    `moves` says that a flit passes, and `last` that it is a tail.
    """
    begins = Signal(init=1, name=f"begins_{name}")
    with m.If(moves):
        m.d.sync += begins.eq(last)
    return begins


@dataclass(frozen=True)
class InputQueue:
    """A queue at each input.

    Attributes
    ----------
    depth : int
        Words that fit, at least 1.
    refill : bool
        Whether a slot freed in a cycle can be filled in the same cycle.
    room : int
        Free places that a header needs to enter: 1, or the flits of the longest packet, so that all
        flits behind it are accepted at once.
    store : bool
        Whether a header leaves only when the tail of its packet is in the queue.
    replay : bool
        Whether a packet can be read several times (`ReplayQueue`).

    Raises
    ------
    ValueError
        If a packet has no room in the queue.
    """

    depth: int
    refill: bool = False
    room: int = 1
    store: bool = False
    replay: bool = False

    def __post_init__(self) -> None:
        check_field(self, "room", "Length", 1)
        check_field(self, "depth", "Depth", 1)
        check_room(self.depth, self.room)

    def place(
        self,
        m: Module,
        name: str,
        shape: ShapeLike,
        source: stream.Interface,
        flits: bool,
        ahead: bool = False,
    ) -> tuple[ArrivalQueue | ReplayQueue, stream.Interface]:
        """The queue of an input, for words of a shape, and where they arrive; the payload of its
        arrivals is not set.

        `flits` says whether the words of `source` are flits, and `ahead` whether the queue shows
        what will be first.
        """
        queue: ArrivalQueue | ReplayQueue
        if self.replay:
            queue = ReplayQueue(shape, depth=self.depth)
            arrival = queue.i
        else:
            queue = ArrivalQueue(shape, depth=self.depth, refill=self.refill, ahead=ahead)
            arrival = queue.i[0]
        m.submodules[f"queue_{name}"] = queue
        admitted: Value = Const(1)
        if self.room > 1 and flits:
            arrives = source.valid & source.ready
            begins = at_header(m, f"input_{name}", arrives, source.payload.last)
            admitted = ~begins | self.has_room(queue.level, queue.o.valid & queue.o.ready)
        m.d.comb += [
            arrival.valid.eq(source.valid & admitted),
            source.ready.eq(arrival.ready & admitted),
        ]
        return queue, arrival

    def has_room(self, level: Value, freed: Value) -> Value:
        """Whether a queue with `level` places in use has room for the longest packet."""
        spare = self.depth - self.room
        room = level <= spare
        if self.refill:
            room |= (level == spare + 1) & freed
        return room

    def whole(self, m: Module, name: str, enters: Value, leaves: Value) -> Value:
        """Whether the first packet of a queue may leave: with `store`, if all of it is there.

        `enters` and `leaves` say whether a tail does so in this cycle.
        """
        if not self.store:
            return Const(1)
        tails = Signal(range(self.depth + 1), name=f"tails_{name}")
        m.d.sync += tails.eq(tails + enters - leaves)
        return tails != 0


@dataclass(frozen=True)
class OutputQueue:
    """A queue at each output, which accepts arrivals from all inputs at once.

    Attributes
    ----------
    depth : int
        Packets that fit, at least 1; in a bundle, besides one in each lane.
    refill : bool
        Whether a slot freed in a cycle can be filled in the same cycle.
    separate : bool, optional
        Whether each input has memories of its own, as in `ArrivalQueue`. Without effect in bundles.
    """

    depth: int
    refill: bool = False
    separate: bool | None = None

    def __post_init__(self) -> None:
        check_field(self, "depth", "Depth", 1)


def decided(m: Module, name: str, head: stream.Interface, cycles: int) -> Value:
    """Whether a header has been at the head of a queue for `cycles` cycles, including this one."""
    if cycles == 1:
        return Const(1)
    waited = Signal(range(cycles), name=f"waited_{name}")
    with m.If(head.valid & head.ready):
        m.d.sync += waited.eq(0)
    with m.Elif(head.valid & (waited != cycles - 1)):
        m.d.sync += waited.eq(waited + 1)
    return waited == cycles - 1
