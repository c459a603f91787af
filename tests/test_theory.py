"""The formulas of Siegel et al., section VI, against numbers worked out by hand and limits."""

import itertools
import math
from fractions import Fraction

import pytest
from multicube.hdl.networks import build
from multicube.sim.theory import predicted_latency
from multicube.sim.theory.multistage_cube import (
    buffered_delay,
    crossbar_throughput,
    first_stage_waiting,
    later_stage_waiting,
    unbuffered_bandwidth_limit,
    unbuffered_stages,
    unbuffered_throughput,
    unbuffered_throughput_approximation,
)

RADICES = (2, 3, 4, 8)
LOADS = (0.05, 0.3, 0.5, 0.7, 0.95, 1)


def test_recurrence_by_hand() -> None:
    # k = 2, p = 1: 1 - (1 - 1/2)^2 = 3/4, then 1 - (5/8)^2 = 39/64, 1 - (89/128)^2 = 8463/16384.
    exact = [Fraction(3, 4), Fraction(39, 64), Fraction(8463, 16384)]
    assert list(itertools.islice(unbuffered_stages(1, 2), 3)) == [float(x) for x in exact]
    assert unbuffered_throughput(1, 2, 3) == float(exact[-1])


@pytest.mark.parametrize(("k", "stages", "known"), [(2, 4, 0.4498), (4, 2, 0.5275)])
def test_recurrence_for_16_by_16(k: int, stages: int, known: float) -> None:
    assert round(unbuffered_throughput(1, k, stages), 4) == known


@pytest.mark.parametrize("k", RADICES)
@pytest.mark.parametrize("p", LOADS)
def test_approximation_is_an_upper_bound(p: float, k: int) -> None:
    for stages in range(1, 30):
        exact = unbuffered_throughput(p, k, stages)
        assert exact < unbuffered_throughput_approximation(p, k, stages)
    far = unbuffered_throughput(p, k, 20_000)
    assert unbuffered_throughput_approximation(p, k, 20_000) == pytest.approx(far, rel=0.002)
    assert unbuffered_bandwidth_limit(k, 20_000) == pytest.approx(far, rel=0.01)


def test_approximation_by_hand() -> None:
    # k = 2, four stages, p = 1: 1 / (4/4 + 1) = 1/2.
    assert unbuffered_throughput_approximation(1, 2, 4) == 0.5
    assert unbuffered_bandwidth_limit(2, 8) == 0.5
    assert unbuffered_throughput_approximation(0, 2, 4) == 0
    assert unbuffered_throughput(0, 2, 4) == 0
    assert unbuffered_throughput(0.25, 2, 0) == 0.25


def test_crossbar_tends_to_its_limit() -> None:
    assert crossbar_throughput(1, 2) == 0.75
    for p in LOADS:
        assert crossbar_throughput(p, 10**6) == pytest.approx(1 - math.exp(-p), rel=1e-5)


def test_first_stage_by_hand() -> None:
    # (1 - 1/2) 0.5 / (2 * 0.5) = 1/4; c = 4, k = 2, p = 0.125: (4 - 1/2) 0.5 / (2 * 0.5) = 7/4.
    assert first_stage_waiting(0.5, 2) == 0.25
    assert first_stage_waiting(0.75, 4) == pytest.approx(0.75 * 0.75 / 0.5)
    assert first_stage_waiting(0.125, 2, 4) == 1.75
    assert first_stage_waiting(0, 2) == 0


@pytest.mark.parametrize("k", RADICES)
@pytest.mark.parametrize("p", [0.1, 0.3, 0.5, 0.7, 0.9])
def test_first_stage_of_single_packets(p: float, k: int) -> None:
    # The queue itself: arrivals of a cycle are binomial (k, p/k), one packet leaves in each.
    # Its length before arrivals has the stationary distribution of this Markov chain.
    arrivals = [math.comb(k, a) * (p / k) ** a * (1 - p / k) ** (k - a) for a in range(k + 1)]
    length = [1.0] + [0.0] * 600
    for _ in range(2500 if p == 0.9 else 600):
        after = [0.0] * (len(length) + k)
        for queued, chance in enumerate(length):
            if chance > 1e-18:
                for a, likely in enumerate(arrivals):
                    after[max(queued + a - 1, 0)] += chance * likely
        length = after[:601]
    # A packet waits for all queued before its cycle, and on average for half of the others of it.
    others = sum(a * (a - 1) * likely for a, likely in enumerate(arrivals)) / p
    waiting = sum(queued * chance for queued, chance in enumerate(length)) + others / 2
    assert first_stage_waiting(p, k) == pytest.approx(waiting, rel=2e-3)


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_many_inputs_are_a_poisson_queue(p: float) -> None:
    # M/D/1: p / 2 (1 - p) services, for packets of any length.
    assert first_stage_waiting(p, 10**9) == pytest.approx(p / (2 * (1 - p)))
    assert first_stage_waiting(p / 8, 10**9, 8) == pytest.approx(8 * p / (2 * (1 - p)))


def test_later_stage_by_hand() -> None:
    # 1 + 4 * 0.5 / 10 = 1.2.
    assert later_stage_waiting(0.5, 2) == pytest.approx(1.2 * 0.25)
    assert later_stage_waiting(0.125, 2, 4) == pytest.approx(1.2 * 1.75)
    assert later_stage_waiting(0.7, 10**9) == pytest.approx(first_stage_waiting(0.7, 10**9))


def test_delay_by_hand() -> None:
    # Three stages of 2 x 2 at half load: 3 + 1/4 + 2 * 0.3.
    assert buffered_delay(0.5, 2, 3) == pytest.approx(3.85)
    assert buffered_delay(0, 2, 3) == 3
    assert buffered_delay(0, 2, 3, 4) == 3 + 4 - 1
    assert buffered_delay(0, 2, 3, 4, cut_through=False) == 12
    assert buffered_delay(0.5, 8, 1) == 1 + first_stage_waiting(0.5, 8)


@pytest.mark.parametrize(("p", "c"), [(1, 1), (0.5, 2), (0.25, 5)])
def test_waiting_rejects_full_load(p: float, c: int) -> None:
    message = rf"^Traffic intensity c\*p must be below 1, not {c * p}$"
    for function in (first_stage_waiting, later_stage_waiting):
        with pytest.raises(ValueError, match=message):
            function(p, 2, c)
    with pytest.raises(ValueError, match=message):
        buffered_delay(p, 2, 3, c)


@pytest.mark.parametrize("p", [-0.1, 1.5, math.nan])
def test_formulas_reject_load(p: float) -> None:
    for call in (
        lambda: first_stage_waiting(p, 2),
        lambda: unbuffered_throughput(p, 2, 3),
        lambda: unbuffered_throughput_approximation(p, 2, 3),
        lambda: crossbar_throughput(p, 16),
    ):
        with pytest.raises(ValueError, match=rf"^Load p must be from 0 to 1, not {p}$"):
            call()


def test_prediction_applies_where_the_formula_does() -> None:
    queued = build("cube", ports=16, radix=4)
    assert predicted_latency(queued, 0.5, uniform=True) == buffered_delay(0.5, 4, 2)
    assert predicted_latency(queued, 0.5, uniform=False) is None
    assert predicted_latency(queued, 1, uniform=True) is None
    assert predicted_latency(build("cube", switch="input-queued"), 0.5, uniform=True) is None
