"""Memories whose rows are zero after a reset."""

from amaranth.hdl import Module, Mux, Signal, Value, ValueLike
from amaranth.lib.memory import WritePort

__all__ = ["NEEDS_INITIAL", "Clearing"]

NEEDS_INITIAL = "needs_initial"
"""The attribute of registers that no reset reaches and whose first value matters."""


class Clearing:
    """Clears memories after a reset, row by row, because a reset does not reach their contents.

    It takes as many cycles as there are rows, from the second cycle of the reset on: a longer reset
    hides it. Nothing must be written or read meanwhile. It is left out if nothing was written since
    the memories got their initial contents, or were cleared.

    Parameters
    ----------
    m : Module
        Where the logic is added.
    name : str
        Prefix of the names of its registers.
    width : int
        Width of the widest address.

    Attributes
    ----------
    active : Signal
        Rows are being cleared in this cycle. Depends on registers only.
    """

    def __init__(self, m: Module, name: str, width: int) -> None:
        self._m = m
        self.active = Signal(name=f"{name}_active")
        self._due = Signal(init=1, name=f"{name}_due")
        # What a reset must not reach either: whether some row may not be zero, and which is next.
        attributes = {NEEDS_INITIAL: 1}
        self._written = Signal(reset_less=True, name=f"{name}_written", attrs=attributes)
        self._row = Signal(width, reset_less=True, name=f"{name}_row")
        m.d.comb += self.active.eq(self._due & self._written)
        m.d.sync += self._due.eq(self.active & ~self._row.all())
        with m.If(self.active):
            m.d.sync += self._row.eq(self._row + 1)
            with m.If(self._row.all()):
                m.d.sync += self._written.eq(0)

    def write(self, port: WritePort, enable: Value, address: Value, data: ValueLike) -> None:
        """Connect the write port of a memory, which is enabled only while nothing is cleared."""
        m = self._m
        m.d.comb += [
            port.en.eq(self.active | enable),
            port.addr.eq(Mux(self.active, self._row, address)),
            port.data.eq(Mux(self.active, 0, data)),
        ]
        with m.If(enable):
            m.d.sync += self._written.eq(1)
