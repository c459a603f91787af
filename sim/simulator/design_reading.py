"""Reads a part of a design: its logic as a graph, its state, and what makes each part of it change.

What no logic drives (inputs, clocks, resets) is state as well, which only the outside changes.
What another part drives is an input. So all signals are functions of the state and the inputs.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from amaranth.hdl import DriverConflict, Fragment, Signal

from ..engines.amaranth_internals import (
    Design,
    MemoryData,
    free_design,
    free_netlist,
    memories,
    nir,
    read_resets,
)
from ..engines.compiled.compiled_errors import CombinationalLoop, UnsupportedConstruct, ValueTooWide
from ..engines.compiled.ir import Node, Words
from ..engines.compiled.lowered_module import Module
from ..engines.compiled.netlist import Lowering, signal_names
from ..engines.compiled.netlist_operators import place
from ..engines.compiled.words import word_widths

__all__ = ["Bits", "Edge", "PartLogic", "Report", "read_logic"]


class Edge(NamedTuple):
    """A net, and the level to which it changes: what registers wait for."""

    net: nir.Net
    level: int


class Bits(NamedTuple):
    """Bits of a signal that are state: some of a register from `low` on, from bit `at` on."""

    register: int
    low: int
    width: int
    at: int


@dataclass(frozen=True)
class Report:
    """An assertion, an assumption, a cover or a print.

    Attributes
    ----------
    kind : str
        "assert", "assume", "cover" or "print".
    hit : Node
        1 if there is something to say.
    edge : Edge or None
        When; None for at once.
    text : tuple[str or tuple[Words, int, str, bool], ...] or None
        Texts, and numbers with their widths, their formats, and whether they are signed.
    place : tuple[str, int]
        File and line.
    """

    kind: str
    hit: Node
    edge: Edge | None
    text: tuple[str | tuple[Words, int, str, bool], ...] | None
    place: tuple[str, int]


@dataclass
class PartLogic:
    """A part of a design as a module.

    Attributes
    ----------
    module : Module
        Its inputs have the names `(0,)`, `(1,)` and so on.
    edges : list[Edge]
        All that some state or report waits for, each once.
    register_edges : list[frozenset[Edge]]
        By register: the edges at which it takes its next value.
    write_edges : list[list[Edge]]
        By memory and write port. That of a constant never occurs.
    reports : list[Report]
    signals : dict
        The nets of each of Amaranth's signals.
    memory_numbers : dict[MemoryData, int]
    """

    module: Module
    edges: list[Edge]
    register_edges: list[frozenset[Edge]]
    write_edges: list[list[Edge]]
    reports: list[Report]
    signals: Mapping[Signal, nir.Value]
    memory_numbers: dict[MemoryData, int]
    reader: "_Reading" = field(repr=False)

    def words(self, nets: Sequence[nir.Net]) -> Words:
        """Some bits as nodes of the graph."""
        return self.reader.words(nets)

    def bits(self, nets: Sequence[nir.Net]) -> list[Bits] | None:
        """The registers that bits are; None if some are not stored."""
        return self.reader.bits(nets)

    def input(self, net: nir.Net) -> tuple[int, int]:
        """Number and bit of the input that a net is."""
        return self.reader.external[net.cell], net.bit


def read_logic(
    fragment: Fragment, inputs: Sequence[Signal] = (), shown: Sequence[Signal] = ()
) -> PartLogic:
    """Read a part of a design that Amaranth has prepared.

    Parameters
    ----------
    fragment : Fragment
    inputs : Sequence[Signal]
        What other parts drive.
    shown : Sequence[Signal]
        What they need of this one, or of what nothing drives.

    Raises
    ------
    UnsupportedConstruct
        If it has an instance of a foreign module, or the like.
    CombinationalLoop
        If a signal depends on itself.
    """
    design = free_design(fragment, [*inputs, *shown])
    try:
        netlist = free_netlist(design)
    except nir.CombinationalCycle as error:
        first, *path = str(error).splitlines()
        places = ", ".join(each.strip() for each in path[:4])
        more = f" and {len(path) - 4} more" if len(path) > 4 else ""
        raise CombinationalLoop(f"{first} {places}{more}") from None
    except DriverConflict as error:  # of which Amaranth's simulator takes no notice
        raise UnsupportedConstruct(str(error)) from None
    except OverflowError as error:
        raise ValueTooWide(str(error)) from None
    reading = _Reading("design", netlist, {}, False)
    with reading.deep_recursion():
        return reading.read(design, inputs)


class _Reading(Lowering):
    """The logic of a part of a design, with any number of clocks.

    Attributes
    ----------
    external : dict[int, int]
        The numbers of inputs, by the cells of the netlist that are in their place.
    """

    def read(self, design: Design, inputs: Sequence[Signal]) -> PartLogic:
        cells = self.netlist.cells
        nets = [self.netlist.signals[signal] for signal in inputs]
        self.external = {value[0].cell: number for number, value in enumerate(nets) if len(value)}
        self._read_resets = {
            self.netlist.signals[data][0].cell: (self.netlist.signals[reset], data.init, at_once)
            for data, reset, at_once in read_resets(design)
            if reset in self.netlist.signals and len(data)
        }
        self._edges: dict[Edge, None] = {}
        self._register_edges: dict[int, frozenset[Edge]] = {}
        for index, cell in enumerate(cells):
            if isinstance(cell, nir.Memory):
                self._declare_memory(index, cell)
        for index, cell in enumerate(cells):
            match cell:
                case nir.FlipFlop() if index in self.external:
                    pass
                case nir.FlipFlop():
                    self._declare_state(index, len(cell.data), cell.init)
                    self._move(index, self._clock(cell) | self._reset(cell))
                case nir.SyncReadPort():
                    self._declare_state(index, cell.width, 0)
                    self._move(index, self._clock(cell) | self._read_reset(index))
                case nir.Instance() | nir.IOBuffer() | nir.AnyValue() | nir.Initial():
                    what = type(cell).__name__
                    named = f" {cell.type!r}" if isinstance(cell, nir.Instance) else ""
                    raise UnsupportedConstruct(
                        f"{what}{named} at {place(cell)} has no meaning in a simulation"
                    )
        write_edges: list[list[Edge]] = [[] for _ in self.memories]
        for index, cell in enumerate(cells):
            match cell:
                case nir.FlipFlop() if index not in self.external:
                    self._set_next(index, self._next(cell))
                case nir.SyncWritePort():
                    number = self._memory[cell.memory]
                    before = len(self.memories[number].writes)
                    self._write(cell)
                    if len(self.memories[number].writes) > before:
                        write_edges[number].append(self._only_edge(cell))
        for index, cell in enumerate(cells):
            if isinstance(cell, nir.SyncReadPort):
                self._sync_read(index, cell)
        for memory, edges in zip(self.memories, write_edges):
            if memory.registers is not None:
                for registers in memory.registers:
                    self._register_edges |= dict.fromkeys(registers, frozenset(edges))
                self._write_registers(memory, memory.registers)
                edges.clear()
        module = Module(
            name="design",
            graph=self.graph,
            inputs={(number,): len(value) for number, value in enumerate(nets)},
            outputs={},
            widths={},
            depends={},
            registers=self.registers,
            memories=self.memories,
            events=[],
            signals=lambda wanted: self._signal(names[wanted]),
            signal_names=list(names := signal_names(design, self.netlist)),
        )
        known = {memory.name: number for number, memory in enumerate(self.memories)}
        reports = list(self._reports())  # they have edges of their own
        return PartLogic(
            module=module,
            edges=list(self._edges),
            register_edges=[
                self._register_edges.get(number, frozenset())
                for number in range(len(self.registers))
            ],
            write_edges=write_edges,
            reports=reports,
            signals=self.netlist.signals,
            memory_numbers={data: known[name] for data, name in memories(design)},
            reader=self,
        )

    def _state_words(self, index: int) -> Words:
        if index not in self.external:
            return super()._state_words(index)
        widths = word_widths(len(self.netlist.cells[index].data))
        path = (self.external[index],)
        return tuple(self.graph.input(path, word, width) for word, width in enumerate(widths))

    def _clock(self, cell: nir.Cell) -> frozenset[Edge]:
        return self._edge(cell.clk, int(cell.clk_edge == "pos"))

    def _reset(self, cell: nir.FlipFlop) -> frozenset[Edge]:
        return self._edge(cell.arst, 1)

    def _read_reset(self, index: int) -> frozenset[Edge]:
        """That of a read port, if it needs no clock."""
        reset, _, at_once = self._read_resets.get(index, ((), 0, False))
        return self._edge(reset[0], 1) if at_once else frozenset()

    def _only_edge(self, cell: nir.Cell) -> Edge:
        """That of a clock, which may be a constant: then it never occurs."""
        return next(iter(self._clock(cell)), Edge(cell.clk, 1))

    def _edge(self, net: nir.Net, level: int) -> frozenset[Edge]:
        if net.is_const:  # it never changes
            return frozenset()
        edge = Edge(net, level)
        self._edges[edge] = None
        return frozenset([edge])

    def _move(self, index: int, edges: frozenset[Edge]) -> None:
        self._register_edges |= dict.fromkeys(self._state[index], edges)

    def _next(self, cell: nir.FlipFlop) -> Words:
        initial = self.arithmetic.const(cell.init, len(cell.data))
        reset = self.value(nir.Value(cell.arst))[0]
        return self.arithmetic.mux(reset, initial, self.value(cell.data))

    def _not_read(self, index: int) -> Words:
        """Amaranth's simulator, unlike its netlist, resets what read ports show."""
        words = super()._not_read(index)
        if index not in self._read_resets:
            return words
        reset, init, _ = self._read_resets[index]
        initial = self.arithmetic.const(init, self.netlist.cells[index].width)
        return self.arithmetic.mux(self.value(reset)[0], initial, words)

    def _in_registers(self, index: int, cell: nir.Memory) -> bool:
        ports = [
            each
            for each in self.netlist.cells
            if isinstance(each, nir.SyncWritePort) and each.memory == index
        ]
        clocks = {(each.clk, each.clk_edge) for each in ports}
        return super()._in_registers(index, cell) and len(clocks) <= 1

    def _reports(self) -> Iterator[Report]:
        for cell in self.netlist.cells:
            match cell:
                case nir.AsyncProperty() | nir.SyncProperty():
                    test = self.value(nir.Value(cell.test))[0]
                    said = cell.kind == "cover"
                    if said and cell.format is None:
                        continue
                    failed = test if said else self.graph.not_(test, 1)
                    yield self._report(cell, cell.kind, failed)
                case nir.SyncPrint():
                    yield self._report(cell, "print", self.graph.one)
                case nir.AsyncPrint():
                    raise UnsupportedConstruct(
                        f"Print without a clock at {place(cell)} can't be simulated here"
                    )

    def _report(self, cell: nir.Cell, kind: str, hit: Node) -> Report:
        enabled = self.value(nir.Value(cell.en))[0]
        edge = None
        if hasattr(cell, "clk"):
            edge = self._only_edge(cell)
        text = cell.format and tuple(
            part
            if isinstance(part, str)
            else (self.value(part.value), len(part.value), part.format_desc, part.signed)
            for part in cell.format.chunks
        )
        return Report(kind, self.graph.and_(enabled, hit), edge, text, cell.src_loc)

    def words(self, nets: Sequence[nir.Net]) -> Words:
        with self.deep_recursion():
            return self.value(nets)

    def bits(self, nets: Sequence[nir.Net]) -> list[Bits] | None:
        found: list[Bits] = []
        for at, net in enumerate(nets):
            cell = None if net.is_const else self.netlist.cells[net.cell]
            if not isinstance(cell, nir.FlipFlop | nir.SyncReadPort) or net.cell in self.external:
                return None
            register = self._state[net.cell][net.bit // 32]
            last = found[-1] if found else None
            if last and last[:2] == (register, net.bit % 32 - last.width):
                found[-1] = last._replace(width=last.width + 1)
            else:
                found.append(Bits(register, net.bit % 32, 1, at))
        return found
