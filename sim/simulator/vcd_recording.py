"""Waveforms: Amaranth's writer, and what has changed."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ..engines.amaranth_internals import SignalState, VcdWriter

if TYPE_CHECKING:
    from .simulation_engine import SimulationEngine

__all__ = ["VcdRecording"]


class VcdRecording(VcdWriter):
    """Records all signals and memories of a design."""

    def __init__(self, engine: "SimulationEngine", **options: Any) -> None:
        state = engine.state
        super().__init__(state, engine._design, **options)
        slots = [state.slots[state.get_signal(signal)] for signal in self.vcd_signal_vars]
        self._last: list[list[Any]] = [
            [slot, slot.curr] for slot in slots if not isinstance(slot, SignalState)
        ]
        self._rows = [
            [slot, [slot.read(row) for row in range(slot.memory.depth)]]
            for slot in (state.slots[state.get_memory(each)] for each in self.vcd_memory_vars)
        ]

    def record(self, changes: Iterable[Any], time: int) -> None:
        """Write these changes, and what else differs from before."""
        for slot in changes:
            if isinstance(slot, SignalState):
                self.update_signal(time, slot.signal)
        for known in self._last:
            slot, last = known
            now = slot.curr
            if now != last:
                known[1] = now
                self.update_signal(time, slot.signal)
        for known in self._rows:
            slot, last = known
            now = [slot.read(row) for row in range(slot.memory.depth)]
            if now != last:
                known[1] = now
                for row, (before, after) in enumerate(zip(last, now)):
                    if before != after:
                        self.update_memory(time, slot.memory, row)
