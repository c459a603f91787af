"""Links that die while a network runs, and new routing tables that lead around them."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from ...hdl.bench import Bench, bench_for
from ...hdl.core.checks import check_kind
from ...hdl.core.errors import InvalidValue
from ...hdl.core.fabric import Pin
from ...hdl.networks.route_tables import table_memories
from ...hdl.networks.routed import RoutedNetwork
from ...hdl.routing.rewritable import Rewritable
from ..engines.compiled import CompiledEngine
from ..workload.faults import inject
from ..workload.injection import Injection
from ..workload.traffic import pattern
from .probe import Probe

__all__ = ["Rerouted", "dead_ends", "run_rerouted", "tables_without", "write_tables"]

Contents = Sequence[Mapping[str, tuple[int, ...]]]
"""For each node, the rows of its tables."""


@dataclass(frozen=True)
class Rerouted:
    """A run in which links die and packets are led around them.

    Attributes
    ----------
    before, during, after : float
        Packets delivered per terminal per cycle: before the fault, from the fault until the sources
        stop, and after the new tables have been written.
    drain : int
        Cycles from the stop of the sources until the network was empty.
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


def dead_ends(network: RoutedNetwork, outputs: Collection[Pin]) -> set[tuple[int, int]]:
    """The links that outputs of routers drive, by the node and the port that they leave."""
    found = set()
    for output in outputs:
        node = int(str(output.cell).rpartition("_")[2])
        found.add((node, network.shapes[node].outputs[int(output.path[1])].end[0]))
    return found


def tables_without(network: RoutedNetwork, dead: Collection[tuple[int, int]]) -> Contents:
    """The tables of a network, for its graph without dead links.

    Parameters
    ----------
    network : RoutedNetwork
        Its relation is `Rewritable`.
    dead : Collection[tuple[int, int]]
        The links, by the node and the port that they leave. Both directions are avoided.

    Raises
    ------
    ValueError
        If the relation is another one, a terminal can't be reached without these links, or more
        channels are needed.
    """
    if not isinstance(network.relation, Rewritable):
        raise InvalidValue("Routing must be Rewritable for tables that are replaced in a run")
    return table_memories(network.relation.without(dead), tuple(network.shapes), 1).contents


def write_tables(engine: CompiledEngine, tables: Contents, run: int = 0) -> None:
    """Write tables into the routers of a running network, which must be empty.

    Old and new tables together could deadlock. No packet is routed by both if the network is empty.
    """
    for node, memories in enumerate(tables):
        for name, rows in memories.items():
            engine.write_memory(f"table_{node}", name, rows, run=run)


def run_rerouted(
    network: RoutedNetwork,
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
    network : RoutedNetwork
        Its relation is `Rewritable`.
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
        As for `tables_without`.
    """
    check_kind("Network", network, RoutedNetwork, "a network of routers")
    tables = tables_without(network, dead_ends(network, dead))
    sources = pattern(traffic, network.sources).sources(network, load, seed, 256)
    bench: Bench = bench_for(network, sources, bins=2)
    faults = [Injection(pin, "severed", start=2 * cycles) for pin in dead]
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
        drain = _drained(engine, network)
        lost = sum(probe.sources("injected")) - delivered()
        write_tables(engine, tables)
        engine.set("send", 1)
        engine.step(cycles)
        after = rate(cycles)
        _drained(engine, network)
        lost_in_all = sum(probe.sources("injected")) - delivered()
        damaged = sum(probe.sinks("damaged")) if network.flits else 0
    return Rerouted(before, during, after, drain, lost_in_all, damaged, lost_in_all - lost)


def _drained(engine: CompiledEngine, network: RoutedNetwork) -> int:
    """Stop the sources, and step until no flit is left; return the number of cycles."""
    begin, quiet = engine.cycle, 0
    engine.set("send", 0)
    # Flits on links of several cycles, and in the sources, are in no queue.
    while quiet <= 4 * network.relation.graph.latency + 4:
        engine.step(1)
        busy = any(
            engine.signal(f"router_{node}", f"queue_{number}.level")
            for node, shape in enumerate(network.shapes)
            for number in range(len(shape.inputs))
        )
        quiet = 0 if busy else quiet + 1
        if engine.cycle - begin > 10_000 + 100 * network.zero_load_cycles:
            raise InvalidValue("The network does not drain, so tables can't be replaced")
    return engine.cycle - begin - quiet
