"""The state of a design, and the compiled code that advances it.

Each set of edges that occur together has functions of its own, which compute the registers that
wait for one of them and no others. They are compiled when the edges first occur together.
"""

import ctypes
import time
from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property

import numpy as np

from ..engines.compiled.build import load_libraries
from ..engines.compiled.emit_c import TypeCode, TypeEmitter
from ..engines.compiled.ir import WORD, Node, Words
from ..engines.compiled.lowered_module import Module
from ..engines.compiled.machine import CContext, function_address
from ..engines.compiled.tables import aligned, lane_word, ones
from ..engines.compiled.word_graph import Graph, evaluate
from ..engines.compiled.words import word_widths
from .design_parts import DividedDesign, Part, Piece
from .design_reading import Edge
from .free_run import FREE_RUN, Call, Calls, CClock, CRun
from .observation import Observation, Wanted
from .part_tables import PartTables

__all__ = ["DesignMachine"]

_MOST_EDGES = 10
"""Edges whose combinations have an entry each in a table."""

_ROUND_SECONDS = 0.2
"""How long the compiled code runs between checks for Ctrl-C."""

_MISSING, _ROUND_DONE = 1, 2
"""Why the compiled code returns, but for others: edges have no function yet, or a round is done."""


class DesignMachine:
    """The state of a design, and its code.

    Attributes
    ----------
    version : int
        Changes with the state.
    tables : dict[Part, PartTables]
    registers : np.ndarray
        Of all parts.
    wires : np.ndarray
        What parts read of others.
    settling : list[Call]
        What computes the wires.
    alarms : Observation or None
        Of the reports: whether there is something to say.
    derived : Observation or None
        Of the nets whose edges are waited for, and that logic drives.
    """

    def __init__(self, design: DividedDesign) -> None:
        self.design = design
        self.version = 0
        parts = design.parts
        last = parts[-1]
        registers = last.first_register + last.cells * len(last.logic.module.registers)
        self.registers = aligned(max(1, registers), np.uint32)
        self._words = self.registers.data
        self.wires = aligned(last.first_wire + last.cells * last.output_words + 1, np.uint32)
        self._shown = self.wires.data
        self.tables = {part: PartTables(parts, part, self.registers) for part in parts}
        (driver,) = load_libraries([(FREE_RUN, ("free_run", "call"))])
        driver.call.argtypes = [ctypes.c_void_p]
        driver.free_run.restype = ctypes.c_long
        self._driver = driver
        self._context = CContext(now=self.wires.ctypes.data, event=-1)
        self._libraries: list[ctypes.CDLL] = []
        self.settling = self._settling()
        self._settle, self._settled = Calls(self.settling), -1
        self._functions: dict[frozenset[Edge], Calls] = {}
        self._edges = {edge: 1 << number for number, edge in enumerate(design.edges)}
        self._table = (ctypes.c_void_p * (1 << min(len(design.edges), _MOST_EDGES)))()
        rest = design.rest
        self.alarms = self._observed([(rest, (report.hit,)) for report in design.reports])
        moved = [edge for edge in design.edges if not self.stores(edge)]
        moved += [edge for edge in design.edges if self.stores(edge) and self._moves(edge)]
        self.derived_edges = moved
        self.derived = self._observed([(rest, rest.logic.words([edge.net])) for edge in moved])
        self._old = aligned(max(1, len(moved)), np.uint32)
        self._rate = 5000.0
        self.reset()

    def _observed(self, values: list[Wanted]) -> Observation | None:
        return Observation(self, values) if values else None

    def _moves(self, edge: Edge) -> bool:
        """Whether a net that is a register is driven by logic."""
        rest = self.design.rest
        return any(rest.register_edges[bits.register] for bits in rest.logic.bits([edge.net]) or ())

    def reset(self) -> None:
        """Go back to the initial state."""
        for tables in self.tables.values():
            tables.reset()
        self.version += 1

    # What is stored

    def read(self, pieces: Iterable[Piece]) -> int:
        """The value of a signal that is state."""
        value = 0
        for piece in pieces:
            value |= (self._words[piece.address] >> piece.low & ones(piece.width)) << piece.at
        return value

    def write(self, pieces: Iterable[Piece], value: int) -> None:
        for address, low, width, at, whole, _ in pieces:
            old = self._words[address] & ~(ones(width) << low)
            new = old | (value >> at & ones(width)) << low
            self._words[address] = lane_word(new, 0, whole)
        self.version += 1

    def write_row(self, part: Part, number: int, cell: int, index: int, value: int) -> None:
        """Set a row of a memory."""
        self.tables[part].write_rows(number, cell, index, [value])
        self.version += 1

    def stores(self, edge: Edge) -> bool:
        """Whether the net of an edge is a register."""
        return self.design.rest.logic.bits([edge.net]) is not None

    def evaluate(self, part: Part, cell: int, words: Words) -> int:
        """The value of some words of a cell, computed here."""
        tables = self.tables[part]
        values: dict[Node, int] = {}
        for node in Graph.cone(words):
            match node.op:
                case "const":
                    values[node] = node.attr
                case "register":
                    word = self._words[part.register_address(node.attr, cell)]
                    values[node] = word & ones(node.width)
                case "input":
                    if self._settled != self.version:
                        self.call(self._settle)
                        self._settled = self.version
                    values[node] = self._shown[tables.sources[node.attr][cell]] & ones(node.width)
                case "read":
                    memory, word, _ = node.attr
                    rows, index = tables.memories[memory], values[node.args[0]]
                    assert rows is not None
                    values[node] = int(rows[cell, index, word]) if index < rows.shape[1] else 0
                case _:
                    values[node] = evaluate(node, [values[arg] for arg in node.args])
        return sum(values[node] << WORD * at for at, node in enumerate(words))

    # The code

    def call(self, calls: Calls) -> None:
        self._driver.call(calls.address)

    def made(self, part: Part, function: int, context: CContext) -> Call:
        """A call of a function of a part for all its cells."""
        type_ = ctypes.addressof(self.tables[part].type)
        return Call(function, ctypes.addressof(context), type_, 0, part.cells)

    def code(self, part: Part, module: Module, rows: Iterable[tuple[tuple, int]] = ()) -> TypeCode:
        """What the emitter must know of a part, and of what is stored of it."""
        inputs, kinds = tuple(part.input_rows), self.tables[part].kinds
        return TypeCode(module, inputs, tuple(rows), kinds, (), lanes=part.lanes)

    def _settling(self) -> list[Call]:
        """Calls that compute all wires."""
        sets: dict[int, dict[tuple[int, ...], str]] = {}
        for task in self.design.tasks:
            known = sets.setdefault(task.part, {})
            known.setdefault(task.outputs, f"late_{len(known)}")
        programs = []
        for number, wanted in sets.items():
            part = self.design.parts[number]
            module = replace(
                part.logic.module,
                outputs={(output,): words for output, words in enumerate(part.outputs)},
                widths={(output,): word_widths(width) for output, width in enumerate(part.widths)},
            )
            emitter = TypeEmitter(self.code(part, module, part.output_rows))
            functions = [
                emitter.late(late, [(output,) for output in outputs])
                for late, outputs in enumerate(wanted)
            ]
            programs.append((emitter.program(functions), tuple(wanted.values())))
        libraries = dict(zip(sets, load_libraries(programs)))
        self._libraries += libraries.values()
        calls = []
        for number, outputs, begin, end in self.design.tasks:
            address = function_address(libraries[number], sets[number][outputs])
            made = self.made(self.design.parts[number], address, self._context)
            calls.append(made._replace(begin=begin, end=end))
        return calls

    def advance(self, edges: frozenset[Edge]) -> None:
        """Compute the registers and memories that wait for some edges."""
        self.call(self._function(edges))
        self.version += 1

    def _function(self, edges: frozenset[Edge]) -> Calls:
        if edges not in self._functions:
            moving = [part for part in self.design.parts if part.waits_for(edges)]
            programs = []
            for part in moving:
                emitter = TypeEmitter(self.code(part, part.at(edges)))
                programs.append((emitter.program([emitter.update()]), ("update",)))
            libraries = load_libraries(programs)
            self._libraries += libraries
            made = [
                self.made(part, function_address(library, "update"), self._context)
                for part, library in zip(moving, libraries)
            ]
            self._functions[edges] = calls = Calls([*self.settling, *made])
            bits = self._bits(edges)
            if bits < len(self._table):
                self._table[bits] = calls.address
        return self._functions[edges]

    def _bits(self, edges: Iterable[Edge]) -> int:
        return sum(self._edges[edge] for edge in edges)

    def run(self, clocks: ctypes.Array[CClock], now: int, limit: int) -> int:
        """Let clocks run until a time, as long as nobody waits for what they do, for a round.

        Parameters
        ----------
        clocks : Array of CClock
            When it returns, what they are then.
        now, limit : int
            What happens from the limit on is not done.

        Returns
        -------
        int
            When something was done last.
        """
        alarms, derived = self.alarms, self.derived
        run = CRun(
            updates=ctypes.addressof(self._table),
            clocks=ctypes.addressof(clocks),
            clock_count=len(clocks),
            limit=limit,
            now=now,
            steps=max(1, int(self._rate * _ROUND_SECONDS)),
        )
        if alarms:
            run.alarms, run.alarm_live = alarms.calls.address, alarms.live.ctypes.data
            run.alarm_words, run.alarm_count = alarms.words.ctypes.data, len(alarms.words)
            run.at_once = any(report.edge is None for report in self.design.reports)
        if derived:
            derived.refresh()
            self._old[:] = derived.words
            run.edges = derived.calls.address
            run.edge_words, run.edge_count = derived.words.ctypes.data, len(derived.words)
            run.edge_old = self._old.ctypes.data
        while True:
            start = time.perf_counter()
            why = self._driver.free_run(ctypes.byref(run))
            self.version += 1
            if why >> 32 == _MISSING:
                self._function(frozenset(e for e, bit in self._edges.items() if why & bit))
                continue
            if why >> 32 == _ROUND_DONE:
                self._rate = run.steps / max(time.perf_counter() - start, 1e-9)
            return int(run.now)

    def clock(self, pieces: list[Piece] | None, due: int, half: int, edges: set[Edge]) -> CClock:
        """A clock for `run`.

        Parameters
        ----------
        pieces : list[Piece] or None
            Where its level is, in the first run.
        due, half : int
            When it changes next, and how long it keeps a level.
        edges : set[Edge]
            Those that it makes.
        """
        rise, fall = (self._bits(e for e in edges if e.level == wanted) for wanted in (1, 0))
        clock = CClock(due=due, half=half, lanes=1, vectors=1, rise=rise, fall=fall)
        if pieces is not None:
            rest = self.design.rest
            clock.level = self.registers[pieces[0].address :].ctypes.data
            clock.lanes, clock.vectors = rest.lanes, rest.cells // rest.lanes
            clock.distance = rest.lanes * len(rest.logic.module.registers)
        return clock

    @property
    def few_edges(self) -> bool:
        """Whether all combinations of edges are in a table."""
        return len(self._edges) <= _MOST_EDGES

    @cached_property
    def makes_clocks_of(self) -> frozenset[int]:
        """The addresses from which logic makes clocks and resets within the same delta cycle."""
        rest = self.design.rest
        words = [rest.logic.words([e.net]) for e in self.derived_edges if not self.stores(e)]
        cone = Graph.cone(node for each in words for node in each)
        return frozenset(rest.register_address(n.attr, 0) for n in cone if n.op == "register")
