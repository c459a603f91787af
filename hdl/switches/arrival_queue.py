"""A queue that takes several arrivals in one cycle."""

from amaranth.hdl import Module, Mux, ShapeLike, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ..checks import check_integer
from .interchange_box import InterchangeBox

__all__ = ["ArrivalQueue"]


class ArrivalQueue(wiring.Component):
    """A first-in first-out queue with one output and any number of inputs, all taken at once.

    There is one memory bank an input. Consecutive packets lie in consecutive banks, so up to
    `writers` arrivals find a bank each, and an interchange box carries them there. Arrivals of one
    cycle are queued in the order of the inputs, *beginning with the one that has the number of the
    next bank*: an input that finds no room is overtaken at most `writers` - 1 times, without a
    register of its own for fairness.

    A packet that arrives at an empty queue is shown at the output one cycle later; throughput is
    one packet a cycle. `o` comes from registers and memories. `i[*].ready` depends combinationally
    on `i[*].valid` of the others and, with `refill`, on `o.ready`.

    Parameters
    ----------
    shape : ShapeLike
        Shape of the payload.
    writers : int
        Number of inputs, at least 1.
    depth : int
        Number of packets that fit, at least 1.
    refill : bool
        Whether a slot that is freed in a cycle can be filled in the same cycle. If not, `ready`
        needs no path from `o.ready`, but a queue of depth 1 has half the throughput.

    Members
    -------
    i : In(stream.Signature(shape)).array(writers)
    o : Out(stream.Signature(shape))
    level : Out(range(depth + 1))
        Number of packets in the queue.

    Raises
    ------
    TypeError, ValueError
        If a number is not an integer of at least 1.
    """

    def __init__(
        self, shape: ShapeLike, *, writers: int = 1, depth: int, refill: bool = False
    ) -> None:
        check_integer("Writers", writers, 1)
        check_integer("Depth", depth, 1)
        self.shape = shape
        self.writers = writers
        self.depth = depth
        self.refill = refill
        super().__init__(
            {
                "i": In(stream.Signature(shape)).array(writers),
                "o": Out(stream.Signature(shape)),
                "level": Out(range(depth + 1)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        banks = range(self.writers)
        rows = -(-self.depth // self.writers)

        # A position in the queue is a bank and a row; the next one is in the next bank.
        head_bank = Signal(range(self.writers))
        head_row = Signal(range(rows))
        tail_bank = Signal(range(self.writers))
        tail_row = Signal(range(rows))
        following_row = Signal(range(rows))
        m.d.comb += following_row.eq(Mux(tail_row == rows - 1, 0, tail_row + 1))

        pop = self.o.valid & self.o.ready

        # How many arrivals precede each, in the cyclic order that begins at the tail's bank.
        rank = [Signal(range(self.writers), name=f"rank_{i}") for i in banks]
        for i in banks:
            earlier = [
                self.i[x].valid
                & (
                    (tail_bank <= x) | (tail_bank > i)
                    if x < i
                    else (i < tail_bank) & (tail_bank <= x)
                )
                for x in banks
                if x != i
            ]
            m.d.comb += rank[i].eq(sum(earlier, start=0))

        # room[r]: there is room for more than r arrivals.
        room = Signal(self.writers)
        for r in range(min(self.writers, self.depth)):
            enough = self.level < self.depth - r
            if self.refill:
                enough |= pop & (self.level <= self.depth - r)
            m.d.comb += room[r].eq(enough)

        accepted = Signal(self.writers)
        for i in banks:
            m.d.comb += self.i[i].ready.eq(room.bit_select(rank[i], 1))
            m.d.comb += accepted[i].eq(self.i[i].valid & self.i[i].ready)

        arriving = [port.payload for port in self.i]
        written = accepted
        if self.writers > 1:
            m.submodules.box = box = InterchangeBox(self.writers, self.shape)
            m.d.comb += [port.eq(payload) for port, payload in zip(box.i, arriving)]
            arriving = box.o
            written = Signal(self.writers)
            select = [Signal(range(self.writers), name=f"select_{bank}") for bank in banks]
            for i in banks:
                bank = Signal(range(self.writers), name=f"bank_{i}")
                m.d.comb += bank.eq(_modulo(tail_bank + rank[i], self.writers))
                for b in banks:
                    with m.If(self.i[i].valid & (bank == b)):
                        m.d.comb += [select[b].eq(i), written[b].eq(accepted[i])]
            box.set(m, select, written)

        heads = []
        for bank in banks:
            memory = Memory(shape=self.shape, depth=rows, init=[])
            m.submodules[f"bank_{bank}"] = memory
            write = memory.write_port()
            read = memory.read_port(domain="comb")
            m.d.comb += [
                write.en.eq(written[bank]),
                write.addr.eq(Mux(bank < tail_bank, following_row, tail_row)),
                write.data.eq(arriving[bank]),
                read.addr.eq(head_row),
            ]
            heads.append(read.data)

        m.d.comb += self.o.valid.eq(self.level != 0)
        with m.Switch(head_bank):
            for bank, payload in enumerate(heads):
                with m.Case(bank):
                    m.d.comb += self.o.payload.eq(payload)

        count = sum((accepted[i] for i in banks), start=0)
        m.d.sync += self.level.eq(self.level + count - pop)
        with m.If(pop):
            m.d.sync += head_bank.eq(_modulo(head_bank + 1, self.writers))
            with m.If(head_bank == self.writers - 1):
                m.d.sync += head_row.eq(Mux(head_row == rows - 1, 0, head_row + 1))
        m.d.sync += tail_bank.eq(_modulo(tail_bank + count, self.writers))
        with m.If(tail_bank + count >= self.writers):
            m.d.sync += tail_row.eq(following_row)
        return m


def _modulo(value: Value, modulus: int) -> Value:
    """A sum of two numbers of 0 to `modulus` - 1 or a number and `modulus`, reduced."""
    if modulus & (modulus - 1) == 0:
        return value[: modulus.bit_length() - 1]
    return Mux(value >= modulus, value - modulus, value)
