# amaranth: UnusedElaboratable=no
"""A source whose messages wait: each is sent when others have come, and time has passed."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In

from ..fabric.checks import check_integer
from ..graphs.tags import TagScheme
from ..links.packet import Packet
from .instruments import COUNT_BITS
from .sources import attach_sender, source_members

__all__ = ["RECORD_BITS", "DependentSource"]

RECORD_BITS = COUNT_BITS + 1
"""Width of a recorded time: a cycle, and above it a 1, which says that it was recorded."""


class DependentSource(wiring.Component):
    """Sends each message of a list when those that it depends on have come, and a delay has passed.

    A message depends on messages that arrive at this terminal, and on others of this list. It is
    *ready* `delay` cycles after the first cycle in which the last of the former have arrived, and
    the last of the latter have left, with all their flits. In this cycle it can be offered to the
    network. Of several that are ready the first of the list goes first, and a message that has been
    offered stays.

    All messages of the list count at the same time, so nothing is late if much arrives.

    Parameters
    ----------
    packet : Packet
        Its payload is a `Stamp` with a `message`: the row that the message has where it arrives.
    tags : TagScheme
    depth : int
        Rows of the list.
    arrivals : int
        Rows for messages that arrive here.
    count_bits : int
        Width of the number of messages that one depends on.
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
    needs : In(depth * count_bits)
        By row of the list: how many messages it depends on. Constant; 1 in an unused row.
    delays : In(depth * 32)
        By row of the list: its delay. Constant.
    heard_valid : In(1)
    heard : In(packet)
        What the sink of this terminal takes in this cycle.
    now, open, measure, o, injected, entered, pending
        As in `Sender`. `open` is 1 from cycle 0 of the list on.

    Attributes
    ----------
    sent, left, arrived : Memory
        By row of the list, when the network took the first flit and the last one; and by row of
        arrivals, when the last flit came (`RECORD_BITS`). They are submodules of the same names.
    """

    def __init__(
        self,
        packet: Packet,
        tags: TagScheme,
        *,
        depth: int,
        arrivals: int,
        count_bits: int,
        lengths: tuple[int, int] = (1, 1),
        geometric: int = 0,
        orders: tuple[int, ...] = (),
        awaited: tuple[int, ...] = (),
        followed: tuple[int, ...] = (),
    ) -> None:
        self.packet = packet
        self.tags = tags
        self.depth = check_integer("Depth", depth, 1)
        self.arrivals = check_integer("Arrivals", arrivals, 1)
        self.count_bits = check_integer("Bits of a count", count_bits, 1)
        self._init = {"orders": orders, "awaited": awaited, "followed": followed}
        super().__init__(
            {
                **source_members(packet, tags),
                "needs": In(depth * count_bits),
                "delays": In(depth * COUNT_BITS),
                "heard_valid": In(1),
                "heard": In(packet),
            }
        )
        self.sent = Memory(shape=RECORD_BITS, depth=depth, init=[])
        self.left = Memory(shape=RECORD_BITS, depth=depth, init=[])
        self.arrived = Memory(shape=RECORD_BITS, depth=arrivals, init=[])

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.sent, m.submodules.left = self.sent, self.left
        m.submodules.arrived = self.arrived
        sender = attach_sender(m, self)
        order, row = sender.i.payload, self.heard.payload.message

        arrival = Signal()
        m.d.comb += arrival.eq(self.heard_valid)
        if self.packet.flits:
            m.d.comb += arrival.eq(self.heard_valid & self.heard.last)
        self._record(m, self.arrived, row, arrival)

        held = Signal()
        kept = Signal(range(self.depth))
        since = Signal.like(order.birth)
        pick = Signal(range(self.depth))
        departure = sender.i.ready
        ready = self._wait(
            m,
            self._rows(m, "awaited", row, self.arrivals, self.depth, arrival)[: self.depth],
            self._rows(m, "followed", pick, self.depth, self.depth, departure)[: self.depth],
            pick,
            departure,
        )
        m.d.comb += pick.eq(kept)
        with m.If(~held):
            for number in reversed(range(self.depth)):
                with m.If(ready[number]):
                    m.d.comb += pick.eq(number)
        m.d.comb += [
            sender.i.valid.eq(held | Cat(ready).any()),
            order.birth.eq(Mux(held, since, self.now)),
        ]
        m.d.sync += [
            held.eq(sender.i.valid & ~departure),
            kept.eq(pick),
            since.eq(order.birth),
        ]
        fields = [order.destination, *([order.length] if self.packet.sized else []), order.message]
        width = sum(map(len, fields))
        m.d.comb += Cat(fields).eq(self._rows(m, "orders", pick, self.depth, width))
        self._fill(m, order, pick, departure)

        begun = Signal()
        taken = self.o.valid & self.o.ready
        with m.If(taken):
            m.d.sync += begun.eq(~departure)
        self._record(m, self.sent, pick, taken & ~begun)
        self._record(m, self.left, pick, departure)
        return m

    def _fill(self, m: Module, order: data.View, pick: Signal, departure: Value) -> None:
        """Fill what the order of a row has besides: nothing here."""

    def _rows(
        self, m: Module, name: str, row: Value, depth: int, width: int, valid: Value | None = None
    ) -> Value:
        """A row of a memory of this name, in the same cycle; 0 while it is not `valid`."""
        memory = Memory(shape=width, depth=depth, init=self._init[name])
        m.submodules[name] = memory
        port = memory.read_port(domain="comb")
        m.d.comb += port.addr.eq(row)
        return port.data if valid is None else Mux(valid, port.data, 0)

    def _record(self, m: Module, memory: Memory, row: Value, happens: Value) -> None:
        port = memory.write_port()
        m.d.comb += [port.addr.eq(row), port.data.eq(Cat(self.now, 1)), port.en.eq(happens)]

    def _wait(
        self, m: Module, awaited: Value, followed: Value, gone: Value, departure: Value
    ) -> list[Signal]:
        """Count for each row what has come, and then its delay; return which rows are ready."""
        rows = []
        for number in range(self.depth):
            needs = self.needs.word_select(number, self.count_bits)
            delay = self.delays.word_select(number, COUNT_BITS)
            count = Signal(self.count_bits, name=f"count_{number}")
            waited = Signal(COUNT_BITS, name=f"waited_{number}")
            done = Signal(name=f"done_{number}")
            ready = Signal(name=f"ready_{number}")
            free = (count == needs) & self.open
            m.d.sync += count.eq(count + awaited[number] + followed[number])
            with m.If(free & (waited != delay)):
                m.d.sync += waited.eq(waited + 1)
            with m.If(departure & (gone == number)):
                m.d.sync += done.eq(1)
            m.d.comb += ready.eq(free & (waited == delay) & ~done)
            rows.append(ready)
        return rows
