# amaranth: UnusedElaboratable=no
"""Random designs with equal submodules, wired at random."""

import random

from amaranth.hdl import Cat, DomainRenamer, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out


class Cell(wiring.Component):
    """Registers, a memory with contents of its own, and an output that hears inputs at once."""

    a: In(12)
    b: In(12)
    held: Out(12)
    sum: Out(13)
    late: Out(12)

    def __init__(self, number: int, kind: int) -> None:
        self.number, self.kind = number, kind
        rng = random.Random(number)
        init = [rng.randrange(1 << 12) for _ in range(8 >> kind)]
        self.memory = Memory(shape=12, depth=len(init), init=init)
        super().__init__()

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.memory = memory = self.memory
        write, read = memory.write_port(granularity=4), memory.read_port()
        free = Signal(12)  # nothing drives it
        m.d.comb += [
            write.addr.eq(self.a),
            write.data.eq(self.b),
            write.en.eq(self.a[9:]),
            read.addr.eq(self.b[2:]),
            self.late.eq(read.data - self.kind),
            self.sum.eq(self.a + self.held),
        ]
        m.d.sync += self.held.eq(self.held + (self.b ^ read.data) + free)
        return m


class Cells(wiring.Component):
    """Two kinds of cells, or one in two clock domains, and logic between them.

    Parameters
    ----------
    seed, count : int
    domains : bool
        Whether there are two domains: `sync` and `slow`.
    """

    a: In(12)
    o: Out(13)

    def __init__(self, *, seed: int, count: int = 10, domains: bool = False) -> None:
        self.seed, self.domains = seed, domains
        self.cells = [Cell(number, 0 if domains else number % 2) for number in range(count)]
        self.rows = [cell.memory.data for cell in self.cells]
        super().__init__()

    def elaborate(self, platform: object) -> Module:
        m = Module()
        rng = random.Random(self.seed)
        cells = self.cells
        total = Signal(13)
        known: list[Value] = [self.a, total[:12]]
        for number, cell in enumerate(cells):
            slow = self.domains and rng.random() < 0.4
            m.submodules[f"cell_{number}"] = DomainRenamer("slow")(cell) if slow else cell
            known += [cell.held, cell.late]
        for cell in cells:
            for port in (cell.a, cell.b):
                source = rng.choice(known)
                m.d.comb += port.eq(source ^ rng.randrange(4) if rng.random() < 0.5 else source)
            if rng.random() < 0.5:  # at once from cell to cell
                known.append(cell.sum[1:])
        m.d.sync += total.eq(sum(cell.sum for cell in cells))
        m.d.comb += self.o.eq(Cat(cell.sum.xor() for cell in cells) ^ total)
        return m
