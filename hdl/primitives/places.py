"""The places of a queue, counted."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value

__all__ = ["Places"]

_FEW = 8
"""Most places that have a bit each."""


class Places:
    """How many places of a queue are free: a counter, or a register for each of few places.

    With a register for each, whether there is a free one, or a packet, is a register.

    Parameters
    ----------
    m : Module
        Where the logic is added.
    name : str
        Name of the register.
    depth : int
        Places, all of which are free at first.
    freed, taken : Value
        Whether a place becomes free, and whether one is taken, in this cycle. Both may be.
    """

    def __init__(self, m: Module, name: str, depth: int, freed: Value, taken: Value) -> None:
        self.depth = depth
        if depth > _FEW:
            self._count = Signal(range(depth + 1), init=depth, name=name)
            m.d.sync += self._count.eq(self._count + freed - taken)
            return
        self._bits = bits = Signal(depth, init=-1, name=name)
        with m.If(freed ^ taken):
            m.d.sync += bits.eq(Mux(freed, Cat(1, bits), bits[1:]))

    def free(self, least: int = 1) -> Value:
        """Whether at least so many places are free."""
        return self._bits[least - 1] if self.depth <= _FEW else self._count >= least

    @property
    def level(self) -> Value:
        """How many places are taken: a sum of several bits."""
        if self.depth > _FEW:
            return self.depth - self._count
        return sum(~self._bits, start=Const(0))
