"""Between a node's bus and the shared memory, which has fewer words than the bus can name."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..fabric.checks import check_integer
from ..links.wishbone_bus import Wishbone
from .address_map import SHARED_BITS, WINDOW_BITS

__all__ = ["NoSharedMemory", "SharedWindow"]


class SharedWindow(wiring.Component):
    """Passes accesses to words that exist; others end with `err` one cycle later. Combinational.

    So nodes are the same whatever the size of the memory.

    Parameters
    ----------
    words : int
        Bits of the number of a shared word.

    Members
    -------
    i : In(Wishbone(address=29, data=32))
        From a node: 26 bits of a word's number, and the window above them.
    o : Out(Wishbone(address=words + 3, data=32))
    """

    def __init__(self, *, words: int) -> None:
        self.words = check_integer("Bits of a shared word's number", words, 1, SHARED_BITS)
        super().__init__(
            {
                "i": In(Wishbone(address=SHARED_BITS + WINDOW_BITS, data=32)),
                "o": Out(Wishbone(address=words + WINDOW_BITS, data=32)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        i, o = self.i, self.o
        exists = Signal()
        failed = Signal()
        m.d.comb += [
            exists.eq(~i.adr[self.words : SHARED_BITS].any()),
            o.adr.eq(Cat(i.adr[: self.words], i.adr[SHARED_BITS:])),
            o.cyc.eq(i.cyc & exists),
            o.stb.eq(i.stb & exists),
            i.ack.eq(o.ack),
            i.err.eq(o.err | failed),
            i.dat_r.eq(o.dat_r),
        ]
        m.d.comb += [getattr(o, name).eq(getattr(i, name)) for name in ("we", "sel", "dat_w")]
        m.d.sync += failed.eq(i.cyc & i.stb & ~exists & ~failed)
        return m


class NoSharedMemory(wiring.Component):
    """In the place of a `SharedWindow` where nothing is shared: every access ends with `err`.

    Members
    -------
    i : In(Wishbone(address=29, data=32))
    """

    def __init__(self) -> None:
        super().__init__({"i": In(Wishbone(address=SHARED_BITS + WINDOW_BITS, data=32))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.sync += self.i.err.eq(self.i.cyc & self.i.stb & ~self.i.err)
        return m
