"""Load sweeps: the same network and traffic at many loads."""

import math
from collections.abc import Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack
from typing import Any

import joblib
from tqdm import tqdm

from ...hdl.core.checks import check_integer, check_limit
from ...hdl.core.errors import InvalidValue, MulticubeError
from ...hdl.networks import Network
from ..engines.selection import resolve_engine
from ..measure.curve import Sweep, saturation_interval
from ..measure.result import Result
from ..workload.traffic import Pattern, check_load, pattern
from .simulation import Run, simulate_runs

__all__ = ["parse_loads", "sweep"]

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
        If the text is neither, a load is not from 0 to 1, or there are more than 1,000 loads.
    """
    try:
        if ":" in text:
            first, last, step = map(float, text.split(":"))
            if not 0 < step < math.inf or not last >= first:
                raise ValueError
            count = int((last - first) / step + 1.5)
            loads = [round(first + step * i, 9) for i in range(min(count, MOST_LOADS + 1))]
            loads = [load for load in loads if load <= last + 1e-9]
        else:
            loads = [float(word) for word in text.split(",")]
    except (ValueError, OverflowError):
        raise InvalidValue(
            f"Loads must be FIRST:LAST:STEP or a list like 0.1,0.5, not {text!r}"
        ) from None
    if len(loads) > MOST_LOADS:
        raise InvalidValue(f"Loads must be at most {MOST_LOADS}, not as many as in {text!r}")
    for load in loads:
        check_load(load)
    return sorted(set(loads))


def sweep(
    network: Network,
    loads: Sequence[float],
    *,
    traffic: str | Pattern = "uniform",
    engine: str = "auto",
    refine: bool = True,
    processes: int | None = None,
    scheduler: str | None = None,
    progress: bool = False,
    bins: int | None = None,
    **parameters: Any,
) -> Sweep:
    """Simulate a network at many loads, in parallel, and at more loads where it saturates.

    Parameters
    ----------
    network : Network
    loads : Sequence[float]
        Packets per terminal per cycle, 0 to 1; at least one.
    traffic : str or Pattern
    engine : str
    refine : bool
        Divide the interval in which saturation begins by 16.
    processes : int, optional
        Processes on this machine; one per core if not given.
    scheduler : str, optional
        Address of a Dask scheduler, to run on its cluster instead (needs `multicube[cluster]`).
    progress : bool
        Show a progress bar on standard error, if it is a terminal.
    bins : int, optional
        Bins of each histogram.
    **parameters
        Further fields of `Run`: cycles, warmup, seed, source_depth.

    Raises
    ------
    SimulationError, TypeError, ValueError
        As `simulate_runs`.
    MulticubeError
        If one of the processes was killed.
    """
    if isinstance(traffic, str):
        traffic = pattern(traffic, network.ports)
    if not loads:
        raise InvalidValue("Loads must be given, at least one")
    if processes is not None:
        processes = check_integer("Processes", processes, 1)
        check_limit("Processes", processes, MOST_PROCESSES)
    workers = processes or joblib.cpu_count()
    options = {"engine": engine, "bins": bins, "threads": 1}

    with ExitStack() as stack:
        if scheduler is not None:
            workers = stack.enter_context(_cluster(scheduler))
        bar = stack.enter_context(
            tqdm(unit="loads", disable=None if progress else True, leave=False)
        )

        def measure(wanted: Sequence[float]) -> list[Result]:
            runs = [Run(traffic, load, **parameters) for load in wanted]
            share = -(-len(runs) // workers) if resolve_engine(engine) == "compiled" else 1
            jobs = [runs[at : at + share] for at in range(0, len(runs), share)]
            bar.total = (bar.total or 0) + len(runs)
            results = []
            try:
                for done in joblib.Parallel(n_jobs=workers, return_as="generator")(
                    joblib.delayed(simulate_runs)(network, job, **options) for job in jobs
                ):
                    results += done
                    bar.update(len(done))
            except BrokenProcessPool:
                raise MulticubeError(
                    f"One of {workers} processes was killed, perhaps for lack of memory"
                ) from None
            return results

        flits = sum(network.lengths) / 2
        zero_load, *points = measure([ZERO_LOAD / flits, *sorted(set(loads))])
        for _ in range(REFINEMENTS if refine else 0):
            interval = saturation_interval(points)
            if interval is None:
                break
            low, high = interval
            points += measure([round(low + (high - low) * i / 4, 9) for i in (1, 2, 3)])
            points.sort(key=lambda point: point.offered_load)
    return Sweep(network, traffic.name, points, zero_load)


class _cluster:
    """A context in which joblib's jobs run on a Dask cluster; yields its number of threads."""

    def __init__(self, address: str) -> None:
        try:
            from distributed import Client
        except ImportError:
            raise InvalidValue(
                "A scheduler needs the package distributed: pip install multicube[cluster]"
            ) from None
        try:
            self.client = Client(address, timeout=10)
        except (OSError, ValueError) as error:
            raise InvalidValue(f"Scheduler {address} can't be reached: {error}") from None
        self.backend = joblib.parallel_config(backend="dask")

    def __enter__(self) -> int:
        self.backend.__enter__()
        return sum(self.client.nthreads().values())

    def __exit__(self, *exception: object) -> None:
        self.backend.__exit__(*exception)
        self.client.close()
