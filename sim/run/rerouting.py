"""Links that die while a network runs, and new routing tables that lead around them."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from ...hdl.bench import Bench, bench_for
from ...hdl.fabric.checks import check_integer, check_kind
from ...hdl.fabric.errors import InvalidValue
from ...hdl.fabric.fabric import Pin
from ...hdl.networks import Network
from ..engines import Engine, StateEngine
from ..engines.compiled import CompiledEngine
from ..measure.result import Result
from ..workload.faults import inject
from ..workload.injection import Injection
from ..workload.traffic import pattern
from .probe import Probe

__all__ = [
    "Rerouted",
    "Rerouting",
    "ReroutingEngine",
    "rerouting",
    "run_rerouted",
    "with_drain",
    "with_rerouting",
    "write_tables",
]

Tables = Mapping[str, Mapping[str, Sequence[int]]]
"""Memories by cell and name, as `Network.tables_around` gives them."""

_EMPTY = object()


@dataclass(frozen=True)
class Rerouted:
    """A run in which links die and packets are led around them.

    Attributes
    ----------
    before, during, after : float
        Packets delivered per terminal per cycle: before the fault, from the fault until the sources
        stop, and after the new tables have been written.
    drain : int
        Cycles from the stop of the sources until the tables were written.
    lost : int
        Packets that entered and were not delivered.
    damaged : int
        Flits that were damaged: the last ones of packets that were cut.
    lost_after : int
        Packets of those that entered after the new tables, and were not delivered.
    """

    before: float
    during: float
    after: float
    drain: int
    lost: int
    damaged: int
    lost_after: int


def write_tables(engine: StateEngine, tables: Tables, run: int = 0) -> None:
    """Write tables into the routers of a running network, which must be empty.

    Old and new tables together could deadlock. No packet is routed by both if the network is empty.
    """
    for cell, memories in tables.items():
        for name, rows in memories.items():
            engine.write_memory(cell, name, rows, run=run)


class Rerouting(NamedTuple):
    """New tables for a network, and the cycle in which the sources stop until they are written."""

    tables: Tables
    when: int


def rerouting(
    network: Network, faults: Sequence[Injection], notice: int | None
) -> Rerouting | None:
    """Tables around all links that are severed for ever, `notice` cycles after the last has died.

    Raises
    ------
    TypeError, ValueError
        If `notice` is neither a number of cycles nor None, there is no such link, or the network
        can't lead packets around them.
    """
    if notice is None:
        return None
    notice = check_integer("Reroute", notice, 0)
    severed = [each for each in faults if each.effect == "severed" and each.permanent]
    dead = [each.place for each in severed if isinstance(each.place, Pin) and each.place.path]
    if not dead:
        raise InvalidValue("Reroute needs a link that is severed for ever, as link:router_0.o.0")
    when = max(each.start for each in severed) + notice
    return Rerouting(network.tables_around(dead), when)


def with_rerouting(engine: Engine, network: Network, plan: Rerouting | None) -> Engine:
    """An engine whose network gets new tables, if there is a plan for them.

    Raises
    ------
    ValueError
        If the engine does not show its state.
    """
    if plan is None:
        return engine
    if not isinstance(engine, StateEngine):
        raise InvalidValue(f"Engine {engine.name} does not show its state, so it can't reroute")
    return ReroutingEngine(engine, network, plan)


def with_drain(engine: Engine, results: Sequence[Result]) -> list[Result]:
    """Results of an engine that reroutes, with the cycles for which it stopped the sources."""
    if not isinstance(engine, ReroutingEngine):
        return list(results)
    said = {"rerouting_cycles": engine.drain}
    return [replace(result, statistics=result.statistics | said) for result in results]


class ReroutingEngine:
    """A `StateEngine` whose network gets new routing tables in a run.

    The sources are stopped until no packet is in the network. Then the tables are written, and the
    sources go on. All else is passed on.

    Parameters
    ----------
    engine : StateEngine
    network : Network
    plan : Rerouting

    Attributes
    ----------
    drain : int or None
        Cycles for which the sources were stopped, once they have gone on.

    Raises
    ------
    ValueError
        In `step`, if the network does not become empty.
    """

    def __init__(self, engine: StateEngine, network: Network, plan: Rerouting) -> None:
        self._engine = engine
        self._tables, self._when = plan
        self._emptying = _emptying(engine, network)
        self._wanted = [0] * engine.runs
        self.drain: int | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def __enter__(self) -> "ReroutingEngine":
        return self

    def __exit__(self, *exception: object) -> None:
        self._engine.__exit__(*exception)

    def set(self, port: str, value: int, run: int | None = None) -> None:
        """As in `PortEngine`. Sources that are stopped are told later to send."""
        if port == "send":
            for number in range(self._engine.runs) if run is None else [run]:
                self._wanted[number] = value
            if self._draining:
                return
        self._engine.set(port, value, run)

    def step(self, cycles: int) -> None:
        """As in `PortEngine`."""
        engine = self._engine
        end = engine.cycle + check_integer("Cycles", cycles, 0)
        while engine.cycle < end:
            if self._draining:
                if next(self._emptying, _EMPTY) is _EMPTY:
                    self._rewrite()
            else:
                stop = self._when if self.drain is None else end
                engine.step(min(stop, end) - engine.cycle)

    def _rewrite(self) -> None:
        for run, value in enumerate(self._wanted):
            write_tables(self._engine, self._tables, run)
            self._engine.set("send", value, run)
        self.drain = self._engine.cycle - self._when

    @property
    def _draining(self) -> bool:
        return self.drain is None and self._engine.cycle >= self._when


def _emptying(engine: StateEngine, network: Network) -> Iterator[None]:
    """Stop the sources, and step until no packet is left in any run; stop after each cycle.

    Raises
    ------
    ValueError
        If this takes too long.
    """
    # Flits on links of several cycles, and in the sources, are in no queue.
    latency = 1 if network.relation is None else network.relation.graph.latency
    begin, quiet = engine.cycle, 0
    engine.set("send", 0)
    while quiet <= 4 * latency + 4:
        engine.step(1)
        busy = any(
            engine.signal(cell, name, run)
            for run in range(engine.runs)
            for cell, name in network.levels
        )
        quiet = 0 if busy else quiet + 1
        if engine.cycle - begin > 10_000 + 100 * network.zero_load_cycles:
            raise InvalidValue("The network does not drain, so tables can't be replaced")
        yield


def run_rerouted(
    network: Network,
    dead: Collection[Pin],
    *,
    load: float,
    cycles: int = 1000,
    notice: int = 100,
    traffic: str = "uniform",
    seed: int = 1,
) -> Rerouted:
    """Run a network in which links are severed, drain it, write new tables, and go on.

    The links die in cycle 2 * `cycles`: what is sent into them is lost, and packets that were
    passing are cut. `notice` cycles later the sources stop. When no flit is left in the routers,
    tables for the graph without these links are written, and the sources go on.

    Parameters
    ----------
    network : Network
        Its tables can be replaced.
    dead : Collection[Pin]
        Outputs of routers that drive the links, one for each channel of them.
    load : float
        Packets per terminal per cycle.
    cycles : int
        Cycles of warm-up, of the measurement before the fault, and of that after the new tables
        and another warm-up.
    notice : int
    traffic : str
    seed : int

    Raises
    ------
    TypeError, ValueError
        As for `Network.tables_around`.
    """
    check_kind("Network", network, Network, "a network")
    sources = pattern(traffic, network.sources).sources(network, load, seed, 256)
    bench: Bench = bench_for(network, sources, bins=2)
    faults = [Injection(pin, "severed", start=2 * cycles) for pin in dead]
    tables = network.tables_around(dead)
    with CompiledEngine(inject(bench, None, faults)) as engine:
        probe = Probe(engine, [0], bench)

        def delivered() -> int:
            return sum(probe.sinks("delivered"))

        def rate(span: int) -> float:
            first = delivered()
            engine.step(span)
            return (delivered() - first) / (span * network.sinks)

        engine.set("send", 1)
        engine.step(cycles)
        before = rate(cycles)
        during = rate(notice)
        stopped = engine.cycle
        for _ in _emptying(engine, network):
            pass
        drain = engine.cycle - stopped
        lost = sum(probe.sources("injected")) - delivered()
        write_tables(engine, tables)
        engine.set("send", 1)
        engine.step(cycles)
        after = rate(cycles)
        for _ in _emptying(engine, network):
            pass
        lost_in_all = sum(probe.sources("injected")) - delivered()
        damaged = sum(probe.sinks("damaged")) if network.flits else 0
    return Rerouted(before, during, after, drain, lost_in_all, damaged, lost_in_all - lost)
