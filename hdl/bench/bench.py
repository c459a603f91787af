"""A network on the bench: what sends, receives and measures around it, all in one fabric."""

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any, Self

from amaranth.lib import wiring
from amaranth.lib.wiring import In

from ..errors import InvalidValue
from ..fabric import Cell, CellType, Fabric, Pin
from ..networks.combining import CombiningNetwork
from ..networks.network import Network, PacketNetwork
from .instruments import EventMeter, LevelMeter, LinkMeter, Timer
from .sink import Sink
from .stamp import TIME_BITS, stamp_for

__all__ = ["Bench", "MemoryBench", "PacketBench", "SourcePlan", "bench_for"]


@dataclass(frozen=True)
class SourcePlan:
    """What the sources of a bench are, and what distinguishes each.

    Attributes
    ----------
    component : type[wiring.Component]
    parameters : Mapping[str, Any]
        Besides the layout of packets and the tags, which the network gives.
    straps, contents : Sequence[Mapping]
        Of each terminal's source, besides its address.
    """

    component: type[wiring.Component]
    parameters: Mapping[str, Any]
    straps: Sequence[Mapping[str, int]]
    contents: Sequence[Mapping[str, tuple[int, ...]]] = field(default_factory=tuple)


class Bench(Fabric):
    """What every bench has: the fabric of a network, a timer, and meters on the network's links.

    Members
    -------
    send : In(1)
        Sources generate and offer packets.
    measure : In(1)
        Sinks and meters count for the measurement.

    Attributes
    ----------
    network : Network
    sources, sinks : list[str]
        Names of the cells that send and receive, by terminal.
    meters : list[tuple[str, list[Pin]]]
        Name of each meter, and the outputs whose links it counts.
    drop_meters : list[str]
        Names of the meters that count what the network drops.
    damage_meters : list[str]
        Names of those that count what it finds damaged.
    crossing_meters, referral_meters, level_meters : list[str]
        Names of those that count what crosses wires, what is sent away from its destination for
        want of room, and what nodes store; where nodes route by what is free.
    combine_meters : list[list[str]]
        By stage: names of those that count the requests that it combines.
    latencies : tuple[str, ...]
        Kinds of latency that the sinks record.
    """

    network: Network
    sources: list[str]
    sinks: list[str]

    def __init__(self) -> None:
        super().__init__({"send": In(1), "measure": In(1)})
        self.meters: list[tuple[str, list[Pin]]] = []
        self._meter_types: dict[CellType, CellType] = {}
        self.drop_meters: list[str] = []
        self.damage_meters: list[str] = []
        self.crossing_meters: list[str] = []
        self.referral_meters: list[str] = []
        self.level_meters: list[str] = []
        self.combine_meters: list[list[str]] = []
        self.latencies = ("total", "network")
        self.timer = self.place(Cell("timer", CellType(Timer)))

    def with_sources(self, sources: SourcePlan) -> Self:
        """The same bench with other straps and contents of its sources."""
        other = copy(self)
        other.cells = dict(self.cells)
        for index, name in enumerate(self.sources):
            cell = self.cells[name]
            straps = {**cell.straps, **sources.straps[index]}
            contents = sources.contents[index] if sources.contents else {}
            other.cells[name] = replace(cell, straps=straps, contents=contents)
        return other

    def _attach(self, name: str) -> None:
        """Connect a source's or sink's clock and its control."""
        self.link(Pin(self.timer.name, ("now",)), Pin(name, ("now",)))
        self.link(Pin(None, ("measure",)), Pin(name, ("measure",)))

    def _meter(self, links: Sequence[tuple[Pin, Pin]]) -> None:
        """Put a meter on the links that leave each cell of the network."""
        leaving: dict[str | None, list[tuple[Pin, Pin]]] = {}
        for driver, receiver in links:
            if self.carries_packets(driver):
                leaving.setdefault(driver.cell, []).append((driver, receiver))
        types = {
            count: CellType(LinkMeter, links=count) for count in set(map(len, leaving.values()))
        }
        for cell, pairs in leaving.items():
            meter = self.place(Cell(f"meter_{cell}", types[len(pairs)]))
            self.link(Pin(None, ("measure",)), Pin(meter.name, ("measure",)))
            for index, (driver, receiver) in enumerate(pairs):
                valid = Pin(driver.cell, (*driver.path, "valid"))
                ready = Pin(receiver.cell, (*receiver.path, "ready"))
                self.link(valid, Pin(meter.name, ("valid", index)))
                self.link(ready, Pin(meter.name, ("ready", index)))
            self.meters.append((meter.name, [driver for driver, _ in pairs]))

    def carries_packets(self, pin: Pin) -> bool:
        """Whether a pin is the sending end of a link with a handshake."""
        leaves = {suffix: drives for suffix, (_, drives) in self.resolve(pin).items()}
        return leaves.get(("valid",)) is True and leaves.get(("ready",)) is False

    def _meter_events(self, pin: Pin, *, number: bool) -> str:
        return self._meter_output(pin, "events", EventMeter, number=number)

    def _meter_output(
        self, pin: Pin, port: str, component: type[wiring.Component], **parameters: Any
    ) -> str:
        """Put a meter on an output that is a number; its name."""
        leaf = self.resolve(pin)[()][0]
        name = "_".join(str(part) for part in ("meter", pin.cell, *pin.path))
        type_ = CellType(component, width=leaf.width, **parameters)
        # Equal types share what is known of their ports if they are one.
        meter = self.place(Cell(name, self._meter_types.setdefault(type_, type_)))
        self.link(Pin(None, ("measure",)), Pin(meter.name, ("measure",)))
        self.link(pin, Pin(meter.name, (port,)))
        return meter.name


class PacketBench(Bench):
    """The fabric of a network with a source and a sink at every terminal.

    The network carries stamped packets: its payload is widened if the stamp needs more bits,
    which changes no cycle of its behaviour.

    Parameters
    ----------
    network : PacketNetwork
    sources : SourcePlan
    bins : int
        Bins of each sink's histograms.
    time : int
        Width of the times in stamps: latencies below 2^time cycles are exact.

    Attributes
    ----------
    follows_flows : bool
        Whether sinks tell packets that come twice or late.
    adds_stamps : bool
        Whether both ends add up the stamps instead.

    Raises
    ------
    ValueError
        If the network combines packets, which changes their payloads, and with them the stamps.
    """

    network: PacketNetwork

    def __init__(
        self, network: PacketNetwork, sources: SourcePlan, *, bins: int, time: int = TIME_BITS
    ) -> None:
        if network.combine != "none":
            raise InvalidValue(
                f"Combine must be none, not {network.combine!r}, for packets that are traced; "
                "use send_messages for a network that combines"
            )
        super().__init__()
        code = network.tags.code
        stamp = stamp_for(network, time=time)
        self.follows_flows = stamp.followed
        self.adds_stamps = not stamp.followed
        self.network = network.altered(payload=stamp)
        kind = {"packet": self.network.packet, "tags": network.tags}
        self.sources = [f"source_{terminal}" for terminal in range(network.ports)]
        self.sinks = [f"sink_{terminal}" for terminal in range(network.ports)]

        terminals = self.network.place(self)
        internal = list(self.links)
        parameters = {"lengths": network.lengths, **sources.parameters}
        source = CellType(sources.component, **kind, **parameters)
        sink = CellType(Sink, **kind, bins=bins)
        for index in range(network.ports):
            straps = {"address": code.encode(index)}
            contents = sources.contents[index] if sources.contents else {}
            self.place(Cell(self.sources[index], source, straps | sources.straps[index], contents))
            self.place(Cell(self.sinks[index], sink, straps))
            self.link(Pin(self.sources[index], ("o",)), terminals.inputs[index])
            self.link(Pin(self.sinks[index], ("i",)), terminals.outputs[index])
            self.link(Pin(None, ("send",)), Pin(self.sources[index], ("open",)))
            self._attach(self.sources[index])
            self._attach(self.sinks[index])
        deliveries = [
            (output, Pin(sink, ("i",))) for output, sink in zip(terminals.outputs, self.sinks)
        ]
        self._meter(internal + deliveries)
        self.drop_meters = [self._meter_events(pin, number=False) for pin in terminals.drops]
        self.damage_meters = [self._meter_events(pin, number=False) for pin in terminals.corrupted]
        self.drop_meters += [self._meter_events(pin, number=True) for pin in terminals.losses]
        self.crossing_meters = [self._meter_events(pin, number=True) for pin in terminals.crossings]
        self.referral_meters = [self._meter_events(pin, number=True) for pin in terminals.referrals]
        self.level_meters = [
            self._meter_output(pin, "level", LevelMeter) for pin in terminals.levels
        ]


class MemoryBench(Bench):
    """The fabric of a network between processors and memory, with a processor at every port.

    Parameters
    ----------
    network : CombiningNetwork
    sources : SourcePlan
        Of the processors.
    bins : int
        Bins of each processor's histograms.

    Attributes
    ----------
    memories : list[str]
        Names of the memory modules' cells; each has its words in the memory `words`.
    history : int
        How many answered requests each processor keeps.
    """

    network: CombiningNetwork

    def __init__(self, network: CombiningNetwork, sources: SourcePlan, *, bins: int) -> None:
        super().__init__()
        self.network = network
        self.sources = self.sinks = [f"processor_{number}" for number in range(network.ports)]
        self.history: int = sources.parameters["history"]
        self.memories = [f"memory_{number}" for number in range(network.ports)]
        ports = network.place(self)
        internal = list(self.links)
        processor = CellType(
            sources.component,
            link=network.link,
            code=network.code,
            tag_bits=network.tag_bits,
            lengths=network.lengths,
            bins=bins,
            **sources.parameters,
        )
        links = []
        for index, (name, pin) in enumerate(zip(self.sources, ports)):
            contents = sources.contents[index] if sources.contents else {}
            self.place(Cell(name, processor, sources.straps[index], contents))
            self.link(Pin(name, ("o",)), pin)
            links.append((Pin(name, ("o",)), pin))
            self.link(Pin(None, ("send",)), Pin(name, ("open",)))
            self._attach(name)
        requests = [(_part(a, "request"), _part(b, "request")) for a, b in internal]
        replies = [(_part(b, "reply"), _part(a, "reply")) for a, b in internal + links]
        self._meter(requests + replies)
        self.combine_meters = [
            [self._meter_events(pin, number=True) for pin in pins] for pins in network.combined()
        ]


def _part(pin: Pin, name: str) -> Pin:
    return Pin(pin.cell, (*pin.path, name))


def bench_for(network: Network, sources: SourcePlan, *, bins: int) -> Bench:
    """The bench that fits a network."""
    if isinstance(network, CombiningNetwork):
        return MemoryBench(network, sources, bins=bins)
    return PacketBench(network, sources, bins=bins)
