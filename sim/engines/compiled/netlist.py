"""Translates an Amaranth component to a module of the intermediate representation.

It reads the bit-level netlist that Amaranth's own back ends also use. `amaranth_internals` says
what of it is private and may change with the next version.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache, reduce
from itertools import chain
from operator import or_

from amaranth.lib import wiring

from ....hdl.fabric.cell import CellType
from ....hdl.fabric.pins import Path
from ..amaranth_internals import (
    Design,
    Matches,
    PriorityMatch,
    component_design,
    nir,
    ports_netlist,
)
from .compiled_errors import CombinationalLoop, UnsupportedConstruct, ValueTooWide
from .ir import WORD, Node, Words
from .lowered_module import Event, Memory, Module, Register, Write
from .netlist_operators import place
from .netlist_values import NetlistValues
from .word_graph import Graph
from .words import word_widths

__all__ = ["Lowering", "lower", "lowered", "signal_names"]

_REGISTER_ROWS = 4
"""Memories with at most this many rows are kept in registers, updated in all lanes at once."""


@lru_cache(maxsize=256)
def lowered(type_: CellType, by_bit: bool = False) -> Module:
    """The module of all cells of a type, made once per process. Parameters and raises as `lower`.

    After the code of a component that has been lowered is changed, `lowered.cache_clear()` must be
    called.
    """
    return lower(type_.build(), type_.name, by_bit)


def lower(component: wiring.Component, name: str, by_bit: bool = False) -> Module:
    """The module of a component: its logic as a graph, its registers and its memories.

    A wide word whose bits are used one by one is computed once, as a word. So each of these bits
    seems to depend on all that the word depends on. With `by_bit`, dependencies are exact, and the
    graph may be much larger.

    Raises
    ------
    UnsupportedConstruct
        If it uses an `Instance`, a second clock domain, or the like.
    CombinationalLoop
        If a signal depends on itself inside the component.
    """
    paths: dict[str, Path] = {
        "__".join(map(str, path)): path for path, _, _ in component.signature.flatten(component)
    }
    design = component_design(component, name)
    try:
        netlist = ports_netlist(design)
    except nir.CombinationalCycle as error:
        path = " ".join(str(error).split())
        raise CombinationalLoop(f"In {name}: {path}") from None
    except OverflowError as error:
        raise ValueTooWide(f"In {name}: {error}") from None
    lowering = Lowering(name, netlist, paths, by_bit)
    with lowering.deep_recursion():
        return lowering.module(signal_names(design, netlist))


def _depends(outputs: Mapping[Path, Words]) -> dict[Path, frozenset[Path]]:
    """The inputs that each output depends on."""
    inputs: list[Path] = []
    sources: dict[int, int] = {}  # of each node, a bit for each of these inputs
    for node in Graph.cone(chain.from_iterable(outputs.values())):
        sources[node.serial] = reduce(or_, (sources[arg.serial] for arg in node.args), 0)
        if node.op == "input":
            sources[node.serial] = 1 << len(inputs)
            inputs.append(node.attr[0])
    found = {}
    for path, words in outputs.items():
        bits = reduce(or_, (sources[word.serial] for word in words), 0)
        found[path] = frozenset(each for at, each in enumerate(inputs) if bits >> at & 1)
    return found


def signal_names(design: Design, netlist: nir.Netlist) -> dict[str, nir.Value]:
    """What each named signal is in the netlist, by its hierarchical name."""
    names: dict[str, nir.Value] = {}
    for info in design.fragments.values():
        prefix = ".".join(info.name[1:])
        for signal, name in info.signal_names.items():
            if signal in netlist.signals:
                full = f"{prefix}.{name}" if prefix else name
                names[full] = netlist.signals[signal]
    return names


def _message(cell: nir.AsyncProperty | nir.SyncProperty) -> str:
    """The message of an assertion; values in it are shown as three dots."""
    if cell.format is None:
        return ""
    return "".join(part if isinstance(part, str) else "..." for part in cell.format.chunks)


class Lowering(NetlistValues):
    """Makes the graph of a netlist: `module` for a component, and for others what extends it."""

    def __init__(
        self, name: str, netlist: nir.Netlist, paths: Mapping[str, Path], by_bit: bool
    ) -> None:
        super().__init__(name, netlist, paths, by_bit)
        self.registers: list[Register] = []
        self.memories: list[Memory] = []
        self._state: dict[int, list[int]] = {}
        self._memory: dict[int, int] = {}

    def module(self, names: Mapping[str, nir.Value]) -> Module:
        cells = self.netlist.cells
        for index, cell in enumerate(cells):
            if isinstance(cell, nir.Memory):
                self._declare_memory(index, cell)
        for index, cell in enumerate(cells):
            match cell:
                case nir.FlipFlop():
                    self._check_clock(cell)
                    if not cell.arst.is_const:
                        raise UnsupportedConstruct(f"Asynchronous reset at {place(cell)}")
                    resets = self._hears_reset(cell)
                    self._declare_state(index, len(cell.data), cell.init, resets)
                case nir.SyncReadPort():
                    self._check_clock(cell)
                    self._declare_state(index, cell.width, 0)
                case nir.Instance() | nir.IOBuffer() | nir.AnyValue() | nir.Initial():
                    what = type(cell).__name__
                    raise UnsupportedConstruct(f"{what} at {place(cell)} can't be simulated here")
        # Next states and writes are added last, when all state is known.
        for index, cell in enumerate(cells):
            match cell:
                case nir.FlipFlop():
                    self._set_next(index, self.value(cell.data))
                case nir.SyncWritePort():
                    self._check_clock(cell)
                    self._write(cell)
        for index, cell in enumerate(cells):
            if isinstance(cell, nir.SyncReadPort):
                self._sync_read(index, cell)
        for memory in self.memories:
            if memory.registers is not None:
                self._write_registers(memory, memory.registers)
        outputs = {
            self.paths[port]: self.value(value) for port, value in self.netlist.top.ports_o.items()
        }
        inputs = {
            self.paths[port]: width
            for port, (_, width) in self.netlist.top.ports_i.items()
            if port in self.paths
        }
        return Module(
            name=self.name,
            graph=self.graph,
            inputs=inputs,
            outputs=outputs,
            widths={
                self.paths[port]: word_widths(len(value))
                for port, value in self.netlist.top.ports_o.items()
            },
            depends=_depends(outputs),
            registers=self.registers,
            memories=self.memories,
            events=self._events(),
            signals=lambda wanted: self._signal(names[wanted]),
            signal_names=list(names),
        )

    def _check_clock(self, cell: nir.Cell) -> None:
        clock = self.netlist.top.ports_i.get("clk")
        if clock is None or cell.clk != nir.Net.from_cell(0, clock[0]) or cell.clk_edge != "pos":
            raise UnsupportedConstruct(
                f"{type(cell).__name__} at {place(cell)} is not in the clock domain sync"
            )

    def _hears_reset(self, cell: nir.FlipFlop) -> bool:
        """Whether the last assignment to a register, which counts, is under the reset."""
        source = None if not cell.data or cell.data[0].is_const else cell.data[0].cell
        if source is None or not isinstance(self.netlist.cells[source], nir.AssignmentList):
            return False
        assignments = self.netlist.cells[source].assignments
        return bool(assignments) and self._is_reset(assignments[-1].cond)

    def _is_reset(self, net: nir.Net) -> bool:
        """Whether it is the reset, or the test of it by which Amaranth resets a register."""
        while not net.is_const:
            match self.netlist.cells[net.cell]:
                case PriorityMatch() as priority if net.bit == 0:
                    net = priority.inputs[0]
                case Matches(patterns=("1",)) as match:
                    net = match.value[0]
                case nir.Top() as top:
                    return "rst" in top.ports_i and net.bit == top.ports_i["rst"][0]
                case _:
                    return False
        return False

    def _declare_state(self, index: int, width: int, init: int, resets: bool = False) -> None:
        numbers = []
        for word, count in enumerate(word_widths(width)):
            numbers.append(len(self.registers))
            value = init >> WORD * word & (1 << count) - 1
            self.registers.append(Register(count, value, resets))
        self._state[index] = numbers

    def _state_words(self, index: int) -> Words:
        return tuple(self._register(number) for number in self._state[index])

    def _register(self, number: int) -> Node:
        return self.graph.register(number, self.registers[number].width)

    def _set_next(self, index: int, words: Words) -> None:
        for number, node in zip(self._state[index], words):
            self.registers[number].next = node

    # Memories

    def _declare_memory(self, index: int, cell: nir.Memory) -> None:
        names = *self.netlist.modules[cell.module_idx].name[1:], cell.name
        memory = Memory(".".join(names), cell.width, cell.init)
        if self._in_registers(index, cell):
            memory.registers = []
            for value in cell.init:
                numbers = []
                for word, count in enumerate(word_widths(cell.width)):
                    numbers.append(len(self.registers))
                    part = value >> WORD * word & (1 << count) - 1
                    self.registers.append(Register(count, part))
                memory.registers.append(numbers)
        self._memory[index] = len(self.memories)
        self.memories.append(memory)

    def _in_registers(self, index: int, cell: nir.Memory) -> bool:
        return bool(cell.depth <= _REGISTER_ROWS and cell.width)

    def _read(self, memory_index: int, address: Words) -> Words:
        number = self._memory[memory_index]
        memory = self.memories[number]
        widths = word_widths(memory.width)
        if memory.registers is None:
            if len(address) > 1:
                raise UnsupportedConstruct(f"Memory in {self.name} with more than 2^{WORD} rows")
            return tuple(
                self.graph.read(number, word, width, address[0])
                for word, width in enumerate(widths)
            )
        result = self.arithmetic.const(0, memory.width)
        for row, registers in enumerate(memory.registers):
            hit = self._is_row(address, row)
            words = tuple(self._register(register) for register in registers)
            result = (
                words if row == 0 and memory.rows == 1 else self.arithmetic.mux(hit, words, result)
            )
        return result

    def _is_row(self, address: Words, row: int) -> Node:
        return self.arithmetic.eq(address, self.arithmetic.const(row, 32))

    def _write(self, cell: nir.SyncWritePort) -> None:
        memory = self.memories[self._memory[cell.memory]]
        address, data = self.value(cell.addr), self.value(cell.data)
        if not len(cell.data):
            return
        if len(set(cell.en)) == 1:
            write = Write(address[0], self.value(cell.en[:1])[0], data, None)
        else:
            mask = self.value(cell.en)
            write = Write(address[0], self.arithmetic.any(mask), data, mask)
        memory.writes.append(write)

    def _merged(self, old: Words, write: Write, hit: Node) -> Words:
        """The new value of a row that may be written."""
        a = self.arithmetic
        if write.mask is None:
            new = write.data
        else:
            keep = a.not_(write.mask, WORD * len(write.mask))
            new = a.bitwise(
                self.graph.or_,
                a.bitwise(self.graph.and_, write.data, write.mask),
                a.bitwise(self.graph.and_, old, keep),
            )
        return a.mux(hit, new, old)

    def _write_registers(self, memory: Memory, rows: Sequence[Sequence[int]]) -> None:
        for row, registers in enumerate(rows):
            words = tuple(self._register(register) for register in registers)
            for write in memory.writes:
                hit = self.graph.and_(write.enable, self._is_row((write.address,), row))
                words = self._merged(words, write, hit)
            for register, node in zip(registers, words):
                self.registers[register].next = node
        memory.writes.clear()

    def _sync_read(self, index: int, cell: nir.SyncReadPort) -> None:
        address = self.value(cell.addr)
        words = self._read(cell.memory, address)
        memory = self.memories[self._memory[cell.memory]]
        ports = [
            number
            for number, other in enumerate(self.netlist.cells)
            if isinstance(other, nir.SyncWritePort) and other.memory == cell.memory
        ]
        for port, write in zip(ports, memory.writes):
            if port in cell.transparent_for:
                same = self.arithmetic.eq((write.address,), address)
                hit = self.graph.and_(write.enable, same)
                words = self._merged(words, write, hit)
        enable = self.value(nir.Value(cell.en))[0]
        self._set_next(index, self.arithmetic.mux(enable, words, self._not_read(index)))

    def _not_read(self, index: int) -> Words:
        """What a read port shows if it is not enabled: what it showed before."""
        return self._state_words(index)

    def _events(self) -> list[Event]:
        events = []
        for cell in self.netlist.cells:
            match cell:
                case nir.AsyncProperty() | nir.SyncProperty():
                    if cell.kind == "cover":
                        continue
                    enabled = self.value(nir.Value(cell.en))[0]
                    test = self.value(nir.Value(cell.test))[0]
                    hit = self.graph.and_(enabled, self.graph.not_(test, 1))
                    events.append(Event(hit, _message(cell), place(cell)))
                case nir.AsyncPrint() | nir.SyncPrint():
                    raise UnsupportedConstruct(f"Print at {place(cell)} can't be simulated here")
        return events

    def _signal(self, value: nir.Value) -> tuple[Words, int]:
        return self.value(value), len(value)
