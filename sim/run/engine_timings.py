"""The engines timed against each other; after equal cycles their counters must be equal."""

import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import psutil

from ...hdl.bench import Bench, bench_for
from ...hdl.fabric.checks import check_integer, check_kind, check_number, check_several, check_word
from ...hdl.fabric.errors import InvalidValue
from ...hdl.fabric.pins import Pin
from ...hdl.networks.network import Network
from ..engines import PortEngine
from ..engines.compiled.compiled_errors import CompilerFailed, EngineError, NoCompiler
from ..engines.engine_selection import open_engines
from ..engines.verilator import VerilatorEngine, VerilatorFailed, VerilatorMissing, VerilatorTimeout
from ..workload.class_traffic import network_traffic
from ..workload.traffic import check_load
from .probe import crossings
from .run import MOST_SEEDS, Run
from .workers import Job, finished_jobs

__all__ = ["ENGINES", "EnginesDiffer", "Timing", "time_engine", "time_engines"]

ENGINES = ("amaranth", "compiled", "verilator")
"""The engines that can be timed."""

_COUNTERS = ("delivered", "total_sum", "network_max")
_CHECKED_CYCLES = 200
"""Cycles after which all engines must have the same counters."""


_NOT_HERE = (NoCompiler, CompilerFailed, VerilatorMissing, VerilatorFailed, VerilatorTimeout)


class EnginesDiffer(EngineError):
    """The counters of two engines differ after the same cycles of the same network: a bug."""

    status = 70


@dataclass(frozen=True)
class Timing:
    """The speed of one engine.

    Attributes
    ----------
    engine : str
    runs : int
        Number of parallel runs.
    setup_seconds : float
        Time from the fabric to the first cycle, including compilation.
    cycles_per_second : float
        Sum over all runs.
    nanoseconds : float
        Per cell per cycle.
    hops_per_second : float
        Packets that crossed a link, per second; flits, if packets have several.
    memory : int
        Peak memory of the process in bytes.
    counters : tuple[int, ...]
        The counters of the first run's sinks after 200 cycles.
    note : str
        Why nothing was measured, if so; all figures are then 0.
    """

    engine: str
    runs: int
    setup_seconds: float = 0.0
    cycles_per_second: float = 0.0
    nanoseconds: float = 0.0
    hops_per_second: float = 0.0
    memory: int = 0
    counters: tuple[int, ...] = ()
    note: str = ""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def _open(name: str, benches: Sequence[Bench], verilator_limit: float) -> PortEngine:
    if name != VerilatorEngine.name:
        return open_engines(name, benches)[0]
    # What a run does not read is left out, so that the compiler has less to do.
    bench = benches[0]
    visible = [Pin(sink, (port,)) for sink in bench.sinks for port in _COUNTERS]
    visible += [Pin(name, ("crossed",)) for name, _ in bench.link_meters]
    return VerilatorEngine(bench, visible, limit=verilator_limit)


def _time(
    network: Network, name: str, runs: int, load: float, seconds: float, verilator_limit: float
) -> Timing:
    """Measure one engine. Runs in a separate process, so that its peak memory can be measured."""
    uniform = network_traffic("uniform", network)
    plans = [Run(uniform, load, seed=seed).sources(network) for seed in range(1, runs + 1)]
    first = bench_for(network, plans[0], bins=256)
    benches = [first, *map(first.with_sources, plans[1:])]
    start = time.perf_counter()
    try:
        engine = _open(name, benches, verilator_limit)
    except _NOT_HERE as error:
        return Timing(name, runs, note=str(error))
    with engine:
        engine.set("send", 1)
        engine.set("measure", 1)
        engine.step(1)
        setup = time.perf_counter() - start
        engine.step(_CHECKED_CYCLES - 1)
        counters = tuple(sum(engine.read(first.sinks, port)) for port in _COUNTERS)
        batch, spent = 16, 0.0
        # Find how many cycles take a measurable time.
        while not spent or spent < seconds / 4:
            batch *= 2
            start = time.perf_counter()
            engine.step(batch)
            spent = time.perf_counter() - start
        crossed = sum(crossings(engine, first).values())
        cycles = max(1, round(batch * seconds / spent))
        start = time.perf_counter()
        engine.step(cycles)
        spent = time.perf_counter() - start
        crossed = sum(crossings(engine, first).values()) - crossed
    return Timing(
        engine=name,
        runs=runs,
        setup_seconds=setup,
        cycles_per_second=cycles * runs / spent,
        nanoseconds=1e9 * spent / (cycles * runs * len(first.cells)),
        hops_per_second=crossed * runs / spent,
        memory=_most_memory(),
        counters=counters,
    )


def _most_memory() -> int:
    """Most bytes of memory that this process has had."""
    if sys.platform == "win32":
        return psutil.Process().memory_info().peak_wset
    import resource

    # In bytes on macOS, else in units of 1,024.
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def time_engine(
    network: Network,
    name: str = "compiled",
    runs: int = 1,
    *,
    load: float = 0.5,
    seconds: float = 5.0,
    verilator_limit: float = 300.0,
) -> Timing:
    """Time one engine, in a process of its own: `name` is amaranth, compiled or verilator.

    The other parameters are those of `time_engines`, which checks them.
    """
    job: Job = _time, (network, name, runs, load, seconds, verilator_limit), {}
    lost = Timing(name, runs, note="process was killed, perhaps for lack of memory")
    timing: Timing = dict(finished_jobs([job], 1)).get(0, lost)
    return timing


def time_engines(
    network: Network,
    *,
    load: float = 0.5,
    engines: Sequence[str] = ENGINES,
    side_by_side: int = 8,
    seconds: float = 5.0,
    verilator_limit: float = 300.0,
) -> Iterator[Timing]:
    """Time engines on one network with its sources and sinks, under uniform traffic.

    Parameters
    ----------
    network : Network
    load : float
        Packets per terminal per cycle.
    engines : Sequence[str]
        Of amaranth, compiled, verilator.
    side_by_side : int
        Number of parallel runs in the second measurement of the compiled engine.
    seconds : float
        Length of each measurement.
    verilator_limit : float
        Seconds that Verilator and the C++ compiler may take.

    Yields
    ------
    Timing
        As soon as each is measured, in the order above; `compiled` first with one run, then with
        several.

    Raises
    ------
    EnginesDiffer
        If the counters of two engines differ after the same cycles.
    TypeError, ValueError
        If an argument is not as above.
    """
    check_kind("Network", network, Network, "a network")
    check_load(load)
    side_by_side = check_integer("Runs", side_by_side, 1, MOST_SEEDS)
    seconds = check_number("Seconds", seconds)
    verilator_limit = check_number("Verilator limit", verilator_limit)
    if not 0 < seconds < float("inf"):
        raise InvalidValue(f"Seconds must be a time above 0, not {seconds:g}")
    if not 0 < verilator_limit < float("inf"):
        raise InvalidValue(f"Verilator limit must be a time above 0, not {verilator_limit:g}")
    engines = check_several("Engines", engines, "names of engines")
    for name in engines:
        check_word("Engine", name, ENGINES)
    expected: tuple[int, ...] = ()
    plans = [("amaranth", 1), ("compiled", 1), ("compiled", side_by_side), ("verilator", 1)]
    for name, runs in (plan for plan in plans if plan[0] in engines):
        timing = time_engine(
            network, name, runs, load=load, seconds=seconds, verilator_limit=verilator_limit
        )
        expected = expected or timing.counters
        if timing.counters and timing.counters != expected:
            raise EnginesDiffer(
                f"Engine {name} counted {timing.counters}, not {expected}, in the first "
                f"{_CHECKED_CYCLES} cycles: this is a bug in multicube; please report it"
            )
        yield timing
