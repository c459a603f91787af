"""Reads the counters of a bench from an engine."""

from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any

import numpy as np
from amaranth.lib.wiring import Out

from ...hdl.bench import Bench
from ...hdl.bench.instruments import COUNT_BITS
from ...hdl.bench.stamp import STAMP_SUM_BITS
from ...hdl.computer.computer import Computer
from ...hdl.fabric.pins import Pin
from ...hdl.fabric.wires import Wire
from ...hdl.networks.network_records import Window
from ..engines import Engine, PortEngine
from ..measure.access_history import is_serializable
from ..measure.latency import Latency

__all__ = ["Probe", "crossings", "link_flits"]


class Probe:
    """Access to the controls and counters of independent runs of an engine.

    Counters are the sums over the runs, and their maxima are the largest of all.
    """

    def __init__(self, engine: Engine, runs: Sequence[int], bench: Bench) -> None:
        self.engine = engine
        self.runs = runs
        self.bench = bench

    def single(self) -> list["Probe"]:
        """A probe for each of the runs."""
        return [Probe(self.engine, [run], self.bench) for run in self.runs]

    def _read(self, cells: Sequence[str], port: str) -> list[int]:
        columns = [self.engine.read(cells, port, run) for run in self.runs]
        if len(columns) == 1:
            return columns[0]
        return list(map(max if port.endswith("max") else sum, zip(*columns)))

    def _metered(self, statistic: str, port: str) -> int:
        return sum(self._read(list(self.bench.meters.get(statistic, {}).values()), port))

    def set(self, port: str, value: int) -> None:
        for run in self.runs:
            self.engine.set(port, value, run)

    def sources(self, port: str) -> list[int]:
        return self._read(self.bench.sources, port)

    def sinks(self, port: str) -> list[int]:
        return self._read(self.bench.sinks, port)

    def drops(self, port: str) -> int:
        return self._metered("dropped", port)

    def dropped(self, port: str) -> int:
        """Packets that were dropped, and are not sent again."""
        return 0 if self.bench.network.resubmits else self.drops(port)

    @property
    def waiting(self) -> int:
        """Packets in the queues in front of the network."""
        counts = [sum(self.sources(port)) for port in ("generated", "rejected", "injected")]
        return counts[0] - counts[1] - counts[2]

    @property
    def in_flight(self) -> int:
        """Packets that the network has accepted and still holds; each broadcast copy counts."""
        return self.copies - self.dropped("total") - self.corrupted - sum(self.sinks("delivered"))

    @property
    def corrupted(self) -> int:
        """Packets that were found corrupted, and discarded."""
        return self._metered("corrupted", "total")

    def statistics(self, cycles: int) -> dict[str, Any]:
        """The network's own statistics of a window, from the counts of its cells' meters."""
        window = Window(cycles * len(self.runs), sum(self.sources("entered")), self.bench.packet)
        readings = {
            statistic: self._readings(cells) for statistic, cells in self.bench.meters.items()
        }
        return self.bench.network.statistics(readings, window)

    def _readings(self, cells: Mapping[str, str]) -> dict[str, dict[str, int]]:
        """For each cell, the value of each output of its meter."""
        meters = list(cells.values())
        leaves = self.bench.cells[meters[0]].type.leaves.items()
        ports = [str(path[0]) for path, leaf in leaves if leaf.flow == Out]
        columns = [self._read(meters, port) for port in ports]
        return {cell: dict(zip(ports, row)) for cell, row in zip(cells, zip(*columns))}

    @property
    def stamps_differ(self) -> bool | None:
        """Whether the packets delivered are not those sent; None if flows are recorded instead."""
        if not self.bench.adds_stamps:
            return None
        return (
            sum(self.sources("stamp_sum")) - sum(self.sinks("stamp_sum"))
        ) % 2**STAMP_SUM_BITS != 0

    @property
    def unfinished(self) -> int:
        """Packets in flight, and packets offered to the network, which can't be withdrawn."""
        return self.in_flight + sum(self.sources("pending"))

    @property
    def copies(self) -> int:
        """Deliveries due for the packets that the network has accepted."""
        return sum(self.sources("copies" if self.bench.network.broadcasts else "injected"))

    @property
    def background_latency(self) -> float | None:
        """Mean latency, from offer to reply, of the requests that are not for the hot spot."""
        if not self.bench.network.has_memory:
            return None
        requests = sum(self.sinks("background"))
        if requests in (0, sum(self.sinks("timed"))):
            return None
        return sum(self.sinks("background_sum")) / requests

    @property
    def serializable(self) -> bool | None:
        """Whether some serial order explains all replies; None if that was not determined."""
        verdicts = [is_serializable(self.engine, self.bench, run) for run in self.runs]
        return False if False in verdicts else None if None in verdicts else True

    @property
    def arrived_latency(self) -> int:
        """Sum of the latencies of all packets that have arrived."""
        return sum(self.sinks("latency_sum"))

    def latency_sum(self, kind: str, sinks: Sequence[str] | None = None) -> int:
        """Sum over the packets born in the window; 0 if this latency is not recorded."""
        if kind not in self.bench.latencies:
            return 0
        return sum(self._read(self.bench.sinks if sinks is None else sinks, f"{kind}_sum"))

    def latency(self, kind: str, ci99: float | None, sinks: Sequence[str] | None = None) -> Latency:
        """The latencies of what some sinks received, by default of all."""
        sinks = self.bench.sinks if sinks is None else sinks
        if kind not in self.bench.latencies:
            return Latency.from_counts([0, 0], 0, 0, None)
        return Latency.from_counts(
            self._histogram(sinks, f"{kind}_histogram"),
            self.latency_sum(kind, sinks),
            max(self._read(sinks, f"{kind}_max")),
            ci99,
        )

    def _histogram(self, sinks: Sequence[str], memory: str) -> list[int]:
        counts = [self.engine.memory_sum(sinks, memory, run) for run in self.runs]
        return np.sum(np.array(counts, object), axis=0).tolist()

    def links(self) -> dict[str, list[int]]:
        """Flits that crossed each link in the window, on each of its virtual channels."""
        found: dict[Wire, int] = {}
        wires = self.bench.wires
        for run in self.runs:
            for output, flits in _crossed(self.engine, self.bench, run):
                if (wire := wires.get(output)) is not None:
                    found[wire] = found.get(wire, 0) + flits
        links: dict[str, list[int]] = {wire.link: [] for wire in found}
        for wire in sorted(found, key=attrgetter("channel")):
            links[wire.link].append(found[wire])
        return links


def crossings(engine: PortEngine, bench: Bench | Computer, run: int = 0) -> dict[Pin, int]:
    """Flits that crossed each metered link so far while `measure` was 1, by its output."""
    return dict(_crossed(engine, bench, run))


def _crossed(engine: PortEngine, bench: Bench | Computer, run: int) -> Iterator[tuple[Pin, int]]:
    packed = engine.read([name for name, _ in bench.link_meters], "crossed", run)
    for counts, (_, outputs) in zip(packed, bench.link_meters):
        for index, output in enumerate(outputs):
            yield output, (counts >> COUNT_BITS * index) % 2**COUNT_BITS


def link_flits(engine: PortEngine, bench: Bench) -> int:
    """Flits that crossed the links between switches of the network, all together."""
    delivered = set(bench.deliveries)
    return sum(
        flits
        for output, flits in crossings(engine, bench).items()
        if output in bench.wires and output not in delivered
        if bench.network.joins_switches(output)
    )
