"""An asynchronous serial line: one start bit, eight data bits from the lowest on, one stop bit."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.cdc import FFSynchronizer
from amaranth.lib.wiring import In, Out

from ..hdl.fabric.checks import check_integer

__all__ = ["UARTReceiver", "UARTTransmitter"]

_SHORTEST = 4
_BITS = 8


def _check_divisor(divisor: object) -> None:
    check_integer("Divisor", divisor, _SHORTEST)


class UARTReceiver(wiring.Component):
    """Receives bytes from a serial line.

    Each bit is sampled once, in its middle; the speeds of both ends may differ by 4 % if the
    divisor is at least 16. A wrong start or stop bit gives no byte. If a byte is not taken until
    the next is complete, it stays, and the next is lost.

    Parameters
    ----------
    divisor : int
        Clock cycles per bit, at least 4.

    Members
    -------
    rx : In(1)
        The line, 1 when idle; not synchronous to the clock.
    o : Out(stream.Signature(8))
        From registers.
    """

    def __init__(self, divisor: int) -> None:
        _check_divisor(divisor)
        self.divisor = divisor
        super().__init__({"rx": In(1), "o": Out(stream.Signature(_BITS))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        line = Signal(init=1)
        m.submodules.synchroniser = FFSynchronizer(self.rx, line, init=1)
        timer = Signal(range(self.divisor))
        count = Signal(range(_BITS + 2))
        shift = Signal(_BITS)
        with m.If(self.o.ready):
            m.d.sync += self.o.valid.eq(0)
        with m.If(timer != 0):
            m.d.sync += timer.eq(timer - 1)
        with m.FSM():
            with m.State("IDLE"):
                m.d.sync += [timer.eq(self.divisor // 2 - 1), count.eq(0)]
                with m.If(~line):
                    m.next = "START"
            with m.State("START"), m.If(timer == 0):
                m.d.sync += timer.eq(self.divisor - 1)
                m.next = "IDLE"
                with m.If(~line):
                    m.next = "BITS"
            with m.State("BITS"), m.If(timer == 0):
                m.d.sync += [timer.eq(self.divisor - 1), count.eq(count + 1)]
                with m.If(count != _BITS):
                    m.d.sync += shift.eq(Cat(shift[1:], line))
                with m.Elif(line):
                    m.next = "IDLE"
                    with m.If(~self.o.valid | self.o.ready):
                        m.d.sync += [self.o.payload.eq(shift), self.o.valid.eq(1)]
                with m.Else():
                    m.next = "BREAK"
            with m.State("BREAK"), m.If(line):
                m.next = "IDLE"
        return m


class UARTTransmitter(wiring.Component):
    """Sends bytes on a serial line.

    A byte takes ten times `divisor` cycles, plus two. `i.ready` comes from registers.

    Parameters
    ----------
    divisor : int
        Clock cycles per bit, at least 4.

    Members
    -------
    i : In(stream.Signature(8))
    tx : Out(1)
        The line, from a register.
    """

    def __init__(self, divisor: int) -> None:
        _check_divisor(divisor)
        self.divisor = divisor
        super().__init__({"i": In(stream.Signature(_BITS)), "tx": Out(1, init=1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        timer = Signal(range(self.divisor))
        shift = Signal(_BITS + 1)
        left = Signal(range(_BITS + 4))  # start, data, stop, and the end of the stop bit
        m.d.comb += self.i.ready.eq(left == 0)
        with m.If(left == 0):
            m.d.sync += [self.tx.eq(1), timer.eq(0)]
            with m.If(self.i.valid):
                m.d.sync += [shift.eq(Cat(0, self.i.payload)), left.eq(_BITS + 3)]
        with m.Else():
            m.d.sync += timer.eq(Mux(timer == 0, self.divisor - 1, timer - 1))
            with m.If(timer == 0):
                m.d.sync += [self.tx.eq(shift[0]), shift.eq(Cat(shift[1:], 1)), left.eq(left - 1)]
        return m
