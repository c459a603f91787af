"""A network on its test bench: the sources, sinks and meters around it, all in one fabric."""

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from amaranth.lib import wiring
from amaranth.lib.wiring import In

from ..fabric.cell import Cell, CellType
from ..fabric.errors import InvalidValue
from ..fabric.fabric import Fabric
from ..fabric.pins import Pin, Pins
from ..fabric.wires import Streams, Wire, named_wires, streams
from ..links.packet import Packet
from ..networks.flits import geometric_mean
from ..networks.memory_network import MemoryNetwork
from ..networks.network import Network
from ..networks.packet_network import PacketNetwork
from .instruments import Timer, WindowAges, latency_kinds
from .meters import meter_links, place_meters
from .sink import Sink
from .stamp import TIME_BITS, stamp_for

__all__ = ["Bench", "MemoryBench", "PacketBench", "SourcePlan", "bench_for"]


@dataclass(frozen=True)
class SourcePlan:
    """The sources of a test bench, and the differences between them.

    Attributes
    ----------
    component : type[wiring.Component]
        The class of the sources.
    parameters : Mapping[str, Any]
        Those other than the layout of packets and the tags, which the network gives.
    straps, contents : Sequence[Mapping]
        For each terminal's source, those other than its address.
    """

    component: type[wiring.Component]
    parameters: Mapping[str, Any]
    straps: Sequence[Mapping[str, int]]
    contents: Sequence[Mapping[str, tuple[int, ...]]] = field(default_factory=tuple)

    def __repr__(self) -> str:
        return f"<SourcePlan of {len(self.straps)} terminals: {self.component.__name__}>"


class Bench(Fabric):
    """The base of all test benches: the fabric of a network, a timer, and meters on its links.

    Members
    -------
    send : In(1)
        Sources generate and offer packets.
    measure : In(1)
        Sinks and meters count for the measurement. The span of cycles in which it is first 1 is the
        measurement window: the latencies of the packets generated in it are recorded.

    Attributes
    ----------
    network : Network
    sources, sinks : list[str]
        Names of the sending and receiving cells, by terminal.
    link_meters : list[tuple[str, list[Pin]]]
        Name of each link meter, and the outputs whose links it counts.
    wires : dict[Pin, Wire]
        The wires that each of these outputs drives, but for those that carry nothing.
    meters : dict[str, dict[str, str]]
        By statistic, and by the name of the network's cell that declares it (`Meter`): the name of
        the meter that counts it.
    latencies : tuple[str, ...]
        The kinds of latency that the sinks record.
    bins : int
        Bins of the histograms of each sink.
    time : int
        Latencies are exact in runs of fewer than 2^time cycles.
    packet : Packet or None
        The layout on the network's links, if it carries packets.
    follows_flows : bool
        Whether sources and sinks detect packets that arrive twice or late.
    adds_stamps : bool
        Whether sources and sinks add up the stamps of packets instead.
    """

    network: Network
    packet: Packet | None = None
    follows_flows: bool
    adds_stamps: bool = False
    sources: list[str]
    sinks: list[str]
    link_meters: list[tuple[str, list[Pin]]]
    _metered: Streams

    def __init__(self, bins: int, time: int, flows: bool, network_latency: bool) -> None:
        super().__init__({"send": In(1), "measure": In(1)})
        self.bins = bins
        self.time = time
        self.meters: dict[str, dict[str, str]] = {}
        self.follows_flows = flows
        self.latencies = latency_kinds(network_latency)
        self.timer = self.place(Cell("timer", CellType(Timer)))
        self.window = self.place(Cell("window", CellType(WindowAges, time=time)))
        self.link(Pin(None, ("measure",)), Pin(self.window.name, ("measure",)))

    def with_sources(self, sources: SourcePlan) -> Self:
        """The same test bench with other straps and contents of its sources."""
        other = copy(self)
        other.cells = dict(self.cells)
        for index, name in enumerate(self.sources):
            cell = self.cells[name]
            straps = {**cell.straps, **sources.straps[index]}
            contents = sources.contents[index] if sources.contents else {}
            other.cells[name] = replace(cell, straps=straps, contents=contents)
        return other

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.network}: {len(self.cells)} cells>"

    def _attach(self, names: Sequence[str], *, times: bool) -> None:
        """Connect the time and the control of sources or sinks, and of those that time packets."""
        self._supply(Pin(self.timer.name, ("now",)), names, "now")
        self._supply(Pin(None, ("measure",)), names, "measure")
        for bound in ("least", "most") if times else ():
            self._supply(Pin(self.window.name, (bound,)), names, bound)

    def _supply(self, driver: Pin, cells: Sequence[str], port: str) -> None:
        """Connect a pin to a port of each of many cells."""
        self.link_all(Pins.same(driver, len(cells)), Pins.of_each(cells, (port,)))

    def _carry(self, ends: Sequence[Pin], cells: Sequence[str], port: str) -> None:
        """Connect the ends of a network to a port of one cell each."""
        self.link_all(Pins.of_each(cells, (port,)), Pins.of(ends))

    def _streams(self, begin: int) -> Streams:
        """The streams of all links from this one on, but for those that leave the sources."""
        found = streams(self, begin)
        sources = self.numbers([self.cells[name] for name in self.sources])
        return found.some(~np.isin(found.drivers.cell, sources))

    def _meter_links(self, links: Streams) -> None:
        """Add a meter to the links that leave each cell of the network."""
        self._metered = links
        self.link_meters = meter_links(self, links, Pin(None, ("measure",)))

    @property
    def deliveries(self) -> list[Pin]:
        """Those of the metered outputs that lead to a sink."""
        sinks = set(self.sinks)
        return [driver for driver, receiver in self._metered.each() if receiver.cell in sinks]

    @cached_property
    def wires(self) -> dict[Pin, Wire]:
        return named_wires(self, self._metered.each(), self.network.lane)


class PacketBench(Bench):
    """The fabric of a network with a source at every input and a sink at every output.

    The network carries stamped packets: its payload is widened if the stamp needs more bits,
    which does not change its behaviour in any cycle.

    After a reset counters begin anew, but what is in memories does not: histograms count on, and so
    do the numbers of packets in their flows.

    Parameters
    ----------
    network : PacketNetwork
    sources : SourcePlan
    bins : int
        Bins of the histograms of each sink.
    time : int
        Width of the times in stamps: latencies are exact in runs of fewer than 2^time cycles.
    flows, network_latency : bool
        Whether flows are followed, if the network's packets can be, and whether latencies within
        the network are recorded, too. Without them packets are smaller.
    losses : bool
        Whether faults may lose packets of a network that loses none. With it packets are larger.
    message : int
        Width of the numbers of messages that wait for each other (`Stamp`), 0 for none.
    word : int
        Width of the words that packets carry, 0 for none.

    Raises
    ------
    ValueError
        If the network combines packets, which changes their payloads and therefore the stamps.
    """

    network: PacketNetwork

    def __init__(
        self,
        network: PacketNetwork,
        sources: SourcePlan,
        *,
        bins: int,
        time: int = TIME_BITS,
        flows: bool = True,
        network_latency: bool = True,
        losses: bool = False,
        message: int = 0,
        word: int = 0,
    ) -> None:
        if network.combine != "none":
            raise InvalidValue(
                f"Combine must be none, not {network.combine!r}, for packets that are traced; "
                "use send_messages for a network that combines"
            )
        stamp = stamp_for(
            network,
            time=time,
            flows=flows,
            losses=losses,
            offered=network_latency,
            message=message,
            word=word,
        )
        super().__init__(bins, time, stamp.followed, network_latency)
        self.adds_stamps = flows and not stamp.followed
        self.network = network
        self.packet = network.packet_of(stamp)
        kind = {"packet": self.packet, "tags": network.tags}
        self.sources = [f"source_{terminal}" for terminal in range(network.sources)]
        self.sinks = [f"sink_{terminal}" for terminal in range(network.sinks)]

        outside = len(self.links)
        terminals = network.place(self, self.packet)
        parameters: dict[str, Any] = {"lengths": network.lengths, **sources.parameters}
        if mean := geometric_mean(network.parameters.get("length", 1)):
            parameters["geometric"] = mean
        source = CellType(sources.component, **kind, **parameters)
        sink = CellType(Sink, **kind, bins=bins)
        cells = []
        for index, name in enumerate(self.sources):
            straps = {"address": network.tags.source_code.encode(index), **sources.straps[index]}
            contents = sources.contents[index] if sources.contents else {}
            cells.append(Cell(name, source, straps, contents, f"terminal {index}"))
        for index, name in enumerate(self.sinks):
            straps = {"address": network.tags.code.encode(index)}
            cells.append(Cell(name, sink, straps, title=f"terminal {index}"))
        self.place_all(cells)
        self._carry(terminals.inputs, self.sources, "o")
        self._supply(Pin(None, ("send",)), self.sources, "open")
        self._attach(self.sources, times=False)
        self._carry(terminals.outputs, self.sinks, "i")
        self._attach(self.sinks, times=True)
        self._meter_links(self._streams(outside))
        self.meters = place_meters(self, Pin(None, ("measure",)))


class MemoryBench(Bench):
    """The fabric of a network between processors and memory, with a processor at every terminal.

    Parameters
    ----------
    network : MemoryNetwork
    sources : SourcePlan
        The processors.
    bins : int
        Bins of the histograms of each processor.
    time : int
        As in `PacketBench`.
    flows, network_latency : bool
        Whether flows are followed, and latencies within the network recorded.

    Attributes
    ----------
    memories : list[str]
        Names of the cells of the memory modules; each has its words in the memory `words`.
    history : int
        How many answered requests each processor records.
    """

    network: MemoryNetwork

    def __init__(
        self,
        network: MemoryNetwork,
        sources: SourcePlan,
        *,
        bins: int,
        time: int = TIME_BITS,
        flows: bool = True,
        network_latency: bool = True,
    ) -> None:
        super().__init__(bins, time, flows, network_latency)
        self.network = network
        self.sources = self.sinks = [f"processor_{number}" for number in range(network.ports)]
        self.history = sources.parameters["history"]
        self.memories = [f"memory_{number}" for number in range(network.ports)]
        outside = len(self.links)
        ports = network.place(self)
        processor = CellType(
            sources.component,
            link=network.link,
            code=network.code,
            tag_bits=network.tag_bits,
            lengths=network.side_by_side,
            bins=bins,
            time=time,
            **sources.parameters,
        )
        for index, name in enumerate(self.sources):
            contents = sources.contents[index] if sources.contents else {}
            self.place(Cell(name, processor, sources.straps[index], contents))
        self._carry(ports, self.sources, "o")
        self._supply(Pin(None, ("send",)), self.sources, "open")
        self._attach(self.sources, times=True)
        # What processors send is not counted. Requests are first, then words, then replies.
        links = self._streams(outside)
        order = {"request": 0, "reply": 2}
        ranks = np.array([order.get(str(path[-1]), 1) for path in links.drivers.paths])
        self._meter_links(links.some(np.argsort(ranks[links.drivers.path], kind="stable")))
        self.meters = place_meters(self, Pin(None, ("measure",)))


def bench_for(network: Network, sources: SourcePlan, *, bins: int, **options: Any) -> Bench:
    """The test bench for a network; the options are those of `PacketBench` and `MemoryBench`."""
    kind = MemoryBench if network.has_memory else PacketBench
    return kind(network, sources, bins=bins, **options)
