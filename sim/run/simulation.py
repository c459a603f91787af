"""Runs a network on the bench: warm-up, window, drain, and the check of the packet counts."""

import os
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from tqdm import tqdm

from ...hdl.bench import Bench, SourcePlan, bench_for
from ...hdl.bench.instruments import COUNT_BITS
from ...hdl.bench.stamp import LONG_TIME_BITS, TIME_BITS
from ...hdl.core.checks import check_field, check_integer, check_kind, check_limit
from ...hdl.core.errors import InvalidValue
from ...hdl.networks import Network
from ...hdl.networks.naming import keywords, takes_names
from ..engines import Engine
from ..engines.selection import check_engine, open_engines
from ..measure.result import Latency, Result, SimulationError, ratio_interval
from ..theory import predict
from ..workload.faults import Injection, inject, parse_fault
from ..workload.traffic import TRACE_START, Pattern, Trace, check_load, pattern
from .probe import Probe
from .progress import phase
from .warmup import MAXIMUM, is_settled

__all__ = ["Run", "run_bench", "simulate", "simulate_runs", "whole_run", "whole_runs"]

BATCHES = 20
"""Number of parts of the window, for confidence intervals; counters are read after each."""

LONGEST = 2**31
"""Most cycles of warm-up and window: the bench counts to 2^32, which includes the drain."""

DEEPEST = 2**20
"""Most packets that can wait at a source."""

OPERATIONS = ("fetch-and-add",)
"""Operations of the processors if none are given."""

MOST_BINS = 2**25
"""Most bins of all sinks' histograms together, if their number is not given."""

LONGEST_HISTORY = 2**18
"""Most answered requests that all processors together record, if their number is not given."""

_SINK_DELAY = 2
"""Cycles until a delivery shows in a sink's counters."""


@dataclass(frozen=True)
class Run:
    """What to simulate on a network.

    Attributes
    ----------
    traffic : Pattern or Trace
    load : float
        Packets per terminal per cycle, 0 to 1. Not used for a trace.
    cycles : int
        Length of the window, 1 to 2^31. Not used for a trace, whose window is the whole trace.
    warmup : int or "auto"
        Cycles before the window; "auto" waits for a steady state (`warmup.is_settled`).
    seed : int
        Seed of the sources' random numbers.
    source_depth : int
        Packets that can wait in front of the network at each terminal, 1 to 2^20.
    operations : tuple[str, ...]
        Names of the operations that processors draw from, if the network has memory; "all" means
        all that it supports. If empty, `OPERATIONS`.
    history : int, optional
        Answered requests that each processor records, so that their serial order can be checked. By
        default 4,096, or as many as `LONGEST_HISTORY` allows.
    """

    traffic: Pattern | Trace
    load: float = 0.5
    cycles: int = 2000
    warmup: int | Literal["auto"] = "auto"
    seed: int = 1
    source_depth: int = 256
    operations: tuple[str, ...] = ()
    history: int | None = None

    def __post_init__(self) -> None:
        check_kind("Traffic", self.traffic, (Pattern, Trace), "a Pattern or a Trace")
        check_load(self.load)
        object.__setattr__(self, "load", float(self.load))
        check_field(self, "cycles", "Cycles", 1, LONGEST)
        check_field(self, "seed", "Seed", 0)
        check_field(self, "source_depth", "Source depth", 1, DEEPEST)
        if self.warmup != "auto":
            check_field(self, "warmup", "Warm-up", 0, LONGEST)
            check_limit("Warm-up and cycles together", self.warmup + self.cycles, LONGEST)
        if self.history is not None:
            check_field(self, "history", "History", 0, LONGEST_HISTORY)

    def time_bits(self, network: Network) -> int:
        """Width of the bench's timestamps, large enough for any latency in this run.

        A finite run has no given length. It is estimated as four times what one terminal needs to
        receive all its packets.
        """
        if _is_finite(self):
            packets, span = _amount(self.traffic, network)
            longest = span + 4 * packets * network.lengths[1]
        else:
            warmup = MAXIMUM * _batch(network) if self.warmup == "auto" else self.warmup
            longest = warmup + self.cycles
        return TIME_BITS if longest < 2**TIME_BITS else LONG_TIME_BITS

    def sources(self, network: Network) -> SourcePlan:
        """The sources that generate this run's traffic."""
        if network.has_memory:
            if isinstance(self.traffic, Trace):
                raise InvalidValue("A trace holds no memory requests: this network can't replay it")
            history = min(4096, LONGEST_HISTORY // network.ports)
            return self.traffic.processors(
                network,
                self.load,
                self.seed,
                self.source_depth,
                operations=self.operations or OPERATIONS,
                history=history if self.history is None else self.history,
            )
        if self.operations or self.history is not None:
            raise InvalidValue("Operations and history are for networks with memory")
        if isinstance(self.traffic, Trace):
            return self.traffic.sources(network)
        return self.traffic.sources(network, self.load, self.seed, self.source_depth)


_Steps = Generator[int, None, Result]
"""A run in progress: it yields how many cycles to step next, and returns its result.

A KeyboardInterrupt thrown into it ends the measurement; the result is then partial.
"""


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


def _drain(probe: Probe, batch: int, patience: int) -> Generator[int, None, int]:
    """Step until the network is empty, or no packet has moved for `patience` cycles."""
    start = moved = probe.engine.cycle
    left = probe.unfinished
    least = abs(left)
    while left and probe.engine.cycle - moved < patience:
        yield batch
        left = probe.unfinished
        # A broken network may keep delivering packets that were never sent: that is no progress.
        if abs(left) < least:
            least, moved = abs(left), probe.engine.cycle
    yield _SINK_DELAY
    return probe.engine.cycle - start


def _random_run(probe: Probe, network: Network, run: Run, engine: str) -> _Steps:
    """A run with random traffic: warm-up, window, drain."""
    traffic = run.traffic
    assert isinstance(traffic, Pattern)  # a trace is finite
    batch = _batch(network)
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
            when = begin + int(edge) + _SINK_DELAY
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
            drain = yield from _drain(probe, batch, _patience(network))
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
    return _result(
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


def _finite_run(probe: Probe, network: Network, run: Run, engine: str) -> _Steps:
    """A run of a finite number of packets, such as a trace: the window is the whole run."""
    traffic = run.traffic
    packets, span = _amount(traffic, network)
    if isinstance(traffic, Trace):
        what, delivery = "trace spans", "its delivery"
    else:
        what, delivery = "packets are generated in", "their delivery"
    batch = _batch(network)
    partial = False
    probe.set("send", 1)
    probe.set("measure", 1)
    try:
        yield TRACE_START + span
        sent, moved = sum(probe.sources("injected")), probe.engine.cycle
        while sent < packets and probe.engine.cycle - moved < _patience(network):
            yield batch
            before, sent = sent, sum(probe.sources("injected"))
            if sent != before:
                moved = probe.engine.cycle
        yield from _drain(probe, batch, _patience(network))
    except KeyboardInterrupt:
        partial = True
    cycles = max(1, max(probe.sinks("latest")) + 1 - TRACE_START)
    verdict = f"the {what} {span} cycle{'s'[: span > 1]}, {delivery} took {cycles}"
    latencies = [probe.latency(kind, None) for kind in ("total", "network")]
    if cycles >= 2**probe.bench.time:
        latencies = [Latency.unknown(sum(probe.sinks("measured")))] * 2
        verdict += f"; latencies are only measured below 2^{probe.bench.time} cycles"
    return _result(
        probe,
        network,
        traffic=traffic.name,
        engine=engine,
        seed=None if isinstance(traffic, Trace) else run.seed,
        cycles=cycles,
        warmup=TRACE_START,
        drain=0,
        settled=True,
        partial=partial,
        offered_load=packets / (network.ports * span),
        throughput_ci99=None,
        generated=packets,
        rejected=0,
        latency=latencies[0],
        network_latency=latencies[1],
        predicted=predict(network, 0, uniform=False),
        saturated=False,
        verdict=verdict,
    )


def _amount(traffic: Pattern | Trace, network: Network) -> tuple[int, int]:
    """The number of packets of finite traffic, and of the cycles in which they are generated."""
    if isinstance(traffic, Trace):
        return len(traffic.packets), traffic.cycles
    return traffic.quota * network.ports, traffic.quota


def _batch(network: Network) -> int:
    """Cycles between samples during warm-up and drain."""
    return max(25, 4 * network.zero_load_cycles)


def _patience(network: Network) -> int:
    """Cycles without any delivery after which a draining network is considered stuck."""
    return 1000 + 20 * network.zero_load_cycles + 4 * (network.lengths[1] + network.longest_delay)


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


def _result(
    probe: Probe,
    network: Network,
    *,
    cycles: int,
    partial: bool,
    generated: int,
    rejected: int,
    network_latency: Latency,
    **rest: Any,
) -> Result:
    injected = sum(probe.sources("injected"))
    delivered = sum(probe.sinks("delivered"))
    packets = not network.has_memory
    dropped = probe.drops("total")
    followed = probe.bench.follows_flows
    duplicated = sum(probe.sinks("duplicated")) if followed else None
    entered = probe.sources("entered")
    measured = probe.sinks("measured")
    slowest = int(np.argmin(entered))
    window = max(cycles, 1)
    return Result(
        network=network.family,
        parameters=network.chosen,
        cycles=cycles,
        partial=partial,
        throughput=sum(measured) / (network.ports * window),
        generated=generated,
        rejected=rejected,
        unsent=generated - rejected - injected,
        injected=injected,
        delivered=delivered,
        dropped=dropped,
        corrupted=probe.corrupted,
        attempts=1 + probe.drops("measured") / sum(measured) if any(measured) else None,
        lost=None if partial else probe.in_flight + (duplicated or 0),
        damaged=sum(probe.sinks("damaged")) if packets and network.flits else 0,
        misrouted=sum(probe.sinks("misrouted")),
        duplicated=duplicated,
        reordered=(sum(probe.sinks("reordered")) if packets else 0) if followed else None,
        stamps_differ=None if partial else probe.stamps_differ,
        network_latency=network_latency,
        round_trip=None if packets else network_latency,
        background_latency=probe.background_latency,
        serializable=None if partial else probe.serializable,
        least_served={"terminal": slowest, "throughput": entered[slowest] / window},
        terminals={"injected": entered, "delivered": measured},
        links=probe.links(window),
        statistics=probe.statistics(window),
        **rest,
    )


def simulate_runs(
    network: Network,
    runs: Sequence[Run],
    *,
    engine: str = "auto",
    bins: int | None = None,
    faults: Sequence[str] = (),
    vcd: str | os.PathLike[str] | None = None,
    threads: int | None = None,
    progress: bool = False,
) -> list[Result]:
    """Put a network on the bench and simulate it once for each of `runs`.

    Parameters
    ----------
    network : Network
    runs : Sequence[Run]
        Either a single run, or several with random traffic and the same source depth.
    engine : str
        One of `engines.selection.ENGINES`.
    bins : int, optional
        Number of bins of each latency histogram, one per cycle. By default 2,048, or fewer if all
        sinks together would have more than `MOST_BINS`.
    faults : Sequence[str]
        Faults to inject into a multistage network, as `workload.faults.parse_fault` reads them.
    vcd : path-like, optional
        File for the waveforms of a single run (engine `amaranth`).
    threads : int, optional
        Processor cores that the engine `compiled` may use; all if not given.
    progress : bool
        Show a progress bar on standard error, if it is a terminal and the run takes long.

    Returns
    -------
    list of Result
        In the order of `runs`. After a KeyboardInterrupt, runs in progress return partial results,
        and runs that have not started return none.

    Raises
    ------
    SimulationError
        If packets were lost, misrouted, duplicated or (where the network keeps order) reordered.
    TypeError, ValueError
        If an argument is not as above.
    """
    check_kind("Network", network, Network, "a network")
    check_kind("Runs", runs, Sequence, "a sequence of runs")
    if not runs:
        raise InvalidValue("Runs must be given, at least one")
    for run in runs:
        check_kind("Run", run, Run, "a Run")
    check_engine(engine)
    injections = [parse_fault(fault) for fault in faults]
    with phase(f"building the bench of {network.ports} terminals", progress):
        benches = _broken(_benches(network, runs, bins), injections)
    with phase("preparing the engine", progress):
        steppers = open_engines(engine, benches, vcd=vcd, threads=threads)
    results: list[Result] = []
    for stepper in steppers:
        with stepper:
            first = len(results)
            steps = [
                _steps(stepper, lane, network, benches[first + lane], run)
                for lane, run in enumerate(runs[first : first + stepper.runs])
            ]
            results += _advance(stepper, steps, progress)
        if results[-1].partial:
            break
    for run, result in zip(runs, results):
        _audit(network, run, result)
    return results


def run_bench(engine: Engine, network: Network, bench: Bench, run: Run) -> Result:
    """Run a bench on an open engine, such as a board, that is in its first cycle.

    Parameters
    ----------
    engine : Engine
    network : Network
    bench : Bench
        Bench of this network, with the sources `run.sources(network)`.
    run : Run

    Raises
    ------
    SimulationError
        As for `simulate_runs`.
    """
    (result,) = _advance(engine, [_steps(engine, 0, network, bench, run)], progress=False)
    _audit(network, run, result)
    return result


def _steps(engine: Engine, lane: int, network: Network, bench: Bench, run: Run) -> _Steps:
    begin = _finite_run if _is_finite(run) else _random_run
    return begin(Probe(engine, lane, bench), network, run, engine.name)


def _audit(network: Network, run: Run, result: Result) -> None:
    """Raise SimulationError if a run's packet counts do not balance."""
    violations = result.violations(ordered=network.ordered, finite=_is_finite(run))
    if violations:
        raise SimulationError(f"The books do not balance: {violations}", result)


def _is_finite(run: Run) -> bool:
    return isinstance(run.traffic, Trace) or run.traffic.quota > 0


def _benches(network: Network, runs: Sequence[Run], bins: int | None) -> list[Bench]:
    first, *others = runs
    sources = first.sources(network)
    time = max(run.time_bits(network) for run in runs)
    if bins is None:
        bins = min(2048, max(2, MOST_BINS // network.ports))
    bins = check_integer("Bins", bins, 2, 1 << time)
    bench = bench_for(network, sources, bins=bins, time=time)
    for run in others:
        if isinstance(run.traffic, Trace) or isinstance(first.traffic, Trace):
            raise InvalidValue("Traces can't run in parallel")
        for what in ("source_depth", "operations", "history"):
            if getattr(run, what) != getattr(first, what):
                name = what.replace("_", " ")
                raise InvalidValue(f"Parallel runs must have the same {name}")
    return [bench, *(bench.with_sources(run.sources(network)) for run in others)]


def _broken(benches: list[Bench], injections: Sequence[Injection]) -> list[Bench]:
    if not injections:
        return benches
    plan = benches[0].network.fault_plan
    if plan is None:
        raise InvalidValue("Faults can only be injected into an unreplicated multistage network")
    return [inject(bench, plan, injections) for bench in benches]


def _advance(engine: Engine, steps: list[_Steps], progress: bool) -> list[Result]:
    """Step an engine until all its runs are done; each run yields when to resume it."""
    results: list[Result | None] = [None] * len(steps)
    wake = dict.fromkeys(range(len(steps)), 0)
    with tqdm(unit="cycles", disable=None if progress else True, delay=2, leave=False) as bar:
        while wake:
            interrupted = False
            before, target = engine.cycle, min(wake.values())
            if target >= 2**COUNT_BITS:
                raise InvalidValue(
                    f"The run did not end within 2^{COUNT_BITS} cycles, the range of the counters"
                )
            try:
                engine.step(target - before)
            except KeyboardInterrupt:
                interrupted = True
            bar.update(engine.cycle - before)
            for lane in [lane for lane, when in wake.items() if interrupted or when == target]:
                try:
                    if interrupted:
                        wake[lane] = engine.cycle + steps[lane].throw(KeyboardInterrupt())
                    else:
                        wake[lane] = engine.cycle + next(steps[lane])
                except StopIteration as done:
                    results[lane] = done.value
                    del wake[lane]
    return [result for result in results if result is not None]


@takes_names(*keywords(simulate_runs))
def simulate(
    network: Network,
    /,
    *,
    traffic: str | Pattern | Trace = "uniform",
    load: float = 0.5,
    cycles: int = 2000,
    warmup: int | Literal["auto"] = "auto",
    seed: int = 1,
    source_depth: int = 256,
    operations: Sequence[str] = (),
    history: int | None = None,
    **options: Any,
) -> Result:
    """Simulate a network once; see `Run` for the parameters and `simulate_runs` for the options.

    Parameters
    ----------
    network : Network or str
        `simulate("torus", k=8, load=0.3)` and `simulate("torus k=8", load=0.3)` build it first.
    traffic : str, Pattern or Trace
        A string is parsed by `workload.traffic.pattern`.

    Raises
    ------
    SimulationError, TypeError, ValueError
        As for `simulate_runs`.
    """
    check_kind("Network", network, Network, "a network")
    if isinstance(traffic, str):
        traffic = pattern(traffic, network.ports)
    check_kind("Operations", operations, Sequence, "a sequence of names")
    run = Run(traffic, load, cycles, warmup, seed, source_depth, tuple(operations), history)
    return simulate_runs(network, [run], **options)[0]


def whole_runs(network: Network, runs: Sequence[Run], **options: Any) -> list[Result]:
    """What `simulate_runs` gives, but for KeyboardInterrupt: no result is partial, it is raised."""
    results = simulate_runs(network, runs, **options)
    if any(result.partial for result in results):
        raise KeyboardInterrupt
    return results


def whole_run(network: Network, **options: Any) -> Result:
    """What `simulate` gives, but for KeyboardInterrupt: no result is partial, it is raised."""
    result = simulate(network, **options)
    if result.partial:
        raise KeyboardInterrupt
    return result
