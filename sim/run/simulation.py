"""Runs a network on the bench: warm-up, window, drain, and the check of the packet counts."""

import gc
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Literal

from tqdm import tqdm

from ...hdl.bench import Bench, bench_for
from ...hdl.bench.instruments import COUNT_BITS
from ...hdl.bench.twin import with_twin
from ...hdl.fabric.checks import check_flag, check_integer, check_kind, check_limit
from ...hdl.fabric.errors import InvalidValue
from ...hdl.networks import Network
from ...hdl.networks.naming import field_names, takes_names
from ...hdl.support.output_file import check_output
from ..engines import Engine
from ..engines.checkpoint import CheckpointEngine, check_checkpoint
from ..engines.compiled import CompiledEngine
from ..engines.selection import check_engine, open_engines
from ..measure.result import Result, SimulationError
from ..workload.faults import inject
from ..workload.injection import Injection, StateBits
from ..workload.random_faults import injections
from ..workload.traffic import Trace, pattern
from .activity import ActivityEngine, check_observable, observed
from .finite_run import finite_run
from .probe import Probe
from .progress import phase
from .random_run import random_run
from .record import identity, recorded
from .rerouting import rerouting, with_drain, with_rerouting
from .run import Run, packet_load
from .state_faults import with_state_faults
from .steps import Steps

__all__ = [
    "Run",
    "bins_for",
    "run_bench",
    "simulate",
    "simulate_runs",
    "whole_run",
    "whole_runs",
]

MOST_BINS = 2**25
"""Most bins of all sinks' histograms together, if their number is not given."""


def simulate_runs(
    network: Network,
    runs: Sequence[Run],
    *,
    engine: str = "auto",
    bins: int | None = None,
    faults: Sequence[str] = (),
    reroute: int | None = None,
    vcd: str | os.PathLike[str] | None = None,
    threads: int | None = None,
    progress: bool = False,
    checkpoint: str | os.PathLike[str] | None = None,
    activity: str | os.PathLike[str] | bool = False,
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
        Faults to inject, as `workload.random_faults.injections` reads them.
    reroute : int, optional
        Cycles from the end of the last link that is severed for ever until the sources stop. When
        the network is empty, it gets routing tables that lead around these links, and the sources
        go on (`Network.tables_around`).
    vcd : path-like, optional
        File for the waveforms of a single run (engine `amaranth`).
    threads : int, optional
        Processor cores that the engine `compiled` uses, as for `CompiledEngine`: by default several
        runs use all, and a single run one.
    progress : bool
        Show a progress bar on standard error, if it is a terminal and the run takes long.
    checkpoint : path-like, optional
        File to which the state of a single run is written every minute (engine `compiled`). If it
        exists, the run continues from it; the result is that of a run without pause.
    activity : path-like or bool
        Whether to measure what switches in the network, in the window of a single run (engine
        `compiled`): the `activity` of the result. A path is that of a file to write it to, in the
        form SAIF, with the names of the network's Verilog.

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
        run.traffic.check(network)
    check_engine(engine)
    check_flag("Progress", progress)
    if vcd is not None:
        check_output(vcd)
    if checkpoint is not None:
        check_checkpoint(checkpoint)
    if activity is not False:
        check_observable(runs, activity, faults=faults, vcd=vcd, checkpoint=checkpoint)
    found = injections(network, faults)
    in_state = [each for each in found if isinstance(each.place, StateBits)]
    in_links = [each for each in found if not isinstance(each.place, StateBits)]
    if checkpoint is not None and (in_state or reroute is not None):
        what = "faults of state" if in_state else "new routing tables"
        raise InvalidValue(f"A run with {what} can't write checkpoints")
    plan = rerouting(network, in_links, reroute)
    terminals = max(network.sources, network.sinks)
    with phase(f"building the bench of {terminals} terminals", progress), _nothing_collected():
        benches = _broken(_benches(network, runs, bins), in_links)
        place = None if activity is False else with_twin(benches[0])
        benches = benches if place is None else [place.bench]
    with phase("preparing the engine", progress), _nothing_collected():
        steppers = [
            with_rerouting(with_state_faults(each, in_state), network, plan)
            for each in open_engines(engine, benches, vcd=vcd, threads=threads)
        ]
    if len(steppers) > 1 and any(run.seeds > 1 for run in runs):
        raise InvalidValue(
            f"Seeds must be 1 on engine {steppers[0].name}, which runs one at a time"
        )
    if checkpoint is not None:
        steppers = [_resumable(steppers, network, runs, checkpoint, benches[0].bins, faults)]
    if place is not None:
        steppers = [observed(steppers[0], place)]
    results: list[Result] = []
    for stepper in steppers:
        # Either one engine has all runs, with all their seeds, or each has one run.
        share = runs if len(steppers) == 1 else runs[len(results) : len(results) + 1]
        with stepper:
            ended = _advance(stepper, _steps(stepper, network, benches[0], share), progress)
            results += with_drain(stepper, ended)
            if isinstance(stepper, ActivityEngine):
                results = [replace(results[0], activity=stepper.activity())]
                if not isinstance(activity, bool):
                    stepper.save(activity)
        if results[-1].partial:
            break
    results = [
        replace(result, run=recorded(network, run, benches[0].bins, faults, reroute))
        for run, result in zip(runs, results)
    ]
    for run, result in zip(runs, results):
        _audit(network, run, result)
    return results


@contextmanager
def _nothing_collected() -> Iterator[None]:
    """No search for garbage meanwhile: it would look at millions of new objects, which all stay."""
    usual = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if usual:
            gc.enable()


def _resumable(
    engines: Sequence[Engine],
    network: Network,
    runs: Sequence[Run],
    path: str | os.PathLike[str],
    bins: int,
    faults: Sequence[str],
) -> CheckpointEngine:
    """The engine of a single run, which writes checkpoints."""
    (engine, *_) = engines
    if not isinstance(engine, CompiledEngine):
        raise InvalidValue(f"Engine must be compiled to write checkpoints, not {engine.name}")
    if len(runs) > 1:
        raise InvalidValue("A checkpoint can only hold one run")
    about = recorded(network, runs[0], bins, faults)
    return CheckpointEngine(engine, path, about=identity(about))


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
    (result,) = _advance(engine, _steps(engine, network, bench, [run]), progress=False)
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


def bins_for(network: Network, bins: int | None = None) -> int:
    """The bins of each histogram, if their number is or is not given: see `simulate_runs`."""
    return min(2048, max(2, MOST_BINS // network.sinks)) if bins is None else bins


def _benches(network: Network, runs: Sequence[Run], bins: int | None) -> list[Bench]:
    first, *others = runs
    sources = first.sources(network)
    time = max(run.time_bits(network) for run in runs)
    bins = check_integer("Bins", bins_for(network, bins), 2, 1 << time)
    bench = bench_for(network, sources, bins=bins, time=time)
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


def _broken(benches: list[Bench], faults: Sequence[Injection]) -> list[Bench]:
    if not faults:
        return benches
    return [inject(bench, bench.network.fault_plan, faults) for bench in benches]


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


@takes_names(*field_names(Run, "traffic"))
def simulate(
    network: Network,
    /,
    *,
    traffic: Any = "uniform",
    unit: Literal["packets", "flits"] = "packets",
    operations: Sequence[str] = (),
    engine: str = "auto",
    bins: int | None = None,
    faults: Sequence[str] = (),
    reroute: int | None = None,
    vcd: str | os.PathLike[str] | None = None,
    threads: int | None = None,
    progress: bool = False,
    checkpoint: str | os.PathLike[str] | None = None,
    activity: str | os.PathLike[str] | bool = False,
    **parameters: Any,
) -> Result:
    """Simulate a network once.

    Parameters
    ----------
    network : Network or str
        `simulate("torus", k=8, load=0.3)` and `simulate("torus k=8", load=0.3)` build it first.
    traffic : str, Sequence, np.ndarray, Callable, Pattern or Trace
        Anything but a trace is read by `workload.traffic.pattern`.
    unit : str
        What `load` counts, per terminal per cycle; results count packets.
    engine, bins, faults, reroute, vcd, threads, progress, checkpoint, activity
        As in `simulate_runs`.
    **parameters
        Further fields of `Run`: load, cycles, warmup, seed, source_depth, history, precision,
        limit, seeds.

    Raises
    ------
    SimulationError, TypeError, ValueError
        As for `simulate_runs`.
    """
    check_kind("Network", network, Network, "a network")
    if not isinstance(traffic, Trace):
        traffic = pattern(traffic, network.sources)
    check_kind("Operations", operations, Sequence, "a sequence of names")
    load = packet_load(parameters.pop("load", Run.load), unit, network, operations)
    run = Run(traffic, load, operations=tuple(operations), **parameters)
    (result,) = simulate_runs(
        network,
        [run],
        engine=engine,
        bins=bins,
        faults=faults,
        reroute=reroute,
        vcd=vcd,
        threads=threads,
        progress=progress,
        checkpoint=checkpoint,
        activity=activity,
    )
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
