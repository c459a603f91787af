"""Waveforms: Amaranth's writer, and what has changed."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..engines.amaranth_internals import SignalState, VcdWriter
from .observation import Observation, Wanted
from .simulation_signals import Computed, DesignMemory, Logic, Stored, of_shape

if TYPE_CHECKING:
    from .simulation_engine import SimulationEngine

__all__ = ["VcdRecording"]


class _Words:
    """Words of the state that some signals consist of.

    Parameters
    ----------
    array : np.ndarray
        The state.
    places : Sequence[tuple[int, int]]
        Numbers of signals, and the words of the array that are theirs.
    """

    def __init__(self, array: np.ndarray, places: Sequence[tuple[int, int]]) -> None:
        self._array = array
        self._owners, self._indices = np.array(places, np.intp).reshape(-1, 2).T
        self._last = array[self._indices]

    def changed(self) -> np.ndarray:
        """The numbers of signals with a word that differs from before."""
        now = self._array[self._indices]
        found = self._owners[now != self._last]
        self._last = now
        return found


class VcdRecording(VcdWriter):
    """Records all signals and memories of a design."""

    def __init__(self, engine: "SimulationEngine", **options: Any) -> None:
        state, machine = engine.state, engine.machine
        super().__init__(state, engine._design, **options)
        slots = [state.slots[state.get_signal(signal)] for signal in self.vcd_signal_vars]
        self._slots = [slot for slot in slots if isinstance(slot, Logic)]
        self._last = [slot.curr for slot in self._slots]
        memories = [state.slots[state.get_memory(each)] for each in self.vcd_memory_vars]
        self._rows = {
            slot: slot.words().copy() for slot in memories if isinstance(slot, DesignMemory)
        }
        stored: list[tuple[int, int]] = []
        wanted: list[Wanted] = []
        self._computed: dict[int, tuple[int, int]] = {}
        for number, slot in enumerate(self._slots):
            match slot.source:
                case Stored(_, pieces):
                    stored += [(number, piece.address) for piece in pieces]
                case Computed(_, value, cell):
                    self._computed[number] = len(wanted), cell
                    wanted.append(engine.wanted(value))
        self._words = [_Words(machine.registers, stored)]
        self._observation = Observation(machine, wanted)
        places = [
            (number, place)
            for number, value in self._computed.items()
            for place in self._observation.places(*value)
        ]
        self._words.append(_Words(self._observation.words, places))
        self._machine, self._version = machine, -1

    def _changed(self) -> Iterable[int]:
        """The numbers of signals of the design that may have changed."""
        self._observation.refresh()
        if self._version < 0:  # what is computed had its initial value until now
            return range(len(self._slots))
        return np.unique(np.concatenate([words.changed() for words in self._words])).tolist()

    def record(self, changes: Iterable[Any], time: int) -> None:
        """Write these changes, and what else differs from before."""
        for slot in changes:
            if isinstance(slot, SignalState):
                self.update_signal(time, slot.signal)
        if self._version == self._machine.version:
            return
        changed, self._version = self._changed(), self._machine.version
        for number in changed:
            slot = self._slots[number]
            now = self._value(number)
            if now != self._last[number]:
                self._last[number] = now
                self.update_signal(time, slot.signal)
        for slot, row in self._changed_rows():
            self.update_memory(time, slot.memory, row)

    def _value(self, number: int) -> int:
        slot = self._slots[number]
        if number in self._computed:
            return of_shape(self._observation.value(*self._computed[number]), slot.shape)
        return slot.curr

    def _changed_rows(self) -> Iterator[tuple[DesignMemory, int]]:
        for slot, last in self._rows.items():
            now = slot.words()
            rows = np.flatnonzero((now != last).any(axis=1))
            last[rows] = now[rows]
            yield from ((slot, row) for row in rows.tolist())
