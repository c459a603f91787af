"""Percentiles, intervals and books of a run."""

import json
import pickle
from collections.abc import Callable
from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from multicube.hdl import build
from multicube.sim import Result, SimulationError, Trace, TracePacket, simulate, sweep
from multicube.sim.measure.confidence_intervals import ratio_interval
from multicube.sim.measure.latency import Latency


@pytest.fixture(scope="module")
def result() -> Result:
    """A run of a 4-port network, at a load at which packets wait."""
    return simulate(build("cube", ports=4), load=0.6, cycles=400, warmup=50, bins=64)


def from_values(values: list[int], bins: int) -> Latency:
    counts = np.bincount(np.minimum(values, bins - 1), minlength=bins)
    return Latency.from_counts(counts, sum(values), max(values, default=0), None)


@settings(derandomize=True, max_examples=100, deadline=None)
@given(st.lists(st.integers(0, 40), min_size=1, max_size=300), st.integers(2, 60))
def test_latency_from_counts(values: list[int], bins: int) -> None:
    latency = from_values(values, bins)
    for percent in (50, 95, 99):
        exact = int(np.percentile(values, percent, method="inverted_cdf"))
        expected = exact if exact < bins - 1 else None
        assert getattr(latency, f"p{percent}") == expected
    assert latency.mean == pytest.approx(np.mean(values))
    assert latency.max == max(values)
    assert latency.beyond == sum(value >= bins - 1 for value in values)
    counted = np.bincount([value for value in values if value < bins - 1]).tolist()
    assert latency.histogram == counted


def test_latency_of_nothing() -> None:
    empty = Latency(None, None, None, None, None, None, [], 0)
    assert Latency.from_counts([0] * 8, 0, 0, None) == empty
    assert Latency.from_counts([0] * 8, 0, 0, 0.5) == empty


def test_latency_beyond_the_histogram() -> None:
    latency = from_values([1] * 60 + [100] * 40, 8)
    assert (latency.p50, latency.p95, latency.p99) == (1, None, None)
    assert latency.mean == pytest.approx(40.6)
    assert latency.max == 100
    assert latency.beyond == 40
    assert latency.histogram == [0, 60]


def test_run_beyond_the_histogram() -> None:
    wide, narrow = (
        simulate(build("cube", ports=2), load=0.8, cycles=200, warmup=0, bins=bins)
        for bins in (64, 2)
    )
    assert wide.latency.beyond == 0
    assert narrow.latency.histogram == []
    assert narrow.latency.beyond == sum(wide.latency.histogram)
    assert narrow.latency.p50 is None
    for name in ("mean", "max", "ci99"):
        assert getattr(narrow.latency, name) == getattr(wide.latency, name)


Process = Callable[[np.random.Generator], tuple[np.ndarray, np.ndarray]]


def independent(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Batches of Poisson many values of mean 3."""
    counts = rng.poisson(200, 20)
    return np.array([rng.exponential(3, n).sum() for n in counts]), counts


def proportional(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Batches of very different sizes, where large ones have large sums."""
    counts = rng.integers(50, 400, 20)
    return counts * 3 + rng.normal(0, 1, 20) * counts**0.5, counts


@pytest.mark.parametrize("process", [independent, proportional])
def test_ratio_interval_covers(process: Process) -> None:
    seed = 1
    print("seed", seed)
    rng = np.random.default_rng(seed)
    runs = 2000
    covered = 0
    for _ in range(runs):
        sums, counts = process(rng)
        covered += abs(sums.sum() / counts.sum() - 3) <= ratio_interval(sums, counts)
    # 99 %, within three standard errors of a binomial count and a little for the ratio's bias.
    assert covered / runs == pytest.approx(0.99, abs=3 * (0.99 * 0.01 / runs) ** 0.5 + 0.003)


def test_ratio_interval_by_hand() -> None:
    # Ratio 2; residuals 1, -1, 0, 0, 0; variance of the mean 2 / (5 * 4) over counts of 1.
    half_width = ratio_interval([3, 1, 2, 2, 2], [1, 1, 1, 1, 1])
    assert half_width == pytest.approx(4.6041 * 0.1**0.5, rel=1e-4)  # t(0.995, 4) = 4.6041
    assert ratio_interval([2] * 6, [1] * 6) == 0


def test_ratio_interval_needs_batches() -> None:
    assert ratio_interval([], []) is None
    assert ratio_interval([1, 2, 3, 4], [1, 1, 1, 1]) is None
    assert ratio_interval([0] * 9, [0] * 9) is None


def test_books(result: Result) -> None:
    assert result.generated == result.rejected + result.unsent + result.injected
    assert result.injected == result.delivered
    assert (result.lost, result.misrouted, result.duplicated, result.reordered) == (0, 0, 0, 0)
    assert result.violations(ordered=True, finite=False) == ""


def test_terminals(result: Result) -> None:
    delivered, injected = (result.terminals[word] for word in ("delivered", "injected"))
    assert len(delivered) == len(injected) == 4
    timed = sum(result.latency.histogram)
    assert timed == sum(result.network_latency.histogram)
    # Some are delivered that were born before the window, some born in it are delivered later.
    assert abs(sum(delivered) - timed) < 20
    assert result.untimed == 0
    assert result.throughput == sum(delivered) / (4 * 400)
    slowest = result.least_served
    assert slowest == {"terminal": injected.index(min(injected)), "throughput": min(injected) / 400}


def test_the_least_served_is_one_that_sends() -> None:
    found = simulate("cube", ports=4, traffic="x,3,x,0", load=0.2, cycles=200, bins=64)
    least = min((found.terminals["injected"][terminal], terminal) for terminal in (1, 3))
    assert found.least_served == {"terminal": least[1], "throughput": least[0] / 200}


def test_flits_are_what_the_last_links_carried() -> None:
    """Throughput in flits, from the mean length; and counted on the links to the terminals."""
    network = build("cube", ports=4, switch="wormhole", length="2:5", depth=8)
    found = simulate(network, load=0.05, cycles=4000, warmup=100, bins=64)
    assert found.packet_length == 3.5
    assert found.offered_flits == pytest.approx(0.175)
    last = [rate for link, rate in found.links.items() if "-> terminal" in link]
    assert len(last) == 4
    # 800 packets; lengths have a deviation of 1.1 flits
    assert found.throughput_flits == pytest.approx(sum(last) / 4, rel=4 * 1.12 / 3.5 / 800**0.5)


def test_loads_in_flits() -> None:
    """They are loads in packets times the mean length."""
    network = build("cube", ports=4, switch="wormhole", length="2:5", depth=8)
    options = {"cycles": 100, "warmup": 20, "bins": 64}
    in_flits = simulate(network, load=0.35, unit="flits", **options)
    assert in_flits == simulate(network, load=0.35 / 3.5, **options)
    curve = sweep(network, [0.35, 0.7], unit="flits", refine=False, processes=1, **options)
    assert curve.points[0] == in_flits
    assert curve.points[1].offered_flits == pytest.approx(0.7)
    memory = build("combining", ports=4, lengths="2:4")
    few = {"operations": ["load"], "cycles": 20, "warmup": 0, "history": 0, "bins": 64}
    assert simulate(memory, load=0.2, unit="flits", **few).offered_load == 0.1
    with pytest.raises(ValueError, match=r"^Unit must be one of packets, flits, not 'words'$"):
        simulate(network, unit="words")
    with pytest.raises(TypeError, match=r"^Load must be a number, not 'x'$"):
        simulate(network, load="x", unit="flits")


@pytest.mark.long
def test_length_of_requests() -> None:
    """Words of a load, and of other requests, each for as many beats."""
    network = build("combining", ports=4, lengths="2:4", beats=2)
    for operations, length in ((["load"], 4), (["load", "fetch-and-add"], 6), (["store"], 8)):
        found = simulate(network, load=0.01, cycles=50, operations=operations, history=0, bins=64)
        assert found.packet_length == length


def test_length_of_a_trace() -> None:
    packets = [TracePacket(0, 0, 1, 3), TracePacket(9, 1, 1, 1), TracePacket(9, 2, 1, 4)]
    network = build("cube", ports=4, switch="wormhole", length=8)
    found = simulate(network, traffic=Trace("three", tuple(packets)))
    assert found.packet_length == pytest.approx(8 / 3)
    assert sum(found.links.values()) * found.cycles == 2 * 8  # in two stages


def test_latency_in_the_network_is_the_smaller(result: Result) -> None:
    assert result.network_latency.mean <= result.latency.mean
    assert result.network_latency.max <= result.latency.max
    for latency in (result.latency, result.network_latency):
        packets = sum(latency.histogram)
        values = np.repeat(np.arange(len(latency.histogram)), latency.histogram)
        assert len(values) == packets
        assert latency.mean == pytest.approx(values.mean())
        assert latency.max == values.max() == len(latency.histogram) - 1
        assert values.min() == 2
        for percent in (50, 95, 99):
            exact = np.percentile(values, percent, method="inverted_cdf")
            assert getattr(latency, f"p{percent}") == exact


def test_links_carry_the_throughput(result: Result) -> None:
    # Each column of links carries every packet: its mean is the throughput, but for the packets
    # that were on their way when the window began and ended.
    for stage in (0, 1):
        column = [used for name, used in result.links.items() if name.startswith(f"stage {stage}")]
        assert len(column) == 4
        assert np.mean(column) == pytest.approx(result.throughput, abs=5 / 400)
    assert len(result.links) == 8
    last = [result.links[f"stage 1, box {end // 2} -> terminal {end}"] for end in range(4)]
    assert sum(last) * 400 == pytest.approx(sum(result.terminals["delivered"]))


def test_json_is_plain(result: Result) -> None:
    assert json.loads(json.dumps(result.to_json())) == result.to_json()
    assert set(result.to_json()) == {field.name for field in fields(Result)}


@pytest.mark.parametrize(
    ("changes", "faults"),
    [
        ({"serializable": False}, "replies that no serial order of the operations explains"),
        ({"serializable": True}, ""),
        ({"lost": 3}, "3 lost or stuck"),
        ({"misrouted": 1, "duplicated": 2}, "1 misrouted, 2 duplicated"),
        ({"lost": -1}, "1 more delivered than sent"),
        ({"lost": None, "partial": True}, ""),
        ({"seed": None, "unsent": 4}, "4 never taken"),
        ({"seed": None, "unsent": 4, "partial": True}, ""),
        ({"unsent": 4}, ""),
    ],
)
def test_faults(result: Result, changes: dict, faults: str) -> None:
    """A run without a seed here is one in which all packets must be sent."""
    changed = replace(result, **changes)
    assert changed.violations(ordered=True, finite=changed.seed is None) == faults


def test_order_counts_where_it_is_promised(result: Result) -> None:
    late = replace(result, reordered=5)
    assert late.violations(ordered=True, finite=False) == "5 reordered"
    assert late.violations(ordered=False, finite=False) == ""


def test_error_crosses_processes(result: Result) -> None:
    error = pickle.loads(pickle.dumps(SimulationError("The books do not balance", result)))
    assert str(error) == "The books do not balance"
    assert error.result == result
