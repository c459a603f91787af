"""A run with random traffic: warm-up, window, drain."""

from collections.abc import Generator

import numpy as np

from ...hdl.networks import Network
from ..measure.result import ratio_interval
from ..theory import predict
from ..workload.traffic import Pattern
from .probe import Probe
from .run import Run, pace
from .steps import SINK_DELAY, Steps, empty, patience, result_of
from .warmup import MAXIMUM, is_settled

__all__ = ["random_run"]

BATCHES = 20
"""Number of parts of the window, for confidence intervals; counters are read after each."""


def random_run(probe: Probe, network: Network, run: Run, engine: str) -> Steps:
    """A run with random traffic: warm-up, window, drain."""
    traffic = run.traffic
    assert isinstance(traffic, Pattern)  # a trace is finite
    batch = pace(network)
    settled = partial = False
    drain = begin = end = 0
    samples: list[tuple[int, ...]] = []

    def sample() -> None:
        latencies = [probe.latency_sum(kind) for kind in ("total", "network")]
        counts = [sum(probe.sinks("measured")), *latencies]
        generated = sum(probe.sources("generated"))
        samples.append((probe.engine.cycle, generated, probe.waiting + probe.in_flight, *counts))

    probe.set("send", 1)
    try:
        settled = yield from _warm_up(probe, run, batch)
        probe.set("measure", 1)
        begin = probe.engine.cycle
        end = begin + run.cycles
        # Counters show deliveries late, so they are read late.
        for edge in np.linspace(0, run.cycles, min(BATCHES, run.cycles) + 1):
            when = begin + int(edge) + SINK_DELAY
            if probe.engine.cycle < end <= when:
                yield end - probe.engine.cycle
                probe.set("measure", 0)
            if when > probe.engine.cycle:
                yield when - probe.engine.cycle
            sample()
    except KeyboardInterrupt:
        partial = True
        if not samples:
            begin = end = probe.engine.cycle
        end = min(end, probe.engine.cycle)
        sample()
    probe.set("measure", 0)
    probe.set("send", 0)
    if not partial:
        try:
            drain = yield from empty(probe, batch, patience(network))
        except KeyboardInterrupt:
            partial = True

    cycles = end - begin
    _, generated, growth, *_ = (new - old for old, new in zip(samples[0], samples[-1]))
    # The sums exceed the precision of a float: their differences are taken as integers.
    batches = np.diff(np.array(samples, object), axis=0).astype(float)
    spans, _, _, packets, totals, networks = batches.T
    half_width = ratio_interval(packets, spans)
    throughput_ci99 = None if half_width is None else half_width / network.ports
    measured = sum(probe.sinks("measured"))
    rejected = sum(probe.sources("rejected"))
    slots = network.ports * cycles
    saturated, verdict = _judge(
        generated, measured, growth, rejected, slots, throughput_ci99, settled
    )
    if partial:
        verdict = f"interrupted; {verdict}"
    return result_of(
        probe,
        network,
        traffic=traffic.name,
        engine=engine,
        seed=run.seed,
        cycles=cycles,
        warmup=begin,
        drain=drain,
        settled=settled,
        partial=partial,
        offered_load=run.load,
        throughput_ci99=throughput_ci99,
        generated=sum(probe.sources("generated")),
        rejected=rejected,
        latency=probe.latency("total", ratio_interval(totals, packets)),
        network_latency=probe.latency("network", ratio_interval(networks, packets)),
        predicted=predict(network, run.load, uniform=traffic.uniform),
        saturated=saturated,
        verdict=verdict,
    )


def _warm_up(probe: Probe, run: Run, batch: int) -> Generator[int, None, bool]:
    """Wait for a steady state, or for the given time; return whether the network is steady."""
    if run.warmup != "auto":
        yield run.warmup
        return True
    population: list[int] = []
    while len(population) < MAXIMUM:
        yield batch
        population.append(probe.waiting + probe.in_flight)
        if is_settled(population):
            return True
    return False


def _judge(
    generated: int,
    delivered: int,
    growth: int,
    rejected: int,
    slots: int,
    throughput_ci99: float | None,
    settled: bool,
) -> tuple[bool, str]:
    """Whether the network was saturated in the window, and the reason as text.

    It was saturated if packets were rejected, or if the number of packets in sources and network
    grew (by `growth`) by more than 1 % of those generated plus what chance explains. `slots` is the
    number of terminals times the number of cycles.
    """
    if not slots:
        return False, "no cycle of the window was simulated"
    rates = f"delivered {delivered / slots:.4f} of {generated / slots:.4f} packets offered"
    chance = 6 * generated**0.5 if throughput_ci99 is None else 1.5 * throughput_ci99 * slots
    if rejected:
        return True, f"saturated: {rates}; {rejected} packets found their source's queue full"
    if growth > 0.01 * generated + chance:
        return True, f"saturated: {rates}; {growth} more packets were waiting at the end"
    if not settled:
        return False, f"not saturated, but not steady before the window began: {rates}"
    return False, f"not saturated: {rates}"
