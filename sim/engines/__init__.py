"""Engines: simulate a fabric cycle by cycle. All engines give the same values, bit for bit.

All engines have what `Engine` says. What only some of them can do is a protocol of its own. `can`
tells whether an engine has it, so nobody asks which engine it is.
"""

import os
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol, Self, runtime_checkable

from ...hdl.fabric.pins import Pin

if TYPE_CHECKING:
    from .compiled.activity_meter import ActivityMeter
    from .compiled.state import State

__all__ = [
    "ActivityEngine",
    "Engine",
    "PortEngine",
    "ResetEngine",
    "SavingEngine",
    "StateEngine",
    "WaveEngine",
    "can",
]


class PortEngine(Protocol):
    """One or more runs of one network, simulated together.

    The fabrics of an engine's runs differ only in straps and contents of memories. Before the first
    cycle, every cell is in its reset state, and every input of the boundary is zero.

    Attributes
    ----------
    name : str
    runs : int
        Number of parallel runs.
    cycle : int
        Number of cycles simulated so far.
    """

    name: str
    runs: int
    cycle: int

    def step(self, cycles: int) -> None:
        """Advance all runs by a number of clock cycles, 0 or more."""

    def set(self, port: str, value: int, run: int | None = None) -> None:
        """Set an input of the fabric's boundary, in one run, or in all if `run` is None."""

    def get(self, pin: Pin, run: int = 0) -> int:
        """The value of any port of any cell, or of the boundary, in this cycle."""

    def read(self, cells: Sequence[str], port: str, run: int = 0) -> list[int]:
        """The value of one port (a member without inner structure) in each of many cells."""

    def close(self) -> None:
        """Give back what the engine holds: it steps no more. The end of a `with` block does so."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *exception: object) -> None: ...


class Engine(PortEngine, Protocol):
    """An engine that shows the memories of cells too, not only their ports."""

    def memory(self, cell: str, name: str, run: int = 0) -> list[int]:
        """All rows of a memory of a cell, each as an unsigned integer.

        The name is that of the cell's submodule and attribute.
        """

    def memory_sum(self, cells: Sequence[str], name: str, run: int = 0) -> list[int]:
        """The sum, row by row, of a memory over many cells of one type."""


@runtime_checkable
class ResetEngine(PortEngine, Protocol):
    """An engine that can reset the fabric, as `rst` does in its Verilog."""

    def reset(self, cycles: int = 1) -> None:
        """Advance all runs by some cycles, 1 or more, with the reset asserted.

        At the edge that ends each of these cycles, registers get their initial values, except for
        those that are `reset_less`. Memories and the outputs of their read ports do not hear the
        reset: what was to be written in such a cycle is written.
        """


class StateEngine(Engine, Protocol):
    """An engine whose state can be read and overwritten between two cycles.

    Signals, registers and memories inside a cell have the names that they have in its Verilog;
    those in inner submodules have dots, such as `queue_0.level`. ValueError if there is none, or a
    value does not fit it.
    """

    def signal(self, cell: str, name: str, run: int = 0) -> int:
        """The value of any named signal."""

    def signal_width(self, cell: str, name: str) -> int:
        """The width of a signal."""

    def write_register(self, cell: str, name: str, value: int, *, run: int = 0) -> None:
        """Overwrite a register."""

    def memory_width(self, cell: str, name: str) -> int:
        """The width of a memory's rows."""

    def write_memory(
        self, cell: str, name: str, rows: Sequence[int], *, first: int = 0, run: int = 0
    ) -> None:
        """Overwrite rows of a memory, from the row `first` on."""


class SavingEngine(Engine, Protocol):
    """An engine that saves the state of all its runs, and goes on from a saved one."""

    def save(self) -> "State":
        """The state of all runs, which can be saved to a file and restored in another engine."""

    def load(self, path: str | os.PathLike[str], run: str = "") -> "State":
        """The state of this engine, and of a run on it, that a file holds; ValueError if none."""

    def restore(self, state: "State") -> None:
        """Go on from a state of this engine, or of another with the same fabrics.

        Raises
        ------
        TypeError, ValueError
            If it is no state of these fabrics, or holds values that no run can have. The engine is
            then unchanged.
        """


class ActivityEngine(Engine, Protocol):
    """An engine that counts how often bits change."""

    def activity(
        self, pins: Sequence[Pin], cells: Sequence[str], run: int = 0
    ) -> AbstractContextManager["ActivityMeter"]:
        """Count in this context, for these pins, and for the registers and memories of cells."""


class WaveEngine(Engine, Protocol):
    """An engine that writes all its signals to a file."""

    def record(self, path: str | os.PathLike[str]) -> None:
        """Write all signals to a VCD file, from the first cycle on, which has not begun.

        It appears once it is complete: at `close`, or at the end of the engine's `with` block. It
        does not appear if the block raises.
        """


def can(engine: object, capability: type) -> bool:
    """Whether an engine, or each of a class of engines, has all methods of a protocol."""
    methods = (name for name in vars(capability) if not name.startswith("_"))
    return all(hasattr(engine, name) for name in methods)
