"""Closed loops: each terminal has one packet at a time, and an interval before the next one."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from driving import exercise
from long_runs import long
from multicube.hdl import build
from multicube.hdl.bench import PacketBench
from multicube.sim import Run, pattern, rerun, simulate, simulate_runs, sweep
from refusals import refusals
from scipy import stats

SEED = 20261
"""Of sources and receivers."""

UNLIKELY = 1e-4
"""Probabilities below it are not chance."""


def packets_of_a_source(words: str, interval: float, cycles: int) -> list[tuple[int, int]]:
    """The cycles in which a source first offers each packet, and in which its last flit is taken.

    Its receiver takes nothing in a third of the cycles.
    """
    network = build(words)
    plan = pattern(f"uniform+interval:{interval:g}", network.ports).sources(network, 0, SEED, 16)
    cell = PacketBench(network, plan, bins=2).cells["source_0"]
    source = cell.type.component(**cell.type.parameters)
    chance = np.random.default_rng(SEED)
    found: list[tuple[int, int]] = []

    async def testbench(ctx: Any) -> None:
        for name, value in {**cell.straps, "open": 1}.items():
            ctx.set(getattr(source, name), value)
        first = None
        for now in range(cycles):
            ready = int(chance.random() < 2 / 3)
            ctx.set(source.now, now)
            ctx.set(source.o.ready, ready)
            if ctx.get(source.o.valid):
                first = now if first is None else first
                if ready and (not network.flits or ctx.get(source.o.payload.last)):
                    assert ctx.get(source.o.payload.payload.birth) == first
                    found.append((first, now))
                    first = None
            await ctx.tick()
        assert ctx.get(source.rejected) == 0
        assert ctx.get(source.generated) - len(found) in (0, 1)

    exercise(source, testbench)
    return found


@pytest.mark.long
@pytest.mark.parametrize(
    ("words", "interval"), [("cube ports=2", 0), ("torus k=2 n=1 length=3", 3.5)]
)
def test_intervals_are_geometric(words: str, interval: float) -> None:
    """They begin when the last flit is taken, however long the receiver waits."""
    found = packets_of_a_source(words, interval, 3000)
    idle = np.array([begin - end - 1 for (_, end), (begin, _) in pairwise(found)])
    assert len(idle) > 300
    if not interval:
        assert (idle == 0).all()
        return
    longest = 12
    counts = np.bincount(np.minimum(idle, longest), minlength=longest + 1)
    shares = stats.geom.pmf(np.arange(longest) + 1, 1 / (1 + interval))
    expected = np.append(shares, 1 - shares.sum()) * len(idle)
    assert stats.chisquare(counts, expected).pvalue > UNLIKELY, SEED


@pytest.mark.long
def test_throughput_without_contention() -> None:
    """A packet per interval and cycle in which it is sent: 1 / (T + 1)."""
    network = build("cube ports=4")
    intervals, cycles = (0, 1, 6.5), 6000
    runs = [
        Run(pattern(f"identity+interval:{each}", 4), cycles=cycles, warmup=50, seed=3)
        for each in intervals
    ]
    for interval, result in zip(intervals, simulate_runs(network, runs)):
        assert result.offered_load == pytest.approx(1 / (interval + 1))
        # The variance of the number of renewals: that of an interval is T (T + 1).
        variance = interval / (interval + 1) ** 2 / (4 * cycles)
        assert result.throughput == pytest.approx(
            result.offered_load, abs=4 * variance**0.5 + 1e-9 if interval else 1e-9
        )
        assert (result.rejected, result.saturated) == (0, False)
        assert result.predicted["latency_mean"] is None
        assert result.generated - result.unsent == result.injected == result.delivered
        assert result.latency == result.network_latency
        assert (result.latency.mean, result.latency.max) == (2, 2)
    assert rerun(result.to_json()) == result


@pytest.mark.long
@pytest.mark.parametrize(
    ("traffic", "family", "parameters"),
    [
        ("uniform+interval:2", "cube", {"switch": "wormhole", "length": "1:3"}),
        long("hotspot:0.5+interval:0", "torus", {"k": 2, "length": 4}),
        long("matrix:0,1,2,3/0,0,0,0/1,1,1,1/4,0,0,0+interval:1", "cube", {}),
    ],
)
def test_engines_agree(traffic: str, family: str, parameters: dict[str, Any]) -> None:
    network = build(family, **({"ports": 4} if family == "cube" else {}), **parameters)
    options = {"cycles": 150, "warmup": 20, "bins": 16, "seed": 5}
    compiled, reference = (
        simulate(network, traffic=traffic, engine=engine, **options)
        for engine in ("compiled", "amaranth")
    )
    assert compiled.injected > 40
    assert replace(compiled, engine="amaranth") == reference


@pytest.mark.long
def test_delay_and_rate_of_a_congested_network() -> None:
    """A cycle of a terminal is its interval, and the time until the network has the packet."""
    interval, cycles = 3, 20_000
    network = build("cube ports=16 switch=wormhole length=4")
    result = simulate(
        network, traffic=f"hotspot:0.2+interval:{interval}", cycles=cycles, warmup=2000, seed=2
    )
    assert result.throughput < 0.8 * result.offered_load
    assert result.saturated is False
    # From birth to delivery it is in its terminal or in the network, which holds a limited number.
    assert result.latency.mean * result.throughput < 1 + network.parameters.depth * 4 * 2
    assert result.injected == result.delivered


def test_terminals_that_send_have_the_same_interval() -> None:
    straps = pattern("1,x,0,0+interval:3", 4).sources(build("cube ports=4"), 0.1, 1, 16).straps
    assert [strap["resume"] for strap in straps] == [2**20, 0, 2**20, 2**20]
    assert not any("load" in strap for strap in straps)


test_words_that_are_not_intervals = refusals(
    lambda traffic: pattern(traffic, 4),
    ("uniform+interval", "Interval must be written as +interval:T, not as in ..."),
    ("uniform+interval:1:2", "Interval must be written as +interval:T, not as in ..."),
    ("uniform+interval:-1", "Mean interval must be from 0 to 32768 cycles, not -1"),
    ("uniform+interval:nan", "Mean interval must be from 0 to 32768 cycles, not nan"),
    ("uniform+interval:x", "Traffic 'uniform+interval:x' needs a number in place of 'x'"),
    ("one-each+interval:1", "Traffic one-each has no interval: all packets are sent at once"),
    (
        "uniform+interval:1+bursts:2:2",
        "Traffic uniform+interval:1 has no bursts: its interval says when it sends",
    ),
)


def test_where_closed_loops_are_refused() -> None:
    with pytest.raises(ValueError, match=r"^Traffic uniform\+interval:1 has no load to sweep: "):
        sweep("cube ports=4", [0.1], traffic="uniform+interval:1")
    with pytest.raises(ValueError, match=r"is not for networks with memory$"):
        simulate("combining ports=4", traffic="uniform+interval:1")
    runs = [Run(pattern(traffic, 4)) for traffic in ("uniform", "uniform+interval:1")]
    with pytest.raises(ValueError, match=r"^Parallel runs must all have bursts, intervals, or"):
        simulate_runs(build("cube ports=4"), runs)


def test_command(call: Any) -> None:
    words = ("sim", "cube", "ports=4", "--traffic", "uniform+interval:1")
    for option, value in (("--load", "0.2"), ("--source-depth", "4")):
        status, out, err = call(*words, option, value)
        assert (status, out) == (2, "")
        assert err == (
            f"multicube: Traffic uniform+interval:1 takes no {option}: each terminal has one "
            "packet at a time, and its interval says when\n"
        )
    found = call(*words, "--cycles", "200", "--warmup", "20", "--json").record
    assert found["offered_load"] == 0.5
