"""A test bench with a serial line: the whole contents of an FPGA, as one fabric."""

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, replace
from itertools import chain
from typing import Any, NamedTuple

from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from ..hdl.bench import SourcePlan, bench_for
from ..hdl.fabric.cell import Cell, CellType, Leaf
from ..hdl.fabric.checks import check_field
from ..hdl.fabric.errors import InvalidValue
from ..hdl.fabric.fabric import Fabric
from ..hdl.fabric.pins import Pin
from ..hdl.networks.network import Network
from ..sim.run.run import Run
from ..sim.workload.class_traffic import network_traffic
from .command_port import ADDRESS_BITS, CommandPort, strap_words
from .paused import Paused, PausedNode
from .protocol import IDENTITY_BYTES, VERSION
from .station import Station

__all__ = ["PRIVATE_STRAPS", "BoardBench", "Instruments", "Place"]

_BINS = 2
"""Bins of the histograms, which can't be read."""

PRIVATE_STRAPS = ("seed", "favourite")
"""Straps that differ between sources."""

_STRAPS = (*PRIVATE_STRAPS, "load", "bias", "spread", "scope", "quota")
"""Straps of the sources that set the traffic."""


@dataclass(frozen=True)
class Instruments:
    """The parts of a test bench that fit on a board. Synthesis removes what can't be read.

    Attributes
    ----------
    source_depth : int
        Number of packets that can wait in front of the network at each terminal.
    counter_bits : int
        Bits of a counter that can be read, 8 to 32: a run may have fewer than 2^counter_bits
        cycles, so that no counter overflows.
    flows : bool
        Whether packets that arrive twice or late are detected.
    network_latency : bool
        Whether the latency from the head of the source's queue is recorded.
    links : bool
        Whether there are link meters.
    finite : bool
        Whether traffic with a fixed number of packets can be sent (`one-each`, `all-to-one`).
    """

    source_depth: int = 256
    counter_bits: int = 32
    flows: bool = True
    network_latency: bool = True
    links: bool = True
    finite: bool = True

    def __post_init__(self) -> None:
        check_field(self, "source_depth", "Source depth", 1)
        check_field(self, "counter_bits", "Counter bits", 8, 32)

    def shown(self, leaf: Leaf) -> int:
        """Number of bits of a cell's output that can be read."""
        if isinstance(leaf.shape, data.ArrayLayout):
            return leaf.width
        # A sum of latencies is less than cycles times cycles.
        return min(leaf.width, self.counter_bits if leaf.width <= 32 else 2 * self.counter_bits)


class Place(NamedTuple):
    """The place of a counter in the board's address space.

    Attributes
    ----------
    address : int
        Its first byte.
    size : int
        Its bytes.
    """

    address: int
    size: int


class BoardBench(Fabric):
    """A network on the test bench, and a command port that configures, runs and reads it.

    All cells of the test bench are paused except in the cycles that the host requests, so the host
    sees exactly what an engine of the simulator would show. The straps that set the traffic are
    registers.

    Parameters
    ----------
    network : Network
        The network that is measured.
    instruments : Instruments
        What is counted, and how many bits the counters have.
    divisor : int
        Clock cycles per bit of the serial line.

    Members
    -------
    rx : In(1)
        The serial line from the host.
    tx : Out(1)
        The serial line to the host.
    idle : Out(1)
        The board waits for a byte.

    Attributes
    ----------
    bench : Bench
        The test bench whose cells it has.
    identity : bytes
        Hash of network, instruments and protocol version.
    places : dict[tuple[str, str], Place]
        The place of each counter, by cell and port.
    blocks : list[range]
        Addresses of the counters of all terminals, and of all meters.
    straps : dict[str, range]
        Word numbers of the straps.
    """

    # Before synthesis what nobody reads is taken out: of the stations, then of what they show.
    prunes: tuple[str, ...] = ("proc", "opt_hier", "opt -fast", "opt_hier")

    def __init__(self, network: Network, instruments: Instruments, *, divisor: int) -> None:
        if not network.restarts:
            raise InvalidValue(f"Network {network.family} can't be put on a board")
        super().__init__({"rx": In(1), "tx": Out(1), "idle": Out(1)})
        self.network = network
        self.instruments = instruments
        self.divisor = divisor
        driven = set(_STRAPS) - (set() if instruments.finite else {"quota"})
        sources = _sources(network, instruments.source_depth, driven)
        self.bench = bench = bench_for(
            network,
            sources,
            bins=_BINS,
            time=instruments.counter_bits,
            flows=instruments.flows,
            network_latency=instruments.network_latency,
        )
        if not instruments.links:
            bench.link_meters = []
        self.identity = _identity(network, instruments)
        source = bench.cells[bench.sources[0]].type
        straps = {
            str(path[0]): leaf.width for path, leaf in source.leaves.items() if path[0] in driven
        }
        self.straps = strap_words(straps)
        groups = self._groups()
        type_ = CellType(
            CommandPort,
            divisor=divisor,
            straps=tuple(straps.items()),
            identity=int.from_bytes(self.identity, "little"),
            latency=len(groups) + 1,
        )
        self._port = self.place(Cell("command_port", type_)).name
        for name in ("rx", "tx", "idle"):
            self.link(Pin(None, (name,)), Pin(self._port, (name,)))
        now = (bench.timer.name, "now")
        self._place_bench({now, *chain.from_iterable(groups)})
        self.link(Pin(now[0], now[1:]), Pin(self._port, ("now",)))
        self.places: dict[tuple[str, str], Place] = {}
        self._place_stations(groups, straps)

    @property
    def settings(self) -> dict[str, Any]:
        """What a report says of the instruments."""
        return asdict(self.instruments)

    def _groups(self) -> list[list[tuple[str, str]]]:
        """The counters of each station: first one station per terminal, then one per meter."""
        bench = self.bench
        # A processor is the source and the sink of its terminal.
        groups = [list(dict.fromkeys(pair)) for pair in zip(bench.sources, bench.sinks)]
        groups += [[name] for name, _ in bench.link_meters]
        groups += [[name] for names in bench.meters.values() for name in names.values()]
        return [
            [(cell, port) for cell in cells for port in self._counters(cell)] for cells in groups
        ]

    def _counters(self, cell: str) -> list[str]:
        """The outputs of a cell that are numbers."""
        leaves = self.bench.cells[cell].type.leaves.items()
        ports = [str(path[0]) for path, leaf in leaves if leaf.flow == Out and len(path) == 1]
        has = self.instruments
        absent = {
            *(() if has.finite else ("latest",)),
            *(() if has.flows else ("duplicated", "reordered", "stamp_sum")),
            *(() if has.network_latency else ("network_sum", "network_max")),
        }
        return [port for port in ports if port not in absent]

    def _place_bench(self, read: Collection[tuple[str, str]]) -> None:
        """Place the paused cells of the test bench, and link them.

        Outputs that neither the bench nor the board reads (`read`: cell and port) are left out.
        """
        bench = self.bench
        nodes = set(self.network.fabric.cells)
        types = {}
        for type_, cells in bench.types().items():
            names = {cell.name for cell in cells}
            without = bench.unread(type_) - {port for cell, port in read if cell in names}
            class_ = PausedNode if names <= nodes else Paused
            types[type_] = CellType(class_, type_=type_, without=frozenset(without))
        for cell in bench.cells.values():
            self.place(Cell(cell.name, types[cell.type], cell.straps))
        for receiver, driver in bench.drivers.items():
            # The command port drives the inputs that the engine drives in a simulation.
            self.link(Pin(self._port, driver.path) if driver.cell is None else driver, receiver)
        for name in bench.cells:
            self._drive("clear", name)
            if name not in bench.sources:
                self._drive("run", name, "enable")

    def _drive(self, output: str, cell: str, input_: str = "") -> None:
        self.link(Pin(self._port, (output,)), Pin(cell, (input_ or output,)))

    def _place_stations(
        self, groups: list[list[tuple[str, str]]], straps: Mapping[str, int]
    ) -> None:
        sizes = [[-(-self._shown(*counter) // 8) for counter in group] for group in groups]
        offset_bits = (max(map(sum, sizes)) - 1).bit_length()
        if len(groups) << offset_bits > 1 << ADDRESS_BITS:
            raise InvalidValue(f"A board can't read the counters of {self.network.ports} terminals")
        terminals, meters = self.network.ports << offset_bits, len(groups) << offset_bits
        self.blocks = [range(terminals), range(terminals, meters)]
        end = Pin(self._port, ("chain",))
        for number, group in enumerate(groups):
            name = f"station_{number}"
            words = tuple((self._leaf(*each).shape, self._shown(*each)) for each in group)
            parameters = {"words": words, "offset_bits": offset_bits}
            if number < self.network.ports:
                parameters["favourite"] = straps["favourite"]
            self.place(Cell(name, CellType(Station, **parameters), {"number": number}))
            self._drive("address", name)
            address = number << offset_bits
            for index, counter in enumerate(group):
                self.link(Pin(counter[0], (counter[1],)), Pin(name, (f"word_{index}",)))
                self.places[counter] = Place(address, sizes[number][index])
                address += sizes[number][index]
            if number < self.network.ports:
                self._place_source(name, self.bench.sources[number], straps)
            self.link(end, Pin(name, ("i",)))
            end = Pin(name, ("o",))
        self.link(end, Pin(self._port, ("value",)))

    def _leaf(self, cell: str, port: str) -> Leaf:
        return self.bench.cells[cell].type.leaves[port,]

    def _shown(self, cell: str, port: str) -> int:
        return self.instruments.shown(self._leaf(cell, port))

    def _place_source(self, station: str, source: str, straps: Mapping[str, int]) -> None:
        """Let a station load a source, and connect the port's straps to it."""
        for name in ("run", "begun", "clear", "load"):
            self._drive(name, station)
        self._drive("strap_favourite", station, "strap")
        self.link(Pin(station, ("favourite",)), Pin(source, ("favourite",)))
        self.link(Pin(station, ("enable",)), Pin(source, ("enable",)))
        for name in straps:
            if name != "favourite":
                self._drive(f"strap_{name}", source, name)


def _sources(network: Network, depth: int, driven: Collection[str]) -> SourcePlan:
    """The sources, with endless traffic, and without the straps that the board drives."""
    plan = Run(network_traffic("uniform", network), source_depth=depth, history=0).sources(network)
    straps = [
        {name: value for name, value in own.items() if name not in driven} for own in plan.straps
    ]
    return replace(plan, straps=straps)


def _identity(network: Network, instruments: Instruments) -> bytes:
    said = {
        "version": VERSION,
        "network": network.family,
        "parameters": network.chosen,
        "instruments": asdict(instruments),
    }
    text = json.dumps(said, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).digest()[:IDENTITY_BYTES]
