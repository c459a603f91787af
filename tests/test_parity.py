# amaranth: UnusedElaboratable=no
"""Parity: every single wrong bit on any link is found, and no damaged packet is delivered."""

import re
from dataclasses import replace
from typing import Any

import pytest
from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from driving import exercise
from multicube.hdl import MultistageNetwork
from multicube.hdl.bench.instruments import EventMeter
from multicube.hdl.fabric.cell import Cell, CellType
from multicube.hdl.fabric.fabric import Fabric
from multicube.hdl.fabric.pins import Pin
from multicube.hdl.families.multistage.extra_stage_network import controls
from multicube.hdl.graphs.plans.extra_stage import Configuration
from multicube.hdl.links.packet import Packet
from multicube.hdl.primitives.routing_tags import forwarded
from multicube.hdl.terminals.parity import ParityChecker, ParityGenerator, protected
from multicube.sim.engines.compiled import CompiledEngine
from multicube.sim.workload.faults import inject, places

PACKETS = [Packet(2, 3), Packet(1, 9), Packet(2, 1, broadcast=True)]


def shares(packet: Packet, parity: str) -> list[int]:
    """The bits of a protected packet that each parity bit is for, itself included, as masks."""
    header = packet.members["tag"] * (2 if packet.broadcast else 1)
    payload = packet.size - header
    if parity == "packet":
        return [(1 << packet.size + 1) - 1]
    widths = [header, *(min(8, payload - at) for at in range(0, payload, 8))]
    masks, at = [], 0
    for number, width in enumerate(widths):
        masks.append((1 << width) - 1 << at | 1 << packet.size + number)
        at += width
    return masks


class Channel(wiring.Component):
    """Generator and checker with damage and `turns` boxes between them."""

    def __init__(self, packet: Packet, parity: str, turns: int) -> None:
        self.packet, self.parity, self.turns = packet, parity, turns
        width = protected(packet, parity).size
        super().__init__(
            {
                "i": In(stream.Signature(packet)),
                "o": Out(stream.Signature(packet)),
                "damage": In(width),
                "sent": Out(width),
                "corrupted": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.generator = generator = ParityGenerator(self.packet, parity=self.parity)
        m.submodules.checker = checker = ParityChecker(self.packet, parity=self.parity)
        wiring.connect(m, wiring.flipped(self.i), generator.i)
        wiring.connect(m, wiring.flipped(self.o), checker.o)
        word = generator.o.payload
        for _ in range(self.turns):
            word = data.View(word.shape(), forwarded(word, 1))
        m.d.comb += [
            checker.i.payload.eq(Value.cast(word) ^ self.damage),
            checker.i.valid.eq(generator.o.valid),
            generator.o.ready.eq(checker.i.ready),
            self.sent.eq(generator.o.payload),
            self.corrupted.eq(checker.corrupted),
        ]
        m.d.sync += Signal().eq(1)  # the simulation wants a clock
        return m


@pytest.mark.parametrize("parity", ["packet", "byte"])
@pytest.mark.parametrize("packet", PACKETS, ids=repr)
def test_every_word_and_every_damage_of_up_to_two_bits(packet: Packet, parity: str) -> None:
    """An odd number of wrong bits in the share of some parity bit is found, and nothing else."""
    dut = Channel(packet, parity, turns=packet.members["tag"])
    masks = shares(packet, parity)
    width = protected(packet, parity).size
    assert sum(masks) == (1 << width) - 1
    damages = [0, *(1 << a | 1 << b for a in range(width) for b in range(a + 1))]
    undetected = 0

    async def testbench(ctx: Any) -> None:
        nonlocal undetected
        control = Cat(dut.i.payload, dut.i.valid, dut.o.ready, dut.damage)
        response = Cat(dut.i.ready, dut.o.valid, dut.corrupted, dut.o.payload)
        for word in range(0, 1 << packet.size, 1 if packet.size < 8 else 37):
            for number, damage in enumerate(damages):
                ready = number % 2
                size = packet.size
                ctx.set(control, word | 1 << size | ready << size + 1 | damage << size + 2)
                found = any((damage & mask).bit_count() % 2 for mask in masks)
                arrived = (word ^ damage) & (1 << size) - 1
                # A damaged packet is taken at once; a good one when the terminal takes it.
                flags = 0b101 if found else 0b010 | ready
                assert ctx.get(response) == arrived << 3 | flags
                undetected += bool(damage) and not found
            assert all((ctx.get(dut.sent) & mask).bit_count() % 2 == 0 for mask in masks)
        ctx.set(dut.i.valid, 0)
        assert ctx.get(Cat(dut.o.valid, dut.corrupted)) == 0

    exercise(dut, testbench)
    assert undetected  # two wrong bits of one share: what parity can't find


@pytest.mark.parametrize("parity", ["packet", "byte"])
@pytest.mark.parametrize("turns", [1, 2, 3])
def test_parity_holds_between_the_stages(turns: int, parity: str) -> None:
    """However far the tag is rotated: it can be checked on any link."""
    dut = Channel(Packet(4, 9), parity, turns)

    async def testbench(ctx: Any) -> None:
        for word in range(0, 1 << 13, 11):
            ctx.set(Cat(dut.i.payload, dut.i.valid), word | 1 << 13)
            assert ctx.get(Cat(dut.o.valid, dut.corrupted)) == 0b01

    exercise(dut, testbench)


def test_byte_parity_is_what_pasm_has() -> None:
    """16 data bits have two parity bits; the tag has one more here."""
    assert protected(Packet(4, 16), "byte").size == 4 + 16 + 3
    assert protected(Packet(4, 17), "byte").size == 4 + 17 + 4
    assert protected(Packet(4, 17), "packet").size == 4 + 17 + 1


# Networks


class Source(wiring.Component):
    """Offers its word whenever it is told to."""

    def __init__(self, packet: Packet) -> None:
        super().__init__(
            {"send": In(1), "word": In(packet.size), "o": Out(stream.Signature(packet))}
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.comb += [self.o.valid.eq(self.send), self.o.payload.eq(self.word)]
        return m


class Judge(wiring.Component):
    """Counts the packets that are the one that it expects, and others."""

    def __init__(self, packet: Packet) -> None:
        super().__init__(
            {
                "i": In(stream.Signature(packet)),
                "word": In(packet.size),
                "right": Out(16),
                "wrong": Out(16),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        good = Value.cast(self.i.payload) == self.word
        m.d.comb += self.i.ready.eq(1)
        m.d.sync += [
            self.right.eq(self.right + (self.i.valid & good)),
            self.wrong.eq(self.wrong + (self.i.valid & ~good)),
        ]
        return m


NETWORKS = {
    "cube": lambda routing: MultistageNetwork(8, payload=5, routing=routing, parity="packet"),
    "extra-stage": lambda routing: MultistageNetwork(
        8, payload=5, routing=routing, parity="packet", extra_stage=1
    ),
}


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("name", "routing"),
    [("cube", "destination"), ("extra-stage", "xor"), ("extra-stage", "destination")],
)
def test_every_single_wrong_bit_on_any_link_is_found(name: str, routing: str) -> None:
    """8 packets, each link of every stage carries one; each bit of each link in turn is wrong.

    Seven arrive, the eighth is found to be damaged, wherever its tag then led it.
    """
    network = NETWORKS[name](routing)
    width = protected(network.packet).size + (name == "extra-stage")
    links = list(places(network.plan))
    members = {f"flip_{number}": In(width) for number in range(len(links))}
    fabric = Fabric({"send": In(1), **members})
    if isinstance(network, MultistageNetwork) and network.configuration is not None:
        # All stages in use, and all packets on their secondary paths.
        terminals = network.place_controlled(fabric, controls(network.plan, Configuration()))
    else:
        terminals = network.place(fabric)
    source, judge = (CellType(kind, packet=network.packet) for kind in (Source, Judge))
    for terminal in range(8):
        word = network.tags.tag(terminal, terminal) | (31 - terminal) << 3
        first = fabric.place(Cell(f"source_{terminal}", source, {"word": word})).name
        last = fabric.place(Cell(f"judge_{terminal}", judge, {"word": word})).name
        meter = fabric.place(Cell(f"meter_{terminal}", CellType(EventMeter, width=1))).name
        fabric.cells[meter] = replace(fabric.cells[meter], straps={"measure": 0})
        fabric.link(Pin(None, ("send",)), Pin(first, ("send",)))
        fabric.link(Pin(first, ("o",)), terminals.inputs[terminal])
        fabric.link(terminals.outputs[terminal], Pin(last, ("i",)))
        fabric.link(Pin(f"check_{terminal}", ("corrupted",)), Pin(meter, ("events",)))
    fabric = inject(fabric, network.plan, [], spare=links)
    for number, place in enumerate(links):
        cell = fabric.cells[f"fault_{place.kind}_{place.stage}_{place.index}_0"]
        straps = {name: value for name, value in cell.straps.items() if name != "flip"}
        fabric.cells[cell.name] = replace(cell, straps={**straps, "rate": 1 << 16})
        fabric.link(Pin(None, (f"flip_{number}",)), Pin(cell.name, ("flip",)))

    judges = [f"judge_{terminal}" for terminal in range(8)]
    meters = [f"meter_{terminal}" for terminal in range(8)]
    runs = 0
    with CompiledEngine(fabric, threads=1) as engine:

        def send() -> tuple[int, int, int]:
            engine.set("send", 1)
            engine.step(1)
            engine.set("send", 0)
            engine.step(12)
            counts = (
                engine.read(judges, "right"),
                engine.read(judges, "wrong"),
                engine.read(meters, "total"),
            )
            return tuple(map(sum, counts))

        good, wrong, found = send()
        assert (good, wrong, found) == (8, 0, 0)
        for number, place in enumerate(links):
            for bit in range(width):
                engine.set(f"flip_{number}", 1 << bit)
                counts = send()
                assert counts == (good + 7, wrong, found + 1), (place, bit)
                good, _, found = counts
                runs += 1
            engine.set(f"flip_{number}", 0)
        # What one bit can't find: two wrong bits.
        engine.set("flip_0", 0b11 << width - 3)
        assert send() == (good + 7, wrong + 1, found)
    assert runs == len(links) * width


@pytest.mark.parametrize("component", [ParityGenerator, ParityChecker])
@pytest.mark.parametrize(
    ("packet", "parity", "message"),
    [
        (Packet(2, 3), "odd", "Parity must be one of packet, byte, not 'odd'"),
        (Packet(2, 3, flits=True), "packet", "Packet must not have flits"),
    ],
)
def test_parity_rejects(component: type, packet: Packet, parity: str, message: str) -> None:
    if component is ParityGenerator and packet.flits:
        assert component(packet, parity=parity).packet == packet
        return
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        component(packet, parity=parity)
