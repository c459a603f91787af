"""The read-out of a test bench: a chain of stations, each of which shows bytes of some counters."""

from collections.abc import Sequence

from amaranth.hdl import Module, Mux, ShapeLike, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .command_port import ADDRESS_BITS

__all__ = ["Station"]


class Station(wiring.Component):
    """Puts one byte of its counters on the chain if it is addressed.

    `o` comes from a register, one cycle after the inputs.

    Parameters
    ----------
    words : tuple[tuple[ShapeLike, int], ...]
        Shape of each counter, and how many of its lowest bits are shown: each in whole bytes, the
        lowest first, one counter after the other.
    offset_bits : int
        Bits of the address that select a byte of a station; those above select the station.
    favourite : int
        Width of a source's strap `favourite`, 0 if there is no source.

    Members
    -------
    number : In(16)
        Number of this station, and of its source. Constant.
    address : In(16)
    i, o : In(8), Out(8)
        The chain.
    word_0, word_1, ... : In
        The counters.
    run, begun, clear, load : In(1)
    strap : In(favourite)
        The value that this source loads.
    favourite : Out(favourite)
    enable : Out(1)
        The source is enabled. Combinational.
    """

    def __init__(
        self, *, words: tuple[tuple[ShapeLike, int], ...], offset_bits: int, favourite: int = 0
    ) -> None:
        self.words = words
        self.offset_bits = offset_bits
        self.width = favourite
        source = {
            "run": In(1),
            "begun": In(1),
            "clear": In(1),
            "load": In(1),
            "strap": In(favourite),
            "favourite": Out(favourite),
            "enable": Out(1),
        }
        super().__init__(
            {
                "number": In(ADDRESS_BITS),
                "address": In(ADDRESS_BITS),
                "i": In(8),
                "o": Out(8),
                **{f"word_{index}": In(shape) for index, (shape, _) in enumerate(words)},
                **(source if favourite else {}),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        shown: list[Value] = []
        for index, (_, bits) in enumerate(self.words):
            word = Value.cast(getattr(self, f"word_{index}"))
            shown += [word[start : min(start + 8, bits)] for start in range(0, bits, 8)]
        offset, station = self.address[: self.offset_bits], self.address[self.offset_bits :]
        byte = Signal(8)
        m.d.comb += byte.eq(_selected(shown, offset))
        m.d.sync += self.o.eq(self.i | Mux(station == self.number, byte, 0))
        if self.width:
            mine = self.load & (self.address == self.number)
            with m.If(mine):
                m.d.sync += self.favourite.eq(self.strap)
            # Its cycle 0 is the one in which it was loaded.
            m.d.comb += self.enable.eq((self.run & (self.begun | self.clear)) | mine)
        return m


def _selected(values: Sequence[Value], index: Value) -> Value:
    """The value with this number, by a tree of multiplexers; any value if there is none."""
    if len(values) == 1:
        return values[0]
    half = 1 << (len(values) - 1).bit_length() - 1
    low, high = _selected(values[:half], index), _selected(values[half:], index)
    return Mux(index[half.bit_length() - 1], high, low)
