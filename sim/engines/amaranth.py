"""The reference engine: Amaranth's own simulator."""

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from functools import cached_property
from typing import Any, TypeVar

from amaranth.hdl import DriverConflict, Fragment, MemoryData, MemoryInstance, Shape, Value
from amaranth.sim import Simulator

from ...hdl.fabric.checks import check_integer
from ...hdl.fabric.errors import InvalidValue
from ...hdl.fabric.fabric import Fabric
from ...hdl.fabric.fabric_component import FabricComponent, member
from ...hdl.fabric.pins import Pin
from ...hdl.support.interruption import held_interrupts
from ...hdl.support.output_file import whole_file

__all__ = ["AmaranthEngine"]

CLOCK_PERIOD = 1e-6

_Kind = TypeVar("_Kind")
_Named = dict[tuple[str, str], _Kind]


class AmaranthEngine:
    """Runs one fabric in Amaranth's simulator, the reference.

    Implements `StateEngine`, `ResetEngine` and `WaveEngine` with one run.

    Parameters
    ----------
    fabric : Fabric

    Raises
    ------
    ValueError
        If cells have several clocks.
    """

    name = "amaranth"
    runs = 1

    def __init__(self, fabric: Fabric) -> None:
        self.cycle = 0
        fabric.check_one_clock("The engine amaranth")
        self._fabric = fabric
        self._top = FabricComponent(fabric)
        self._simulator = Simulator(_with_lasting_reads(Fragment.get(self._top, None)))
        self._simulator.add_clock(CLOCK_PERIOD, if_exists=True)
        self._stack = ExitStack()
        self._given: Any = None

    def record(self, path: str | os.PathLike[str]) -> None:
        with ExitStack() as stack:
            stream = stack.enter_context(
                open(stack.enter_context(whole_file(path)), "w", encoding="utf-8")
            )
            stack.enter_context(self._simulator.write_vcd(stream))
            self._stack = stack.pop_all()

    def _begin(self) -> None:
        """Begin the simulation, with its first use: the waves must have begun before."""
        if self._given is None:
            self._simulator.add_testbench(self._count)
            self._simulator.advance()

    @property
    def _context(self) -> Any:
        """Amaranth's access to signals."""
        self._begin()
        return self._given

    async def _count(self, context: Any) -> None:
        self._given = context
        # `advance` already starts the next event. It must not be the first clock edge, because
        # inputs that are set before the first cycle belong to that cycle.
        await context.delay(CLOCK_PERIOD / 10)
        while True:
            await context.tick()
            self.cycle += 1

    def step(self, cycles: int) -> None:
        check_integer("Cycles", cycles, 0)
        target = self.cycle + cycles
        self._begin()
        # In the middle of a step of time it would keep some registers of it and lose others.
        with held_interrupts() as interrupts:
            while self.cycle < target and not interrupts:
                self._simulator.advance()

    def reset(self, cycles: int = 1) -> None:
        check_integer("Cycles", cycles, 1)
        # Amaranth has no other way to the signal, which its simulator makes.
        domain = self._simulator._design.fragment.domains["sync"]
        self._context.set(domain.rst, 1)
        try:
            self.step(cycles)
        finally:
            self._context.set(domain.rst, 0)

    def set(self, port: str, value: int, run: int | None = None) -> None:
        self._fabric.check_pin(Pin(None, (port,)))
        self._context.set(Value.cast(getattr(self._top, port)), value)

    def get(self, pin: Pin, run: int = 0) -> int:
        self._fabric.check_pin(pin)
        cell = self._top if pin.cell is None else self._top.instances[pin.cell]
        return self._context.get(Value.cast(member(cell, pin.path)))

    def read(self, cells: Sequence[str], port: str, run: int = 0) -> list[int]:
        return [self.get(Pin(cell, (port,))) for cell in cells]

    def memory(self, cell: str, name: str, run: int = 0) -> list[int]:
        data = self._memory(cell, name)
        return [self._context.get(Value.cast(data[row])) for row in range(data.depth)]

    def memory_sum(self, cells: Sequence[str], name: str, run: int = 0) -> list[int]:
        return [sum(rows) for rows in zip(*(self.memory(cell, name, run) for cell in cells))]

    def signal(self, cell: str, name: str, run: int = 0) -> int:
        value: int = self._context.get(self._signal(cell, name))
        return value & (1 << self.signal_width(cell, name)) - 1

    def signal_width(self, cell: str, name: str) -> int:
        return len(self._signal(cell, name))

    def write_register(self, cell: str, name: str, value: int, *, run: int = 0) -> None:
        if value >> self.signal_width(cell, name):
            width = self.signal_width(cell, name)
            raise InvalidValue(f"Register {name} of {cell} must fit {width} bits, not {value}")
        for alias in self._aliases(cell, name):
            with suppress(DriverConflict):  # it only shows the register
                self._context.set(self._signal(cell, alias), value)
                return
        raise InvalidValue(f"Cell {cell} has no register {name!r}")

    def memory_width(self, cell: str, name: str) -> int:
        return Shape.cast(self._memory(cell, name).shape).width

    def write_memory(
        self, cell: str, name: str, rows: Sequence[int], *, first: int = 0, run: int = 0
    ) -> None:
        data, last = self._memory(cell, name), self._memory(cell, name).depth - 1
        if not 0 <= first <= first + len(rows) - 1 <= last:
            raise InvalidValue(f"Rows of {cell}.{name} must be from 0 to {last}, not {first}")
        if any(row >> self.memory_width(cell, name) for row in rows):
            width = self.memory_width(cell, name)
            raise InvalidValue(f"Rows of {cell}.{name} must fit {width} bits")
        for number, row in enumerate(rows, first):
            self._context.set(Value.cast(data[number]), row)

    def _signal(self, cell: str, name: str) -> Value:
        self._fabric.check_cell(cell)
        try:
            return self._names[0][cell, name]
        except KeyError:
            raise InvalidValue(f"Cell {cell} has no signal {name!r}") from None

    def _memory(self, cell: str, name: str) -> MemoryData:
        self._fabric.check_cell(cell)
        memories = self._names[1]
        if (cell, name) not in memories:
            known = ", ".join(own for inside, own in memories if inside == cell) or "none"
            raise InvalidValue(
                f"Memory of {self._fabric.cells[cell].type.name} must be one of {known}, "
                f"not {name!r}"
            )
        return memories[cell, name]

    def _aliases(self, cell: str, name: str) -> Iterator[str]:
        """All names of the register of this name."""
        from .compiled.netlist import lowered  # which the engine does without otherwise

        module = lowered(self._fabric.cells[cell].type)
        (words, _) = module.signals(name)
        if all(word.op == "register" for word in words):
            yield name
            yield from (other for other in module.signal_names if module.signals(other)[0] == words)

    @cached_property
    def _names(self) -> tuple[_Named[Value], _Named[MemoryData]]:
        """The signals and the memories inside cells, by cell and hierarchical name."""
        signals: _Named[Value] = {}
        memories: _Named[MemoryData] = {}
        # Amaranth has no other way from the names in the Verilog to the objects.
        for fragment, info in self._simulator._design.fragments.items():
            _, *path = info.name
            if not path:
                continue
            cell, *inner = path
            if isinstance(fragment, MemoryInstance):
                memories[cell, ".".join(inner)] = fragment._data
            for signal, name in info.signal_names.items():
                signals[cell, ".".join([*inner, name])] = signal
        return signals, memories

    def close(self) -> None:
        """Complete the VCD file, if there is one."""
        self._stack.close()

    def __enter__(self) -> "AmaranthEngine":
        return self

    def __exit__(self, *exception: Any) -> None:
        self._stack.__exit__(*exception)


def _with_lasting_reads(fragment: Fragment) -> Fragment:
    """The same, whose synchronous read ports do not hear the reset: so it is in the Verilog."""
    if isinstance(fragment, MemoryInstance):
        for port in fragment._read_ports:
            for signal in port._data._rhs_signals():
                signal._reset_less = True
    for inner, _, _ in fragment.subfragments:
        _with_lasting_reads(inner)
    return fragment
