# amaranth: UnusedElaboratable=no
"""Many equal cells of single bits and small words, with random logic and random wires between them.

Such types are sliced in the compiled engine, if they have cells enough: see `slices`.
"""

import random
from collections.abc import Iterator
from contextlib import contextmanager

from amaranth.hdl import Cat, Const, Module, Signal, unsigned
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from multicube.hdl.fabric.cell import Cell, CellType
from multicube.hdl.fabric.fabric import Fabric
from multicube.hdl.fabric.pins import Pin
from multicube.sim.engines.compiled import planes, slice_functions
from random_modules import RandomLogicMaker

COUNTS = (1, 2, 63, 64, 65, 130)
"""Cells of a fabric, around the bounds of words and blocks."""

SMALL = (1, 1, 1, 2, 3, 5, 8, 9, 17)
"""Widths of the registers."""

LONGEST = 5
"""Cells in a chain whose bits depend on each other within a cycle."""


class RandomBits(wiring.Component):
    """Random logic of bits and small words, two small memories, and a few wider words.

    `early` depends on registers only, `late` and `chain_out` on inputs as well.
    """

    place: In(7)
    bits: In(1).array(3)
    chain: In(1)
    late_in: In(1)
    small: In(3)
    wide: In(40)
    early: Out(1).array(3)
    chain_out: Out(1)
    late: Out(1)
    small_out: Out(3)
    wide_out: Out(40)

    def __init__(self, *, seed: int) -> None:
        self.seed = seed
        super().__init__()

    def elaborate(self, platform: object) -> Module:
        m = Module()
        rng = random.Random(self.seed)
        widths = [rng.choice(SMALL) for _ in range(7)]
        states = [
            Signal(width, init=rng.randrange(1 << width), name=f"state_{number}")
            for number, width in enumerate(widths)
        ]
        rows = []
        for number, (width, depth) in enumerate(((1, 8), (1, 3), (rng.choice((2, 6)), 16))):
            shape = unsigned(width)
            memory = Memory(shape=shape, depth=depth, init=[n & 1 for n in range(depth)])
            m.submodules[f"rows_{number}"] = memory
            write, read = memory.write_port(), memory.read_port(domain="comb")
            m.d.comb += [
                write.addr.eq(Cat(states[0], self.small)),
                write.data.eq(Cat(self.bits[0], states[1], self.wide)),
                write.en.eq(self.bits[1] ^ states[number][0]),
                read.addr.eq(Cat(states[2], states[3])),
            ]
            rows.append(read.data)
        registers = [*states, *rows, self.place]
        now = RandomLogicMaker(rng, registers, 24)
        inputs = [*self.bits, self.small, self.wide, self.chain]
        maker = RandomLogicMaker(rng, [*registers, *inputs, self.late_in, *self.bits], 48)
        late = RandomLogicMaker(rng, [*registers, *self.bits], 24)
        for signal in states:
            maker.statements(m, "sync", signal, 1)
        m.d.comb += [bit.eq(now.value(2)) for bit in self.early]
        m.d.comb += [
            self.late.eq(late.value(3)),
            self.chain_out.eq(self.chain ^ Cat(late.value(2), Const(0, 1))[0]),
            self.small_out.eq(now.value(2)),
            self.wide_out.eq(Cat(now.value(2), late.value(1), self.small)),
        ]
        return m


def random_cells(seed: int, count: int) -> Fabric:
    """Cells of one type; most of their inputs are others' outputs, some the boundary's."""
    rng = random.Random(seed)
    fabric = Fabric({"one": In(1), "few": In(3), "wide": In(40)})
    type_ = CellType(RandomBits, seed=seed)
    names = [f"cell_{number}" for number in range(count)]
    for name in names:
        fabric.place(Cell(name, type_, {"place": rng.randrange(1 << 7)}))

    def shuffled() -> list[str]:
        """The cells that drive an input: a shift of them, or any order, perhaps some twice."""
        kind = rng.randrange(4)
        if kind == 0:
            by = rng.randrange(count)
            return names[by:] + names[:by]
        if kind == 1:
            return rng.choices(names, k=count)
        return rng.sample(names, count)

    for number in range(3):
        for driver, name in zip(shuffled(), names):
            fabric.link(Pin(driver, ("early", number)), Pin(name, ("bits", number)))
    for port in ("late_in", "small", "wide"):
        output = {"late_in": "late", "small": "small_out", "wide": "wide_out"}[port]
        for driver, name in zip(shuffled(), names):
            boundary = port != "late_in" and rng.random() < 0.1
            outside = Pin(None, ("few" if port == "small" else port,))
            fabric.link(outside if boundary else Pin(driver, (output,)), Pin(name, (port,)))
    order = rng.sample(names, count)
    for number, name in enumerate(order):
        if number % LONGEST:
            fabric.link(Pin(order[number - 1], ("chain_out",)), Pin(name, ("chain",)))
        elif rng.random() < 0.3:
            fabric.link(Pin(None, ("one",)), Pin(name, ("chain",)))
        else:
            fabric.link(Pin(rng.choice(names), ("early", 0)), Pin(name, ("chain",)))
    return fabric


@contextmanager
def longest_part(lines: int) -> Iterator[None]:
    """Functions of sliced types are in parts of so many lines."""
    before, slice_functions.LONGEST = slice_functions.LONGEST, lines
    try:
        yield
    finally:
        slice_functions.LONGEST = before


@contextmanager
def fewest_sliced(count: int) -> Iterator[None]:
    """Types with so many cells are sliced."""
    before, planes.FEWEST = planes.FEWEST, count
    try:
        yield
    finally:
        planes.FEWEST = before
