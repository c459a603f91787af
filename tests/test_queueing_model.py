"""The queueing model of Dandamudi and Eager by events, against their formula and against RTL.

The events know nothing of gates or of formulas: nodes, queues and packets are lists. Either each
link draws a new service time for a packet (Kleinrock's assumption), or the packet keeps its own, as
in the paper's simulation and in hardware.
"""

import heapq
import random
from collections import deque
from collections.abc import Callable
from math import isfinite
from statistics import fmean, stdev

import pytest
from long_runs import long
from multicube.sim.papers.dandamudi.delays_on_rtl import Point, clocked, measured
from multicube.sim.papers.item import Options
from multicube.sim.theory.hierarchical import Hypercube, Rates, TwoLevel

SEED = 7
PARTS = 16
T99 = 2.947
"""Student's t for 99 % and 15 degrees of freedom."""


def by_events(
    network: Hypercube | TwoLevel, alpha: float, rates: Rates, *, keeps: bool, time: float
) -> tuple[float, float]:
    """Mean delay of BH or BH/BH with random routing, and half its 99 % confidence interval.

    With a clock, lengths and the gaps between a node's packets are geometric.
    """
    print("seed", SEED)
    draw = random.Random(SEED)
    d, mask = network.cluster, (1 << network.cluster) - 1

    def geometric(mean: float) -> float:
        count = 1
        while draw.random() >= 1 / mean:
            count += 1
        return count

    def exponential() -> float:
        return draw.expovariate(1)

    length: Callable[[], float] = exponential
    gap: Callable[[], float] = exponential
    if isfinite(rates.length):
        mean_gap = 1 / (rates.arrival * rates.cycle)
        length = lambda: geometric(rates.length) / rates.length  # noqa: E731
        gap = lambda: geometric(mean_gap) / mean_gap  # noqa: E731

    def destination(source: int) -> int:
        if draw.random() < alpha:
            return source & ~mask | draw.randrange(mask + 1)
        other = draw.randrange((network.nodes >> d) - 1)
        return (other + (other >= source >> d) << d) | draw.randrange(mask + 1)

    def ways(node: int, to: int) -> int:
        """The bits of a node's number that a packet may change next."""
        if isinstance(network, Hypercube) or (node ^ to) >> d == 0:
            return node ^ to
        return node & mask or (node ^ to) & ~mask

    queues: dict[tuple[int, int], deque[tuple[float, float, int]]] = {}
    delays: list[list[float]] = [[] for _ in range(PARTS)]
    events: list[tuple[float, int, int, int]] = []
    warmup = time / 4

    def serve(now: float, node: int, bit: int) -> None:
        own = queues[node, bit][0][1] if keeps else length()
        rate = rates.cluster if bit <= mask else rates.joining
        heapq.heappush(events, (now + own / rate, 1, node, bit))

    def arrive(now: float, node: int, packet: tuple[float, float, int]) -> None:
        born, _, to = packet
        if node == to:
            if warmup <= born < time:
                delays[int((born - warmup) / (time - warmup) * PARTS)].append(now - born)
            return
        bits = ways(node, to)
        bit = draw.choice([1 << i for i in range(bits.bit_length()) if bits >> i & 1])
        queue = queues.setdefault((node, bit), deque())
        queue.append(packet)
        if len(queue) == 1:
            serve(now, node, bit)

    for node in range(network.nodes):
        heapq.heappush(events, (gap() / rates.arrival, 0, node, 0))
    while events:
        now, served, node, bit = heapq.heappop(events)
        if served:
            packet = queues[node, bit].popleft()
            if queues[node, bit]:
                serve(now, node, bit)
            arrive(now, node ^ bit, packet)
        elif now < time:
            heapq.heappush(events, (now + gap() / rates.arrival, 0, node, 0))
            arrive(now, node, (now, length(), destination(node)))
    means = [fmean(part) for part in delays]
    every = [delay for part in delays for delay in part]
    return fmean(every), T99 * stdev(means) / PARTS**0.5


NETWORK, RATES = TwoLevel("bh", 3, 3), Rates(1, 1.5, 3)


@pytest.mark.parametrize(("alpha", "time"), [(0.8, 300), long(0.8, 5000), long(0.6, 20_000)])
def test_new_lengths_on_each_link_give_the_formula(alpha: float, time: float) -> None:
    """With Kleinrock's assumption the model is a Jackson network, and the formula is exact."""
    delay, ci99 = by_events(NETWORK, alpha, RATES, keeps=False, time=time)
    assert ci99 < 0.08 * delay
    assert delay == pytest.approx(NETWORK.delay(alpha, RATES), abs=1.2 * ci99)


@pytest.mark.parametrize(("length", "time"), [(4, 300), long(4, 5000), long(16, 5000)])
def test_formula_with_a_clock(length: int, time: float) -> None:
    rates = clocked(NETWORK, RATES, length)
    delay, ci99 = by_events(NETWORK, 0.8, rates, keeps=False, time=time)
    assert delay == pytest.approx(NETWORK.delay(0.8, rates), abs=1.2 * ci99)


@pytest.mark.long
def test_packets_that_keep_their_lengths() -> None:
    """At alpha 0.8 it lengthens delays, by less than 3 %."""
    kept, ci99 = by_events(NETWORK, 0.8, RATES, keeps=True, time=20_000)
    formula = NETWORK.delay(0.8, RATES)
    assert formula < kept - 0.5 * ci99 < kept < 1.03 * formula


@pytest.mark.long
@pytest.mark.parametrize("alpha", [0.6, 0.8])
def test_rtl_is_the_model_with_a_clock(alpha: float) -> None:
    """Same packets, same clock, same delays: with lengths of four flits, far from the formula."""
    rates = clocked(NETWORK, RATES, 4)
    delay, ci99 = by_events(NETWORK, alpha, rates, keeps=True, time=5000)
    (found,) = measured([Point(NETWORK, alpha, RATES, 4, 10_000)], Options(seed=SEED))
    assert found is not None
    assert found.ci99 is not None
    assert found.delay == pytest.approx(delay, abs=1.2 * (ci99**2 + found.ci99**2) ** 0.5)
