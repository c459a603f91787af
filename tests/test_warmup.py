"""When a network counts as steady."""

from collections.abc import Sequence

import numpy as np
import pytest
from multicube.hdl import build
from multicube.sim import Result, simulate
from multicube.sim.run.warmup import MAXIMUM, MINIMUM, is_settled


def settles_at(population: Sequence[float]) -> int | None:
    """How many samples it takes until the series counts as steady."""
    for count in range(len(population) + 1):
        if is_settled(population[:count]):
            return count
    return None


def noise(seed: int, correlation: float = 0.3) -> np.ndarray:
    """A steady series whose samples depend a little on those before."""
    print("seed", seed)
    steps = np.random.default_rng(seed).normal(size=MAXIMUM)
    series = [steps[0]]
    for step in steps[1:]:
        series.append(correlation * series[-1] + step * (1 - correlation**2) ** 0.5)
    return np.array(series)


def test_few_samples_say_nothing() -> None:
    assert not is_settled([])
    assert not is_settled([5] * (MINIMUM - 1))
    assert is_settled([5] * MINIMUM)
    assert is_settled([0] * MINIMUM)


def test_ramp_never_settles() -> None:
    assert settles_at(range(MAXIMUM)) is None
    assert settles_at(range(MAXIMUM, 0, -1)) is None


@pytest.mark.parametrize("seed", range(10))
def test_noisy_ramp_never_settles(seed: int) -> None:
    # Each sample grows by as much as chance moves it: a network well above saturation.
    assert settles_at(1.0 * np.arange(MAXIMUM) + noise(seed)) is None


def test_plateau_settles_when_the_ramp_is_a_third() -> None:
    population = [*range(0, 60, 6), *[60] * (MAXIMUM - 10)]
    assert settles_at(population) == 30


@pytest.mark.parametrize("tau", [1, 3, 6, 10])
def test_exponential_approach_settles_when_it_is_over(tau: int) -> None:
    # The start must be cut off, and what is left must be three times as long.
    population = 1000 * (1 - np.exp(-np.arange(MAXIMUM) / tau)) + noise(tau)
    count = settles_at(population)
    assert count is None or count > 6 * tau
    if tau <= 3:
        assert count is not None


@pytest.mark.parametrize("seed", range(20))
def test_steady_noise_settles_soon(seed: int) -> None:
    count = settles_at(100 + 10 * noise(seed))
    assert count is not None
    assert count <= 40


@pytest.mark.one_in(2)
@pytest.mark.parametrize("load", [0, 0.05, 0.5])
def test_low_loads_settle(load: float) -> None:
    result = simulate(build("cube", ports=4), load=load, cycles=2000, bins=32)
    assert result.settled
    assert 200 <= result.warmup <= 600
    assert not result.saturated
    assert result.verdict.startswith("not saturated: ")


def overloaded(source_depth: int) -> Result:
    network = build("cube", ports=2, switch="input-queued", depth=2)
    return simulate(network, load=1, cycles=200, bins=32, source_depth=source_depth)


@pytest.mark.long
def test_saturated_network_does_not_settle() -> None:
    # Queues in front of the network grow without end, and the verdict says so.
    result = overloaded(source_depth=4096)
    assert not result.settled
    assert result.warmup == MAXIMUM * 25
    assert result.rejected == 0
    assert result.saturated
    assert "more packets were waiting at the end" in result.verdict


def test_full_queues_are_a_steady_state() -> None:
    # All queues are full long before the window: the state is steady, and saturated.
    result = overloaded(source_depth=8)
    assert result.settled
    assert result.saturated
    assert f"{result.rejected} packets found their source's queue full" in result.verdict


@pytest.mark.parametrize("warmup", [0, 7])
def test_warmup_by_hand(warmup: int) -> None:
    result = simulate(build("cube", ports=2), load=0.2, cycles=50, warmup=warmup, bins=32)
    assert result.warmup == warmup
    assert result.settled
