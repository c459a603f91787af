"""Arbiters of many requests, against models in Python."""

import random
from collections.abc import Sequence
from itertools import permutations
from typing import Any

import pytest
from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from driving import exercise
from multicube.hdl.primitives import arbiters as arbiters_module
from multicube.hdl.primitives.arbiters import arbitrate
from multicube.hdl.primitives.round_robin import lowest_rank, number_of


class Arbiter(wiring.Component):
    """An arbiter that chooses anew in every cycle; of "unused", not all grants count."""

    def __init__(self, arbiter: str, count: int) -> None:
        self.arbiter = arbiter
        super().__init__({"request": In(count), "used": In(1, init=1), "granted": Out(count)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        if self.arbiter == "unused":
            granted = arbiters_module.least_recent(m, "arbiter", self.request, self.used)
        else:
            granted = arbitrate(m, self.arbiter, "arbiter", self.request, Const(1, 32))
        m.d.comb += self.granted.eq(granted)
        return m


def least_recent(order: list[int], request: int) -> int:
    """The granted one, one-hot; it moves to the end of the order."""
    for number in order:
        if request >> number & 1:
            order.remove(number)
            order.append(number)
            return 1 << number
    return 0


def check(dut: Arbiter, requests: Sequence[int]) -> None:
    count = len(dut.request)

    async def testbench(ctx: Any) -> None:
        order = [*range(count)]
        for cycle, request in enumerate(requests):
            ctx.set(dut.request, request)
            assert ctx.get(dut.granted) == least_recent(order, request), (cycle, request)
            await ctx.tick()

    exercise(dut, testbench)


@pytest.mark.parametrize("count", [3, 4])
def test_least_recent_of_ranks_in_every_order(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    """Every set of requests, in every order of the last grants."""
    monkeypatch.setattr(arbiters_module, "_PAIRS", 0)
    requests: list[int] = []
    for order in permutations(range(count)):
        for request in range(1 << count):
            requests += [*(1 << number for number in order), request]
    check(Arbiter("least-recent", count), requests)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("count", [2, 8, 9, 17])
def test_least_recent_follows_the_model(count: int) -> None:
    rng = random.Random(count)
    requests = [
        rng.getrandbits(count) & rng.getrandbits(count) & -rng.getrandbits(1) for _ in range(150)
    ]
    check(Arbiter("least-recent", count), requests)


@pytest.mark.parametrize("count", [4, 9])
def test_grants_that_are_not_used_do_not_count(count: int) -> None:
    rng = random.Random(count)
    dut = Arbiter("unused", count)

    async def testbench(ctx: Any) -> None:
        order = [*range(count)]
        for cycle in range(100):
            request, used = rng.getrandbits(count), rng.getrandbits(1)
            ctx.set(dut.request, request)
            ctx.set(dut.used, used)
            granted = least_recent(order if used else [*order], request)
            assert ctx.get(dut.granted) == granted, (cycle, request)
            await ctx.tick()

    exercise(dut, testbench)


class Lowest(wiring.Component):
    """The request of the lowest rank, for ranks that change by one cycle after cycle."""

    request: In(9)
    granted: Out(9)
    number: Out(4)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        ranks = [Signal(4, init=rank, name=f"rank_{i}") for i, rank in enumerate(RANKS)]
        m.d.sync += [rank.eq(Mux(rank == 8, 0, rank + 1)) for rank in ranks]
        planes = [Cat(rank[b] for rank in ranks) for b in range(4)]
        m.d.comb += [
            self.granted.eq(lowest_rank(m, "one", self.request, planes)),
            self.number.eq(number_of(self.granted)),
        ]
        return m


RANKS = [5, 2, 7, 8, 0, 3, 6, 1, 4]


def test_lowest_rank_and_number() -> None:
    """The request of the lowest rank, and its number, for every set of requests of nine."""
    dut = Lowest()

    async def testbench(ctx: Any) -> None:
        for value in range(1 << 9):
            ctx.set(dut.request, value)
            ranks = {i: (rank + value) % 9 for i, rank in enumerate(RANKS) if value >> i & 1}
            best = min(ranks, key=ranks.__getitem__, default=None)
            assert ctx.get(dut.granted) == (0 if best is None else 1 << best)
            assert ctx.get(dut.number) == (best or 0)
            await ctx.tick()

    exercise(dut, testbench)
