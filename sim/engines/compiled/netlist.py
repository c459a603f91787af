"""Translates an Amaranth component to a module of the intermediate representation.

It reads the bit-level netlist that Amaranth's own back ends also use. `amaranth_internals` says
what of it is private and may change with the next version.
"""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby, pairwise

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
from .cell_module import Event, Memory, Module, Register, Write
from .compiled_errors import CombinationalLoop, UnsupportedConstruct, ValueTooWide
from .ir import WORD, Node, Words
from .word_graph import Graph
from .words import Arithmetic, word_widths

__all__ = ["Lowering", "lower", "lowered", "place", "signal_names"]

_WIDE = 16
"""A bitwise cell of at least this width is computed as a whole if its bits are used apart, ..."""

_APART = 16
"""... which is in at least this many parts, or in parts that overlap."""

_BITWISE = ("&", "|", "^", "~", "m")
"""Operators whose result has a bit for each bit of their last operands."""

_FRAMES = 8
"""At most so many calls lead from a bit of the netlist to one that it depends on."""

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


def place(cell: nir.Cell) -> str:
    if cell.src_loc is None:
        return "an unknown place"
    return f"{cell.src_loc[0]}:{cell.src_loc[1]}"


def _message(cell: nir.AsyncProperty | nir.SyncProperty) -> str:
    """The message of an assertion; values in it are shown as three dots."""
    if cell.format is None:
        return ""
    return "".join(part if isinstance(part, str) else "..." for part in cell.format.chunks)


@dataclass(frozen=True)
class _Choice:
    """A choice among cases by the value of a number; case i is that of `numbers[i]`."""

    enable: nir.Net
    value: nir.Value
    numbers: tuple[int, ...]


def _segments(nets: Sequence[nir.Net]) -> Iterator[tuple[int, int, int]]:
    """A value as parts, each with its cell, first bit and width. Constants have cell -1, and their
    value in the place of the bit."""
    if nets and not nets[0].is_const:  # most are a single part
        first = int(nets[0])
        if (
            nets[-1].is_cell
            and nets[-1].cell == nets[0].cell
            and [*nets] == [*range(first, first + len(nets))]
        ):
            yield nets[0].cell, nets[0].bit, len(nets)
            return
    at = 0
    while at < len(nets):
        net, end = nets[at], at + 1
        if net.is_const:
            yield -1, net.const, 1
        else:
            while end < len(nets) and nets[end] == net + (end - at) and nets[end].cell == net.cell:
                end += 1
            yield net.cell, net.bit, end - at
        at = end


def _part(value: nir.Value, low: int, high: int) -> Sequence[nir.Net]:
    """Bits of a value. (A slice of a `nir.Value` would check all its bits again.)"""
    return value if (low, high) == (0, len(value)) else tuple.__getitem__(value, slice(low, high))


def _operands(cell: nir.Cell) -> Iterator[Sequence[nir.Net]]:
    """The values that a cell uses."""
    match cell:
        case nir.Operator():
            yield from cell.inputs
        case nir.AssignmentList():
            yield cell.default
            yield from (assignment.value for assignment in cell.assignments)
        case nir.FlipFlop():
            yield cell.data
        case Matches() | nir.Part():
            yield cell.value
        case PriorityMatch():
            yield cell.inputs
        case nir.SyncWritePort():
            yield from (cell.data, cell.addr, cell.en)
        case nir.Top():
            yield from cell.ports_o.values()


class Lowering:
    """Makes the graph of a netlist: `module` for a component, and for others what extends it."""

    def __init__(
        self, name: str, netlist: nir.Netlist, paths: Mapping[str, Path], by_bit: bool
    ) -> None:
        self.name = name
        self.netlist = netlist
        self.paths = paths
        self.graph = Graph()
        self.arithmetic = Arithmetic(self.graph)
        self.registers: list[Register] = []
        self.memories: list[Memory] = []
        self.pending: list[Callable[[], None]] = []
        self._segments: dict[tuple[int, int, int], Words] = {}
        self._state: dict[int, list[int]] = {}
        self._memory: dict[int, int] = {}
        self._choices: dict[int, _Choice | None] = {}
        self._whole = set() if by_bit else self._used_apart()
        self._inputs: list[tuple[int, int, str]] = sorted(
            (start, width, port) for port, (start, width) in netlist.top.ports_i.items()
        )
        self._bits = sum(len(cell.output_nets(index)) for index, cell in enumerate(netlist.cells))

    @contextmanager
    def deep_recursion(self) -> Iterator[None]:
        """Let a chain of all bits be followed by recursion: a bus has a gate for each terminal.

        The functions that recurse call each other from Python only, in lists and not in generators,
        which takes no space on the stack.
        """
        usual = sys.getrecursionlimit()
        sys.setrecursionlimit(usual + _FRAMES * self._bits)
        try:
            yield
        finally:
            sys.setrecursionlimit(usual)

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
            depends={
                path: frozenset(node.attr[0] for node in Graph.cone(words) if node.op == "input")
                for path, words in outputs.items()
            },
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

    # Values

    def _used_apart(self) -> set[int]:
        """Wide bitwise cells that are used in many parts, or in parts that overlap."""
        parts: dict[int, set[tuple[int, int]]] = {}
        wide = {
            index: cell.width
            for index, cell in enumerate(self.netlist.cells)
            if isinstance(cell, nir.Operator) and cell.operator in _BITWISE and cell.width >= _WIDE
        }
        for cell in self.netlist.cells:
            for value in _operands(cell):
                for index, bit, count in _segments(value):
                    if index in wide:
                        parts.setdefault(index, set()).add((bit, count))
        return {
            index
            for index, found in parts.items()
            if len(found) >= _APART or sum(count for _, count in found) > wide[index]
        }

    def value(self, nets: Sequence[nir.Net]) -> Words:
        """The words of any value."""
        parts: list[tuple[Node, int]] = []
        at = 0
        for index, bit, count in _segments(nets):
            if index >= 0:
                words = self.segment(index, bit, count)
                parts += [(part, at + low) for part, low in self.arithmetic.pieces(words, 0, count)]
            elif bit:
                parts.append((self.graph.one, at))
            at += count
        return self.arithmetic.cat(parts, len(nets))

    def segment(self, index: int, start: int, count: int) -> Words:
        """Bits of the output of a cell of the netlist."""
        key = (index, start, count)
        if key not in self._segments:
            self._segments[key] = self._segment(index, start, count)
        return self._segments[key]

    def _segment(self, index: int, start: int, count: int) -> Words:
        a, cell = self.arithmetic, self.netlist.cells[index]
        if index in self._whole:
            # While it is computed, bits that it depends on itself are computed one by one.
            self._whole.remove(index)
            whole = self.segment(index, 0, cell.width)
            self._whole.add(index)
            return a.part(whole, start, count)
        cut = (start, start + count)
        match cell:
            case nir.Top():
                return self._input(start, count)
            case nir.FlipFlop() | nir.SyncReadPort():
                return a.part(self._state_words(index), start, count)
            case nir.Operator(operator="&" | "|" | "^"):
                g = self.graph
                gate = {"&": g.and_, "|": g.or_, "^": g.xor}[cell.operator]
                left, right = [self.value(_part(value, *cut)) for value in cell.inputs]
                return a.bitwise(gate, left, right)
            case nir.Operator(operator="~"):
                return a.not_(self.value(_part(cell.inputs[0], *cut)), count)
            case nir.Operator(operator="m"):
                condition = self.value(cell.inputs[0])[0]
                return a.mux(
                    condition, *[self.value(_part(value, *cut)) for value in cell.inputs[1:]]
                )
            case nir.AssignmentList():
                return self._assigned(cell, start, count)
            case PriorityMatch():
                bits = [self._priority(index, bit) for bit in range(start, start + count)]
                return a.cat(list(zip(bits, range(count))), count)
            case nir.Operator():
                whole, width = self._operator(index, cell), cell.width
            case nir.Part():
                whole, width = self._part(cell), cell.width
            case Matches():
                whole, width = (self._matches(cell),), 1
            case nir.AsyncReadPort():
                whole, width = self._read(cell.memory, self.value(cell.addr)), cell.width
            case _:
                raise UnsupportedConstruct(f"{type(cell).__name__} at {place(cell)}")
        if (start, count) == (0, width):
            return whole
        self._segments[index, 0, width] = whole
        return a.part(self.segment(index, 0, width), start, count)

    def _input(self, start: int, count: int) -> Words:
        """Bits of the module's inputs, which may span several ports."""
        parts: list[tuple[Node, int]] = []
        for first, width, port in self._inputs:
            low, high = max(first, start), min(first + width, start + count)
            if low < high and port in self.paths:  # otherwise reset, or clock used as data: 0
                words = tuple(
                    self.graph.input(self.paths[port], word, bits)
                    for word, bits in enumerate(word_widths(width))
                )
                pieces = self.arithmetic.pieces(words, low - first, high - low)
                parts += [(part, at + low - start) for part, at in pieces]
        return self.arithmetic.cat(parts, count)

    def _assigned(self, cell: nir.AssignmentList, start: int, count: int) -> Words:
        edges = {start, start + count}
        for assignment in cell.assignments:
            for edge in (assignment.start, assignment.start + len(assignment.value)):
                if start < edge < start + count:
                    edges.add(edge)
        parts: list[tuple[Node, int]] = []
        cuts = sorted(edges)
        for low, high in pairwise(cuts):
            words = self.value(_part(cell.default, low, high))
            covering = [
                (each.cond, self.value(_part(each.value, low - each.start, high - each.start)))
                for each in cell.assignments
                if each.start <= low and high <= each.start + len(each.value)
            ]
            for choice, group in groupby(covering, lambda each: self._choice(each[0])):
                if choice is None:
                    for condition, new in group:
                        chosen = self.value(nir.Value(condition))[0]
                        words = self.arithmetic.mux(chosen, new, words)
                else:
                    cases = {condition.bit: new for condition, new in group}
                    words = self._chosen(choice, cases, words)
            pieces = self.arithmetic.pieces(words, 0, high - low)
            parts += [(part, low - start + at) for part, at in pieces]
        return self.arithmetic.cat(parts, count)

    def _choice(self, condition: nir.Net) -> _Choice | None:
        """The choice that a condition is a case of, if it is one by the value of a number."""
        if condition.is_const:
            return None
        if condition.cell not in self._choices:
            self._choices[condition.cell] = self._found_choice(condition.cell)
        return self._choices[condition.cell]

    def _found_choice(self, index: int) -> _Choice | None:
        cell = self.netlist.cells[index]
        if not isinstance(cell, PriorityMatch) or len(cell.inputs) < 3:
            return None
        value: nir.Value | None = None
        numbers = []
        for net in cell.inputs:
            match = None if net.is_const else self.netlist.cells[net.cell]
            if not isinstance(match, Matches) or len(match.patterns) != 1:
                return None
            if "-" in match.patterns[0] or value not in (None, match.value):
                return None
            value = match.value
            numbers.append(int("0" + match.patterns[0], 2))  # which may be empty
        if value is None or 1 << len(value) > 4 * len(numbers):
            return None
        return _Choice(cell.en, value, tuple(numbers))

    def _chosen(self, choice: _Choice, cases: Mapping[int, Words], otherwise: Words) -> Words:
        """The words of the case that applies: a tree of multiplexers, by the bits of the number."""
        leaves = [otherwise] * (1 << len(choice.value))
        for case, words in cases.items():
            if choice.numbers.index(choice.numbers[case]) == case:  # the first that has this number
                leaves[choice.numbers[case]] = words
        a, number = self.arithmetic, self.value(choice.value)
        for place in range(len(choice.value)):
            bit = a.bit(number, place)
            leaves = [a.mux(bit, one, zero) for zero, one in zip(leaves[::2], leaves[1::2])]
        return a.mux(self.value(nir.Value(choice.enable))[0], leaves[0], otherwise)

    def _priority(self, index: int, bit: int) -> Node:
        """Whether input `bit` of a priority cell is the first that is 1."""
        cell, g = self.netlist.cells[index], self.graph
        mine = self.value(nir.Value(cell.inputs[bit]))[0]
        free = self._none_before(index, bit)
        return g.and_(free, mine)

    def _none_before(self, index: int, bit: int) -> Node:
        key = (index, -1 - bit, 0)
        if key not in self._segments:
            cell, g = self.netlist.cells[index], self.graph
            if bit == 0:
                node = self.value(nir.Value(cell.en))[0]
            else:
                before = self.value(nir.Value(cell.inputs[bit - 1]))[0]
                node = g.and_(self._none_before(index, bit - 1), g.not_(before, 1))
            self._segments[key] = (node,)
        return self._segments[key][0]

    def _matches(self, cell: nir.Cell) -> Node:
        a, g = self.arithmetic, self.graph
        value = self.value(cell.value)
        hit = g.zero
        for pattern in cell.patterns:
            care = int(pattern.replace("0", "1").replace("-", "0") or "0", 2)
            want = int(pattern.replace("-", "0") or "0", 2)
            width = max(1, len(pattern))
            masked = a.bitwise(g.and_, value, a.const(care, width))
            hit = g.or_(hit, a.eq(masked, a.const(want, width)))
        return hit

    def _part(self, cell: nir.Part) -> Words:
        a = self.arithmetic
        value, width = self.value(cell.value), len(cell.value)
        if not width:
            return a.const(0, cell.width)
        fill = a.bit(value, width - 1) if cell.value_signed else self.graph.zero
        # Wide enough that no part of the result comes from outside the shifted value.
        total = width + cell.width
        extended = a.cat(
            [
                *a.pieces(value, 0, width),
                *(
                    (p, at + width)
                    for p, at in a.pieces(a.replicated(fill, cell.width), 0, cell.width)
                ),
            ],
            total,
        )
        offset_width = len(cell.offset) + cell.stride.bit_length()
        offset = a.mul(
            a.part(self.value(cell.offset), 0, offset_width),
            a.const(cell.stride, offset_width),
            offset_width,
        )
        return a.part(a.shift_right(extended, offset, total, fill), 0, cell.width)

    def _operator(self, index: int, cell: nir.Operator) -> Words:
        a, g = self.arithmetic, self.graph
        inputs = [self.value(value) for value in cell.inputs]
        width = len(cell.inputs[0])
        x = inputs[0]
        if not width:
            return a.const(int(cell.operator in ("r&", "==", "u<=", "s<=", "u>=", "s>=")), 1)
        match cell.operator, *inputs[1:]:
            case ("-",):
                return a.sub(a.const(0, width), x, width)
            case ("b" | "r|",):
                return (a.any(x),)
            case ("r&",):
                return (a.all(x, width),)
            case ("r^",):
                return (a.parity(x),)
            case "+", y:
                return a.add(x, y, width)
            case "-", y:
                return a.sub(x, y, width)
            case "*", y:
                return a.mul(x, y, width)
            case ("u//" | "s//" | "u%" | "s%") as op, y:
                return a.divide(x, y, width, signed=op[0] == "s", remainder=op[1] == "%")
            case "<<", y:
                return a.shift_left(x, y, width)
            case ("u>>" | "s>>") as op, y:
                fill = a.bit(x, width - 1) if op[0] == "s" else g.zero
                return a.shift_right(x, y, width, fill)
            case "==", y:
                return (a.eq(x, y),)
            case "!=", y:
                return (g.not_(a.eq(x, y), 1),)
            case ((("u<" | "u>" | "u<=" | "u>=" | "s<" | "s>" | "s<=" | "s>=") as op), y):
                first, second = (x, y) if op[1:] in ("<", ">=") else (y, x)
                less = a.slt(first, second, width) if op[0] == "s" else a.ult(first, second)
                return (less if op[1:] in ("<", ">") else g.not_(less, 1),)
        raise UnsupportedConstruct(f"Operator {cell.operator} at {place(cell)}")

    # The rest

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
