"""The tables that the compiled code of a part works on."""

import ctypes
from collections.abc import Sequence

import numpy as np

from ..engines.compiled.emit_c import LANES, InputKind, element_bytes
from ..engines.compiled.ir import WORD
from ..engines.compiled.machine import CType
from ..engines.compiled.tables import aligned, lane_word, ones, reading
from ..engines.compiled.words import word_widths
from .design_parts import Part

__all__ = ["PartTables"]


class PartTables:
    """State of the cells of a part, and the wires that they read.

    Parameters
    ----------
    parts : Sequence[Part]
        All parts of the design.
    part : Part
    registers : np.ndarray
        Those of all parts.

    Attributes
    ----------
    sources : dict[tuple[tuple[int], int], list[int]]
        By input and word: the wire that each cell reads.
    kinds : tuple[InputKind, ...]
        How the lanes read each input.
    memories : list[np.ndarray or None]
        Rows of each memory, by cell; None if they are registers.
    type : CType
    """

    def __init__(self, parts: Sequence[Part], part: Part, registers: np.ndarray) -> None:
        self._part = part
        self._rows = len(part.logic.module.registers)
        size = part.cells * self._rows
        blocks = part.cells // part.lanes
        self._state = registers[part.first_register :][:size].reshape(
            blocks, self._rows, part.lanes
        )
        self._live = aligned(part.cells, np.uint32)
        self._live[: part.count * part.runs] = ones(WORD)
        self.sources = {row: self._wires(parts, *row) for row in part.input_rows}
        shape = blocks, max(1, len(self.sources)), part.lanes
        self._index = aligned(shape, np.int32)
        kinds: list[InputKind] = []
        for at, wires in enumerate(self.sources.values()):
            some = np.array(wires, np.int32).reshape(-1, part.lanes)
            kind, self._index[:, at] = (
                reading(some, self._live) if part.lanes == LANES else ("same", some)
            )
            kinds.append(kind)
        self.kinds = tuple(kinds)
        self.memories = [
            None if memory.registers is not None else _array(part.cells, memory.rows, memory.width)
            for memory in part.logic.module.memories
        ]
        addresses = [None if rows is None else rows.ctypes.data for rows in self.memories]
        self._pointers = (ctypes.c_void_p * max(1, len(addresses)))(*addresses)
        self.type = CType(
            cells=part.cells,
            state=self._state.ctypes.data,
            index=self._index.ctypes.data,
            memories=ctypes.addressof(self._pointers),
            live=self._live.ctypes.data,
            first_wire=part.first_wire,
        )

    def _wires(self, parts: Sequence[Part], path: tuple[int], word: int) -> list[int]:
        part, outputs = self._part, self._part.drivers[path[0]]
        found = [0] * part.cells
        for module, output in enumerate(outputs):
            driver = parts[output.part]
            row = driver.output_places[output.number] + word
            for run in range(part.runs):
                place = driver.row_place(row, driver.output_words, driver.cell(output.module, run))
                found[part.cell(module, run)] = driver.first_wire + place
        return found

    def reset(self) -> None:
        """Set the initial state."""
        part = self._part
        module = part.logic.module
        for number, register in enumerate(module.registers):
            self._state[:, number] = lane_word(register.init, 0, register.width)
        for number in range(len(module.memories)):
            for each, contents in enumerate(part.contents):
                for run in range(part.runs):
                    self.write_rows(number, part.cell(each, run), 0, contents[number])

    def row(self, number: int, cell: int, index: int) -> int:
        """A row of a memory."""
        memory, rows = self._part.logic.module.memories[number], self.memories[number]
        if rows is not None:
            return sum(int(part) << WORD * at for at, part in enumerate(rows[cell, index]))
        assert memory.registers is not None
        vector, lane = divmod(cell, self._part.lanes)
        return sum(
            (int(self._state[vector, register, lane]) & ones(width)) << WORD * at
            for at, (register, width) in enumerate(
                zip(memory.registers[index], word_widths(memory.width))
            )
        )

    def contents(self, number: int, cell: int) -> np.ndarray:
        """All rows of a memory, each as its words."""
        rows = self.memories[number]
        if rows is not None:
            return rows[cell]
        vector, lane = divmod(cell, self._part.lanes)
        memory = self._part.logic.module.memories[number]
        shape = memory.rows, len(word_widths(memory.width))
        return self._state[vector, np.array(memory.registers, np.intp).reshape(shape), lane]

    def write_rows(self, number: int, cell: int, first: int, values: Sequence[int]) -> None:
        """Set rows of a memory."""
        memory, rows = self._part.logic.module.memories[number], self.memories[number]
        widths = word_widths(memory.width)
        words = [
            [value >> WORD * at & ones(width) for at, width in enumerate(widths)]
            for value in values
        ]
        if rows is not None:
            rows[cell, first : first + len(values)] = np.reshape(words, (len(values), len(widths)))
            return
        assert memory.registers is not None
        vector, lane = divmod(cell, self._part.lanes)
        for registers, row in zip(memory.registers[first:], words):
            for register, word, width in zip(registers, row, widths):
                self._state[vector, register, lane] = lane_word(word, 0, width)


def _array(cells: int, rows: int, width: int) -> np.ndarray:
    kind = {1: np.uint8, 2: np.uint16, 4: np.uint32}[element_bytes(width)]
    return aligned((cells, rows, len(word_widths(width))), kind)
