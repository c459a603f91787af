"""Waveforms: Amaranth's writer, and what has changed."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..engines.amaranth_internals import SignalState, VcdWriter
from .observation import Observation
from .simulation_signals import Computed, DesignMemory, Logic, Stored

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
    """Records all signals and memories of a design; after a reset of the simulation, time goes on
    from there."""

    def __init__(self, engine: "SimulationEngine", **options: Any) -> None:
        state = engine.state
        super().__init__(state, engine._design, **options)
        slots = [state.slots[state.get_signal(signal)] for signal in self.vcd_signal_vars]
        self._slots = [slot for slot in slots if isinstance(slot, Logic)]
        self._last = [slot.curr for slot in self._slots]
        memories = [state.slots[state.get_memory(each)] for each in self.vcd_memory_vars]
        self._rows = {
            slot: slot.words().copy() for slot in memories if isinstance(slot, DesignMemory)
        }
        stored, computed = [], []
        for number, slot in enumerate(self._slots):
            match slot.source:
                case Stored(_, pieces):
                    stored += [(number, piece.address) for piece in pieces]
                case Computed(_, value, cell):
                    computed.append((number, value, cell))
        self._stored, self._computed = _Words(engine.machine.registers, stored), computed
        self._engine, self._version = engine, -1
        self._begin = 0
        self._observation: Observation | None = None
        engine.compile_observed()

    def _changed(self) -> Iterable[int]:
        """The numbers of signals of the design that may have changed."""
        observation = self._engine.observation
        assert observation is not None
        observation.refresh()
        stored = self._stored.changed()
        if observation is not self._observation:  # nothing is known of its words from before
            self._observation = observation
            places = [
                (number, place)
                for number, value, cell in self._computed
                for place in observation.places(value, cell)
            ]
            self._shown = _Words(observation.words, places)
            return range(len(self._slots))
        return np.unique(np.concatenate([stored, self._shown.changed()])).tolist()

    def restart(self, time: int) -> None:
        """Write what a reset of the simulation at a time has made of signals that it drives."""
        self._begin += time
        for signal in self.vcd_signal_vars:
            if not isinstance(self.state.slots[self.state.get_signal(signal)], Logic):
                self.update_signal(self._begin, signal)

    def close(self, time: int) -> None:
        super().close(self._begin + time)

    def record(self, changes: Iterable[Any], time: int) -> None:
        """Write these changes, and what else differs from before."""
        time += self._begin
        for slot in changes:
            if isinstance(slot, SignalState):
                self.update_signal(time, slot.signal)
        if self._version == self._engine.machine.version:
            return
        self._version = self._engine.machine.version
        for number in self._changed():
            slot = self._slots[number]
            now = slot.curr
            if now != self._last[number]:
                self._last[number] = now
                self.update_signal(time, slot.signal)
        for slot, row in self._changed_rows():
            self.update_memory(time, slot.memory, row)

    def _changed_rows(self) -> Iterator[tuple[DesignMemory, int]]:
        for slot, last in self._rows.items():
            now = slot.words()
            rows = np.flatnonzero((now != last).any(axis=1))
            last[rows] = now[rows]
            yield from ((slot, row) for row in rows.tolist())
