# amaranth: UnusedElaboratable=no
"""The random bits of the switches: the recurrence, its period, and what the bits look like."""

import itertools
import math
from collections import Counter
from typing import Any

import pytest
from driving import exercise
from multicube.hdl.primitives.random_bits import LAGS, RandomBits, RandomOrder, scattered_seed
from refusals import refusals
from scipy import stats

UNLIKELY = 1e-4


def values(width: int, seed: int, cycles: int) -> list[int]:
    generator = RandomBits(width)
    seen: list[int] = []

    async def testbench(ctx: Any) -> None:
        ctx.set(generator.seed, seed)
        for _ in range(cycles):
            seen.append(ctx.get(generator.value))
            await ctx.tick()
            ctx.set(generator.seed, 0)  # it is taken once

    exercise(generator, testbench, limit=cycles + 1)
    return seen


def sequence(width: int, seed: int, count: int) -> list[int]:
    """The same bits one by one, from the definition of the recurrence."""
    degree = next(degree for degree in LAGS if degree >= width)
    words = itertools.islice(itertools.cycle([seed, seed ^ 0xFFFF_FFFF]), degree // 32)
    bits = [word >> i & 1 for word in words for i in range(32)]
    start = degree - width
    while len(bits) < start + count:
        bits.append(sum(bits[-lag] for lag in LAGS[degree]) % 2)
    return bits[start:]


@pytest.mark.parametrize("width", [1, 2, 5, 12, 25, 32, 33, 64, 80, 256])
def test_random_bits_are_the_recurrence_and_share_none(width: int) -> None:
    seed = scattered_seed(width)
    print(f"seed {seed}")
    seen = values(width, seed, 200)
    assert seen[0] == 0
    bits = [value >> i & 1 for value in seen[1:] for i in range(width)]
    assert bits == sequence(width, seed, len(bits))


@pytest.mark.parametrize("degree", LAGS)
def test_random_bits_have_the_greatest_period(degree: int) -> None:
    # The order of x modulo the recurrence's polynomial divides 2^degree - 1, and no proper part.
    fermat = {
        2**4 + 1: (17,),
        2**8 + 1: (257,),
        2**16 + 1: (65537,),
        2**32 + 1: (641, 6700417),
        2**64 + 1: (274177, 67280421310721),
        2**128 + 1: (59649589127497217, 5704689200685129054721),
    }
    primes = [3, 5]
    for number, factors in fermat.items():
        assert math.prod(factors) == number
        if number < 1 << degree:
            primes += factors
    assert math.prod(primes) == (1 << degree) - 1

    polynomial = 1 << degree
    for lag in LAGS[degree]:
        polynomial |= 1 << degree - lag

    def product(a: int, b: int) -> int:
        result = 0
        while b:
            if b & 1:
                result ^= a
            a <<= 1
            if a >> degree:
                a ^= polynomial
            b >>= 1
        return result

    def power(exponent: int) -> int:
        result, base = 1, 2
        while exponent:
            if exponent & 1:
                result = product(result, base)
            base = product(base, base)
            exponent >>= 1
        return result

    order = (1 << degree) - 1
    assert power(order) == 1
    for prime in primes:
        assert power(order // prime) != 1


@pytest.mark.parametrize("width", [1, 3, 12, 80])
def test_random_bits_are_balanced_and_do_not_follow_each_other(width: int) -> None:
    count = 4000
    seen = values(width, scattered_seed(7, width), count + 2)[1:]
    limit = 4.5 / math.sqrt(count)
    for i in range(width):
        bits = [1 - 2 * (value >> i & 1) for value in seen]
        assert abs(sum(bits) / len(bits)) < limit
        pairs = [a * b for a, b in itertools.pairwise(bits)]
        assert abs(sum(pairs) / len(pairs)) < limit
        if i:
            with_lower = [a * (1 - 2 * (value >> i - 1 & 1)) for a, value in zip(bits, seen)]
            assert abs(sum(with_lower) / len(with_lower)) < limit


def test_scattered_seeds_differ_in_half_their_bits() -> None:
    seeds = [scattered_seed(stage, box) for stage in range(8) for box in range(64)]
    assert len(set(seeds)) == len(seeds)
    assert all(0 < seed < 1 << 32 for seed in seeds)
    distances = [(a ^ b).bit_count() for a, b in itertools.pairwise(seeds)]
    mean = sum(distances) / len(distances)
    assert abs(mean - 16) < 4 * math.sqrt(8 / len(distances))


test_random_bits_rejects_width = refusals(
    RandomBits,
    (0, "Width must be from 1 to 256, not 0"),
    (257, "Width must be from 1 to 256, not 257"),
    (1.5, TypeError, "Width must be an integer, not 1.5"),
)


@pytest.mark.parametrize("count", [2, 3, 4, 5, 8])
def test_random_order_is_uniform(count: int) -> None:
    order = RandomOrder(count)
    seen: Counter[tuple[int, ...]] = Counter()
    steps: Counter[tuple[bool, bool]] = Counter()

    async def testbench(ctx: Any) -> None:
        ctx.set(order.seed, scattered_seed(count))
        before = None
        for cycle in range(3000):
            rows = [ctx.get(row) for row in order.before]
            for i, j in itertools.combinations(range(count), 2):
                assert (rows[i] >> j & 1) != (rows[j] >> i & 1)
            ranks = tuple(count - 1 - row.bit_count() for row in rows)
            assert sorted(ranks) == list(range(count))
            if cycle > 20:
                seen[ranks] += 1
                first = ranks[0] < ranks[1]
                if before is not None:
                    steps[before, first] += 1
                before = first
            await ctx.tick()

    exercise(order, testbench)
    if count <= 5:
        orders = [seen[ranks] for ranks in itertools.permutations(range(count))]
        # The orders of successive cycles are not quite independent, so take every fourth.
        assert stats.chisquare([number / 4 for number in orders]).pvalue > UNLIKELY
    for item in range(count):
        ranks = Counter(dict.fromkeys(range(count), 0))
        for order_, times in seen.items():
            ranks[order_[item]] += times
        assert stats.chisquare(list(ranks.values())).pvalue > UNLIKELY
    assert stats.chisquare(list(steps.values())).pvalue > UNLIKELY


@pytest.mark.parametrize("count", [0, 65])
def test_random_order_rejects_count(count: int) -> None:
    with pytest.raises(ValueError, match=rf"^Count must be from 1 to 64, not {count}$"):
        RandomOrder(count)
