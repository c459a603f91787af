"""Links that die while a network runs, and new routing tables that lead around them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from ...hdl.fabric.checks import check_integer
from ...hdl.fabric.errors import InvalidValue
from ...hdl.fabric.pins import Pin
from ...hdl.networks.network import Network
from ..engines import StateEngine
from ..measure.result import Result
from ..workload.injection import Injection, place_text
from .observers import NEVER, Ask, Observer

__all__ = ["Rerouter", "Rerouting", "rerouting", "write_tables"]

Tables = Mapping[str, Mapping[str, Sequence[int]]]
"""Memories by cell and name, as `Network.tables_around` gives them."""

_EXAMPLE = "link:router_0.o.0:severed"

_EMPTY = object()


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
        If `notice` is neither a number of cycles nor None, there is no such link, the network can't
        lead packets around them, or another link or cell passes nothing for ever.
    """
    if notice is None:
        return None
    notice = check_integer("Reroute", notice, 0)
    broken = [each for each in faults if each.effect in ("dead", "severed") and each.permanent]
    dead: list[Pin] = []
    for each in broken:
        if each.effect == "dead" or not isinstance(each.place, Pin) or not each.place.path:
            raise InvalidValue(
                f"Reroute leads around severed links of cells, as {_EXAMPLE}, not around "
                f"{place_text(each.place)}, which is {each.effect} for ever"
            )
        dead.append(each.place)
    if not dead:
        raise InvalidValue(f"Reroute needs a link that is severed for ever, as {_EXAMPLE}")
    when = max(each.start for each in broken) + notice
    return Rerouting(network.tables_around(dead), when)


class Rerouter(Observer):
    """Writes new routing tables into a network that is running.

    The sources are stopped until no packet is in the network. Then the tables are written, and the
    sources go on. Sources that are stopped are started later.

    Parameters
    ----------
    network : Network
    plan : Rerouting

    Attributes
    ----------
    drain : int or None
        Cycles for which the sources were stopped, once they have gone on.

    Raises
    ------
    ValueError
        In `before`, if the network does not become empty.
    """

    needs = StateEngine
    purpose = "reroute"

    def __init__(self, network: Network, plan: Rerouting) -> None:
        self._network = network
        self._tables, self._when = plan

    def begin(self, engine: StateEngine) -> None:
        self._engine = engine
        self._emptying = _emptying(engine, self._network)
        self._wanted = [0] * engine.runs
        self.drain: int | None = None

    def answer(self, ask: Ask, method: str, *arguments: Any) -> Any:
        match method, *arguments:
            case "set", "send", value, *given:
                for number in given or range(self._engine.runs):
                    self._wanted[number] = value
                if self.drain is None and self._engine.cycle >= self._when:
                    return None
        return ask(method, *arguments)

    def before(self, cycle: int) -> int:
        if self.drain is not None:
            return NEVER
        if cycle < self._when:
            return self._when
        if next(self._emptying, _EMPTY) is not _EMPTY:
            return cycle + 1
        self._rewrite()
        return NEVER

    def _rewrite(self) -> None:
        for run, value in enumerate(self._wanted):
            write_tables(self._engine, self._tables, run)
            self._engine.set("send", value, run)
        self.drain = self._engine.cycle - self._when

    def end(self, results: Sequence[Result]) -> list[Result]:
        """The results, with the cycles for which the sources were stopped."""
        said = {"rerouting_cycles": self.drain}
        return [replace(result, statistics=result.statistics | said) for result in results]


def _emptying(engine: StateEngine, network: Network) -> Iterator[None]:
    """Stop the sources until no packet is left in any run; a cycle is to follow each `yield`.

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
        yield
        busy = any(
            engine.signal(cell, name, run)
            for run in range(engine.runs)
            for cell, name in network.levels
        )
        quiet = 0 if busy else quiet + 1
        if engine.cycle - begin > 10_000 + 100 * network.zero_load_cycles:
            raise InvalidValue("The network does not drain, so tables can't be replaced")
