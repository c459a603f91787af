"""Waiting times of packets of c cycles (Siegel et al., section VI-D), by a model of packets.

The model knows nothing of the library: a queue is a server that takes c cycles a packet, and the
packets of a stage go on to the next one. It decides between two readings of the formula for later
stages: with (c - 1/k), as printed, or with c (1 - 1/k).
"""

import numpy as np
import pytest
from long_runs import long
from multicube.hdl import build
from multicube.sim import simulate
from multicube.sim.theory.buffered_delay import (
    first_stage_waiting,
    later_stage_waiting,
    serial_delay,
)

SEED = 3


def starts(queue: np.ndarray, time: np.ndarray, c: int, rng: np.random.Generator) -> np.ndarray:
    """When each packet is first served, if each queue serves its packets in order of arrival.

    A packet starts when it arrives, or c cycles after the one before it: so the latest of
    time[j] + c (i - j) over the packets j up to i of its queue.
    """
    order = np.lexsort((rng.random(time.size), time, queue))
    own, rank = queue[order], c * np.arange(time.size)
    early = time[order] - rank
    early -= early.min()
    apart = own * (early.max() + 1)
    found = np.empty_like(time)
    found[order] = np.maximum.accumulate(early + apart) - apart + rank + (time[order] - rank).min()
    return found


def waiting(
    traffic: float, k: int, stages: int, c: int, cycles: int, *, serial: bool
) -> list[float]:
    """Mean waiting in the source, if it sends one flit per cycle, and in each stage."""
    print("seed", SEED)
    rng = np.random.default_rng(SEED)
    ports = k**stages
    source, born = np.nonzero(rng.random((ports, cycles)) < traffic / c)
    target = rng.integers(ports, size=source.size)
    queues = [source] if serial else []
    rests = [k ** (stages - stage) for stage in range(1, stages + 1)]
    queues += [target // rest * rest + source % rest for rest in rests]
    steady = born > cycles // 8
    time, means = born, []
    for queue in queues:
        start = starts(queue, time, c, rng)
        means.append(float((start - time)[steady].mean()))
        time = start + 1
    return means


def test_starts_by_hand() -> None:
    # Queue 0: a packet at 5 delays those at 6 and 7 to 9 and 13; the one at 30 finds it empty.
    queue, time = np.array([0, 1, 0, 0, 0]), np.array([7, 2, 5, 30, 6])
    found = starts(queue, time, 4, np.random.default_rng(1))
    assert found.tolist() == [13, 2, 5, 30, 9]


CASES = [(2, 6, 4, 0.5), *(long(*case) for case in ((4, 4, 4, 0.5), (2, 6, 16, 0.5)))]
CASES += [long(*case) for case in ((2, 6, 2, 0.7), (4, 4, 4, 0.7), (2, 6, 4, 0.2))]


@pytest.mark.parametrize(("k", "stages", "c", "traffic"), CASES)
def test_first_stage_is_as_printed_and_later_ones_are_not(
    k: int, stages: int, c: int, traffic: float
) -> None:
    means = waiting(traffic, k, stages, c, 400_000 * c // k**stages, serial=False)
    p = traffic / c
    assert means[0] == pytest.approx(first_stage_waiting(p, k, c), rel=0.03)
    later = later_stage_waiting(p, k, c)
    printed = (1 + 4 * traffic / (5 * k)) * first_stage_waiting(p, k, c)
    assert later == pytest.approx(printed * c * (1 - 1 / k) / (c - 1 / k))
    for mean in means[1:]:
        assert mean == pytest.approx(later, rel=0.05)
        assert mean < 0.85 * printed


@pytest.mark.parametrize(("k", "stages", "c", "traffic"), CASES)
def test_sources_that_send_flits(k: int, stages: int, c: int, traffic: float) -> None:
    """Equation (3) with k = 1 in the source; then all stages are like later ones."""
    source, *stage = waiting(traffic, k, stages, c, 400_000 * c // k**stages, serial=True)
    assert source == pytest.approx(first_stage_waiting(traffic / c, 1, c), rel=0.03)
    for mean in stage[1:]:
        assert mean == pytest.approx(later_stage_waiting(traffic / c, k, c), rel=0.05)
    latency = source + sum(stage) + stages + c - 1
    assert serial_delay(traffic / c, k, stages, c) == pytest.approx(latency, rel=0.03)


@pytest.mark.parametrize(("k", "c"), [(k, c) for k in (2, 4) for c in (1, 3, 8)])
def test_light_traffic(k: int, c: int) -> None:
    """The slope at p = 0, where a packet waits for at most one other.

    That one is on another line to the same box, wants the same output (1/k), and came up to c - 1
    cycles before, or in the same cycle and is served first (1/2).
    """
    waits = sum(c - before for before in range(1, c)) + c / 2
    slope = (k - 1) / k * waits
    assert later_stage_waiting(1e-9, k, c) / 1e-9 == pytest.approx(slope)


@pytest.mark.long
@pytest.mark.parametrize(("k", "stages", "c"), [(2, 4, 4), (4, 3, 4), (2, 6, 8)])
def test_hardware_has_the_waiting_of_the_model(k: int, stages: int, c: int) -> None:
    """With queues that are hardly ever full, at half traffic."""
    print("seed", SEED)
    network = build(
        "cube", ports=k**stages, radix=k, switch="cut-through", queues="crosspoint",
        length=c, depth=8 * c,
    )  # fmt: skip
    result = simulate(network, load=0.5 / c, cycles=800_000 // k**stages, seed=SEED, bins=16)
    means = waiting(0.5, k, stages, c, 400_000 * c // k**stages, serial=True)
    expected = sum(means) + stages + c - 1
    assert result.latency.mean == pytest.approx(expected, abs=1.2 * result.latency.ci99)
    inside = result.network_latency.mean
    assert inside == pytest.approx(expected - means[0], rel=0.03)
