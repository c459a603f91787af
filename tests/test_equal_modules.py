# amaranth: UnusedElaboratable=no
"""Equal submodules are lanes, and do what they do apart."""

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from amaranth.hdl import Assert, ClockDomain, ClockSignal, Elaboratable, Fragment, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from long_runs import long
from multicube.sim import Simulator
from multicube.sim.engines.compiled.emit_c import LANES
from multicube.sim.engines.compiled.tables import aligned
from multicube.sim.simulator import equal_modules
from repeated_modules import Cells
from simulator_pairs import check_equal


@pytest.fixture(autouse=True)
def small_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CFLAGS", "-O0")
    monkeypatch.setattr(equal_modules, "FEWEST", 3)
    monkeypatch.setattr(equal_modules, "WORTH", 10)


def lanes(design: Elaboratable) -> list[int]:
    """How many equal modules each part of a simulation has, but for the rest."""
    return [part.count for part in Simulator(design)._engine.divided.parts[1:]]


@pytest.mark.parametrize("seed", [1, *(long(seed) for seed in range(2, 60))])
@pytest.mark.parametrize("domains", [False, True])
def test_random_wiring(seed: int, domains: bool) -> None:
    """Rows of their own, links from cell to cell, two clocks; every signal, every cycle."""
    clocks = {"sync": 1e-6} | ({"slow": 1.4e-6} if domains else {})

    def make() -> Cells:
        return Cells(seed=seed, domains=domains)

    check_equal(make, cycles=25, seed=seed, clocks=clocks, resets=["sync"])
    assert sum(lanes(make())) >= 3


class Counter(Elaboratable):
    """Counts by a step. What it has besides is told by its kind."""

    def __init__(self, kind: str = "", step: int = 1, first: int = 0) -> None:
        self.kind, self.step = kind, step
        self.i, self.o, self.shared, self.seen = (
            Signal(8),
            Signal(8, init=first),
            Signal(2),
            Signal(8),
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.sync += self.o.eq(self.o + self.i + self.step)
        match self.kind:
            case "assertion":
                m.d.sync += Assert(self.o < 99)
            case "own clock":
                m.domains.own = ClockDomain(local=True)
                m.d.comb += ClockSignal("own").eq(self.o[0])
                m.d.own += self.i.eq(self.i + 1)
            case "clock as data":
                m.d.comb += self.i[0].eq(ClockSignal())
            case "some bits":
                m.d.comb += self.shared[0].eq(self.o[0])
            case "sees i" | "sees o":
                m.submodules.part = part = Module()
                part.d.comb += self.seen.eq(getattr(self, self.kind[-1]))
        return m


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda n: Counter(), [6]),
        (lambda n: Counter(step=1 + n % 2), [3, 3]),
        (lambda n: Counter(first=n % 2), [3, 3]),
        (lambda n: Counter(("sees i", "sees o")[n % 2]), [3, 3]),
        (lambda n: Counter(step=1 + n % 3), []),
        (lambda n: Counter("assertion"), []),
        (lambda n: Counter("own clock"), []),
        (lambda n: Counter("clock as data"), []),
        (lambda n: Counter("some bits"), []),
    ],
    ids=[
        *("equal", "two kinds", "first values", "what parts see", "too few"),
        *("assertion", "own clock", "clock as data", "some bits"),
    ],
)
def test_which_are_lanes(make: Callable[[int], Counter], expected: list[int]) -> None:
    m = Module()
    for number in range(6):
        m.submodules += (counter := make(number))
        m.d.comb += counter.shared[1].eq(counter.o[1])
    found = equal_modules.equal_modules(Fragment.get(m, None).prepare())
    assert [len(group.fragments) for group in found] == expected


class Crossed(Elaboratable):
    """Each bit goes one module on: by whole signals, modules depend on themselves."""

    def elaborate(self, platform: object) -> Module:
        m = Module()
        ends = [(Signal(4, name=f"i{n}"), Signal(4, name=f"o{n}")) for n in range(4)]
        state = Signal()
        m.d.sync += state.eq(~state)
        for i, o in ends:
            m.submodules += (inner := Module())
            inner.d.comb += [o[0].eq(state), o[1:].eq(i[:3] ^ 5)]
        for (_, o), (i, _) in zip(ends, ends[1:] + ends[:1]):
            m.d.comb += i.eq(o)
        return m


def test_modules_that_seem_to_depend_on_themselves_stay_apart() -> None:
    check_equal(Crossed, cycles=5)
    assert lanes(Crossed()) == []


@pytest.mark.parametrize("fewest", [3, long(100)])
def test_several_runs(fewest: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs with inputs, rows and waits of their own, at once and one after the other."""
    monkeypatch.setattr(equal_modules, "FEWEST", fewest)
    seen: dict[int, list[Any]] = {}

    def simulate(runs: int, first: int) -> None:
        design = Cells(seed=3)

        async def bench(ctx: Any) -> None:
            rng = random.Random(first + ctx.run)
            found = seen.setdefault(first + ctx.run, [])
            ctx.set(design.rows[0][3], rng.randrange(1 << 12))
            for _ in range(10):
                ctx.set(design.a, rng.randrange(1 << 12))
                await ctx.tick().repeat(rng.randrange(1, 5))
                found.append((ctx.get(design.o), ctx.get(design.rows[2][1])))

        simulator = Simulator(design, runs=runs)
        simulator.add_clock(1e-6)
        simulator.add_testbench(bench)
        simulator.run()
        again = dict(seen)
        simulator.reset()
        seen.clear()
        simulator.run()
        assert seen == again

    simulate(18, 0)
    together = dict(seen)
    assert len({str(each) for each in together.values()}) == 18
    for run in (0, 1, 17):
        seen.clear()
        simulate(1, run)
        assert seen == {run: together[run]}


def test_assertions_name_their_run() -> None:
    counter = Counter("assertion")
    simulator = Simulator(counter, runs=3)

    async def bench(ctx: Any) -> None:
        ctx.set(counter.i, 5 * ctx.run)
        await ctx.tick().repeat(80)

    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    with pytest.raises(AssertionError, match=r"^Assertion violated in run 2$"):
        simulator.run()


def test_several_runs_have_one_clock() -> None:
    with pytest.raises(Exception, match=r"^A design whose logic makes clocks .* several runs$"):
        Simulator(Counter("own clock"), runs=2)
    with pytest.raises(ValueError, match=r"^Runs must be from 1 to 65536, not 0$"):
        Simulator(Counter(), runs=0)


class Halting(Elaboratable):
    """Modules of which one clock never moves, and one reset is never made."""

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.domains += (
            (still := ClockDomain("still")),
            (free := ClockDomain("free", async_reset=True)),
        )
        m.d.comb += [still.clk.eq(0), free.rst.eq(0)]
        for number in range(4):
            m.submodules += (inner := Module())
            step, count, kept = (Signal(8, name=f"{name}{number}") for name in ("a", "b", "c"))
            m.d.comb += step.eq(number + 1)
            inner.d.free += count.eq(count + step)
            inner.d.still += kept.eq(count)
            inner.submodules.rows = rows = Memory(shape=8, depth=20, init=[])
            read = rows.read_port(domain="free")
            inner.d.comb += read.addr.eq(count)
            for shift, domain in enumerate(("still", "free", "sync")):
                port = rows.write_port(domain=domain)
                inner.d.comb += [port.en.eq(1), port.addr.eq(count >> shift), port.data.eq(count)]
        return m


def test_clocks_of_lanes_that_never_change() -> None:
    check_equal(Halting, cycles=20, clocks={"sync": 1e-6, "free": 0.7e-6})
    assert lanes(Halting()) == [4]


def test_clocks_of_lanes_that_never_change_in_several_runs() -> None:
    """A constant is no clock that logic makes, of which several runs are refused."""
    seen = []

    async def bench(ctx: Any) -> None:
        await ctx.tick().repeat(3)
        seen.append(ctx.run)

    simulator = Simulator(Halting(), runs=2)
    simulator.add_clock(1e-6)
    simulator.add_clock(0.7e-6, domain="free")
    simulator.add_testbench(bench)
    simulator.run()
    assert seen == [0, 1]


class Lookup(wiring.Component):
    """A word of a memory, and sums beside it."""

    before: In(32)
    at: In(4)
    behind: In(32)
    o: Out(32)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.memory = memory = Memory(shape=8, depth=16, init=range(16))
        read = memory.read_port(domain="comb")
        m.d.comb += [read.addr.eq(self.at), self.o.eq(read.data + self.before + self.behind)]
        return m


class Lookups(wiring.Component):
    o: Out(32)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for number in range(12):
            m.submodules[f"lookup_{number}"] = lookup = Lookup()
            at, wide = Signal(4, init=number), Signal(32, init=(1 << 32) - 1 - number)
            m.d.comb += [lookup.at.eq(at), lookup.before.eq(wide), lookup.behind.eq(wide + 1)]
            m.d.sync += [at.eq(at + 1), wide.eq(wide - 1), self.o.eq(lookup.o)]
        return m


def test_lanes_without_a_module_read_within_memories() -> None:
    """Four of sixteen. They read wires behind those of the twelve, wider ones: as addresses, these
    lay beyond the memory, and the program was killed."""
    assert lanes(Lookups()) == [12]
    check_equal(Lookups, cycles=3)


def test_lanes_without_a_module_read_within_wires() -> None:
    """Consecutive wires are read for all lanes, from the last wire on, too."""
    for wires in [aligned(count, np.uint32) for count in range(1, 20)]:
        whole = wires.base
        assert isinstance(whole, np.ndarray)
        behind = whole.ctypes.data + whole.nbytes - wires.ctypes.data - wires.nbytes
        assert behind >= (LANES - 1) * wires.itemsize
