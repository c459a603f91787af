# amaranth: UnusedElaboratable=no
"""Our simulator against Amaranth's: what testbenches and processes see, and when."""

import re
from collections.abc import Callable, Mapping, Sequence
from io import StringIO
from pathlib import Path
from typing import Any

import amaranth.sim
import pytest
from amaranth.hdl import (
    Assert,
    Cat,
    ClockDomain,
    ClockSignal,
    Cover,
    DriverConflict,
    Elaboratable,
    Format,
    Instance,
    Module,
    Print,
    Signal,
    signed,
)
from amaranth.lib import data, enum, wiring
from amaranth.lib.cdc import FFSynchronizer
from amaranth.lib.fifo import AsyncFIFO, SyncFIFOBuffered
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from long_runs import long
from multicube.hdl.fabric.errors import MulticubeError
from multicube.sim import Simulator
from multicube.sim.engines.amaranth_internals import nir
from random_modules import RandomLogic, RandomMemory
from simulator_pairs import KINDS, check_equal

Scenario = Callable[[Callable[..., Any]], Any]


@pytest.fixture(autouse=True)
def quick_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """Most of these designs run for few cycles."""
    monkeypatch.setenv("CFLAGS", "-O0")


def played(
    simulator: Any,
    seen: Any,
    *testbenches: Any,
    clocks: Mapping[str, float] = {"sync": 1e-6},
    processes: Sequence[Any] = (),
    background: Sequence[Any] = (),
) -> Any:
    """What testbenches have seen, once all of them have ended."""
    for domain, period in clocks.items():
        simulator.add_clock(period, domain=domain)
    for process in processes:
        simulator.add_process(process)
    for testbench in background:
        simulator.add_testbench(testbench, background=True)
    for testbench in testbenches:
        simulator.add_testbench(testbench)
    simulator.run()
    return seen


def counting() -> tuple[Module, ClockDomain, Signal]:
    """A register that counts the ticks of a domain of its module."""
    m, domain, count = Module(), ClockDomain("sync"), Signal(8)
    m.domains += domain
    m.d.sync += count.eq(count + 1)
    return m, domain, count


def same(scenario: Scenario) -> Any:
    """What a scenario finds in both simulators, which must be equal."""
    expected, found = (scenario(kind) for kind in KINDS)
    assert found == expected
    return found


def test_buffered_queue_with_resets() -> None:
    check_equal(lambda: SyncFIFOBuffered(width=8, depth=5), cycles=100, resets=["sync"])


@pytest.mark.parametrize("period", [0.7e-6, 2e-6])
def test_queue_between_two_clocks(period: float) -> None:
    """Gray counters in two domains, and a reset that crosses as an asynchronous one."""
    clocks = {"read": 1e-6, "write": period}
    check_equal(lambda: AsyncFIFO(width=4, depth=8), cycles=80, clocks=clocks, resets=["write"])


def test_clocks_that_run_alone() -> None:
    """A queue between two clocks, of which Python sees every seventh cycle."""
    clocks = {"read": 1e-6, "write": 0.3e-6}
    check_equal(lambda: AsyncFIFO(width=4, depth=8), cycles=40, clocks=clocks, stride=7)


@pytest.mark.long
@pytest.mark.parametrize("seed", [1, *(long(seed) for seed in range(2, 100))])
def test_random_logic(seed: int) -> None:
    check_equal(lambda: RandomLogic(seed=seed, resets=seed % 2 == 1), cycles=15, seed=seed)


@pytest.mark.parametrize("seed", [3, 5, *(long(seed) for seed in range(6, 100))])
def test_random_memory(seed: int) -> None:
    check_equal(lambda: RandomMemory(seed=seed), cycles=40, seed=seed)


class Counter(wiring.Component):
    """Counts while it is enabled."""

    enable: In(1)
    count: Out(40)
    odd: Out(1)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        with m.If(self.enable):
            m.d.sync += self.count.eq(self.count + 1)
        m.d.comb += self.odd.eq(self.count[0])
        return m


def test_long_waits_need_no_python() -> None:
    dut = Counter()
    seen = []

    async def bench(ctx: Any) -> None:
        ctx.set(dut.enable, 1)
        seen.append(await ctx.tick().sample(dut.count, dut.odd).repeat(1_000_000))
        seen.append((ctx.get(dut.count), ctx.get(dut.odd)))

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    assert seen == [(999_999, 1), (1_000_000, 0)]
    assert simulator._engine._delta_cycles < 100


def test_time_passes_alike() -> None:
    """Phases, periods that are no multiples of each other, delays, and a run that is divided."""

    def scenario(kind: Callable[..., Any]) -> Any:
        m = Module()
        counts = {name: Signal(16, name=name) for name in ("a", "b")}
        m.domains += ClockDomain("a"), ClockDomain("b", clk_edge="neg", reset_less=True)
        for name, count in counts.items():
            m.d[name] += count.eq(count + 1)
        total = Signal(17)
        m.d.comb += total.eq(counts["a"] + counts["b"])
        simulator = kind(m)
        seen: list[Any] = []

        async def bench(ctx: Any) -> None:
            for interval in (0.1e-6, 3.7e-6, 0, 111e-6):
                await ctx.delay(interval)
                seen.append([ctx.get(each) for each in (*counts.values(), total)])
            seen.append(await ctx.tick("b").sample(total).repeat(7))
            seen.append(ctx.get(total))
            await ctx.delay(1e-3)

        simulator.add_clock(1e-6, phase=0.3e-6, domain="a")
        simulator.add_clock(0.7e-6, domain="b")
        simulator.add_testbench(bench)
        for deadline in (5e-6, 60e-6, 123.4e-6, 200e-6):
            simulator.run_until(deadline)
            seen.append(simulator._engine.now)
        simulator.run()
        seen.append(simulator._engine.now)
        simulator.reset()
        simulator.run_until(4e-6)
        return seen

    assert len(same(scenario)) == 14


def test_waits_in_a_domain_without_registers() -> None:
    def scenario(kind: Callable[..., Any]) -> Any:
        m = Module()
        m.domains += ClockDomain("sync"), ClockDomain("empty")
        m.d.sync += Signal(8).eq(1)
        seen = []

        async def bench(ctx: Any) -> None:
            for count in (1, 2, 5):
                await ctx.tick("empty").repeat(count)
                seen.append(ctx._engine.now)

        return played(kind(m), seen, bench, clocks={"sync": 1e-6, "empty": 0.7e-6})

    assert len(same(scenario)) == 3


def test_repeat_is_ended_by_a_reset() -> None:
    def scenario(kind: Callable[..., Any]) -> Any:
        m, domain, count = counting()
        seen: list[Any] = []

        async def waits(ctx: Any) -> None:
            try:
                await ctx.tick().repeat(1000)
            except amaranth.sim.DomainReset:
                seen.append((ctx.get(count), ctx._engine.now))

        async def resets(ctx: Any) -> None:
            await ctx.tick().repeat(10)
            ctx.set(domain.rst, 1)

        return played(kind(m), seen, waits, resets)

    assert same(scenario)


def test_repeat_is_ended_by_a_reset_that_comes_with_the_edge() -> None:
    """Of several domains, as clocks and resets change in any order."""

    def scenario(kind: Callable[..., Any]) -> Any:
        m = Module()
        domains = [ClockDomain(f"d{number}") for number in range(8)]
        m.domains += domains
        seen: list[Any] = []

        async def resets(ctx: Any) -> None:
            await ctx.delay(4.5e-6)
            ctx.set(Cat(domain.rst for domain in domains), 0xFF)

        def waits(domain: ClockDomain) -> Any:
            async def bench(ctx: Any) -> None:
                with pytest.raises(amaranth.sim.DomainReset):
                    await ctx.tick(domain).repeat(20)
                seen.append(ctx._engine.now)

            return bench

        clocks = {domain.name: 1e-6 for domain in domains}
        return played(kind(m), seen, *map(waits, domains), clocks=clocks, processes=[resets])

    assert same(scenario) == [4_500_000_000] * 8


def test_repeat_misses_ticks_as_amaranths_does() -> None:
    """A testbench makes several ticks at once, in which the other can't take part."""

    def scenario(kind: Callable[..., Any]) -> Any:
        m, domain, count = counting()
        seen: list[Any] = []

        async def makes(ctx: Any) -> None:
            for ticks in (1, 1, 2, 1, 1, 1):
                for _ in range(ticks):
                    ctx.set(domain.clk, 1)
                    ctx.set(domain.clk, 0)
                await ctx.delay(1e-6)

        async def waits(ctx: Any) -> None:
            for _ in range(2):
                try:
                    seen.append(await ctx.tick().sample(count).repeat(3))
                except amaranth.sim.BrokenTrigger:
                    seen.append("broken")

        return played(kind(m), seen, waits, makes, clocks={})

    assert same(scenario) == ["broken", (6,)]


def test_a_clock_that_a_register_drives_as_well() -> None:
    """Nobody should; but both do what they do."""

    def scenario(kind: Callable[..., Any]) -> Any:
        m = Module()
        m.domains.other = other = ClockDomain()
        count = Signal(8)
        m.d.sync += other.clk.eq(~other.clk)
        m.d.other += count.eq(count + 1)
        seen = []

        async def bench(ctx: Any) -> None:
            for _ in range(10):
                await ctx.delay(0.73e-6)
                seen.append((ctx.get(count), ctx.get(other.clk)))

        return played(kind(m), seen, bench, clocks={"sync": 1e-6, "other": 1.3e-6})

    assert len(same(scenario)) == 10


def test_processes_in_the_place_of_logic() -> None:
    """One combinational, one clocked, between logic before and after them."""

    def scenario(kind: Callable[..., Any]) -> Any:
        m = Module()
        a, b, c, d, e = (Signal(signed(9), name=name) for name in "abcde")
        m.d.sync += a.eq(a + 3)
        m.d.comb += c.eq(b ^ 0x55)
        m.d.sync += e.eq(d - 1)
        seen: list[Any] = []

        async def doubles(ctx: Any) -> None:
            async for (value,) in ctx.changed(a):
                ctx.set(b, (value * 2) % 200)

        async def delays(ctx: Any) -> None:
            async for _, reset, value in ctx.tick().sample(c):
                ctx.set(d, 0 if reset else value)

        async def watches(ctx: Any) -> None:
            while True:
                seen.append(await ctx.changed(c))
                seen.append(await ctx.posedge(c[1]).sample(e))

        async def bench(ctx: Any) -> None:
            for _ in range(20):
                seen.append([ctx.get(each) for each in (a, b, c, d, e)])
                await ctx.tick()
            seen.append(await ctx.tick().until(c[2]))
            with pytest.raises(DriverConflict, match="Combinationally driven"):
                ctx.set(c, 1)
            ctx.set(e, -5)
            seen.append(ctx.get(Cat(e, c)))

        return played(kind(m), seen, bench, processes=[doubles, delays], background=[watches])

    assert len(same(scenario)) > 30


def test_bits_that_the_design_leaves_to_others() -> None:
    """Beside bits of a register: a process sets some, a testbench others, and no reset does."""

    def scenario(kind: Callable[..., Any]) -> Any:
        m = Module()
        m.domains.sync = domain = ClockDomain()
        bits = Signal(12, init=0x210)
        m.d.sync += bits[:4].eq(bits[:4] + 1)
        seen = []

        async def process(ctx: Any) -> None:
            async for _, _, value in ctx.tick().sample(bits):
                ctx.set(bits[4:8], value + 3)

        async def bench(ctx: Any) -> None:
            for cycle in range(12):
                ctx.set(bits[8:], cycle)
                ctx.set(domain.rst, cycle % 5 == 3)
                await ctx.tick()
                seen.append(ctx.get(bits))

        return played(kind(m), seen, bench, processes=[process])

    assert same(scenario)[3] & 0xF0F == 0x300


def test_reading_a_signal_takes_no_walk_over_the_design(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of which a waveform of all signals would take one for each."""
    m = Module()
    given, made = Signal(8), Signal(8)
    m.d.comb += made.eq(given + 1)
    simulator, seen = Simulator(m), []

    async def bench(ctx: Any) -> None:
        seen.append(ctx.get(made))

    simulator.add_testbench(bench)
    monkeypatch.delattr(nir.Operator, "output_nets")
    monkeypatch.setattr(nir.Cell, "output_nets", None, raising=False)
    simulator.run()
    assert seen == [1]


def test_parts_of_a_register_that_no_index_chooses() -> None:
    """They belong to it: a reset changes them."""

    def scenario(kind: Callable[..., Any]) -> Any:
        m = Module()
        m.domains.sync = domain = ClockDomain()
        word, index = Signal(data.ArrayLayout(4, 4), init=[1, 2, 3, 4]), Signal()
        beside = Signal(16, init=0x4321)
        m.d.sync += word[index].eq(word[index] + 1)
        m.d.sync += beside[4:12].word_select(index, 3).eq(7)
        seen: list[Any] = []

        async def bench(ctx: Any) -> None:
            for reset in (0, 1, 0):
                ctx.set(Cat(word), 0xAAAA)
                ctx.set(beside, 0xBBBB)
                ctx.set(domain.rst, reset)
                await ctx.tick()
                seen.append((ctx.get(Cat(word)), ctx.get(beside)))

        return played(kind(m), seen, bench)

    assert same(scenario) == [(0xAAAB, 0xBBFB), (0x4321, 0xB32B), (0xAAAB, 0xBBFB)]


class Colour(enum.Enum, shape=2):
    """A shape of values with names."""

    RED = 0
    GREEN = 1
    BLUE = 3


class Pixel(data.Struct):
    """A shape of several parts."""

    colour: Colour
    depth: signed(5)


def test_shapes_and_memories() -> None:
    def scenario(kind: Callable[..., Any]) -> Any:
        m = Module()
        pixel = Signal(Pixel)
        m.submodules.large = large = Memory(shape=Pixel, depth=20, init=[])
        m.submodules.small = small = Memory(shape=signed(40), depth=3, init=[-1, 2])
        write, read = large.write_port(), small.read_port(domain="comb")
        kept = Signal(signed(40))
        m.d.comb += [write.en.eq(1), write.addr.eq(pixel.depth), write.data.eq(pixel)]
        m.d.comb += read.addr.eq(pixel.colour)
        m.d.sync += kept.eq(read.data)
        seen: list[Any] = []

        async def bench(ctx: Any) -> None:
            for depth in (3, -4, 7):
                ctx.set(pixel, {"colour": Colour.GREEN, "depth": depth})
                await ctx.tick()
                seen.append((ctx.get(pixel.colour), ctx.get(pixel.depth), ctx.get(kept)))
                seen.append([str(ctx.get(large.data[row])) for row in range(20)])
            ctx.set(small.data[1], -7)
            ctx.set(large.data[2], {"colour": Colour.BLUE, "depth": -1})
            ctx.set(large.data[3].depth, 9)
            seen.append([ctx.get(small.data[row]) for row in range(3)])
            seen.append([str(ctx.get(large.data[row])) for row in (2, 3)])
            await ctx.tick()
            seen.append(ctx.get(kept))

        played(simulator := kind(m), seen, bench)
        simulator.reset()
        simulator.run()
        return seen

    assert same(scenario)


@pytest.mark.parametrize("depth", [4, 40])
def test_a_row_that_a_process_and_a_port_write(depth: int) -> None:
    """At the same edge, each other bits."""

    def scenario(kind: Callable[..., Any]) -> Any:
        m = Module()
        m.submodules.memory = memory = Memory(shape=8, depth=depth, init=[])
        port = memory.write_port(granularity=4)
        m.d.comb += [port.en.eq(2), port.addr.eq(3), port.data.eq(0xAB)]
        seen = []

        async def writes(ctx: Any) -> None:
            async for _ in ctx.tick():
                ctx.set(memory.data[3][:2], 1)
                ctx.set(memory.data[3][2:4], 1)

        async def bench(ctx: Any) -> None:
            await ctx.tick()
            seen.append(ctx.get(memory.data[3]))

        return played(kind(m), seen, bench, processes=[writes])

    assert same(scenario) == [0xA5]


def test_read_ports_with_an_asynchronous_reset() -> None:
    def scenario(kind: Callable[..., Any]) -> Any:
        m = Module()
        m.domains.sync = domain = ClockDomain(async_reset=True)
        m.submodules.memory = memory = Memory(shape=8, depth=4, init=[5, 6])
        port = memory.read_port()
        m.d.comb += port.addr.eq(1)
        seen = []

        async def bench(ctx: Any) -> None:
            for enable, reset in ((1, 0), (0, 0), (0, 1), (1, 1), (0, 1), (0, 0)):
                ctx.set(port.en, enable)
                ctx.set(domain.rst, reset)
                seen.append(ctx.get(port.data))
                await ctx.tick()
                seen.append(ctx.get(port.data))

        return played(kind(m), seen, bench)

    assert same(scenario) == [0, 6, 6, 6, 0, 0, 0, 6, 6, 0, 0, 0]


@pytest.mark.parametrize("writers", [("sync", "other"), ("sync",)])
def test_a_memory_of_no_rows(writers: Sequence[str]) -> None:
    """If two clocks write it, it has no registers to be in."""

    def scenario(kind: Callable[..., Any]) -> Any:
        m = Module()
        m.domains += ClockDomain("sync"), ClockDomain("other")
        m.submodules.memory = memory = Memory(shape=8, depth=0, init=[])
        ports = [memory.write_port(domain=domain) for domain in writers]
        m.d.comb += [port.en.eq(1) for port in ports]
        read = memory.read_port(transparent_for=ports[:1])
        seen = []

        async def bench(ctx: Any) -> None:
            ctx.set(ports[0].data, 7)
            await ctx.tick()
            seen.append(ctx.get(read.data))

        simulator = kind(m)
        simulator.add_clock(1e-6)
        simulator.add_testbench(bench)
        with simulator.write_vcd(StringIO()):
            simulator.run()
        return seen

    assert len(same(scenario)) == 1


def test_clocks_and_resets_that_logic_makes() -> None:
    """A clock divided by two, one that is gated, and an asynchronous reset from a register."""

    def scenario(kind: Callable[..., Any]) -> Any:
        m = Module()
        m.domains += (
            (slow := ClockDomain("slow")),
            (gated := ClockDomain("gated", async_reset=True)),
        )
        half, reset, tick = Signal(), Signal(), Signal(8)
        counts = [Signal(8, name=f"count_{number}") for number in range(2)]
        m.d.sync += [half.eq(~half), tick.eq(tick + 1), reset.eq(tick == 28)]
        m.d.comb += [slow.clk.eq(half), gated.clk.eq(ClockSignal() & tick[1])]
        m.d.comb += gated.rst.eq(reset)
        m.d.slow += counts[0].eq(counts[0] + 1)
        m.d.gated += counts[1].eq(counts[1] + 1)
        seen: list[Any] = []

        async def bench(ctx: Any) -> None:
            for _ in range(60):
                seen.append([ctx.get(each) for each in (half, tick, *counts)])
                await ctx.tick()

        return played(kind(m), seen, bench)

    seen = same(scenario)
    assert seen[-1][2] > 20
    assert {0, 5} < {each[3] for each in seen[28:]}


def test_assertions_and_prints(capsys: pytest.CaptureFixture[str]) -> None:
    def scenario(kind: Callable[..., Any]) -> Any:
        m = Module()
        count, text = Signal(signed(8)), Signal(16, init=0x6948)
        m.d.sync += count.eq(count + 1)
        with m.If(count[:5] == 3):
            m.d.sync += Print(Format("{:+03d} {:s} {:#x}", count, text, count), end="!\\n")
        m.d.sync += Cover(count == 7, Format("at {}", count))
        m.d.sync += Assert(count != 50, Format("it is {}", count))

        async def bench(ctx: Any) -> None:
            await ctx.delay(1)

        simulator = kind(m)
        simulator.add_clock(1e-6)
        simulator.add_testbench(bench)
        with pytest.raises(AssertionError, match=r"^Assertion violated: it is 50$"):
            simulator.run()
        return capsys.readouterr().out, simulator._engine.now

    assert same(scenario)[0].count("!") == 2


def test_assertion_without_a_clock() -> None:
    def scenario(kind: Callable[..., Any]) -> Any:
        m = Module()
        count = Signal(8)
        m.d.sync += count.eq(count + 1)
        m.d.comb += Assert(count < 200)
        simulator = kind(m)
        simulator.add_clock(1e-6)
        with pytest.raises(AssertionError, match=r"^Assertion violated$"):
            simulator.run_until(1)
        return simulator._engine.now

    same(scenario)


def test_assertion_that_a_testbench_expects() -> None:
    """It is raised once each time it begins to fail."""

    def scenario(kind: Callable[..., Any]) -> Any:
        m = Module()
        count, limit = Signal(8), Signal(8)
        m.d.sync += count.eq(count + 1)
        m.d.comb += Assert(limit != 5)
        seen: list[Any] = []

        async def bench(ctx: Any) -> None:
            for value in (5, 6, 5):
                try:
                    ctx.set(limit, value)
                except AssertionError as error:
                    seen.append(str(error))
                await ctx.tick().repeat(2)
                seen.append(ctx.get(count))

        return played(kind(m), seen, bench)

    assert same(scenario) == ["Assertion violated", 2, 4, "Assertion violated", 6]


def test_a_domain_of_reports_only(capsys: pytest.CaptureFixture[str]) -> None:
    """A print at falling edges, and an assertion on inputs, in domains without registers."""

    def scenario(kind: Callable[..., Any]) -> Any:
        m = Module()
        m.domains += ClockDomain("falling", clk_edge="neg"), ClockDomain("checked")
        count, limit = Signal(8), Signal(8, init=200)
        m.d.sync += count.eq(count + 1)
        m.d.falling += Print("fell at", count)
        m.d.checked += Assert(limit > 5, Format("limit {}", limit))

        async def bench(ctx: Any) -> None:
            for cycle in range(8):
                if cycle == 4:
                    ctx.set(limit, 5)
                await ctx.tick()

        simulator = kind(m)
        for domain in ("sync", "falling", "checked"):
            simulator.add_clock(1e-6, domain=domain)
        simulator.add_testbench(bench)
        with pytest.raises(AssertionError, match=r"^Assertion violated: limit 5$"):
            simulator.run()
        return capsys.readouterr().out

    assert same(scenario) == "".join(f"fell at {number}\n" for number in (1, 2, 3, 4))


def test_coverage_without_a_clock_is_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    def scenario(kind: Callable[..., Any]) -> Any:
        m = Module()
        count = Signal(4)
        m.d.sync += count.eq(count + 1)
        m.d.comb += Cover(count[1:] == 3, Format("at {}", count[0]))
        simulator = kind(m)
        simulator.add_clock(1e-6)
        simulator.run_until(40e-6)
        return [line.split()[-1] for line in capsys.readouterr().out.splitlines()]

    assert same(scenario) == ["0", "1"] * 3


def test_triggers_sample_logic_of_before_the_change() -> None:
    """Logic follows what it is made of one delta cycle later, also for who waits only then."""

    def scenario(kind: Callable[..., Any]) -> Any:
        m = Module()
        count, double, named, given = (Signal(8, name=name) for name in "cdng")
        m.d.sync += count.eq(count + 1)
        m.d.comb += [double.eq(count * 2 + given), named.eq(count)]
        m.submodules.memory = memory = Memory(shape=8, depth=4, init=[5, 6, 7, 8])
        seen: list[Any] = []

        async def one_by_one(ctx: Any) -> None:
            for _ in range(4):
                seen.append(await ctx.posedge(count[1]).sample(double, named))
                seen.append(await ctx.changed(double).sample(count, named))
                seen.append(await ctx.negedge(count[0]).sample(double, memory.data[1]))

        async def each(ctx: Any) -> None:
            async for values in ctx.changed(count, given).sample(double):
                seen.append(values)

        async def bench(ctx: Any) -> None:
            for value in range(20):
                await ctx.tick()
                ctx.set(given, value // 3 * 7)
                seen.append(ctx.get(double))

        return played(kind(m), seen, bench, background=[one_by_one, each])

    seen = same(scenario)
    assert (True, 2, 1) in seen  # the count is 2, what logic makes of it not yet


def test_processes_see_logic_take_its_first_values() -> None:
    def scenario(kind: Callable[..., Any]) -> Any:
        m = Module()
        given, made = Signal(8, init=5), Signal(8, init=9)
        m.d.comb += made.eq(given + 1)
        seen: list[Any] = []

        async def once(ctx: Any) -> None:
            seen.append(await ctx.changed(made))

        async def bench(ctx: Any) -> None:
            seen.append(ctx.get(made))

        played(simulator := kind(m), seen, bench, clocks={}, processes=[once])
        simulator.reset()
        simulator.run()
        return seen

    assert same(scenario) == [(6,), 6] * 2


@pytest.mark.parametrize("made", ["register", "its_opposite", "clocks_opposite", "another_name"])
def test_ticks_of_clocks_that_logic_makes(made: str) -> None:
    """They sample registers of their domain before these change."""

    def scenario(kind: Callable[..., Any]) -> Any:
        m = Module()
        m.domains.slow = slow = ClockDomain("slow")
        half, count, later = Signal(), Signal(8), Signal(8)
        m.d.sync += half.eq(~half)
        m.d.slow += count.eq(count + 1)
        m.d.sync += later.eq(count)
        match made:
            case "register":
                m.d.sync += slow.clk.eq(~slow.clk)
            case "its_opposite":
                m.d.comb += slow.clk.eq(~half)
            case "clocks_opposite":
                m.d.comb += slow.clk.eq(~ClockSignal())
            case "another_name":
                m.d.comb += slow.clk.eq(half)
        seen: list[Any] = []

        async def ticks(ctx: Any) -> None:
            async for values in ctx.tick("slow").sample(count, later, half):
                seen.append(values)

        async def bench(ctx: Any) -> None:
            for _ in range(12):
                await ctx.tick()
                seen.append([ctx.get(each) for each in (count, later, half)])

        return played(kind(m), seen, bench, processes=[ticks])

    seen = same(scenario)
    counts = [each[2] for each in seen if isinstance(each, tuple)]
    assert counts == list(range(len(counts)))


def test_what_is_as_in_hardware() -> None:
    """Where Amaranth's simulator and its Verilog differ, as the page says."""
    m = Module()
    m.domains += (
        (reset := ClockDomain("reset", async_reset=True)),
        (again := ClockDomain("again")),
    )
    a, ahead, kept, count, follows = (
        Signal(4, reset_less=name == "kept", name=name)
        for name in ("a", "ahead", "kept", "count", "follows")
    )
    parts, at = Signal(12), Signal(2, init=2)
    negative = a.as_signed().as_unsigned()
    m.d.comb += parts.eq(Cat((~a).bit_select(at, 4), negative.bit_select(at, 4), a))
    m.d.reset += [kept.eq(kept + 1), ahead.eq(ahead + 1)]
    m.d.comb += again.clk.eq(ClockSignal())
    m.d.sync += count.eq(count + 1)
    m.d.again += follows.eq(count)
    m.domains.driven = driven = ClockDomain("driven")
    given, made, taken = (Signal(4, name=name) for name in ("given", "made", "taken"))
    m.d.comb += made.eq(given + 1)
    m.d.driven += taken.eq(made)
    simulator, seen = Simulator(m), []

    async def bench(ctx: Any) -> None:
        ctx.set(Cat(driven.clk, given), 1 | 5 << 1)
        assert ctx.get(taken) == 6  # what logic makes of an input that comes with the edge
        ctx.set(a, 0b1000)
        assert ctx.get(parts) == 0b1000_0010_0001  # zeros beyond the end of a value
        for _ in range(3):
            await ctx.tick("reset")
        ctx.set(reset.rst, 1)
        seen.append((ctx.get(ahead), ctx.get(kept)))
        await ctx.tick()
        seen.append((ctx.get(count), ctx.get(follows)))

    simulator.add_clock(1e-6)
    simulator.add_clock(1e-6, domain="reset")
    simulator.add_testbench(bench)
    simulator.run()
    assert seen == [(0, 3), (4, 3)]


def waves(text: str) -> dict[tuple[str, int], str]:
    """The last value of each variable at each time at which it changes."""
    names, scope, time = {}, [], 0
    found: dict[tuple[str, int], str] = {}
    last: dict[str, str] = {}
    for line in text.splitlines():
        words = line.split()
        match words:
            case ["$scope", _, name, "$end"]:
                scope.append(name)
            case ["$upscope", "$end"]:
                scope.pop()
            case ["$var", _, _, key, *name, "$end"]:
                names[key] = ".".join([*scope, *name])
            case [word] if word.startswith("#"):
                time = int(word[1:])
            case [word] if word[0] in "01":
                found[word[1:], time] = word[0]
            case [value, key] if value[0] in "bs":
                found[key, time] = value
    changes = {}
    for (key, time), value in found.items():
        if last.get(key) != value:
            last[key] = changes[names[key], time] = value
    return changes


def test_waveforms_are_the_same() -> None:
    """Of signals, parts of them, values with names, rows of memories, also of what is sampled."""

    def scenario(kind: Callable[..., Any]) -> Any:
        m = Module()
        pixel, colour, note = Signal(Pixel), Signal(Colour), Signal(3)
        m.submodules.memory = memory = Memory(shape=Pixel, depth=8, init=[])
        m.submodules.crossing = FFSynchronizer(note[0], Signal(name="o"), stages=3)
        write = memory.write_port()
        m.d.comb += [write.en.eq(1), write.addr.eq(pixel.depth), write.data.eq(pixel)]
        m.d.sync += pixel.depth.eq(pixel.depth + 3)
        m.d.comb += colour.eq(pixel.depth[1:3])

        async def bench(ctx: Any) -> None:
            for value in range(12):
                ctx.set(note, value % 5)
                await ctx.tick()

        async def samples(ctx: Any) -> None:
            while True:
                await ctx.changed(note).sample(Cat(colour))

        simulator = kind(m)
        simulator.add_clock(1e-6)
        simulator.add_testbench(bench)
        simulator.add_testbench(samples, background=True)
        file, view = StringIO(), StringIO()
        file.name = "waves.vcd"
        texts = []
        file.close, view.close = lambda: texts.append(file.getvalue()), lambda: None
        with simulator.write_vcd(file, view, traces=[pixel, note, memory.data]):
            simulator.run()
        return waves(file.getvalue()), re.sub(r"size.*", "", view.getvalue())

    changes, _ = same(scenario)
    assert len(changes) > 100


def test_waveforms_of_what_changes_in_the_first_delta_cycle() -> None:
    """And back in the next one, of another name of an input."""

    def scenario(kind: Callable[..., Any]) -> Any:
        m = Module()
        given, named = Signal(4), Signal(4, name="named")
        m.d.comb += named.eq(given)

        async def process(ctx: Any) -> None:
            ctx.set(given, 7)

        async def bench(ctx: Any) -> None:
            for value in (0, 7, 3):
                ctx.set(given, value)
                await ctx.delay(1e-6)

        simulator, file = kind(m), StringIO()
        simulator.add_process(process)
        simulator.add_testbench(bench)
        with simulator.write_vcd(file):
            simulator.run()
        return waves(file.getvalue())

    changes = same(scenario).items()
    assert [value for (name, _), value in changes if "named" in name] == ["b0", "b111", "b11"]


def test_waveforms_in_a_file(tmp_path: Path) -> None:
    simulator = Simulator(Counter())
    simulator.add_clock(1e-6)
    with simulator.write_vcd(str(tmp_path / "a.vcd")):
        simulator.run_until(5e-6)
    assert "count" in (tmp_path / "a.vcd").read_text()


def test_waveforms_go_on_after_a_reset() -> None:
    dut = Counter()

    async def bench(ctx: Any) -> None:
        await ctx.tick()
        ctx.set(dut.enable, 1)
        await ctx.tick().repeat(2)

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    file = StringIO()
    with simulator.write_vcd(file):
        simulator.run()
        simulator.reset()
        simulator.run()
    found = waves(file.getvalue())
    count = [(time // 10**8, value) for (name, time), value in found.items() if "count" in name]
    enable = [(time // 10**8, value) for (name, time), value in found.items() if "enable" in name]
    assert count == [(0, "b0"), (15, "b1"), (25, "b10"), (30, "b0"), (45, "b1"), (55, "b10")]
    assert enable == [(0, "0"), (5, "1"), (30, "0"), (35, "1")]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_old_processes() -> None:
    def scenario(kind: Callable[..., Any]) -> Any:
        dut = Counter()
        seen: list[Any] = []

        def process() -> Any:
            yield dut.enable.eq(1)
            for _ in range(5):
                yield
                seen.append((yield dut.count))

        def bench() -> Any:
            for _ in range(5):
                yield amaranth.sim.Tick()
                seen.append((yield dut.odd))

        simulator = kind(dut)
        simulator.add_clock(1e-6)
        simulator.add_sync_process(process)
        simulator.add_testbench(bench)
        simulator.run()
        return seen

    assert len(same(scenario)) == 10


class Foreign(Elaboratable):
    """Has an instance of a module that is written elsewhere."""

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.pll = Instance("PLL", i_clk=ClockSignal(), o_out=Signal())
        return m


class Ring(Elaboratable):
    """Depends on itself."""

    def elaborate(self, platform: object) -> Module:
        m = Module()
        a, b = Signal(4), Signal(4)
        m.d.comb += [a.eq(b + 1), b.eq(a ^ 3)]
        return m


class Chatty(Elaboratable):
    """Prints whenever it is evaluated."""

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.comb += Print("now")
        return m


@pytest.mark.parametrize("parts", [0, 2])
def test_a_design_of_nothing_takes_time_too(parts: int) -> None:
    m = Module()
    m.submodules += [Module() for _ in range(parts)]
    simulation, seen = Simulator(m), []

    async def testbench(ctx: Any) -> None:
        await ctx.delay(1e-6)
        seen.append(True)

    simulation.add_testbench(testbench)
    simulation.run()
    assert seen == [True]


class Shift(Elaboratable):
    """A bit that is moved by `places`, and back by three places."""

    def __init__(self, width: int) -> None:
        self.places = Signal(width)
        self.result = Signal(32)

    def elaborate(self, platform: Any) -> Module:
        m = Module()
        m.d.comb += self.result.eq((1 << self.places) >> 3)
        return m


@pytest.mark.one_in(2)
@pytest.mark.parametrize("kind", KINDS)
def test_a_shift_may_be_wide(kind: Any) -> None:
    shift = Shift(16)  # 65,536 bits, each of which depends on all bits of `places`
    seen = {}

    async def testbench(ctx: Any) -> None:
        for places in (0, 3, 34, 35, 65_535):
            ctx.set(shift.places, places)
            seen[places] = ctx.get(shift.result)

    simulator = kind(shift)
    simulator.add_testbench(testbench)
    simulator.run()
    assert seen == {0: 0, 3: 1, 34: 1 << 31, 35: 0, 65_535: 0}


def test_a_shift_that_is_too_wide_is_refused_as_amaranth_does() -> None:
    messages = []
    for kind in KINDS:
        with pytest.raises(OverflowError) as refused:
            kind(Shift(17))
        messages.append(str(refused.value))
    assert messages[0] == messages[1]


@pytest.mark.parametrize(
    ("design", "message"),
    [
        (Foreign(), r"Instance 'PLL' at \S+test_simulator.py:\d+ has no meaning in a simulation"),
        (Ring(), r"Combinational cycle detected, path: \S+test_simulator.py:\d+: .*"),
        (Chatty(), r"Print without a clock at \S+test_simulator.py:\d+ can't be simulated here"),
        (5, "Design must be an Elaboratable, not int"),
    ],
)
def test_what_cannot_be_simulated_is_named(design: Any, message: str) -> None:
    with pytest.raises(MulticubeError, match=f"^{message}$"):
        Simulator(design)


def test_ticks_of_clocks_and_resets_with_other_names() -> None:
    """What is sampled is what was there at the edge, whatever the name of the clock."""

    def scenario(kind: Callable[..., Any]) -> Any:
        m = Module()
        m.domains += (
            (half := ClockDomain("half")),
            (held := ClockDomain("held", async_reset=True)),
        )
        toggle, wanted = Signal(), Signal()
        counts = [Signal(8, name=f"count_{number}", init=5) for number in range(3)]
        m.d.sync += [toggle.eq(~toggle), counts[0].eq(counts[0] + 1)]
        m.d.comb += [half.clk.eq(toggle), held.rst.eq(wanted)]
        m.d.half += counts[1].eq(counts[1] + counts[0])
        m.d.held += counts[2].eq(counts[2] + 1)
        seen: list[Any] = []

        def watches(domain: str) -> Any:
            async def watch(ctx: Any) -> None:
                async for sampled in ctx.tick(domain).sample(*counts):
                    seen.append((domain, sampled))

            return watch

        async def bench(ctx: Any) -> None:
            for number in range(20):
                ctx.set(wanted, number % 7 == 4)
                await ctx.delay(0.7e-6)
                seen.append([ctx.get(each) for each in counts])

        simulator = kind(m)
        simulator.add_clock(1e-6)
        simulator.add_clock(1.3e-6, domain="held")
        for domain in ("half", "held"):
            simulator.add_testbench(watches(domain), background=True)
        simulator.add_testbench(bench)
        simulator.run()
        return seen

    assert len(same(scenario)) > 30


def test_another_name_of_a_clock_is_that_clock() -> None:
    m = Module()
    m.domains.other = ClockDomain()
    m.d.comb += ClockSignal("other").eq(ClockSignal())
    count, follows = Signal(8), Signal(8)
    m.d.sync += count.eq(count + 1)
    m.d.other += follows.eq(count)
    seen = []

    async def bench(ctx: Any) -> None:
        for domain in ("sync", "other", "sync", "other"):
            seen.append((await ctx.tick(domain).sample(count, follows))[2:])
            seen.append((ctx.get(count), ctx.get(follows)))

    played(Simulator(m), seen, bench)
    assert seen[1:] == [(1, 0), (1, 0), (2, 1), (2, 1), (3, 2), (3, 2), (4, 3)]


def test_clocks_and_resets_that_never_change() -> None:
    """A reset that is always 1, and a write port whose clock stands still."""

    def scenario(kind: Callable[..., Any]) -> Any:
        m = Module()
        m.domains += (
            (still := ClockDomain("still")),
            (held := ClockDomain("held", async_reset=True)),
        )
        m.d.comb += [still.clk.eq(0), held.rst.eq(1)]
        count, kept = Signal(5), Signal(8, init=7)
        m.d.sync += count.eq(count + 1)
        m.d.held += kept.eq(kept + 1)
        m.submodules.memory = memory = Memory(shape=8, depth=20, init=[])
        for number, domain in enumerate(("still", "sync", "held")):
            port = memory.write_port(domain=domain)
            m.d.comb += [port.en.eq(1), port.addr.eq(count + number), port.data.eq(number + 40)]
        seen = []

        async def bench(ctx: Any) -> None:
            for _ in range(12):
                await ctx.tick()
                seen.append([ctx.get(memory.data[row]) for row in range(20)] + [ctx.get(kept)])

        simulator = kind(m)
        simulator.add_clock(1e-6)
        simulator.add_clock(0.4e-6, phase=0.1e-6, domain="held")
        simulator.add_testbench(bench)
        simulator.run()
        return seen

    assert same(scenario)[-1][-1] == 7


def test_bits_beyond_the_end_are_as_documented() -> None:
    """Zeros of what is unsigned, and the sign of what is signed, whatever the expression."""
    m = Module()
    value, places = Signal(8, init=0x5A), Signal(4, init=4)
    results = [Signal(8, name=f"result_{number}") for number in range(3)]
    for result, part in zip(results, (~value, (~value).as_signed(), value - 0x5B)):
        m.d.comb += result.eq(part.bit_select(places, 8))
    seen = []

    async def bench(ctx: Any) -> None:
        seen.extend(ctx.get(result) for result in results)

    played(Simulator(m), seen, bench, clocks={})
    assert seen == [0x0A, 0xFA, 0xFF]
