"""A memory module that performs operations, one at a time."""

from amaranth.hdl import Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In

from ..boxes.combining.link import MemoryLink
from ..boxes.combining.pacing import Lengths, Pacer, check_lengths, message_length
from ..core.checks import check_integer
from ..operations.memory import OperationUnit

__all__ = ["MemoryModule"]


class MemoryModule(wiring.Component):
    """Words of memory that are read and changed in one indivisible step.

    A request is accepted in one cycle, and its reply is shown in the next. In the cycle in which
    the reply is taken, the word gets its new value; a request accepted in the same cycle already
    sees it. So throughput is one request per cycle while replies are taken. `i.reply` comes from a
    register and the memory's output register; `i.request.ready` depends combinationally on
    `i.reply.ready`.

    A request of several words (`pacing`) is performed when its last word has arrived. If its head
    is accepted in cycle t, the reply is shown in cycle t + length, which is also the earliest cycle
    for the next head. So replies are at least their own length apart, and need no pacer.

    Parameters
    ----------
    link : MemoryLink
    rows : int, optional
        Number of words, from 1 to what the link can address, which is the default. Other addresses
        must not be used.
    words : tuple[int, ...]
        Initial contents; words that are not given are zero.
    lengths : tuple[int, int]
        Words of a load or a reply, and of any other request.

    Members
    -------
    i : In(link)

    Raises
    ------
    TypeError, ValueError
        If `rows` or `lengths` are not as above.
    """

    def __init__(
        self,
        link: MemoryLink,
        *,
        rows: int | None = None,
        words: tuple[int, ...] = (),
        lengths: Lengths = (1, 1),
    ) -> None:
        most = 1 << link.address
        if rows is None:
            rows = most
        rows = check_integer("Rows", rows, 1, most)
        check_lengths(lengths)
        self.link = link
        self.rows = rows
        self.lengths = lengths
        self._init = words
        super().__init__({"i": In(link)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        memory = Memory(shape=self.link.width, depth=self.rows, init=self._init)
        m.submodules.words = self.words = memory
        write = memory.write_port()
        read = memory.read_port(transparent_for=[write])
        m.submodules.unit = unit = OperationUnit(self.link.operations, self.link.width)

        request, reply = self.i.request, self.i.reply
        pending = Signal()
        current = Signal(self.link.request_layout)
        accepted = Signal()
        if Pacer.needed("request", self.lengths):
            complete = self._complete(m, accepted)
            m.d.comb += [
                request.ready.eq(~pending | (complete & reply.ready)),
                reply.valid.eq(pending & complete),
            ]
        else:
            m.d.comb += [request.ready.eq(~pending | reply.ready), reply.valid.eq(pending)]
        m.d.comb += [
            accepted.eq(request.valid & request.ready),
            read.en.eq(accepted),
            read.addr.eq(request.payload.address),
            reply.payload.tag.eq(current.tag),
            reply.payload.identity.eq(current.identity),
            reply.payload.value.eq(read.data),
            unit.operation.eq(current.operation),
            unit.x.eq(read.data),
            unit.operand.eq(current.operand),
            write.en.eq(reply.valid & reply.ready),
            write.addr.eq(current.address),
            write.data.eq(unit.result),
        ]
        with m.If(request.ready):
            m.d.sync += pending.eq(request.valid)
        with m.If(accepted):
            m.d.sync += current.eq(request.payload)
        return m

    def _complete(self, m: Module, accepted: Value) -> Value:
        """Whether all words of the request whose head was accepted have arrived."""
        length = message_length(self.link, "request", self.lengths, self.i.request.payload)
        missing = Signal(range(self.lengths[1]))
        with m.If(accepted):
            m.d.sync += missing.eq(length - 1)
        with m.Elif(missing != 0):
            m.d.sync += missing.eq(missing - 1)
        return missing == 0
