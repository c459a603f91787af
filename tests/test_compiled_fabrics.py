# amaranth: UnusedElaboratable=no
"""The compiled engine on fabrics of several cells: order of evaluation, runs, errors, the cache."""

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from amaranth.hdl import Assert, Cat, ClockDomain, Instance, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from multicube.hdl.fabric.cell import Cell, CellType
from multicube.hdl.fabric.fabric import Fabric
from multicube.hdl.fabric.pins import Pin
from multicube.sim.engines.amaranth import AmaranthEngine
from multicube.sim.engines.compiled import CompiledEngine
from multicube.sim.engines.compiled.build import compiler_command, library
from multicube.sim.engines.compiled.compiled_errors import (
    AssertionViolated,
    CombinationalLoop,
    CompilerFailed,
    NoCompiler,
    NotEnoughMemory,
    UnsupportedConstruct,
)


class Repeater(wiring.Component):
    """Passes requests on and grants back, both in the same cycle, and counts requests."""

    address: In(8)
    i: In(8)
    o: Out(8)
    grant_i: In(8)
    grant_o: Out(8)
    count: Out(8)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.comb += [self.o.eq(self.i + 1), self.grant_o.eq(self.grant_i ^ self.address)]
        m.d.sync += self.count.eq(self.count + self.i[0])
        return m


class Difference(wiring.Component):
    a: In(8)
    b: In(8)
    o: Out(8)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.comb += self.o.eq(self.a - self.b)
        return m


class Keeper(wiring.Component):
    """Shows what it was given a cycle ago."""

    i: In(8)
    o: Out(8)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.sync += self.o.eq(self.i)
        return m


class Giver(wiring.Component):
    """Shows a number of its own."""

    number: In(8)
    o: Out(8)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.comb += self.o.eq(self.number)
        return m


class Watched(wiring.Component):
    """Fails when its counter reaches `limit`."""

    limit: In(8)
    count: Out(8)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.sync += [self.count.eq(self.count + 1), Assert(self.count != self.limit, "too far")]
        return m


class Table(wiring.Component):
    """Shows the rows of a memory one after another."""

    def __init__(self, *, depth: int, table: tuple[int, ...] = ()) -> None:
        self.depth = depth
        self.table = Memory(shape=16, depth=depth, init=table)
        super().__init__({"row": Out(4), "o": Out(16)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.table = self.table
        port = self.table.read_port(domain="comb")
        m.d.comb += [port.addr.eq(self.row), self.o.eq(port.data)]
        m.d.sync += self.row.eq(self.row + 1)
        return m


class Foreign(wiring.Component):
    o: Out(1)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.part = Instance("vendor_part", o_o=self.o)
        return m


class TwoClocks(wiring.Component):
    o: Out(1)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.domains.other = ClockDomain("other", local=True)
        m.d.other += self.o.eq(~self.o)
        return m


class Inward(wiring.Component):
    """A combinational loop of its own."""

    o: Out(1)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        a, b = Signal(), Signal()
        m.d.comb += [a.eq(~b), b.eq(a), self.o.eq(a)]
        return m


def chain(length: int, *, close: bool = False, first: int = 0) -> Fabric:
    """Repeaters in a row, requests one way and grants the other; or in a ring."""
    fabric = Fabric({} if close else {"request": In(8), "grant": In(8)})
    for x in range(length):
        # Not placed in the order of evaluation.
        number = x * 7 % length
        fabric.place(Cell(f"r_{number}", CellType(Repeater), {"address": first + number}))
    for x in range(length - 1):
        fabric.link(Pin(f"r_{x}", ("o",)), Pin(f"r_{x + 1}", ("i",)))
        fabric.link(Pin(f"r_{x + 1}", ("grant_o",)), Pin(f"r_{x}", ("grant_i",)))
    begin, end = (Pin(None, ("request",)), Pin(None, ("grant",)))
    if close:
        begin, end = Pin(f"r_{length - 1}", ("o",)), Pin("r_0", ("grant_o",))
    fabric.link(begin, Pin("r_0", ("i",)))
    fabric.link(end, Pin(f"r_{length - 1}", ("grant_i",)))
    return fabric


def single(type_: CellType, **straps: int) -> Fabric:
    fabric = Fabric({})
    fabric.place(Cell("alone", type_, straps))
    return fabric


def test_chain_is_evaluated_in_one_cycle_both_ways() -> None:
    length = 40
    engine = CompiledEngine(chain(length))
    grant = 0
    for x in range(length):
        grant ^= x
    for value in (0, 3, 200):
        engine.set("request", value)
        engine.set("grant", value)
        for x in range(length):
            assert engine.get(Pin(f"r_{x}", ("o",))) == (value + x + 1) % 256
        assert engine.get(Pin("r_0", ("grant_o",))) == value ^ grant
        engine.step(1)
    assert engine.read(["r_0", "r_1"], "count") == [1, 2]


def test_an_output_waits_for_the_longest_way_to_it() -> None:
    fabric = chain(4)
    for name, sources in (("up", "ba"), ("down", "ab")):
        fabric.place(Cell(name, CellType(Difference), {}))
        for port, number in zip(sources, (0, 3)):
            fabric.link(Pin(f"r_{number}", ("o",)), Pin(name, (port,)))
    engine = CompiledEngine(fabric)
    for value in (1, 200):
        engine.set("request", value)
        assert [engine.get(Pin(name, ("o",))) for name in ("up", "down")] == [3, 253]


def test_loop_names_cells() -> None:
    with pytest.raises(CombinationalLoop, match=r"r_0\.o.*r_1\.o|r_1\.o.*r_0\.o"):
        CompiledEngine(chain(3, close=True))


def test_runs_differ_in_straps_and_inputs() -> None:
    engine = CompiledEngine([chain(5, first=8 * run) for run in range(3)])
    for run in range(3):
        engine.set("request", 10 * run, run)
    engine.set("grant", 1)
    engine.step(2)
    assert (engine.runs, engine.cycle) == (3, 2)
    for run in range(3):
        assert engine.get(Pin("r_4", ("o",)), run) == 10 * run + 5
        assert engine.get(Pin("r_4", ("grant_o",)), run) == 1 ^ 8 * run + 4


@pytest.mark.parametrize("depth", [3, 12], ids=["registers", "rows"])
def test_contents_of_each_cell_and_run(depth: int) -> None:
    def fabric(run: int) -> Fabric:
        made = Fabric({})
        for x in range(3):
            rows = tuple(1000 * run + 100 * x + row for row in range(depth - 1))
            made.place(Cell(f"t_{x}", CellType(Table, depth=depth), {}, {"table": rows}))
        return made

    engine = CompiledEngine([fabric(run) for run in range(2)])
    for run in range(2):
        for x in range(3):
            rows = [1000 * run + 100 * x + row for row in range(depth - 1)]
            assert engine.memory(f"t_{x}", "table", run) == [*rows, 0]
    for cycle in range(depth):
        wanted = 1100 + cycle if cycle < depth - 1 else 0
        assert engine.get(Pin("t_1", ("o",)), 1) == wanted
        engine.step(1)


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_cells_read_others_in_any_order(rows: int) -> None:
    seed = 30 + rows
    print(f"seed {seed}")
    rng = random.Random(seed)
    fabric = Fabric({})
    for x in range(8 * 3):
        fabric.place(Cell(f"w_{x}", CellType(Giver), {"number": 200 - x}))
        fabric.place(Cell(f"t_{x}", CellType(Keeper)))
    wanted = []
    for x in range(0, 24, 8):
        # Eight cells that follow each other read those of so many rows of eight.
        sources = rng.sample([8 * row + lane for row in range(rows) for lane in range(8)], 8)
        for lane, source in enumerate(sources):
            fabric.link(Pin(f"w_{source}", ("o",)), Pin(f"t_{x + lane}", ("i",)))
        wanted += [200 - source for source in sources]
    with CompiledEngine(fabric) as engine:
        engine.step(1)
        assert engine.read([f"t_{x}" for x in range(24)], "o") == wanted


def test_failed_assertion_names_cell_and_cycle() -> None:
    fabric = Fabric({})
    for x, limit in enumerate((200, 17, 90)):
        fabric.place(Cell(f"w_{x}", CellType(Watched), {"limit": limit}))
    engine = CompiledEngine(fabric)
    engine.step(17)
    with pytest.raises(AssertionViolated, match=r"\bw_1\b.*cycle 17"):
        engine.step(100)


def test_failed_assertion_gives_its_message() -> None:
    engine = CompiledEngine(single(CellType(Watched), limit=3))
    with pytest.raises(AssertionViolated, match="too far"):
        engine.step(10)


@pytest.mark.parametrize(
    ("component", "what"), [(Foreign, "Instance"), (TwoClocks, "clock domain")]
)
def test_unsupported_construct_is_named_with_its_line(
    component: type[wiring.Component], what: str
) -> None:
    with pytest.raises(UnsupportedConstruct, match=rf"{what}|{Path(__file__).name}:\d+") as error:
        CompiledEngine(single(CellType(component)))
    assert what in str(error.value)
    assert Path(__file__).name in str(error.value)


def test_loop_within_a_component_is_an_error_of_the_engine() -> None:
    with pytest.raises(CombinationalLoop):
        CompiledEngine(single(CellType(Inward)))


def test_rejects_runs_of_other_structure() -> None:
    with pytest.raises(ValueError, match="run"):
        CompiledEngine([chain(4), chain(5)])


def test_rejects_more_memory_than_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    class Full:
        available = 10

    monkeypatch.setattr("psutil.virtual_memory", Full)
    with pytest.raises(NotEnoughMemory, match="memory"):
        CompiledEngine(chain(2))


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MULTICUBE_CACHE", str(tmp_path))
    return tmp_path


SOURCE = "int answer(void) { return 42; }\n"


def test_second_build_compiles_nothing(cache: Path) -> None:
    first = library(SOURCE)
    made = first.stat().st_ino
    assert library(SOURCE) == first
    assert first.stat().st_ino == made
    assert [path for path in cache.iterdir() if path.suffix != ".so"] == []


def test_cache_is_bounded(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    size = library(SOURCE).stat().st_size
    monkeypatch.setattr("multicube.sim.engines.compiled.build.CACHE_LIMIT", 2 * size)
    made = [library(SOURCE.replace("42", str(number))) for number in range(4)]
    assert len(list(cache.glob("*.so"))) <= 2
    assert made[-1].exists()


LOAD = "from multicube.sim.engines.compiled.build import library; import ctypes, os;"
LOAD += f"print(ctypes.CDLL(os.fspath(library({SOURCE!r}))).answer())"


@pytest.mark.long
def test_processes_share_the_cache(cache: Path) -> None:
    command = [sys.executable, "-c", LOAD]
    started = [
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ | {})
        for _ in range(4)
    ]
    assert [process.communicate()[0] for process in started] == ["42\n"] * 4
    assert len(list(cache.iterdir())) == 1


@pytest.mark.long
def test_damaged_library_is_made_again(cache: Path) -> None:
    made = library(SOURCE)
    made.write_bytes(made.read_bytes()[:1000])
    # In a process of its own, because loading a damaged library may kill it.
    done = subprocess.run([sys.executable, "-c", LOAD], capture_output=True, text=True, check=False)
    assert done.stdout == "42\n"


def test_without_compiler_says_how_to_get_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(NoCompiler, match="ziglang") as error:
        compiler_command()
    assert "\n" not in str(error.value)


def test_rejects_missing_compiler_named_by_cc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "no-such-compiler")
    with pytest.raises(NoCompiler, match="'no-such-compiler'"):
        compiler_command()


def test_complaint_of_the_compiler_is_one_line(cache: Path) -> None:
    with pytest.raises(CompilerFailed, match="error") as error:
        library("int answer(void) { return; }}\n")
    assert "\n" not in str(error.value)


class Follower(wiring.Component):
    """A register that follows an input."""

    i: In(8)
    o: Out(8, init=77)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.sync += self.o.eq(self.i)
        return m


@pytest.mark.parametrize("engine", [AmaranthEngine, CompiledEngine])
def test_inputs_set_before_the_first_cycle_belong_to_it(engine: type) -> None:
    fabric = Fabric({"i": In(8)})
    fabric.place(Cell("register", CellType(Follower)))
    fabric.link(Pin(None, ("i",)), Pin("register", ("i",)))
    with engine(fabric) as machine:
        machine.set("i", 5)
        assert machine.get(Pin("register", ("o",))) == 77
        machine.step(1)
        assert machine.get(Pin("register", ("o",))) == 5
        assert machine.cycle == 1


class Inverters(wiring.Component):
    """Inverts bits, all in one word."""

    i: In(1).array(16)
    o: Out(1).array(16)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        word = Signal(16)
        m.d.comb += [word.eq(~Cat(self.i)), *(o.eq(bit) for o, bit in zip(self.o, word))]
        return m


def test_bits_of_a_wide_word_can_depend_on_each_other_by_way_of_other_bits() -> None:
    fabric = Fabric({"i": In(1), "o": Out(1)})
    fabric.place(Cell("word", CellType(Inverters)))
    fabric.link(Pin(None, ("i",)), Pin("word", ("i", 0)))
    for bit in range(15):
        fabric.link(Pin("word", ("o", bit)), Pin("word", ("i", bit + 1)))
    fabric.link(Pin("word", ("o", 15)), Pin(None, ("o",)))
    with CompiledEngine(fabric) as machine:
        for value in (1, 0, 1):
            machine.set("i", value)
            found = [machine.get(Pin("word", ("o", bit))) for bit in range(16)]
            assert found == [value ^ (bit + 1) % 2 for bit in range(16)]
