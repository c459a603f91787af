"""A memory module that performs operations, one at a time."""

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In

from ..fabric.checks import check_integer
from ..links.memory_link import MemoryLink
from ..operations.operation_unit import OperationUnit
from ..primitives.pacing import Lengths, Pacer, check_lengths, message_length
from ..primitives.word_buffer import WordBuffer

__all__ = ["MemoryModule"]


class MemoryModule(wiring.Component):
    """Words of memory that are read and changed in one indivisible step.

    A request is accepted in one cycle, and its reply is shown in the next. In the cycle in which
    the reply is taken, the word gets its new value; a request accepted in the same cycle already
    sees it. So throughput is one request per cycle while replies are taken. `i.reply` comes from a
    register and the memory's output register; `i.request.ready` depends combinationally on
    `i.reply.ready`.

    With operations of several sizes, an address has a row and a part of it (`MemoryLink`). Values
    and operands of a part are in the lowest bits of the link's; the others have no meaning.

    A request of several words (`pacing`) is performed when its last word has arrived. If its head
    is accepted in cycle t, the reply is shown in cycle t + length, which is also the earliest cycle
    for the next head. So replies are at least their own length apart, and need no pacer.

    A slower memory has a larger `latency`: replies come as much later, and several requests are in
    progress. It accepts no head for `interval` cycles after another. (Cedar's global memory takes
    eight cycles and is pipelined, one request every four: Siegel et al., VII-B.) Neither
    `i.request.ready` nor `i.reply` then depends on `i.reply.ready`.

    A reset leaves the words as they are. A request that is under way then is performed, as a whole,
    or not; it has no reply.

    Parameters
    ----------
    link : MemoryLink
    rows : int, optional
        Number of rows, each of one word or a double word, from 1 to what the link can address,
        which is the default. Other addresses must not be used.
    words : tuple[int, ...]
        Initial contents of the rows; those that are not given are zero.
    lengths : tuple[int, int]
        Words of a load or a reply, and of any other request.
    latency : int
        Cycles from the last word of a request until its reply is shown, at least 1.
    interval : int
        Fewest cycles from the head of a request to the head of the next, at least 1.

    Members
    -------
    i : In(link)
    """

    def __init__(
        self,
        link: MemoryLink,
        *,
        rows: int | None = None,
        words: tuple[int, ...] = (),
        lengths: Lengths = (1, 1),
        latency: int = 1,
        interval: int = 1,
    ) -> None:
        most = 1 << link.address - link.part_bits
        if rows is None:
            rows = most
        rows = check_integer("Rows", rows, 1, most)
        check_lengths(lengths)
        self.link = link
        self.rows = rows
        self.lengths = lengths
        self.latency = check_integer("Memory latency", latency, 1)
        self.interval = check_integer("Memory interval", interval, 1)
        self._init = words
        super().__init__({"i": In(link)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        memory = Memory(shape=self.link.width, depth=self.rows, init=self._init)
        m.submodules.words = self.words = memory
        write = memory.write_port()
        read = memory.read_port(transparent_for=[write])
        m.submodules.unit = unit = OperationUnit(self.link.operations, self.link.width)

        request, reply = self.i.request, self._delayed(m)
        pending = Signal()
        current = Signal(self.link.request_layout)
        accepted = Signal()
        rested = self._rested(m, accepted)
        complete: Value = Const(1)
        if Pacer.needed("request", self.lengths):
            complete = self._complete(m, accepted)
        old, new = self._parts(current, read.data, unit.result)
        m.d.comb += [
            request.ready.eq((~pending | (complete & reply.ready)) & rested),
            reply.valid.eq(pending & complete),
            accepted.eq(request.valid & request.ready),
            read.en.eq(accepted),
            read.addr.eq(request.payload.address[self.link.part_bits :]),
            reply.payload.tag.eq(current.tag),
            reply.payload.identity.eq(current.identity),
            reply.payload.value.eq(old),
            unit.operation.eq(current.operation),
            unit.x.eq(old),
            unit.operand.eq(current.operand),
            write.en.eq(reply.valid & reply.ready),
            write.addr.eq(current.address[self.link.part_bits :]),
            write.data.eq(new),
        ]
        with m.If(accepted):
            m.d.sync += [pending.eq(1), current.eq(request.payload)]
        with m.Elif(reply.valid & reply.ready):
            m.d.sync += pending.eq(0)
        return m

    def _delayed(self, m: Module) -> stream.Interface:
        """The stream into the replies, through a buffer that shows them `latency` - 1 cycles later.

        It has room for all that are in progress, and one more while its head leaves.
        """
        if self.latency == 1:
            return wiring.flipped(self.i.reply)
        short = self.lengths[0]
        apart = max(self.interval, short)
        most = -(-self.latency // apart) + 1
        lengths = (short, short)
        delay = WordBuffer(
            self.link, "reply", lengths=lengths, depth=most * short, delay=self.latency - 1
        )
        m.submodules.delay = delay
        wiring.connect(m, wiring.flipped(self.i.reply), delay.o)
        return delay.i

    def _rested(self, m: Module, accepted: Value) -> Value:
        """Whether the last head was accepted `interval` cycles ago or more."""
        if self.interval == 1:
            return Const(1)
        rest = Signal(range(self.interval))
        with m.If(accepted):
            m.d.sync += rest.eq(self.interval - 1)
        with m.Elif(rest != 0):
            m.d.sync += rest.eq(rest - 1)
        return rest == 0

    def _parts(self, request: data.View, row: Value, result: Value) -> tuple[Value, Value]:
        """What a request's operation reads of a row, in the lowest bits; and the row after it."""
        link = self.link
        if not link.part_bits:
            return row, result
        part = request.address[: link.part_bits]
        unit = link.width >> link.part_bits
        old, new = row, result
        for bits in sorted({link.bits(operation) for operation in link.operations}):
            if bits == link.width:
                continue
            codes = [n for n, one in enumerate(link.operations) if link.bits(one) == bits]
            chosen = Value.cast(request.operation).matches(*codes)
            which = part >> (bits // unit).bit_length() - 1
            parts = [row.word_select(n, bits) for n in range(link.width // bits)]
            old = Mux(chosen, Array(parts)[which], old)
            changed = Cat(Mux(which == n, result[:bits], each) for n, each in enumerate(parts))
            new = Mux(chosen, changed, new)
        return old, new

    def _complete(self, m: Module, accepted: Value) -> Value:
        """Whether all words of the request whose head was accepted have arrived."""
        length = message_length(self.link, "request", self.lengths, self.i.request.payload)
        missing = Signal(range(self.lengths[1]))
        with m.If(accepted):
            m.d.sync += missing.eq(length - 1)
        with m.Elif(missing != 0):
            m.d.sync += missing.eq(missing - 1)
        return missing == 0
