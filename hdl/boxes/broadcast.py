"""The state of a broadcast in a switch while some of its copies still wait."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..core.checks import check_radix

__all__ = ["CopyTracker"]


class CopyTracker(wiring.Component):
    """Tracks which outputs still need a copy of the packet at an input.

    Copies are taken independently, each when its output is free, and the packet leaves when the
    last copy is taken; if all are taken at once, that is the first cycle. The copies taken earlier
    are recorded in `radix` registers. `left` depends combinationally on `requested` only, and
    `done` on `taken` too, so that no output waits for another one's `ready`.

    Parameters
    ----------
    radix : int
        Number of outputs, at least 2.

    Members
    -------
    valid : In(1)
        There is a packet. It must stay until `done`.
    requested : In(radix)
        Bit j: the packet is for output j. Constant while the packet stays.
    taken : In(radix)
        Bit j: output j takes a copy in this cycle if it is offered one.
    left : Out(radix)
        Bit j: output j is to be offered a copy.
    done : Out(1)
        All copies have been taken by the end of this cycle.

    Raises
    ------
    TypeError, ValueError
        If `radix` is not an integer of at least 2.
    """

    def __init__(self, radix: int) -> None:
        radix = check_radix(radix)
        self.radix = radix
        super().__init__(
            {
                "valid": In(1),
                "requested": In(radix),
                "taken": In(radix),
                "left": Out(radix),
                "done": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        given = Signal(self.radix)
        m.d.comb += [
            self.left.eq(self.requested & ~given),
            self.done.eq((self.left & ~self.taken) == 0),
        ]
        with m.If(self.valid):
            m.d.sync += given.eq(given | self.taken)
            with m.If(self.done):
                m.d.sync += given.eq(0)
        return m
