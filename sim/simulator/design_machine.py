"""The state of a design, and the compiled code that advances it.

Each set of edges that occur together has a function of its own, which computes the registers that
wait for one of them and no others. It is compiled when they first occur together.
"""

import ctypes
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from ..engines.compiled.build import load_libraries
from ..engines.compiled.emit_c import TypeCode, TypeEmitter, element_bytes
from ..engines.compiled.ir import WORD, Graph, Node, Words, evaluate
from ..engines.compiled.machine import CContext, CType, function_address
from ..engines.compiled.tables import aligned, lane_word, ones
from ..engines.compiled.words import word_widths
from .design_reading import Edge, FlatDesign, Piece
from .free_run import FREE_RUN, CClock

__all__ = ["DesignMachine", "Observation"]

_MOST_EDGES = 10
"""Edges whose combinations have an entry each in a table."""

_ROUND_SECONDS = 0.2
"""How long the compiled code runs between checks for Ctrl-C."""


class _CRun(ctypes.Structure):
    _fields_ = [
        ("context", ctypes.c_void_p),
        ("type", ctypes.c_void_p),
        ("updates", ctypes.c_void_p),
        ("clocks", ctypes.c_void_p),
        ("clock_count", ctypes.c_long),
        ("limit", ctypes.c_int64),
        ("now", ctypes.c_int64),
        ("steps", ctypes.c_long),
        ("alarms", ctypes.c_void_p),
        ("alarm_context", ctypes.c_void_p),
        ("alarm_words", ctypes.c_void_p),
        ("alarm_count", ctypes.c_long),
        ("at_once", ctypes.c_long),
        ("edges", ctypes.c_void_p),
        ("edge_context", ctypes.c_void_p),
        ("edge_words", ctypes.c_void_p),
        ("edge_old", ctypes.c_void_p),
        ("edge_count", ctypes.c_long),
    ]


_Function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_long, ctypes.c_long)

_MISSING, _ROUND_DONE = 1, 2
"""Why the compiled code returns, but for others: edges have no function yet, or a round is done."""


class Observation:
    """Compiled code that computes some words from the state.

    Parameters
    ----------
    machine : DesignMachine
    values : Sequence[Words]
    """

    def __init__(self, machine: "DesignMachine", values: Sequence[Words]) -> None:
        self._machine = machine
        nodes = [node for words in values for node in words]
        self.words = aligned(max(1, len(nodes)), np.uint32)
        self._shown = self.words.data
        self._places = []
        at = 0
        for words in values:
            self._places.append((at, [node.width for node in words]))
            at += len(words)
        self._seen = -1
        self.context = CContext(now=self.words.ctypes.data, next=self.words.ctypes.data)
        self._arguments = ctypes.byref(self.context), machine.type, 0, 1
        paths = [("observed", number) for number in range(len(nodes))]
        module = replace(
            machine.design.module,
            outputs={path: (node,) for path, node in zip(paths, nodes)},
            widths={path: [node.width] for path, node in zip(paths, nodes)},
            depends={path: frozenset() for path in paths},
        )
        code = TypeCode(module, (), tuple((path, 0) for path in paths), (), (), lanes=1)
        source = f"{code.prelude}\n{TypeEmitter(code).late(0, paths)}"
        (library,) = load_libraries([(source, ("late_0",))])
        self.address = function_address(library, "late_0")
        self._function = _Function(self.address)
        self._keep = library

    def refresh(self) -> None:
        """Compute the words, if the state has changed."""
        if self._seen != self._machine.version:
            self._function(*self._arguments)
            self._seen = self._machine.version

    def value(self, number: int) -> int:
        self.refresh()
        at, widths = self._places[number]
        total = 0
        for word, width in enumerate(widths):
            total |= (self._shown[at + word] & (1 << width) - 1) << WORD * word
        return total


class DesignMachine:
    """The state of a design, and its code.

    Attributes
    ----------
    version : int
        Changes with the state.
    alarms : Observation or None
        Of the reports: whether there is something to say.
    derived : Observation or None
        Of the nets whose edges are waited for, and that logic drives.
    """

    def __init__(self, design: FlatDesign) -> None:
        self.design = design
        self.version = 0
        module = design.module
        self._registers = aligned(max(1, len(module.registers)), np.uint32)
        self._words = self._registers.data
        self.memories = [
            None if memory.registers is not None else _rows(memory.rows, memory.width)
            for memory in module.memories
        ]
        addresses = [None if rows is None else rows.ctypes.data for rows in self.memories]
        self._pointers = (ctypes.c_void_p * max(1, len(addresses)))(*addresses)
        self._live = np.full(16, 0xFFFFFFFF, np.uint32)
        self._type = CType(
            cells=1,
            state=self._registers.ctypes.data,
            memories=ctypes.addressof(self._pointers),
            live=self._live.ctypes.data,
        )
        self.type = ctypes.byref(self._type)
        self._context = CContext(event=-1)
        self._arguments = ctypes.byref(self._context), self.type, 0, 1
        self._functions: dict[frozenset[Edge], Callable[..., None]] = {}
        self._libraries: list[object] = []
        self._edges = {edge: 1 << number for number, edge in enumerate(design.edges)}
        self._table = (ctypes.c_void_p * (1 << min(len(design.edges), _MOST_EDGES)))()
        self.alarms = self._observed([(report.hit,) for report in design.reports])
        moved = [edge for edge in design.edges if design.pieces([edge.net]) is None]
        stored = [edge for edge in design.edges if edge not in moved]
        moved += [edge for edge in stored if self._moves(edge)]
        self.derived_edges = moved
        self.derived = self._observed([design.words([edge.net]) for edge in moved])
        self._old = aligned(max(1, len(moved)), np.uint32)
        (driver,) = load_libraries([(FREE_RUN, ("free_run",))])
        self._free_run = driver.free_run
        self._free_run.restype = ctypes.c_long
        self._rate = 5000.0
        self.reset()

    def _observed(self, values: list[Words]) -> Observation | None:
        return Observation(self, values) if values else None

    def _moves(self, edge: Edge) -> bool:
        """Whether a net that is a register is driven by logic."""
        pieces = self.design.pieces([edge.net])
        return any(self.design.register_edges[piece.register] for piece in pieces or ())

    def reset(self) -> None:
        """Go back to the initial state."""
        module = self.design.module
        for number, register in enumerate(module.registers):
            self._words[number] = lane_word(register.init, 0, register.width)
        for memory, rows in zip(module.memories, self.memories):
            if rows is not None:
                parts = len(word_widths(memory.width))
                for number, value in enumerate(memory.init):
                    rows[number] = [value >> WORD * part & ones(WORD) for part in range(parts)]
        self.version += 1

    # What is stored

    def read(self, pieces: Iterable[Piece]) -> int:
        """The value of a signal that is state."""
        value = 0
        for register, low, width, at in pieces:
            value |= (self._words[register] >> low & (1 << width) - 1) << at
        return value

    def write(self, pieces: Iterable[Piece], value: int) -> None:
        registers = self.design.module.registers
        for register, low, width, at in pieces:
            whole = registers[register].width
            old = self._words[register] & ~(ones(width) << low)
            new = old | (value >> at & ones(width)) << low
            self._words[register] = lane_word(new, 0, whole)
        self.version += 1

    def row(self, number: int, index: int) -> int:
        """A row of a memory."""
        memory, rows = self.design.module.memories[number], self.memories[number]
        if rows is not None:
            return sum(int(part) << WORD * at for at, part in enumerate(rows[index]))
        assert memory.registers is not None
        widths = word_widths(memory.width)
        return sum(
            (self._words[register] & ones(width)) << WORD * at
            for at, (register, width) in enumerate(zip(memory.registers[index], widths))
        )

    def write_row(self, number: int, index: int, value: int) -> None:
        memory, rows = self.design.module.memories[number], self.memories[number]
        for at, width in enumerate(word_widths(memory.width)):
            if rows is not None:
                rows[index, at] = value >> WORD * at & ones(width)
            else:
                assert memory.registers is not None
                self._words[memory.registers[index][at]] = lane_word(value, at, width)
        self.version += 1

    def stores(self, edge: Edge) -> bool:
        """Whether the net of an edge is a register."""
        return self.design.pieces([edge.net]) is not None

    def evaluate(self, words: Words) -> int:
        """The value of some words, computed here."""
        values: dict[Node, int] = {}
        for node in Graph.cone(words):
            match node.op:
                case "const":
                    values[node] = node.attr
                case "register":
                    values[node] = self._words[node.attr] & ones(node.width)
                case "read":
                    memory, word, _ = node.attr
                    rows, index = self.memories[memory], values[node.args[0]]
                    assert rows is not None
                    values[node] = int(rows[index, word]) if index < len(rows) else 0
                case _:
                    values[node] = evaluate(node, [values[arg] for arg in node.args])
        return sum(values[node] << WORD * at for at, node in enumerate(words))

    # What changes it

    def advance(self, edges: frozenset[Edge]) -> None:
        """Compute the registers and memories that wait for some edges."""
        self._function(edges)(*self._arguments)
        self.version += 1

    def _function(self, edges: frozenset[Edge]) -> Callable[..., None]:
        if edges not in self._functions:
            code = TypeCode(self.design.at(edges), (), (), (), (), lanes=1)
            source = f"{code.prelude}\n{TypeEmitter(code).update()}"
            (library,) = load_libraries([(source, ("update",))])
            self._libraries.append(library)
            address = function_address(library, "update")
            self._functions[edges] = _Function(address)
            bits = self._bits(edges)
            if bits < len(self._table):
                self._table[bits] = address
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
        run = _CRun(
            context=ctypes.addressof(self._context),
            type=ctypes.addressof(self._type),
            updates=ctypes.addressof(self._table),
            clocks=ctypes.addressof(clocks),
            clock_count=len(clocks),
            limit=limit,
            now=now,
            steps=max(1, int(self._rate * _ROUND_SECONDS)),
        )
        if alarms:
            run.alarms, run.alarm_context = alarms.address, ctypes.addressof(alarms.context)
            run.alarm_words, run.alarm_count = alarms.words.ctypes.data, len(alarms.words)
            run.at_once = any(report.edge is None for report in self.design.reports)
        if derived:
            derived.refresh()
            self._old[:] = derived.words
            run.edges, run.edge_context = derived.address, ctypes.addressof(derived.context)
            run.edge_words, run.edge_count = derived.words.ctypes.data, len(derived.words)
            run.edge_old = self._old.ctypes.data
        while True:
            start = time.perf_counter()
            why = self._free_run(ctypes.byref(run))
            self.version += 1
            if why >> 32 == _MISSING:
                self._function(frozenset(e for e, bit in self._edges.items() if why & bit))
                continue
            if why >> 32 == _ROUND_DONE:
                self._rate = run.steps / max(time.perf_counter() - start, 1e-9)
            return int(run.now)

    def clock(self, register: int | None, due: int, half: int, edges: Iterable[Edge]) -> CClock:
        """A clock for `run`.

        Parameters
        ----------
        register : int or None
            Where its level is.
        due, half : int
            When it changes next, and how long it keeps a level.
        edges : Iterable[Edge]
            Those that it makes.
        """
        edges = list(edges)
        level = None if register is None else self._registers[register:].ctypes.data
        rise, fall = (self._bits(e for e in edges if e.level == wanted) for wanted in (1, 0))
        return CClock(due=due, half=half, level=level, rise=rise, fall=fall)

    @property
    def few_edges(self) -> bool:
        """Whether all combinations of edges are in a table."""
        return len(self._edges) <= _MOST_EDGES

    @cached_property
    def makes_clocks_of(self) -> frozenset[int]:
        """The registers from which logic makes clocks and resets within the same delta cycle."""
        words = [
            self.design.words([edge.net]) for edge in self.derived_edges if not self.stores(edge)
        ]
        cone = Graph.cone(node for each in words for node in each)
        return frozenset(node.attr for node in cone if node.op == "register")


def _rows(rows: int, width: int) -> np.ndarray:
    kind = {1: np.uint8, 2: np.uint16, 4: np.uint32}[element_bytes(width)]
    return aligned((rows, len(word_widths(width))), kind)
