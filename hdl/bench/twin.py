"""A second copy of the network on a test bench, which carries payloads of the network's own width.

The bench widens payloads to fit its stamps. To measure what switches in the network as it is, a
*twin* of it is placed beside it. It gets the same packets in the same cycles, but random payloads,
and the same `ready` from the sinks. What a payload holds never changes what a network does, so the
twin does the same in each cycle; `differs` tells if it does not.
"""

from dataclasses import dataclass

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from ..fabric.cell import Cell, CellType
from ..fabric.fabric import Fabric
from ..fabric.pins import Pin
from ..links.packet import Packet
from ..networks.packet_network import PacketNetwork
from ..primitives.random_bits import LAGS, RandomBits, scattered_seed
from .packet_bench import Bench, PacketBench

__all__ = ["OnBench", "TwinSink", "TwinSource", "with_twin"]

_TWIN = "twin"


class TwinSource(wiring.Component):
    """Sends to the twin what a source sends to the network, with random payloads.

    A payload is new for each word, and constant until it has been accepted.

    Parameters
    ----------
    packet : Packet
        Layout of the twin's packets.
    word : Packet
        Layout of the network's.

    Members
    -------
    seed : In(32)
        As in `RandomBits`.
    word : In(word)
    valid, ready : In(1)
        The stream from the source to the network.
    o : Out(stream.Signature(packet))
        The stream to the twin.
    differs : Out(1)
        Whether the twin's `ready` has differed from the network's so far.
    """

    def __init__(self, packet: Packet, word: Packet) -> None:
        self.packet = packet
        super().__init__(
            {
                "seed": In(32),
                "word": In(word),
                "valid": In(1),
                "ready": In(1),
                "o": Out(stream.Signature(packet)),
                "differs": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        width = self.packet["payload"].width
        most = max(LAGS)
        parts = []
        for number, low in enumerate(range(0, width, most)):
            random = m.submodules[f"random_{number}"] = RandomBits(min(most, width - low))
            m.d.comb += random.seed.eq(self.seed ^ (scattered_seed(number) if number else 0))
            parts.append(random.value)
        payload = Signal(width)
        with m.If(self.valid & self.ready):
            m.d.sync += payload.eq(Cat(parts))
        # Without the seed, the first payload of each source would be 0.
        shown = payload ^ self.seed.replicate(-(-width // 32))[:width]
        fields = self.packet.members
        m.d.comb += [
            self.o.payload.eq(
                Cat(shown if name == "payload" else self.word[name] for name in fields)
            ),
            self.o.valid.eq(self.valid),
        ]
        with m.If(self.o.ready != self.ready):
            m.d.sync += self.differs.eq(1)
        return m


class TwinSink(wiring.Component):
    """Takes from the twin what a sink takes from the network.

    Parameters
    ----------
    packet : Packet
        Layout of the twin's packets.
    word : Packet
        Layout of the network's.

    Members
    -------
    word : In(word)
    valid, ready : In(1)
        The stream from the network to the sink.
    i : In(stream.Signature(packet))
        The stream from the twin.
    differs : Out(1)
        Whether the twin's packets have differed from the network's so far, but for payloads.
    """

    def __init__(self, packet: Packet, word: Packet) -> None:
        self.packet = packet
        super().__init__(
            {
                "word": In(word),
                "valid": In(1),
                "ready": In(1),
                "i": In(stream.Signature(packet)),
                "differs": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        fields = [name for name in self.packet.members if name != "payload"]
        other = Cat(self.i.payload[name] != self.word[name] for name in fields).any()
        m.d.comb += self.i.ready.eq(self.ready)
        with m.If((self.i.valid != self.valid) | (self.valid & other)):
            m.d.sync += self.differs.eq(1)
        return m


@dataclass(frozen=True)
class OnBench:
    """Where a network's own fabric, that of its Verilog, is on a test bench.

    Attributes
    ----------
    bench : Bench
    fabric : Fabric
        `network.fabric`.
    prefix : str
        What the names of its cells begin with on the bench.
    checks : tuple[str, ...]
        Cells on the bench whose output `differs` stays 0.
    """

    bench: Bench
    fabric: Fabric
    prefix: str = ""
    checks: tuple[str, ...] = ()

    def cell(self, name: str) -> str:
        """The cell on the bench of a cell of the fabric."""
        return f"{self.prefix}{name}"

    def drivers(self) -> dict[Pin, Pin]:
        """The pins of the fabric that drive others, each with its pin on the bench."""
        found = {}
        for receiver, driver in self.fabric.drivers.items():
            if driver.cell is not None:
                found[driver] = Pin(self.cell(driver.cell), driver.path)
            elif receiver.cell is not None:
                pin = Pin(self.cell(receiver.cell), receiver.path)
                found[driver] = self.bench.drivers[pin]
        return found


def with_twin(bench: Bench) -> OnBench:
    """A test bench on which the network as it is can be observed, in the same run.

    It is a copy of the bench with a twin of the network. A network with memory needs none.
    """
    network = bench.network
    if not isinstance(bench, PacketBench):
        return OnBench(bench, network.fabric)
    twin = bench.copy()
    checks = _place_twin(twin, bench.network)
    return OnBench(twin, network.fabric, f"{_TWIN}_", checks)


def _place_twin(bench: PacketBench, network: PacketNetwork) -> tuple[str, ...]:
    scope = bench.scope(_TWIN)
    terminals = network.place(scope)
    kind = {"packet": network.packet, "word": bench.packet}
    source, sink = CellType(TwinSource, **kind), CellType(TwinSink, **kind)
    checks = []
    for index, (name, entry) in enumerate(zip(bench.sources, terminals.inputs)):
        straps = {"seed": scattered_seed(index, _TWIN)}
        cell = bench.place(Cell(f"{_TWIN}_of_{name}", source, straps)).name
        bench.link(Pin(name, ("o", "payload")), Pin(cell, ("word",)))
        bench.link(Pin(name, ("o", "valid")), Pin(cell, ("valid",)))
        bench.link(bench.drivers[Pin(name, ("o", "ready"))], Pin(cell, ("ready",)))
        bench.link(Pin(cell, ("o",)), scope.pin(entry))
        checks.append(cell)
    for name, exit_ in zip(bench.sinks, terminals.outputs):
        cell = bench.place(Cell(f"{_TWIN}_of_{name}", sink)).name
        for port in ("payload", "valid"):
            here = "word" if port == "payload" else port
            bench.link(bench.drivers[Pin(name, ("i", port))], Pin(cell, (here,)))
        bench.link(Pin(name, ("i", "ready")), Pin(cell, ("ready",)))
        bench.link(scope.pin(exit_), Pin(cell, ("i",)))
        checks.append(cell)
    return tuple(checks)
