"""Where there is a prediction it is close to what is measured; where the model fails there is none.

Each network is measured at loads on both sides of the limits that `theory.prediction` states.
"""

from typing import Any

import pytest
from long_runs import long
from multicube.hdl import build
from multicube.sim import Result, Run, SimulationError, simulate_runs
from multicube.sim.theory import predict
from multicube.sim.theory.buffered_delay import buffered_delay, serial_delay
from multicube.sim.theory.dcsh_torus import Locality, dcsh_latency, saturation_load
from multicube.sim.theory.unbuffered_bandwidth import attempts_by_recurrence, replicated_throughput
from multicube.sim.workload.traffic import pattern


def measure(words: str, loads: list[float], cycles: int) -> list[Result]:
    """Uniform traffic at each load."""
    name, *pairs = words.split()
    network = build(name, **dict(pair.split("=") for pair in pairs))
    uniform = pattern("uniform", network.ports)
    runs = [Run(uniform, load, cycles=cycles, warmup=cycles // 4) for load in loads]
    return simulate_runs(network, runs, bins=16, engine="compiled")


def given(results: list[Result], name: str, measured: list[Any], within: float) -> list[float]:
    """The loads with a prediction, each of which must be close to what was measured."""
    loads = []
    for result, value in zip(results, measured):
        predicted = result.predicted[name]
        print(f"load {result.offered_load:.4f}: {name} {value}, predicted {predicted}")
        if predicted is not None:
            assert value == pytest.approx(predicted, rel=within)
            loads.append(result.offered_load)
    return loads


@pytest.mark.long
@pytest.mark.parametrize(
    ("words", "last"),
    [
        ("cube ports=16 depth=1", 0.03),
        ("cube ports=16 depth=4", 0.5),
        ("cube ports=16 depth=32", 0.9),
        long("omega ports=64 radix=4 depth=4", 0.3),
        long("cube ports=16 depth=2", 0.03),
        long("omega ports=64 radix=4 depth=8", 0.5),
        long("cube ports=256 depth=8", 0.7),
        long("cube ports=8 radix=8 depth=8", 0.5),
    ],
)
def test_latency_of_output_queues(words: str, last: float) -> None:
    """Up to the load at which queues of this depth begin to be full."""
    loads = [0.03, 0.3, 0.5, 0.7, 0.9]
    results = measure(words, loads, 8000)
    latencies = [result.latency.mean for result in results]
    found = given(results, "latency_mean", latencies, 0.07)
    assert found == [load for load in loads if load <= last]


CROSSPOINTS = "switch=cut-through queues=crosspoint"


@pytest.mark.long
@pytest.mark.parametrize(
    ("words", "length", "last"),
    [
        ("cube ports=16 depth=8", 4, 0.3),
        long("cube ports=16 depth=32", 4, 0.8),
        long("cube ports=64 depth=16", 4, 0.5),
        long("cube ports=64 depth=64", 4, 0.9),
        long("cube ports=64 radix=4 depth=16", 4, 0.7),
        long("omega ports=16 depth=11", 2, 0.7),
        long("cube ports=8 radix=8 depth=16", 4, 0.8),
        long("cube ports=16 depth=32", 8, 0.5),
        long("cube ports=16 depth=8", 1, 0.8),
    ],
)
def test_latency_of_crosspoint_queues(words: str, length: int, last: float) -> None:
    """Up to the traffic at which queues that have room for so many packets begin to be full."""
    traffic = [0.1, 0.3, 0.5, 0.7, 0.8, 0.9]
    loads = [part / length for part in traffic]
    results = measure(f"{words} {CROSSPOINTS} length={length}", loads, 16_000)
    latencies = [result.latency.mean for result in results]
    found = given(results, "latency_mean", latencies, 0.07)
    assert found == [load for load, part in zip(loads, traffic) if part <= last]


@pytest.mark.long
def test_formula_fails_where_it_is_not_used() -> None:
    words = f"cube ports=16 depth=8 length=4 {CROSSPOINTS}"
    (long_packets,) = measure(words, [0.2], 8000)
    assert long_packets.latency.mean > 1.4 * serial_delay(0.2, 2, 4, 4)
    assert long_packets.predicted["latency_mean"] is None
    (full,) = measure("cube ports=16 depth=4", [0.7], 8000)
    assert full.latency.mean > 1.4 * buffered_delay(0.7, 2, 4)
    (short,) = measure("dcsh k=8 n=2 length=1", [0.2], 4000)
    assert 2 * short.latency.mean < dcsh_latency(Locality(8, 2, 8, 2, 1.0, 1), 0.2)
    (small,) = measure("cube ports=2 switch=unbuffered replication=4", [1.0], 8000)
    assert small.throughput > 1.1 * replicated_throughput(1, 2, 1, 4)
    assert full.predicted["latency_mean"] is short.predicted["latency_mean"] is None
    assert small.predicted["throughput"] is None
    (again,) = measure("cube ports=2 switch=unbuffered replication=4 resubmit=16", [0.6], 8000)
    assert again.attempts < 0.87 * attempts_by_recurrence(0.6, 2, 1, copies=4)
    assert again.predicted["attempts"] is None


def test_both_outer_stages_have_no_prediction() -> None:
    words = "cube ports=8 depth=8 extra_stage=1"
    (one,), (both,) = measure(words, [0.4], 4000), measure(f"{words} faults=box:1:0", [0.4], 4000)
    assert given([one], "latency_mean", [one.latency.mean], 0.05) == [0.4]
    assert both.predicted["latency_mean"] is None


@pytest.mark.long
@pytest.mark.parametrize(
    "words",
    [
        "cube ports=16 switch=unbuffered",
        "cube ports=2 switch=unbuffered dilation=2",
        "cube ports=16 switch=unbuffered replication=4",
        long("cube ports=64 radix=4 switch=unbuffered dilation=2"),
        long("cube ports=64 radix=8 switch=unbuffered replication=2"),
    ],
)
def test_throughput_of_unbuffered_switches(words: str) -> None:
    loads = [0.1, 0.5, 1.0]
    results = measure(words, loads, 20_000)
    throughputs = [result.throughput for result in results]
    assert given(results, "throughput", throughputs, 0.025) == loads


@pytest.mark.long
@pytest.mark.parametrize(("delay", "found"), [(1, []), (8, [0.2, 0.4]), (64, [0.2, 0.4])])
def test_attempts(delay: int, found: list[float]) -> None:
    """Up to the throughput at full load, 0.45, if new attempts are drawn from many cycles."""
    words = f"cube ports=16 switch=unbuffered resubmit={delay}"
    results = measure(words, [0.2, 0.4, 0.5], 10_000)
    attempts = [result.attempts for result in results]
    assert given(results, "attempts", attempts, 0.05) == found


@pytest.mark.long
@pytest.mark.parametrize(
    ("k", "n", "decision", "depth"),
    [
        (8, 2, 1, 2),
        long(8, 2, 1, 1),
        *(
            long(*case)
            for case in ((8, 2, 1, 4), (4, 2, 2, 4), (4, 3, 2, 2), (8, 1, 4, 2), (2, 4, 1, 4))
        ),
    ],
)
def test_latency_of_dcsh(k: int, n: int, decision: int, depth: int) -> None:
    """For worms of the least length that the model is used for, up to half of its saturation."""
    length = 4 * (n * decision + depth)
    setting = Locality(k, n, k, n, 1.0, length, decision)
    limit = saturation_load(lambda load: dcsh_latency(setting, load))
    loads = [part * limit for part in (0.1, 0.3, 0.499, 0.501, 0.9)]
    words = f"dcsh k={k} n={n} decision={decision} depth={depth} length={length}"
    if depth == 1:
        words += " refill=yes"
    results = measure(words, loads, 300 * length + 4000)
    latencies = [result.latency.mean for result in results]
    assert given(results, "latency_mean", latencies, 0.25) == loads[:3]


@pytest.mark.long
@pytest.mark.parametrize(
    "words", ["length=1", long("length=8"), "length=15 depth=2", long("length=64 depth=1")]
)
def test_dcsh_outside_the_model(words: str) -> None:
    for result in measure(f"dcsh k=8 n=2 {words}", [0.0005, 0.002, 0.15], 200):
        assert result.predicted["latency_mean"] is None


def test_no_prediction_of_a_network_with_faults() -> None:
    network = build("cube", ports=4, switch="unbuffered")
    run = Run(pattern("uniform", 4), 0.3, cycles=100, warmup=10)
    (whole,) = simulate_runs(network, [run], engine="amaranth")
    assert whole.predicted["throughput"] is not None
    with pytest.raises(SimulationError) as error:
        simulate_runs(network, [run], engine="amaranth", faults=["link:1:0:flip=0"])
    assert set(error.value.result.predicted.values()) == {None}


def test_no_prediction_where_sources_were_full() -> None:
    network = build("cube", ports=4, switch="unbuffered")
    for depth, found in ((1, False), (8, True)):
        run = Run(pattern("uniform", 4), 0.8, cycles=100, warmup=10, source_depth=depth)
        (result,) = simulate_runs(network, [run], engine="amaranth")
        assert (result.predicted["throughput"] is not None) == found


@pytest.mark.parametrize(
    ("load", "words"),
    [
        (1.5, {"switch": "output-queued"}),
        (1.5, {"switch": "unbuffered"}),
        (0.3, {"switch": "unbuffered", "replication": 2, "resubmit": 16}),
    ],
)
def test_no_prediction_outside_assumptions(load: float, words: dict[str, Any]) -> None:
    prediction = predict(build("cube", ports=8, **words), load, uniform=True)
    assert set(prediction.values()) == {None}
