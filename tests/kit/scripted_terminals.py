# amaranth: UnusedElaboratable=no
"""Terminals that send what is written down for them, and record what comes."""

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from multicube.hdl.fabric.cell import Cell, CellType
from multicube.hdl.fabric.fabric import Fabric
from multicube.hdl.fabric.pins import Pin
from multicube.hdl.links.packet import Packet


class Terminal(wiring.Component):
    """Sends the packets of its script as fast as they are taken, and records what it is given.

    With `seed` 0 it is always ready, else in three cycles of four, at random.
    """

    def __init__(self, packet: Packet, rows: int, records: int, script: Sequence[int] = ()) -> None:
        self.script = Memory(shape=packet.size, depth=rows, init=script)
        self.record = Memory(shape=packet.size, depth=records, init=[])
        super().__init__(
            {
                "o": Out(stream.Signature(packet)),
                "i": In(stream.Signature(packet)),
                "limit": In(range(rows + 1)),
                "seed": In(16),
                "sent": Out(range(rows + 1)),
                "taken": Out(range(records + 1)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.script, m.submodules.record = self.script, self.record
        script = self.script.read_port(domain="comb")
        record = self.record.write_port()
        noise = Signal(16, init=0xACE1)
        m.d.sync += noise.eq(Cat(noise[0] ^ noise[2] ^ noise[3] ^ noise[5], noise)[:16])
        lively = (noise & self.seed).xor() | (noise.rotate_left(5) & self.seed).xor()
        m.d.comb += [
            script.addr.eq(self.sent),
            Value.cast(self.o.payload).eq(script.data),
            self.o.valid.eq(self.sent < self.limit),
            self.i.ready.eq((self.seed == 0) | lively),
            record.addr.eq(self.taken),
            record.data.eq(self.i.payload),
            record.en.eq(self.i.valid & self.i.ready),
        ]
        m.d.sync += self.sent.eq(self.sent + (self.o.valid & self.o.ready))
        m.d.sync += self.taken.eq(self.taken + record.en)
        return m


def scripted(
    network: Any,
    scripts: list[list[int]],
    records: int,
    *,
    waits: bool,
    limits: Sequence[str] | None = None,
) -> Fabric:
    """A network, or what has streams like one, with terminals that send what is in their scripts.

    Each may send its first `limit` packets, or as many as the input named for it in `limits` says;
    the other ports of the network stay at the boundary.
    """
    rows = len(scripts[0])
    members = dict(network.fabric.signature.members)
    others = {name: member for name, member in members.items() if name not in ("i", "o")}
    limits = limits or ["limit"] * len(scripts)
    fabric = Fabric({**{name: In(range(rows + 1)) for name in limits}, **others})
    for cell in network.fabric.cells.values():
        fabric.place(cell)
    kind = CellType(Terminal, packet=network.packet, rows=rows, records=records)
    for index, script in enumerate(scripts):
        seed = (2 * index + 1) * 0x2F15 % 2**16 if waits else 0
        fabric.place(Cell(f"terminal_{index}", kind, {"seed": seed}, {"script": tuple(script)}))
        fabric.link(Pin(None, (limits[index],)), Pin(f"terminal_{index}", ("limit",)))

    def end(pin: Pin) -> Pin:
        if pin.cell is None and pin.path[0] in ("i", "o"):
            other = {"i": "o", "o": "i"}[pin.path[0]]
            return Pin(f"terminal_{pin.path[1]}", (other,))
        return pin

    for a, b in network.fabric.links:
        fabric.link(end(a), end(b))
    return fabric


def records_of(engine: Any, ports: int, run: int = 0) -> list[list[int]]:
    """What each terminal was given so far, in order."""
    names = [f"terminal_{index}" for index in range(ports)]
    taken = engine.read(names, "taken", run)
    return [engine.memory(name, "record", run)[:count] for name, count in zip(names, taken)]


def word_of(packet: Packet, tag: int, mask: int, payload: int) -> int:
    return packet.const({"tag": tag, "mask": mask, "payload": payload}).as_value().value


def payload_of(packet: Packet, word: int) -> int:
    return word >> packet["payload"].offset
