"""Load sweeps: the same network and traffic at many loads."""

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Literal

import joblib

from ...hdl.catalogue.naming import field_names, takes_names
from ...hdl.fabric.checks import check_flag, check_integer, check_kind, check_limit, shown
from ...hdl.fabric.errors import InvalidType, InvalidValue, MulticubeError
from ...hdl.fabric.numerals import number_of
from ...hdl.networks.network import Network
from ..engines.engine_selection import resolve_engine
from ..measure.comparison import Comparison
from ..measure.curve import Sweep, saturation_interval
from ..measure.result import Result
from ..workload.class_traffic import network_traffic
from ..workload.traffic import Pattern, check_load
from .cluster import open_cluster
from .options import bins_for
from .progress import RunCount
from .resume import FinishedPoints
from .run import Run, packet_load
from .simulation import simulate_runs
from .workers import Finished, Job, Workers

__all__ = ["LoadsLost", "PlannedSweep", "measured", "parse_loads", "planned", "sweep"]

ZERO_LOAD = 0.01
"""A load, in flits per terminal per cycle, at which packets hardly ever meet."""

MOST_LOADS = 1000
"""Most loads that a text can ask for."""

MOST_PROCESSES = 1024

REFINEMENTS = 2
"""How many times the interval in which saturation begins is divided by four."""


def parse_loads(text: str) -> list[float]:
    """Parse loads: `FIRST:LAST:STEP`, or numbers separated by commas.

    Raises
    ------
    ValueError
        If the text is neither, or there are more than 1,000 loads.
    """
    try:
        if ":" in text:
            first, last, step = map(number_of, text.split(":"))
            if not 0 < step < math.inf or not last >= first:
                raise ValueError
            count = int((last - first) / step + 1.5)
            loads = [round(first + step * i, 9) for i in range(min(count, MOST_LOADS + 1))]
            loads = [load for load in loads if load <= last + 1e-9]
        else:
            loads = [number_of(word) for word in text.split(",")]
    except (ValueError, OverflowError):
        raise InvalidValue(
            f"Loads must be FIRST:LAST:STEP or a list like 0.1,0.5, not {text!r}"
        ) from None
    if len(loads) > MOST_LOADS:
        raise InvalidValue(f"Loads must be at most {MOST_LOADS}, not as many as in {text!r}")
    return sorted(set(loads))


@dataclass(frozen=True)
class PlannedSweep:
    """A sweep that was checked: what it measures, and nothing of how and where.

    Attributes
    ----------
    network : Network
    traffic : Pattern
    loads : tuple[float, ...]
        In packets per terminal per cycle, in increasing order.
    bins : int
    parameters : Mapping[str, Any]
        Further fields of its runs.
    """

    network: Network
    traffic: Pattern
    loads: tuple[float, ...]
    bins: int
    parameters: Mapping[str, Any]

    def run_at(self, load: float) -> Run:
        """The run at a load."""
        return Run(self.traffic, load, **self.parameters)


def planned(
    network: Network,
    loads: Sequence[float],
    *,
    traffic: Any = "uniform",
    unit: Literal["packets", "flits"] = "packets",
    clip: bool = False,
    bins: int | None = None,
    **parameters: Any,
) -> PlannedSweep:
    """A sweep, checked before anything runs; the arguments are those of `sweep`.

    Raises
    ------
    TypeError, ValueError
        If one of its runs would be refused.
    """
    check_kind("Network", network, Network, "a network")
    check_flag("Clip", clip)
    found = network_traffic(traffic, network)
    found.check(network)
    if found.when.quota:
        raise InvalidValue(f"Traffic {found.name} has no load to sweep: all is sent at once")
    if found.own_load is not None:
        raise InvalidValue(f"Traffic {found.name} has no load to sweep: {found.own_load}")
    operations = parameters.get("operations", ())
    packets = [packet_load(load, unit, network, operations) for load in _listed(loads)]
    for load in packets:
        check_load(load)
    if clip:
        packets = [min(load, found.when.highest_load) for load in packets]
    for load in packets:
        found.check_load(load)
    plan = PlannedSweep(
        network, found, tuple(sorted(set(packets))), bins_for(network, bins), parameters
    )
    plan.run_at(plan.loads[0]).sources(network)
    return plan


@takes_names(*field_names(Run, "traffic", "load"))
def sweep(
    network: Network,
    /,
    loads: Sequence[float],
    *,
    traffic: Any = "uniform",
    unit: Literal["packets", "flits"] = "packets",
    engine: str = "auto",
    clip: bool = False,
    refine: bool = True,
    processes: int | None = None,
    scheduler: str | None = None,
    resume: str | os.PathLike[str] | None = None,
    progress: bool = False,
    bins: int | None = None,
    **parameters: Any,
) -> Sweep:
    """Simulate a network at many loads, in parallel, and at more loads where it saturates.

    Parameters
    ----------
    network : Network or str
        The network, or its name: `sweep("torus", [0.1, 0.2], k=8)` and `sweep("torus k=8",
        [0.1, 0.2])` build it first.
    loads : Sequence[float]
        Packets (or flits) per terminal per cycle, 0 to 1 packets; at least one.
    traffic : str, Sequence, np.ndarray, Callable or Pattern
        The destinations of packets, read by `pattern`; its packets must not end by themselves.
    unit : str
        "packets" or "flits": what `loads` count. Those of the results are in packets.
    engine : str
        "compiled" (a C program), "amaranth", "verilator", or "auto": "compiled" if there is a C
        compiler. All give the same numbers.
    clip : bool
        Replace loads that the traffic can't offer by the highest that it can; otherwise they are
        refused.
    refine : bool
        Divide the interval in which saturation begins by 16, or less where points stay undecided.
    processes : int, optional
        Processes on this machine; one per core if not given.
    scheduler : str, optional
        Address of a Dask scheduler, to run on its cluster instead (needs `multicube[cluster]`).
    resume : path-like, optional
        File that stores each finished point; points that it has are not run again.
    progress : bool
        Show a progress bar on standard error, if it is a terminal.
    bins : int, optional
        Bins of each histogram.
    **parameters : Any
        Fields of `Run` (cycles, warmup, seed, source_depth, operations, history, precision,
        limit, seeds), and parameters of the network, if its name is given.

    Returns
    -------
    Sweep
        The results at all loads. If it was interrupted, it is partial.

    Raises
    ------
    LoadsLost
        If processes were killed, and killed again when their loads were run again.
    KeyboardInterrupt
        If it is raised before any run has ended; later, the sweep is partial.
    SimulationError
        If packets were lost, misrouted, duplicated or (where the network keeps order)
        reordered.
    TypeError, ValueError
        If an argument is not as above, or the network refuses the traffic.

    Examples
    --------
    >>> from multicube import sweep
    >>> curve = sweep("cube", [0.1, 0.3], ports=4, refine=False, processes=1, cycles=200, warmup=20)
    >>> [point.offered_load for point in curve.points]
    [0.1, 0.3]
    """
    plan = planned(network, loads, traffic=traffic, unit=unit, clip=clip, bins=bins, **parameters)
    return measured(
        plan,
        engine=engine,
        refine=refine,
        processes=processes,
        scheduler=scheduler,
        resume=resume,
        progress=progress,
    )


def measured(
    plan: PlannedSweep,
    *,
    engine: str = "auto",
    refine: bool = True,
    processes: int | None = None,
    scheduler: str | None = None,
    resume: str | os.PathLike[str] | None = None,
    progress: bool = False,
) -> Sweep:
    """The results of a sweep that was planned; the arguments and errors are those of `sweep`."""
    check_flag("Refine", refine)
    check_flag("Progress", progress)
    if processes is not None:
        processes = check_integer("Processes", processes, 1)
        check_limit("Processes", processes, MOST_PROCESSES)
        if scheduler is not None:
            raise InvalidValue(f"A cluster takes no processes of this machine, not {processes}")
    network, traffic, run_at, loads = plan.network, plan.traffic, plan.run_at, plan.loads
    workers = processes or joblib.cpu_count()
    engine = resolve_engine(engine)
    options: dict[str, Any] = {"engine": engine, "bins": plan.bins, "threads": 1}
    found = FinishedPoints(resume, network, run_at, plan.bins)
    lost: list[float] = []
    zero_load = ZERO_LOAD / network.mean_length()

    asked = set(loads)

    def points() -> list[Result]:
        return [found[load] for load in sorted(asked) if load in found]

    with ExitStack() as stack:
        finished: Finished = _finished_here
        if scheduler is not None:
            workers, finished = stack.enter_context(open_cluster(scheduler))
        elif workers > 1:
            finished = stack.enter_context(Workers())
        count = stack.enter_context(RunCount(network.family, progress))
        if scheduler is None and count.tally is not None:
            options["progress"] = count.tally

        def measure(wanted: Sequence[float]) -> None:
            found.look_for(wanted)
            runs = {load: run_at(load) for load in wanted if load not in found}
            count.expect(len(runs))
            # Runs that share vectors end together: none of them would be kept before the last.
            shared = engine == "compiled" and resume is None
            side_by_side = -(-len(runs) // workers) if shared else 1

            def attempt(left: Sequence[float], processes: int, share: int) -> None:
                shares = [left[at : at + share] for at in range(0, len(left), share)]
                jobs: list[Job] = [
                    (simulate_runs, (network, [runs[load] for load in each]), options)
                    for each in shares
                ]
                for number, results in finished(jobs, processes):
                    # A run that was interrupted, and so ended early, is left out.
                    whole = [
                        (load, result)
                        for load, result in zip(shares[number], results)
                        if not result.partial
                    ]
                    found.add(whole)
                    count.ended(len(whole))

            def missing() -> list[float]:
                return [load for load in runs if load not in found]

            attempt(missing(), workers, side_by_side)
            # Lost loads run again with fewer processes, so that they need less memory, and then
            # alone: what ends one process takes the unfinished jobs of the others with it.
            attempt(missing(), -(-workers // 2), 1)
            for load in missing():
                attempt([load], 1, 1)
            lost.extend(load for load in runs if load not in found)

        partial = False
        try:
            measure(list(dict.fromkeys([zero_load, *loads])))
            for _ in range(REFINEMENTS if refine else 0):
                interval = saturation_interval(points())
                if interval is None or lost:
                    break
                low, high = interval
                between = [round(low + (high - low) * i / 4, 9) for i in (1, 2, 3)]
                between = [load for load in between if load not in asked]
                if not between:  # they were undecided, and the interval stayed the same
                    break
                asked.update(between)
                measure(between)
        except KeyboardInterrupt:
            if not points():
                raise
            partial = True
    curve = Sweep(
        network, traffic.name, points(), found.get(zero_load), partial, tuple(sorted(lost))
    )
    if lost:
        raise LoadsLost(curve)
    return curve


def _listed(loads: Sequence[float]) -> list[float]:
    """The loads of a sequence or an array."""
    try:
        given = list(loads)
    except TypeError:
        raise InvalidType(f"Loads must be a sequence of numbers, not {shown(loads)}") from None
    if not given:
        raise InvalidValue("Loads must be given, at least one")
    return given


class LoadsLost(MulticubeError):
    """Some loads could not be simulated, because their processes or scheduler were killed.

    Attributes
    ----------
    sweep : Sweep
        The results of all other loads.
    comparison : Comparison or None
        If several networks were to be compared, also those of the networks before it.
    """

    comparison: Comparison | None = None

    def __init__(self, sweep: Sweep) -> None:
        loads = ", ".join(f"{load:g}" for load in sweep.lost)
        super().__init__(
            "Processes were killed, perhaps for lack of memory, or their scheduler; "
            f"no result for these loads: {loads}"
        )
        self.sweep = sweep

    def __reduce__(self) -> tuple:
        return type(self), (self.sweep,)


def _finished_here(jobs: Sequence[Job], _: int) -> Iterator[tuple[int, Any]]:
    """Run jobs in this process, until one is interrupted."""
    for number, (function, arguments, options) in enumerate(jobs):
        results = function(*arguments, **options)
        yield number, results
        if len(results) < len(arguments[1]) or any(result.partial for result in results):
            raise KeyboardInterrupt
