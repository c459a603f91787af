"""Random bits for the random choices in the models of the papers."""

import hashlib

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..fabric.checks import check_integer
from .round_robin import lowest_rank

__all__ = ["MOST_RANDOM", "RandomBits", "RandomOrder", "scattered_seed"]

LAGS = {
    32: (25, 26, 30, 32),
    64: (60, 61, 63, 64),
    128: (121, 126, 127, 128),
    256: (246, 251, 254, 256),
}
"""For each degree, the lags of a recurrence of maximum period, 2^degree - 1.

Each bit is the exclusive or of the four earlier bits at these distances. The lags are as long as
possible, so that many new bits per cycle need only one four-input gate each.
"""


_PAIRS = 8
"""Most items of which all pairs are compared."""

MOST_RANDOM = 64
"""Most items that a `RandomOrder` has."""


def scattered_seed(*position: int | str) -> int:
    """A nonzero 32-bit seed for the generator at some position, such as (run, stage, number).

    Generators whose seeds differ in few bits agree for hundreds of cycles; these seeds differ in
    about half of their bits.
    """
    text = " ".join(map(str, position)).encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=4).digest()) or 1


class RandomBits(wiring.Component):
    """A linear generator that makes as many steps per cycle as it has output bits.

    So successive values share no bits, unlike those of a shift register that is read in parallel.
    `value` comes from registers. The generator has 32 flip-flops, or the next power of two that is
    at least `width`, and (up to 25 bits) one four-input gate for each bit of `value`.

    It is good enough for arbitration; for traffic use `multicube.hdl.primitives.xoroshiro`.

    Parameters
    ----------
    width : int
        Bits per cycle, from 1 to 256.

    Members
    -------
    seed : In(32)
        Initial state, taken in the first cycle after reset. Must not be zero; use `scattered_seed`.
    value : Out(width)
        New in every cycle; zero in the first cycle after reset.
    """

    def __init__(self, width: int) -> None:
        width = check_integer("Width", width, 1, max(LAGS))
        self.width = width
        super().__init__({"seed": In(32), "value": Out(width)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        degree = next(degree for degree in LAGS if degree >= self.width)
        state = Signal(degree)
        started = Signal()
        m.d.sync += started.eq(1)
        # The state is the most recent bits, the oldest first.
        bits: list[Value] = list(state)
        for step in range(self.width):
            bit = Signal(name=f"bit_{step}")
            first, second, third, fourth = (bits[-lag] for lag in LAGS[degree])
            m.d.comb += bit.eq(first ^ second ^ third ^ fourth)
            bits.append(bit)
        with m.If(started):
            m.d.sync += state.eq(Cat(bits[-degree:]))
        with m.Else():
            words = [self.seed, ~self.seed] * (degree // 32)
            m.d.sync += state.eq(Cat(words[: degree // 32]))
        m.d.comb += self.value.eq(state[-self.width :])
        return m


class RandomOrder(wiring.Component):
    """Puts its items into a new random order every cycle; all orders are equally likely.

    The order is stored as the rank of each item. Each cycle shuffles it by one pass of random
    exchanges along the dimensions of a cube. This takes log2(count) / 2 random bits per item, and
    never draws a number from a range that is not a power of two. After any order, each item is
    equally likely at each rank, and of any two items each is equally likely to be first. (With
    three items or more, an order is not independent of the one before it.) `before` depends on
    registers only: at most it is a comparison of two of them.

    Parameters
    ----------
    count : int
        Number of items, from 1 to 64.

    Members
    -------
    seed : In(32)
        As in `RandomBits`.
    before : Out(count).array(count)
        Bit j of `before[i]` is 1 if item i comes before item j.
    rank : Out(range(count')).array(count)
        The place of each item in the order, where count' is the power of two that is at least
        `count`.
    """

    def __init__(self, count: int) -> None:
        count = check_integer("Count", count, 1, MOST_RANDOM)
        self.count = count
        self.places = 1 << (count - 1).bit_length()
        super().__init__(
            {
                "seed": In(32),
                "before": Out(count).array(count),
                "rank": Out(range(self.places)).array(count),
            }
        )

    def first(self, m: Module, name: str, request: Value) -> Value:
        """The request that comes before all others; one bit for each item, zero if there is none.

        With few items it compares all pairs, with many the ranks bit by bit: k log k gates in the
        place of k^2, but a longer path.
        """
        items = range(self.count)
        if self.count <= _PAIRS:
            return Cat(
                request[i] & ~Cat(request[j] & self.before[j][i] for j in items if j != i).any()
                for i in items
            )
        bits = range((self.count - 1).bit_length())
        planes = [Cat(rank[bit] for rank in self.rank) for bit in bits]
        return lowest_rank(m, name, request, planes)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        dimensions = (self.count - 1).bit_length()
        if dimensions == 0:
            return m
        places = 1 << dimensions
        m.submodules.random = random = RandomBits(dimensions * places // 2)
        m.d.comb += random.seed.eq(self.seed)
        if self.count == 2:
            m.d.comb += [
                self.before[0][1].eq(random.value),
                self.before[1][0].eq(~random.value),
                self.rank[0].eq(~random.value),
                self.rank[1].eq(random.value),
            ]
            return m

        rank = [Signal(dimensions, init=place, name=f"rank_{place}") for place in range(places)]
        shuffled = list(rank)
        exchanges = iter(random.value)
        for dimension in range(dimensions):
            for low in range(places):
                high = low | 1 << dimension
                if low != high:
                    exchange = next(exchanges)
                    a, b = shuffled[low], shuffled[high]
                    shuffled[low] = Signal(dimensions, name=f"rank_{low}_{dimension}")
                    shuffled[high] = Signal(dimensions, name=f"rank_{high}_{dimension}")
                    m.d.comb += [
                        shuffled[low].eq(Mux(exchange, b, a)),
                        shuffled[high].eq(Mux(exchange, a, b)),
                    ]
        m.d.sync += [old.eq(new) for old, new in zip(rank, shuffled)]
        m.d.comb += [shown.eq(own) for shown, own in zip(self.rank, rank)]
        for i in range(self.count):
            for j in range(i):
                m.d.comb += [
                    self.before[i][j].eq(rank[i] < rank[j]),
                    self.before[j][i].eq(~self.before[i][j]),
                ]
        return m
