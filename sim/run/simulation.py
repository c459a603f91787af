"""Runs a network on the bench: warm-up, window, drain, and the check of the packet counts."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any, Literal

from ...hdl.bench import Bench, bench_for
from ...hdl.bench.instruments import COUNT_BITS
from ...hdl.catalogue.naming import field_names, takes_fields, takes_names
from ...hdl.fabric.checks import check_integer, check_kind, check_limit
from ...hdl.fabric.errors import InvalidValue
from ...hdl.networks.network import Network
from ...hdl.support.garbage import nothing_collected
from ..engines import Engine, PortEngine
from ..engines.engine_selection import open_engines, resolve_engine, runs_together
from ..measure.result import Result, SimulationError
from ..workload.class_traffic import network_traffic
from ..workload.traffic import Trace
from .finite_run import finite_run
from .observers import Observed
from .options import Options, bins_for
from .probe import Probe
from .progress import phase
from .random_run import random_run
from .record import recorded
from .run import Run, packet_load
from .run_steps import Steps

__all__ = ["Run", "run_bench", "simulate", "simulate_runs", "whole_run", "whole_runs"]


@takes_fields(Options)
def simulate_runs(network: Network, runs: Sequence[Run], **options: Any) -> list[Result]:
    """Put a network on the bench and simulate it once for each of `runs`.

    Parameters
    ----------
    network : Network
        The network, which all runs share.
    runs : Sequence[Run]
        Either a single run, or several with random traffic and the same source depth.
    engine : str
        "compiled" (a C program), "amaranth", "verilator", or "auto": "compiled" if there is a C
        compiler. All give the same numbers.
    bins : int, optional
        Bins of each latency histogram, one for each cycle; by default 2,048, or fewer in a
        network of very many terminals.
    faults : Sequence[str]
        Faults to inject, as the option `--fault` takes them.
    reroute : int, optional
        Cycles from the last permanent fault of a link until the sources stop, and the network gets
        routing tables that lead around the severed links.
    vcd : path-like, optional
        File for the waveforms of a single run (engine "amaranth").
    threads : int, optional
        Processor cores of the engine "compiled"; by default several runs use all, and a single
        run as many as make it faster.
    progress : bool or path-like
        Whether to show a progress bar on standard error; or a file that gets a byte as each run
        ends.
    checkpoint : path-like, optional
        File to which the state of a single run is written every minute, and from which it goes
        on (engine "compiled").
    activity : path-like or bool, optional
        Whether to count the switching activity of a single run (engine "compiled"); or a SAIF file
        for it.

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

    Examples
    --------
    >>> from multicube import build
    >>> from multicube.sim import Run, pattern, simulate_runs
    >>> uniform = pattern("uniform", 4)
    >>> runs = [Run(uniform, load, cycles=200, warmup=20) for load in (0.1, 0.4)]
    >>> [result.offered_load for result in simulate_runs(build("cube", ports=4), runs)]
    [0.1, 0.4]
    """
    check_kind("Network", network, Network, "a network")
    check_kind("Runs", runs, Sequence, "a sequence of runs")
    if not runs:
        raise InvalidValue("Runs must be given, at least one")
    for run in runs:
        check_kind("Run", run, Run, "a Run")
        run.traffic.check(network)
    asked = Options(**options)
    asked.check(runs)
    time = max(run.time_bits(network) for run in runs)
    bins = check_integer("Bins", bins_for(network, asked.bins), 2, 1 << time)
    observers = asked.observers(network, runs, bins)
    needs = {each.purpose: each.needs for each in observers if each.purpose}
    engine = resolve_engine(asked.engine, needs)
    if any(run.seeds > 1 for run in runs) and not runs_together(engine):
        raise InvalidValue(f"Seeds must be 1 on engine {engine}, which runs one at a time")
    words = f"building the bench of {max(network.sources, network.sinks)} terminals"
    with phase(words, asked.progress is True), nothing_collected():
        benches = [
            reduce(lambda bench, each: each.prepare(bench), observers, bench)
            for bench in _benches(network, runs, bins, time, losses=bool(asked.faults))
        ]
    with phase("preparing the engine", asked.progress is True), nothing_collected():
        engines = open_engines(engine, benches, threads=asked.threads)
    results: list[Result] = []
    for opened in engines:
        # Either one engine has all runs, with all their seeds, or each has one run.
        share = runs if len(engines) == 1 else runs[len(results) : len(results) + 1]
        with Observed(opened, observers) as observed:
            steps = _steps(observed, network, benches[0], share)
            ended = _advance(observed, steps, observed.run_ended)
            results += observed.end(ended)
        if results[-1].partial:
            break
    results = [
        replace(result, run=recorded(network, run, bins, asked.faults, asked.reroute))
        for run, result in zip(runs, results)
    ]
    if asked.faults:  # The formulas are for networks without.
        results = [replace(result, predicted=dict.fromkeys(result.predicted)) for result in results]
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
    check_limit("Seeds", run.seeds, 1)
    (result,) = _advance(engine, _steps(engine, network, bench, [run]))
    result = replace(result, run=recorded(network, run, bench.bins))
    _audit(network, run, result)
    return result


def _steps(engine: Engine, network: Network, bench: Bench, runs: Sequence[Run]) -> list[Steps]:
    """The steps of runs, whose seeds follow each other on an engine.

    The benches of all differ in straps and contents only, which are never read.
    """
    steps, first = [], 0
    for run in runs:
        probe = Probe(engine, range(first, first + run.seeds), bench)
        begin = finite_run if run.is_finite else random_run
        steps.append(begin(probe, network, run, engine.name))
        first += run.seeds
    return steps


def _audit(network: Network, run: Run, result: Result) -> None:
    """Raise SimulationError if a run's packet counts do not balance."""
    violations = result.violations(ordered=network.ordered, finite=run.is_finite)
    if violations:
        raise SimulationError(f"The books do not balance: {violations}", result)


def _benches(
    network: Network, runs: Sequence[Run], bins: int, time: int, *, losses: bool
) -> list[Bench]:
    first, *others = runs
    more = {} if network.has_memory else {"losses": losses}
    bench = bench_for(network, first.sources(network), bins=bins, time=time, **more)
    for run in others:
        if isinstance(run.traffic, Trace) or isinstance(first.traffic, Trace):
            raise InvalidValue("Traces can't run in parallel")
        if run.traffic.parts_in(network) != first.traffic.parts_in(network):
            raise InvalidValue(
                "Parallel runs must all have bursts, intervals, or tables of one size, or none"
            )
        for what in ("source_depth", "operations", "history"):
            if getattr(run, what) != getattr(first, what):
                name = what.replace("_", " ")
                raise InvalidValue(f"Parallel runs must have the same {name}")
    _, *further = ((run, number) for run in runs for number in range(run.seeds))
    return [bench, *(bench.with_sources(run.sources(network, n)) for run, n in further)]


def _advance(
    engine: PortEngine, steps: list[Steps], run_ended: Callable[[], None] = lambda: None
) -> list[Result]:
    """Step an engine until all its runs are done; each run yields when to resume it."""
    results: list[Result | None] = [None] * len(steps)
    wake = dict.fromkeys(range(len(steps)), 0)
    while wake:
        interrupted, target = False, min(wake.values())
        if target >= 2**COUNT_BITS:
            raise InvalidValue(
                f"The run did not end within 2^{COUNT_BITS} cycles, the range of the counters"
            )
        try:
            engine.step(target - engine.cycle)
        except KeyboardInterrupt:
            interrupted = True
        for lane in [lane for lane, when in wake.items() if interrupted or when == target]:
            try:
                if interrupted:
                    wake[lane] = engine.cycle + steps[lane].throw(KeyboardInterrupt())
                else:
                    wake[lane] = engine.cycle + next(steps[lane])
            except StopIteration as done:
                results[lane] = done.value
                del wake[lane]
                run_ended()
    return [result for result in results if result is not None]


@takes_names()
@takes_fields(Options, Run)
def simulate(
    network: Network,
    /,
    *,
    traffic: Any = "uniform",
    unit: Literal["packets", "flits"] = "packets",
    operations: Sequence[str] = (),
    **parameters: Any,
) -> Result:
    """Simulate a network once.

    Parameters
    ----------
    network : Network or str
        The network, or its name: `simulate("torus", k=8, load=0.3)` and `simulate("torus k=8",
        load=0.3)` build it first.
    traffic : str, Sequence, np.ndarray, Callable, Pattern or Trace
        The destinations of packets; anything but a trace is read by `pattern`.
    unit : str
        "packets" or "flits": what `load` counts, per terminal per cycle. Results count packets.
    operations : Sequence[str]
        Names of the operations that processors draw from, in a network with memory; "all" means
        all that it supports.
    engine : str
        "compiled" (a C program), "amaranth", "verilator", or "auto": "compiled" if there is a C
        compiler. All give the same numbers.
    bins : int, optional
        Bins of each latency histogram, one for each cycle; by default 2,048, or fewer in a
        network of very many terminals.
    faults : Sequence[str]
        Faults to inject, as the option `--fault` takes them.
    reroute : int, optional
        Cycles from the last permanent fault of a link until the sources stop, and the network gets
        routing tables that lead around the severed links.
    vcd : path-like, optional
        File for the waveforms (engine "amaranth").
    threads : int, optional
        Processor cores of the engine "compiled"; by default as many as make it faster.
    progress : bool or path-like
        Whether to show a progress bar on standard error; or a file that gets a byte as the run
        ends.
    checkpoint : path-like, optional
        File to which the state is written every minute, and from which the run continues (engine
        "compiled").
    activity : path-like or bool, optional
        Whether to count switching activity (engine "compiled"); or a SAIF file for it.
    load : float
        Offered load per terminal per cycle, in `unit`.
    cycles : int, optional
        Length of the measured window; by default it grows until the results are precise.
    warmup : int or "auto"
        Cycles before the window; "auto" waits for a steady state.
    seed : int
        Seed of the sources' random numbers.
    source_depth : int
        Packets that can wait in front of the network at each terminal.
    history : int, optional
        Answered requests that each processor records, in a network with memory.
    precision : float, optional
        The fraction of their values within which the 99 % confidence intervals must be; 0.05 if
        neither this nor `cycles` is given.
    limit : int
        Most cycles to which the window grows.
    seeds : int
        Number of independent runs that are measured together, with seeds from `seed` on.
    **parameters : Any
        Parameters of the network, if its name is given.

    Returns
    -------
    Result
        What was measured. After a KeyboardInterrupt it is partial.

    Raises
    ------
    SimulationError
        If packets were lost, misrouted, duplicated or (where the network keeps order)
        reordered.
    TypeError, ValueError
        If an argument is not as above.

    Examples
    --------
    >>> from multicube import simulate
    >>> result = simulate("cube", ports=4, load=0.2, cycles=500, warmup=50)
    >>> result.delivered == result.injected
    True
    >>> result.latency.mean < 4
    True
    """
    check_kind("Network", network, Network, "a network")
    if not isinstance(traffic, Trace):
        traffic = network_traffic(traffic, network)
    check_kind("Operations", operations, Sequence, "a sequence of names")
    load = packet_load(parameters.pop("load", Run.load), unit, network, operations)
    options = {name: parameters.pop(name) for name in field_names(Options) if name in parameters}
    run = Run(traffic, load, operations=tuple(operations), **parameters)
    (result,) = simulate_runs(network, [run], **options)
    return result


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
