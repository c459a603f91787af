"""Faults in the state of cells: wrong bits in registers and memories, while a run goes on."""

import random
from collections.abc import Iterator, Sequence
from math import log, log1p

from ...hdl.fabric.errors import InvalidValue
from ..engines import StateEngine
from ..workload.injection import Injection, StateBits
from .observers import NEVER, Observer

__all__ = ["StateFaults"]


class StateFaults(Observer):
    """Writes faults of state, in all runs of an engine.

    A stuck bit is written after each cycle, so the engine is then slow.

    Parameters
    ----------
    faults : Sequence[Injection]
        Their places are `StateBits`.
    seed : int
        Seed of the cycles in which bits with a rate flip.

    Raises
    ------
    ValueError
        In `begin`, if cells have no such state.
    """

    needs = StateEngine
    purpose = "have faults of its state"

    def __init__(self, faults: Sequence[Injection], seed: int = 1) -> None:
        self._faults = faults
        self._seed = seed

    def begin(self, engine: StateEngine) -> None:
        self._engine = engine
        self._events = [
            _Event(fault, random.Random(f"{self._seed} {number}"))
            for number, fault in enumerate(self._faults)
        ]
        for event in self._events:
            event.check(engine)

    def before(self, cycle: int) -> int:
        for event in self._events:
            if event.when == cycle:
                event.strike(self._engine)
        return min(event.when for event in self._events)


class _Event:
    """A fault of state, and the next cycle in which it is written."""

    def __init__(self, fault: Injection, generator: random.Random) -> None:
        assert isinstance(fault.place, StateBits)
        self.fault = fault
        self.place = fault.place
        self._cycles = _cycles(fault, generator)
        self.when = next(self._cycles, NEVER)

    def check(self, engine: StateEngine) -> None:
        """Raise ValueError if the engine has no such bit."""
        value, width = self._read(engine, 0)
        if self.fault.bit >= width:
            raise InvalidValue(f"Bit of fault {self.place} must be from 0 to {width - 1}")
        self._write(engine, value, 0)

    def strike(self, engine: StateEngine) -> None:
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
        self.when = next(self._cycles, NEVER)

    def _read(self, engine: StateEngine, run: int) -> tuple[int, int]:
        cell, name, row = self.place
        if row is None:
            return engine.signal(cell, name, run), engine.signal_width(cell, name)
        rows = engine.memory(cell, name, run)
        if row >= len(rows):
            raise InvalidValue(f"Row of fault {self.place} must be from 0 to {len(rows) - 1}")
        return rows[row], engine.memory_width(cell, name)

    def _write(self, engine: StateEngine, value: int, run: int) -> None:
        cell, name, row = self.place
        if row is None:
            engine.write_register(cell, name, value, run=run)
        else:
            engine.write_memory(cell, name, [value], first=row, run=run)


def _cycles(fault: Injection, generator: random.Random) -> Iterator[int]:
    """The cycles in which a fault is written."""
    if not fault.rate:
        return
    for begin, end in _presence(fault, generator):
        cycle = begin
        if fault.effect == "flip" and fault.rate == 1:
            end = begin + 1
        while True:
            if fault.rate < 1:
                cycle += _gap(generator, fault.rate)
            if cycle >= end:
                break
            yield cycle
            cycle += 1


def _presence(fault: Injection, generator: random.Random) -> Iterator[tuple[int, int]]:
    """The times of a fault: first cycles, and the ones after the last."""
    begin = fault.start
    if fault.begins:
        while True:
            begin += 1 + _gap(generator, fault.begins)
            end = begin + 1 + _gap(generator, fault.ends)
            yield begin, end
            begin = end
    while True:
        yield begin, begin + (fault.length or NEVER)
        if not fault.period:
            return
        begin += fault.period


def _gap(generator: random.Random, rate: float) -> int:
    """Cycles before the next event, if each cycle has one with this probability, above 0."""
    return int(log(1 - generator.random()) / log1p(-rate)) if rate < 1 else 0
