# amaranth: UnusedElaboratable=no
"""The test bench for values: terminals send lists of messages, and fold those that they receive."""

from amaranth.hdl import Module, Mux, ShapeLike, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..fabric.cell import Cell, CellType
from ..fabric.checks import check_integer
from ..fabric.fabric import Fabric
from ..fabric.pins import Pin
from ..graphs.tags import TagScheme
from ..links.packet import Packet
from ..networks.packet_network import PacketNetwork
from ..operations.folds import Fold
from ..primitives.arrival_queue import ArrivalQueue
from ..primitives.routing_tags import TagEncoder
from .instruments import COUNT_BITS, Timer
from .meters import place_meters

__all__ = ["Collector", "MessageBench", "MessageSource", "Row"]


class Row(data.StructLayout):
    """A row of a source's list: if it is `used`, a message and its destination (address code)."""

    def __init__(self, destination: int, value: ShapeLike) -> None:
        super().__init__({"used": 1, "destination": destination, "value": value})


class MessageSource(wiring.Component):
    """Stores a list of messages, and sends them in order, one per cycle if the network takes it.

    If packets may have several flits, a message is a packet of one flit.

    `o` comes from memory, registers and `send`.

    Parameters
    ----------
    packet : Packet
    tags : TagScheme
    depth : int
        Messages that fit into the list, at least 1.

    Members
    -------
    address : In(width)
        Address code of this terminal. Constant.
    row : In(Row(width, payload))
        A message to be added to the list in this cycle. There must be room.
    send : In(1)
        Messages are offered. It must stay 1 until the list is empty.
    o : Out(stream.Signature(packet))
    injected : Out(32)
        Number of messages that the network took.
    """

    def __init__(self, packet: Packet, tags: TagScheme, *, depth: int) -> None:
        depth = check_integer("Depth", depth, 1)
        self.packet = packet
        self.tags = tags
        self.depth = depth
        width = tags.code.width
        super().__init__(
            {
                "address": In(width),
                "row": In(Row(width, packet.members["payload"])),
                "send": In(1),
                "o": Out(stream.Signature(packet)),
                "injected": Out(COUNT_BITS),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        row = self.row.shape()
        m.submodules.list = list_ = ArrivalQueue(row, depth=self.depth)
        m.submodules.encoder = encoder = TagEncoder(self.tags)
        first = list_.o.payload
        m.d.comb += [
            list_.i[0].payload.eq(self.row),
            list_.i[0].valid.eq(self.row.used),
            encoder.source.eq(self.address),
            encoder.destination.eq(first.destination),
            self.o.payload.tag.eq(encoder.tag),
            self.o.payload.payload.eq(first.value),
            self.o.valid.eq(list_.o.valid & self.send),
            list_.o.ready.eq(self.o.ready & self.send),
        ]
        if self.packet.flits:
            m.d.comb += self.o.payload.last.eq(1)
        elif self.packet.sized:
            m.d.comb += self.o.payload.length.eq(1)
        m.d.sync += self.injected.eq(self.injected + (self.o.valid & self.o.ready))
        return m


class Collector(wiring.Component):
    """Accepts one message per cycle, and folds all of them into one value.

    Parameters
    ----------
    packet : Packet
    fold : Fold
        Merges two values. Earlier messages come first.

    Members
    -------
    now : In(32)
        Number of this cycle.
    clear : In(1)
        Forget all earlier messages.
    i : In(stream.Signature(packet))
    value : Out(payload)
        The folded value of all messages. Undefined before the first.
    delivered : Out(32)
        Number of messages that have arrived.
    latest : Out(32)
        Cycle in which the last one arrived.
    """

    def __init__(self, packet: Packet, fold: Fold) -> None:
        self.packet = packet
        self.fold = fold
        super().__init__(
            {
                "now": In(32),
                "clear": In(1),
                "i": In(stream.Signature(packet)),
                "value": Out(packet.members["payload"]),
                "delivered": Out(COUNT_BITS),
                "latest": Out(32),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        value = self.i.payload.payload
        folded = Signal.like(self.value)
        m.d.comb += [self.i.ready.eq(1), folded.eq(self.fold.build(self.value, value))]
        with m.If(self.clear):
            m.d.sync += self.delivered.eq(0)
        with m.Elif(self.i.valid):
            m.d.sync += [
                self.value.eq(Mux(self.delivered == 0, value, folded)),
                self.delivered.eq(self.delivered + 1),
                self.latest.eq(self.now),
            ]
        return m


class MessageBench(Fabric):
    """A network with meters, and a `MessageSource` and a `Collector` per terminal, as one fabric.

    Parameters
    ----------
    network : PacketNetwork
        Without broadcast masks.
    fold : Fold
        Fold of the collectors, for the network's payloads.
    depth : int
        Messages in the list of each source.

    Members
    -------
    row_0, row_1, ... : In(Row)
        Inputs of the sources, by terminal.
    send : In(1)
        Input of all sources.
    clear : In(1)
        Input of all collectors.

    Attributes
    ----------
    network : PacketNetwork
    row : Row
    sources, sinks : list[str]
        Names of the cells of the sources and collectors, by terminal.
    meters : dict[str, dict[str, str]]
        As in `Bench`, for the messages that the network combines ("combined") and deflects
        ("referred").
    """

    def __init__(self, network: PacketNetwork, fold: Fold, *, depth: int) -> None:
        terminals = range(network.ports)
        code = network.tags.code
        self.network = network
        self.row = Row(code.width, network.packet.members["payload"])
        super().__init__(
            {"send": In(1), "clear": In(1), **{f"row_{n}": In(self.row) for n in terminals}}
        )
        self.sources = [f"source_{n}" for n in terminals]
        self.sinks = [f"collector_{n}" for n in terminals]
        ends = network.place(self)
        timer = self.place(Cell("timer", CellType(Timer)))
        source = CellType(MessageSource, packet=network.packet, tags=network.tags, depth=depth)
        sink = CellType(Collector, packet=network.packet, fold=fold)
        for n in terminals:
            self.place(Cell(self.sources[n], source, {"address": code.encode(n)}))
            self.place(Cell(self.sinks[n], sink))
            self.link(Pin(None, (f"row_{n}",)), Pin(self.sources[n], ("row",)))
            self.link(Pin(None, ("send",)), Pin(self.sources[n], ("send",)))
            self.link(Pin(None, ("clear",)), Pin(self.sinks[n], ("clear",)))
            self.link(Pin(timer.name, ("now",)), Pin(self.sinks[n], ("now",)))
            self.link(Pin(self.sources[n], ("o",)), ends.inputs[n])
            self.link(ends.outputs[n], Pin(self.sinks[n], ("i",)))
        self.meters = place_meters(self, Pin(None, ("send",)), ("combined", "referred"))
