"""What processes see of a design: its signals and memories, and who waits for them."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from amaranth.hdl import Shape, Signal

from ..engines.amaranth_internals import MemoryData, MemoryState, SignalState, SimulationState
from ..engines.compiled.tables import ones
from .design_machine import DesignMachine
from .design_parts import Part, Piece
from .design_reading import Edge

if TYPE_CHECKING:
    from .simulation_engine import SimulationEngine

__all__ = [
    "Computed",
    "DesignMemory",
    "DesignState",
    "EdgeWaker",
    "Input",
    "Logic",
    "Stored",
    "of_shape",
]


def of_shape(value: int, shape: Shape) -> int:
    """An unsigned number as one of a shape."""
    if shape.signed and value >> shape.width - 1 & 1:
        return value - (1 << shape.width)
    return value


class Input(SignalState):
    """A signal of the design that nothing in it drives."""

    __slots__ = ("machine", "pieces")

    def __init__(
        self, signal: Signal, pending: set[Any], machine: DesignMachine, pieces: list[Piece]
    ) -> None:
        self.machine, self.pieces = machine, pieces
        super().__init__(signal, pending)

    def commit(self) -> bool:
        changed: bool = super().commit()
        if changed:
            self.machine.write(self.pieces, self.curr)
        return changed


class EdgeWaker:
    """Notes an edge of an input for which registers wait."""

    def __init__(self, noted: set[Edge], edge: Edge, bit: int) -> None:
        self.noted, self.edge, self.bit = noted, edge, bit

    def __call__(self, before: int, after: int) -> bool:
        if (before ^ after) >> self.bit & 1 and after >> self.bit & 1 == self.edge.level:
            self.noted.add(self.edge)
        return True


@dataclass(frozen=True)
class Stored:
    """A value that registers hold."""

    machine: DesignMachine
    pieces: list[Piece]

    def read(self) -> int:
        return self.machine.read(self.pieces)


@dataclass(frozen=True)
class Computed:
    """A value that logic computes: that of a number in a cell, for the engine."""

    engine: "SimulationEngine"
    number: int
    cell: int

    def read(self) -> int:
        return self.engine.observed(self.number, self.cell)


class Logic:
    """A signal that the design drives.

    Parameters
    ----------
    signal : Signal
    engine : SimulationEngine
    source : Stored or Computed
        Its value, unsigned.
    is_comb : bool
        Whether it is driven without a clock. What else is driven is stored.
    is_clock : bool
        Whether registers wait for its edges. If it is another name of what is stored, it changes
        together with that, so that a tick is what comes before the registers change.
    """

    def __init__(
        self,
        signal: Signal,
        engine: "SimulationEngine",
        source: Stored | Computed,
        is_comb: bool,
        is_clock: bool = False,
    ) -> None:
        self.signal, self.engine, self.source, self.is_comb = signal, engine, source, is_comb
        self.lags = is_comb and not (is_clock and isinstance(source, Stored))
        self.shape = signal.shape()
        self.wakers: list[Callable[[int, int], bool]] = []
        self.reset()

    def reset(self) -> None:
        self.last = self.signal.init
        self._next: int | None = None
        self._found = self.last

    @property
    def value(self) -> int:
        return of_shape(self.source.read(), self.shape)

    @property
    def curr(self) -> int:
        if self.is_comb and not self.engine.settled:
            return int(self.signal.init)
        before = self.engine.before.get(self)
        return self.value if before is None else before

    @property
    def next(self) -> int:
        return self.curr if self._next is None else self._next

    def update(self, value: int, mask: int = ~0) -> None:
        if self._next is None:
            self._found = self.curr
        self._next = (self.next & ~mask) | (value & mask)
        self.engine.state.pending.add(self)

    def commit(self) -> bool:
        value, self._next = self._next, None
        if value is None or value == self.curr:
            return False
        assert isinstance(self.source, Stored)
        pieces = self.source.pieces
        if not all(piece.moved for piece in pieces):  # what was set, not its neighbours
            changed = value ^ self._found
            pieces = [piece for piece in pieces if changed >> piece.at & ones(piece.width)]
        self.engine.machine.write(pieces, value)
        return True

    def add_waker(self, waker: Callable[[int, int], bool]) -> None:
        self.last = self.curr
        self.wakers.append(waker)
        self.engine.watched[self] = None
        if self.lags:
            self.engine.followed_from_now(self)

    def notify(self, after: int) -> bool:
        """Wake those who wait for a change, if there is one."""
        before = self.last
        if before == after:
            return False
        self.last = after
        self.wakers[:] = [waker for waker in self.wakers if waker(before, after)]
        return True


class _Values:
    """The rows of a memory of the design, as a list."""

    def __init__(
        self, machine: DesignMachine, part: Part, number: int, cell: int, shape: Shape
    ) -> None:
        self.machine, self.part, self.number, self.cell = machine, part, number, cell
        self.shape = shape

    def __getitem__(self, index: int) -> int:
        row = self.machine.tables[self.part].row(self.number, self.cell, index)
        return of_shape(row, self.shape)

    def __setitem__(self, index: int, value: int) -> None:
        self.machine.write_row(self.part, self.number, self.cell, index, value)


class DesignMemory(MemoryState):
    """A memory of the design."""

    def __init__(
        self,
        memory: MemoryData,
        pending: set[Any],
        machine: DesignMachine,
        place: tuple[Part, int, int],
    ) -> None:
        self.machine, self.place = machine, place
        super().__init__(memory, pending)

    def reset(self) -> None:
        self.data = _Values(self.machine, *self.place, shape=self.shape)
        self.write_queue: dict[int, int] = {}
        self._masks: dict[int, int] = {}

    def write(self, addr: int, value: int, mask: int = ~0) -> None:
        self._masks[addr] = self._masks.get(addr, 0) | mask
        super().write(addr, value, mask)

    def commit(self) -> bool:
        for row, value in self.write_queue.items():  # what was set, not what ports wrote beside it
            mask = self._masks[row]
            self.write_queue[row] = value & mask | self.data[row] & ~mask
        self._masks.clear()
        return bool(super().commit())

    def words(self) -> np.ndarray:
        """All rows, each as its words."""
        part, number, cell = self.place
        return self.machine.tables[part].contents(number, cell)


class DesignState(SimulationState):
    """The signals and memories that somebody has asked for, in one run."""

    def __init__(
        self,
        engine: "SimulationEngine",
        combinational: Iterable[Signal],
        run: int = 0,
        first: "DesignState | None" = None,
    ) -> None:
        super().__init__()
        self.timeline: Any
        self.pending: set[Any]
        self._engine, self.run, self._first = engine, run, first
        self._combinational = {id(signal) for signal in combinational}
        if first is not None:  # time is that of the first run
            self.timeline, self.pending = first.timeline, first.pending

    def is_combinational(self, signal: Signal) -> bool:
        """Whether the design drives a signal without a clock."""
        return id(signal) in self._combinational

    def get_signal(self, signal: Signal) -> int:
        try:
            return int(self.signals[signal])
        except KeyError:
            number = self.signals[signal] = len(self.slots)
            self.slots.append(self._slot(signal))
            return number

    def _slot(self, signal: Signal) -> Any:
        engine, design, machine = self._engine, self._engine.divided, self._engine.machine
        if signal not in design.signals:
            return SignalState(signal, self.pending)
        place = design.signals[signal]
        if design.is_clock(place):  # of all runs
            if self._first is not None:
                return self._first.slots[self._first.get_signal(signal)]
            pieces = design.pieces(place, *range(design.runs))
        else:
            pieces = design.pieces(place, self.run)
        if self.is_combinational(signal) or pieces is None:
            if pieces is not None:  # another name of a register
                clock = design.is_clock(place)
                return Logic(signal, engine, Stored(machine, pieces), True, is_clock=clock)
            cell = place.part.cell(place.module, self.run)
            return Logic(
                signal, engine, Computed(engine, engine.observe(place), cell), is_comb=True
            )
        if any(piece.moved for piece in pieces):
            return Logic(signal, engine, Stored(machine, pieces), is_comb=False)
        return Input(signal, self.pending, machine, pieces)

    def get_memory(self, memory: MemoryData) -> int:
        known = self._engine.divided.memories
        if memory not in self.memories and memory in known:
            part, module, number = known[memory]
            cell = part.cell(module, self.run)
            self.memories[memory] = len(self.slots)
            self.slots.append(
                DesignMemory(memory, self.pending, self._engine.machine, (part, number, cell))
            )
        return int(super().get_memory(memory))

    def commit(self, changed: set[Any] | None = None) -> bool:
        still = True
        while self.pending:
            slot = self.pending.pop()
            if changed is not None and type(slot) is not Logic:
                changed.add(slot)
            if slot.commit():
                still = False
        return still
