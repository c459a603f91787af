# amaranth: UnusedElaboratable=no
"""Random modules, and engines in lock step on them: every bit, every cycle.

A module is made from a seed, so that a failure is repeated by its seed alone. Every register and
every expression is an output.
"""

import random
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any

from amaranth.hdl import (
    Array,
    Cat,
    Const,
    Elaboratable,
    EnableInserter,
    Module,
    Mux,
    ResetInserter,
    Signal,
    Value,
    signed,
    unsigned,
)
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from driving import exercise
from multicube.hdl.fabric.cell import Cell, CellType
from multicube.hdl.fabric.fabric import Fabric
from multicube.hdl.fabric.fabric_component import FabricComponent, member
from multicube.hdl.fabric.pins import Path, Pin
from multicube.sim.engines import PortEngine
from multicube.sim.engines.compiled import CompiledEngine
from multicube.sim.engines.verilator import VerilatorEngine

WIDTHS = (1, 2, 3, 7, 8, 9, 16, 17, 31, 32, 33, 48, 63, 64, 65, 96, 127, 130)
WIDEST = 130
INPUTS = {"a": 130, "b": 64, "c": 33, "d": 8, "e": 1}

BINARY = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "floordiv": lambda a, b: a // b,
    "mod": lambda a, b: a % b,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "shl": lambda a, b: a << Value.cast(b)[:6].as_unsigned(),
    "shr": lambda a, b: a >> Value.cast(b)[:8].as_unsigned(),
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}
UNARY = {
    "neg": lambda a: -a,
    "not": lambda a: ~a,
    "abs": abs,
    "bool": lambda a: a.bool(),
    "any": lambda a: a.any(),
    "all": lambda a: a.all(),
    "parity": lambda a: a.xor(),
    "rotate": lambda a: a.rotate_left(3),
    "replicate": lambda a: a[:13].replicate(3),
    "signed": lambda a: a.as_signed(),
    "unsigned": lambda a: a.as_unsigned(),
}


def _fitted(value: Value, widest: int = WIDEST) -> Value:
    """No wider than the widest signals of a module."""
    if len(value) <= widest:
        return value
    cut = value[:widest]
    return cut.as_signed() if value.shape().signed else cut


class Operators(wiring.Component):
    """One operator on operands of two widths, signed and unsigned: four results."""

    def __init__(self, *, operator: str, left: int, right: int) -> None:
        self.operator, self.left, self.right = operator, left, right
        outputs = {f"o{number}": Out(WIDEST) for number in range(4)}
        super().__init__({"a": In(left), "b": In(right), **outputs})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        ticks = Signal()  # the reference engine needs a clock
        m.d.sync += ticks.eq(~ticks)
        signs = [(x, y) for x in (False, True) for y in (False, True)]
        for number, (x, y) in enumerate(signs):
            a = self.a.as_signed() if x else self.a
            b = self.b.as_signed() if y else self.b
            if self.operator in BINARY:
                result = BINARY[self.operator](a, b)
            else:
                result = UNARY[self.operator](a if number < 2 else b)
            m.d.comb += getattr(self, f"o{number}").eq(result)
        return m


class RandomLogicMaker:
    """Makes random expressions and statements."""

    def __init__(self, rng: random.Random, leaves: list[Value], widest: int = WIDEST) -> None:
        self.rng = rng
        self.leaves = leaves
        self.widest = widest

    def value(self, depth: int) -> Value:
        rng = self.rng
        if depth == 0 or rng.random() < 0.1:
            if rng.random() < 0.15:
                width = rng.choice(WIDTHS)
                shape = signed(width) if rng.random() < 0.5 else unsigned(width)
                low = -(1 << width - 1) if shape.signed else 0
                return Const(rng.randrange(low, low + (1 << width)), shape)
            return rng.choice(self.leaves)
        kind = rng.randrange(10)
        a = self.value(depth - 1)
        if kind < 4:
            return _fitted(rng.choice(list(BINARY.values()))(a, self.value(depth - 1)), self.widest)
        if kind == 4:
            return _fitted(rng.choice(list(UNARY.values()))(a), self.widest)
        if kind == 5:
            return Mux(self.value(depth - 1), a, self.value(depth - 1))
        if kind == 6:
            return _fitted(Cat(a, self.value(depth - 1), rng.choice(self.leaves)), self.widest)
        if kind == 7:
            low = rng.randrange(len(a))
            return a[low : rng.randrange(low, len(a)) + 1]
        if kind == 8:
            offset = self.value(depth - 1)[: rng.choice((2, 5, 8))]
            width = rng.randrange(1, 20)
            # Of a slice: of other expressions, bits beyond the end differ between Amaranth's
            # simulator and its netlist.
            part = a[:]
            choose = rng.choice((part.bit_select, part.word_select))
            return choose(offset, width)
        if rng.random() < 0.5:
            width = len(a)
            patterns = ["".join(rng.choice("01--") for _ in range(width)) for _ in range(2)]
            return a.as_unsigned().matches(*patterns, rng.randrange(1 << width))
        return Array([a, *(rng.choice(self.leaves) for _ in range(4))])[self.value(depth - 1)[:3]]

    def target(self, signal: Signal) -> Value:
        """The signal, or a part of it that can be assigned."""
        rng = self.rng
        match rng.randrange(5):
            case 0:
                low = rng.randrange(len(signal))
                return signal[low : rng.randrange(low, len(signal)) + 1]
            case 1:
                return signal.bit_select(self.value(1)[:4], rng.randrange(1, 9))
            case 2:
                return signal.word_select(self.value(1)[:3], rng.randrange(1, 9))
        return signal

    def statements(self, m: Module, domain: str, signal: Signal, depth: int) -> None:
        rng = self.rng
        for _ in range(rng.randrange(1, 3)):
            m.d[domain] += self.target(signal).eq(self.value(2))
            if depth and rng.random() < 0.5:
                with m.If(self.value(1).bool()):
                    self.statements(m, domain, signal, depth - 1)
                with m.Elif(self.value(1).bool()):
                    self.statements(m, domain, signal, depth - 1)
                with m.Else():
                    self.statements(m, domain, signal, depth - 1)
            elif depth:
                test = self.value(1)[:3]
                pattern = "".join(rng.choice("01-") for _ in range(len(test)))
                with m.Switch(test):
                    with m.Case(pattern):
                        self.statements(m, domain, signal, depth - 1)
                    with m.Case(rng.randrange(1 << len(test))):
                        self.statements(m, domain, signal, depth - 1)
                    with m.Default():
                        self.statements(m, domain, signal, depth - 1)


class RandomLogic(wiring.Component):
    """Registers and combinational signals with random statements.

    Parameters
    ----------
    seed : int
    wide : int, optional
        Width of a further input, and of a few registers and signals, above 512.
    resets : bool
        Whether two inputs reset and enable the registers.
    """

    def __init__(self, *, seed: int, wide: int = 0, resets: bool = False) -> None:
        self.seed = seed
        self.wide = wide
        self.resets = resets
        rng = random.Random(seed)
        self.widths = [rng.choice(WIDTHS) for _ in range(6)]
        if wide:
            self.widths[0], self.widths[-1] = wide, wide - 1
        outputs = {f"o{number}": Out(width) for number, width in enumerate(self.widths)}
        # The gaps keep ports apart, see test_concatenation_of_neighbouring_ports.
        inputs = {}
        self.inputs = INPUTS | ({"w": wide} if wide else {})
        for name, width in self.inputs.items():
            inputs |= {name: In(width), f"gap_{name}": In(1)}
        super().__init__(inputs | outputs)

    def elaborate(self, platform: object) -> Elaboratable:
        m = Module()
        rng = random.Random(self.seed)
        leaves = [getattr(self, name) for name in self.inputs]
        leaves += [leaf.as_signed() for leaf in leaves]
        states = []
        for number, width in enumerate(self.widths):
            shape = signed(width) if rng.random() < 0.3 else unsigned(width)
            init = rng.randrange(1 << width - 1)
            states.append(Signal(shape, init=init, name=f"state_{number}"))
        # The first half are registers, the rest combinational of inputs and registers.
        half = len(states) // 2
        maker = RandomLogicMaker(rng, leaves + states[:half], max(WIDEST, self.wide))
        for number, signal in enumerate(states):
            maker.statements(m, "sync" if number < half else "comb", signal, 1)
            m.d.comb += getattr(self, f"o{number}").eq(signal)
        if not self.resets:
            return m
        # Rarely reset, often enabled.
        controlled = ResetInserter(self.d[:3].all())(m)
        return EnableInserter(self.b[0] | self.b[7])(controlled)


class RandomMemory(wiring.Component):
    """A memory with random ports."""

    def __init__(self, *, seed: int) -> None:
        self.seed = seed
        rng = random.Random(seed)
        self.width = rng.choice((1, 5, 8, 16, 24, 32, 40, 64, 66, 130))
        self.depth = rng.choice((1, 2, 3, 4, 5, 7, 8, 9, 16, 33))
        self.writers = rng.randrange(1, 4)
        self.readers = rng.randrange(1, 4)
        divisors = [n for n in range(1, self.width + 1) if self.width % n == 0]
        self.granularity = [rng.choice([None, *divisors[-4:]]) for _ in range(self.writers)]
        self.sync = [rng.random() < 0.6 for _ in range(self.readers)]
        self.transparent = [
            [w for w in range(self.writers) if rng.random() < 0.5] for _ in range(self.readers)
        ]
        self.address = (self.depth - 1).bit_length()
        ports = {}
        for w in range(self.writers):
            lanes = 1 if self.granularity[w] is None else self.width // self.granularity[w]
            ports |= {f"wa{w}": In(self.address), f"wd{w}": In(self.width), f"we{w}": In(lanes)}
        for r in range(self.readers):
            ports |= {f"ra{r}": In(self.address), f"re{r}": In(1), f"rd{r}": Out(self.width)}
        super().__init__(ports)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        rng = random.Random(self.seed + 1)
        init = [rng.getrandbits(self.width) for _ in range(rng.randrange(self.depth + 1))]
        m.submodules.rows = memory = Memory(shape=unsigned(self.width), depth=self.depth, init=init)
        writes = []
        for w, granularity in enumerate(self.granularity):
            port = memory.write_port(granularity=granularity)
            writes.append(port)
            for part, name in (("addr", "wa"), ("data", "wd"), ("en", "we")):
                m.d.comb += getattr(port, part).eq(getattr(self, f"{name}{w}"))
        for r, sync in enumerate(self.sync):
            if sync:
                seen = [writes[w] for w in self.transparent[r]]
                port = memory.read_port(transparent_for=seen)
                m.d.comb += port.en.eq(getattr(self, f"re{r}"))
            else:
                port = memory.read_port(domain="comb")
            m.d.comb += [port.addr.eq(getattr(self, f"ra{r}"))]
            m.d.comb += getattr(self, f"rd{r}").eq(port.data)
        return m


def alone(type_: CellType) -> Fabric:
    """A fabric of one cell whose ports are the boundary."""
    leaves = {path[0]: leaf for path, leaf in type_.leaves.items()}
    members = {name: (In if leaf.flow == In else Out)(leaf.width) for name, leaf in leaves.items()}
    fabric = Fabric(members)
    fabric.place(Cell("dut", type_))
    for name in leaves:
        fabric.link(Pin(None, (name,)), Pin("dut", (name,)))
    return fabric


def interesting(rng: random.Random, width: int) -> int:
    """A random value; often one at the edge of what fits."""
    edges = (0, 1, (1 << width) - 1, 1 << width - 1, (1 << width - 1) - 1) if width else (0,)
    return rng.choice(edges) if rng.random() < 0.4 else rng.getrandbits(width) if width else 0


def simulated(
    fabric: Fabric, stimuli: Sequence[Mapping[str, int]], pins: Sequence[Pin]
) -> list[list[int]]:
    """What Amaranth's simulator shows at some pins in every cycle."""
    top = FabricComponent(fabric)
    shown: list[list[int]] = []

    async def bench(ctx: Any) -> None:
        watched = [
            Value.cast(member(top if pin.cell is None else top.instances[pin.cell], pin.path))
            for pin in pins
        ]
        for stimulus in stimuli:
            for name, value in stimulus.items():
                ctx.set(Value.cast(getattr(top, name)), value)
            shown.append([ctx.get(value) for value in watched])
            await ctx.tick()

    exercise(top, bench)
    return shown


def lock_step(
    fabric: Fabric,
    pins: Sequence[Pin],
    seed: int,
    cycles: int,
    *,
    verilog: bool = False,
    fixed: Mapping[str, int] | None = None,
) -> list[list[int]]:
    """Give the engines the same random inputs; all pins are equal in every cycle.

    The compiled engine is compared with Amaranth's simulator, and so is, if it is wanted, the
    exported Verilog in Verilator. The ports of the boundary have plain shapes. Returns what the
    pins showed in each cycle.
    """
    rng = random.Random(seed)
    inputs = {path[0]: leaf.width for path, leaf in fabric.boundary.items() if leaf.flow == In}
    stimuli = [
        {name: interesting(rng, width) for name, width in inputs.items()} | dict(fixed or {})
        for _ in range(cycles)
    ]
    expected = simulated(fabric, stimuli, pins)
    with ExitStack() as stack:
        engines: list[PortEngine] = [stack.enter_context(CompiledEngine(fabric))]
        if verilog:
            inner = [pin for pin in pins if pin.cell is not None]
            engines.append(stack.enter_context(VerilatorEngine(fabric, inner, optimise="-O0")))
        for cycle, wanted in enumerate(expected):
            for engine in engines:
                for name, value in stimuli[cycle].items():
                    engine.set(name, value)
                for pin, value in zip(pins, wanted):
                    found = engine.get(pin)
                    assert found == value, (
                        f"{engine.name}: {pin} in cycle {cycle}: {found:#x}, not {value:#x}"
                    )
                engine.step(1)
    return expected


def flat(fabric: Fabric) -> Fabric:
    """The same cells and wires, each leaf of the boundary a port of its own."""

    def port(path: Path) -> Path:
        return ("_".join(map(str, path)),)

    leaves = fabric.boundary.items()
    plain = Fabric(
        {str(port(path)[0]): wiring.Member(leaf.flow, leaf.shape) for path, leaf in leaves}
    )
    for cell in fabric.cells.values():
        plain.place(cell)
    for ends in fabric.drivers.items():
        plain.link(*(Pin(None, port(pin.path)) if pin.cell is None else pin for pin in ends))
    return plain


def results(fabric: Fabric) -> list[Pin]:
    """All outputs of all cells."""
    return [
        Pin(name, path)
        for name, cell in fabric.cells.items()
        for path, leaf in cell.type.leaves.items()
        if leaf.flow == Out
    ]


def side_by_side(types: Sequence[CellType]) -> Fabric:
    """Unconnected cells whose inputs are the boundary."""
    inputs = [
        (Pin(f"cell_{number}", path), "_".join(map(str, (*path, number))), leaf.shape)
        for number, type_ in enumerate(types)
        for path, leaf in type_.leaves.items()
        if leaf.flow == In
    ]
    fabric = Fabric({name: In(shape) for _, name, shape in inputs})
    for number, type_ in enumerate(types):
        fabric.place(Cell(f"cell_{number}", type_))
    for pin, name, _ in inputs:
        fabric.link(Pin(None, (name,)), pin)
    return fabric
