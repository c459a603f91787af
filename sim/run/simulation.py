"""Runs a network on the bench: warm-up, window, drain, and the check of the packet counts."""

import os
from collections.abc import Sequence
from typing import Any, Literal

from tqdm import tqdm

from ...hdl.bench import Bench, bench_for
from ...hdl.bench.instruments import COUNT_BITS
from ...hdl.core.checks import check_integer, check_kind
from ...hdl.core.errors import InvalidValue
from ...hdl.networks import Network
from ...hdl.networks.naming import keywords, takes_names
from ..engines import Engine
from ..engines.selection import check_engine, open_engines
from ..measure.result import Result, SimulationError
from ..workload.faults import Injection, inject, parse_fault
from ..workload.traffic import Pattern, Trace, pattern
from .finite_run import finite_run
from .probe import Probe
from .progress import phase
from .random_run import random_run
from .run import Run
from .steps import Steps

__all__ = ["Run", "run_bench", "simulate", "simulate_runs", "whole_run", "whole_runs"]

MOST_BINS = 2**25
"""Most bins of all sinks' histograms together, if their number is not given."""


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


def _steps(engine: Engine, lane: int, network: Network, bench: Bench, run: Run) -> Steps:
    begin = finite_run if run.is_finite else random_run
    return begin(Probe(engine, lane, bench), network, run, engine.name)


def _audit(network: Network, run: Run, result: Result) -> None:
    """Raise SimulationError if a run's packet counts do not balance."""
    violations = result.violations(ordered=network.ordered, finite=run.is_finite)
    if violations:
        raise SimulationError(f"The books do not balance: {violations}", result)


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


def _advance(engine: Engine, steps: list[Steps], progress: bool) -> list[Result]:
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
