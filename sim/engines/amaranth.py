"""The reference engine: Amaranth's own simulator."""

import os
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

from amaranth.hdl import Value
from amaranth.lib.memory import Memory
from amaranth.sim import Simulator

from ...hdl.core.checks import check_integer
from ...hdl.core.errors import InvalidValue
from ...hdl.core.fabric import Fabric, FabricComponent, Pin, member
from ...hdl.core.interruption import held_interrupts
from ...hdl.core.output_file import whole_file

__all__ = ["AmaranthEngine"]

CLOCK_PERIOD = 1e-6


class AmaranthEngine:
    """Runs one fabric in Amaranth's simulator, the reference.

    Implements `Engine` with one run.

    Parameters
    ----------
    fabric : Fabric
    vcd : path-like, optional
        File for all signals of the run. It appears once it is complete: at `close`, or at the end
        of the engine's `with` block. It does not appear if the block raises.
    """

    name = "amaranth"
    runs = 1

    def __init__(self, fabric: Fabric, *, vcd: str | os.PathLike[str] | None = None) -> None:
        self.cycle = 0
        self._fabric = fabric
        self._top = FabricComponent(fabric)
        self._simulator = Simulator(self._top)
        self._simulator.add_clock(CLOCK_PERIOD, if_exists=True)
        self._simulator.add_testbench(self._count)
        with ExitStack() as stack:
            if vcd is not None:
                file = stack.enter_context(whole_file(vcd))
                stream = stack.enter_context(open(file, "w"))
                stack.enter_context(self._simulator.write_vcd(stream))
            self._simulator.advance()
            self._stack = stack.pop_all()

    async def _count(self, context: Any) -> None:
        self._context = context
        # `advance` already starts the next event. It must not be the first clock edge, because
        # inputs that are set before the first cycle belong to that cycle.
        await context.delay(CLOCK_PERIOD / 10)
        while True:
            await context.tick()
            self.cycle += 1

    def step(self, cycles: int) -> None:
        check_integer("Cycles", cycles, 0)
        target = self.cycle + cycles
        # In the middle of a step of time it would keep some registers of it and lose others.
        with held_interrupts() as interrupts:
            while self.cycle < target and not interrupts:
                self._simulator.advance()

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
        self._fabric.check_cell(cell)
        memory = getattr(self._top.instances[cell], name, None)
        if not isinstance(memory, Memory):
            raise InvalidValue(f"Cell {cell} has no memory {name!r}")
        data = memory.data
        return [self._context.get(Value.cast(data[row])) for row in range(data.depth)]

    def memory_sum(self, cells: Sequence[str], name: str, run: int = 0) -> list[int]:
        return [sum(rows) for rows in zip(*(self.memory(cell, name, run) for cell in cells))]

    def close(self) -> None:
        """Complete the VCD file, if there is one."""
        self._stack.close()

    def __enter__(self) -> "AmaranthEngine":
        return self

    def __exit__(self, *exception: Any) -> None:
        self._stack.__exit__(*exception)
