# amaranth: UnusedElaboratable=no
"""A source whose messages wait: each is sent when others have come, and time has passed."""

from collections.abc import Sequence

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ..fabric.checks import check_integer
from ..graphs.tags import TagScheme
from ..links.packet import Packet
from .instruments import COUNT_BITS
from .sender import attach_sender, source_members
from .waiting_rows import ROWS

__all__ = ["RECORD_BITS", "DependentSource"]

RECORD_BITS = COUNT_BITS + 1
"""Width of a recorded time: a cycle, and above it a 1, which says that it was recorded."""


class DependentSource(wiring.Component):
    """Sends each message of a list when those that it depends on have come, and a delay has passed.

    A row of the list is a message or a *computation*. It depends on messages that arrive at this
    terminal, and on other rows. It is *ready* `delay` cycles after the first cycle in which the
    last of the former have arrived, and the last of the latter have left, with all their flits, or
    ended. In this cycle a message can be offered to the network, and a computation ends. Of several
    messages that are ready the first of the list goes first, and a message that has been offered
    stays. Of several computations the first ends, and the others in the next cycles.

    The rows themselves are in `WaitingRows` beside the source, 32 in each of these *blocks*. All
    messages of the list count at the same time, so nothing is late if much arrives.

    Parameters
    ----------
    packet : Packet
        Its payload is a `Stamp` with a `message`: the row that the message has where it arrives.
    tags : TagScheme
    blocks : int
        A list has 32 rows for each.
    arrivals : int
        Rows for messages that arrive here.
    orders : tuple[int, ...]
        The list. A row has the code of the destination in the low bits, the length if packets are
        `sized`, and the row that the message has at its destination.
    awaited, followed : tuple[int, ...]
        By row of arrivals, and by row of the list: which rows of the list depend on it, one bit
        each.

    Members
    -------
    address : In(width)
        Address code of this terminal. Constant.
    heard_valid : In(1)
    heard : In(packet)
        What the sink of this terminal takes in this cycle.
    ready, first, computed, last : In(1), In(5), each an array of a port per block
    arrived, left, ended : Out(32), each an array
    sent, stopped : Out(1), each an array
    sent_row : Out(5)
        The ports of the blocks.
    finished : Out(32)
        Number of computations that have ended.
    now, open, measure, o, injected, entered, pending
        As in `Sender`. `open` is 1 from cycle 0 of the list on.

    Attributes
    ----------
    sent_at, left_at, ended_at, arrived_at : Memory
        By row of the list, when the network took the first flit and the last one, and when a
        computation ended; and by row of arrivals, when the last flit came (`RECORD_BITS`). They are
        submodules of the same names.
    """

    def __init__(
        self,
        packet: Packet,
        tags: TagScheme,
        *,
        blocks: int,
        arrivals: int,
        lengths: tuple[int, int] = (1, 1),
        geometric: int = 0,
        orders: tuple[int, ...] = (),
        awaited: tuple[int, ...] = (),
        followed: tuple[int, ...] = (),
    ) -> None:
        self.packet = packet
        self.tags = tags
        self.blocks = check_integer("Blocks", blocks, 1)
        self.arrivals = check_integer("Arrivals", arrivals, 1)
        self.depth = ROWS * blocks
        self._init = {"orders": orders, "awaited": awaited, "followed": followed}
        row = ROWS.bit_length() - 1
        super().__init__(
            {
                **source_members(packet, tags),
                "heard_valid": In(1),
                "heard": In(packet),
                "ready": In(1).array(blocks),
                "first": In(row).array(blocks),
                "computed": In(1).array(blocks),
                "last": In(row).array(blocks),
                "arrived": Out(ROWS).array(blocks),
                "left": Out(ROWS).array(blocks),
                "ended": Out(ROWS).array(blocks),
                "sent": Out(1).array(blocks),
                "sent_row": Out(row),
                "stopped": Out(1).array(blocks),
                "finished": Out(COUNT_BITS),
            }
        )
        self.sent_at = Memory(shape=RECORD_BITS, depth=self.depth, init=[])
        self.left_at = Memory(shape=RECORD_BITS, depth=self.depth, init=[])
        self.ended_at = Memory(shape=RECORD_BITS, depth=self.depth, init=[])
        self.arrived_at = Memory(shape=RECORD_BITS, depth=arrivals, init=[])

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.sent_at, m.submodules.left_at = self.sent_at, self.left_at
        m.submodules.ended_at, m.submodules.arrived_at = self.ended_at, self.arrived_at
        sender = attach_sender(m, self)
        order, row = sender.i.payload, self.heard.payload.message

        arrival = Signal()
        m.d.comb += arrival.eq(self.heard_valid)
        if self.packet.flits:
            m.d.comb += arrival.eq(self.heard_valid & self.heard.last)
        self._record(m, self.arrived_at, row, arrival)

        any_ready, ready = self._first(m, "ready", self.ready, self.first)
        any_ended, ended = self._first(m, "computed", self.computed, self.last)
        self._record(m, self.ended_at, ended, any_ended)
        m.d.sync += self.finished.eq(self.finished + any_ended)

        held = Signal()
        kept = Signal(range(self.depth))
        pick = Signal(range(self.depth))
        since = Signal.like(order.birth)
        departure = sender.i.ready
        m.d.comb += [
            pick.eq(Mux(held, kept, ready)),
            sender.i.valid.eq(held | any_ready),
            order.birth.eq(Mux(held, since, self.now)),
        ]
        m.d.sync += [held.eq(sender.i.valid & ~departure), kept.eq(pick), since.eq(order.birth)]
        fields = [order.destination, *([order.length] if self.packet.sized else []), order.message]
        orders = self._table(m, "orders", self.depth, sum(map(len, fields)))
        m.d.comb += Cat(fields).eq(self._read(m, orders, pick))
        self._fill(m, order, pick, departure)

        awaited = self._table(m, "awaited", self.arrivals, self.depth)
        followed = self._table(m, "followed", self.depth, self.depth)
        self._tell(m, self.arrived, self._read(m, awaited, row), arrival)
        self._tell(m, self.left, self._read(m, followed, pick), departure)
        self._tell(m, self.ended, self._read(m, followed, ended), any_ended)
        m.d.comb += self.sent_row.eq(pick)
        for block in range(self.blocks):
            m.d.comb += [
                self.sent[block].eq(departure & (pick // ROWS == block)),
                self.stopped[block].eq(any_ended & (ended // ROWS == block)),
            ]

        begun = Signal()
        taken = self.o.valid & self.o.ready
        with m.If(taken):
            m.d.sync += begun.eq(~departure)
        self._record(m, self.sent_at, pick, taken & ~begun)
        self._record(m, self.left_at, pick, departure)
        return m

    def _fill(self, m: Module, order: data.View, pick: Signal, departure: Value) -> None:
        """Fill what the order of a row has besides: nothing here."""

    def _first(
        self, m: Module, name: str, valid: Sequence[Value], rows: Sequence[Value]
    ) -> tuple[Signal, Signal]:
        """Whether a block has a row, and the row of the first one that has."""
        found, row = Signal(name=f"any_{name}"), Signal(range(self.depth), name=f"first_{name}")
        for block in reversed(range(self.blocks)):
            with m.If(valid[block]):
                m.d.comb += [found.eq(1), row.eq(block * ROWS + rows[block])]
        return found, row

    def _table(self, m: Module, name: str, depth: int, width: int) -> Memory:
        m.submodules[name] = memory = Memory(shape=width, depth=depth, init=self._init[name])
        return memory

    def _read(self, m: Module, memory: Memory, row: Value) -> Value:
        """A row of a table, in the same cycle."""
        port = memory.read_port(domain="comb")
        m.d.comb += port.addr.eq(row)
        return port.data

    def _tell(self, m: Module, ports: Sequence[Value], rows: Value, happens: Value) -> None:
        """Tell all blocks which of their rows depend on what happens."""
        for block in range(self.blocks):
            dependents = rows[block * ROWS :][:ROWS]
            m.d.comb += ports[block].eq(Mux(happens, dependents, 0))

    def _record(self, m: Module, memory: Memory, row: Value, happens: Value) -> None:
        port = memory.write_port()
        m.d.comb += [port.addr.eq(row), port.data.eq(Cat(self.now, 1)), port.en.eq(happens)]
