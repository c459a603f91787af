"""Geometric random lengths, in one cycle."""

from amaranth.hdl import Cat, Module, Value

from ..primitives.xoroshiro import Xoroshiro128

__all__ = ["bit_probabilities", "geometric_length"]

_DRAWN_BITS = 20
"""Random bits for each bit of a length."""

_DRAWS = 3
"""Draws from one generator. They are its high bits, which are the better ones."""


def bit_probabilities(mean: int, bits: int) -> list[float]:
    """The probability that each bit of X is 1, where X + 1 is geometric with a mean of at least 2.

    P(X = x) is proportional to q^x with q = 1 - 1 / mean, and so to the product of q^(2^i) over the
    bits i that are 1 in x. So bits are independent of each other, also if X is cut off at a power
    of two.
    """
    q = 1 - 1 / mean
    powers = [q ** (1 << i) for i in range(bits)]
    return [power / (1 + power) for power in powers]


def geometric_length(m: Module, seed: Value, mean: int, bits: int) -> Value:
    """A new geometric number in each cycle, from 1 to 2^bits.

    Each bit's probability is exact to 2^-21, so the mean is to 2^(bits - 21).
    """
    draws: list[Value] = []
    while len(draws) < bits:
        number = len(draws) // _DRAWS
        m.submodules[f"length_{number}"] = random = Xoroshiro128()
        m.d.comb += random.seed.eq(seed.rotate_left(64 + 11 * number))
        draws += [random.value[64 - _DRAWN_BITS * (i + 1) :][:_DRAWN_BITS] for i in range(_DRAWS)]
    chances = bit_probabilities(mean, bits)
    return 1 + Cat(draw < round(p * 2**_DRAWN_BITS) for draw, p in zip(draws, chances))
