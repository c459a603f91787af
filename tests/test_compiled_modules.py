# amaranth: UnusedElaboratable=no
"""The compiled engine against Amaranth's simulator, on random modules: every bit, every cycle."""

import random

import pytest
from amaranth.hdl import Array, Cat, Const, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from hypothesis import given, settings
from hypothesis import strategies as st
from long_runs import long
from multicube.hdl.fabric.cell import Cell, CellType
from multicube.hdl.fabric.fabric import Fabric
from multicube.hdl.fabric.pins import Pin
from multicube.sim.engines.amaranth_internals import component_design, nir, ports_netlist
from multicube.sim.engines.compiled import CompiledEngine, emit_c, statements
from multicube.sim.engines.compiled.word_graph import Graph
from random_modules import (
    BINARY,
    UNARY,
    WIDTHS,
    Operators,
    RandomLogic,
    RandomMemory,
    alone,
    lock_step,
    results,
    side_by_side,
)


class Repeated(wiring.Component):
    """An expression that stands in several statements."""

    i: In(8).array(2)
    o: Out(8).array(2)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        differs = self.i[0] ^ self.i[1]
        m.d.comb += [self.o[0].eq(differs + 1), self.o[1].eq(differs & 3)]
        return m


def test_an_expression_is_computed_once() -> None:
    """Amaranth's netlist has it once for each place."""
    cells = ports_netlist(component_design(Repeated(), "repeated")).cells
    operators = [cell.operator for cell in cells if isinstance(cell, nir.Operator)]
    assert sorted(operators) == ["&", "+", "^"]


@pytest.mark.parametrize("operator", [*BINARY, *UNARY])
def test_operator_of_all_widths(operator: str) -> None:
    rng = random.Random(operator)
    pairs = [(rng.choice(WIDTHS), rng.choice(WIDTHS)) for _ in range(3)] + [(1, 1), (64, 64)]
    fabric = side_by_side(
        [CellType(Operators, operator=operator, left=a, right=b) for a, b in dict.fromkeys(pairs)]
    )
    lock_step(fabric, results(fabric), seed=1, cycles=6)


class Neighbours(wiring.Component):
    """A concatenation of ports that follow each other in the signature."""

    a: In(8)
    b: In(8)
    o: Out(16)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        joined = Signal(16)
        m.d.sync += joined.eq(Cat(self.a, self.b))
        m.d.comb += self.o.eq(joined)
        return m


def test_concatenation_of_neighbouring_ports() -> None:
    fabric = alone(CellType(Neighbours))
    lock_step(fabric, results(fabric), seed=1, cycles=4)


def test_a_concatenation_with_a_gap_equals_no_number_in_the_gap() -> None:
    graph = Graph()
    low, high = (graph.input((name,), 0, 2) for name in "ab")
    parts = graph.cat([(low, 0), (high, 3)])
    assert graph.eq(parts, graph.const(0b10100)) is graph.zero
    assert graph.eq(parts, graph.const(0b10001)) is not graph.zero


@pytest.mark.parametrize("seed", [1_550_698_369])
def test_module_that_failed_once(seed: int) -> None:
    fabric = alone(CellType(RandomLogic, seed=seed))
    lock_step(fabric, results(fabric), seed, cycles=15)


def test_low_word_of_a_wide_quotient() -> None:
    # The dividend's low word is 0, the quotient's is not.
    fabric = alone(CellType(Quotient))
    lock_step(fabric, results(fabric), seed=1, cycles=4)


class Quotient(wiring.Component):
    """A power of two divided."""

    a: In(2)
    o: Out(65)
    r: Out(65)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        ticks = Signal()
        m.d.sync += ticks.eq(~ticks)
        m.d.comb += [
            self.o.eq(Cat(Const(0, 64), self.a[0]) // (self.a + 3)),
            self.r.eq((self.a + 7) % Cat(Const(0, 64), self.a[1], ~self.a[1])),
        ]
        return m


class WideQuotient(wiring.Component):
    """Quotients and remainders of numbers of many words; all operands come from one seed."""

    def __init__(self, *, width: int) -> None:
        self.width = width
        super().__init__({"a": In(width), "b": In(width), "q": Out(width), "r": Out(width)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        ticks = Signal(2)
        m.d.sync += ticks.eq(ticks + 1)
        # Divisors of any length: all words, half of them, one, or none.
        divisor = Array(self.b >> shift for shift in (0, self.width // 2, self.width - 9, 10**4))
        m.d.comb += [self.q.eq(self.a // divisor[ticks]), self.r.eq(self.a % divisor[ticks])]
        return m


@pytest.mark.parametrize(
    ("width", "options"),
    [(513, "-O2"), *(long(*case) for case in ((512, "-O0"), (544, "-O0"), (600, "-O0")))],
)
def test_wide_division(width: int, options: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CFLAGS", options)
    rng = random.Random(width)
    fabric = Fabric({"a": In(width), "b": In(width)})
    fabric.place(Cell("alone", CellType(WideQuotient, width=width)))
    for name in ("a", "b"):
        fabric.link(Pin(None, (name,)), Pin("alone", (name,)))
    with CompiledEngine(fabric) as engine:
        for cycle in range(8):
            a, b = (rng.randrange(1 << width) for _ in range(2))
            engine.set("a", a)
            engine.set("b", b)
            divisor = b >> (0, width // 2, width - 9, 10**4)[cycle % 4]
            expected = divmod(a, divisor) if divisor else (0, 0)
            found = tuple(engine.get(Pin("alone", (name,))) for name in ("q", "r"))
            assert found == expected, cycle
            engine.step(1)


class Corners(wiring.Component):
    """Expressions that have gone wrong once."""

    a: In(70)
    gap: In(1)
    h: In(20)
    masked: Out(8)
    rest: Out(70)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        state, twice = Signal(), Signal()
        # A mask of 101 on two copies of a bit is the mask 1, and the result one bit wide.
        m.d.comb += twice.eq((Cat(state, state, Const(0, 1)) & 5).bool())
        m.d.sync += state.eq(twice ^ self.h[0])
        m.d.comb += self.masked.eq(twice.replicate(8))
        # The low word of this divisor is one bit wide, that of the remainder is not.
        m.d.comb += self.rest.eq(self.a % Cat(self.h[0], Const(0, 31), self.h))
        return m


def test_corners_in_lock_step() -> None:
    fabric = alone(CellType(Corners))
    lock_step(fabric, results(fabric), seed=1, cycles=20)


@settings(max_examples=4, derandomize=True, deadline=None, database=None)
@given(st.integers(0, 2**32))
def test_random_logic_in_lock_step(seed: int) -> None:
    fabric = alone(CellType(RandomLogic, seed=seed))
    lock_step(fabric, results(fabric), seed, cycles=15)


@settings(max_examples=20, derandomize=True, deadline=None, database=None)
@given(st.integers(0, 2**32))
def test_random_memory_in_lock_step(seed: int) -> None:
    fabric = alone(CellType(RandomMemory, seed=seed))
    lock_step(fabric, results(fabric), seed, cycles=40)


@pytest.mark.parametrize("seed", [1, long(2), long(3)])
def test_random_logic_as_tables_in_lock_step(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Operations that are rows of tables, as in large modules, and not statements."""
    monkeypatch.setattr(emit_c, "STRAIGHT", 0)
    types = [CellType(RandomLogic, seed=seed), CellType(RandomMemory, seed=seed)]
    for type_ in (*types, CellType(Corners)) if seed == 1 else types:
        fabric = alone(type_)
        lock_step(fabric, results(fabric), seed, cycles=15)


def test_module_in_parts_of_few_statements(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a memory is written with is known in one part alone."""
    monkeypatch.setattr(statements, "LONGEST", 2)
    fabric = side_by_side([CellType(RandomLogic, seed=9), CellType(RandomMemory, seed=9)])
    lock_step(fabric, results(fabric), seed=1, cycles=15)


class Chains(wiring.Component):
    """As many gates, and as many additions, in a row as a wide bus has terminals."""

    i: In(400)
    o: Out(1)
    odd: Out(1)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        gate: Value = Const(0)
        total: Value = Const(0)
        for at, bit in enumerate(self.i):
            last, before = gate, total
            gate, total = Signal(name=f"gate_{at}"), Signal(9, name=f"sum_{at}")
            m.d.comb += [gate.eq((last & bit) ^ (at % 3)), total.eq(before + bit)]
        m.d.comb += self.odd.eq(total[0])
        m.d.sync += self.o.eq(gate)
        return m


class Ripple(wiring.Component):
    """One wide gate, each bit of which depends on the bit below."""

    i: In(400)
    o: Out(1)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        parities = Signal(401)
        m.d.comb += parities.eq(Cat(0, parities[:-1] ^ self.i))
        m.d.sync += self.o.eq(parities[-1])
        return m


@pytest.mark.parametrize("component", [Chains, Ripple])
def test_long_chains_in_lock_step(component: type[wiring.Component]) -> None:
    fabric = alone(CellType(component))
    lock_step(fabric, results(fabric), seed=1, cycles=4)


class Cases(wiring.Component):
    """Choices by a number: with other cases or none, in part, of no bits, the first of equals."""

    number: In(3)
    enable: In(1)
    words: In(64)
    o: Out(32)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        data = [self.words.word_select(at, 8) for at in range(8)]
        o = [Signal(8, name=f"o_{at}") for at in range(4)]
        previous = Signal(8)
        m.d.comb += [self.o.eq(Cat(o)), o[1].eq(data[7])]
        with m.Switch(self.number):
            for case in (5, 0, 3, 6, 1, 2, 4, 7):
                with m.Case(case):
                    m.d.comb += o[0].eq(data[case])
        with m.If(self.enable), m.Switch(self.number):
            for case in (1, 2, 4):
                with m.Case(case):
                    m.d.comb += o[1][2:6].eq(data[case][1:])
            with m.Case(6):
                m.d.comb += o[1][:4].eq(data[0])
        with m.Switch(self.number):
            for place, case in enumerate((7, 1, 2, 1, 7)):
                with m.Case(case):
                    m.d.comb += o[2].eq(data[place])
            with m.Default():
                m.d.comb += o[2].eq(previous)
        with m.Switch(self.number[:0]):
            for place in range(3):
                with m.Case(0):
                    m.d.comb += o[3].eq(data[place])
        m.d.sync += previous.eq(~o[2])
        return m


def test_choices_by_a_number_in_lock_step() -> None:
    fabric = alone(CellType(Cases))
    lock_step(fabric, results(fabric), seed=1, cycles=60)
