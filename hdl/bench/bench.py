"""A network on the bench: sources, sinks and meters around it, all in one fabric."""

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace

from amaranth.lib import wiring
from amaranth.lib.wiring import In

from ..fabric import Cell, CellType, Fabric, Pin
from ..networks.network import PacketNetwork
from .instruments import DropMeter, LinkMeter, Timer
from .sink import Sink
from .stamp import stamp_for

__all__ = ["Bench", "SourcePlan"]


@dataclass(frozen=True)
class SourcePlan:
    """What the sources of a bench are, and what distinguishes each.

    Attributes
    ----------
    component : type[wiring.Component]
    parameters : Mapping[str, int]
        Besides the layout of packets and the tags, which the network gives.
    straps, contents : Sequence[Mapping]
        Of each terminal's source, besides its address.
    """

    component: type[wiring.Component]
    parameters: Mapping[str, int]
    straps: Sequence[Mapping[str, int]]
    contents: Sequence[Mapping[str, tuple[int, ...]]] = field(default_factory=tuple)


class Bench(Fabric):
    """The fabric of a network with a source and a sink at every terminal.

    The network carries stamped packets: its payload is widened if the stamp needs more bits,
    which changes no cycle of its behaviour.

    Parameters
    ----------
    network : PacketNetwork
    sources : SourcePlan
    bins : int
        Bins of each sink's histograms.

    Members
    -------
    send : In(1)
        Sources generate and offer packets.
    measure : In(1)
        Sinks and meters count for the measurement.

    Attributes
    ----------
    network : PacketNetwork
        With the widened payload.
    sources, sinks : list[str]
        Names of the cells, by terminal.
    drop_meters : list[str]
        Names of the meters that count what the network drops.
    damage_meters : list[str]
        Names of those that count what it finds damaged.
    meters : list[tuple[str, list[Pin]]]
        Name of each meter, and the outputs whose links it counts.
    """

    def __init__(self, network: PacketNetwork, sources: SourcePlan, *, bins: int) -> None:
        super().__init__({"send": In(1), "measure": In(1)})
        code = network.tags.code
        self.network = network.altered(payload=stamp_for(network))
        kind = {"packet": self.network.packet, "tags": network.tags}
        self.sources = [f"source_{terminal}" for terminal in range(network.ports)]
        self.sinks = [f"sink_{terminal}" for terminal in range(network.ports)]
        self.meters: list[tuple[str, list[Pin]]] = []

        timer = self.place(Cell("timer", CellType(Timer)))
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
            for name in (self.sources[index], self.sinks[index]):
                self.link(Pin(timer.name, ("now",)), Pin(name, ("now",)))
                self.link(Pin(None, ("measure",)), Pin(name, ("measure",)))
        deliveries = [
            (output, Pin(sink, ("i",))) for output, sink in zip(terminals.outputs, self.sinks)
        ]
        self._meter(internal + deliveries)
        self.drop_meters = [self._meter_drops(pin, number=False) for pin in terminals.drops]
        self.damage_meters = [self._meter_drops(pin, number=False) for pin in terminals.corrupted]
        self.drop_meters += [self._meter_drops(pin, number=True) for pin in terminals.losses]

    def with_sources(self, sources: SourcePlan) -> "Bench":
        """The same bench with other straps and contents of its sources."""
        other = copy(self)
        other.cells = dict(self.cells)
        for index, name in enumerate(self.sources):
            cell = self.cells[name]
            straps = {"address": cell.straps["address"], **sources.straps[index]}
            contents = sources.contents[index] if sources.contents else {}
            other.cells[name] = replace(cell, straps=straps, contents=contents)
        return other

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

    def _meter_drops(self, pin: Pin, *, number: bool) -> str:
        leaf = self.resolve(pin)[()][0]
        name = "_".join(str(part) for part in ("meter", pin.cell, *pin.path))
        meter = self.place(Cell(name, CellType(DropMeter, width=leaf.width, number=number)))
        self.link(Pin(None, ("measure",)), Pin(meter.name, ("measure",)))
        self.link(pin, Pin(meter.name, ("dropped",)))
        return meter.name
