"""Whether intervals hold the truth as often as they say, and windows are long enough."""

from collections.abc import Sequence

import numpy as np
import pytest
from long_runs import long
from multicube.hdl import Network, build
from multicube.sim import Result, Run, pattern, simulate, simulate_runs
from multicube.sim.measure.confidence_intervals import PARTS, ratio_estimate
from multicube.sim.measure.saturation import Balance

RUNS = 200


def results(network: Network, load: float) -> list[Result]:
    """Independent runs, whose windows grow until the results are precise."""
    print(f"seeds 1 to {RUNS}")
    uniform = pattern("uniform", network.ports)
    runs = [Run(uniform, load, seed=seed) for seed in range(1, RUNS + 1)]
    return simulate_runs(network, runs, bins=2)


def holding(found: Sequence[Result], mean: float, doubt: float = 0) -> float:
    """The fraction of intervals of mean latency that hold a value known within `doubt`."""
    widths = [(result.latency.ci99**2 + doubt**2) ** 0.5 for result in found]
    return np.mean([abs(r.latency.mean - mean) <= w for r, w in zip(found, widths)])


@pytest.mark.long
@pytest.mark.parametrize(
    ("radix", "load"), [(2, 0.5), (4, 0.7), (2, 0.8), (2, 0.9), (8, 0.9), (2, 0.95)]
)
def test_intervals_hold_the_exact_mean(radix: int, load: float) -> None:
    """One box with unlimited output queues: the mean wait is (1 - 1/k) p / (2 (1 - p)), exactly.

    In a cycle a queue gets a binomial number of packets, and sends one of them on. Of 200 intervals
    of 99 % at least 97 % must hold the mean, although windows end when their intervals are narrow.
    """
    network = build("cube", ports=radix, radix=radix, depth=256)
    exact = 1 + (1 - 1 / radix) * load / (2 * (1 - load))
    found = results(network, load)
    assert holding(found, exact) >= 0.97
    assert np.mean([abs(r.throughput - load) <= r.throughput_ci99 for r in found]) >= 0.97
    # Packets that arrive after the window move the intervals a little.
    widths = [r.latency.ci99 / r.latency.mean for r in found if r.ended == "precise"]
    assert max(widths) <= 0.05
    late = [r.latency.ci99 / r.latency.mean for r in found if r.ended == "late"]
    assert len(late) < 0.1 * len(found)
    assert max(late, default=0) <= 0.08
    assert {result.ended for result in found} <= {"precise", "late", "limit"}
    assert all(result.cycles == 200_000 for result in found if result.ended == "limit")


def test_a_window_that_late_packets_made_too_wide_says_so() -> None:
    """What is called precise is precise; of these seeds some are not, and are called late."""
    network = build("cube", ports=2, depth=256)
    runs = [Run(pattern("uniform", 2), 0.8, seed=seed) for seed in range(25, 45)]
    found = simulate_runs(network, runs, bins=2)
    widths = {
        ended: [r.latency.ci99 / r.latency.mean for r in found if r.ended == ended]
        for ended in ("precise", "late")
    }
    assert max(widths["precise"]) <= 0.05 < max(widths["late"])


@pytest.mark.parametrize(
    ("words", "load"),
    [
        long("ring k=4 length=20 depth=4", 0.009),
        long("mesh k=3 n=2 length=20 depth=4", 0.012),
        long("mesh k=4 n=2 length=20 depth=8", 0.015),
    ],
)
def test_intervals_of_wormhole_networks(words: str, load: float) -> None:
    """Long packets, which wait for each other, against a run that is 100 times as long."""
    network = build(words)
    found = results(network, load)
    cycles = int(np.median([result.cycles for result in found]))
    truth = simulate(network, load=load, cycles=100 * cycles, seed=999, bins=2)
    assert truth.uncorrelated
    assert holding(found, truth.latency.mean, truth.latency.ci99) >= 0.97


@pytest.mark.long
def test_several_seeds_are_their_runs_together() -> None:
    network = build("torus", k=2, n=2, length=3)
    how = {"load": 0.05, "cycles": 600, "warmup": 100, "bins": 64}
    together = simulate(network, seed=5, seeds=3, **how)
    alone = [simulate(network, seed=seed, **how) for seed in (5, 6, 7)]
    for name in ("generated", "injected", "delivered"):
        assert getattr(together, name) == sum(getattr(result, name) for result in alone)
    histograms = [result.latency.histogram for result in alone]
    longest = max(map(len, histograms))
    padded = [counts + [0] * (longest - len(counts)) for counts in histograms]
    assert together.latency.histogram == [sum(counts) for counts in zip(*padded)]
    assert together.latency.max == max(result.latency.max for result in alone)
    assert together.throughput == pytest.approx(np.mean([result.throughput for result in alone]))
    for link, use in together.links.items():
        assert use == pytest.approx(np.mean([result.links[link] for result in alone]))
    # The interval of three independent means, by Student's t with two degrees of freedom.
    sums = np.array([r.latency.mean * sum(r.latency.histogram) for r in alone])
    counts = np.array([sum(r.latency.histogram) for r in alone])
    rest = sums - counts * sums.sum() / counts.sum()
    width = 9.9248 * (rest @ rest / 6) ** 0.5 / counts.mean()
    assert together.latency.ci99 == pytest.approx(width, rel=1e-4)


def test_latency_is_that_of_the_packets_born_in_the_window() -> None:
    """All of them arrive, and no others are timed: they are as many as were generated in it."""
    network = build("mesh", k=3, n=2, length=20, depth=4)
    found = simulate(network, load=0.012, cycles=300, warmup=200, bins=512)
    early = simulate(network, load=0.012, cycles=200, warmup=0, bins=512)
    both = simulate(network, load=0.012, cycles=500, warmup=0, bins=512)
    timed = [sum(result.latency.histogram) for result in (early, found, both)]
    assert timed[0] + timed[1] == timed[2]
    means = [result.latency.mean for result in (early, found, both)]
    assert timed[0] * means[0] + timed[1] * means[1] == pytest.approx(timed[2] * means[2])
    assert (early.untimed, found.untimed, both.untimed) == (0, 0, 0)
    # Fewer arrived in the short window than were born in it.
    assert timed[0] > sum(early.terminals["delivered"])


@pytest.mark.long
@pytest.mark.parametrize("precision", [0.02, 0.1])
def test_window_grows_to_the_precision(precision: float) -> None:
    network = build("cube", ports=8)
    found = simulate(network, load=0.5, precision=precision, bins=64)
    assert found.ended == "precise"
    assert found.latency.ci99 <= precision * found.latency.mean
    assert found.throughput_ci99 <= precision * found.throughput
    limited = simulate(network, load=0.7, precision=1e-4, limit=5000, bins=64)
    assert (limited.ended, limited.cycles) == ("limit", 5000)
    given = simulate(network, load=0.7, cycles=123, bins=64)
    assert (given.ended, given.cycles) == ("given", 123)


@pytest.mark.long
@pytest.mark.parametrize(
    ("load", "saturated"), [(0.7, False), (0.8, True), long(0.73, False), long(0.77, True)]
)
def test_saturation_of_input_queues(load: float, saturated: bool) -> None:
    """A 2 x 2 box with one queue an input carries exactly 3/4."""
    network = build("cube", ports=2, switch="input-queued", depth=64)
    found = simulate(network, load=load, bins=16)
    assert found.saturated is saturated
    assert found.verdict.startswith("saturated: " if saturated else "not saturated: ")


@pytest.mark.parametrize("seed", [long(1), long(2), long(3), long(4)])
def test_short_windows_near_saturation_decide_nothing(seed: int) -> None:
    """The mesh saturates between 0.0130 and 0.0135, as runs of 10^6 cycles show."""
    network = build("mesh", k=8, n=2, depth=8, length=20)
    uniform = pattern("uniform", 64)
    loads = [0.010, 0.012, 0.014, 0.018]
    short = simulate_runs(network, [Run(uniform, p, cycles=3000, seed=seed) for p in loads], bins=2)
    assert short[0].saturated is not True
    assert all(result.saturated is not False for result in short[2:])
    whole = simulate_runs(network, [Run(uniform, p, seed=seed) for p in loads], bins=2)
    assert [result.saturated for result in whole] == [False, False, True, True]


def test_correlated_parts_are_found() -> None:
    """Independent parts pass nearly always, those that depend on the last one hardly ever."""
    print("seed 8")
    draws = np.random.default_rng(8).normal(size=(500, PARTS))
    ones = np.ones(PARTS)
    passed = np.mean([ratio_estimate(10 + row, ones).uncorrelated for row in draws])
    assert 0.85 < passed <= 1  # pairs of parts are tried, too
    walks = np.cumsum(draws, axis=1)
    assert np.mean([ratio_estimate(100 + row, ones).uncorrelated for row in walks]) < 0.01


def test_balance() -> None:
    flat, grown = [100.0] * 64, [5.0, 1.0] * 32
    assert Balance(flat, [0.5, -0.5] * 32, 0, 1.0).saturated is False
    assert Balance(flat, [0.5, -0.5] * 32, 1, 1.0).saturated is True  # one was rejected
    assert Balance(flat, grown, 0, 1.0).saturated is True
    assert Balance(flat, [0.0] * 32 + grown[32:], 0, 1.0).saturated is True
    # Growth that is over in the second half is that of a network that becomes steady.
    assert Balance(flat, [20.0] * 8 + [0.1, -0.1] * 28, 0, 1.0).saturated is None
    # Growth that may be chance, or a window that is short for such latencies, tells nothing.
    print("seed 3")
    chance = list(np.random.default_rng(3).normal(0, 60, 64))
    assert Balance(flat, chance, 0, 1.0).saturated is None
    assert Balance(flat, [0.5, -0.5] * 32, 0, 10.0).saturated is None
    assert Balance([0.0] * 64, [0.0] * 64, 0, None).saturated is False
