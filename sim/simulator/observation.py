"""Compiled code that computes values from the state of a design."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ..engines.compiled.build import load_libraries
from ..engines.compiled.emit_c import TypeEmitter
from ..engines.compiled.ir import WORD, Node, Words
from ..engines.compiled.machine import CContext, function_address
from ..engines.compiled.tables import aligned
from .design_parts import Part
from .free_run import Calls

if TYPE_CHECKING:
    from .design_machine import DesignMachine

__all__ = ["Observation", "Wanted"]

Wanted = tuple[Part, Words]
"""A value in all cells of a part."""


class Observation:
    """Compiled code that computes some values from the state, in all cells of their parts.

    Parameters
    ----------
    machine : DesignMachine
    values : Sequence[Wanted]

    Attributes
    ----------
    words : np.ndarray
        All of them; those of width 1 are masks.
    live : np.ndarray
        All ones where there is a cell, else zeros.
    calls : Calls
        What computes them.
    """

    def __init__(self, machine: "DesignMachine", values: Sequence[Wanted]) -> None:
        self._machine = machine
        of_part: dict[Part, list[int]] = defaultdict(list)
        for number, (part, _) in enumerate(values):
            of_part[part].append(number)
        sizes = {
            part: part.cells * sum(len(values[number][1]) for number in numbers)
            for part, numbers in of_part.items()
        }
        self.words = aligned(max(1, sum(sizes.values())), np.uint32)
        self.live = aligned(len(self.words), np.uint32)
        self._shown = self.words.data
        self._places: dict[int, tuple[Part, int, int, int, list[int]]] = {}
        self._contexts: list[CContext] = []
        sources, first = [], 0
        for part, numbers in of_part.items():
            nodes: list[Node] = []
            rows = sizes[part] // part.cells
            for number in numbers:
                words = values[number][1]
                widths = [node.width for node in words]
                self._places[number] = part, first, len(nodes), rows, widths
                nodes += words
            sources.append(self._source(part, nodes))
            live = self.live[first : first + sizes[part]].reshape(-1, rows, part.lanes)
            used = np.arange(part.cells).reshape(-1, 1, part.lanes) < part.count * part.runs
            live[:] = used * np.uint32(0xFFFFFFFF)
            to = self.words[first:].ctypes.data - self.words.itemsize * part.first_wire
            self._contexts.append(CContext(now=machine.wires.ctypes.data, next=to, event=-1))
            first += sizes[part]
        self._libraries = load_libraries([(source, ("late_0",)) for source in sources])
        self.calls = Calls(
            [
                *machine.settling,
                *(
                    machine.made(part, function_address(library, "late_0"), context)
                    for part, context, library in zip(of_part, self._contexts, self._libraries)
                ),
            ]
        )
        self._seen = -1

    def _source(self, part: Part, nodes: Sequence[Node]) -> str:
        paths = [("observed", number) for number in range(len(nodes))]
        module = replace(
            part.logic.module,
            outputs={path: (node,) for path, node in zip(paths, nodes)},
            widths={path: [node.width] for path, node in zip(paths, nodes)},
        )
        emitter = TypeEmitter(self._machine.code(part, module, [(path, 0) for path in paths]))
        return emitter.program([emitter.late(0, paths, "next")])

    def refresh(self) -> None:
        """Compute the words, if the state has changed."""
        if self._seen != self._machine.version:
            self._machine.call(self.calls)
            self._seen = self._machine.version

    def places(self, number: int, cell: int = 0) -> list[int]:
        """Where the words of a value are."""
        part, first, row, rows, widths = self._places[number]
        return [first + part.row_place(row + word, rows, cell) for word in range(len(widths))]

    def value(self, number: int, cell: int = 0) -> int:
        self.refresh()
        total = 0
        widths = self._places[number][-1]
        for word, (at, width) in enumerate(zip(self.places(number, cell), widths)):
            total |= (self._shown[at] & (1 << width) - 1) << WORD * word
        return total
