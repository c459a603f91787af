"""The compiled engine: fabrics compiled to C, run on all processor cores."""

import os
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import cached_property

import psutil
from vcd import VCDWriter
from vcd.writer import Variable

from ....hdl.fabric.checks import check_integer, check_kind
from ....hdl.fabric.digest import digest
from ....hdl.fabric.errors import InvalidType, InvalidValue
from ....hdl.fabric.fabric import Fabric
from ....hdl.fabric.pins import Pin
from ....hdl.support.output_file import whole_file
from .activity_meter import ActivityMeter
from .compiled_errors import NotEnoughMemory
from .machine import Machine
from .program import lowered_types
from .state import Owner, State
from .threads import MOST_THREADS, ThreadChoice, available_cores

__all__ = ["CompiledEngine"]

_ROUND_SECONDS = 0.2
"""How long the compiled code runs between checks for Ctrl-C."""

_TRIAL_SECONDS = 0.05
"""How long another number of threads is tried."""

_ENOUGH_CELLS = 128
"""Cells of the most frequent type from which a run fills enough vectors by itself."""


class CompiledEngine:
    """Runs fabrics as compiled C, thousands of times faster than Amaranth's simulator.

    Implements `StateEngine`, `ResetEngine`, `SavingEngine` and `ActivityEngine`. Several fabrics
    are run in parallel; they may differ only in straps and in contents of memories. Runs of small
    networks share vectors; runs of larger ones are distributed over the processor's cores.

    Parameters
    ----------
    fabrics : Fabric or Sequence[Fabric]
    threads : int, optional
        Cores to use. Runs are distributed over them; if there are more cores than runs (or groups
        of small runs that share vectors), the cells of each run are divided among several. By
        default several runs use all cores, and a single run as many as make it faster.

    Attributes
    ----------
    bytes : int
        Memory used by the runs.

    Raises
    ------
    NoCompiler, CompilerFailed
        If there is no C compiler, or it fails.
    UnsupportedConstruct
        If a component has a construct that can't be compiled.
    CombinationalLoop
        If a signal depends on itself within a cycle.
    NotEnoughMemory
        If the machine has less memory than the runs need.
    ValueError
        If the fabrics of several runs differ in more than straps and contents, or cells have
        several clocks.
    """

    name = "compiled"

    def __init__(self, fabrics: Fabric | Sequence[Fabric], *, threads: int | None = None) -> None:
        fabrics = [fabrics] if isinstance(fabrics, Fabric) else list(fabrics)
        if not fabrics:
            raise InvalidValue("Fabrics must be given, at least one")
        for each in fabrics:
            check_kind("Fabric", each, Fabric, "a Fabric")
        if threads is not None:
            threads = check_integer("Threads", threads, 1, MOST_THREADS)
        self.fabric = fabric = fabrics[0]
        self.runs = len(fabrics)
        self.cycle = 0
        fabric.check()
        fabric.check_one_clock("The compiled engine")
        for run, other in enumerate(fabrics):
            if not _same_structure(fabric, other):
                raise InvalidValue(f"Run {run} must have the same cells and links as run 0")
        modules, plan = lowered_types(fabric)
        share = -(-_ENOUGH_CELLS // max(map(len, fabric.types().values()), default=1))
        self._machines = [
            Machine(fabrics[at : at + share], modules, plan, planes=True)
            for at in range(0, self.runs, share)
        ]
        self._share = share
        self.bytes = sum(machine.bytes for machine in self._machines)
        available = psutil.virtual_memory().available
        if self.bytes > available:
            raise NotEnoughMemory(
                f"The run needs {self.bytes / 1e9:.2f} GB of memory; "
                f"{available / 1e9:.2f} GB are free"
            )
        for machine in self._machines:
            machine.load()
        # The code runs in separate threads, where Ctrl-C can't leave a machine inconsistent.
        side_by_side = min(threads or available_cores(), len(self._machines))
        self._pool = ThreadPoolExecutor(side_by_side)
        self._threads = (threads or 1) // side_by_side or 1
        alone = threads is None and len(self._machines) == 1
        self._choice = ThreadChoice(available_cores() if alone else 1)
        self._rate = 1000.0

    def step(self, cycles: int) -> None:
        """Advance all runs by a number of cycles.

        Raises
        ------
        AssertionViolated
            If an assertion of a component fails.
        """
        cycles = check_integer("Cycles", cycles, 0)
        while cycles:
            chosen, trial = self._choice.next()
            seconds = _TRIAL_SECONDS if trial else _ROUND_SECONDS
            part = min(cycles, max(1, int(self._rate * seconds)))
            start = time.perf_counter()
            jobs = [
                self._pool.submit(machine.run, part, max(chosen, self._threads))
                for machine in self._machines
            ]
            try:
                wait(jobs)
            finally:
                wait(jobs)  # again, if it was interrupted: all machines complete the round
                self.cycle = min(machine.cycle for machine in self._machines)
            for job in jobs:
                job.result()
            elapsed = time.perf_counter() - start
            self._rate = part / max(elapsed, 1e-9)
            if elapsed > _TRIAL_SECONDS / 4:  # else it says nothing of the speed
                self._choice.timed(chosen, self._rate)
            cycles -= part

    def reset(self, cycles: int = 1) -> None:
        for _ in range(check_integer("Cycles", cycles, 1)):
            self.step(1)
            for machine in self._machines:
                machine.reset()

    def _at(self, run: int) -> tuple[Machine, int]:
        if run not in range(self.runs):
            raise InvalidValue(f"Run must be from 0 to {self.runs - 1}, not {run}")
        return self._machines[run // self._share], run % self._share

    def set(self, port: str, value: int, run: int | None = None) -> None:
        for number in range(self.runs) if run is None else [run]:
            machine, lane = self._at(number)
            self.fabric.check_pin(Pin(None, (port,)))
            machine.set(port, value, lane)

    def get(self, pin: Pin, run: int = 0) -> int:
        machine, lane = self._at(run)
        self.fabric.check_pin(pin)
        return machine.get(pin, lane)

    def read(self, cells: Sequence[str], port: str, run: int = 0) -> list[int]:
        machine, lane = self._at(run)
        try:
            return machine.read(cells, port, lane)
        except KeyError:
            # Checked only now: runs read the counters of thousands of cells, again and again.
            for cell in cells:
                self.fabric.check_pin(Pin(cell, (port,)))
            raise

    def memory(self, cell: str, name: str, run: int = 0) -> list[int]:
        machine, lane = self._at(run)
        self.fabric.check_cell(cell)
        return machine.memory(cell, name, lane)

    def memory_sum(self, cells: Sequence[str], name: str, run: int = 0) -> list[int]:
        machine, lane = self._at(run)
        try:
            return machine.memory_sum(cells, name, lane)
        except KeyError:
            for cell in cells:
                self.fabric.check_cell(cell)
            raise

    def signal(self, cell: str, name: str, run: int = 0) -> int:
        machine, lane = self._at(run)
        self.fabric.check_cell(cell)
        return machine.signal(cell, name, lane)

    def write_memory(
        self, cell: str, name: str, rows: Sequence[int], *, first: int = 0, run: int = 0
    ) -> None:
        machine, lane = self._at(run)
        self.fabric.check_cell(cell)
        machine.write_memory(cell, name, first, rows, lane)

    def write_register(self, cell: str, name: str, value: int, *, run: int = 0) -> None:
        machine, lane = self._at(run)
        self.fabric.check_cell(cell)
        machine.write_register(cell, name, value, lane)

    def signal_width(self, cell: str, name: str) -> int:
        machine, _ = self._at(0)
        self.fabric.check_cell(cell)
        return machine.signal_width(cell, name)

    def memory_width(self, cell: str, name: str) -> int:
        machine, _ = self._at(0)
        self.fabric.check_cell(cell)
        return machine.memory_width(cell, name)

    def save(self) -> State:
        return State(
            self._identity,
            tuple(machine.cycle for machine in self._machines),
            tuple(machine.save() for machine in self._machines),
        )

    def load(self, path: str | os.PathLike[str], run: str = "") -> State:
        forms = tuple(machine.forms() for machine in self._machines)
        return State.load(path, Owner(self._identity, run, forms))

    @cached_property
    def _identity(self) -> str:
        return digest([machine.identity() for machine in self._machines])

    def restore(self, state: State) -> None:
        if not isinstance(state, State):
            raise InvalidType(f"State must be a State, not {type(state).__name__}")
        if state.identity != self._identity:
            raise InvalidValue(
                "State does not belong to these fabrics: "
                "their number, cells, wires, straps or contents differ"
            )
        count = len(self._machines)
        if len(state.cycles) != count or len(state.arrays) != count:
            raise InvalidValue("State has another number of machines")
        for machine, cycle, arrays in zip(self._machines, state.cycles, state.arrays):
            cycle = check_integer("Cycle of the state", cycle, 0)
            machine.check(arrays)
        for machine, cycle, arrays in zip(self._machines, state.cycles, state.arrays):
            machine.restore(cycle, arrays)
        self.cycle = min(state.cycles)

    @contextmanager
    def vcd(
        self, path: str | os.PathLike[str], cells: Sequence[str], run: int = 0
    ) -> Iterator["VcdRecorder"]:
        """Record all signals of some cells: `with engine.vcd(...) as waves: waves.step(100)`."""
        with (
            whole_file(path) as file,
            open(file, "w", encoding="utf-8") as stream,
            VCDWriter(stream, timescale="1 us") as writer,
        ):
            yield VcdRecorder(self, writer, cells, run)

    @contextmanager
    def activity(
        self, pins: Sequence[Pin], cells: Sequence[str], run: int = 0
    ) -> Iterator[ActivityMeter]:
        """Count how often bits change: `with engine.activity(...) as meter: engine.step(100)`.

        Parameters
        ----------
        pins : Sequence[Pin]
            Outputs of cells, and inputs of the boundary.
        cells : Sequence[str]
            Cells whose registers and memories are observed too.
        run : int
        """
        machine, lane = self._at(run)
        for pin in pins:
            self.fabric.check_pin(pin)
        for cell in cells:
            self.fabric.check_cell(cell)
        meter = ActivityMeter(machine, pins, cells, lane)
        machine.observe(meter)
        try:
            yield meter
        finally:
            machine.observe(None)

    def close(self) -> None:
        self._pool.shutdown()

    def __enter__(self) -> "CompiledEngine":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def _same_structure(a: Fabric, b: Fabric) -> bool:
    """Whether two fabrics differ only in the values of straps and the contents of memories."""
    if a is b:
        return True
    return (
        (a.drivers is b.drivers or a.drivers == b.drivers)
        and a.cells.keys() == b.cells.keys()
        and all(
            cell.type == b.cells[name].type and cell.straps.keys() == b.cells[name].straps.keys()
            for name, cell in a.cells.items()
        )
    )


class VcdRecorder:
    """Steps an engine and writes the signals that change; a cycle is shown as a microsecond, and
    the clock, which would look still, is not."""

    def __init__(
        self, engine: CompiledEngine, writer: VCDWriter, cells: Sequence[str], run: int
    ) -> None:
        self._engine = engine
        self._writer = writer
        self._run = run
        machine, _ = engine._at(run)
        self._signals = [
            (cell, name, self._variable(cell, name, width))
            for cell in cells
            for name, width in machine.signal_names(cell).items()
            if width and name.rpartition(".")[2] != "clk"
        ]
        self._record()

    def _variable(self, cell: str, name: str, width: int) -> Variable:
        *inner, last = name.split(".")
        if last.startswith("$"):  # which starts a keyword in a VCD file
            last = f"unnamed{last}"
        return self._writer.register_var(".".join([cell, *inner]), last, "wire", size=width)

    def _record(self) -> None:
        for cell, name, variable in self._signals:
            value = self._engine.signal(cell, name, self._run)
            self._writer.change(variable, self._engine.cycle, value)

    def step(self, cycles: int) -> None:
        """Advance the engine, recording each cycle."""
        cycles = check_integer("Cycles", cycles, 0)
        for _ in range(cycles):
            self._engine.step(1)
            self._record()
