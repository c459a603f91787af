"""Large networks and long runs on the compiled engine, for `make test-long`."""

import time

import psutil
import pytest
from multicube.hdl import build
from multicube.sim import simulate

pytestmark = pytest.mark.long


def test_billion_packets() -> None:
    network = build("cube", ports=64, depth=32)
    result = simulate(network, load=0.5, cycles=31_400_000, warmup=1000, seed=7, engine="compiled")
    assert result.delivered == result.injected > 10**9
    assert result.lost == result.misrouted == result.duplicated == result.reordered == 0
    assert result.generated == result.injected + result.rejected + result.unsent
    assert result.latency.mean == pytest.approx(result.predicted["latency_mean"], rel=0.02)


def test_4096_ports() -> None:
    start = time.perf_counter()
    network = build("cube", ports=4096, depth=4)
    result = simulate(network, load=0.4, cycles=300, warmup=100, seed=1, engine="compiled")
    print(f"{time.perf_counter() - start:.1f} s, {psutil.Process().memory_info().rss / 1e9:.2f} GB")
    assert len(network.fabric.cells) == 24_576
    assert result.delivered == result.injected > 4096 * 100
    assert result.latency.histogram[:12] == [0] * 12


def test_1024_ports_radix_4() -> None:
    network = build("cube", ports=1024, radix=4, depth=32)
    result = simulate(network, load=0.7, cycles=3000, seed=2, engine="compiled")
    predicted = result.predicted["latency_mean"]
    assert not result.saturated
    assert abs(result.latency.mean - predicted) <= result.latency.ci99 + 0.02 * predicted
