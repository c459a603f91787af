"""Random numbers in hardware."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["Xoroshiro128"]


class Xoroshiro128(wiring.Component):
    """The generator xoroshiro128+ of Blackman and Vigna: 64 new random bits every cycle.

    Successive values are independent in practice, unlike those of a shift register read in
    parallel. It costs 128 flip-flops, one 64-bit adder and 128 exclusive-or gates.

    Members
    -------
    seed : In(128)
        Initial state, taken in the first cycle after reset. Must not be zero.
    valid : Out(1)
        0 only in the first cycle after reset.
    value : Out(64)
        Combinational function of the state.
    """

    def __init__(self) -> None:
        super().__init__({"seed": In(128), "valid": Out(1), "value": Out(64)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        s0, s1, mixed = (Signal(64, name=name) for name in ("s0", "s1", "mixed"))
        m.d.comb += [self.value.eq(s0 + s1), mixed.eq(s0 ^ s1)]
        m.d.sync += self.valid.eq(1)
        with m.If(self.valid):
            m.d.sync += [
                s0.eq(s0.rotate_left(24) ^ mixed ^ (mixed << 16)),
                s1.eq(mixed.rotate_left(37)),
            ]
        with m.Else():
            m.d.sync += [s0.eq(self.seed[:64]), s1.eq(self.seed[64:])]
        return m
