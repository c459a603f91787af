"""Fair choice among several requests."""

from collections.abc import Sequence

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..fabric.checks import check_integer

__all__ = ["RoundRobin", "lowest", "lowest_rank", "number_of"]


_WIDE = 8
"""With more bits than this, a carry chain is smaller than gates for each bit."""

_WORDS = 16
"""More bits than this are treated as words, which are simulated faster than bit by bit."""


def lowest(bits: Value, *, quick: bool = False) -> Value:
    """Keep only the lowest 1 of some bits; with `quick` by the shortest path, however many.

    Parameters
    ----------
    bits : Value
        The bits.
    quick : bool
        Whether the path should be short, at the cost of more gates.

    Returns
    -------
    Value
        As many bits, of which at most one is 1.
    """
    if len(bits) > _WIDE and not quick:
        return (bits & -bits)[: len(bits)]
    return Cat(bits[at] & ~bits[:at].any() for at in range(len(bits)))


def number_of(one_hot: Value) -> Value:
    """The number of the only 1 among some bits; 0 if there is none.

    Parameters
    ----------
    one_hot : Value
        The bits.

    Returns
    -------
    Value
        The number.
    """
    return Cat(_number_bits(one_hot))


def _number_bits(one_hot: Value) -> list[Value]:
    count = len(one_hot)
    bits = range((count - 1).bit_length())
    if count > _WORDS:
        # A mask for each bit of the number.
        masks = [sum(1 << at for at in range(count) if at >> bit & 1) for bit in bits]
        return [(one_hot & mask).any() for mask in masks]
    return [Cat(one_hot[at] for at in range(count) if at >> bit & 1).any() for bit in bits]


def lowest_rank(m: Module, name: str, request: Value, ranks: Sequence[Value]) -> Value:
    """The request of the lowest rank, one bit for each; zero if there is none.

    Bit i of `ranks[b]` is bit b of the rank of request i; no two ranks are equal. The ranks are
    compared bit by bit: k log k gates, where pairs would take k^2, but a longer path.

    Parameters
    ----------
    m : Module
        The module that gets the logic.
    name : str
        Beginning of the names of its signals.
    request : Value
        A bit for each request.
    ranks : Sequence[Value]
        The bits of all ranks.

    Returns
    -------
    Value
        A bit for each request, of which at most one is 1.
    """
    left = request
    for b, bits in reversed([*enumerate(ranks)]):
        low = Signal(len(request), name=f"{name}_low_{b}")
        m.d.comb += low.eq(left & ~bits)
        left = Mux(low.any(), low, left)
    return left


class RoundRobin(wiring.Component):
    """Grants one of several requests in turn, and holds the grant until it is taken.

    `grant` is combinational. A request that is granted but not taken remains granted, whatever else
    is requested meanwhile, so that a stream behind the grant keeps its payload. A request that
    stays asserted waits for at most `count` - 1 others.

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
        Number of the granted request, if any.
    granted : Out(count)
        One-hot form of `grant`; zero if there is no request.
    """

    def __init__(self, count: int) -> None:
        count = check_integer("Count", count, 1)
        self.count = count
        super().__init__(
            {
                "request": In(count),
                "taken": In(1),
                "grant": Out(range(count)),
                "granted": Out(count),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # The requesters with priority: the next in turn and all above it. No bit if that is number
        # 0.
        turn = Signal(self.count - 1)
        later = Signal(self.count - 1)
        granted = self.granted
        m.d.comb += later.eq(self.request[1:] & turn)
        if self.count > _WIDE:
            # One search, in those that were selected before.
            asked = Signal(self.count)
            m.d.comb += [
                asked.eq(Mux(later.any(), Cat(0, later), self.request)),
                granted.eq(lowest(asked)),
            ]
        else:
            for at, request in enumerate(self.request):
                # Nothing is before a request without priority, or before one with it.
                first = ~(later[at:].any() | self.request[:at].any())
                if at:
                    first = ~later[: at - 1].any() & (first | turn[at - 1])
                m.d.comb += granted[at].eq(request & first)
        m.d.comb += [bit.eq(value) for bit, value in zip(self.grant, _number_bits(granted))]
        starts = Signal(self.count)
        # When a grant is taken, the turn passes to the next number; otherwise it stays.
        m.d.comb += starts.eq(Mux(self.taken, granted, granted[1:]))
        # All bits from that of the next number on.
        from_there = -starts
        if self.count <= _WIDE:
            # The upper ones are found from the few grants with which they are 0.
            from_there = Cat(
                starts[: i + 1].any()
                if 2 * i < self.count - 1
                else ~Mux(self.taken, granted[i + 1 :], Cat(granted[0], granted[i + 2 :])).any()
                for i in range(self.count - 1)
            )
        with m.If(self.request.any()):
            m.d.sync += turn.eq(from_there)
        return m
