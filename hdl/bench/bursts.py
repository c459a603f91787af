"""Bursts: a source that is on for a random time, then off for a random time."""

from amaranth.hdl import Module, Mux, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..primitives.xoroshiro import Xoroshiro128

__all__ = ["CHANGE_BITS", "Bursts", "add_bursts", "burst_members"]

CHANGE_BITS = 32


class Bursts(wiring.Component):
    """A Markov chain of two states, on and off, one step per cycle.

    The lengths of the states are geometric: their means are 1 / P cycles, where P is the
    probability of the change.

    Members
    -------
    seed : In(128)
        Seed of the random numbers; not zero. Constant.
    starts : In(33)
        Probability of a change from off to on in a cycle, times 2^32. Constant.
    stops : In(33)
        Probability of a change from on to off in a cycle, times 2^32. Constant.
    begins_on : In(1)
        The state in the second cycle after reset. Constant.
    on : Out(1)
        Comes from a register; 0 in the first cycle after reset.
    """

    def __init__(self) -> None:
        super().__init__({"seed": In(128), **burst_members(), "on": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.random = random = Xoroshiro128()
        m.d.comb += random.seed.eq(self.seed)
        changes = random.value[-CHANGE_BITS:] < Mux(self.on, self.stops, self.starts)
        m.d.sync += self.on.eq(Mux(random.valid, self.on ^ changes, self.begins_on))
        return m


def burst_members() -> dict[str, wiring.Member]:
    """The members of a source that sends in bursts."""
    return {"starts": In(CHANGE_BITS + 1), "stops": In(CHANGE_BITS + 1), "begins_on": In(1)}


def add_bursts(m: Module, source: wiring.Component) -> Value:
    """Add bursts to a source that has their members; return whether it is on."""
    m.submodules.bursts = bursts = Bursts()
    m.d.comb += bursts.seed.eq(source.seed.rotate_left(96))
    m.d.comb += [getattr(bursts, name).eq(getattr(source, name)) for name in burst_members()]
    return bursts.on
