"""Fair choice among several requests."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..checks import check_integer

__all__ = ["RoundRobin"]


class RoundRobin(wiring.Component):
    """Grants one of several requests in turn, and holds the grant until it is taken.

    `grant` is combinational. A request that is granted but not taken is granted again, whatever
    else is requested meanwhile, so that a stream behind the grant keeps its payload. A request
    that stays up waits for at most `count` - 1 others.

    Parameters
    ----------
    count : int
        Number of requesters, at least 1.

    Members
    -------
    request : In(count)
    taken : In(1)
        The granted request is served in this cycle.
    grant : Out(range(count))
        Number of the request that is granted, if there is any.
    """

    def __init__(self, count: int) -> None:
        check_integer("Count", count, 1)
        self.count = count
        super().__init__({"request": In(count), "taken": In(1), "grant": Out(range(count))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        first = Signal(range(self.count))
        with m.Switch(first):
            for start in range(self.count):
                with m.Case(start):
                    for offset in reversed(range(self.count)):
                        candidate = (start + offset) % self.count
                        with m.If(self.request[candidate]):
                            m.d.comb += self.grant.eq(candidate)
        with m.If(self.request.any()):
            m.d.sync += first.eq(self.grant)
            with m.If(self.taken):
                m.d.sync += first.eq(self.grant + 1)
                with m.If(self.grant == self.count - 1):
                    m.d.sync += first.eq(0)
        return m
