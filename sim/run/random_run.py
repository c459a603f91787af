"""A run with random traffic: warm-up, window, the packets born in it, drain."""

from collections.abc import Generator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ...hdl.networks.network import Network
from ..measure.confidence_intervals import PARTS, Estimate, ratio_estimate
from ..measure.latency import Latency
from ..measure.saturation import Balance
from ..theory import predict
from ..workload.traffic import Pattern
from .probe import Probe
from .run import Run, most_warmup, pace
from .run_steps import SINK_DELAY, Steps, empty, patience, result_of
from .warmup import MAXIMUM, is_settled

__all__ = ["random_run"]

_CLEAR = 0.1
"""Fraction of the packets offered by which queues grow in a network that is clearly saturated."""

_SURE = 16
"""Times the first window that must be measured before a network is said to be saturated by less."""


def random_run(probe: Probe, network: Network, run: Run, engine: str) -> Steps:
    """A run with random traffic: warm-up, window, drain.

    After the window the sources go on, until the packets that were born in it have arrived. In a
    saturated network they are not followed: their latencies only tell how long the window was.
    """
    traffic = run.traffic
    assert isinstance(traffic, Pattern)  # a trace is finite
    window = _Window(probe, network, run)
    settled = partial = False
    drain = 0
    probe.set("send", 1)
    try:
        settled = yield from _warm_up(probe, network, run)
        yield from window.measure()
        if not window.balance().saturated:
            yield from window.follow()
        probe.set("send", 0)
        drain = yield from empty(probe, pace(network), patience(network))
        window.read_latencies()
    except KeyboardInterrupt:
        partial = True
        probe.set("send", 0)
        window.interrupt()

    balance = window.balance()
    throughput = window.estimate("measured", "cycle")
    total, inside = (window.estimate(kind, "timed") for kind in ("total", "network"))
    rate_ci99 = throughput.half_width and throughput.half_width / network.sources
    saturated = balance.saturated
    if saturated is False and not settled and window.ended not in ("precise", "late"):
        saturated = None
    verdict = _verdict(saturated, balance, window, network)
    latencies = [probe.latency("total", total.half_width)]
    latencies.append(probe.latency("network", inside.half_width))
    end_of_time = 2**probe.bench.time
    if probe.engine.cycle >= end_of_time and max(probe.sinks("latest")) >= end_of_time:
        # Timestamps have wrapped while the network emptied.
        latencies = [Latency.unknown(sum(probe.sinks("measured")))] * 2
        verdict += f"; latencies are only measured below 2^{probe.bench.time} cycles"
    return result_of(
        probe,
        network,
        traffic=traffic,
        engine=engine,
        seed=run.seed,
        cycles=window.end - window.begin,
        warmup=window.begin,
        drain=drain,
        settled=settled,
        partial=partial,
        ended="interrupted" if partial else window.ended,
        uncorrelated=throughput.uncorrelated and total.uncorrelated,
        offered_load=run.offered_load(network),
        packet_length=run.packet_length(network),
        throughput_ci99=rate_ci99,
        generated=probe.sources("generated"),
        rejected=probe.sources("rejected"),
        untimed=window.untimed,
        latency=latencies[0],
        network_latency=latencies[1],
        # Sources that are full do not offer the load that the formulas are for.
        predicted=predict(network, run.load, uniform=traffic.uniform and not balance.rejected),
        saturated=saturated,
        verdict=f"interrupted; {verdict}" if partial else verdict,
    )


def _warm_up(probe: Probe, network: Network, run: Run) -> Generator[int, None, bool]:
    """Wait for a steady state, or for the given time; return whether the network is steady.

    If `MAXIMUM` samples don't show it, every second one is dropped, and the next are taken at twice
    the interval, up to `most_warmup`.
    """
    if run.warmup != "auto":
        yield run.warmup
        return True
    batch, most = pace(network), most_warmup(run, network)
    population = [0]
    packets, latencies = [0], [0]
    while probe.engine.cycle < most:
        yield batch
        population.append(probe.waiting + probe.in_flight)
        packets.append(sum(probe.sinks("delivered")))
        latencies.append(probe.arrived_latency)
        means = _means(latencies, packets)
        if is_settled(population[1:]) and (not means or is_settled(means)):
            return True
        if len(population) > MAXIMUM:
            batch *= 2
            population, packets, latencies = (
                values[::2] for values in (population, packets, latencies)
            )
    return False


def _means(sums: Sequence[int], counts: Sequence[int]) -> list[float]:
    """The mean of what was added between consecutive samples; the last one if nothing was."""
    means: list[float] = []
    # As Python's integers: sums over many terminals may exceed 64 bits.
    for (before, after), (first, last) in zip(pairwise(sums), pairwise(counts)):
        if last != first:
            means.append((after - before) / (last - first))
        elif means:
            means.append(means[-1])
    return means


class _Sample(NamedTuple):
    """Counters of one run, at an edge between two parts of the window."""

    cycle: int
    generated: int
    population: int
    """Packets in the sources' queues and in the network."""
    measured: int
    timed: int
    total: int
    """Sum of the latencies of the timed packets; `network` likewise."""
    network: int

    @classmethod
    def of(cls, probe: Probe) -> "_Sample":
        return cls(
            probe.engine.cycle,
            sum(probe.sources("generated")),
            probe.waiting + probe.in_flight,
            *(sum(probe.sinks(port)) for port in ("measured", "timed")),
            *(probe.latency_sum(kind) for kind in ("total", "network")),
        )


class _Window:
    """The measurement window of a run, which grows until its results are precise.

    Attributes
    ----------
    begin, end : int
        First cycle of the window, and first cycle after it.
    ended : str
        Why it ended, as in `Result`.
    """

    def __init__(self, probe: Probe, network: Network, run: Run) -> None:
        self.probe = probe
        self.network = network
        self.run = run
        self.begin = self.end = 0
        self.ended = "given"
        self._open = False
        self._born = 0
        self._runs = probe.single()
        self._samples: list[list[_Sample]] = [[] for _ in self._runs]

    def measure(self) -> Generator[int, None, None]:
        """Open the window, and close it when its results are precise, or at its greatest length."""
        self.begin, self._born = self.probe.engine.cycle, -self._accepted()
        self._open = True
        self.probe.set("measure", 1)
        length, part = self.run.first, self.run.first / min(PARTS, self.run.first)
        edges = np.arange(0, length + part / 2, part)
        while length < self.run.longest:
            yield from self._sample(edges[:-1])
            yield from self._until(self.begin + length)
            # Samples are taken late, so the last one is not from the end if parts are short.
            reason = self._reason(length) if part > SINK_DELAY else None
            if reason is not None:
                self._close(reason)
            yield from self._sample(edges[-1:])
            if reason is not None:
                return
            self._samples = [samples[::2] for samples in self._samples]
            before, length, part = length, min(2 * length, self.run.longest), 2 * part
            edges = np.append(np.arange(before + part, length - part / 2, part), length)
        yield from self._sample(edges, length)
        if self.run.grows:
            self.ended = self._reason(length) or "limit"

    def _sample(self, edges: np.ndarray, length: int | None = None) -> Generator[int, None, None]:
        """Sample the counters at times after the begin; close the window at this length.

        Counters show deliveries late, so they are read late.
        """
        for edge in edges:
            when = self.begin + round(edge) + SINK_DELAY
            if length is not None and self._open and self.begin + length <= when:
                yield from self._until(self.begin + length)
                self._close("given")
            yield from self._until(when)
            self._take()

    def _until(self, cycle: int) -> Generator[int, None, None]:
        if cycle > self.probe.engine.cycle:
            yield cycle - self.probe.engine.cycle

    def _take(self) -> None:
        for samples, probe in zip(self._samples, self._runs):
            samples.append(_Sample.of(probe))

    def _accepted(self) -> int:
        generated, rejected = (sum(self.probe.sources(name)) for name in ("generated", "rejected"))
        return generated - rejected

    def _close(self, reason: str) -> None:
        self.ended = reason
        if self._open:
            self._open = False
            self.probe.set("measure", 0)
            self.end = self.probe.engine.cycle
            self._born += self._accepted()

    def interrupt(self) -> None:
        """End the measurement now."""
        if not self._samples[0]:
            self.begin = self.end = self.probe.engine.cycle
        self._close("interrupted")
        if self.end == self.probe.engine.cycle:
            self._take()
        self.read_latencies()

    def _reason(self, length: int) -> str | None:
        """Why the window may end when it has this length, or None."""
        balance = self.balance()
        if balance.saturated:
            clear = balance.rejected or balance.excess > _CLEAR
            return "saturated" if clear or length >= _SURE * self.run.first else None
        if balance.saturated is None:
            return None
        nothing = self.run.offered_load(self.network) == 0 and not any(balance.generated)
        return "precise" if nothing or self._precise else None

    @property
    def _precise(self) -> bool:
        """Whether both intervals are as narrow as wanted."""
        estimates = [self.estimate("measured", "cycle"), self.estimate("total", "timed")]
        return all(each.within(self.run.wanted) for each in estimates)

    def follow(self) -> Generator[int, None, None]:
        """Wait for the packets that were born in the window, at most as long as it lasted.

        If packets may be lost, or arrive in several places, their number is not known. They are
        given twice the longest latency seen.
        """
        step, moved, seen = pace(self.network), self.end, -1
        while self.probe.engine.cycle - self.end < self.run.longest:
            yield step
            timed = sum(self.probe.sinks("timed"))
            if timed != seen:
                moved, seen = self.probe.engine.cycle, timed
            if self._known:
                if timed >= self._born or self.probe.engine.cycle - moved > patience(self.network):
                    return
            elif self.probe.engine.cycle - self.end > 2 * max(self.probe.sinks("total_max")):
                return

    @property
    def _known(self) -> bool:
        """Whether each packet that is born arrives once, or is stuck."""
        lossless = not self.network.drops or self.network.resubmits
        return lossless and not self.network.broadcasts

    @property
    def untimed(self) -> int | None:
        """Packets born in the window that did not arrive; None if that is not known."""
        followed = self.probe.bench.follows_flows
        twice = followed and any(self.probe.sinks("duplicated"))  # by a link that babbles
        known = self._known and not twice
        return self._born - sum(self.probe.sinks("timed")) if known else None

    def read_latencies(self) -> None:
        """Add the latencies of the packets that arrived late, which may widen the intervals."""
        for samples, probe in zip(self._samples, self._runs):
            now = _Sample.of(probe)
            samples[-1] = samples[-1]._replace(
                timed=now.timed, total=now.total, network=now.network
            )
        if self.ended == "precise" and now.timed and not self._precise:
            self.ended = "late"

    def _parts(self, name: str) -> list[float]:
        """By how much a counter of all runs together grew in each part of the window."""
        return list(map(sum, zip(*self._by_run(name))))

    def _by_run(self, name: str) -> list[list[float]]:
        column = _Sample._fields.index(name)
        # The sums exceed the precision of a float: their differences are taken as integers.
        return [
            [float(new[column] - old[column]) for old, new in pairwise(samples)]
            for samples in self._samples
        ]

    def estimate(self, amount: str, count: str) -> Estimate:
        """The ratio of two counters' growth, with its interval."""
        amounts, counts = self._by_run(amount), self._by_run(count)
        if len(self._runs) > 1:
            return ratio_estimate(
                [sum(each) for each in amounts], [sum(each) for each in counts], independent=True
            )
        return ratio_estimate(amounts[0], counts[0])

    def balance(self) -> Balance:
        """The packets offered and not delivered."""
        spans, timed = self._parts("cycle"), sum(self._parts("timed"))
        mean = sum(self._parts("total")) / timed if timed else None
        return Balance(
            self._parts("generated"),
            self._parts("population"),
            sum(self.probe.sources("rejected")),
            None if mean is None else mean * len(self._runs) / max(spans, default=1),
        )


def _verdict(saturated: bool | None, balance: Balance, window: _Window, network: Network) -> str:
    """Whether the network was saturated, and the reason, as text."""
    slots = network.sources * (window.end - window.begin) * len(window.probe.runs)
    if not slots:
        return "no cycle of the window was simulated"
    offered, delivered = sum(balance.generated), sum(window.probe.sinks("measured"))
    rates = f"delivered {delivered / slots:.4f} of {offered / slots:.4f} packets offered"
    if dropped := window.probe.dropped("measured"):
        rates += f", dropped {dropped / slots:.4f}"
    if balance.rejected:
        return f"saturated: {rates}; {balance.rejected} packets found their source's queue full"
    if saturated:
        more = round(sum(balance.growth))
        return f"saturated: {rates}; {more} more packets were waiting at the end"
    if balance.saturated is None:
        return f"undecided: {rates}; the window is too short to say whether it was saturated"
    if saturated is None:
        return f"undecided: {rates}; the network was not steady before the window began"
    return f"not saturated: {rates}"
