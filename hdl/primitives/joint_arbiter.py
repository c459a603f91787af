"""Fair choice among requests for several outputs at once."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..fabric.checks import check_radix

__all__ = ["JointArbiter"]


class JointArbiter(wiring.Component):
    """Gives several outputs at once to requests that want any number of them, or none of these.

    `granted` is combinational. A request is *possible* if all its outputs are free. It is granted
    if no possible request whose input was served longer ago wants one of its outputs. So one of the
    possible requests is always granted; and a request for a single output that stays asserted is
    overtaken by each other input once at most.

    Parameters
    ----------
    radix : int
        Number of inputs and of outputs, at least 2.

    Members
    -------
    request : In(radix)
    wanted : In(radix).array(radix)
        Bit j of element i: input i requests output j. A request for no output is never granted.
    free : In(radix)
    granted : Out(radix)
        Bit i: input i is served in this cycle.
    """

    def __init__(self, radix: int) -> None:
        self.radix = radix = check_radix(radix)
        super().__init__(
            {
                "request": In(radix),
                "wanted": In(radix).array(radix),
                "free": In(radix),
                "granted": Out(radix),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        inputs = range(self.radix)
        possible = Signal(self.radix)
        m.d.comb += possible.eq(
            Cat(
                flag & wanted.any() & ~(wanted & ~self.free).any()
                for flag, wanted in zip(self.request, self.wanted)
            )
        )
        # Whether i, of a pair i < j, was served longer ago than j.
        first = {
            (i, j): Signal(name=f"first_{i}_{j}", init=1) for j in inputs for i in inputs if i < j
        }
        for i in inputs:
            beaten = [
                possible[j]
                & (~first[i, j] if i < j else first[j, i])
                & (self.wanted[i] & self.wanted[j]).any()
                for j in inputs
                if j != i
            ]
            m.d.comb += self.granted[i].eq(possible[i] & ~Cat(beaten).any())
        for (i, j), flag in first.items():
            with m.If(self.granted[i] ^ self.granted[j]):
                m.d.sync += flag.eq(self.granted[j])
        return m
