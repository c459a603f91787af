"""The parts of a design: equal submodules, which are the lanes of a part, and the rest.

A part reads *wires* that other parts drive. All wires are computed from the state, level by level,
before anything else is. Several runs of a design are more lanes of each part.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from ..engines.amaranth_internals import MemoryData, SignalDict, nir
from ..engines.compiled.emit_c import LANES
from ..engines.compiled.ir import Words
from ..engines.compiled.lowered_module import Module
from ..engines.compiled.word_graph import Graph
from ..engines.compiled.words import word_widths
from .design_reading import Edge, PartLogic, Report

__all__ = ["DividedDesign", "Output", "Part", "Piece", "Place", "Task"]


class Output(NamedTuple):
    """What an input reads: an output of a part, of the submodule of this number."""

    part: int
    number: int
    module: int


class Piece(NamedTuple):
    """Bits of a signal that are state: of the word at an address, of so many bits in all.

    `at` is the bit of the signal, `moved` says whether logic changes them.
    """

    address: int
    low: int
    width: int
    at: int
    whole: int
    moved: bool


class Part:
    """Equal modules as the lanes of one, in all runs.

    Attributes
    ----------
    logic : PartLogic
    count, runs : int
    lanes : int
        Cells whose words are adjacent: `LANES`, or 1 if there is one cell only.
    cells : int
        Lanes, with those that fill the last vector.
    register_edges, write_edges : list
        As of the logic, with the edges of the whole design.
    outputs : list[Words]
        What other parts read.
    output_places : list[int]
        The row of each one's first word in the table of wires, which has `output_words` rows.
    drivers : list[list[Output]]
        By input and module.
    first_register, first_wire : int
        Where its words begin.
    contents : list[list[tuple[int, ...]]]
        By module and memory: the rows at first.
    """

    def __init__(self, logic: PartLogic, count: int, runs: int) -> None:
        self.logic, self.count, self.runs = logic, count, runs
        self.lanes = 1 if count * runs == 1 else LANES
        self.cells = -(-count * runs // self.lanes) * self.lanes
        self.register_edges = logic.register_edges
        self.write_edges = logic.write_edges
        self.outputs: list[Words] = []
        self.output_places: list[int] = []
        self.output_words = 0
        self.widths: list[int] = []
        self.drivers: list[list[Output]] = []
        self.first_register = self.first_wire = 0
        self.contents: list[list[tuple[int, ...]]] = []

    @property
    def output_rows(self) -> list[tuple[tuple[int], int]]:
        """Number and word of each row of its table of wires."""
        return [
            ((number,), word)
            for number, width in enumerate(self.widths)
            for word in range(len(word_widths(width)))
        ]

    @property
    def input_rows(self) -> list[tuple[tuple[int], int]]:
        """Number and word of each row of its table of inputs."""
        return [
            ((number,), word)
            for number in range(len(self.drivers))
            for word in range(len(word_widths(self.logic.module.inputs[number,])))
        ]

    def add_output(self, nets: Sequence[nir.Net]) -> int:
        self.outputs.append(self.logic.words(nets))
        self.output_places.append(self.output_words)
        self.output_words += len(word_widths(len(nets)))
        self.widths.append(len(nets))
        return len(self.outputs) - 1

    def cell(self, module: int, run: int) -> int:
        return run * self.count + module

    def row_place(self, row: int, rows: int, cell: int) -> int:
        """Where a word of a cell is in an array of so many rows."""
        vector, lane = divmod(cell, self.lanes)
        return (vector * rows + row) * self.lanes + lane

    def register_address(self, register: int, cell: int) -> int:
        registers = len(self.logic.module.registers)
        return self.first_register + self.row_place(register, registers, cell)

    def waits_for(self, edges: frozenset[Edge]) -> bool:
        """Whether some of its state changes at some of these edges."""
        return any(not edges.isdisjoint(each) for each in (*self.register_edges, *self.write_edges))

    def at(self, edges: frozenset[Edge]) -> Module:
        """The module in which only that changes which waits for some of these edges."""
        graph, whole = self.logic.module.graph, self.logic.module
        registers = []
        for number, register in enumerate(whole.registers):
            changed = replace(register)
            if edges.isdisjoint(self.register_edges[number]):
                changed.next = graph.register(number, register.width)
            else:
                changed.next = register.next
            registers.append(changed)
        kept = [
            replace(memory, writes=[w for w, edge in zip(memory.writes, each) if edge in edges])
            for memory, each in zip(whole.memories, self.write_edges)
        ]
        return replace(whole, registers=registers, memories=kept)

    def depends(self, number: int) -> frozenset[int]:
        """The inputs on which an output depends within a cycle."""
        cone = Graph.cone(self.outputs[number])
        return frozenset(node.attr[0][0] for node in cone if node.op == "input")


class Place(NamedTuple):
    """Where a signal is."""

    part: Part
    module: int
    nets: Sequence[nir.Net]


class Task(NamedTuple):
    """Outputs of some cells of a part, computed together."""

    part: int
    outputs: tuple[int, ...]
    begin: int
    end: int


@dataclass
class DividedDesign:
    """A design as parts, of which the first is the rest.

    Attributes
    ----------
    parts : list[Part]
    tasks : list[Task]
        How wires are computed, in order.
    edges : list[Edge]
        All that some state or report waits for, each once: nets of the rest.
    signals : SignalDict
        Where each of Amaranth's signals is.
    memories : dict[MemoryData, tuple[Part, int, int]]
        Part, module and number of each memory.
    """

    parts: list[Part]
    tasks: list[Task]
    edges: list[Edge]
    signals: "SignalDict"
    memories: dict[MemoryData, tuple[Part, int, int]]
    runs: int = 1

    @property
    def rest(self) -> Part:
        return self.parts[0]

    @property
    def reports(self) -> list[Report]:
        return self.rest.logic.reports

    def is_clock(self, place: Place) -> bool:
        """Whether some state waits for edges of a signal."""
        return place.part is self.rest and not self._clocks.isdisjoint(place.nets)

    @cached_property
    def _clocks(self) -> frozenset[nir.Net]:
        return frozenset(edge.net for edge in self.edges)

    def pieces(self, place: Place, *runs: int) -> list[Piece] | None:
        """Where a signal is stored in some runs; None if it is not."""
        part, module, nets = place
        found = part.logic.bits(nets)
        if found is None:
            return None
        return [
            Piece(
                part.register_address(bits.register, part.cell(module, run)),
                *bits[1:],
                part.logic.module.registers[bits.register].width,
                bool(part.register_edges[bits.register]),
            )
            for run in runs
            for bits in found
        ]
