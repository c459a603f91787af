"""A queue that accepts several arrivals in one cycle."""

from collections.abc import Sequence

from amaranth.hdl import Cat, Const, Module, Mux, ShapeLike, Signal, Value, ValueLike
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ..fabric.checks import check_integer
from ..fabric.errors import InvalidValue
from .interchange_box import InterchangeBox
from .places import Places
from .round_robin import lowest, number_of

__all__ = ["FEW_WRITERS", "IN_REGISTERS", "ArrivalQueue", "arrival_ranks", "modulo", "row_order"]

IN_REGISTERS = 2
"""Most slots of a queue with one input that are registers, and not memories."""


def arrival_ranks(m: Module, arrivals: Sequence[stream.Interface], first: Signal) -> list[Signal]:
    """For each of several streams, how many before it are valid, in cyclic order from `first`."""
    inputs = range(len(arrivals))
    rank = [Signal(inputs, name=f"rank_{i}") for i in inputs]
    for i in inputs:
        earlier = [
            arrivals[x].valid
            & ((first <= x) | (first > i) if x < i else (i < first) & (first <= x))
            for x in inputs
            if x != i
        ]
        m.d.comb += rank[i].eq(sum(earlier, start=0))
    return rank


FEW_WRITERS = 8
"""Most inputs whose arrivals are counted each by itself."""


class ArrivalQueue(wiring.Component):
    """A first-in first-out queue with one output and any number of inputs, all accepted at once.

    There is one memory bank per input. Consecutive packets go to consecutive banks, so up to
    `writers` arrivals go to different banks, through an interchange box. Arrivals of one cycle are
    queued in the order of the inputs, *starting at the input whose number is that of the next
    bank*. So an input that finds no room is overtaken at most `writers` - 1 times, and fairness
    needs no register of its own.

    Interchange boxes are expensive. With `separate` each input has its own memory for packets
    instead, with a row for every slot, and the banks hold only the number of the input. (In an
    FPGA, a distributed memory has 16 rows anyway; where there are none, two inputs should share
    their banks.) A queue of depth 1 has a single slot and no banks,
    and one of depth 2 with one input two registers.

    With more than eight inputs it has as many banks as packets that can arrive in one cycle, which
    is the lesser of `writers` and `depth`, and searches the arrivals one after the other: `writers`
    x banks gates in the place of the square of `writers`, but a longer path.

    A packet that arrives at an empty queue is shown at the output one cycle later; throughput is
    one packet per cycle. `o` comes from registers and memories. `i[*].ready` depends
    combinationally on `i[*].valid` of the other inputs and, with `refill`, on `o.ready`.

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
    separate : bool, optional
        Whether each input has its own memory; default: with more than two inputs and at most 16
        slots. Without effect at depth 1, with one input, and with more than eight.
    ahead : bool
        Whether it shows what will be first: with one input, and at most `IN_REGISTERS` slots.

    Members
    -------
    i : In(stream.Signature(shape)).array(writers)
    o : Out(stream.Signature(shape))
    level : Out(range(depth + 1))
        Number of packets in the queue.
    coming : Out(shape)
        With `ahead`: what is first from the next cycle on, if it `moves`.
    moves : Out(1)
        With `ahead`: whether the first packet leaves, or there is none.

    Raises
    ------
    TypeError, ValueError
        If a number is too small, or it can't show what will be first.
    """

    def __init__(
        self,
        shape: ShapeLike,
        *,
        writers: int = 1,
        depth: int,
        refill: bool = False,
        separate: bool | None = None,
        ahead: bool = False,
    ) -> None:
        writers = check_integer("Writers", writers, 1)
        depth = check_integer("Depth", depth, 1)
        self.shape = shape
        self.writers = writers
        self.depth = depth
        self.refill = refill
        self.separate = separate
        self.ahead = ahead
        if ahead and (writers > 1 or depth > IN_REGISTERS):
            raise InvalidValue(
                f"A queue that looks ahead must have one input and a depth of at most "
                f"{IN_REGISTERS}, not {writers} and {depth}"
            )
        self._places: Places | None = None
        members = {
            "i": In(stream.Signature(shape)).array(writers),
            "o": Out(stream.Signature(shape)),
            "level": Out(range(depth + 1)),
        }
        if ahead:
            members |= {"coming": Out(shape), "moves": Out(1)}
        super().__init__(members)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        if self.writers > FEW_WRITERS:
            self._search(m)
            return m
        inputs = range(self.writers)
        # The bank of the next arrival, which is also the number of the input with priority.
        tail_bank = Signal(range(self.writers))
        pop = self.o.valid & self.o.ready

        # Number of arrivals before each, in the cyclic order that starts at the tail's bank.
        rank = arrival_ranks(m, self.i, tail_bank)

        accepted = Signal(self.writers)
        if self.writers == 1:
            self._places = Places(m, "free", self.depth, freed=pop, taken=accepted)
        room = self._room(m, pop)
        for i in inputs:
            m.d.comb += self.i[i].ready.eq(room.bit_select(rank[i], 1))
            m.d.comb += accepted[i].eq(self.i[i].valid & self.i[i].ready)

        count = sum((accepted[i] for i in inputs), start=0)
        m.d.sync += tail_bank.eq(modulo(tail_bank + count, self.writers))
        if self._places is None:
            m.d.sync += self.level.eq(self.level + count - pop)
        else:
            m.d.comb += self.level.eq(self._places.level)
        if self.depth == 1:
            head = self._place(m, rank, accepted)
        elif self.depth <= IN_REGISTERS and self.writers == 1:
            head = self._pair(m, pop)
        else:
            head = self._banks(m, tail_bank, rank, accepted, count, pop)
        m.d.comb += [self.o.valid.eq(self._more(0)), self.o.payload.eq(head)]
        return m

    def _more(self, than: int) -> Value:
        """Whether there are more packets than this."""
        if self._places is None:
            return self.level > than
        return ~self._places.free(self.depth - than)

    def _room(self, m: Module, pop: Value) -> Signal:
        """Bit r: there is room for more than r arrivals."""
        room = Signal(self.writers)
        for r in range(min(self.writers, self.depth)):
            enough = ~self._more(self.depth - 1 - r)
            if self.refill:
                enough |= pop & ~self._more(self.depth - r) if r else pop
            m.d.comb += room[r].eq(enough)
        return room

    def _search(self, m: Module) -> None:
        """The queue of many inputs, which searches its arrivals one after the other."""
        banks = range(min(self.writers, self.depth))
        rows = -(-self.depth // len(banks))
        pop = self.o.valid & self.o.ready
        room = self._room(m, pop)

        # The input with priority.
        first = Signal(range(self.writers))
        later = Signal(self.writers)  # it, and those above it
        left = Signal(self.writers, name="left_0")
        m.d.comb += [later.eq(-(Const(1) << first)), left.eq(Cat(port.valid for port in self.i))]
        accepted: Value = Const(0, self.writers)
        arrives = Signal(len(banks))  # bit r: there is an arrival r, and room for it
        source = [Signal(range(self.writers), name=f"source_{r}") for r in banks]
        for r in banks:
            found = Signal(self.writers, name=f"found_{r}")
            m.d.comb += [
                found.eq(lowest(Mux((left & later).any(), left & later, left))),
                arrives[r].eq(left.any() & room[r]),
                source[r].eq(number_of(found)),
            ]
            accepted |= Mux(room[r], found, 0)
            rest = Signal(self.writers, name=f"left_{r + 1}")
            m.d.comb += rest.eq(left & ~found)
            left = rest
        taken = Signal(self.writers)
        m.d.comb += [taken.eq(accepted), Cat(port.ready for port in self.i).eq(taken)]

        count = Signal(range(len(banks) + 1))
        # Arrivals are accepted in order, so the last one that is accepted is their number.
        last = Cat(arrives[r] & ~(arrives[r + 1 :].any()) for r in banks)
        m.d.comb += count.eq(number_of(Cat(0, last)))
        m.d.sync += [
            self.level.eq(self.level + count - pop),
            first.eq(modulo(first + count, self.writers)),
        ]

        # A position in the queue is a bank and a row; the next one is in the next bank.
        head_bank = Signal(range(len(banks)))
        tail_bank = Signal(range(len(banks)))
        head_row = Signal(range(rows))
        tail_row = Signal(range(rows))
        following_row = Signal(range(rows))
        m.d.comb += following_row.eq(_next_row(tail_row, rows))
        m.submodules.box = box = InterchangeBox(self.writers, self.shape, len(banks), blank=False)
        m.d.comb += [entry.eq(port.payload) for entry, port in zip(box.i, self.i)]
        select = [Signal(range(self.writers), name=f"select_{bank}") for bank in banks]
        written = Signal(len(banks))
        heads = []
        for bank in banks:
            turn = Signal(range(len(banks)), name=f"turn_{bank}")
            m.d.comb += [
                turn.eq(modulo(Const(bank) + len(banks) - tail_bank, len(banks))),
                written[bank].eq(arrives.bit_select(turn, 1)),
            ]
            _select(m, select[bank], turn, source)
            row = Mux(bank < tail_bank, following_row, tail_row)
            m.submodules[f"bank_{bank}"] = memory = Memory(shape=self.shape, depth=rows, init=[])
            heads.append(_access(m, memory, written[bank], row, box.o[bank], head_row))
        box.set(m, select, ~0)
        head = Signal(self.shape)
        _select(m, head, head_bank, heads)
        with m.If(pop):
            m.d.sync += head_bank.eq(modulo(head_bank + 1, len(banks)))
            with m.If(head_bank == len(banks) - 1):
                m.d.sync += head_row.eq(_next_row(head_row, rows))
        m.d.sync += tail_bank.eq(modulo(tail_bank + count, len(banks)))
        with m.If(tail_bank + count >= len(banks)):
            m.d.sync += tail_row.eq(following_row)
        m.d.comb += [self.o.valid.eq(self.level != 0), self.o.payload.eq(head)]

    def _place(self, m: Module, rank: Sequence[Value], accepted: Value) -> ValueLike:
        """Store the first of the arrivals, if it is accepted, in the only slot."""
        first = Signal(self.shape)
        place = Signal(self.shape, reset_less=True)
        # Input 0 is the first unless another is: a choice of two is one look-up table per bit.
        m.d.comb += first.eq(self.i[0].payload)
        for port, before in zip(self.i[1:], rank[1:]):
            with m.If(port.valid & (before == 0)):
                m.d.comb += first.eq(port.payload)
        self._load(m, place, first, accepted.any())
        return place

    def _pair(self, m: Module, pop: Value) -> ValueLike:
        """Two registers: the head, and what waits behind it."""
        arriving = self.i[0].payload
        head, spare = (Signal(self.shape, name=n, reset_less=True) for n in ("head", "spare"))
        full = self._more(1)
        self._load(m, head, Mux(full, spare, arriving), pop | ~self._more(0))
        with m.If(pop | ~full if self.refill else ~full):
            m.d.sync += spare.eq(arriving)
        return head

    def _load(self, m: Module, head: Signal, coming: ValueLike, moves: Value) -> None:
        """Load the register at the head, and show what it will be."""
        if self.ahead:
            m.d.comb += [self.coming.eq(coming), self.moves.eq(moves)]
        with m.If(moves):
            m.d.sync += head.eq(coming)

    def _banks(
        self,
        m: Module,
        tail_bank: Value,
        rank: Sequence[Value],
        accepted: Value,
        count: Value,
        pop: Value,
    ) -> ValueLike:
        """Store the `count` accepted arrivals; return the packet at the head of the queue."""
        banks = range(self.writers)
        rows = -(-self.depth // self.writers)

        # A position in the queue is a bank and a row; the next one is in the next bank.
        head_bank = Signal(range(self.writers))
        head_row = Signal(range(rows))
        tail_row = Signal(range(rows))
        following_row = Signal(range(rows))
        own = own_memories(self.writers, rows, self.separate)
        m.d.comb += following_row.eq(_next_row(tail_row, rows))

        # Contents of the banks: the packets, or the numbers of their inputs.
        packets = [port.payload for port in self.i]
        shape = range(self.writers) if own else self.shape
        arriving: list[ValueLike] = [*banks] if own else packets
        written = accepted
        place = [Signal(range(self.writers), name=f"place_{i}") for i in banks]
        row = [Mux(bank < tail_bank, following_row, tail_row) for bank in banks]
        if self.writers > 1:
            m.submodules.box = box = InterchangeBox(self.writers, shape)
            m.d.comb += [port.eq(value) for port, value in zip(box.i, arriving)]
            arriving = box.o
            written = Signal(self.writers)
            select = [Signal(range(self.writers), name=f"select_{bank}") for bank in banks]
            for i in banks:
                m.d.comb += place[i].eq(modulo(tail_bank + rank[i], self.writers))
                for bank in banks:
                    with m.If(self.i[i].valid & (place[i] == bank)):
                        m.d.comb += [select[bank].eq(i), written[bank].eq(accepted[i])]
            box.set(m, select, written)

        heads = []
        for bank in banks:
            m.submodules[f"bank_{bank}"] = memory = Memory(shape=shape, depth=rows, init=[])
            heads.append(_access(m, memory, written[bank], row[bank], arriving[bank], head_row))
        head = Signal(shape)
        _select(m, head, head_bank, heads)
        if own:
            source, heads = head, []
            for i in banks:
                memory = Memory(shape=self.shape, depth=rows << len(head_bank), init=[])
                m.submodules[f"memory_{i}"] = memory
                at = Cat(place[i], Mux(place[i] < tail_bank, following_row, tail_row))
                now = Cat(head_bank, head_row)
                heads.append(_access(m, memory, accepted[i], at, packets[i], now))
            head = Signal(self.shape)
            _select(m, head, source, heads)
        with m.If(pop):
            m.d.sync += head_bank.eq(modulo(head_bank + 1, self.writers))
            with m.If(head_bank == self.writers - 1):
                m.d.sync += head_row.eq(_next_row(head_row, rows))
        with m.If(tail_bank + count >= self.writers):
            m.d.sync += tail_row.eq(following_row)
        return head


def own_memories(writers: int, rows: int, separate: bool | None = None) -> bool:
    """Whether each input has a memory of its own, and banks have the numbers of inputs."""
    if separate is not None:
        return separate and writers > 1
    # A distributed memory has 16 rows, needed or not.
    return writers > 2 and rows << (writers - 1).bit_length() <= 16


def row_order(rows: int) -> list[int]:
    """The rows of a bank in the order in which they are used."""
    return [0, 1, 3, 2] if rows == 4 else list(range(rows))


def _next_row(row: Value, rows: int) -> Value:
    """The row that is used after another one: of four rows an inverter finds it."""
    if rows == 4:
        return Cat(~row[1], row[0])
    return Mux(row == rows - 1, 0, row + 1)


def modulo(value: Value, modulus: int) -> Value:
    """Reduce a sum of two numbers below `modulus`, or of such a number and `modulus`."""
    if modulus & (modulus - 1) == 0:
        return value[: modulus.bit_length() - 1]
    return Mux(value >= modulus, value - modulus, value)


def _access(
    m: Module, memory: Memory, enable: Value, row: Value, value: ValueLike, head: Value
) -> Value:
    """Write a value to a row of a memory, and return the contents of the row at the head."""
    write = memory.write_port()
    read = memory.read_port(domain="comb")
    m.d.comb += [write.en.eq(enable), write.addr.eq(row), write.data.eq(value), read.addr.eq(head)]
    return read.data


def _select(m: Module, target: Value, number: Value, values: Sequence[Value]) -> None:
    """Set `target` to the value with this number."""
    with m.Switch(number):
        for index, value in enumerate(values):
            with m.Case(index):
                m.d.comb += target.eq(value)
