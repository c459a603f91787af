"""A queue of flits whose first packet can be read again."""

from amaranth.hdl import Module, Mux, ShapeLike, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from ..fabric.checks import check_integer

__all__ = ["ReplayQueue"]


class ReplayQueue(wiring.Component):
    """A first-in first-out queue of flits, whose first packet may be read several times.

    While `stays` is 1, the flits that leave keep their places, and after the tail the packet is
    shown again from its header on. The queue must have room for the whole packet then.

    A flit is shown one cycle after it arrived, if none is before it. `o` comes from registers and
    memory, `i.ready` from registers.

    Parameters
    ----------
    shape : ShapeLike
        Shape of a flit.
    depth : int
        Flits that fit, at least 1.

    Members
    -------
    i : In(stream.Signature(shape))
    o : Out(stream.Signature(shape))
    stays : In(1)
        Whether the first packet is to be read again. It changes between packets only, while no flit
        of the next one has left.
    last : In(1)
        Whether the flit at `o` is a tail.
    level : Out(range(depth + 1))
        Places in use.
    """

    def __init__(self, shape: ShapeLike, *, depth: int) -> None:
        depth = check_integer("Depth", depth, 1)
        self.shape = shape
        self.depth = depth
        super().__init__(
            {
                "i": In(stream.Signature(shape)),
                "o": Out(stream.Signature(shape)),
                "stays": In(1),
                "last": In(1),
                "level": Out(range(depth + 1)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        bits = max(1, (self.depth - 1).bit_length())
        m.submodules.flits = flits = Memory(shape=self.shape, depth=1 << bits, init=[])
        write = flits.write_port()
        read = flits.read_port(domain="comb")
        base = Signal(bits)
        end = Signal(bits)
        passed = Signal(range(self.depth + 1))
        entered, left = self.i.valid & self.i.ready, self.o.valid & self.o.ready
        freed = left & ~self.stays
        m.d.comb += [
            self.i.ready.eq(self.level != self.depth),
            write.addr.eq(end),
            write.data.eq(self.i.payload),
            write.en.eq(entered),
            read.addr.eq(base + passed),
            self.o.valid.eq(passed != self.level),
            self.o.payload.eq(read.data),
        ]
        m.d.sync += [
            end.eq(end + entered),
            base.eq(base + freed),
            self.level.eq(self.level + entered - freed),
        ]
        with m.If(left & self.stays):
            m.d.sync += passed.eq(Mux(self.last, 0, passed + 1))
        return m
