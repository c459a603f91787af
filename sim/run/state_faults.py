"""Faults in the state of cells: wrong bits in registers and memories, while a run goes on."""

import random
from collections.abc import Sequence
from math import log, log1p
from typing import Any

from ...hdl.core.checks import check_integer
from ...hdl.core.errors import InvalidValue
from ..engines import Engine
from ..engines.compiled import CompiledEngine
from ..workload.injection import Injection, StateBits

__all__ = ["StateFaultEngine", "with_state_faults"]

NEVER = 2**62


def with_state_faults(engine: Engine, faults: Sequence[Injection], seed: int = 1) -> Engine:
    """An engine whose state gets these faults, in all of its runs.

    Raises
    ------
    ValueError
        If there are faults, and the engine is not `compiled`, or its cells have no such state.
    """
    if not faults:
        return engine
    if not isinstance(engine, CompiledEngine):
        raise InvalidValue(f"Engine must be compiled for faults of state, not {engine.name}")
    return StateFaultEngine(engine, faults, seed)


class StateFaultEngine:
    """A `CompiledEngine` that stops where a fault of state has to be written.

    A stuck bit is written after each cycle, so the engine is then slow. All else is passed on.

    Parameters
    ----------
    engine : CompiledEngine
    faults : Sequence[Injection]
        Their places are `StateBits`.
    seed : int
        Seed of the cycles in which bits with a rate flip.
    """

    def __init__(self, engine: CompiledEngine, faults: Sequence[Injection], seed: int) -> None:
        self._engine = engine
        self._events = [
            _Event(fault, random.Random(f"{seed} {number}")) for number, fault in enumerate(faults)
        ]
        for event in self._events:
            event.check(engine)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def __enter__(self) -> "StateFaultEngine":
        return self

    def __exit__(self, *exception: object) -> None:
        self._engine.close()

    def step(self, cycles: int) -> None:
        """As in `CompiledEngine`. Faults of the present cycle are written before it."""
        engine = self._engine
        end = engine.cycle + check_integer("Cycles", cycles, 0)
        while engine.cycle < end:
            for event in self._events:
                if event.when == engine.cycle:
                    event.strike(engine)
            following = min([end, *(event.when for event in self._events)])
            engine.step(following - engine.cycle)


class _Event:
    """A fault of state, and the next cycle in which it is written."""

    def __init__(self, fault: Injection, generator: random.Random) -> None:
        assert isinstance(fault.place, StateBits)
        self.fault = fault
        self.place = fault.place
        self._generator = generator
        self.when = self._next(fault.start)

    def check(self, engine: CompiledEngine) -> None:
        """Raise ValueError if the engine has no such bit."""
        value, width = self._read(engine, 0)
        if self.fault.bit >= width:
            raise InvalidValue(f"Bit of fault {self.place} must be from 0 to {width - 1}")
        self._write(engine, value, 0)

    def strike(self, engine: CompiledEngine) -> None:
        mask = 1 << self.fault.bit
        for run in range(engine.runs):
            value, _ = self._read(engine, run)
            match self.fault.effect:
                case "flip":
                    wrong = value ^ mask
                case "stuck0":
                    wrong = value & ~mask
                case _:
                    wrong = value | mask
            if wrong != value:
                self._write(engine, wrong, run)
        self.when = self._next(engine.cycle + 1)

    def _next(self, first: int) -> int:
        """The first cycle from this one on in which the fault is written."""
        fault = self.fault
        once = fault.effect == "flip" and fault.rate == 1
        while True:
            if fault.rate < 1:
                first += _gap(self._generator, fault.rate)
            since = first - fault.start
            length = 1 if once else fault.length or NEVER
            if fault.period:
                if since % fault.period < length:
                    return first
                first += fault.period - since % fault.period
            else:
                return first if since < length else NEVER
            if fault.rate == 1:
                return first

    def _read(self, engine: CompiledEngine, run: int) -> tuple[int, int]:
        cell, name, row = self.place
        engine.fabric.check_cell(cell)
        if row is None:
            return engine.signal(cell, name, run), engine.signal_width(cell, name)
        rows = engine.memory(cell, name, run)
        if row >= len(rows):
            raise InvalidValue(f"Row of fault {self.place} must be from 0 to {len(rows) - 1}")
        return rows[row], engine.memory_width(cell, name)

    def _write(self, engine: CompiledEngine, value: int, run: int) -> None:
        cell, name, row = self.place
        if row is None:
            engine.write_register(cell, name, value, run=run)
        else:
            engine.write_memory(cell, name, [value], first=row, run=run)


def _gap(generator: random.Random, rate: float) -> int:
    """Cycles without a flip before the next one, if each cycle has one with this probability."""
    if not rate:
        return NEVER
    return int(log(1 - generator.random()) / log1p(-rate))
