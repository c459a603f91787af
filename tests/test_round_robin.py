# amaranth: UnusedElaboratable=no
"""The arbiter: its grant, its hold, and its bound on waiting."""

import itertools
import random
from collections.abc import Callable
from typing import Any

import pytest
from amaranth.hdl import Cat
from driving import exercise
from multicube.hdl.primitives.round_robin import RoundRobin

COUNTS = [1, 2, 3, 4, 5, 8, 9, 20]


def grants(
    count: int, stimulus: Callable[[int | None], tuple[int, bool]]
) -> list[tuple[int, bool, int]]:
    """(request, taken, grant) of 600 cycles; `stimulus` is told whom the last cycle served."""
    arbiter = RoundRobin(count)
    cycles: list[tuple[int, bool, int]] = []

    async def testbench(ctx: Any) -> None:
        served: int | None = None
        for _ in range(600):
            request, taken = stimulus(served)
            ctx.set(Cat(arbiter.request, arbiter.taken), request | taken << count)
            grant = ctx.get(arbiter.grant)
            assert ctx.get(arbiter.granted) == (request and 1 << grant)
            served = grant if taken and request else None
            cycles.append((request, taken, grant))
            await ctx.tick()

    exercise(arbiter, testbench)
    return cycles


def patient(count: int, seed: int) -> Callable[[int | None], tuple[int, bool]]:
    """Requests at random, each of which stays until it is served."""
    generator = random.Random(seed)
    print(f"seed {seed}")
    pending = 0

    def stimulus(served: int | None) -> tuple[int, bool]:
        nonlocal pending
        if served is not None:
            pending &= ~(1 << served)
        for i in range(count):
            pending |= (generator.random() < 0.4) << i
        return pending, generator.random() < 0.6

    return stimulus


@pytest.mark.parametrize("count", COUNTS)
def test_round_robin_grants_a_request(count: int) -> None:
    generator = random.Random(count)
    print(f"seed {count}")
    cycles = grants(count, lambda _: (generator.getrandbits(count), generator.random() < 0.5))
    for request, _, grant in cycles:
        assert not request or request >> grant & 1
    assert {grant for request, _, grant in cycles if request} == set(range(count))


@pytest.mark.parametrize("count", COUNTS)
def test_round_robin_holds_a_grant_until_it_is_taken(count: int) -> None:
    cycles = grants(count, patient(count, 100 + count))
    held = 0
    for (request, taken, grant), (_, _, following) in itertools.pairwise(cycles):
        if request and not taken:
            assert following == grant
            held += 1
    assert held > 50


@pytest.mark.parametrize("count", COUNTS)
def test_round_robin_bounds_the_wait(count: int) -> None:
    """A request that stays up waits for at most count - 1 others, and some wait as long."""
    waits = [0] * count
    longest = 0
    for request, taken, grant in grants(count, patient(count, 200 + count)):
        if not request or not taken:
            continue
        for i in range(count):
            if request >> i & 1 and i != grant:
                waits[i] += 1
                longest = max(longest, waits[i])
        waits[grant] = 0
    assert longest == count - 1


@pytest.mark.parametrize("count", COUNTS)
def test_round_robin_takes_turns_when_all_request(count: int) -> None:
    cycles = grants(count, lambda _: ((1 << count) - 1, True))
    assert [grant for _, _, grant in cycles] == [cycle % count for cycle in range(len(cycles))]


@pytest.mark.parametrize("count", ["2", 2.0, None, True])
def test_round_robin_rejects_count_of_a_wrong_type(count: object) -> None:
    with pytest.raises(TypeError, match=rf"^Count must be an integer, not {count!r}$"):
        RoundRobin(count)


@pytest.mark.parametrize("count", [-1, 0])
def test_round_robin_rejects_count_below_one(count: int) -> None:
    with pytest.raises(ValueError, match=rf"^Count must be at least 1, not {count}$"):
        RoundRobin(count)
