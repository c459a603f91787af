"""A stream from one clock domain to another."""

from amaranth.hdl import Module, ResetSignal, Shape, ShapeLike, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.cdc import AsyncFFSynchronizer
from amaranth.lib.fifo import AsyncFIFO
from amaranth.lib.wiring import In, Out

from ..fabric.checks import check_integer, check_power_of_two
from ..fabric.payload_shape import check_shape

__all__ = ["ClockCrossing", "check_crossing_depth"]

_DEEPEST = 1 << 16


def check_crossing_depth(depth: int) -> int:
    """Check the depth of an asynchronous queue: a power of two, from 2 on."""
    depth = check_integer("Depth of a clock crossing", depth, 2, _DEEPEST)
    check_power_of_two("Depth of a clock crossing", depth)
    return depth


class ClockCrossing(wiring.Component):
    """A queue whose writer and reader have clocks of their own: nothing is known of their phases
    or their rates.

    It is Amaranth's `AsyncFIFO`, with pointers in Gray code and synchronisers of two flip-flops,
    and a register for one item behind it. An item that is taken at an edge of `write` is shown
    behind the third edge of `read` after that; `i.ready` tells that there is room behind the second
    edge of `write` after the one of `read` that made room. With a depth of 8 or more it passes one
    item per cycle of the slower clock, whatever the two clocks are; with 4, at least two in three
    cycles, with 2, one in three.

    Both resets are synchronous. *One side in reset only stops:* its end of the stream moves
    nothing. If it is the reader, the items wait for it. If it is the writer, the items in the
    queue are discarded; the one that is already offered stays, as the stream rule wants. If both
    are in reset, nothing is left. A reset must last for four cycles of the slower of the two
    clocks, and both clocks must run. There is no combinational path between the two ends. The
    writer's reset reaches the reader's side through a synchroniser that is set asynchronously: the
    register of `o.valid` is one flip-flop behind it.

    In the domains of Amaranth the ends are `write` and `read`.

    Parameters
    ----------
    shape : ShapeLike
        Shape of the payload.
    depth : int
        Items that the queue holds besides the one in the register: a power of two, from 2 to
        65,536.

    Members
    -------
    i : In(stream.Signature(shape))
        In the domain `write`.
    o : Out(stream.Signature(shape))
        In the domain `read`. It depends on registers, and on the reset of `read`.
    """

    domains = ("write", "read")

    i: stream.Interface
    o: stream.Interface

    def __init__(self, shape: ShapeLike, *, depth: int = 8) -> None:
        self.shape = check_shape(shape)
        self.depth = check_crossing_depth(depth)
        super().__init__({"i": In(stream.Signature(shape)), "o": Out(stream.Signature(shape))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        write_reset, read_reset = (
            ResetSignal(domain, allow_reset_less=True) for domain in self.domains
        )
        width = Shape.cast(self.shape).width
        m.submodules.queue = queue = AsyncFIFO(
            width=width, depth=self.depth, w_domain="write", r_domain="read"
        )
        m.d.comb += [
            queue.w_data.eq(self.i.payload),
            queue.w_en.eq(self.i.valid & ~write_reset),
            self.i.ready.eq(queue.w_rdy & ~write_reset),
        ]

        writer_resets = Signal()
        m.submodules.reset_crossing = AsyncFFSynchronizer(
            write_reset, writer_resets, o_domain="read"
        )
        # What is offered survives the reader's reset, but for one of both sides.
        full = Signal(reset_less=True)
        shown = Signal(width, reset_less=True)
        free = Signal()
        m.d.comb += [
            free.eq((~full | self.o.ready) & ~read_reset),
            queue.r_en.eq(free),
            self.o.valid.eq(full & ~read_reset),
            Value.cast(self.o.payload).eq(shown),
        ]
        with m.If(free):
            m.d.read += [full.eq(queue.r_rdy), shown.eq(queue.r_data)]
        with m.Elif(writer_resets & read_reset):
            m.d.read += full.eq(0)
        return m
