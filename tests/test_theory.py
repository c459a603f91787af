"""The formulas of Siegel et al., section VI, against numbers worked out by hand and limits."""

import itertools
import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from multicube.hdl import build
from multicube.sim.theory import predict
from multicube.sim.theory.buffered_delay import (
    buffered_delay,
    first_stage_waiting,
    later_stage_waiting,
    serial_delay,
)
from multicube.sim.theory.hot_spot import hot_spot_limit
from multicube.sim.theory.unbuffered_bandwidth import (
    attempts,
    attempts_by_recurrence,
    crossbar_throughput,
    dilated_stages,
    dilated_throughput,
    replicated_throughput,
    returned_rate,
    survival,
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


@pytest.mark.one_in(12)
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
    # c = 4: 1.2 times 4 (1 - 1/2) 0.5 / (2 * 0.5) = 1.
    assert later_stage_waiting(0.125, 2, 4) == pytest.approx(1.2)
    for p in (0.1, 0.5, 0.9):
        assert later_stage_waiting(p / 8, 4, 8) == pytest.approx(8 * later_stage_waiting(p, 4))
    assert later_stage_waiting(0.7, 10**9) == pytest.approx(first_stage_waiting(0.7, 10**9))


def test_delay_by_hand() -> None:
    # Three stages of 2 x 2 at half load: 3 + 1/4 + 2 * 0.3.
    assert buffered_delay(0.5, 2, 3) == pytest.approx(3.85)
    assert buffered_delay(0, 2, 3) == 3
    assert buffered_delay(0, 2, 3, 4) == 3 + 4 - 1
    assert buffered_delay(0, 2, 3, 4, cut_through=False) == 12
    assert buffered_delay(0.5, 8, 1) == 1 + first_stage_waiting(0.5, 8)
    # k = 2, c = 4, half traffic: (4 - 1) 0.5 / (2 * 0.5) in the source, six times 1.2, and 6 + 3.
    assert serial_delay(0.125, 2, 6, 4) == pytest.approx(1.5 + 6 * 1.2 + 9)
    assert buffered_delay(0.125, 2, 6, 4) == pytest.approx(1.75 + 5 * 1.2 + 9)
    assert serial_delay(0.5, 2, 3) == buffered_delay(0.5, 2, 3)


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


def test_formulas_reject_networks_and_packets_that_there_are_not() -> None:
    with pytest.raises(ValueError, match=r"^Stages must be at least 0, not -1$"):
        unbuffered_throughput(0.5, 2, -1)
    with pytest.raises(ValueError, match=r"^Stages must be at least 1, not 0$"):
        buffered_delay(0.5, 2, 0)
    with pytest.raises(ValueError, match=r"^Radix k must be at least 1, not -2$"):
        buffered_delay(0.5, [2, -2], 2)
    with pytest.raises(
        ValueError, match=r"^Length c of a packet must be at least 1 cycle, not -1$"
    ):
        buffered_delay(0.5, 2, 3, -1)


def test_prediction_applies_where_the_formula_does() -> None:
    queued = build("cube", ports=16, radix=4, depth=8)
    assert predict(queued, 0.5, uniform=True)["latency_mean"] == buffered_delay(0.5, 4, 2)
    assert predict(queued, 0.5, uniform=False)["latency_mean"] is None
    assert predict(queued, 1, uniform=True)["latency_mean"] is None
    assert predict(build("cube", switch="input-queued"), 0.5, uniform=True)["latency_mean"] is None


@pytest.mark.parametrize(
    ("words", "applies"),
    [
        ({"length": 4}, True),
        ({"length": 1}, True),
        ({"length": "2:4"}, False),
        ({"length": 4, "queues": "input"}, False),
        ({"length": 4, "replication": 2}, False),
    ],
)
def test_prediction_for_long_packets(words: dict[str, object], applies: bool) -> None:
    """Crosspoint queues and packets of one length."""
    network = build("cube", switch="cut-through", depth=64, **{"queues": "crosspoint", **words})
    found = predict(network, 0.1, uniform=True)["latency_mean"]
    assert found == (serial_delay(0.1, 2, network.stages, words["length"]) if applies else None)
    assert predict(network, 0.5, uniform=True)["latency_mean"] is None or words["length"] == 1


def test_dilation_by_hand() -> None:
    # k = 2, two stages, d = 2, p = 1. A bundle of the first stage holds 0, 1, 2 packets in 1/4,
    # 1/2, 1/4 of all cycles; of two, 0, 1, 2 want an output in 1/4, 1/2, 1/4; of one, in 1/2.
    one = [Fraction(1, 4) + Fraction(1, 2) / 2 + Fraction(1, 4) / 4]
    one += [Fraction(1, 2) / 2 + Fraction(1, 4) / 2, Fraction(1, 4) / 4]
    assert sum(one) == 1
    none, single = one[0] ** 2, 2 * one[0] * one[1]
    assert dilated_throughput(1, 2, 2, 2) == pytest.approx(float(1 - none))
    both = float(single + 2 * (1 - none - single))
    assert dilated_throughput(1, 2, 2, 2, terminal_links=2) == pytest.approx(both)


@pytest.mark.parametrize("k", RADICES)
@pytest.mark.parametrize("p", [0, 0.3, 1])
def test_dilation_lies_between_the_network_and_the_crossbar(p: float, k: int) -> None:
    for stages in (1, 2, 3):
        single = unbuffered_throughput(p, k, stages)
        assert dilated_throughput(p, k, stages, 1) == pytest.approx(single)
        rates = [dilated_throughput(p, k, stages, d) for d in (1, 2, 3, 4)]
        assert rates == sorted(rates)
    # With as many links as packets can ever meet, only the terminals drop packets.
    wide = dilated_throughput(p, k, 2, k)
    assert wide == pytest.approx(crossbar_throughput(p, k**2))
    assert dilated_throughput(p, k, 2, k * k, terminal_links=k * k) == pytest.approx(p)


def test_dilation_of_many_stages() -> None:
    """Rounding errors do not grow from stage to stage."""
    assert dilated_throughput(1, 2, 500, 1) == pytest.approx(unbuffered_throughput(1, 2, 500))
    stages = itertools.islice(dilated_stages(1, 2, 2), 500)
    rates = [rate * math.sqrt(stage) for stage, rate in enumerate(stages, start=1)]
    assert rates[5] == pytest.approx(dilated_throughput(1, 2, 6, 2, terminal_links=2) * 6**0.5)
    assert rates[-1] == pytest.approx(rates[249], rel=0.05)


def sampled_dilation(p: float, k: int, stages: int, d: int, links: int, trials: int) -> np.ndarray:
    """Packets delivered a terminal in so many cycles of a network, followed one by one.

    After stage s a packet from `source` to `target` is on the line whose label has the first s
    digits of the target and the others of the source.
    """
    generator = np.random.default_rng(5)
    ports = k**stages
    source = np.tile(np.arange(ports), trials)
    trial = np.repeat(np.arange(trials), ports)
    there = generator.random(source.size) < p
    source, trial = source[there], trial[there]
    target = generator.integers(ports, size=source.size)
    for stage in range(1, stages + 1):
        rest = k ** (stages - stage)
        line = trial * ports + target // rest * rest + source % rest
        order = np.lexsort((generator.random(line.size), line))
        line, source, trial, target = (a[order] for a in (line, source, trial, target))
        place = np.arange(line.size) - np.searchsorted(line, line)
        kept = place < (d if stage < stages else links)
        source, trial, target = source[kept], trial[kept], target[kept]
    return np.bincount(trial, minlength=trials) / ports


@pytest.mark.one_in(2)
@pytest.mark.parametrize("p", [0.5, 1])
@pytest.mark.parametrize(("k", "stages", "d"), [(2, 6, 2), (2, 6, 4), (4, 3, 2), (3, 4, 3)])
def test_dilation_against_networks_of_python(p: float, k: int, stages: int, d: int) -> None:
    trials = 1500
    print("seed 5")
    for links in (1, d):
        sample = sampled_dilation(p, k, stages, d, links, trials)
        error = sample.std() / math.sqrt(trials)
        predicted = dilated_throughput(p, k, stages, d, terminal_links=links)
        assert abs(sample.mean() - predicted) < 4 * error
    # The same network without dilation is far off.
    assert abs(sample.mean() - unbuffered_throughput(p, k, stages)) > 10 * error


def test_replication_by_hand() -> None:
    # Two copies of one 2 x 2 box at p = 1: each carries 1 - (1 - 1/4)^2 = 7/16.
    assert replicated_throughput(1, 2, 1, 2) == pytest.approx(1 - (9 / 16) ** 2)
    for p in LOADS:
        assert replicated_throughput(p, 4, 3, 1) == pytest.approx(unbuffered_throughput(p, 4, 3))
        rates = [replicated_throughput(p, 4, 3, copies) for copies in (1, 2, 4, 8)]
        assert rates == sorted(rates)
        # Many copies leave the terminals only, each reached by a Poisson number of packets.
        assert replicated_throughput(p, 4, 3, 10**6) == pytest.approx(1 - math.exp(-p), rel=1e-5)


def test_resubmission_by_hand() -> None:
    # k = 2, four stages: the limit is 4 / 4 = 1. At p = 1/2: q = 4/4 / (4 - 2) = 1/2, s = 1/2.
    assert returned_rate(0.5, 2, 4) == pytest.approx(0.5)
    assert survival(0.5, 2, 4) == pytest.approx(0.5)
    assert attempts(0.5, 2, 4) == pytest.approx(2)
    assert (returned_rate(0, 2, 4), survival(0, 2, 4), attempts(0, 2, 4)) == (0, 1, 1)


@pytest.mark.parametrize("k", RADICES)
@pytest.mark.parametrize("stages", [1, 3, 10])
def test_resubmission_is_in_equilibrium(k: int, stages: int) -> None:
    """What goes in comes out, by (2) for the paper's formulas and by (1) for the exact one."""
    for part in (0.1, 0.5, 0.9, 1):
        p = part * unbuffered_throughput_approximation(1, k, stages)
        offered = p + returned_rate(p, k, stages)
        assert unbuffered_throughput_approximation(min(offered, 1), k, stages) == pytest.approx(p)
        assert attempts(p, k, stages) == pytest.approx(offered / p)
        assert survival(p, k, stages) == pytest.approx(p / offered)

        p = part * unbuffered_throughput(1, k, stages)
        exact = attempts_by_recurrence(p, k, stages)
        assert unbuffered_throughput(min(exact * p, 1), k, stages) == pytest.approx(p)
        assert exact > attempts(p, k, stages)
    assert attempts_by_recurrence(0, k, stages) == 1


@pytest.mark.parametrize("function", [returned_rate, survival, attempts])
@pytest.mark.parametrize("p", [0.5, 0.75])
def test_resubmission_rejects_an_unstable_load(function: Callable, p: float) -> None:
    message = rf"^Load p must be below 2 k / \(k - 1\) stages, here 0\.5, not {p}: "
    with pytest.raises(ValueError, match=message):
        function(p, 2, 8)


def test_attempts_by_recurrence_rejects_what_the_network_cannot_carry() -> None:
    message = r"^Load p must be at most 0\.75, which the network carries, not 0\.8$"
    with pytest.raises(ValueError, match=message):
        attempts_by_recurrence(0.8, 2, 1)


@pytest.mark.parametrize("p", [-0.1, 1.5, math.nan])
def test_formulas_of_enhanced_networks_reject_load(p: float) -> None:
    for call in (
        lambda: dilated_throughput(p, 2, 3, 2),
        lambda: replicated_throughput(p, 2, 3, 2),
        lambda: returned_rate(p, 2, 3),
        lambda: attempts_by_recurrence(p, 2, 3),
    ):
        with pytest.raises(ValueError, match=rf"^Load p must be from 0 to 1, not {p}$"):
            call()


def test_formulas_of_enhanced_networks_reject_sizes() -> None:
    for call, message in (
        (lambda: dilated_throughput(1, 1, 3, 2), "Radix must be at least 2, not 1"),
        (lambda: dilated_throughput(1, 2, 0, 2), "Stages must be at least 1, not 0"),
        (lambda: dilated_throughput(1, 2, 3, 0), "Dilation must be at least 1, not 0"),
        (
            lambda: dilated_throughput(1, 2, 3, 2, terminal_links=3),
            "Links of a terminal must be from 1 to 2, not 3",
        ),
        (lambda: unbuffered_bandwidth_limit(1, 3), "Radix must be at least 2, not 1"),
        (lambda: attempts(0.1, 2, 0), "Stages must be at least 1, not 0"),
        (lambda: replicated_throughput(1, 2, 3, 0), "Copies must be at least 1, not 0"),
    ):
        with pytest.raises(ValueError, match=f"^{message}$"):
            call()


def test_hot_spot_by_hand() -> None:
    """One module of four gets a quarter of uniform requests, and more of others."""
    assert hot_spot_limit(4, 0) == 1
    assert hot_spot_limit(4, 1) == 1 / 4
    assert hot_spot_limit(5, 0.25) == 1 / 2
